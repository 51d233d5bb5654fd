package preview

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

// open opens a dataset of ten rows, of which the third cannot be read.
func open(t *testing.T) *dataset.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.jsonl")
	var b strings.Builder
	for i := range 10 {
		if i == 2 {
			b.WriteString("{\n")
		}
		b.WriteString(`{"id": "` + string(rune('a'+i)) + `", "question": "one two", "answer": "three", "contexts": ["four", "five six"], ` +
			`"lang": "` + []string{"de", "en"}[i%2] + `", "meta": {"n": 1}}` + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := dataset.Open(t.Context(), path, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestLook(t *testing.T) {
	d, err := Look(t.Context(), open(t), 2)
	if err != nil || d.Rows != 10 || d.Bad != 1 || len(d.First) != 2 || len(d.Errors) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	column := func(name string) Column {
		return d.Columns[slices.IndexFunc(d.Columns, func(c Column) bool { return c.Name == name })]
	}
	if c := column("contexts"); c.Filled != 10 || c.Texts != 2 || c.Words != 3 || c.Bytes != 12 || c.Most != 12 {
		t.Errorf("contexts: %+v", c)
	}
	if c := column("lang"); !slices.Equal(c.Values, []string{"de", "en"}) || !slices.Equal(c.Kinds, []string{"text"}) {
		t.Errorf("lang: %+v", c)
	}
	if c := column("meta"); !slices.Equal(c.Members, []string{"n"}) || c.Values != nil {
		t.Errorf("meta: %+v", c)
	}
	// Each metric of the catalogue is told of once.
	seen := map[string]int{}
	for _, r := range d.Ready {
		for _, name := range r.Metrics {
			seen[name]++
		}
	}
	for _, m := range d.Missing {
		for _, name := range m.Metrics {
			seen[name]++
		}
	}
	for _, m := range all.All() {
		if seen[m.Name] != 1 {
			t.Errorf("%s is there %d times", m.Name, seen[m.Name])
		}
	}
	ragas := d.Presets[0]
	if ragas.Name != "ragas-paper" || len(ragas.Ready) != 3 || !slices.Equal(ragas.Asks.Names(), []string{"embedding model", "judge"}) {
		t.Errorf("%+v", ragas)
	}
}

// A pilot asks about rows that lie evenly over the dataset, and counts what it asked.
func TestTry(t *testing.T) {
	fake := &backendtest.Fake{About: backend.Info{Context: 2048}}
	twice := metrics.Metric{Name: "form/twice", Max: 1, Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		for draw := range 2 {
			_, err := m.Role(backend.Judge).Generate(ctx, &backend.GenerateRequest{Draw: draw, MaxTokens: 4,
				Messages: []backend.Message{{Role: backend.User, Text: s.ID}}})
			if err != nil {
				return metrics.Score{}, err
			}
		}
		return metrics.Score{Value: 1}, nil
	}}
	models := metrics.Models{Roles: metrics.Roles{backend.Judge: fake}}
	computed := int64(0)
	p, err := Try(t.Context(), open(t), 4, []metrics.Metric{twice}, models, func() (int64, int64) {
		computed += 4
		return computed, 0
	})
	if err != nil || !slices.Equal(p.Tried, []string{"a", "c", "f", "h"}) || p.Seconds == nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if m := p.Metrics[0]; m.Scored != 4 || m.Calls != 8 || m.Computed != 4 || m.Prompt != "[user]\na" || m.OutputTokens == 0 ||
		m.First > m.Seconds || *p.Seconds < m.First {
		t.Errorf("%+v", m)
	}
	p, err = Try(t.Context(), open(t), 100, []metrics.Metric{twice}, models, func() (int64, int64) { return 0, 0 })
	if err != nil || len(p.Tried) != 10 || p.Seconds != nil {
		t.Errorf("%+v, %v", p, err)
	}
}
