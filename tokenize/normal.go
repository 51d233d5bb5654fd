package tokenize

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// Tokens returns the tokens of text by which answers are compared in question answering: in lower case and composed,
// without punctuation and without the English articles. Letters keep together what stands between them in
// ASCII: "U.S." is "us" and "well-known" is "wellknown".
//
// On text of printable ASCII characters these are the tokens that [SQuAD] leaves, except that articles stay
// where there is nothing else ("The The", vitamin "A"). Beyond ASCII, the typographic apostrophe and the
// hyphens are treated as their ASCII likenesses are, every other mark and symbol separates tokens, and
// scripts that are written without spaces are cut between words of UAX 29, which for Chinese, Thai and the
// like means between characters.
func Tokens(text string) []string {
	var list []string
	for field := range strings.FieldsSeq(bare(fold(bare(text)))) {
		list = appendSegments(list, field)
	}
	if content := slices.DeleteFunc(slices.Clone(list), article); len(content) > 0 {
		return content
	}
	return list
}

func article(token string) bool { return token == "a" || token == "an" || token == "the" }

// bare removes ASCII punctuation from text, with the apostrophes and hyphens like it, and replaces all else
// that is no part of a word by spaces. Format characters stay, for fold to remove.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case asciiPunctuation(r), joiningMark(r):
			return -1
		case wordRune(r), unicode.Is(unicode.Cf, r), HasWords(norm.NFKC.String(string(r))): // ㎞ is letters yet
			return r
		}
		return ' '
	}, text)
}

// asciiPunctuation is Python's string.punctuation: symbols such as $ and + count as punctuation too.
func asciiPunctuation(r rune) bool {
	return r > ' ' && r < unicode.MaxASCII && !letterOrNumber(r)
}

// joiningMark reports whether r is an apostrophe or hyphen outside of ASCII. The long dash is none, since
// it stands between words.
func joiningMark(r rune) bool {
	switch r {
	case '‘', '’', 'ʼ', '＇', // apostrophes
		'\u2010', '\u2011', '\u2012', '\u2013', '\u2212': // hyphens, figure and short dash, minus
		return true
	}
	return false
}

// Alphanumeric returns the runs of letters and numbers in text, case-folded and composed; scripts that are
// written without spaces are cut as by [Tokens]. On text in ASCII these are the tokens of ROUGE: see
// [AlphanumericASCII].
func Alphanumeric(text string) []string {
	var list []string
	for field := range strings.FieldsSeq(Normalize(text)) {
		list = appendSegments(list, field)
	}
	return list
}

// appendSegments appends field to list: whole, or cut at the word boundaries of UAX 29 if it holds letters
// of a script that is written without spaces.
func appendSegments(list []string, field string) []string {
	if !strings.ContainsFunc(field, spaceless) {
		return append(list, field)
	}
	for seg := words.FromString(field); seg.Next(); {
		if w := seg.Value(); strings.ContainsFunc(w, letterOrNumber) {
			list = append(list, w)
		}
	}
	return list
}

// spaceless reports whether r belongs to a script that is written without spaces between words.
func spaceless(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// SQuAD normalises text by the letter of the SQuAD evaluation script, which unitxt has too: lower case,
// string.punctuation of ASCII deleted, the English articles deleted, white space collapsed. Its tokens are
// the fields of what it returns. Text in scripts without spaces stays in one piece, and no mark beyond
// ASCII is punctuation: [Tokens] is for that.
func SQuAD(text string) string {
	text = strings.Map(func(r rune) rune {
		if asciiPunctuation(r) {
			return -1
		}
		return r
	}, pythonLower(text))
	return strings.Join(PythonFields(deleteArticles(text)), " ")
}

// deleteArticles puts a space in the place of every article that stands between word boundaries as Python
// has them: a combining mark, say, is no part of a word.
func deleteArticles(text string) string {
	inWord := func(r rune) bool { return letterOrNumber(r) || r == '_' }
	var b strings.Builder
	for text != "" {
		n := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) })
		if n < 0 {
			n = len(text)
		}
		if word := text[:n]; article(word) {
			b.WriteByte(' ')
		} else {
			b.WriteString(word)
		}
		text = text[n:]
		if n = strings.IndexFunc(text, inWord); n < 0 {
			n = len(text)
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}

// AlphanumericASCII returns the tokens of ROUGE by the letter of the rouge_score package: in lower case, the
// runs of ASCII letters and digits. Text in any other script has none: [Alphanumeric] is for that.
func AlphanumericASCII(text string) []string {
	return strings.FieldsFunc(pythonLower(text), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	})
}

// pythonLower is Python's str.lower: Unicode's full mapping, which depends on no language.
func pythonLower(text string) string { return cases.Lower(language.Und).String(text) }

// PythonFields returns the pieces of text between white space as Python's str.split has them, for measures
// that were first written in Python.
func PythonFields(text string) []string { return strings.FieldsFunc(text, pythonSpace) }

// pythonSpace reports whether r is white space to Python: four separators of ASCII are that are none to Go.
func pythonSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
