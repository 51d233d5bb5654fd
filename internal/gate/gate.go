// Package gate decides whether a run is good enough: [Gate.Open] reads it, its slices and its baseline, and holds
// thresholds ([report.Threshold]) and limits to drops ([Drop]) against them.
package gate

import (
	"context"
	"errors"
	"slices"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/slicing"
)

// A Gate says what is asked of runs. The zero Gate asks for nothing.
type Gate struct {
	Thresholds []report.Threshold
	Baseline   string // a run folder
	Drops      []Drop // from the baseline
	By         []string
	Data       string // the dataset, where it is not any more where the runs found it
	Rows       int    // how many rows that are worse than a threshold, or failed, are listed for each run

	Warn func(format string, args ...any) // is told what may be wrong
}

// An Outcome is a run with what was found.
type Outcome struct {
	Report   *report.Report
	Verdicts []report.Verdict
	Rows     []report.Row // the worst first
	MoreRows int          // than those
}

// columns are those by which runs are sliced.
func (g *Gate) columns() []string {
	list := slices.Clone(g.By)
	add := func(column string) {
		if column != "" && !slices.Contains(list, column) {
			list = append(list, column)
		}
	}
	for _, t := range g.Thresholds {
		add(t.By)
	}
	for _, d := range g.Drops {
		add(d.By)
	}
	return list
}

// Open reads a run folder and judges it. A threshold for what the run does not have is a [runs.InputError].
func (g *Gate) Open(ctx context.Context, dir string, v report.View) (*Outcome, error) {
	r, err := report.Load(ctx, dir, v)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Report: r}
	run := &runs.Run{Dir: dir, Manifest: r.Manifest}
	columns := g.columns()
	var data *slicing.Data
	if len(columns) > 0 || g.Rows > 0 {
		data, err = slicing.Read(ctx, run, g.Data, columns, g.Warn)
		if err != nil && len(columns) > 0 {
			return nil, err
		}
		if err != nil {
			g.Warn("rows are named without their lines: %v", err)
			data = &slicing.Data{}
		}
		data.Fold()
	}
	if len(columns) > 0 {
		if r.Slices, err = slicing.Of(ctx, run, data, v.Calibrations); err != nil {
			return nil, err
		}
	}
	if out.Verdicts, err = r.Judge(g.Thresholds); err != nil {
		return nil, &runs.InputError{Err: err}
	}
	drops, err := g.judgeDrops(ctx, dir, data)
	if err != nil {
		return nil, err
	}
	out.Verdicts = append(out.Verdicts, drops...)
	if g.Rows > 0 {
		out.Rows, out.MoreRows, err = g.rows(ctx, r, run, data)
	}
	return out, err
}

func (g *Gate) judgeDrops(ctx context.Context, dir string, data *slicing.Data) ([]report.Verdict, error) {
	switch {
	case g.Baseline == "" && len(g.Drops) == 0:
		return nil, nil
	case g.Baseline == "":
		return nil, runs.Inputf("there is nothing from which a drop could be told").WithHint(
			"--baseline DIR names the run to compare with")
	case len(g.Drops) == 0:
		return nil, runs.Inputf("nothing is asked of the difference from %s", g.Baseline).WithHint(
			"--max-drop 0.02 says how much worse a run may be; assay compare %s %s shows the difference", g.Baseline, dir)
	}
	base, errBase := runs.LoadScores(ctx, g.Baseline)
	run, errRun := runs.LoadScores(ctx, dir)
	if err := errors.Join(errBase, errRun); err != nil {
		return nil, err
	}
	var verdicts []report.Verdict
	for i := range g.Drops {
		list, err := g.Drops[i].judge(ctx, base, run, data, g.Warn)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, list...)
	}
	return verdicts, nil
}
