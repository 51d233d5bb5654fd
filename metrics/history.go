package metrics

import (
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
)

// Turns says what a metric makes of the turns before a sample's Question, without which "And what about her?" asks
// nothing.
type Turns int

const (
	// TurnsShown is for metrics whose prompts show the turns, the last of them as far as [MostHistory] goes, and for those
	// that read no question.
	TurnsShown Turns = iota

	// TurnsAll is for metrics that read every turn, such as those about whole conversations.
	TurnsAll

	// TurnsUnneeded is for metrics that read the question and need not know what it asks: its language, say.
	TurnsUnneeded

	// TurnsAsked is for models that have room for a question only: they read [Sample.Asked].
	TurnsAsked

	// TurnsUnread is for metrics that compare the question's words with others: they read Standalone or, without it, the
	// Question alone, and the evidence says so.
	TurnsUnread
)

// MostHistory is the most bytes of the turns before a question that a prompt shows, about 500 tokens. Turns are left out
// whole, the oldest first, and the evidence says how many.
const MostHistory = 2000

// Asked is the Question as it can be read without the conversation: Standalone, where the sample has it; else, in a
// conversation, on a line of its own what the user said last before it, and the Question.
func (s *Sample) Asked() string {
	if len(s.History) == 0 {
		return s.Question
	}
	if !Blank(s.Standalone) {
		return s.Standalone
	}
	for i := len(s.History) - 1; i >= 0; i-- {
		if t := s.History[i]; t.Role == backend.User && !Blank(t.Said) && len(t.Said) <= MostHistory {
			return strings.TrimSpace(t.Said) + "\n" + s.Question
		}
	}
	return s.Question
}

// LastTurns are as many of the last turns, each whole, as have most bytes together.
func LastTurns(turns []Turn, most int) []Turn {
	first := len(turns)
	for left := most; first > 0; first-- {
		if left -= len(turns[first-1].Text()); left < 0 {
			break
		}
	}
	return turns[first:]
}

// conversing returns s as the metric is to read it in a conversation, and what the evidence says of that.
func (metric *Metric) conversing(m Models, s *Sample) (*Sample, []Finding) {
	if len(s.History) == 0 || metric.Turns == TurnsAll || metric.Turns == TurnsUnneeded {
		return s, nil
	}
	shown := *s
	if metric.Turns == TurnsShown {
		shown.History = LastTurns(s.History, MostHistory)
		return &shown, metric.turnNotes(m, len(shown.History), len(s.History))
	}
	shown.History = nil // a metric that is asked within another one reads the same
	switch {
	case !Blank(s.Standalone):
		shown.Question = s.Standalone
		return &shown, note("the standalone question was read in place of the conversation")
	case metric.Turns == TurnsAsked:
		shown.Question = s.Asked()
	}
	if shown.Question == s.Question {
		return &shown, note("the question was read without the conversation before it")
	}
	return &shown, note("of the conversation, what the user said last before the question was read with it")
}

// turnNotes say which turns the metric's prompts do not show.
func (metric *Metric) turnNotes(m Models, shown, of int) []Finding {
	var list []Finding
	shows := false
	for _, p := range metric.Prompts {
		p = m.Prompts.For(p)
		question, history := p.ShowsConversation()
		shows = shows || history
		if question && !history {
			list = append(list, note(fmt.Sprintf("the prompt %s shows the question without the conversation before it: "+
				"show .History", p.Name))...)
		}
	}
	if shows && shown < of {
		list = append(list, note(fmt.Sprintf("the last %d of the %d turns before the question were shown", shown, of))...)
	}
	return list
}

func note(text string) []Finding { return []Finding{{Kind: "note", Text: text}} }
