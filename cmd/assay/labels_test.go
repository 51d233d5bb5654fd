package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

func TestParseRatings(t *testing.T) {
	check := func(raw string, first int, want ...rating) {
		t.Helper()
		got, err := parseRatings(json.RawMessage(raw), first)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v %v, want %v", raw, got, err, want)
		}
	}
	fails := func(raw string) {
		t.Helper()
		if got, err := parseRatings(json.RawMessage(raw), 0); err == nil {
			t.Errorf("%s: %v, want an error", raw, got)
		}
	}
	check(`3`, 0, rating{0, 3})
	check(`-0.5`, 0, rating{0, -0.5})
	check(`true`, 0, rating{0, 1})
	check(`"false"`, 0, rating{0, 0})
	check(`" Yes "`, 2, rating{2, 1})
	check(`"[[No]]"`, 0, rating{0, 0}) // as ARES writes it
	check(`"4"`, 0, rating{0, 4})
	check(`["4", 3, null, "NA", true]`, 0, rating{0, 4}, rating{1, 3}, rating{4, 1})
	check(`"[1, 2]"`, 1, rating{1, 1}, rating{2, 2}) // a list in a cell of a table
	check(`null`, 0)
	check(`""`, 0)
	check(``, 0)
	check(`[]`, 0)
	fails(`"good"`)
	fails(`{"a": 1}`)
	fails(`[[1]]`)
	fails(`[1, "good"]`)
	fails(`"[1, "`)
	fails(`"Inf"`)
	fails(`1e999`)
}

func FuzzParseRatings(f *testing.F) {
	for _, s := range []string{`3`, `"[[Yes]]"`, `["4", null]`, `"[1, 2]"`, `{}`, `"[`, `tru`, `1e400`, `"nan"`} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, raw []byte, first int) {
		first = max(first, 0) % 1000
		list, err := parseRatings(raw, first)
		if err != nil && list != nil {
			t.Fatalf("%q: both %v and %v", raw, list, err)
		}
		last := first - 1
		for _, r := range list {
			if math.IsNaN(r.value) || math.IsInf(r.value, 0) || r.rater <= last {
				t.Fatalf("%q: %v", raw, list)
			}
			last = r.rater
		}
	})
}

// The development data and what is known of it: mtRAG's paper and our own counts, by other programs, give these
// correlations of scores by others with the raters' means.
func TestAgreeWithKnownData(t *testing.T) {
	dir := os.Getenv("ASSAY_TEST_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	path := filepath.Join(dir, "mtrag.dev.jsonl")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s: set ASSAY_TEST_DATA to the folder of the development data", path)
	}
	out := runOfPeers(t, path, "rl_f")
	check := func(field string, ragas, bert float64) {
		t.Helper()
		var b, notes bytes.Buffer
		err := agreeCommand(context.Background(), &std{out: &b, err: &notes}, []string{out, "--human", field, "--peer", "Bert-KPrec", "--format", "json"})
		if err != nil {
			t.Fatal(err)
		}
		var a agreement
		if err := json.Unmarshal(b.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		near := func(got, want float64) bool { return math.Abs(got-want) < 0.0006 }
		d := a.Differences[0]
		if a.N != 207 || !near(a.Spearman.Value, ragas) || d.N != 207 || !near(a.Spearman.Value+d.Difference, bert) {
			t.Errorf("%s: Ragas %v of %d rows, BERT K-precision %v of %d, want %v and %v of 207", field, a.Spearman.Value, a.N,
				a.Spearman.Value+d.Difference, d.N, ragas, bert)
		}
		if a.Raters.Raters != 3 || a.Raters.N != 213 || len(a.Raters.Others) != 3 || a.AUC != nil {
			t.Errorf("%s: raters %+v, auc %v", field, a.Raters, a.AUC)
		}
	}
	check("faithfulness", 0.572, 0.602)
	check("completeness", 0.372, 0.424)
}

// runOfPeers makes a run folder whose scores are a peer's, on the rows with contexts.
func runOfPeers(t *testing.T, path, peer string) string {
	t.Helper()
	ctx := context.Background()
	data, err := dataset.Open(ctx, path, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	out := t.TempDir()
	m := runs.Manifest{Started: runs.Now(), Config: runs.Config{
		Dataset: runs.Dataset{Path: path, SHA256: data.Summary().SHA256, Rows: data.Summary().Rows},
		Metrics: []runs.Metric{{Name: "peers/" + peer, Max: 1}},
	}}
	w, err := runs.Create(out, m, false)
	if err != nil {
		t.Fatal(err)
	}
	for sample, err := range data.Samples(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		r := metrics.Result{Sample: sample.ID, Metric: "peers/" + peer, Error: "no contexts", Kind: metrics.NotApplicable}
		if v, ok := peersOf(sample)[peer]; ok && sample.Fields().Has(metrics.Contexts) {
			r = metrics.Result{Sample: sample.ID, Metric: r.Metric, Score: &metrics.Score{Value: v}}
		}
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(runs.Calls{}, true); err != nil {
		t.Fatal(err)
	}
	return out
}
