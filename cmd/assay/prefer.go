package main

import (
	"fmt"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/jedib0t/go-pretty/v6/table"
)

// Pairs of answers, of which people preferred one. A metric's score says which one it prefers: above the
// middle of its range the first, below it the second.

// preferences is what --format json prints for pairs: what is said of the first metric, with the others beside it.
type preferences struct {
	preference
	Metrics []preference `json:"metrics"`
}

// A preference is how far one metric prefers what people do.
type preference struct {
	Metric      string    `json:"metric"`
	Field       string    `json:"field"`
	N           int       `json:"n"`
	LeftOut     int       `json:"left_out"`
	Agreement   *estimate `json:"agreement"`           // the share of pairs preferred as people do, ties half
	Ties        int       `json:"ties"`                // pairs that the metric does not decide
	First       float64   `json:"first"`               // the share of pairs in which it prefers the first, ties half
	PeopleFirst float64   `json:"people_first"`        // the share in which people do
	Bias        *estimate `json:"position_bias"`       // First less PeopleFirst: 0 is none
	IfFirst     *estimate `json:"agreement_if_first"`  // where people preferred the first
	IfSecond    *estimate `json:"agreement_if_second"` // where people preferred the second
	Warnings    []string  `json:"warnings,omitempty"`
}

func (o *agreeOptions) preferences(s *std, run *scores, l *labels, list []candidate) error {
	var all preferences
	for _, c := range list {
		if c.min == c.max {
			return usagef("%s: the range of a peer's scores is not known, so neither is the side that it prefers", c.name)
		}
		p, err := prefer(l, l.match(run, c.scores, c.lowerIsBetter), c, o.seed)
		if err != nil {
			return err
		}
		all.Metrics = append(all.Metrics, *p)
	}
	all.preference = all.Metrics[0]
	if o.format == "json" {
		return s.json(all)
	}
	t := s.table("metric", "n", "prefers as people do", "where they prefer 1", "where they prefer 2", "ties", "position bias")
	var notes []string
	for _, p := range all.Metrics {
		t.AppendRow(table.Row{printable(p.Metric), p.N, p.Agreement, p.IfFirst, p.IfSecond, p.Ties, p.Bias})
		notes = append(notes, fmt.Sprintf("%s puts the first answer first in %s of the pairs, people in %s", p.Metric, number(p.First), number(p.PeopleFirst)))
		for _, w := range p.Warnings {
			notes = append(notes, p.Metric+": "+w)
		}
	}
	render(t, 7, "table")
	s.bullets(notes)
	return nil
}

func prefer(l *labels, m matched, c candidate, seed uint64) (*preference, error) {
	p := &preference{Metric: c.name, Field: l.field, N: len(m.ids), LeftOut: len(l.ratings) - len(m.ids)}
	middle := (c.min + c.max) / 2
	if c.lowerIsBetter {
		middle = -middle
	}
	var right, bias, ifFirst, ifSecond stats.Mean
	for i, id := range m.ids {
		if y := m.labels[i]; y < 1 || y > 2 {
			return nil, usagef("the label %v of sample %q is neither 1 nor 2", y, id)
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
		people := number01(m.labels[i] < 1.5)
		first := 0.5
		switch v := m.scores[i]; {
		case v > middle:
			first = 1
		case v < middle:
			first = 0
		default:
			p.Ties++
		}
		agrees := 1 - abs(first-people)
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
		return nil, usagef("%s: the raters are divided on every pair", c.name)
	}
	p.First /= float64(p.N)
	p.PeopleFirst /= float64(p.N)
	share := func(m *stats.Mean, min float64) *estimate {
		if m.N() == 0 {
			return nil
		}
		s := m.Summary(stats.Options{Seed: seed, Min: min, Max: 1})
		return newEstimate(s.Mean, s.Interval)
	}
	p.Warnings = right.Summary(stats.Options{Seed: seed, Max: 1}).Warnings
	p.Agreement, p.Bias = share(&right, 0), share(&bias, -1)
	p.IfFirst, p.IfSecond = share(&ifFirst, 0), share(&ifSecond, 0)
	return p, nil
}

func abs(v float64) float64 { return max(v, -v) }
