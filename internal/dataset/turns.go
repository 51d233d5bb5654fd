package dataset

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

// exchanges are a sample for each question in a conversation that the assistant replied to: the reply is its answer, what
// was retrieved between the two its contexts, and what was said before its history. Their ids are that of the row with
// #1, #2, ... behind it, and they are one group. What the row says beside the conversation (references, labels) is of the
// last exchange alone. A row that is no whole conversation, or has one exchange, is one sample as it is.
func (d *draft) exchanges() []*metrics.Sample {
	var questions []int // what the user said last before a reply
	for i, t := range d.turns {
		if t.Role == backend.User && i+1 < len(d.turns) && d.turns[i+1].Role != backend.User {
			questions = append(questions, i)
		}
	}
	var list []*metrics.Sample
	for k, at := range questions[:max(len(questions)-1, 0)] {
		if s := d.exchange(at, questions[k+1]); s != nil {
			s.ID, s.Group = fmt.Sprintf("%s#%d", d.ID, k+1), cmp.Or(d.Group, d.ID)
			list = append(list, s)
		}
	}
	last := d.Sample
	if len(list) > 0 {
		last.ID, last.Group = fmt.Sprintf("%s#%d", d.ID, len(questions)), cmp.Or(d.Group, d.ID)
	}
	return append(list, &last)
}

// exchange is the one whose question is turn at, before the next question; nil if there was no reply in words.
func (d *draft) exchange(at, next int) *metrics.Sample {
	end := next
	for end > at+1 && d.turns[end-1].Role == backend.User { // several questions in a row: the reply comes before them
		end--
	}
	steps := end
	for steps > at+1 && d.turns[steps-1].Role == backend.Assistant && d.turns[steps-1].talks() {
		steps--
	}
	var said []string
	for _, t := range d.turns[steps:end] {
		said = append(said, t.Said)
	}
	answer := strings.Join(said, "\n")
	if metrics.Blank(answer) {
		return nil
	}
	s := &metrics.Sample{Question: d.turns[at].Said, Answer: answer, History: plain(d.turns[:at]),
		Steps: plain(d.turns[at+1 : steps]), ToolCalls: callsIn(d.turns[:end])}
	for _, t := range d.turns[at+1 : end] {
		if len(s.Contexts) == 0 {
			s.Contexts = t.found
		}
	}
	return s
}
