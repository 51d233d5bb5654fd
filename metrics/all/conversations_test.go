package all

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Every prompt that shows a question shows the conversation before it, in both layouts.
func TestPromptsShowTheConversation(t *testing.T) {
	// Their questions are not the sample's, but made from a reference or an answer.
	others := map[string]bool{"exam_answerable_yes": true, "exam_reply": true, "exam_agrees_yes": true, "selfcheck_choice": true}
	seen := 0
	for _, p := range Prompts() {
		for _, layout := range prompts.Layouts() {
			in := prompts.Set{}.In(layout).For(p)
			question, history := in.ShowsConversation()
			if question && !history && !others[p.Name] {
				t.Errorf("%s, %s: it shows the question without .History", p.Name, layout)
			}
			if history {
				seen++
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d prompts show a conversation", seen)
	}
}

// Whatever a metric asks a judge about a question, it shows the last turns before it and none that are too much.
func TestMetricsShowTheConversation(t *testing.T) {
	talk := []metrics.Turn{{Role: backend.User, Said: strings.Repeat("We spoke of zeppelins. ", 200)},
		{Role: backend.User, Said: "Who is Ada Lovelace?"}, {Role: backend.Assistant, Said: "A poet's daughter."}}
	sample := &metrics.Sample{ID: "one", Question: "And what did she write?", History: talk,
		Answer: "She wrote the first program.", Contexts: []string{"Ada wrote a program. It was the first."},
		References: []string{"The first program."}, OtherAnswers: []string{"A poem."},
		Rubrics: map[string]string{"1": "wrong", "2": "right"}}
	seen := 0
	for _, layout := range prompts.Layouts() {
		for _, m := range All() {
			if !m.Needs.Has(metrics.Question) || m.Turns != metrics.TurnsShown || m.Lacks(sample) != nil {
				continue
			}
			shown := false
			look := func(list []backend.Message) {
				text := ""
				for _, message := range list {
					text += message.Text + "\n"
				}
				if !strings.Contains(text, "what did she write") {
					return
				}
				if shown = true; !strings.Contains(text, "Who is Ada Lovelace?") || strings.Contains(text, "zeppelins") {
					t.Errorf("%s, %s: the judge is shown %q", m.Name, layout, text)
				}
			}
			judge := &backendtest.Fake{Before: func(_ context.Context, call backendtest.Call) error {
				switch {
				case call.Generate != nil:
					look(call.Generate.Messages)
				case call.Score != nil:
					look(call.Score.Messages)
				}
				return nil
			}}
			models := metrics.Models{Roles: metrics.Roles{backend.Judge: judge, backend.Embedder: judge},
				Prompts: prompts.Set{}.In(layout)}
			if score, err := m.Try(t.Context(), models, sample); err == nil && shown {
				said := slices.ContainsFunc(score.Because, func(f metrics.Finding) bool {
					return f.Text == "the last 2 of the 3 turns before the question were shown"
				})
				if !said {
					t.Errorf("%s, %s: the evidence does not say which turns were shown: %+v", m.Name, layout, score.Because)
				}
			}
			if shown {
				seen++
			}
		}
	}
	if seen < 60 {
		t.Errorf("only %d metrics showed a question, in the two layouts", seen)
	}
}
