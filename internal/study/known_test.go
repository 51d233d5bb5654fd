package study

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
)

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
		run, err := runs.LoadScores(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		l, err := (&labels.Source{Human: field}).Load(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Agree(t.Context(), run, l, AgreeOptions{Peers: []string{"Bert-KPrec"}})
		if err != nil {
			t.Fatal(err)
		}
		near := func(got, want float64) bool { return math.Abs(got-want) < 0.0006 }
		d := a.Differences[0]
		if a.N != 207 || !near(a.Spearman.Value, ragas) || d.N != 207 || !near(a.Spearman.Value+d.Difference, bert) {
			t.Errorf("%s: Ragas %v of %d rows, BERT K-precision %v of %d, want %v and %v of 207", field,
				a.Spearman.Value, a.N,
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
		r := metrics.Result{Sample: sample.ID, Metric: "peers/" + peer, Error: "no contexts",
			Kind: metrics.NotApplicable}
		var peers map[string]float64
		if err := json.Unmarshal(sample.Extra["peers"], &peers); err != nil {
			t.Fatal(err)
		}
		if v, ok := peers[peer]; ok && sample.Fields().Has(metrics.Contexts) {
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
