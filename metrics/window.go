package metrics

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/tokenize"
)

// A Passage is text that is shown to a model whole or, where it exceeds the context length, in windows (chunks).
type Passage struct {
	Text      string
	Sentences []tokenize.Sentence // of text, in order
	Origin    []int               // for each sentence, the number of its context, from 1
}

// NewPassage joins texts by blank lines. No sentence reaches from one into another.
func NewPassage(texts []string) Passage {
	var p Passage
	var b strings.Builder
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		for _, s := range tokenize.Sentences(text) {
			s.Start, s.End = s.Start+b.Len(), s.End+b.Len()
			p.Sentences = append(p.Sentences, s)
			p.Origin = append(p.Origin, i+1)
		}
		b.WriteString(text)
	}
	p.Text = b.String()
	return p
}

// A span is text[start:end].
type span struct{ start, end int }

// A window is consecutive spans of a passage: sentences, or pieces of one that is too long by itself.
type window []span

func (w window) of(text string) string { return text[w[0].start:w[len(w)-1].end] }

// InWindows calls ask with the whole passage. Where that turns out to be too much at once, for the prompt or for
// the reply, it calls ask with parts of it instead, and so on until each part fits: in order, with overlap, if
// that is set: the sentences at a boundary are then in both parts. It returns the number of windows that ask
// accepted. Nothing of the text is left out.
func (p Passage) InWindows(overlap bool, ask func(text string) error) (int, error) {
	return p.inWindows(overlap, func(w window) error { return ask(w.of(p.Text)) })
}

// inWindows is InWindows with the windows as they are.
func (p Passage) inWindows(overlap bool, ask func(w window) error) (int, error) {
	whole := make(window, len(p.Sentences))
	for i, s := range p.Sentences {
		whole[i] = span{s.Start, s.End}
	}
	todo := []window{whole}
	done, seen := 0, 0 // windows accepted, and where the last of them ends
	for len(todo) > 0 {
		w := todo[0]
		if w[len(w)-1].end <= seen { // a part of a window that overlapped, with nothing new in it
			todo = todo[1:]
			continue
		}
		err := ask(w)
		switch {
		case err == nil:
			todo = todo[1:]
			done, seen = done+1, w[len(w)-1].end
		case tooMuch(err):
			parts := p.split(w, parts(len(w.of(p.Text)), err), overlap)
			if len(parts) < 2 {
				return done, err
			}
			todo = append(parts, todo[1:]...)
		default:
			return done, err
		}
	}
	return done, nil
}

// parts says into how many parts to split a window of n bytes that err refused. An engine that knows
// its numbers says how many tokens too many the prompt has; how many of them are the window's is
// reckoned at three bytes each. A wrong guess costs only another split.
func parts(n int, err error) int {
	var long *backend.TooLongError
	if !errors.As(err, &long) || long.Tokens <= long.Limit {
		return 2
	}
	tokens := float64(min(n/3+1, long.Tokens))
	fits := 0.9 * (tokens - float64(long.Tokens-long.Limit))
	const most = 16
	if fits < tokens/most {
		return most
	}
	return max(2, int(tokens/fits)+1)
}

// minWindow is the size in bytes below which a window is not split: it is not what makes the prompt
// too long.
const minWindow = 64

// split cuts w into n parts or a few less, of about equal length. It returns less than two if it cannot.
func (p Passage) split(w window, n int, overlap bool) []window {
	size := len(w.of(p.Text))
	if size < minWindow {
		return nil
	}
	if len(w) == 1 {
		return halves(p.Text, w[0])
	}
	cuts := []int{0}
	for part := 1; part < n; part++ {
		target := w[0].start + size*part/n
		cut := cuts[len(cuts)-1] + 1
		for cut < len(w)-1 && distance(w[cut+1].start, target) <= distance(w[cut].start, target) {
			cut++
		}
		if cut < len(w) {
			cuts = append(cuts, cut)
		}
	}
	cuts = append(cuts, len(w))
	var list []window
	for i, from := range cuts[:len(cuts)-1] {
		if overlap && i > 0 {
			from -= min(2, (from-cuts[i-1])/2) // less than the part before, so that every part is less than w
		}
		list = append(list, w[from:cuts[i+1]:cuts[i+1]])
	}
	return list
}

func distance(a, b int) int { return max(a-b, b-a) }

// halves cuts a span at the white space nearest to its middle, or between two characters where it has none.
func halves(text string, s span) []window {
	middle := (s.start + s.end) / 2
	for middle < s.end && !utf8.RuneStart(text[middle]) {
		middle++
	}
	if i := strings.LastIndexFunc(text[s.start:middle], unicode.IsSpace); i > (middle-s.start)/2 {
		middle = s.start + i
	}
	if middle <= s.start || middle >= s.end {
		return nil
	}
	return []window{{{s.start, middle}}, {{middle, s.end}}}
}

// ErrCut says that a reply was truncated where that loses something. It travels with ErrBadReply.
var ErrCut = errors.New("the reply was cut at its length limit, or repeated itself")

// tooMuch reports whether err says that less must be asked at once.
func tooMuch(err error) bool {
	return errors.Is(err, backend.ErrPromptTooLong) || errors.Is(err, ErrCut)
}
