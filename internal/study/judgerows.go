package study

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/judge"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
)

// JudgeRows are labelled rows with the scores of metrics.
type JudgeRows struct {
	features []string
	rows     []judgeRow
	label    all.JudgeLabel
	binary   bool
	sets     []JudgeSet

	asked   backend.Identities // the models that the features asked
	prompts []prompts.Identity
}

// A JudgeSet is the part of the rows that is from one dataset.
type JudgeSet struct {
	Dataset string   `json:"dataset"` // the base name of its file
	SHA256  string   `json:"sha256"`
	Field   string   `json:"field"` // of the labels
	Runs    []string `json:"runs"`
	Rows    int      `json:"rows"`
	Groups  int      `json:"groups"`   // of rows that are kept together
	LeftOut int      `json:"left_out"` // labelled rows on which a feature failed or was not run, or none applies
	Label   float64  `json:"label"`    // the mean
}

// A Prediction is what was predicted for a row, in its label's units.
type Prediction struct {
	Dataset, Sample  string
	Label, Predicted float64
	Part             int // the part that the row was in; it was predicted from the others
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
	runs   []*runs.Scores
	labels *labels.Set
	known  map[string]int // of how many features each sample has a score, or does not have one since it does not apply
}

// LoadJudgeRows reads what a judge is trained on or tested on: runs, those of one dataset joined by sample, and labels.
// Names are the features wanted, nil for all that the runs have in common. The source may name several fields, joined
// by commas: one for each dataset.
func LoadJudgeRows(ctx context.Context, dirs, names []string, source labels.Source) (*JudgeRows, error) {
	data, err := joinRuns(ctx, dirs)
	if err != nil {
		return nil, err
	}
	r := &JudgeRows{}
	if r.features, err = commonMetrics(data, names); err != nil {
		return nil, err
	}
	if err := r.models(data); err != nil {
		return nil, &runs.InputError{Err: err}
	}
	fields := strings.Split(source.Human, ",")
	if len(fields) > 1 && len(fields) != len(data) {
		return nil, runs.Inputf("--human names %d fields, and the runs are of %d datasets: one field for all, or one "+
			"for each", len(fields), len(data))
	}
	for i, d := range data {
		of := source
		of.Human = fields[min(i, len(fields)-1)]
		if d.labels, err = of.Load(ctx, d.runs[0]); err != nil {
			return nil, err
		}
		if err := d.countKnown(ctx, r.features); err != nil {
			return nil, err
		}
	}
	if err := r.scale(data); err != nil {
		return nil, &runs.InputError{Err: err}
	}
	for _, d := range data {
		questions, err := questionsOf(ctx, d.runs[0], source.Data)
		if err != nil {
			source.Warn("%v: rows with the same question are not kept together", err)
		}
		r.take(d, questions)
	}
	if len(r.rows) == 0 {
		return nil, runs.Inputf("no labelled row has a score of %s", strings.Join(r.features, ", "))
	}
	r.count()
	return r, nil
}

// joinRuns opens the runs and puts those of one dataset together.
func joinRuns(ctx context.Context, dirs []string) ([]*judgeData, error) {
	var list []*judgeData
	for _, dir := range dirs {
		run, err := runs.LoadScores(ctx, dir)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(list, func(d *judgeData) bool {
			return d.runs[0].Manifest.Config.Dataset.SHA256 == run.Manifest.Config.Dataset.SHA256
		})
		if i < 0 {
			list = append(list, &judgeData{runs: []*runs.Scores{run}})
			continue
		}
		list[i].runs = append(list[i].runs, run)
	}
	return list, nil
}

// of finds a metric's run; nil if none has it.
func (d *judgeData) of(metric string) *runs.Scores {
	for _, run := range d.runs {
		if run.Of[metric] != nil {
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
		config := run.Manifest.Config
		for _, m := range config.Metrics {
			known, err := all.Select([]string{m.Name}, config.Models().Named()...)
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
			return nil, runs.Inputf("the runs have no metric in common that a judge could look at")
		}
		slices.Sort(kept)
		return distinct(kept), nil
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
			return nil, runs.Inputf("not all of the data has scores of %s", name).WithHint(
				"assay run --metrics %s scores what is missing, into a folder of its own", name)
		}
	}
	return distinct(list), nil
}

// distinct leaves out names of a metric that stands in the list by another name: its values would be two features with
// one meaning, between which a judge would share its weight by chance.
func distinct(names []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		canonical := all.Canonical(name)
		twice := seen[canonical]
		seen[canonical] = true
		return twice
	})
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
func (r *JudgeRows) models(data []*judgeData) error {
	r.asked = backend.Identities{}
	for _, name := range r.features {
		for _, d := range data {
			config := d.of(name).Manifest.Config
			list, err := all.Select([]string{name}, config.Models().Named()...)
			if err != nil {
				return err
			}
			asked := list[0].Asks.Of(config.Models())
			for _, d := range r.asked.Differences(asked) {
				if d.In == backend.Weights {
					return fmt.Errorf("the runs asked two models as the %s, %s and %s, whose scores mean different things",
						d.Role.Title(), d.A.Name, d.B.Name)
				}
			}
			for role, id := range asked {
				if _, ok := r.asked[role]; !ok {
					r.asked[role] = backend.Identity{Name: id.Name, Digest: id.Digest}
				}
			}
			for _, p := range config.Prompts {
				if !slices.Contains(prompts.Names(list[0].Prompts), p.Name) {
					continue
				}
				i := slices.IndexFunc(r.prompts, func(q prompts.Identity) bool { return q.Name == p.Name })
				if i >= 0 && r.prompts[i].Digest != p.Digest {
					return fmt.Errorf("the runs asked with different texts of the prompt %s", p.Name)
				}
				if i < 0 {
					r.prompts = append(r.prompts, prompts.Identity{Name: p.Name, Digest: p.Digest})
				}
			}
		}
	}
	return nil
}

