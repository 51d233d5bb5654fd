package runs_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

// A run is written result by result, and read as a stream.
func Example() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w, err := runs.Create(dir, runstest.Manifest("faithfulness/logit"), false)
	if err != nil {
		log.Fatal(err)
	}
	for sample, value := range map[string]float64{"ferry": 0.9} {
		result := metrics.Result{Sample: sample, Metric: "faithfulness/logit", Score: &metrics.Score{Value: value}}
		if err := w.Write(result); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(runs.Calls{Computed: 1}, true); err != nil {
		log.Fatal(err)
	}

	run, err := runs.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	for result, err := range run.Results(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Sample, result.Metric, result.Score.Value)
	}
	// Output: ferry faithfulness/logit 0.9
}
