package main

import (
	"errors"
	"strings"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/jedib0t/go-pretty/v6/table"
)

// The protocol of WikiEval, on a run over rows that assay testset --recipe wikieval made: each question has a good
// row and one that is worse in each dimension. A metric is asked which it prefers.

var errNoPairs = errors.New("the run holds no pairs of WikiEval")

// worseIn is the kind of row that is worse in a metric's dimension, as its id ends.
func worseIn(metric string) (kind string, ok bool) {
	dimension, _, _ := strings.Cut(metric, "/")
	kind, ok = map[string]string{
		"faithfulness": "ungrounded", "answer_relevance": "incomplete", "context_relevance": "padded",
	}[dimension]
	return kind, ok
}

// A wikiEvalShare is how far one metric agrees, as --format json prints it.
type wikiEvalShare struct {
	Metric    string    `json:"metric"`
	N         int       `json:"n"`         // pairs
	LeftOut   int       `json:"left_out"`  // pairs of which a row has no score
	Agreement *estimate `json:"agreement"` // the share in which the good row scores better, ties half
	Wins      int       `json:"wins"`
	Ties      int       `json:"ties"`
	Losses    int       `json:"losses"`
	Warnings  []string  `json:"warnings,omitempty"`
}

// wikiEval reports the share of pairs that each metric of the three dimensions prefers as it should.
func (o *agreeOptions) wikiEval(s *std, run *scores) error {
	list, err := run.pick(o.metrics)
	if err != nil {
		return err
	}
	shares := []wikiEvalShare{}
	for _, m := range list {
		kind, ok := worseIn(m.Name)
		if !ok {
			continue
		}
		share := pairShare(run, m.Name, kind, m.LowerIsBetter, o.seed)
		if share.N == 0 {
			s.warn("%s: no pair of rows of one group, good and %s, has scores: it is left out", m.Name, kind)
			continue
		}
		shares = append(shares, share)
	}
	if len(shares) == 0 {
		return usageError{withHint(errNoPairs, "assay testset --recipe wikieval makes them; score them with metrics of faithfulness, answer_relevance and context_relevance")}
	}
	if o.format == "json" {
		return s.json(map[string]any{"protocol": "wikieval", "metrics": shares})
	}
	t := s.table("metric", "pairs", "prefers the good one", "wins", "ties", "losses", "left out")
	var notes []string
	for _, p := range shares {
		t.AppendRow(table.Row{printable(p.Metric), p.N, p.Agreement, p.Wins, p.Ties, p.Losses, p.LeftOut})
		for _, w := range p.Warnings {
			notes = append(notes, p.Metric+": "+w)
		}
	}
	render(t, 7, "table")
	s.bullets(notes)
	return nil
}

// pairShare compares the good row of each group with the one of a kind.
func pairShare(run *scores, metric, kind string, lowerIsBetter bool, seed uint64) wikiEvalShare {
	share := wikiEvalShare{Metric: metric}
	of := run.of[metric]
	var mean stats.Mean
	for _, id := range run.samples {
		group, good := strings.CutSuffix(id, "/good")
		other := group + "/" + kind
		if !good || run.group[id] == "" || run.group[id] != run.group[other] {
			continue
		}
		a, scored := of[id]
		b, otherScored := of[other]
		if !scored || !otherScored {
			share.LeftOut++
			continue
		}
		if lowerIsBetter {
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
		sum := mean.Summary(stats.Options{Seed: seed, Max: 1})
		share.Agreement, share.Warnings = newEstimate(sum.Mean, sum.Interval), sum.Warnings
	}
	return share
}
