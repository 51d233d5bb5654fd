// Package metrictest holds what the tests of metrics have in common: a sample, scripted judges, and checks of a
// result.
package metrictest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
)

// Select returns those of list that are named, in the order of names. An alias will do; a bare dimension means its
// default method, and what stands after an @ goes to the metric's At.
func Select(t testing.TB, list []metrics.Metric, names ...string) []metrics.Metric {
	t.Helper()
	var selected []metrics.Metric
	for _, full := range names {
		name, at, cut := strings.Cut(full, "@")
		i := slices.IndexFunc(list, func(m metrics.Metric) bool {
			dimension, _, _ := strings.Cut(m.Name, "/")
			return m.Name == name || m.Default && dimension == name || slices.Contains(m.Aliases, name)
		})
		if i < 0 {
			t.Fatalf("no metric %s", full)
		}
		m, err := list[i], error(nil)
		if slices.Contains(m.Aliases, name) {
			m.Name = name
		}
		if cut {
			m, err = m.At(at)
		}
		if err != nil {
			t.Fatal(err)
		}
		selected = append(selected, m)
	}
	return selected
}

// One returns the metric of a name.
func One(t testing.TB, list []metrics.Metric, name string) metrics.Metric {
	t.Helper()
	return Select(t, list, name)[0]
}

// Score scores one sample by one metric, as a run does. The judge, if any, is the embedding model and the encoder, too.
func Score(t testing.TB, metric metrics.Metric, judge backend.Backend, sample metrics.Sample) metrics.Result {
	t.Helper()
	sample.ID = "one"
	var got metrics.Result
	err := metrics.Run(t.Context(), func(yield func(*metrics.Sample, error) bool) { yield(&sample, nil) },
		[]metrics.Metric{metric},
		metrics.Models{Roles: metrics.Roles{backend.Judge: judge, backend.Embedder: judge}}, metrics.Options{},
		func(r metrics.Result) error { got = r; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Ferry is the sample that most tests score.
func Ferry() metrics.Sample {
	return metrics.Sample{
		Question: "What does the ferry cost?",
		Answer:   "The ferry costs 14 euros. It sails daily.",
		Contexts: []string{"A ferry ticket costs 14 euros.", "The pier is green."},
	}
}

// WantScore checks a value and, by parts of their texts, the findings.
func WantScore(t testing.TB, what string, r metrics.Result, value float64, because ...string) {
	t.Helper()
	if r.Score == nil || math.Abs(r.Score.Value-value) > 1e-9 {
		t.Errorf("%s: %+v %+v, want %v", what, r, r.Score, value)
		return
	}
	if len(because) > 0 && len(because) != len(r.Score.Because) {
		t.Errorf("%s: findings %+v, want %q", what, r.Score.Because, because)
		return
	}
	for i, want := range because {
		f := r.Score.Because[i]
		if !strings.Contains(fmt.Sprint(f.Text, " | ", f.Reason, " | ", f.Where), want) {
			t.Errorf("%s: finding %d is %+v, want %q", what, i, f, want)
		}
	}
}

// WantValue checks a result's value, and the values of its findings that have one.
func WantValue(t testing.TB, what string, got metrics.Result, want float64, findings ...float64) {
	t.Helper()
	if got.Score == nil || math.Abs(got.Score.Value-want) > 1e-9 {
		t.Errorf("%s: %+v %s, want %v", what, got.Score, got.Error, want)
		return
	}
	var values []float64
	for _, f := range got.Score.Because {
		if f.Value != nil {
			values = append(values, *f.Value)
		}
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if findings != nil && !slices.EqualFunc(values, findings, near) {
		t.Errorf("%s: the findings are %v, want %v", what, values, findings)
	}
	if len(got.Score.Because) == 0 {
		t.Errorf("%s: no findings", what)
	}
}

// Affirms is a judge that says yes with the probability that chance gives the last message of a prompt.
func Affirms(chance func(prompt string) float64) *backendtest.Fake {
	return &backendtest.Fake{LogProbs: func(messages []backend.Message, continuation string) []float64 {
		p := chance(messages[len(messages)-1].Text)
		switch continuation {
		case "Yes", "True":
			return []float64{math.Log(p)}
		case "No", "False":
			return []float64{math.Log(1 - p)}
		}
		panic("asked for " + continuation)
	}}
}
