package all

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/assay-eval/assay/metrics"
)

// Blends are the judges that come with Assay: a file each, which scripts/agreement.sh fits, and [LoadJudge] could read.
//
//go:embed blends/*.json
var blendFiles embed.FS

// blends returns the metrics DIMENSION/blend: small monotone combinations of an encoder, words and embeddings, fitted to
// people's labels from several sources at once. By name they find their features.
func blends(byName map[string]metrics.Metric) []metrics.Metric {
	files, err := blendFiles.ReadDir("blends")
	if err != nil {
		panic(err) // it is in the program
	}
	var list []metrics.Metric
	for _, file := range files {
		m, err := blend(file.Name(), byName)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", file.Name(), err))
		}
		list = append(list, m)
	}
	return list
}

func blend(file string, byName map[string]metrics.Metric) (metrics.Metric, error) {
	text, err := blendFiles.ReadFile(path.Join("blends", file))
	if err != nil {
		return metrics.Metric{}, err
	}
	j, err := readJudge(text)
	if err != nil {
		return metrics.Metric{}, err
	}
	var features []metrics.Metric
	for _, name := range j.names() {
		features = append(features, byName[name])
	}
	dimension := strings.TrimSuffix(file, ".json")
	if j.Metric != dimension+"/blend" {
		return metrics.Metric{}, fmt.Errorf("it is a judge of %q", j.Metric)
	}
	m, err := j.over(features)
	m.Bound = j.checkWeights
	m.Doc = strings.ReplaceAll(dimension, "_", " ") + " as people would label it, by an encoder, words and embeddings " +
		"together"
	m.Source = "Assay: monotone logistic regression, fitted to several sources of people's labels with each left out " +
		"in turn (docs/agreement.md)"
	m.Formula = "logistic(offset + sum of weight * (value - mean) / deviation) over " + strings.Join(j.names(), ", ") +
		"; no better value lowers it"
	return m, err
}
