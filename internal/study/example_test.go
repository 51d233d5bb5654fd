package study_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/metrics"
)

// Two runs of one dataset are compared sample by sample.
func Example() {
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	write := func(name string, gain float64) *runs.Scores {
		folder := filepath.Join(dir, name)
		w, err := runs.Create(folder, runstest.Manifest("faithfulness/logit"), false)
		if err != nil {
			log.Fatal(err)
		}
		for i := range 12 {
			score := &metrics.Score{Value: 0.4 + 0.02*float64(i) + gain*float64(1+i%3)}
			if err := w.Write(metrics.Result{
				Sample: fmt.Sprint(i), Metric: "faithfulness/logit", Score: score,
			}); err != nil {
				log.Fatal(err)
			}
		}
		if err := w.Close(runs.Calls{}, true); err != nil {
			log.Fatal(err)
		}
		scores, err := runs.LoadScores(context.Background(), folder)
		if err != nil {
			log.Fatal(err)
		}
		return scores
	}

	before, after := write("before", 0), write("after", 0.05)
	c, err := study.Compare(context.Background(), before, []*runs.Scores{after}, study.CompareOptions{Power: 0.8})
	if err != nil {
		log.Fatal(err)
	}
	d := c.Metrics[0]
	fmt.Printf("%s: %+.2f (%+.2f to %+.2f) on %d samples, better on %d\n",
		d.Name, d.Difference, *d.Lo, *d.Hi, d.N, d.Better)
	// Output: faithfulness/logit: +0.10 (+0.08 to +0.12) on 12 samples, better on 12
}
