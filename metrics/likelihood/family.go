package likelihood

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
)

// likelihoodFamilyMetrics are the metrics that read a judge's probabilities: yes or no, grades, ranks and likelihoods.
func Metrics() []metrics.Metric {
	return slices.Concat(logitMetrics(), gradeMetrics(), likelihoodMetrics())
}
