// Package likelihood has the metrics that read a judge's probabilities, of a reply's first token or of a whole text, in
// place of what it writes.
//
//   - First-token scoring (backend.CanChoose). Yes/no questions read as P(yes): the methods logit, and
//     answer_correctness/p_true (P(True), Kadavath et al. 2022, arXiv 2207.05221). The expected grade on a Likert
//     scale of 1 to 5: score_logit (G-Eval, Liu et al. 2023, arXiv 2303.16634). Pairwise comparison in both orders,
//     against position bias: rank (Zheng et al. 2023, arXiv 2306.05685). Answerability of questions: exam_cover
//     (EXAM++, Farzi and Dietz 2024, arXiv 2402.00309).
//   - Log-likelihood of a given text (backend.CanScore), as the geometric mean of its token probabilities: perplexity,
//     gptscore (Fu et al. 2023, arXiv 2302.04166), bartscore (Yuan et al. 2021, arXiv 2106.11520).
//   - A reward model's classification head (backend.CanClassify): answer_quality/reward.
//   - judge_score is the baseline of them all: a grade that the judge writes.
package likelihood

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
)

// Metrics are the metrics that read a judge's probabilities: yes/no questions, grades, pairwise comparisons and
// log-likelihoods.
func Metrics() []metrics.Metric {
	return slices.Concat(logitMetrics(), gatedMetrics(), contextLogitMetrics(), gradeMetrics(), likelihoodMetrics(),
		traceMetrics())
}

// likelihoodMetrics are read from the token probabilities of given texts.
//
// All but rewards and differences are geometric means of token probabilities: exp of the mean log-probability, in
// [0, 1], the reciprocal of perplexity. They compare texts under one model; between models, whose tokenisers
// differ, they say nothing. The end-of-sequence token is not counted.
func likelihoodMetrics() []metrics.Metric {
	return slices.Concat(
		[]metrics.Metric{answerPerplexity(), pTrue(), answerReward(), rewardLikelihood()},
		perplexityMetrics(), gptScoreMetrics(), bartScoreMetrics(), []metrics.Metric{exam(), examCover()},
	)
}

// gradeMetrics are the judge's grades and pairwise comparisons.
func gradeMetrics() []metrics.Metric {
	var list []metrics.Metric
	for _, a := range gradeAspects {
		whole, apart := grading{aspect: a}, grading{a, true}
		list = append(list, judgeScore(whole), scoreLogit(whole))
		if a.rank {
			list = append(list, rankMetric(a))
		}
		if whole.ofContexts() {
			list = append(list, judgeScore(apart), scoreLogit(apart), rankContexts(a))
		}
	}
	return list
}
