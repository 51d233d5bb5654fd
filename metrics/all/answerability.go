package all

import (
	"strings"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/answerability"
)

// By what answers are said to decline, as it stands behind a metric's @idk=.
const (
	byPhrases = "refusal/phrases"
	byJudge   = "refusal/judge"
)

// answerabilityMetrics are those of package answerability that are made of other metrics, which they find by name.
func answerabilityMetrics(byName map[string]metrics.Metric) []metrics.Metric {
	return []metrics.Metric{
		answerability.Right("refusal/right", byName[byPhrases]),
		answerability.Right("refusal/right_judge", byName[byJudge]),
		answerability.Aggregate(
			answerability.Part{Metric: byName["answer_similarity/bertscore_recall"], Signed: true},
			answerability.Part{Metric: byName["answer_similarity/rougeL"]},
			answerability.Part{Metric: byName["faithfulness/bertscore_k_precision"], Signed: true}),
	}
}

// conditioned returns the metric whose name has @idk or @idk=judge at its end, as mtRAG conditions it: see
// [answerability.Conditioned]. Ok is false where the name has none.
func (s Selector) conditioned(name string) (m metrics.Metric, ok bool, err error) {
	refusal := byPhrases
	at := "idk"
	bare, ok := strings.CutSuffix(name, "@idk")
	if !ok {
		refusal, at = byJudge, "idk=judge"
		if bare, ok = strings.CutSuffix(name, "@idk=judge"); !ok {
			return metrics.Metric{}, false, nil
		}
	}
	if m, err = s.lookup(bare); err != nil {
		return m, true, err
	}
	by, err := s.lookup(refusal)
	return answerability.Conditioned(m, at, by), true, err
}
