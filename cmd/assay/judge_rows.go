package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/judge"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
	"github.com/spf13/pflag"
)

// judgeRowOptions are the flags that say which rows a judge learns from, or is tested on.
type judgeRowOptions struct {
	labels labelOptions
}

func (o *judgeRowOptions) add(f *pflag.FlagSet) {
	o.labels.add(f)
	f.Lookup("human").Usage += "; of several datasets, FIELD,FIELD... in the runs' order"
}

// judgeRows are labelled rows with the scores of metrics.
type judgeRows struct {
	features []string
	rows     []judgeRow
	label    metrics.JudgeLabel
	binary   bool
	sets     []judgeSet

	asked   backend.Identities // the models that the features asked
	prompts []metrics.PromptIdentity
}

// A judgeRow is a labelled sample.
type judgeRow struct {
	id     string // unique in its set
	set    int
	label  float64
	group  string    // "" if it is in none
	values []float64 // NaN where the metric does not apply
}

// A judgeData is a dataset with its runs.
type judgeData struct {
	runs   []*scores
	labels *labels
	known  map[string]int // of how many features each sample has a score, or does not have one since it does not apply
}

// load reads the rows. Names are the features wanted, nil for all that the runs have in common.
func (o *judgeRowOptions) load(ctx context.Context, s *std, dirs, names []string) (*judgeRows, error) {
	data, err := o.group(ctx, dirs)
	if err != nil {
		return nil, err
	}
	r := &judgeRows{}
	if r.features, err = commonMetrics(data, names); err != nil {
		return nil, err
	}
	if err := r.models(data); err != nil {
		return nil, usageError{err}
	}
	fields := strings.Split(o.labels.human, ",")
	if len(fields) > 1 && len(fields) != len(data) {
		return nil, usagef("--human names %d fields, and the runs are of %d datasets: one field for all, or one for each", len(fields), len(data))
	}
	for i, d := range data {
		of := o.labels
		of.human = fields[min(i, len(fields)-1)]
		if d.labels, err = of.load(ctx, s, d.runs[0]); err != nil {
			return nil, err
		}
		if err := d.countKnown(ctx, r.features); err != nil {
			return nil, err
		}
	}
	if err := r.scale(data); err != nil {
		return nil, usageError{err}
	}
	for _, d := range data {
		questions, err := questionsOf(ctx, d.runs[0], o.labels.data)
		if err != nil {
			s.warn("%v: rows with the same question are not kept together", err)
		}
		r.take(d, questions)
	}
	if len(r.rows) == 0 {
		return nil, usagef("no labelled row has a score of %s", strings.Join(r.features, ", "))
	}
	r.count()
	return r, nil
}

// group opens the runs and puts those of one dataset together.
func (o *judgeRowOptions) group(ctx context.Context, dirs []string) ([]*judgeData, error) {
	var list []*judgeData
	for _, dir := range dirs {
		run, err := loadScores(ctx, dir)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(list, func(d *judgeData) bool {
			return d.runs[0].Manifest.Config.Dataset.SHA256 == run.Manifest.Config.Dataset.SHA256
		})
		if i < 0 {
			list = append(list, &judgeData{runs: []*scores{run}})
			continue
		}
		list[i].runs = append(list[i].runs, run)
	}
	return list, nil
}

// of finds a metric's run; nil if none has it.
func (d *judgeData) of(metric string) *scores {
	for _, run := range d.runs {
		if run.of[metric] != nil {
			return run
		}
	}
	return nil
}

// commonMetrics are those that each dataset has scores of, and which are of the names or dimensions if there are any.
// Metrics that a judge could not compute for itself are left out: a user's own, and other judges.
func commonMetrics(data []*judgeData, names []string) ([]string, error) {
	var have []string
	for _, run := range data[0].runs {
		for _, m := range run.Manifest.Config.Metrics {
			known, err := metrics.Select([]string{m.Name})
			if err == nil && known[0].Name == m.Name && !slices.Contains(have, m.Name) {
				have = append(have, m.Name)
			}
		}
	}
	var kept []string
	for _, name := range have {
		if !slices.ContainsFunc(data, func(d *judgeData) bool { return d.of(name) == nil }) {
			kept = append(kept, name)
		}
	}
	if len(names) == 0 {
		if len(kept) == 0 {
			return nil, usagef("the runs have no metric in common that a judge could look at")
		}
		slices.Sort(kept)
		return kept, nil
	}
	var list []string
	for _, name := range names {
		found := false
		for _, k := range kept {
			if dimension, _, _ := strings.Cut(k, "/"); (k == name || dimension == name) && !slices.Contains(list, k) {
				list, found = append(list, k), true
			}
		}
		if !found {
			return nil, usageError{withHint(fmt.Errorf("not all of the data has scores of %s", name),
				"assay run --metrics %s scores what is missing, into a folder of its own", name)}
		}
	}
	return list, nil
}

