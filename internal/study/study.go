// Package study says what a run's scores are worth: how far they agree with people's labels ([Agree], [Prefer],
// [WikiEval]), whether two runs differ ([Compare]), what people would say on average ([NewSystem], [Rank]), how likely
// a score makes a yes ([Calibrate]), and what a judge trained on labels is worth ([TrainJudge], [JudgeRows.Test]).
//
// The path of a label:
//
//  1. [labels.Source] reads it from a file of labels or from the dataset's column of people's answers, beside the ids
//     of the run's samples.
//  2. It is matched with the scores of that sample: a row with both counts, and those without one are counted.
//  3. A study hands the matched rows to internal/stats and keeps value, interval and warnings.
//
// Everything here is a function from runs and labels to a plain struct, which is what --format json prints;
// internal/report renders the same structs for people. Statistics are internal/stats'. What takes long ends with its
// context.
package study

import (
	"context"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
)

// drawing are the options of what is drawn at random: it ends with ctx.
func drawing(ctx context.Context, seed uint64) stats.Options {
	return stats.Options{Seed: seed, Err: ctx.Err}
}

// in says which groups the rows are in.
func in(o stats.Options, groups []string) stats.Options {
	o.Groups = groups
	return o
}

// An Estimate is a number with its interval, as --format json prints it. Lo and Hi are absent where there is none.
type Estimate struct {
	Value  float64  `json:"value"`
	Lo     *float64 `json:"lo,omitempty"`
	Hi     *float64 `json:"hi,omitempty"`
	Method string   `json:"method,omitempty"` // of the interval
}

func newEstimate(value float64, i *stats.Interval) *Estimate {
	e := &Estimate{Value: value}
	if i != nil {
		e.Lo, e.Hi, e.Method = &i.Lo, &i.Hi, string(i.Method)
	}
	return e
}

// matched are the samples that have both a label and a score, in the run's order.
type matched struct {
	ids    []string
	scores []float64
	labels []float64 // means over raters
	groups []string  // nil if no sample is in one
}

// match pairs labels with scores. Scores of metrics whose low ones are good are negated.
func match(l *labels.Set, run *runs.Scores, of map[string]float64, lowerIsBetter bool) matched {
	var m matched
	grouped := false
	for _, id := range run.Samples {
		v, scored := of[id]
		list := l.Ratings[id]
		if !scored || len(list) == 0 {
			continue
		}
		if lowerIsBetter {
			v = -v
		}
		group := l.GroupOf(run, id)
		grouped = grouped || group != ""
		m.ids = append(m.ids, id)
		m.scores, m.labels, m.groups = append(m.scores, v), append(m.labels, labels.Mean(list)), append(m.groups, group)
	}
	if !grouped {
		m.groups = nil
	}
	return m
}

// truths are the labels as true and false: what most raters said. Samples on which they are divided are left out.
func (m matched) truths() (kept matched, truth []bool) {
	for i, y := range m.labels {
		if y == 0.5 {
			continue
		}
		kept.ids, kept.scores, kept.labels = append(kept.ids, m.ids[i]), append(kept.scores, m.scores[i]),
			append(kept.labels, boolean(y > 0.5))
		if m.groups != nil {
			kept.groups = append(kept.groups, m.groups[i])
		}
		truth = append(truth, y > 0.5)
	}
	return kept, truth
}

// only keeps the samples that have another score, too.
func (m matched) only(other map[string]float64) matched {
	var kept matched
	for i, id := range m.ids {
		if _, ok := other[id]; !ok {
			continue
		}
		kept.ids, kept.scores, kept.labels = append(kept.ids, id), append(kept.scores, m.scores[i]),
			append(kept.labels, m.labels[i])
		if m.groups != nil {
			kept.groups = append(kept.groups, m.groups[i])
		}
	}
	return kept
}

// boolean is 1 for true and 0 for false.
func boolean(truth bool) float64 {
	if truth {
		return 1
	}
	return 0
}
