package tokenize

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// A Sentence is a piece of a text: text[Start:End] == Text.
type Sentence struct {
	Text       string // without white space at either end, never empty
	Start, End int    // bytes
}

// Sentences cuts text into sentences, in order. Between them and around them there is only white space.
//
// The boundaries are those of UAX 29 (which knows the full stops of Chinese, Hindi, Arabic and others),
// with three corrections. No sentence ends after an abbreviation ("Dr. Smith", "z. B. Berlin"), an
// initial, the number of a list item or a German ordinal, nor between a quotation and the words that
// go on after it ("Stop!" he said). A line break ends a sentence, unless the next line goes on in lower
// case and is no list item: so headings and list items stand alone and wrapped lines do not fall apart.
// An ellipsis before a capital letter ends one.
func Sentences(text string) []Sentence {
	var list []Sentence
	start, end := 0, 0 // of the sentence being put together
	flush := func() {
		if s, ok := trimmed(text, start, end); ok {
			list = append(list, s)
		}
		start = end
	}
	for seg := sentences.FromString(text); seg.Next(); {
		to := max(adjust(text, seg.End()), end)
		if strings.TrimSpace(text[start:end]) == "" {
			start = end // or many blank lines would be looked at over and over
		} else if !joined(text[start:end], text[end:to]) {
			flush()
		}
		for cut := ellipsisEnd(text[end:to]); cut > 0; cut = ellipsisEnd(text[end:to]) {
			end += cut
			flush()
		}
		end = to
	}
	flush()
	return list
}

// adjust moves a boundary over the quotation marks and brackets that UAX 29 leaves on the wrong side: an
// opening one before the first word, as in 你呢？“很好, and a closing one after a space, as in « Bonjour ! ».
func adjust(text string, at int) int {
	for at > 0 && at < len(text) {
		before, n := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at:])
		if !unicode.In(before, unicode.Ps, unicode.Pi) || unicode.IsSpace(after) {
			break
		}
		at -= n
	}
	if strings.HasPrefix(text[at:], "'' ") { // how tokenised corpora write a closing quotation mark
		return at + len("''")
	}
	after, n := utf8.DecodeRuneInString(text[at:])
	rest := text[at+n:]
	next, _ := utf8.DecodeRuneInString(rest)
	if unicode.In(after, unicode.Pe, unicode.Pf) && (rest == "" || unicode.IsSpace(next)) {
		at += n
	}
	return at
}

// trimmed returns text[start:end] without the white space around it, and whether anything is left.
func trimmed(text string, start, end int) (Sentence, bool) {
	s := strings.TrimLeftFunc(text[start:end], unicode.IsSpace)
	start = end - len(s)
	s = strings.TrimRightFunc(s, unicode.IsSpace)
	return Sentence{Text: s, Start: start, End: start + len(s)}, s != ""
}

// ellipsisEnd returns the number of bytes up to an ellipsis and the space after it, when a capital
// letter follows; else 0.
func ellipsisEnd(s string) int {
	for i := 0; ; {
		j := strings.Index(s[i:], "…")
		if j < 0 {
			return 0
		}
		i += j + len("…")
		rest := strings.TrimLeftFunc(s[i:], unicode.IsSpace)
		if r, _ := utf8.DecodeRuneInString(rest); len(rest) < len(s[i:]) && unicode.IsUpper(r) {
			return len(s) - len(rest)
		}
	}
}

// joined reports whether the break that UAX 29 makes between before and after is to be taken back.
func joined(before, after string) bool {
	before = strings.TrimLeftFunc(before, unicode.IsSpace)
	body := strings.TrimRightFunc(before, unicode.IsSpace)
	gap := before[len(body):]
	next := strings.TrimLeftFunc(after, unicode.IsSpace)
	gap += after[:len(after)-len(next)]
	if next == "" {
		return false
	}
	if lines := strings.Count(strings.ReplaceAll(gap, "\r\n", "\n"), "\n"); lines > 1 ||
		strings.ContainsAny(gap, "\v\f\u0085\u2028\u2029") {
		return false
	} else if lines == 1 || strings.Contains(gap, "\r") {
		return wrapped(body, gap, next)
	}
	return afterStop(body, gap, next)
}