// scale finds the labels' range: 0 to 1 for true and false, from the lowest to the highest rating otherwise. Labels
// of several datasets with different ranges are all put between 0 and 1.
func (r *JudgeRows) scale(data []*judgeData) error {
	r.binary = true
	for i, d := range data {
		r.binary = r.binary && d.labels.Binary()
		low, high := d.labels.Span()
		if low == high {
			return fmt.Errorf("all labels of %s are %v: there is nothing to learn or to test from them",
				base(d.runs[0].Manifest.Config.Dataset.Path), low)
		}
		if i == 0 {
			r.label = all.JudgeLabel{Field: d.labels.Field, Min: low, Max: high}
		}
		if low != r.label.Min || high != r.label.Max {
			r.label.Min, r.label.Max = 0, 1
		}
	}
	return nil
}

// take takes in the labelled rows of a dataset.
func (r *JudgeRows) take(d *judgeData, questions map[string]string) {
	run := d.runs[0]
	set := JudgeSet{Dataset: base(run.Manifest.Config.Dataset.Path), SHA256: run.Manifest.Config.Dataset.SHA256,
		Field: d.labels.Field}
	for _, of := range d.runs {
		set.Runs = append(set.Runs, base(of.Dir))
	}
	low, high := d.labels.Span()
	for _, id := range run.Samples {
		list := d.labels.Ratings[id]
		if len(list) == 0 {
			continue
		}
		row := judgeRow{id: id, set: len(r.sets), label: labels.Mean(list),
			group: cmp.Or(d.labels.GroupOf(run, id), questions[id])}
		if low != r.label.Min || high != r.label.Max {
			row.label = r.label.Min + (r.label.Max-r.label.Min)*(row.label-low)/(high-low)
		}
		found := false
		for _, name := range r.features {
			v, ok := d.of(name).Of[name][id]
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
func (r *JudgeRows) count() {
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
func questionsOf(ctx context.Context, run *runs.Scores, path string) (map[string]string, error) {
	scored := run.Manifest.Config.Dataset
	data, err := dataset.Open(ctx, cmp.Or(path, scored.Path), dataset.Options{Map: scored.Map, Sheet: scored.Sheet, Turns: scored.Turns})
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
func (r *JudgeRows) table() *judge.Table {
	t := &judge.Table{Features: r.features}
	for _, row := range r.rows {
		t.Rows = append(t.Rows, row.values)
		t.Labels = append(t.Labels, (row.label-r.label.Min)/(r.label.Max-r.label.Min))
		t.Groups = append(t.Groups, row.group)
	}
	return t
}

// sources are the datasets of the rows, counted from 0.
func (r *JudgeRows) sources() []int {
	list := make([]int, len(r.rows))
	for i, row := range r.rows {
		list[i] = row.set
	}
	return list
}

// inUnits puts shares, from 0 to 1, into the labels' units.
func (r *JudgeRows) inUnits(shares []float64) []float64 {
	list := make([]float64, len(shares))
	for i, p := range shares {
		list[i] = r.label.Min + (r.label.Max-r.label.Min)*p
	}
	return list
}

// predict applies a judge to the rows, in their labels' units. Rows that lack what it cannot do without are left out.
func (r *JudgeRows) predict(j *all.TrainedJudge) []float64 {
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

// predictions lists what was predicted for each row.
func (r *JudgeRows) predictions(predicted []float64, parts []int) []Prediction {
	list := make([]Prediction, len(r.rows))
	for i, row := range r.rows {
		list[i] = Prediction{r.sets[row.set].Dataset, row.id, row.label, predicted[i], parts[i]}
	}
	return list
}

// base is the name of a file or folder without the way to it.
func base(path string) string { return filepath.Base(filepath.Clean(path)) }

// fits reports whether the rows' features are what a judge was trained on.
func (r *JudgeRows) fits(j *all.TrainedJudge) error {
	for _, d := range j.Models().Differences(r.asked) {
		if d.In == backend.Weights {
			return fmt.Errorf("the run asked the %s %s, and %s was trained on scores of %s", d.Role.Title(), d.B.Name,
				j.Metric, d.A.Name)
		}
	}
	for _, p := range r.prompts {
		if !slices.Contains(j.Prompts, p) {
			return fmt.Errorf("the run asked with another text of the prompt %s than %s was trained on", p.Name,
				j.Metric)
		}
	}
	return nil
}
