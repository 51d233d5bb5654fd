package mcp

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

type metricsIn struct {
	Name string `json:"name,omitempty" jsonschema:"a dimension such as faithfulness, or a metric such as faithfulness/encoder"`
}

type metricsOut struct {
	Dimensions []dimension `json:"dimensions,omitempty"`
	Presets    []preset    `json:"presets,omitempty"`
	Metrics    []about     `json:"metrics,omitempty"`
}

type dimension struct {
	Name    string   `json:"name"`
	Methods []string `json:"methods" jsonschema:"a metric's name is dimension/method"`
}

type preset struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`
	Metrics []string `json:"metrics"`
}

// about describes a metric.
type about struct {
	Name          string   `json:"name"`
	Doc           string   `json:"doc"`
	Formula       string   `json:"formula"`
	Source        string   `json:"source"`
	Default       bool     `json:"default,omitempty" jsonschema:"the dimension by itself means this metric"`
	Min           float64  `json:"min"`
	Max           float64  `json:"max"`
	LowerIsBetter bool     `json:"lower_is_better,omitempty"`
	Needs         []string `json:"needs" jsonschema:"the columns that a row must fill"`
	Models        []string `json:"models" jsonschema:"the kinds of models that it asks; none: it needs none"`
	Calls         string   `json:"calls" jsonschema:"what a row costs"`
}

func (s *server) metrics(_ context.Context, in metricsIn) (out metricsOut, err error) {
	list := all.All()
	if in.Name == "" {
		for _, m := range list {
			name, method, _ := strings.Cut(m.Name, "/")
			if n := len(out.Dimensions); n == 0 || out.Dimensions[n-1].Name != name {
				out.Dimensions = append(out.Dimensions, dimension{Name: name})
			}
			last := &out.Dimensions[len(out.Dimensions)-1]
			last.Methods = append(last.Methods, method)
		}
		for _, p := range all.Presets() {
			out.Presets = append(out.Presets, preset{p.Name, p.Doc, p.Metrics})
		}
		return out, nil
	}
	list = slices.DeleteFunc(list, func(m metrics.Metric) bool { return !strings.HasPrefix(m.Name, in.Name+"/") })
	if len(list) == 0 {
		if list, err = all.Select([]string{in.Name}); err != nil {
			return out, err
		}
	}
	for _, m := range list {
		a := about{Name: m.Name, Doc: m.Doc, Formula: m.Formula, Source: m.Source, Default: m.Default, Min: m.Min, Max: m.Max,
			LowerIsBetter: m.LowerIsBetter, Needs: m.Needs.Names(), Models: []string{}, Calls: m.Calls}
		for _, role := range backend.SortRoles(m.Asks) {
			if m.Asks[role] != 0 {
				a.Models = append(a.Models, role.Title())
			}
		}
		out.Metrics = append(out.Metrics, a)
	}
	return out, nil
}

type runsIn struct{}

type runsOut struct {
	Runs []runAbout `json:"runs"`
	More bool       `json:"more,omitempty" jsonschema:"there are further ones"`
}

type runAbout struct {
	Run      string   `json:"run"`
	Data     string   `json:"data"`
	Rows     int      `json:"rows"`
	Metrics  []string `json:"metrics"`
	Started  string   `json:"started"`
	Finished bool     `json:"finished" jsonschema:"false: it goes on, or was interrupted"`
}

// runs looks for run folders, some folders deep.
func (s *server) runs(ctx context.Context, _ runsIn) (out runsOut, err error) {
	const deepest, mostFolders = 4, 10_000
	folders := 0
	out.Runs = []runAbout{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir // which may not be read
		case err != nil || !d.IsDir():
			return nil
		case path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		}
		if folders++; folders > mostFolders || len(out.Runs) == mostRuns {
			out.More = true
			return fs.SkipAll
		}
		run, err := runs.Open(path)
		if err == nil {
			m := &run.Manifest
			out.Runs = append(out.Runs, runAbout{path, short(m.Config.Dataset.Path, mostText), m.Config.Dataset.Rows, m.Names(),
				m.Started.Format("2006-01-02T15:04:05Z07:00"), m.Finished != nil})
			return fs.SkipDir
		}
		if strings.Count(path, string(filepath.Separator)) >= deepest {
			return fs.SkipDir
		}
		return nil
	})
	return out, err
}

type showIn struct {
	Run    string `json:"run" jsonschema:"the run folder"`
	Sample string `json:"sample,omitempty" jsonschema:"a row's id; without it, the rows with the worst scores"`
	Metric string `json:"metric,omitempty" jsonschema:"only this metric, or the metrics of this dimension"`
	Most   int    `json:"most,omitempty" jsonschema:"how many rows, at most 50 (default 10)"`
}

type showOut struct {
	Row     *row     `json:"row,omitempty"`
	Results []result `json:"results"`
	More    int      `json:"more,omitempty" jsonschema:"so many further rows have scores"`
}

// A row is what a dataset has of a sample.
type row struct {
	Sample     string   `json:"sample"`
	Question   string   `json:"question,omitempty"`
	Answer     string   `json:"answer,omitempty"`
	Contexts   []string `json:"contexts,omitempty"`
	References []string `json:"reference_answers,omitempty"`
	Note       string   `json:"note,omitempty" jsonschema:"why texts are missing"`
}

// A result is of one metric on one row.
type result struct {
	Sample  string    `json:"sample"`
	Metric  string    `json:"metric"`
	Value   *float64  `json:"value,omitempty" jsonschema:"absent: there is no score, and error says why"`
	Error   string    `json:"error,omitempty"`
	Because []finding `json:"because,omitempty" jsonschema:"what the score rests on"`
	More    int       `json:"more,omitempty" jsonschema:"so many further findings"`
}

// A finding is a claim, sentence or question with its verdict.
type finding struct {
	Text   string `json:"text"`
	Reason string `json:"reason,omitempty"`
}

func (s *server) show(ctx context.Context, in showIn) (out showOut, err error) {
	run, err := s.open(in.Run)
	if err != nil {
		return out, err
	}
	about := map[string]runs.Metric{}
	for _, m := range run.Manifest.Config.Metrics {
		if in.Metric == "" || m.Name == in.Metric || strings.HasPrefix(m.Name, in.Metric+"/") {
			about[m.Name] = m
		}
	}
	if len(about) == 0 {
		return out, fmt.Errorf("%s has no metric %q: it has %s", run.Dir, short(in.Metric, 200), strings.Join(run.Manifest.Names(), ", "))
	}
	var found []metrics.Result
	for r, err := range run.Results(ctx) {
		if err != nil {
			return out, err
		}
		if _, wanted := about[r.Metric]; wanted && (in.Sample == "" && r.Score != nil || in.Sample != "" && r.Sample == in.Sample) {
			if in.Sample == "" {
				r.Score = &metrics.Score{Value: r.Score.Value} // of a large run the evidence of all rows is much
			}
			found = append(found, r)
		}
	}
	if in.Sample != "" {
		if len(found) == 0 {
			return out, fmt.Errorf("%s has no row %q: show without sample lists some", run.Dir, short(in.Sample, 200))
		}
		row := s.rows(ctx, run, []string{in.Sample})[0]
		out.Row = &row
	} else {
		slices.SortStableFunc(found, func(a, b metrics.Result) int {
			return cmp.Compare(goodness(about[a.Metric], a), goodness(about[b.Metric], b))
		})
		most := min(cmp.Or(max(in.Most, 0), 10), mostRows)
		out.More = max(0, len(found)-most)
		found = found[:min(most, len(found))]
	}
	out.Results = []result{}
	for _, r := range found {
		out.Results = append(out.Results, resultOf(r))
	}
	return out, nil
}

// goodness is where a score lies in its metric's range, 1 at the better end.
func goodness(m runs.Metric, r metrics.Result) float64 {
	if m.LowerIsBetter {
		return 1 - m.Share(r.Score.Value)
	}
	return m.Share(r.Score.Value)
}

func resultOf(r metrics.Result) result {
	out := result{Sample: short(r.Sample, mostText), Metric: r.Metric}
	if r.Score == nil {
		out.Error = short(fmt.Sprintf("%s: %s", r.Kind, r.Error), mostText)
		return out
	}
	out.Value = &r.Score.Value
	because := r.Score.Because
	out.More = max(0, len(because)-mostFindings)
	for _, f := range because[:min(mostFindings, len(because))] {
		out.Because = append(out.Because, finding{short(f.String(), mostText), short(f.Reason, mostText)})
	}
	return out
}

// rows are the texts of samples, as far as the dataset that was scored is there, and in the folder.
func (s *server) rows(ctx context.Context, run *runs.Run, ids []string) []row {
	list := make([]row, len(ids))
	wanted := map[string]bool{}
	for i, id := range ids {
		list[i].Sample, wanted[id] = short(id, mostText), true
	}
	samples, err := s.samples(ctx, run, wanted)
	for i, id := range ids {
		sample, ok := samples[id]
		switch {
		case err != nil:
			list[i].Note = short(err.Error(), mostText)
		case !ok:
			list[i].Note = "the dataset does not have it"
		default:
			list[i].Question, list[i].Answer = short(sample.Question, mostText), short(sample.Answer, mostText)
			list[i].Contexts, list[i].References = texts(sample.Contexts), texts(sample.References)
		}
	}
	return list
}

func (s *server) samples(ctx context.Context, run *runs.Run, ids map[string]bool) (map[string]*metrics.Sample, error) {
	data, err := s.path("the dataset", run.Manifest.Config.Dataset.Path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(data); err != nil {
		return nil, fmt.Errorf("the dataset %s is not there any more", data)
	}
	source := labels.Source{Data: data, Warn: func(string, ...any) {}}
	found, err := source.Samples(ctx, run, ids)
	return found, advised(err)
}

// texts are the first of a list, each cut.
func texts(list []string) []string {
	var out []string
	for _, text := range list[:min(mostContexts, len(list))] {
		out = append(out, short(text, mostText))
	}
	if more := len(list) - mostContexts; more > 0 {
		out = append(out, fmt.Sprintf("… (%d more)", more))
	}
	return out
}

type compareIn struct {
	Baseline string   `json:"baseline" jsonschema:"the run folder to compare with"`
	Run      string   `json:"run" jsonschema:"the other run folder"`
	Metrics  []string `json:"metrics,omitempty" jsonschema:"only these; without, all of the baseline"`
}

func (s *server) compare(ctx context.Context, in compareIn) (*study.Comparison, error) {
	var both []*runs.Scores
	for _, given := range []string{in.Baseline, in.Run} {
		run, err := s.open(given)
		if err != nil {
			return nil, err
		}
		scores, err := runs.LoadScores(ctx, run.Dir)
		if err != nil {
			return nil, err
		}
		both = append(both, scores)
	}
	const power, changed = 0.8, 5
	return study.Compare(ctx, both[0], both[1:], study.CompareOptions{Metrics: in.Metrics, Power: power, Changed: changed})
}