// wrapped reports whether next is the line that goes on where body stopped in the middle of a sentence.
func wrapped(body, gap, next string) bool {
	r, _ := utf8.DecodeRuneInString(next)
	last, _ := utf8.DecodeLastRuneInString(body)
	if strings.ContainsRune(":;.!?…", last) {
		return last == '.' && (unicode.IsLetter(r) || unicode.IsDigit(r)) && !listItem(next) &&
			afterStop(body, gap, next)
	}
	return unicode.IsLower(r) && !listItem(next)
}

// listItem reports whether a line begins like "a) ", "iv. " or "o ": lower case, yet an item of a list.
func listItem(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	if rest == "" || utf8.RuneCountInString(word) > 5 {
		return false
	}
	return word == "o" || strings.HasSuffix(word, ")") || strings.HasSuffix(word, ".")
}

// afterStop decides about a break that is not a line break: whether body, which ends in a full stop or
// the like, and next, with the gap between them, are one sentence after all.
func afterStop(body, gap, next string) bool {
	bare := strings.TrimRightFunc(body, closing)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(next, opening))
	if last := body[len(body)-1]; gap == "" && (last == '?' || last == '!') {
		// "a?b=c" in an address, and the "![" of an image in Markdown.
		return first < utf8.RuneSelf && (unicode.IsLower(first) || unicode.IsDigit(first)) || next[0] == '['
	}
	if len(bare) < len(body) { // a quotation or bracket closed after the stop
		r, _ := utf8.DecodeRuneInString(next)
		return unicode.IsLower(r)
	}
	stem, dotted := strings.CutSuffix(bare, ".")
	if !dotted || strings.HasSuffix(stem, ".") {
		return false
	}
	token := stem[strings.LastIndexFunc(stem, func(r rune) bool { return unicode.IsSpace(r) || opening(r) })+1:]
	return abbreviated(token, len(token) == len(stem), next, first)
}

// abbreviated decides about the word before a full stop: whether the sentence goes on after it. alone
// means that nothing stands before token in its sentence; first is the first letter of next.
func abbreviated(token string, alone bool, next string, first rune) bool {
	lists := abbreviationSets()
	word := strings.ToLower(token)
	following := strings.ToLower(firstWord(next))
	switch {
	case token == "":
		return false
	case allDigits(token):
		return alone && len(token) <= 3 || len(token) <= 2 && lists.months[following]
	case lists.openers[strings.ReplaceAll(word, ".", "")]:
		return true
	case lists.numbered[word]:
		return unicode.IsNumber(first)
	case initials(token), lists.closers[word]:
		// "J. A. Smith": an initial may look like a starter.
		return !lists.starters[following] || strings.HasPrefix(strings.TrimLeftFunc(next, opening), firstWord(next)+".")
	}
	return false
}

// initials reports whether token is letters with full stops between them, as in "U.S" or "J", or
// "J.-P".
func initials(token string) bool {
	for part := range strings.SplitSeq(token, ".") {
		part = strings.TrimPrefix(part, "-")
		r, n := utf8.DecodeRuneInString(part)
		if n == 0 || n != len(part) || !unicode.IsUpper(r) && !unicode.IsLower(r) {
			return false
		}
	}
	return true
}

// firstWord returns the letters, marks and numbers that s begins with, after an opening quotation mark.
func firstWord(s string) string {
	s = strings.TrimLeftFunc(s, opening)
	if i := strings.IndexFunc(s, func(r rune) bool { return !wordRune(r) }); i >= 0 {
		return s[:i]
	}
	return s
}

func allDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

func opening(r rune) bool {
	return strings.ContainsRune(`"'*_`, r) || unicode.In(r, unicode.Ps, unicode.Pi) || r == '„' || r == '‚'
}

func closing(r rune) bool {
	return strings.ContainsRune(`"'*_“‘`, r) || unicode.In(r, unicode.Pe, unicode.Pf)
}

type abbreviationLists struct{ openers, numbered, closers, starters, months map[string]bool }

// abbreviationSets are the lists of abbreviations.go, read once.
var abbreviationSets = sync.OnceValue(func() abbreviationLists {
	return abbreviationLists{
		openers: wordSet(openers()), numbered: wordSet(numbered()), closers: wordSet(closers()),
		starters: wordSet(starters()), months: wordSet(months()),
	}
})
