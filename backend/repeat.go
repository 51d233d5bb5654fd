package backend

import "bytes"

// Repeats reports whether text ends in what it said just before, word for word: at least 64 bytes twice in
// a row, or 24 bytes three times. A weak model that has come that far goes on like that to its limit.
func Repeats(text []byte) bool {
	for n := 24; 2*n <= len(text); n++ {
		last := text[len(text)-n:]
		if text[len(text)-n-1] != last[n-1] || !bytes.HasSuffix(text[:len(text)-n], last) {
			continue
		}
		if n >= 64 || bytes.HasSuffix(text[:len(text)-2*n], last) {
			return true
		}
	}
	return false
}
