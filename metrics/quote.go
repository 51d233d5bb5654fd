package metrics

import "unicode/utf8"

// Bounded cuts text to what an error message may quote.
func Bounded(text string) string {
	const limit = 300
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > limit-utf8.UTFMax && !utf8.RuneStart(text[end]) { // text that is not UTF-8 may have no start
		end--
	}
	return text[:end] + "…"
}
