package study

import (
	"context"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
)

// The protocol of WikiEval (Es et al. 2023, arXiv 2309.15217, section 5), on a run over rows that assay testset
// --recipe wikieval made or read: each question has a good row and one that is worse in each dimension. A metric is
// asked which it prefers. What is right is what people prefer, where they were asked, and else the good row.

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
	LeftOut   int       `json:"left_out"`  // pairs of which a row has no score, or no label where people were asked
	Agreement *Estimate `json:"agreement"` // the share in which the row that is right scores better, ties half
	Wins      int       `json:"wins"`
	Ties      int       `json:"ties"`
	Losses    int       `json:"losses"`
	Warnings  []string  `json:"warnings,omitempty"`
}

// A WikiEvalMethod is a line of the paper's table: what one method agrees to in each dimension that it was run in.
type WikiEvalMethod struct {
	Method           string    `json:"method"` // "RAGAS", "GPT Score", "GPT Ranking"
	Faithfulness     *Estimate `json:"faithfulness,omitempty"`
	AnswerRelevance  *Estimate `json:"answer_relevance,omitempty"`
	ContextRelevance *Estimate `json:"context_relevance,omitempty"`
}

// A WikiEvalAgreement is what the protocol says of a run's metrics.
type WikiEvalAgreement struct {
	Metrics  []WikiEvalShare  `json:"metrics"`
	Table    []WikiEvalMethod `json:"table,omitempty"` // of the metrics that the paper compares
	Protocol string           `json:"protocol"`        // "wikieval"
	Field    string           `json:"field,omitempty"` // of people's preferences; absent: the rows as they were made
}

// WikiEval reports the share of pairs that each metric of the three dimensions prefers as it should. The labels are
// people's preferences, on the worse rows: 1 for its own answer or contexts, 2 for those of the good row; nil if there
// are none.
func WikiEval(ctx context.Context, run *runs.Scores, l *labels.Set, o AgreeOptions) (*WikiEvalAgreement, error) {
	list, err := run.Pick(o.Metrics)
	if err != nil {
		return nil, err
	}
	all := &WikiEvalAgreement{Protocol: "wikieval"}
	if l != nil {
		all.Field = l.Field
	}
	for _, m := range list {
		kind, ok := worseIn(m.Name)
		if !ok {
			continue
		}
		share, err := pairShare(run, m, kind, l, drawing(ctx, o.Seed))
		if err != nil {
			return nil, err
		}
		if share.N == 0 {
			o.warn("%s: no pair of rows of one group, good and %s, has what it takes: it is left out", m.Name, kind)
			continue
		}
		all.Metrics = append(all.Metrics, share)
	}
	if len(all.Metrics) == 0 {
		return nil, runs.Inputf("the run holds no pairs of WikiEval").WithHint(
			"assay testset --recipe wikieval makes them; score them with metrics of faithfulness, answer_relevance " +
				"and context_relevance")
	}
	all.Table = paperTable(all.Metrics)
	return all, ctx.Err()
}

// ranks reports whether a metric compares a row with its rival by itself.
func ranks(metric string) bool { return strings.HasSuffix(metric, "/rank") }

// pairShare compares the good row of each group with the one of a kind. A metric that ranks has done so already: it is
// the worse row that says what it won against the good one.
func pairShare(run *runs.Scores, metric runs.Metric, kind string, l *labels.Set, o stats.Options) (WikiEvalShare,
	error) {
	share := WikiEvalShare{Metric: metric.Name}
	of := run.Of[metric.Name]
	var mean stats.Mean
	for _, id := range run.Samples {
		group, worse := strings.CutSuffix(id, "/"+kind)
		good := group + "/good"
		if !worse || run.Group[id] == "" || run.Group[id] != run.Group[good] {
			continue
		}
		a, scored := of[good]
		b, otherScored := of[id]
		if ranks(metric.Name) {
			a, scored = metric.Min+metric.Max-b, otherScored
		}
		if metric.LowerIsBetter {
			a, b = b, a
		}
		if l != nil {
			first, decided, err := prefersOwn(l, id)
			if err != nil {
				return share, err
			}
			if scored = scored && decided; first {
				a, b = b, a
			}
		}
		if !scored || !otherScored {
			share.LeftOut++
			continue
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
	return share, nil
}

// prefersOwn reports whether people prefer a row's own answer, or contexts, to its rival; decided says whether they
// prefer any.
func prefersOwn(l *labels.Set, sample string) (own, decided bool, err error) {
	list := l.Ratings[sample]
	if len(list) == 0 {
		return false, false, nil
	}
	y := labels.Mean(list)
	if y < 1 || y > 2 {
		return false, false, runs.Inputf("the label %v of sample %q is neither 1 nor 2", y, sample)
	}
	return y < 1.5, y != 1.5, nil
}

// paperTable is the table of the paper: its three methods, each by its metrics.
func paperTable(shares []WikiEvalShare) []WikiEvalMethod {
	var table []WikiEvalMethod
	for _, line := range []struct{ method, faithfulness, answer, context string }{
		{"RAGAS", "claims", "questions", "sentences"},
		{"GPT Score", "judge_score", "judge_score", "judge_score"},
		{"GPT Ranking", "rank", "rank", "rank"},
	} {
		find := func(metric string) *Estimate {
			i := slices.IndexFunc(shares, func(s WikiEvalShare) bool { return s.Metric == metric })
			if i < 0 {
				return nil
			}
			return shares[i].Agreement
		}
		m := WikiEvalMethod{line.method, find("faithfulness/" + line.faithfulness),
			find("answer_relevance/" + line.answer), find("context_relevance/" + line.context)}
		if m.Faithfulness != nil || m.AnswerRelevance != nil || m.ContextRelevance != nil {
			table = append(table, m)
		}
	}
	return table
}
