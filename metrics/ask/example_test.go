package ask_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A metric of one's own: whether the contexts name a price, read as P(yes) by first-token scoring. Contexts that
// do not fit in one prompt are shown in windows, of which the best counts.
func Example() {
	price, err := prompts.Parse("price.tmpl", `
version: 1
max_tokens: 5
--- user
{{.Text}}

Does this text name a price? Answer Yes or No.
`)
	if err != nil {
		log.Fatal(err)
	}
	metric := metrics.Metric{
		Name: "context/price", Max: 1,
		Needs:   metrics.Contexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{price},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			chances, err := metrics.EachWindow(s.Contexts, func(text string) (float64, error) {
				return ask.Yes(ctx, m, price, struct{ Text string }{text})
			})
			if err != nil {
				return metrics.Score{}, err
			}
			best := metrics.Best(chances, func(a, b float64) bool { return a > b })
			finding := metrics.Finding{Kind: "contexts", Value: &chances[best],
				Where: metrics.WindowName(best, len(chances))}
			return metrics.Score{Value: chances[best], Because: []metrics.Finding{finding}}, nil
		},
	}

	judge := &backendtest.Fake{LogProbs: func(messages []backend.Message, continuation string) []float64 {
		yes := 0.1
		if strings.Contains(messages[0].Text, "euros") {
			yes = 0.8
		}
		if continuation == "No" {
			yes = 1 - yes
		}
		return []float64{math.Log(yes)}
	}}
	models := metrics.Models{Roles: metrics.Roles{backend.Judge: judge}}
	for _, text := range []string{"A ticket costs 14 euros.", "The pier is green."} {
		score, err := metric.Try(context.Background(), models, &metrics.Sample{Contexts: []string{text}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.1f %s\n", score.Value, text)
	}
	// Output:
	// 0.8 A ticket costs 14 euros.
	// 0.1 The pier is green.
}
