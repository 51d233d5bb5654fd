package retrieval

import (
	"math"
	"testing"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// TestAlphaNDCG has ten passages of six aspects, as in the example of Clarke et al. 2008, section 3: the gains of the
// ranking a to j are worked out by hand, and the ideal one is a, e, g, b, f, c, h, i, then those of no aspect.
func TestAlphaNDCG(t *testing.T) {
	aspects := map[string][]string{"a": {"2", "4"}, "b": {"2"}, "c": {"2"}, "e": {"1", "6"}, "f": {"1"}, "g": {"3"},
		"h": {"2"}, "i": {"2", "2"}, "j": {}}
	s := metrics.Sample{ContextIDs: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, Aspects: aspects}
	gains := []float64{2, 1. / 2, 1. / 4, 0, 2, 1. / 2, 1, 1. / 8, 1. / 16, 0}
	ideal := []float64{2, 2, 1, 1. / 2, 1. / 2, 1. / 4, 1. / 8, 1. / 16}
	log := func(list []float64) float64 {
		sum := 0.0
		for i, g := range list {
			sum += g / math.Log2(float64(i+2))
		}
		return sum
	}
	check := func(name string, want float64) {
		t.Helper()
		metrictest.WantValue(t, name, metrictest.Score(t, metrictest.One(t, Metrics(), name), nil, s), want)
	}
	check("retrieval/alpha_ndcg@1", 1)
	check("retrieval/alpha_ndcg@2", log(gains[:2])/log(ideal[:2]))
	check("retrieval/alpha_ndcg@5", log(gains[:5])/log(ideal[:5]))
	check("retrieval/alpha_ndcg", log(gains)/log(ideal))
	s.ContextIDs = []string{"a", "e", "g"}
	check("retrieval/alpha_ndcg@3", 1)
	s.ContextIDs = []string{}
	check("retrieval/alpha_ndcg@3", 0)
	s.Aspects = map[string][]string{"a": nil}
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "retrieval/alpha_ndcg"), nil, s); got.Kind != metrics.NotApplicable {
		t.Errorf("without an aspect: %+v", got)
	}
}

func TestJudged(t *testing.T) {
	s := rankedGrades([]int{1, unpooled, 0, 2, 0}, 1, 0, unjudged)
	for name, want := range map[string]float64{"judged": 0.8, "judged@2": 0.5, "judged@10": 0.8} {
		metrictest.WantValue(t, name, metrictest.Score(t, metrictest.One(t, Metrics(), "retrieval/"+name), nil, *s), want)
	}
}

// TestRouge matches chunks that are cut elsewhere, by the words of the reference that they hold in order.
func TestRouge(t *testing.T) {
	s := metrics.Sample{
		Contexts:          []string{"First. The ferry sails from May on, every day. Last.", "The pier is green.", "May from sails"},
		ReferenceContexts: []string{"The ferry sails from May on.", "The pier was painted green in 1990."},
	}
	check := func(name string, want float64, findings ...float64) {
		t.Helper()
		metrictest.WantValue(t, name, metrictest.Score(t, metrictest.One(t, Metrics(), name), nil, s), want, findings...)
	}
	check("context_recall/rouge", 0.5, 1, 3.0/7)
	check("context_recall/rouge@0.4", 1, 1, 3.0/7)
	check("context_precision/rouge", 1.0/3, 1, 3.0/7, 1.0/6)
}
