package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/assay-eval/assay/internal/exhibit"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/internal/view/index"
)

// fewest are the labels from which on something is said of them.
const fewest = 3

// A labelsPanel says what the labels so far tell of a metric, and of the run.
type (
	labelsPanel struct {
		Metric  string
		Why     string // nothing is said
		Figures []figure
		Curve   *curve
		Whole   []figure // what is said of the whole run
		Chosen  string   // why that may be wrong
		Notes   []string
		Apart   string // the address of the rows on which the metric and the labels differ
	}
	figure struct{ Name, Value, Interval string }
	curve  struct { // reliability: from 0 to 100, upwards
		Points []point
		Line   string // through them
		Says   string
	}
	point struct{ X, Y, R, Label string }
)

// labelsPanel is computed anew whenever it is looked at: labels are few.
func (v *Viewer) labelsPanel(ctx context.Context, a *address, x *index.Index) *labelsPanel {
	m := x.Metrics()[a.By]
	p := &labelsPanel{Metric: m.Name, Apart: a.anew(func(a *address) { a.Versus, a.Flipped = "labels", true })}
	if err := v.agreement(ctx, p, m, a.By, x); err != nil {
		p.Why = "Nothing can be said: " + err.Error()
	}
	return p
}

func (v *Viewer) agreement(ctx context.Context, p *labelsPanel, m runs.Metric, metric int, x *index.Index) error {
	v.mu.Lock()
	of := v.book.Labels()
	v.mu.Unlock()
	var named []string // nil: all rows
	large := x.Now().Rows > mostCompared
	if large {
		for sample := range of {
			named = append(named, sample)
		}
		slices.Sort(named)
	}
	if len(of) < fewest {
		p.Why = fmt.Sprintf("%d of the %d labels that it takes to say how far the scores agree with them. Open a row and press a digit.", len(of), fewest)
		return nil
	}
	run, err := x.Scores(ctx, metric, named)
	if err != nil {
		return err
	}
	source := labels.Source{File: v.options.Labels}
	set, err := source.Load(ctx, run)
	if err != nil {
		return err
	}
	agreement, err := study.Agree(ctx, run, set, study.AgreeOptions{Metrics: []string{m.Name}})
	if err != nil {
		return err
	}
	p.agree(&agreement.MetricAgreement, agreement.Binary)
	if set.Browsed > 0 {
		p.Chosen = fmt.Sprintf("%s of %d %s of rows that someone chose while reading: %s.", thousands(set.Browsed), len(set.Ratings),
			map[bool]string{true: "labels are", false: "label is"}[len(set.Ratings) != 1], labels.Chosen)
	}
	if large {
		p.Notes = append(p.Notes, fmt.Sprintf("more than %s rows: assay ppi estimates the whole run", thousands(mostCompared)))
		return nil
	}
	system, err := study.NewSystem(run, m, set, 0.95)
	if errors.As(err, new(*runs.InputError)) {
		p.Notes = append(p.Notes, "no estimate of the whole run: "+err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	p.estimate(system.PPI(0))
	return nil
}

func (p *labelsPanel) add(name string, e *study.Estimate) {
	if e == nil {
		return
	}
	f := figure{Name: name, Value: exhibit.Number(e.Value)}
	if e.Lo != nil && e.Hi != nil {
		f.Interval = exhibit.Number(*e.Lo) + " to " + exhibit.Number(*e.Hi)
	}
	p.Figures = append(p.Figures, f)
}

// agree lays out how far the scores agree with the labels: by kappa where they are true and false, by ranks where not.
func (p *labelsPanel) agree(a *study.MetricAgreement, binary bool) {
	p.Figures = append(p.Figures, figure{Name: "rows with both", Value: strconv.Itoa(a.N)})
	if binary {
		if t := a.AtThreshold; t != nil {
			p.add("Cohen's kappa, cut at "+short(t.Threshold), t.Kappa)
			p.add("accuracy, cut at "+short(t.Threshold), t.Accuracy)
		}
		p.add("AUC", a.AUC)
	} else {
		p.add("rank correlation (Spearman)", a.Spearman)
	}
	p.Notes = append(p.Notes, a.Warnings...)
	if a.Calibration == nil {
		if !binary {
			p.Notes = append(p.Notes, "no reliability curve: that takes labels of 0 and 1 and scores from 0 to 1, where high is good")
		}
		return
	}
	c := &curve{Says: fmt.Sprintf("calibration error %s; scores that were calibrated would show about %s with so few labels (p %.2g)",
		exhibit.Number(a.Calibration.Error), exhibit.Number(a.Calibration.Expected), a.Calibration.P)}
	for _, b := range a.Calibration.Bins {
		if b.N == 0 {
			continue
		}
		at := point{X: fmt.Sprintf("%.1f", 100*b.Score), Y: fmt.Sprintf("%.1f", 100-100*b.Label), R: fmt.Sprintf("%.1f", min(2+0.6*float64(b.N), 6)),
			Label: fmt.Sprintf("%s with scores of %s on average: %.0f%% were labelled 1", rows(b.N), exhibit.Number(b.Score), 100*b.Label)}
		c.Points = append(c.Points, at)
		c.Line += at.X + "," + at.Y + " "
	}
	p.Curve = c
}

// estimate lays out what the labels and the scores together say of the whole run.
func (p *labelsPanel) estimate(e study.PPI) {
	between := func(lo, hi float64) string {
		return fmt.Sprintf("%s to %s, %s wide", exhibit.Number(lo), exhibit.Number(hi), exhibit.Number(hi-lo))
	}
	p.Whole = []figure{
		{"labels and scores together (ppi)", exhibit.Number(e.Estimate), between(e.Lo, e.Hi)},
		{"the labels alone", exhibit.Number(e.Classical.Estimate), between(e.Classical.Lo, e.Classical.Hi)},
	}
	if e.Buy != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("an interval half as wide would take about %s labels", thousands(e.Buy.Labels)))
	}
	for _, w := range e.Warnings {
		if !slices.Contains(p.Notes, w) {
			p.Notes = append(p.Notes, w)
		}
	}
}
