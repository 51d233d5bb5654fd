package study

import (
	"context"
	"math"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
)

// Pairs of answers, of which people preferred one. A metric's score says which one it prefers: above the
// middle of its range the first, below it the second.

// Preferences is what --format json prints for pairs: what is said of the first metric, with the others beside it.
type Preferences struct {
	Preference
	Metrics []Preference `json:"metrics"`
}

// A Preference is how far one metric prefers what people do.
type Preference struct {
	Metric      string    `json:"metric"`
	Field       string    `json:"field"`
	N           int       `json:"n"`
	LeftOut     int       `json:"left_out"`
	Agreement   *Estimate `json:"agreement"`           // the share of pairs preferred as people do, ties half
	Ties        int       `json:"ties"`                // pairs that the metric does not decide
	First       float64   `json:"first"`               // the share of pairs in which it prefers the first, ties half
	PeopleFirst float64   `json:"people_first"`        // the share in which people do
	Bias        *Estimate `json:"position_bias"`       // First less PeopleFirst: 0 is none
	IfFirst     *Estimate `json:"agreement_if_first"`  // where people preferred the first
	IfSecond    *Estimate `json:"agreement_if_second"` // where people preferred the second
	Warnings    []string  `json:"warnings,omitempty"`
}

// Prefer says how far metrics prefer the answers that people do. Labels are 1 or 2, for the better of two answers.
func Prefer(ctx context.Context, run *runs.Scores, l *labels.Set, o AgreeOptions) (*Preferences, error) {
	list, err := o.candidates(run, l)
	if err != nil {
		return nil, err
	}
	var all Preferences
	for _, c := range list {
		if c.min == c.max {
			return nil, runs.Inputf("%s: the range of a peer's scores is not known, so neither is the side that it "+
				"prefers", c.name)
		}
		p, err := prefer(l, match(l, run, c.scores, c.lowerIsBetter), c, drawing(ctx, o.Seed))
		if err != nil {
			return nil, err
		}
		all.Metrics = append(all.Metrics, *p)
	}
	all.Preference = all.Metrics[0]
	return &all, ctx.Err()
}

func prefer(l *labels.Set, m matched, c candidate, o stats.Options) (*Preference, error) {
	p := &Preference{Metric: c.name, Field: l.Field, N: len(m.ids), LeftOut: len(l.Ratings) - len(m.ids)}
	middle := (c.min + c.max) / 2
	if c.lowerIsBetter {
		middle = -middle
	}
	var right, bias, ifFirst, ifSecond stats.Mean
	for i, id := range m.ids {
		if y := m.labels[i]; y < 1 || y > 2 {
			return nil, runs.Inputf("the label %v of sample %q is neither 1 nor 2", y, id)
		}
		if m.labels[i] == 1.5 { // the raters are equally divided
			p.N--
			p.LeftOut++
			continue
		}
		group := ""
		if m.groups != nil {
			group = m.groups[i]
		}
		people := boolean(m.labels[i] < 1.5)
		first := 0.5
		switch v := m.scores[i]; {
		case v > middle:
			first = 1
		case v < middle:
			first = 0
		default:
			p.Ties++
		}
		agrees := 1 - math.Abs(first-people)
		right.AddTo(group, agrees)
		bias.AddTo(group, first-people)
		if people == 1 {
			ifFirst.AddTo(group, agrees)
		} else {
			ifSecond.AddTo(group, agrees)
		}
		p.First += first
		p.PeopleFirst += people
	}
	if p.N == 0 {
		return nil, runs.Inputf("%s: the raters are divided on every pair", c.name)
	}
	p.First /= float64(p.N)
	p.PeopleFirst /= float64(p.N)
	share := func(m *stats.Mean, min float64) *Estimate {
		if m.N() == 0 {
			return nil
		}
		of := o
		of.Min, of.Max = min, 1
		s := m.Summary(of)
		return newEstimate(s.Mean, s.Interval)
	}
	o.Max = 1
	p.Warnings = right.Summary(o).Warnings
	p.Agreement, p.Bias = share(&right, 0), share(&bias, -1)
	p.IfFirst, p.IfSecond = share(&ifFirst, 0), share(&ifSecond, 0)
	return p, nil
}
