package metrics

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// learned is what a preparation of this test learns: the model that it asked.
type learned string

func (l learned) Digest() string { return string(l) }
func (learned) Notes() []string  { return nil }

// A metric asks the models that it is told to, and so do its preparations, each of which runs once for the metrics that
// ask the same models.
func TestAsking(t *testing.T) {
	var ran []string
	p := &Preparation{Doc: "looking", Read: func(_ context.Context, _ iter.Seq2[*Sample, error], m Models,
		_ Options) (Knowledge, error) {
		model := m.Role(backend.Embedder).Info().Model
		ran = append(ran, model)
		return learned(model), nil
	}}
	base := Metric{Name: "x/y", Max: 1, Asks: Asks{backend.Judge: backend.CanGenerate, backend.Embedder: backend.CanEmbed},
		Prepare: []*Preparation{p}, Default: true, Settings: []string{"s"},
		Score: func(_ context.Context, m Models, _ *Sample) (Score, error) {
			return Score{Because: []Finding{{Text: m.Role(backend.Judge).Info().Model + " " +
				m.Role(backend.Embedder).Info().Model + " " + m.Known(p).Digest()}}}, nil
		}}
	models := Models{Roles: Roles{}}
	for _, role := range []backend.Role{"judge", "judge:a", "judge:b", "embedder", "embedder:a", "embedder:c"} {
		models.Roles[role] = &backendtest.Fake{About: backend.Info{Model: string(role),
			Ops: backend.CanGenerate | backend.CanEmbed}}
	}
	ms := []Metric{base}
	for _, names := range []string{"a", "b", "c", "b@c", "c@b"} {
		m := base
		for _, name := range strings.Split(names, "@") {
			var err error
			if m, err = m.Asking(name, models.Named()); err != nil {
				t.Fatal(err)
			}
		}
		if m.Name != "x/y@"+names || m.Default || m.Settings != nil {
			t.Errorf("%+v", m)
		}
		ms = append(ms, m)
	}
	if len(base.Asks) != 2 || base.Asks[backend.Judge] == 0 {
		t.Error("the metric itself has changed", base.Asks)
	}
	if err := Check(ms, models, 0); err != nil {
		t.Error(err)
	}
	one := func(yield func(*Sample, error) bool) { yield(&Sample{ID: "s"}, nil) }
	models, err := Prepare(t.Context(), func() iter.Seq2[*Sample, error] { return one }, ms, models, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Once with the models without names, and for a, b, c, and b with c. That b changes nothing here is not known.
	if want := []string{"embedder", "embedder:a", "embedder", "embedder:c", "embedder:c"}; !slices.Equal(ran, want) {
		t.Errorf("%q", ran)
	}
	var got []string
	if err := Run(t.Context(), one, ms, models, Options{}, func(r Result) error {
		if r.Score == nil {
			t.Fatal(r.Error)
		}
		got = append(got, r.Score.Because[0].Text)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"judge embedder embedder", "judge:a embedder:a embedder:a", "judge:b embedder embedder",
		"judge embedder:c embedder:c", "judge:b embedder:c embedder:c", "judge:b embedder:c embedder:c"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	delete(models.Roles, "judge:b")
	if err := Check(ms[2:3], models, 0); err == nil || !strings.Contains(err.Error(), "name the judge b") {
		t.Errorf("%v", err)
	}
	if _, err := base.Asking("d", models.Named()); err == nil || !strings.Contains(err.Error(), "there is a, c") {
		t.Errorf("%v", err)
	}
}
