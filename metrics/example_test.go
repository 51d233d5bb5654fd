package metrics_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

// One sample is scored by metrics that are selected by name. The judge here is scripted; llama.Open opens a real one.
func Example() {
	judge := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		if prompt := req.Messages[len(req.Messages)-1].Text; strings.HasSuffix(prompt, "Verdicts:") {
			return "1. It says so. Verdict: Yes\n2. Nothing is said of dogs. Verdict: No", nil
		}
		return "1. The ferry costs 14 euros.\n2. The ferry takes dogs.", nil
	}}
	sample := &metrics.Sample{
		ID:       "ferry",
		Question: "What does the ferry cost?",
		Answer:   "It costs 14 euros, and dogs may come along.",
		Contexts: []string{"A ferry ticket costs 14 euros."},
	}

	ms, err := all.Select([]string{"faithfulness/claims", "faithfulness/k_precision"})
	if err != nil {
		log.Fatal(err)
	}
	samples := func(yield func(*metrics.Sample, error) bool) { yield(sample, nil) }
	models := metrics.Models{Roles: metrics.Roles{backend.Judge: judge}}
	err = metrics.Run(context.Background(), samples, ms, models, metrics.Options{}, func(r metrics.Result) error {
		if r.Score == nil {
			fmt.Println(r.Metric, r.Kind, r.Error)
			return nil
		}
		fmt.Printf("%s %.2f\n", r.Metric, r.Score.Value)
		for _, f := range r.Score.Because {
			if f.Verdict != nil && f.Kind == "claim" {
				fmt.Printf("  %v: %s\n", *f.Verdict, f.Text)
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// faithfulness/claims 0.50
	//   true: The ferry costs 14 euros.
	//   false: The ferry takes dogs.
	// faithfulness/k_precision 0.33
}
