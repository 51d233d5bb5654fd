package likelihood

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/metrics"
)

// gatedMetrics are those of ARES' judgements that it records as 0 where it finds the context irrelevant: in its
// scoring without training (UES/IDP), not in that by trained classifiers.
func gatedMetrics() []metrics.Metric {
	var list []metrics.Metric
	for _, m := range logitMetrics() {
		switch m.Name {
		case "faithfulness/logit", "answer_relevance/logit", "answer_relevance/ares":
			list = append(list, gated(m))
		}
	}
	return list
}

// gate is the P(yes) from which a context is relevant. It is the one threshold that the yes/no metrics have: ARES'
// gate closes by a verdict.
const gate = 0.5

// gated is a metric behind the gate of context relevance: 0 where no context is relevant to the question.
func gated(m metrics.Metric) metrics.Metric {
	relevance := contextRelevanceLogit()
	score := m.Score
	m.Name += "_gated"
	m.Doc += "; 0 where no context is relevant to the question"
	m.Source += "; gated by context relevance as in the UES/IDP scores of ARES' code (Saad-Falcon et al. 2023, arXiv " +
		"2311.09476)"
	m.Formula += fmt.Sprintf("; 0 if P(yes) of context_relevance/logit is below %v for every context", gate)
	m.Calls += "; before it 1 for each context, which context_relevance/logit shares"
	m.Needs |= relevance.Needs
	m.Asks = m.Asks.With(relevance.Asks)
	m.Prompts = append(relevance.Prompts, m.Prompts...)
	m.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		relevant, err := relevance.Score(ctx, models, s)
		if err != nil {
			return metrics.Score{}, fmt.Errorf("context relevance, which gates it: %w", err)
		}
		f := gateFinding(relevant)
		if !*f.Verdict {
			return metrics.Score{Value: 0, Because: []metrics.Finding{f}}, nil
		}
		open, err := score(ctx, models, s)
		if err != nil {
			return metrics.Score{}, err
		}
		open.Because = append([]metrics.Finding{f}, open.Because...)
		return open, nil
	}
	return m
}

// gateFinding says by which context the gate is open, or how near the best one came.
func gateFinding(relevant metrics.Score) metrics.Finding {
	var best metrics.Finding
	for _, f := range relevant.Because {
		if f.Kind == "context" && (best.Value == nil || *f.Value > *best.Value) {
			best = f
		}
	}
	open := *best.Value >= gate
	best.Kind, best.Verdict = "gate", &open
	best.Reason = "the most relevant context: the gate is open"
	if !open {
		best.Reason = "the most relevant context, and it is not relevant: the gate is closed, the value is 0 and the " +
			"answer was not judged"
	}
	return best
}