// countKnown counts for each sample the features of which it is known what they say. Where one failed, or was not run,
// that is not known, which is something else than that it does not apply.
func (d *judgeData) countKnown(ctx context.Context, features []string) error {
	d.known = map[string]int{}
	for _, run := range d.runs {
		for result, err := range run.Results(ctx) {
			if err != nil {
				return err
			}
			known := result.Score != nil || result.Kind == metrics.NotApplicable
			if known && slices.Contains(features, result.Metric) && d.of(result.Metric) == run {
				d.known[result.Sample]++
			}
		}
	}
	return nil
}

// models gathers what the features asked. Values of different models are not the same feature.
func (r *judgeRows) models(data []*judgeData) error {
	r.asked = backend.Identities{}
	for _, name := range r.features {
		list, err := metrics.Select([]string{name})
		if err != nil {
			return err
		}
		for _, d := range data {
			config := d.of(name).Manifest.Config
			asked := list[0].Asks.Of(config.Models())
			for _, d := range r.asked.Differences(asked) {
				if d.In == backend.Weights {
					return fmt.Errorf("the runs asked two %ss, %s and %s, whose scores mean different things", d.Role.Title(), d.A.Name, d.B.Name)
				}
			}
			for role, id := range asked {
				if _, ok := r.asked[role]; !ok {
					r.asked[role] = backend.Identity{Name: id.Name, Digest: id.Digest}
				}
			}
			for _, p := range config.Prompts {
				if !slices.Contains(list[0].Prompts, p.Name) {
					continue
				}
				i := slices.IndexFunc(r.prompts, func(q metrics.PromptIdentity) bool { return q.Name == p.Name })
				if i >= 0 && r.prompts[i].Digest != p.Digest {
					return fmt.Errorf("the runs asked with different texts of the prompt %s", p.Name)
				}
				if i < 0 {
					r.prompts = append(r.prompts, metrics.PromptIdentity{Name: p.Name, Digest: p.Digest})
				}
			}
		}
	}
	return nil
}

// scale finds the labels' range: 0 to 1 for true and false, from the lowest to the highest rating otherwise. Labels
// of several datasets with different ranges are all put between 0 and 1.
func (r *judgeRows) scale(data []*judgeData) error {
	r.binary = true
	for i, d := range data {
		r.binary = r.binary && d.labels.binary()
		low, high := d.labels.span()
		if low == high {
			return fmt.Errorf("all labels of %s are %v: there is nothing to learn or to test from them", base(d.runs[0].Manifest.Config.Dataset.Path), low)
		}
		if i == 0 {
			r.label = metrics.JudgeLabel{Field: d.labels.field, Min: low, Max: high}
		}
		if low != r.label.Min || high != r.label.Max {
			r.label.Min, r.label.Max = 0, 1
		}
	}
	return nil
}

// span is the range of the ratings.
func (l *labels) span() (low, high float64) {
	if l.binary() {
		return 0, 1
	}
	low, high = math.Inf(1), math.Inf(-1)
	for _, list := range l.ratings {
		for _, rating := range list {
			low, high = min(low, rating.value), max(high, rating.value)
		}
	}
	return low, high
}

// take takes in the labelled rows of a dataset.
func (r *judgeRows) take(d *judgeData, questions map[string]string) {
	run := d.runs[0]
	set := judgeSet{Dataset: base(run.Manifest.Config.Dataset.Path), SHA256: run.Manifest.Config.Dataset.SHA256, Field: d.labels.field}
	for _, of := range d.runs {
		set.Runs = append(set.Runs, base(of.Dir))
	}
	low, high := d.labels.span()
	for _, id := range run.samples {
		list := d.labels.ratings[id]
		if len(list) == 0 {
			continue
		}
		row := judgeRow{id: id, set: len(r.sets), label: mean(list), group: cmp.Or(d.labels.groupOf(run, id), questions[id])}
		if low != r.label.Min || high != r.label.Max {
			row.label = r.label.Min + (r.label.Max-r.label.Min)*(row.label-low)/(high-low)
		}
		found := false
		for _, name := range r.features {
			v, ok := d.of(name).of[name][id]
			if !ok {
				v = math.NaN()
			}
			found = found || ok
			row.values = append(row.values, v)
		}
		if d.known[id] < len(r.features) || !found {
			set.LeftOut++
			continue
		}
		r.rows = append(r.rows, row)
	}
	r.sets = append(r.sets, set)
}

