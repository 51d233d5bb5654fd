package tokenize

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"
)

// MTEval13a returns the tokens of text as mteval-v13a.pl and sacrebleu's "13a" cut it for BLEU: case stays,
// and ASCII punctuation stands alone, but for apostrophes, hyphens that follow no digit, and points and
// commas between digits. Text in scripts without spaces stays in one piece: [MTEval] is for that.
func MTEval13a(text string) []string {
	text = strings.TrimRightFunc(text, pythonSpace)
	for _, change := range [][2]string{{"<skipped>", ""}, {"-\n", ""}, {"\n", " "},
		{"&quot;", `"`}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}} { // one after the other
		text = strings.ReplaceAll(text, change[0], change[1])
	}
	text = mtevalSymbol.ReplaceAllString(" "+text+" ", " $1 ")
	text = mtevalPointAfter.ReplaceAllString(text, "$1 $2 ")
	text = mtevalPointBefore.ReplaceAllString(text, " $1 $2")
	text = mtevalDash.ReplaceAllString(text, "$1 $2 ")
	return PythonFields(text)
}

// The four rules of mteval-v13a.pl for western languages, in its order.
var (
	mtevalSymbol      = regexp.MustCompile("([{-~\\[-` -&(-+:-@/])")
	mtevalPointAfter  = regexp.MustCompile(`([^0-9])([.,])`)
	mtevalPointBefore = regexp.MustCompile(`([.,])([^0-9])`)
	mtevalDash        = regexp.MustCompile(`([0-9])(-)`)
)

// MTEval is [MTEval13a], but each word that UAX 29 finds in scripts written without spaces stands alone, and
// so do the punctuation marks of Chinese and Japanese: for Chinese that is sacrebleu's "zh". On other text
// the two are the same.
func MTEval(text string) []string {
	var list []string
	for _, token := range MTEval13a(spacedCJKMarks(text)) {
		if !strings.ContainsFunc(token, spaceless) {
			list = append(list, token)
			continue
		}
		for seg := words.FromString(token); seg.Next(); {
			list = append(list, seg.Value())
		}
	}
	return list
}

// spacedCJKMarks puts spaces around the punctuation marks of Chinese and Japanese.
func spacedCJKMarks(text string) string {
	if !strings.ContainsFunc(text, cjkMark) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if cjkMark(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cjkMark reports whether r is a mark among those of the blocks "CJK Symbols and Punctuation" and "Halfwidth
// and Fullwidth Forms".
func cjkMark(r rune) bool {
	return (r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef) && !unicode.In(r, unicode.L, unicode.M, unicode.N)
}
