package judge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/assay-eval/assay/metrics/all"
	"golang.org/x/sync/errgroup"
)

// Options say how [Train] goes about it. The zero Options are good ones.
type Options struct {
	Seed  uint64
	Folds int // 0: 10

	// Methods are the kinds of model that may be chosen, of [Methods]; nil: all of them.
	Methods []string
}

// Methods lists the kinds of model: a linear one, trees, and the mean of the log odds of both.
func Methods() []string { return []string{"linear", "trees", "both"} }

// An Outcome is a judge with what is known of it.
type Outcome struct {
	Judge       *all.TrainedJudge // labels from 0 to 1
	Method      string            // "linear", "trees" or "both"
	Penalty     float64           // of the linear part; 0 without one
	Depth       int               // of the trees; 0 without any
	Tried       []Try             // the best of each method in choosing for all rows, and a constant
	Predictions []float64         // for each row, by a judge that was fitted and chosen without its part
	Parts       []int             // the part of each row
	Dropped     []string          // features that say the same of all rows, or of none
}

// A Try is a method with its log loss on rows that it was not fitted to.
type Try struct {
	Method string  `json:"method"`
	How    string  `json:"how,omitempty"`
	Loss   float64 `json:"log_loss"`
}

const leastRows = 40

// Train fits a judge to a table.
func Train(ctx context.Context, t *Table, o Options) (*Outcome, error) {
	if o.Folds == 0 {
		o.Folds = 10
	}
	if o.Methods == nil {
		o.Methods = Methods()
	}
	low, high := slices.Min(append([]float64{1}, t.Labels...)), slices.Max(append([]float64{0}, t.Labels...))
	parts := t.deal(o.Folds, o.Seed)
	switch {
	case len(t.Rows) < leastRows:
		return nil, fmt.Errorf("%d labelled rows are too few to train and to test on: %d are the least, and 200 "+
			"advisable", len(t.Rows), leastRows)
	case low == high:
		return nil, errors.New("all labels are alike: there is nothing to learn")
	case len(parts) < 3 || len(parts) < 4 && t.Sources == nil:
		return nil, fmt.Errorf("the rows are in %d groups only: too few to train on some and test on others",
			len(parts))
	}
	out := &Outcome{}
	if t, out.Dropped = t.telling(); len(t.Features) == 0 {
		return nil, errors.New("no metric tells the rows apart")
	}
	out.Predictions, out.Parts = make([]float64, len(t.Rows)), make([]int, len(t.Rows))
	err := inParallel(ctx, len(parts), func(k int) {
		rest := t.only(without(len(t.Rows), parts[k]))
		j := rest.choose(o).fit(rest)
		for _, i := range parts[k] {
			out.Predictions[i], out.Parts[i] = j.Predict(t.Rows[i]), k
		}
	})
	if err != nil {
		return nil, err
	}
	r := t.choose(o)
	out.Judge = r.fit(t)
	out.Method, out.Penalty, out.Depth, out.Tried = r.method, r.penalty, r.depth, r.tried
	weigh(out.Judge, t)
	return out, nil
}

// inParallel does n things on as many goroutines as there are processors, and stops beginning any when ctx ends.
func inParallel(ctx context.Context, n int, do func(i int)) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			if ctx.Err() == nil {
				do(i)
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}

// telling leaves out the features that say the same of all rows, or that nearly no row has.
func (t *Table) telling() (kept *Table, dropped []string) {
	var keep []int
	for k, f := range t.features() {
		if have := len(t.Rows) - f.Missing; f.Deviation > 0 && have >= leastRows/4 {
			keep = append(keep, k)
		} else {
			dropped = append(dropped, f.Metric)
		}
	}
	kept = &Table{Labels: t.Labels, Groups: t.Groups, Sources: t.Sources}
	for _, k := range keep {
		kept.Features = append(kept.Features, t.Features[k])
		if t.Signs != nil {
			kept.Signs = append(kept.Signs, t.Signs[k])
		}
	}
	for _, row := range t.Rows {
		values := make([]float64, len(keep))
		for i, k := range keep {
			values[i] = row[k]
		}
		kept.Rows = append(kept.Rows, values)
	}
	return kept, dropped
}

