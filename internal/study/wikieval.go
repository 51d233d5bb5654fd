package study

import (
	"context"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
)

// The protocol of WikiEval, on a run over rows that assay testset --recipe wikieval made: each question has a good
// row and one that is worse in each dimension. A metric is asked which it prefers.

// worseIn is the kind of row that is worse in a metric's dimension, as its id ends.
func worseIn(metric string) (kind string, ok bool) {
	dimension, _, _ := strings.Cut(metric, "/")
	kind, ok = map[string]string{
		"faithfulness": "ungrounded", "answer_relevance": "incomplete", "context_relevance": "padded",
	}[dimension]
	return kind, ok
}

// A WikiEvalShare is how far one metric agrees, as --format json prints it.
type WikiEvalShare struct {
	Metric    string    `json:"metric"`
	N         int       `json:"n"`         // pairs
	LeftOut   int       `json:"left_out"`  // pairs of which a row has no score
	Agreement *Estimate `json:"agreement"` // the share in which the good row scores better, ties half
	Wins      int       `json:"wins"`
	Ties      int       `json:"ties"`
	Losses    int       `json:"losses"`
	Warnings  []string  `json:"warnings,omitempty"`
}

// A WikiEvalAgreement is what the protocol says of a run's metrics.
type WikiEvalAgreement struct {
	Metrics  []WikiEvalShare `json:"metrics"`
	Protocol string          `json:"protocol"` // "wikieval"
}

// WikiEval reports the share of pairs that each metric of the three dimensions prefers as it should.
func WikiEval(ctx context.Context, run *runs.Scores, o AgreeOptions) (*WikiEvalAgreement, error) {
	list, err := run.Pick(o.Metrics)
	if err != nil {
		return nil, err
	}
	all := &WikiEvalAgreement{Protocol: "wikieval"}
	for _, m := range list {
		kind, ok := worseIn(m.Name)
		if !ok {
			continue
		}
		share := pairShare(run, m, kind, drawing(ctx, o.Seed))
		if share.N == 0 {
			o.warn("%s: no pair of rows of one group, good and %s, has scores: it is left out", m.Name, kind)
			continue
		}
		all.Metrics = append(all.Metrics, share)
	}
	if len(all.Metrics) == 0 {
		return nil, runs.Inputf("the run holds no pairs of WikiEval").WithHint(
			"assay testset --recipe wikieval makes them; score them with metrics of faithfulness, answer_relevance " +
				"and context_relevance")
	}
	return all, ctx.Err()
}

// pairShare compares the good row of each group with the one of a kind.
func pairShare(run *runs.Scores, metric runs.Metric, kind string, o stats.Options) WikiEvalShare {
	share := WikiEvalShare{Metric: metric.Name}
	of := run.Of[metric.Name]
	var mean stats.Mean
	for _, id := range run.Samples {
		group, good := strings.CutSuffix(id, "/good")
		other := group + "/" + kind
		if !good || run.Group[id] == "" || run.Group[id] != run.Group[other] {
			continue
		}
		a, scored := of[id]
		b, otherScored := of[other]
		if !scored || !otherScored {
			share.LeftOut++
			continue
		}
		if metric.LowerIsBetter {
			a, b = b, a
		}
		share.N++
		switch {
		case a > b:
			share.Wins++
			mean.Add(1)
		case a < b:
			share.Losses++
			mean.Add(0)
		default:
			share.Ties++
			mean.Add(0.5)
		}
	}
	if share.N > 0 {
		o.Max = 1
		sum := mean.Summary(o)
		share.Agreement, share.Warnings = newEstimate(sum.Mean, sum.Interval), sum.Warnings
	}
	return share
}
