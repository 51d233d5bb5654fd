package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/assay-eval/assay/internal/study"
)

// WritePredictions writes as CSV what was predicted for each row, and the part that it was in.
func WritePredictions(w io.Writer, predictions []study.Prediction) error {
	c := csv.NewWriter(w)
	list := [][]string{{"dataset", "sample", "label", "prediction", "part"}}
	for _, p := range predictions {
		list = append(list, []string{p.Dataset, p.Sample, strconv.FormatFloat(p.Label, 'g', -1, 64),
			strconv.FormatFloat(p.Predicted, 'g', 6, 64), strconv.Itoa(p.Part)})
	}
	return c.WriteAll(list)
}
