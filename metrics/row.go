package metrics

import (
	"slices"
	"strconv"
	"strings"
)

// A Row is a sample's material as prompts of the row layout show it before their question (see [prompts.Row]): each text
// once, in the same words whatever is asked, so that all prompts about the sample share it.
type Row struct {
	Contexts         []RowContext // those that are not blank; of several windows, what stands in this one
	History          []Turn
	Question, Answer string
}

// A RowContext is a context as a Row shows it.
type RowContext struct {
	Number int    // in the sample's contexts, from 1
	Text   string // a line for each sentence, "3. The lighthouse was built in 1871."
}

// A RowSentence is a sentence of the contexts of a Row.
type RowSentence struct {
	Number  int    // as the row shows it: from 1, counted through all contexts
	Context int    // the number of its context
	Text    string // of a sentence that is too long for one window, the piece in this one
}

// A View is what a question about a sample looks at: its contexts, or one of them.
type View struct {
	Sample  *Sample
	Context int // the number of the only context that is asked about, from 1; 0: all are
}

// An Excerpt is as much of a View as one prompt shows: all of it, or a window.
type Excerpt struct {
	// Text is for prompts of the classic layout: the contexts that are asked about, joined by blank lines.
	Text string

	// Row is for those of the row layout. It shows all contexts, whatever the View asks about.
	Row Row

	// Sentences are those of the contexts that are asked about, without those of an earlier part.
	Sentences []RowSentence
}

// InWindows calls ask with the whole View, and where that is too much at once with parts of it: see [Passage.InWindows].
// Sentences at a boundary are in both parts. It returns the number of parts that were asked about.
//
// With row, prompts are of the row layout ([prompts.Prompt.Layout] says it): the windows are then of all contexts,
// the same for every View of the sample, and ask is called for those that show something of what the View asks about.
// A sample without contexts is asked about once.
func (v View) InWindows(row bool, ask func(Excerpt) error) (int, error) {
	shown := func(context int) bool { return v.Context == 0 || context == v.Context }
	texts := slices.Clone(v.Sample.Contexts)
	for i := range texts {
		if !row && !shown(i+1) {
			texts[i] = ""
		}
	}
	p := NewPassage(texts)
	if len(p.Sentences) == 0 {
		return 1, ask(Excerpt{Row: v.Sample.row()})
	}
	asked, seen := 0, 0 // parts, and where they end
	_, err := p.inWindows(true, func(w window) error {
		part := Excerpt{Text: w.of(p.Text), Row: v.Sample.row()}
		start, end := w[0].start, w[len(w)-1].end
		concerned := false
		for i, s := range p.Sentences {
			from, to := max(s.Start, start), min(s.End, end)
			if from >= to {
				continue
			}
			sentence := RowSentence{i + 1, p.Origin[i], strings.TrimSpace(p.Text[from:to])}
			if row {
				part.Row.show(sentence)
			}
			if shown(p.Origin[i]) {
				concerned = true
				if to > seen {
					part.Sentences = append(part.Sentences, sentence)
				}
			}
		}
		if !concerned {
			return nil
		}
		if err := ask(part); err != nil {
			return err
		}
		asked, seen = asked+1, end
		return nil
	})
	return asked, err
}

// First calls ask with the first part of a View, for a question that does not depend on the contexts: in the row layout
// they are shown all the same, in the classic one they are not.
func (v View) First(row bool, ask func(Excerpt) error) error {
	if !row {
		return ask(Excerpt{})
	}
	done := false
	_, err := v.InWindows(true, func(p Excerpt) error {
		if done {
			return nil
		}
		err := ask(p)
		done = err == nil
		return err
	})
	return err
}

// row is the material of a sample but for its contexts.
func (s *Sample) row() Row {
	return Row{History: s.History, Question: strings.TrimSpace(s.Question), Answer: strings.TrimSpace(s.Answer)}
}

// show adds a sentence to the contexts of a row.
func (r *Row) show(s RowSentence) {
	line := strconv.Itoa(s.Number) + ". " + s.Text
	if n := len(r.Contexts); n > 0 && r.Contexts[n-1].Number == s.Context {
		r.Contexts[n-1].Text += "\n" + line
		return
	}
	r.Contexts = append(r.Contexts, RowContext{s.Context, line})
}
