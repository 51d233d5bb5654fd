package citation

import (
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// trecMetrics are the measures of TREC's track of retrieval-augmented generation: the first context that a sentence cites
// supports it in full, in part or not, which is 1, 1/2 or 0.
func trecMetrics() []metrics.Metric {
	measure := func(name, doc, formula string, recall bool) metrics.Metric {
		return metrics.Metric{
			Name: name + "/trec",
			Doc:  doc,
			Source: "TREC 2024 RAG, support evaluation (Thakur et al. 2025, arXiv 2504.15205): weighted, its three labels by " +
				"first-token scoring; in our words",
			Formula: formula,
			Calls:   "1 first-token scoring for each sentence that cites",
			Max:     1,
			Needs:   metrics.Answer | metrics.Contexts,
			Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
			Prompts: []*prompts.Prompt{gradePrompt},
			Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				return scoreTREC(ctx, m, s, recall)
			},
		}
	}
	return []metrics.Metric{
		measure("citation_recall", "how far the answer's sentences are supported by the first context that each cites",
			"(sentences supported in full + in part / 2) / sentences", true),
		measure("citation_precision", "how far the answer's sentences that cite are supported by the first context that each "+
			"cites", "(sentences supported in full + in part / 2) / sentences that cite; 0 without any", false),
	}
}

func scoreTREC(ctx context.Context, m metrics.Models, s *metrics.Sample, recall bool) (metrics.Score, error) {
	list, err := statements(s)
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	of := 0
	for _, st := range list {
		cites := len(st.Cites)+len(st.Unknown) > 0
		if recall || cites {
			of++
		}
		f := metrics.Finding{Kind: "sentence", Text: st.Text, Reason: st.unknown()}
		switch {
		case len(st.Cites) > 0:
			if f, err = firstSupport(ctx, m, s, st); err != nil {
				return metrics.Score{}, fmt.Errorf("sentence %q: %w", metrics.Bounded(st.Text), err)
			}
			score.Value += *f.Value
		case !cites:
			f.Reason = "it cites nothing"
		}
		score.Because = append(score.Because, f)
	}
	score.Value = metrics.Clamp(score.Value/float64(max(of, 1)), 0, 1)
	return score, nil
}

// firstSupport is how far the first context that a statement cites supports it: of several windows the most.
func firstSupport(ctx context.Context, m metrics.Models, s *metrics.Sample, st Statement) (metrics.Finding, error) {
	labels, values := []string{"Full", "Partial", "None"}, []float64{1, 0.5, 0}
	cited := st.Cites[0]
	f := metrics.Finding{Kind: "sentence", Text: st.Text, Where: fmt.Sprintf("context %d", cited)}
	best := 0.0
	f.Value = &best
	if metrics.Blank(s.Contexts[cited-1]) {
		f.Reason = "the context is blank"
		return f, nil
	}
	_, err := metrics.NewPassage(s.Contexts[cited-1:cited]).InWindows(true, func(part string) error {
		c, err := ask.Weigh(ctx, m, gradePrompt, supportData{s.Question, part, st.Text, s.History}, labels)
		if err != nil {
			return err
		}
		at := slices.Index(c.Chances, slices.Max(c.Chances))
		if f.Reason == "" || values[at] > best {
			best, f.Reason = values[at], fmt.Sprintf("%s, P = %.3f", labels[at], c.Chances[at])
		}
		return nil
	})
	return f, err
}

var gradePrompt = prompts.Builtin("citation_support", prompts.Example{
	Data: supportData{Question: "<question>", Context: "<context>", Statement: "<statement>",
		History: []metrics.Turn{{Role: backend.User, Said: "<history>"}}},
	Shown: map[string]string{".Context": "<context>", ".Statement": "<statement>"},
})
