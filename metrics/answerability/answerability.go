// Package answerability has the measures that know whether a question can be answered, by the label of a row
// ([metrics.Sample] Answerable), and whether the answer declines to.
//
//   - [Right]: refusing is right where the question cannot be answered, and only there.
//   - [Conditioned]: any metric as mtRAG conditions it (Katsis et al. 2025, arXiv 2501.03468): the best value for a
//     refusal of what cannot be answered, the worst for a refusal of what can and for an answer to what cannot.
//   - truthfulness/crag: CRAG's score (Yang et al. 2024, arXiv 2406.04744): a perfect answer 1, an acceptable one 1/2, a
//     missing one 0, an incorrect one -1. It needs no label.
//   - [Aggregate] and mtrag/rb_llm: two of mtRAG's three measures; the third, RL_F, is faithfulness/claims.
//
// Whether an answer declines is what another metric says, refusal/phrases or refusal/judge: package all puts them
// together.
package answerability

import (
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

const mtRAG = "mtRAG (Katsis et al. 2025, arXiv 2501.03468)"

// declines is the value from which on a metric of refusal says that an answer declines.
const declines = 0.5

// Right is a metric of a name that says whether refusing was right, by the row's label and what a metric of refusal says.
func Right(name string, refusal metrics.Metric) metrics.Metric {
	return metrics.Metric{
		Name: name,
		Doc:  "whether the answer declines where the question cannot be answered, and only there, by " + refusal.Name,
		Source: "mtRAG's answerability accuracy (Katsis et al. 2025, arXiv 2501.03468); unitxt's is_answerable, as the " +
			"answer shows it",
		Formula: "1 if the answer declines and the question is not answerable, or it does not and the question is; else 0",
		Calls:   refusal.Calls,
		Max:     1,
		Needs:   refusal.Needs | metrics.Answerable,
		Asks:    refusal.Asks,
		Prompts: refusal.Prompts,
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			refused, because, err := refuses(ctx, m, s, refusal)
			if err != nil {
				return metrics.Score{}, err
			}
			right := refused != *s.Answerable
			score := metrics.Score{Because: append([]metrics.Finding{{Kind: "answer", Text: metrics.Bounded(s.Answer),
				Verdict: &right, Reason: said(refused, *s.Answerable)}}, because...)}
			if right {
				score.Value = 1
			}
			return score, nil
		},
	}
}

// said says what was done with a question.
func said(refused, answerable bool) string {
	what, can := "it answers", "which cannot be answered"
	if refused {
		what = "it declines to answer"
	}
	if answerable {
		can = "which can be answered"
	}
	return what + " the question, " + can
}

// refuses reports whether the answer declines, and why that is so.
func refuses(ctx context.Context, m metrics.Models, s *metrics.Sample,
	refusal metrics.Metric) (bool, []metrics.Finding, error) {
	got, err := refusal.Try(ctx, m, s)
	if err != nil {
		return false, nil, fmt.Errorf("%s: %w", refusal.Name, err)
	}
	if got.Value < declines {
		return false, nil, nil
	}
	return true, got.Because, nil
}

// Conditioned is a metric as mtRAG conditions it on whether a question can be answered and whether the answer declines:
// both or neither, and it has the best value it can or that of the metric; one without the other, and it has the worst.
// It goes by the metric's name with at behind it. A row that cannot be answered need not fill what the metric needs.
func Conditioned(m metrics.Metric, at string, refusal metrics.Metric) metrics.Metric {
	on := m
	on.Name = m.Name + "@" + at
	on.Doc = m.Doc + "; given whether the question can be answered and the answer declines"
	on.Source = m.Source + "; conditioned as in " + mtRAG
	best, worst := m.Max, m.Min
	if m.LowerIsBetter {
		best, worst = m.Min, m.Max
	}
	on.Formula = fmt.Sprintf("%v if the question is not answerable and the answer declines; %v if it is one and not the "+
		"other; else %s", best, worst, m.Name)
	on.Calls = refusal.Calls
	switch {
	case len(refusal.Asks) == 0:
		on.Calls = m.Calls
	case len(m.Asks) > 0:
		on.Calls += "; " + m.Calls
	}
	on.Needs = refusal.Needs | metrics.Answerable
	on.Asks = m.Asks.With(refusal.Asks)
	on.Prompts = append(slices.Clone(m.Prompts), slices.DeleteFunc(slices.Clone(refusal.Prompts),
		func(p *prompts.Prompt) bool { return slices.Contains(m.Prompts, p) })...)
	on.At, on.Settings, on.Aliases, on.Default = nil, nil, nil, false
	on.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		refused, because, err := refuses(ctx, models, s, refusal)
		if err != nil {
			return metrics.Score{}, err
		}
		if !refused && *s.Answerable {
			return m.Try(ctx, models, s)
		}
		right := refused && !*s.Answerable
		score := metrics.Score{Value: worst, Because: append([]metrics.Finding{{Kind: "answer",
			Text: metrics.Bounded(s.Answer), Verdict: &right, Reason: said(refused, *s.Answerable)}}, because...)}
		if right {
			score.Value = best
		}
		return score, nil
	}
	return on
}