// count counts the rows and groups of each set, and takes the mean of its labels.
func (r *judgeRows) count() {
	groups := make([]map[string]bool, len(r.sets))
	for i := range r.sets {
		r.sets[i].Rows, r.sets[i].Label, groups[i] = 0, 0, map[string]bool{}
	}
	for _, row := range r.rows {
		set := &r.sets[row.set]
		set.Rows++
		set.Label += (row.label - set.Label) / float64(set.Rows)
		groups[row.set][cmp.Or(row.group, "sample "+row.id)] = true
	}
	for i := range r.sets {
		r.sets[i].Groups = len(groups[i])
	}
}

// questionsOf returns the question of each sample, as a name for the rows that share it.
func questionsOf(ctx context.Context, run *scores, path string) (map[string]string, error) {
	scored := run.Manifest.Config.Dataset
	data, err := dataset.Open(ctx, cmp.Or(path, scored.Path), dataset.Options{Map: scored.Map})
	if err != nil {
		return nil, err
	}
	defer data.Close()
	questions := map[string]string{}
	for sample, err := range data.Samples(ctx) {
		if err == nil && strings.TrimSpace(sample.Question) != "" {
			questions[sample.ID] = "question " + strings.ToLower(strings.Join(strings.Fields(sample.Question), " "))
		}
	}
	return questions, ctx.Err()
}

// table is what a judge is trained on.
func (r *judgeRows) table() *judge.Table {
	t := &judge.Table{Features: r.features}
	for _, row := range r.rows {
		t.Rows = append(t.Rows, row.values)
		t.Labels = append(t.Labels, (row.label-r.label.Min)/(r.label.Max-r.label.Min))
		t.Groups = append(t.Groups, row.group)
	}
	return t
}

// inUnits puts shares, from 0 to 1, into the labels' units.
func (r *judgeRows) inUnits(shares []float64) []float64 {
	list := make([]float64, len(shares))
	for i, p := range shares {
		list[i] = r.label.Min + (r.label.Max-r.label.Min)*p
	}
	return list
}

// predict applies a judge to the rows, in their labels' units. Rows that lack what it cannot do without are left out.
func (r *judgeRows) predict(j *metrics.TrainedJudge) []float64 {
	var shares []float64
	var kept []judgeRow
	for _, row := range r.rows {
		usable := true
		for k, f := range j.Features {
			usable = usable && (f.Optional || !math.IsNaN(row.values[k]))
		}
		if !usable {
			r.sets[row.set].LeftOut++
			continue
		}
		kept = append(kept, row)
		shares = append(shares, (j.Predict(row.values)-j.Label.Min)/(j.Label.Max-j.Label.Min))
	}
	r.rows = kept
	r.count()
	return r.inUnits(shares)
}

// fits reports whether the rows' features are what a judge was trained on.
func (r *judgeRows) fits(j *metrics.TrainedJudge) error {
	for _, d := range j.Models().Differences(r.asked) {
		if d.In == backend.Weights {
			return fmt.Errorf("the run asked the %s %s, and %s was trained on scores of %s", d.Role.Title(), d.B.Name, j.Metric, d.A.Name)
		}
	}
	for _, p := range r.prompts {
		if !slices.Contains(j.Prompts, p) {
			return fmt.Errorf("the run asked with another text of the prompt %s than %s was trained on", p.Name, j.Metric)
		}
	}
	return nil
}

// figures measures predictions, and each feature by itself, the one that agrees most first.
func (r *judgeRows) figures(name string, predicted []float64, seed uint64) (judgeFigures, error) {
	var f judgeFigures
	all := r.matched(func(judgeRow) bool { return true }, func(i int) float64 { return predicted[i] })
	if len(all.ids) < 3 {
		return f, usagef("%d rows are too few to say anything", len(all.ids))
	}
	field := r.label.Field
	f.Judge = r.measure(candidate{name: name, min: r.label.Min, max: r.label.Max}, all, field, seed)
	if r.binary {
		loss := stats.LogLoss(clamped(predicted), all.labels)
		f.LogLoss = &loss
	}
	for k, feature := range r.features {
		m := r.column(k)
		if len(m.ids) < 3 {
			continue
		}
		of, err := metrics.Select([]string{feature})
		if err != nil {
			return f, err
		}
		c := candidate{name: feature, min: of[0].Min, max: of[0].Max, lowerIsBetter: of[0].LowerIsBetter}
		a := r.measureQuickly(c, m, field, seed)
		f.Alone = append(f.Alone, a)
	}
	slices.SortStableFunc(f.Alone, func(a, b metricAgreement) int {
		few := func(m metricAgreement) int { return int(number01(2*m.N < len(all.ids))) } // those that most rows lack come last
		return cmp.Or(cmp.Compare(few(a), few(b)), cmp.Compare(b.strength(), a.strength()))
	})
	if len(f.Alone) > 0 {
		best := slices.Index(r.features, f.Alone[0].Metric)
		mine := r.matched(func(row judgeRow) bool { return !math.IsNaN(row.values[best]) }, func(i int) float64 { return predicted[i] })
		f.compare(mine, r.column(best), r.binary, seed)
	}
	return f, nil
}

