package slicing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// scored makes a run of a dataset of such rows, with results.
func scored(t *testing.T, rows []string, results ...metrics.Result) *runs.Run {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data.jsonl")
	text := strings.Join(rows, "\n") + "\n"
	if err := os.WriteFile(data, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	m := runstest.Manifest("a/x", "b/low")
	sum := sha256.Sum256([]byte(text))
	m.Config.Dataset = runs.Dataset{Path: data, SHA256: hex.EncodeToString(sum[:]), Rows: len(rows)}
	m.Config.Metrics[1].LowerIsBetter = true
	dir := t.TempDir()
	runstest.Write(t, dir, m, results...)
	run, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestRead(t *testing.T) {
	run := scored(t, []string{
		`{"id":"a","question":"q","lang":"de","metadata":{"topic":"sea","deep":{"er":2}},"tags":["one","two","one"]}`,
		``,
		`{"id":"b","question":"q","lang":null,"metadata":"{\"topic\": \"air\"}","tags":[]}`,
		`{"id":"c","question":"q","lang":" de ","group":"g","tags":"one"}`,
	}, runstest.Scored("a", "a/x", 1))
	read := func(columns ...string) (*Data, error) {
		return Read(t.Context(), run, "", columns, t.Errorf)
	}
	d, err := read("lang", "metadata.topic", "metadata.deep.er", "tags", "group")
	if err != nil {
		t.Fatal(err)
	}
	check := func(id string, line int, want ...string) {
		t.Helper()
		row := d.Rows[id]
		var got []string
		for _, values := range row.Values {
			got = append(got, strings.Join(values, "+"))
		}
		if !slices.Equal(got, want) || row.Place.Line != line {
			t.Errorf("%s: line %d, %q, want %d, %q", id, row.Place.Line, got, line, want)
		}
	}
	check("a", 1, "de", "sea", "2", "one+two", None)
	check("b", 3, None, "air", None, None, None)
	check("c", 4, "de", None, None, "one", "g")
	var input *runs.InputError
	if _, err := read("language"); !errors.As(err, &input) || !strings.Contains(input.Hint, "lang, metadata, tags") {
		t.Errorf("no such column: %v", err)
	}
	if of, err := d.Samples("lang"); err != nil || !of["de"]["a"] || !of["de"]["c"] || of["de"]["b"] || !of[None]["b"] {
		t.Errorf("samples %v, %v", of, err)
	}
}

// A column of a million names must not become a million slices.
func TestManyValues(t *testing.T) {
	d := &Data{Columns: []string{"user"}, Rows: map[string]Row{}}
	for i := range 1000 {
		value := fmt.Sprint("user-", i)
		if i%2 == 0 {
			value = "guest"
		}
		d.Rows[fmt.Sprint(i)] = Row{Values: [][]string{{value}}}
	}
	d.Fold()
	of, err := d.Samples("user")
	if err != nil || len(of) != most || len(of["guest"]) != 500 || len(of[Others]) != 500-(most-2) {
		t.Errorf("%d slices, %d guests, %d others, %v", len(of), len(of["guest"]), len(of[Others]), err)
	}
}

func TestOf(t *testing.T) {
	d := &Data{Columns: []string{"lang"}, Rows: map[string]Row{}}
	var results []metrics.Result
	var bad, rest []float64
	for i := range 60 {
		id, lang := fmt.Sprint("s", i), []string{"de", "en", "fr"}[i%3]
		if i == 59 {
			lang = "it"
		}
		d.Rows[id] = Row{Place: dataset.Place{Line: i}, Values: [][]string{{lang}}}
		v := 0.6 + 0.1*float64(i%4)
		if lang == "de" {
			v -= 0.5
		}
		switch {
		case lang == "de":
			bad = append(bad, v)
		default:
			rest = append(rest, v)
		}
		results = append(results, runstest.Scored(id, "a/x", v), runstest.Scored(id, "b/low", v))
	}
	results = append(results, metrics.Result{Sample: "s60", Metric: "a/x", Kind: metrics.BadReply, Error: "e"},
		metrics.Result{Sample: "s61", Metric: "a/x", Kind: metrics.NotApplicable, Error: "e"})
	run := scored(t, []string{`{"id":"s0","question":"q"}`}, results...)
	s, err := Of(t.Context(), run, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := s.Find("lang", "a/x")
	if len(list) != 5 || list[0].Value != "de" || list[4].Value != None || list[4].Failed != 1 || list[4].NotApplicable != 1 ||
		list[4].Mean != nil {
		t.Fatalf("%+v", list)
	}
	de := list[0]
	if want := stats.Of(bad, stats.Options{Max: 1}); math.Abs(*de.Mean-want.Mean) > 1e-12 || *de.Lo != want.Interval.Lo || de.N != 20 {
		t.Errorf("de %+v, want %+v", de, want)
	}
	if want := stats.Of(rest, stats.Options{}).Mean; math.Abs(de.Rest.Mean-want) > 1e-12 || !de.Worse ||
		de.Rest.PHolm < de.Rest.P || de.Rest.PHolm > 0.05 {
		t.Errorf("de against the rest %+v, want %v", de.Rest, want)
	}
	for _, other := range list[1:] {
		if other.Worse {
			t.Errorf("%s is not worse: %+v", other.Value, other.Rest)
		}
		if other.Value == "it" && other.Rest != nil {
			t.Error("one row is compared with the rest")
		}
	}
	// Where lower is better, the slice with the lower scores is the best, and comes last.
	low := s.Find("lang", "b/low")
	if low[len(low)-1].Value != "de" || low[len(low)-1].Worse {
		t.Errorf("where lower is better: %+v", low)
	}
	if s.Tests != 6 { // three languages of two metrics
		t.Errorf("%d comparisons", s.Tests)
	}
	if worst := s.Worst(); len(worst) == 0 || worst[0].Metric != "a/x" || worst[0].Value != "de" {
		t.Errorf("worst %+v", worst)
	}
}

// Two slices that are each other's rest are one comparison.
func TestTwoSlices(t *testing.T) {
	d := &Data{Columns: []string{"lang"}, Rows: map[string]Row{}}
	var results []metrics.Result
	for i := range 40 {
		id := fmt.Sprint("s", i)
		d.Rows[id] = Row{Values: [][]string{{[]string{"de", "en"}[i%2]}}}
		results = append(results, runstest.Scored(id, "a/x", float64(i*7%11)/11))
	}
	s, err := Of(t.Context(), scored(t, []string{`{"id":"s0","question":"q"}`}, results...), d, nil)
	if err != nil || s.Tests != 1 || s.List[0].Rest.PHolm != s.List[0].Rest.P || s.List[1].Rest.PHolm != s.List[0].Rest.PHolm {
		t.Errorf("%+v, %v", s, err)
	}
}

// Of the rows that were asked about, a slice's mean is weighted by how likely they were to be.
func TestSurveyedSlices(t *testing.T) {
	d := &Data{Columns: []string{"lang"}, Rows: map[string]Row{}}
	var results []metrics.Result
	for i := range 80 {
		id := fmt.Sprint("s", i)
		d.Rows[id] = Row{Values: [][]string{{"de"}}}
		r := runstest.Scored(id, "a/x", float64(i%2))
		r.Drawn = &metrics.Drawn{Stratum: i % 2, Probability: 1}
		if i%2 == 1 && i > 40 { // half of the ones
			r.Score, r.Kind, r.Error = nil, metrics.NotAsked, "not drawn"
		}
		results = append(results, r)
	}
	s, err := Of(context.Background(), scored(t, []string{`{"id":"s0","question":"q"}`}, results...), d, nil)
	if err != nil || len(s.List) != 1 || math.Abs(*s.List[0].Mean-0.5) > 1e-9 || s.List[0].NotAsked == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}
