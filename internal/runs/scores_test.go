package runs_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

// A run's scores by metric and sample: a sample without one is not there, and metrics are found by name or dimension.
func TestScores(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	grouped := runstest.Scored("s2", "a/x", 0.5)
	grouped.Group = "g"
	runstest.Write(t, dir, runstest.Manifest("a/x", "a/y", "b/z"),
		runstest.Scored("s1", "a/x", 0.25), metrics.Result{Sample: "s1", Metric: "a/y", Error: "it broke",
			Kind: metrics.Failed},
		runstest.Scored("s1", "b/z", 1), grouped, runstest.Scored("s2", "a/y", 0), runstest.Scored("s2", "b/z", 0))
	s, err := runs.LoadScores(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]float64{"a/x": {"s1": 0.25, "s2": 0.5}, "a/y": {"s2": 0}, "b/z": {"s1": 1, "s2": 0}}
	if !reflect.DeepEqual(s.Of, want) || !reflect.DeepEqual(s.Samples, []string{"s1", "s2"}) ||
		s.Groups([]string{"s2", "s1"})[0] != "g" {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct {
		names string
		n     int
	}{{"", 3}, {"a", 2}, {"a/y", 1}, {"b a", 3}} {
		if list, err := s.Pick(strings.Fields(c.names)); err != nil || len(list) != c.n {
			t.Errorf("%q: %v %v", c.names, list, err)
		}
	}
	var input *runs.InputError
	if _, err := s.Pick([]string{"c"}); !errors.As(err, &input) ||
		!strings.Contains(err.Error(), "it has a/x, a/y, b/z") {
		t.Errorf("a metric that is not there: %v", err)
	}
	if _, err := s.One(""); !errors.As(err, &input) || !strings.Contains(err.Error(), "--metric a/x or a/y or b/z") {
		t.Errorf("one of three: %v", err)
	}
	if m, err := s.One("b"); err != nil || m.Name != "b/z" {
		t.Errorf("one: %v %v", m, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runs.LoadScores(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: %v", err)
	}
}