func clamped(predicted []float64) []float64 {
	list := slices.Clone(predicted)
	for i, p := range list {
		list[i] = min(max(p, 1e-9), 1-1e-9)
	}
	return list
}

// matched pairs the labels of those rows that are wanted with a score for each.
func (r *judgeRows) matched(wanted func(judgeRow) bool, score func(i int) float64) matched {
	var m matched
	grouped := r.grouped()
	for i, row := range r.rows {
		if !wanted(row) {
			continue
		}
		m.ids, m.scores, m.labels = append(m.ids, row.id), append(m.scores, score(i)), append(m.labels, row.label)
		if grouped {
			m.groups = append(m.groups, row.group)
		}
	}
	return m
}

// column is the scores of one feature, on the rows that have it.
func (r *judgeRows) column(k int) matched {
	return r.matched(func(row judgeRow) bool { return !math.IsNaN(row.values[k]) }, func(i int) float64 { return r.rows[i].values[k] })
}

// grouped reports whether any two rows are of one group.
func (r *judgeRows) grouped() bool {
	seen := map[string]bool{}
	for _, row := range r.rows {
		if row.group != "" && seen[row.group] {
			return true
		}
		seen[row.group] = true
	}
	return false
}

func (r *judgeRows) measure(c candidate, m matched, field string, seed uint64) metricAgreement {
	a := metricAgreement{Metric: c.name, Field: field, N: len(m.ids)}
	a.correlate(m, seed)
	if r.binary {
		a.classify(m, c, nil, seed)
	}
	return a
}

// measureQuickly leaves out what a feature by itself is not asked for.
func (r *judgeRows) measureQuickly(c candidate, m matched, field string, seed uint64) metricAgreement {
	a := metricAgreement{Metric: c.name, Field: field, N: len(m.ids), LowerIsBetter: c.lowerIsBetter}
	o := stats.Options{Seed: seed, Groups: m.groups}
	if r.binary {
		kept, truth := m.truths()
		e, err := stats.AUC(kept.scores, truth, stats.Options{Seed: seed, Groups: kept.groups})
		a.AUC = a.keep("auc", e, err)
		return a
	}
	e, err := stats.Spearman(m.scores, m.labels, o)
	a.Spearman = a.keep("spearman", e, err)
	return a
}

// strength is how far a metric agrees, in either direction.
func (a *metricAgreement) strength() float64 {
	switch {
	case a.AUC != nil:
		return math.Abs(2*a.AUC.Value - 1)
	case a.Spearman != nil:
		return math.Abs(a.Spearman.Value)
	}
	return 0
}

// compare sets the judge against the feature that agrees most by itself, both on the rows that have that feature, which
// is turned so that high scores go with high labels.
func (f *judgeFigures) compare(mine, other matched, binary bool, seed uint64) {
	if a := f.Alone[0]; a.AUC != nil && a.AUC.Value < 0.5 || a.AUC == nil && a.Spearman != nil && a.Spearman.Value < 0 {
		for i := range other.scores {
			other.scores[i] *= -1
		}
	}
	d := agreeDifference{First: f.Alone[0].Metric, Second: f.Judge.Metric, Measure: "spearman", N: len(mine.ids)}
	var diff stats.Difference
	var err error
	if binary {
		d.Measure = "auc"
		kept, truth := mine.truths()
		first, _ := other.truths()
		d.N = len(kept.ids)
		diff, err = stats.AUCDifference(first.scores, kept.scores, truth, stats.Options{Seed: seed, Groups: kept.groups})
	} else {
		diff, err = stats.SpearmanDifference(other.scores, mine.scores, mine.labels, stats.Options{Seed: seed, Groups: mine.groups})
	}
	if err != nil {
		f.Judge.warn(fmt.Sprintf("no difference to %s: %v", d.First, err))
		return
	}
	d.Difference, d.P, d.PHolm = diff.Value, diff.P, diff.P
	if i := diff.Interval; i != nil {
		d.Lo, d.Hi = &i.Lo, &i.Hi
	}
	f.Better = append(f.Better, d)
}