// A recipe is how to fit a judge.
type recipe struct {
	method  string
	penalty float64
	depth   int
	rounds  int
	tried   []Try
}

// penalties are tried from the strongest on, each fit beginning where the one before it ended.
var penalties = []float64{100_000, 10_000, 3000, 1000, 300, 100, 30, 10, 3, 1, 0.3}

const (
	mostDepth  = 3
	mostRounds = 400
	patience   = 30 // trees in a row that may make it no better
)

// choose finds the recipe with the lowest log loss on rows that it was not fitted to. The simpler method stays where
// the other is not clearly better: the rule of one standard error (Breiman and others 1984, Classification and
// Regression Trees, section 3.4.3).
func (t *Table) choose(o Options) recipe {
	k := 5
	if len(t.Rows) > 3000 {
		k = 3 // enough to choose by
	}
	parts := t.deal(k, o.Seed+1)
	if len(parts) < 2 { // one group holds nearly all rows: the most cautious judge there is
		return recipe{method: "linear", penalty: penalties[0]}
	}
	r := recipe{}
	level := make([]float64, len(t.Rows))
	var rest []*Table
	for _, part := range parts {
		table := t.only(without(len(t.Rows), part))
		rest = append(rest, table)
		for _, i := range part {
			level[i] = prior(table.Labels)
		}
	}
	r.tried = append(r.tried, Try{Method: "constant", Loss: loss(level, t.Labels)})

	linear, trees := level, level
	if slices.Contains(o.Methods, "linear") || slices.Contains(o.Methods, "both") {
		linear, r.penalty = t.choosePenalty(parts, rest)
	}
	if slices.Contains(o.Methods, "trees") || slices.Contains(o.Methods, "both") {
		trees, r.depth, r.rounds = t.chooseTrees(parts, rest)
	}
	both := make([]float64, len(t.Rows))
	for i := range both {
		both[i] = (linear[i] + trees[i]) / 2
	}
	var best []float64
	for _, try := range []struct {
		Try
		odds []float64
	}{
		{Try{Method: "linear", How: fmt.Sprintf("penalty %v", r.penalty)}, linear},
		{Try{Method: "trees", How: fmt.Sprintf("%d of depth %d", r.rounds, r.depth)}, trees},
		{Try{Method: "both", How: "the mean of their log odds"}, both},
	} {
		if !slices.Contains(o.Methods, try.Method) {
			continue
		}
		try.Loss = loss(try.odds, t.Labels)
		r.tried = append(r.tried, try.Try)
		if best == nil || t.clearly(try.odds, best) {
			best, r.method = try.odds, try.Method
		}
	}
	switch r.method {
	case "linear":
		r.depth, r.rounds = 0, 0
	case "trees":
		r.penalty = 0
	}
	return r
}

func (t *Table) choosePenalty(parts [][]int, rest []*Table) (odds []float64, penalty float64) {
	all := make([][]float64, len(penalties))
	for p := range all {
		all[p] = make([]float64, len(t.Rows))
	}
	for k, part := range parts {
		d := newDesign(rest[k])
		w := d.start()
		for p, penalty := range penalties {
			w = d.fit(penalty, w)
			j := d.model(w)
			for _, i := range part {
				all[p][i] = j.LogOdds(t.Rows[i])
			}
		}
	}
	best := math.Inf(1)
	for p, v := range penalties {
		l := loss(all[p], t.Labels)
		if t.Sources != nil {
			l = -t.concordance(all[p]) // how often labels are high in a source says nothing of another
		}
		if l < best {
			best, odds, penalty = l, all[p], v
		}
	}
	return odds, penalty
}

