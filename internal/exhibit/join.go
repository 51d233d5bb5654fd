package exhibit

import (
	"fmt"
	"strings"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// pieces cuts a text into its sentences. Together they are the text.
func pieces(text string) []Piece {
	var list []Piece
	at := 0
	for _, s := range tokenize.Sentences(text) {
		list = append(list, Piece{Space: text[at:s.Start], Parts: []metrics.Part{{Text: s.Text}}})
		at = s.End
	}
	return list
}

// join notes a finding at the pieces that it is about, and returns its number; 0 if there are none. Findings of metrics
// about contexts are about those alone.
func (e *Exhibit) join(f *metrics.Finding, dimension, class string) int {
	if class == "" {
		return 0
	}
	n := e.joined + 1
	note, joined := Note{n, class}, false
	in := contextOf(f.Where)
	if in > len(e.Contexts) {
		in = 0
	}
	if in > 0 && (f.Kind == "context" || f.Kind == "passage") {
		c := &e.Contexts[in-1]
		c.Notes, c.Class = append(c.Notes, note), worse(c.Class, class)
		e.joined = n
		return n
	}
	if !strings.HasPrefix(dimension, "context_") {
		if i := find(e.Answer, f.Text); i >= 0 {
			e.Answer[i].note(note)
			joined = true
		}
		e.mark(f)
	}
	for i := range e.Contexts {
		if in > 0 && i != in-1 {
			continue
		}
		list := e.Contexts[i].Pieces
		at := -1
		if f.Reason != "" {
			at = verbatim(list, f.Reason)
		}
		if at < 0 {
			at = find(list, f.Text)
		}
		if at >= 0 && (in > 0 || e.best(i, at, f)) {
			list[at].note(note)
			joined = true
		}
	}
	if !joined {
		return 0
	}
	e.joined = n
	return n
}

// best reports whether no sentence of another context bears a finding better than this one.
func (e *Exhibit) best(context, at int, f *metrics.Finding) bool {
	own := share(tokenize.Words(f.Text), &e.Contexts[context].Pieces[at])
	for i := range e.Contexts {
		if i == context {
			continue
		}
		if j := find(e.Contexts[i].Pieces, f.Text); j >= 0 {
			other := share(tokenize.Words(f.Text), &e.Contexts[i].Pieces[j])
			if other > own || other == own && i < context {
				return false
			}
		}
	}
	return true
}

// mark marks in the answer what a finding marks in its text, where that is a sentence of the answer.
func (e *Exhibit) mark(f *metrics.Finding) {
	if len(f.Marks) == 0 {
		return
	}
	for i := range e.Answer {
		p := &e.Answer[i]
		sentence := p.Text()
		from := strings.Index(f.Text, sentence)
		offset := 0
		if from < 0 {
			if offset = strings.Index(sentence, f.Text); offset < 0 {
				continue
			}
			from = 0
		}
		moved := metrics.Finding{Text: sentence}
		for _, m := range f.Marks {
			low, high := m.Low-from+offset, m.High-from+offset
			if low = max(low, 0); low < min(high, len(sentence)) {
				moved.Marks = append(moved.Marks, metrics.Mark{Low: low, High: min(high, len(sentence)), Value: m.Value})
			}
		}
		if len(moved.Marks) > 0 {
			p.Parts = moved.Parts()
		}
	}
}

func (p *Piece) note(n Note) {
	p.Notes = append(p.Notes, n)
	p.Class = worse(p.Class, n.Class)
}

// worse is the class of what has both.
func worse(a, b string) string {
	if a == "" || a == b {
		return b
	}
	return "mixed"
}

// contextOf reads "context 2"; 0 is any.
func contextOf(where string) int {
	var n int
	if _, err := fmt.Sscanf(where, "context %d", &n); err != nil || n < 1 {
		return 0
	}
	return n
}

// find is the place of the sentence that a text stands in, or whose words it shares most, half of its own at least; -1 if
// there is none.
func find(list []Piece, text string) int {
	if at := verbatim(list, text); at >= 0 {
		return at
	}
	best, most := -1, 0.5
	words := tokenize.Words(text)
	for i := range list {
		if s := share(words, &list[i]); s > most || s == most && best < 0 {
			best, most = i, s
		}
	}
	return best
}

// verbatim is the place of the sentence that holds a text, or that is the first of the text's own; -1 if there is none.
func verbatim(list []Piece, text string) int {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return -1
	}
	for i := range list {
		if strings.Contains(strings.ToLower(list[i].Text()), text) {
			return i
		}
	}
	return -1
}

// share is how large a part of some words stand in a sentence.
func share(words []string, p *Piece) float64 {
	if p.words == nil {
		p.words = map[string]bool{}
		for _, w := range tokenize.Words(p.Text()) {
			p.words[w] = true
		}
	}
	n := 0
	for _, w := range words {
		if p.words[w] {
			n++
		}
	}
	if len(words) == 0 {
		return 0
	}
	return float64(n) / float64(len(words))
}
