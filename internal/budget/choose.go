package budget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// Choose says which of a run's metrics are asked about some rows only, and by which cheap one each: those that ask a
// judge or, where none does, all that are not cheap. The cheap metric of a dimension is the one of that dimension among
// cheap, or the only one there; without any, another of the run's metrics of that dimension; else one that counts words.
// Missing are the names of those that the run does not have yet.
func Choose(ms, cheap []metrics.Metric) (asked []runs.Asked, missing []string, err error) {
	isCheap := func(m metrics.Metric) bool {
		return slices.ContainsFunc(cheap, func(c metrics.Metric) bool { return c.Name == m.Name })
	}
	judged := slices.ContainsFunc(ms, func(m metrics.Metric) bool { return asksJudge(m) && !isCheap(m) })
	var costly, others []metrics.Metric
	for _, m := range ms {
		if !isCheap(m) && (asksJudge(m) || !judged) {
			costly = append(costly, m)
		} else {
			others = append(others, m)
		}
	}
	if len(costly) == 0 {
		return nil, nil, fmt.Errorf("no metric is left to ask about some rows only: name one beside the cheap one")
	}
	for _, m := range costly {
		by, err := cheapFor(m, cheap, others)
		if err != nil {
			return nil, nil, err
		}
		asked = append(asked, runs.Asked{Metric: m.Name, Cheap: by})
		in := func(list []metrics.Metric) bool {
			return slices.ContainsFunc(list, func(m metrics.Metric) bool { return m.Name == by })
		}
		if in(costly) {
			return nil, nil, fmt.Errorf("%s cannot be asked about some rows by its own scores: name another with --cheap", by)
		}
		if !in(others) && !slices.Contains(missing, by) {
			missing = append(missing, by)
		}
	}
	return asked, missing, nil
}

// asksJudge reports whether a metric asks a judge, which is what is expensive.
func asksJudge(m metrics.Metric) bool {
	for role, ops := range m.Asks {
		if ops != 0 && role.Kind() == backend.Judge {
			return true
		}
	}
	return false
}

func cheapFor(m metrics.Metric, given, others []metrics.Metric) (string, error) {
	dimension := dimensionOf(m)
	same := func(list []metrics.Metric) (string, bool) {
		i := slices.IndexFunc(list, func(c metrics.Metric) bool { return dimensionOf(c) == dimension })
		if i < 0 {
			return "", false
		}
		return list[i].Name, true
	}
	if name, ok := same(given); ok {
		return name, nil
	}
	if len(given) == 1 {
		return given[0].Name, nil
	}
	if name, ok := same(others); ok {
		return name, nil
	}
	switch dimension {
	case "faithfulness", "completeness", "ragchecker", "noise_sensitivity":
		return "faithfulness/k_precision", nil
	case "context_relevance", "context_precision":
		return "context_relevance/token_precision", nil
	case "answer_relevance", "answer_quality":
		return "answer_relevance/token_recall", nil
	case "answer_correctness", "context_recall":
		return "answer_correctness/token_recall", nil
	}
	return "", fmt.Errorf("%s: no cheap metric goes with it by itself: name one with --cheap", m.Name)
}

func dimensionOf(m metrics.Metric) string {
	dimension, _, _ := strings.Cut(m.Name, "/")
	return dimension
}