// concordance is the mean over the sources of how often, of two rows of one with different labels, the one with the
// higher label has the higher odds; equal odds count half (Harrell's C; of labels that are true and false it is the AUC).
func (t *Table) concordance(odds []float64) float64 {
	sum, sources := 0.0, t.bySource()
	for _, rows := range sources {
		wins, pairs := 0.0, 0.0
		for i, a := range rows {
			for _, b := range rows[:i] {
				if t.Labels[a] == t.Labels[b] {
					continue
				}
				pairs++
				switch up := t.Labels[a] > t.Labels[b]; {
				case odds[a] == odds[b]:
					wins += 0.5
				case odds[a] > odds[b] == up:
					wins++
				}
			}
		}
		if pairs == 0 {
			wins, pairs = 0.5, 1
		}
		sum += wins / pairs / float64(len(sources))
	}
	return sum
}

// chooseTrees grows the trees of all parts side by side and stops where more of them make it no better.
func (t *Table) chooseTrees(parts [][]int, rest []*Table) (odds []float64, depth, rounds int) {
	best := math.Inf(1)
	for d := 1; d <= mostDepth; d++ {
		now := make([]float64, len(t.Rows))
		var growing []*boosting
		for k, part := range parts {
			g := newBoosting(rest[k], d)
			growing = append(growing, g)
			for _, i := range part {
				now[i] = g.offset
			}
		}
		since, lowest := 0, math.Inf(1)
		for n := 1; n <= mostRounds && since < patience; n++ {
			for k, part := range parts {
				if !growing[k].grow() {
					continue
				}
				tree := growing[k].trees[len(growing[k].trees)-1]
				for _, i := range part {
					now[i] += tree.At(t.Rows[i])
				}
			}
			l := loss(now, t.Labels)
			since++
			if l < lowest {
				since, lowest = 0, l
			}
			if l < best {
				best, odds, depth, rounds = l, slices.Clone(now), d, n
			}
		}
	}
	return odds, depth, rounds
}

// fit fits a judge to all rows of a table.
func (r recipe) fit(t *Table) *all.TrainedJudge {
	var linear, trees *all.TrainedJudge
	if r.method != "trees" {
		d := newDesign(t)
		w := d.start()
		for _, p := range penalties {
			if p >= r.penalty {
				w = d.fit(p, w)
			}
		}
		linear = d.model(w)
	}
	if r.method != "linear" {
		g := newBoosting(t, r.depth)
		for len(g.trees) < r.rounds && g.grow() {
		}
		trees = g.model(r.rounds)
	}
	switch r.method {
	case "linear":
		return linear
	case "trees":
		return trees
	}
	return halves(linear, trees)
}

// halves is the judge whose log odds are the mean of those of two.
func halves(linear, trees *all.TrainedJudge) *all.TrainedJudge {
	j := *linear
	j.Offset = (linear.Offset + trees.Offset) / 2
	for k := range j.Features {
		j.Features[k].Weight /= 2
		j.Features[k].Without /= 2
	}
	for _, t := range trees.Trees {
		for i := range t {
			t[i].Value /= 2
		}
		j.Trees = append(j.Trees, t)
	}
	return &j
}

// weigh fills in the features' importance: the mean distance of what each adds from its mean, as a share of the sum
// of all.
func weigh(j *all.TrainedJudge, t *Table) {
	parts := make([][]float64, len(j.Features))
	for _, row := range t.Rows {
		_, of := j.Explain(row)
		for k, v := range of {
			parts[k] = append(parts[k], v)
		}
	}
	total := 0.0
	for k, list := range parts {
		mean := meanOf(list)
		for _, v := range list {
			j.Features[k].Importance += math.Abs(v - mean)
		}
		total += j.Features[k].Importance
	}
	for k := range j.Features {
		if total > 0 {
			j.Features[k].Importance /= total
		}
	}
}

func meanOf(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v / float64(len(list))
	}
	return sum
}
