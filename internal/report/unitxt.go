package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/metrics/all"
)

// A unitxtScore is what unitxt calls a metric that gives the same number: a metric of its catalogue, "DIMENSION.METHOD" in
// metrics.rag.external_rag, and one of the scores of that.
type unitxtScore struct{ dimension, method, score string }

// catalogue is the name by which unitxt loads the metric.
func (u unitxtScore) catalogue() string {
	return "metrics.rag.external_rag." + u.dimension + "." + u.method
}

// key is the score's name in unitxt's results.
func (u unitxtScore) key() string { return u.dimension + "_" + u.method + "_" + u.score }

// inUnitxt returns what unitxt calls a metric, if it has one with the same number.
func inUnitxt(name string) (unitxtScore, bool) {
	canonical := all.Canonical(name)
	u, ok := map[string]unitxtScore{
		"answer_correctness/token_recall@ascii":    {"answer_correctness", "token_recall", "recall"},
		"answer_correctness/token_precision@ascii": {"answer_correctness", "token_recall", "precision"},
		"answer_correctness/token_f1@ascii":        {"answer_correctness", "token_recall", "f1"},
		"faithfulness/k_precision@max":             {"faithfulness", "token_k_precision", "precision"},
		"answer_relevance/token_recall@ascii":      {"answer_relevance", "token_recall", "recall"},
		"context_relevance/token_precision@max":    {"context_relevance", "token_precision", "precision"},
		"context_correctness/mrr":                  {"context_correctness", "mrr", "mrr"},
		"context_correctness/map":                  {"context_correctness", "map", "map"},
	}[canonical]
	if ok {
		return u, true
	}
	method, k, _ := strings.Cut(canonical, "@")
	_, err := strconv.Atoi(k)
	switch method {
	case "context_correctness/precision", "context_correctness/recall", "context_correctness/match":
		_, measure, _ := strings.Cut(method, "/")
		return unitxtScore{"context_correctness", "retrieval_at_k", measure + "_at_" + k}, err == nil
	}
	return unitxtScore{}, false
}

// A unitxtRun is a run as unitxt's results name its scores.
type unitxtRun struct {
	Run     string   `json:"run"`
	Metrics []string `json:"metrics"` // of unitxt's catalogue

	// Score is {"global": {NAME: mean, NAME_ci_low: ..., NAME_ci_high: ..., "num_of_instances": n}}.
	Score map[string]any `json:"score"`

	// Others are the run's metrics for which unitxt has no name, since its numbers are others.
	Others []string `json:"other_metrics,omitempty"`
}

// writeUnitxt writes the means of the metrics that unitxt has too, by its names. A run without any is an error.
func writeUnitxt(w io.Writer, reports []*Report, _ Options) error {
	list := []unitxtRun{}
	for _, r := range reports {
		run := unitxtRun{Run: r.Dir, Metrics: []string{}}
		global := map[string]any{"num_of_instances": r.Samples}
		seen := map[string]bool{}
		for _, m := range r.Metrics {
			u, ok := inUnitxt(m.Name)
			if !ok || m.Calibration != nil {
				run.Others = append(run.Others, m.Name)
				continue
			}
			if name := u.catalogue(); !seen[name] {
				seen[name] = true
				run.Metrics = append(run.Metrics, name)
			}
			if m.N > 0 {
				global[u.key()] = m.Stats.Mean
			}
			if i := m.Stats.Interval; i != nil {
				global[u.key()+"_ci_low"], global[u.key()+"_ci_high"] = i.Lo, i.Hi
			}
		}
		if len(run.Metrics) == 0 {
			return fmt.Errorf("%s: none of its metrics gives the number of one of unitxt's: run --preset unitxt-cpu does", r.Dir)
		}
		run.Score = map[string]any{"global": global}
		list = append(list, run)
	}
	return encode(w, list)
}
