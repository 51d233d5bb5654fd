package study

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
)

// Strengths are the Bradley-Terry strengths of three runs or more by one metric: every two runs play a game on each sample
// that both could score, and the better score wins.
type Strengths struct {
	Metric  string     `json:"metric"`
	Samples int        `json:"samples"` // that two runs or more could score
	Runs    []Strength `json:"runs"`    // the strongest first
}

// A Strength is a run's.
type Strength struct {
	Run      string    `json:"run"`
	Strength *Estimate `json:"strength"` // log odds; the mean over runs is 0
	Wins     float64   `json:"wins"`     // draws count half
	Games    float64   `json:"games"`
}

// strengths adds those of each metric that is compared.
func (o *CompareOptions) strengths(ctx context.Context, c *Comparison, all []*runs.Scores) error {
	var names []string
	for i := range c.Metrics {
		d := &c.Metrics[i]
		if slices.Contains(names, d.Name) {
			continue
		}
		names = append(names, d.Name)
		if slices.ContainsFunc(all, func(r *runs.Scores) bool { return r.Surveys[d.Name] != nil }) {
			c.Warnings = append(c.Warnings, d.Name+": no strengths, as it was asked about some rows only")
			continue
		}
		s, err := strengthsOf(all, d.Name, d.LowerIsBetter, drawing(ctx, o.Seed))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: no strengths: %v", d.Name, err))
			continue
		}
		c.Strengths = append(c.Strengths, *s)
	}
	return nil
}

func strengthsOf(all []*runs.Scores, metric string, lowerIsBetter bool, o stats.Options) (*Strengths, error) {
	place := map[string]int{} // of a sample among the rows
	var rows [][]float64
	for k, run := range all {
		for _, id := range run.Samples {
			v, ok := run.Of[metric][id]
			if !ok {
				continue
			}
			at, known := place[id]
			if !known {
				at = len(rows)
				place[id] = at
				row := make([]float64, len(all))
				for i := range row {
					row[i] = math.NaN()
				}
				rows = append(rows, row)
				o.Groups = append(o.Groups, run.Group[id])
			}
			if lowerIsBetter {
				v = -v
			}
			rows[at][k] = v
		}
	}
	got, err := stats.BradleyTerry(rows, o)
	if err != nil {
		return nil, err
	}
	s := &Strengths{Metric: metric}
	for _, row := range rows {
		played := 0
		for _, v := range row {
			if !math.IsNaN(v) {
				played++
			}
		}
		if played > 1 {
			s.Samples++
		}
	}
	for k, one := range got {
		s.Runs = append(s.Runs, Strength{all[k].Dir, newEstimate(one.Value, one.Interval), one.Wins, one.Games})
	}
	slices.SortStableFunc(s.Runs, func(a, b Strength) int {
		switch {
		case a.Strength.Value > b.Strength.Value:
			return -1
		case a.Strength.Value < b.Strength.Value:
			return 1
		}
		return 0
	})
	return s, nil
}
