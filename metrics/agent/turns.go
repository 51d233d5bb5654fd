package agent

import (
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

// conversation returns the turns of s from first to last, the question and the answer too. What the
// system told the assistant is not among them.
func conversation(s *metrics.Sample) []metrics.Turn {
	turns := slices.Concat(s.History, []metrics.Turn{{Role: backend.User, Said: s.Question}},
		s.Steps, []metrics.Turn{{Role: backend.Assistant, Said: s.Answer}})
	return slices.DeleteFunc(turns, func(t metrics.Turn) bool {
		return t.Role == backend.System || metrics.Blank(t.Text())
	})
}

// transcript writes turns for a judge to read, one text for each.
func transcript(turns []metrics.Turn) []string {
	var lines []string
	for _, t := range turns {
		who := "Assistant"
		if t.Role == backend.User {
			who = "User"
		}
		lines = append(lines, who+": "+strings.TrimSpace(t.Text()))
	}
	return lines
}
