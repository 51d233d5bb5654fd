package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A normalizer rewrites a text before it is split.
type normalizer struct {
	run func(string) string

	// next tells how much of a text, from its beginning on, is rewritten in the same way whatever follows it. It is nil
	// where that is all of it: what is added to, or taken from, the ends.
	next func(string) int
}

// character is the length of a text's first character.
func character(text string) int {
	_, size := utf8.DecodeRuneInString(text)
	return size
}

// single is the length of a byte.
func single(string) int { return 1 }

// segment is the length of what a normal form rewrites on its own: a character with its accents.
func segment(form norm.Form) func(string) int {
	return func(text string) int {
		if n := form.NextBoundaryInString(text, true); n > 0 {
			return n
		}
		return len(text)
	}
}

// mapped is a normalizer of single characters; -1 drops one.
func mapped(to func(rune) rune) normalizer {
	return normalizer{func(text string) string { return strings.Map(to, text) }, character}
}

func normalForm(form norm.Form) normalizer { return normalizer{form.String, segment(form)} }

// replaced is a normalizer that puts one text in the place of every match, of which first finds the next one.
func replaced(run func(string) string, first func(string) (low, high int)) normalizer {
	return normalizer{run, func(text string) int {
		switch low, high := first(text); {
		case low > 0:
			return low
		case high > 0:
			return high
		}
		return len(text)
	}}
}

// bertNormalizer is what BERT does to a text; each part of it can be off.
type bertNormalizer struct{ clean, chinese, strip, lower bool }

func (b bertNormalizer) normalizer() normalizer {
	next := character
	if b.strip {
		next = segment(norm.NFD)
	}
	return normalizer{b.normalize, next}
}

func (b bertNormalizer) normalize(text string) string {
	if b.clean {
		text = strings.Map(cleaned, text)
	}
	if b.chinese {
		text = spaceChinese(text)
	}
	if b.strip {
		text = strings.Map(without(unicode.Mn), norm.NFD.String(text))
	}
	if b.lower {
		text = lowercase(text)
	}
	return text
}

// cleaned drops control characters and makes every white space a space.
func cleaned(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case r == 0xFFFD || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// chinese are the blocks of CJK ideographs as BERT's code lists them. (That code begins one of them at 2B920, which is
// not where the block begins; models were trained on that.)
var chinese = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3400, Hi: 0x4DBF, Stride: 1}, {Lo: 0x4E00, Hi: 0x9FFF, Stride: 1},
		{Lo: 0xF900, Hi: 0xFAFF, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x2A6DF, Stride: 1}, {Lo: 0x2A700, Hi: 0x2B81F, Stride: 1},
		{Lo: 0x2B920, Hi: 0x2CEAF, Stride: 1}, {Lo: 0x2F800, Hi: 0x2FA1F, Stride: 1}},
}

func spaceChinese(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return unicode.Is(chinese, r) }) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if unicode.Is(chinese, r) {
			out.WriteByte(' ')
			out.WriteRune(r)
			out.WriteByte(' ')
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// lowercase maps character by character, so that a final sigma is an ordinary one. One character has two.
func lowercase(text string) string {
	return strings.ReplaceAll(strings.Map(func(r rune) rune {
		if r == 'İ' {
			return r
		}
		return unicode.ToLower(r)
	}, text), "İ", "i\u0307")
}

// without drops the characters of a table.
func without(table *unicode.RangeTable) func(rune) rune {
	return func(r rune) rune {
		if unicode.Is(table, r) {
			return -1
		}
		return r
	}
}

// nmt is the cleaning of SentencePiece's "nmt" rules: controls go, odd spaces become spaces.
func nmt(r rune) rune {
	switch {
	case r >= 0x01 && r <= 0x08, r == 0x0B, r >= 0x0E && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
		return -1
	case r == 0x09, r == 0x0A, r == 0x0C, r == 0x0D, r == 0x1680, r >= 0x200B && r <= 0x200F, r == 0x2028, r == 0x2029,
		r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		return ' '
	}
	return r
}

func prepend(prefix string) normalizer {
	return normalizer{run: func(text string) string {
		if text == "" {
			return ""
		}
		return prefix + text
	}}
}

func strip(left, right bool) normalizer {
	return normalizer{run: func(text string) string {
		if left {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
		if right {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		return text
	}}
}
