package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

// Every metric of the preset has a name in unitxt, and those are the names that unitxt's list for no more than a processor
// has (prepare/metrics/rag_recommended_metric_lists.py).
func TestUnitxtPreset(t *testing.T) {
	list, err := all.Preset("unitxt-cpu")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"answer_correctness.token_recall", "faithfulness.token_k_precision", "answer_relevance.token_recall",
		"context_relevance.token_precision", "context_correctness.mrr"}
	for i, m := range list {
		if u, ok := inUnitxt(m.Name); !ok || u.catalogue() != "metrics.rag.external_rag."+want[i] {
			t.Errorf("%s is %+v, want %s", m.Name, u, want[i])
		}
	}
}

func TestUnitxtNames(t *testing.T) {
	check := func(name, want string) {
		t.Helper()
		if u, ok := inUnitxt(name); ok != (want != "") || ok && u.key() != want {
			t.Errorf("%s is %+v, %v, want %q", name, u, ok, want)
		}
	}
	check("answer_correctness/token_f1@ascii", "answer_correctness_token_recall_f1")
	check("answer_correctness/token_f1_ascii", "answer_correctness_token_recall_f1")
	check("context_correctness/precision@5", "context_correctness_retrieval_at_k_precision_at_5")
	check("context_correctness/precision", "")
	check("context_correctness/precision@text", "")
	// Where our number is another one, the name is ours alone.
	check("answer_correctness/token_recall", "")
	check("faithfulness/k_precision", "")
	check("retrieval/mrr", "")
}

func TestUnitxt(t *testing.T) {
	const recall, other = "answer_correctness/token_recall@ascii", "length/words"
	m := &runs.Manifest{Tool: "assay v0.1.0", Started: at("2026-11-21T10:00:00Z"),
		Config: runs.Config{Dataset: runs.Dataset{Path: "b.csv", SHA256: "00", Rows: 3},
			Metrics: []runs.Metric{{Name: recall, Max: 1}, {Name: other, Max: 9}}}}
	r, err := Summarize(t.Context(), m, each([]metrics.Result{scored("a", recall, 0.5), scored("a", other, 3),
		scored("b", recall, 0.25), scored("b", other, 3)}), View{})
	if err != nil {
		t.Fatal(err)
	}
	r.Dir = "out"
	var got []struct {
		Run     string
		Metrics []string
		Score   struct{ Global map[string]float64 }
		Other   []string `json:"other_metrics"`
	}
	if err := json.Unmarshal([]byte(render(t, Options{Format: "unitxt"}, r)), &got); err != nil {
		t.Fatal(err)
	}
	const key = "answer_correctness_token_recall_recall"
	global := got[0].Score.Global
	if len(got) != 1 || got[0].Run != "out" || len(got[0].Metrics) != 1 || global[key] != 0.375 ||
		!(global[key+"_ci_low"] < 0.375) || !(global[key+"_ci_high"] > 0.375) || global["num_of_instances"] != 2 ||
		len(got[0].Other) != 1 || got[0].Other[0] != other {
		t.Errorf("%+v", got)
	}
	r.Metrics = r.Metrics[1:]
	if err := Write(&bytes.Buffer{}, []*Report{r}, Options{Format: "unitxt"}); err == nil ||
		!strings.Contains(err.Error(), "--preset unitxt-cpu") {
		t.Errorf("no metric of unitxt's: %v", err)
	}
}
