package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/slicing"
	"github.com/assay-eval/assay/metrics"
)

// rows lists the rows whose score is worse than a threshold, the worst first, and after them those that failed: of the
// metrics with a threshold, or of all if none has one.
func (g *Gate) rows(ctx context.Context, r *report.Report, run *runs.Run, data *slicing.Data) ([]report.Row, int, error) {
	bounds := map[string]float64{}
	for _, t := range g.Thresholds {
		m, err := r.Find(t.Metric)
		if err != nil {
			return nil, 0, &runs.InputError{Err: err}
		}
		bound, twice := bounds[m.Name]
		if !twice || m.LowerIsBetter == (t.Bound < bound) {
			bounds[m.Name] = t.Bound // the stricter one
		}
	}
	var w worst
	for res, err := range run.Results(ctx) {
		if err != nil {
			return nil, 0, err
		}
		bound, held := bounds[res.Metric]
		m, err := r.Find(res.Metric)
		if err != nil || !held && len(bounds) > 0 {
			continue // the first reading refused metrics that are not known
		}
		row := report.Row{Run: run.Dir, Sample: res.Sample, Metric: res.Metric}
		switch {
		case res.Score != nil && held:
			v := res.Score.Value
			if m.Calibration != nil {
				v = m.Calibration.Map.At(v)
			}
			row.Score = &v
			switch {
			case m.LowerIsBetter && v > bound:
				row.Why = fmt.Sprintf("%.3f is over %v", v, bound)
				w.add(row, (bound-v)/(m.Max-m.Min), g.Rows)
			case !m.LowerIsBetter && v < bound:
				row.Why = fmt.Sprintf("%.3f is under %v", v, bound)
				w.add(row, (v-bound)/(m.Max-m.Min), g.Rows)
			default:
				continue
			}
			w.rows[len(w.rows)-1].Because = against(res.Score)
		case res.Score != nil, res.Kind == metrics.NotApplicable, res.Kind == metrics.NotAsked:
		default:
			row.Why = string(res.Kind) + ": " + res.Error
			w.add(row, 1, g.Rows)
		}
	}
	list := w.list(g.Rows)
	for i := range list {
		at := data.Rows[list[i].Sample].Place
		list[i].File, list[i].Line = at.File, at.Line
	}
	return list, w.n - len(list), nil
}

// against is the first finding that counts against a score, nil if none does.
func against(s *metrics.Score) *metrics.Finding {
	for i := range s.Because {
		if v := s.Because[i].Verdict; v != nil && !*v {
			return &s.Because[i]
		}
	}
	return nil
}

// worst keeps the rows with the lowest ranks, up to twice as many as are wanted.
type worst struct {
	rows  []report.Row
	ranks []float64
	n     int // all that were added
}

func (w *worst) add(r report.Row, rank float64, most int) {
	if len(w.rows) >= 2*most {
		w.sort(most)
	}
	w.rows, w.ranks, w.n = append(w.rows, r), append(w.ranks, rank), w.n+1
}

// sort keeps as many, the lowest ranks first, equal ones in the order of the run.
func (w *worst) sort(most int) {
	order := make([]int, len(w.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(w.ranks[a], w.ranks[b]) })
	order = order[:min(most, len(order))]
	rows, ranks := make([]report.Row, 0, 2*most), make([]float64, 0, 2*most)
	for _, i := range order {
		rows, ranks = append(rows, w.rows[i]), append(ranks, w.ranks[i])
	}
	w.rows, w.ranks = rows, ranks
}

func (w *worst) list(most int) []report.Row {
	w.sort(most)
	return w.rows
}
