package judged

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// The penalty of FActScore's released program, gamma 10: exp(1 - 10/n) for n statements, none from 11 on.
func TestLengthPenalty(t *testing.T) {
	for n, want := range map[int]float64{1: math.Exp(-9), 5: math.Exp(-1), 10: 1, 11: 1, 40: 1} {
		if got := lengthPenalty(n, 10); math.Abs(got-want) > 1e-15 {
			t.Errorf("%d statements: %v, want %v", n, got, want)
		}
	}
}

// F1@K by VeriScore's formula: three supported of four and K = 6 are P = 3/4, R = 1/2, F1 = 3/5.
func TestVeriF1(t *testing.T) {
	for _, c := range []struct {
		supported, of int
		k, want       float64
	}{{3, 4, 6, 0.6}, {0, 4, 6, 0}, {6, 6, 6, 1}, {8, 8, 6, 1}, {8, 10, 4, 2 * 0.8 / 1.8}, {1, 1, 2.5, 2 * 0.4 / 1.4}} {
		if got := veriF1(c.supported, c.of, c.k); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestMedianOfStatements(t *testing.T) {
	for _, c := range []struct {
		counts []int
		want   float64
	}{{nil, 1}, {[]int{0, 0, 3}, 1}, {[]int{2, 5, 9}, 5}, {[]int{2, 5, 8, 9}, 6.5}} {
		if got := (&statementCounts{counts: c.counts}).median(); got != c.want {
			t.Errorf("%v: %v, want %v", c.counts, got, c.want)
		}
	}
}

// shelf is a corpus that finds the passage of a claim's last word.
type shelf map[string]string

func (s shelf) Find(_ context.Context, claim string, most int) ([]metrics.Found, error) {
	if most != 5 {
		return nil, fmt.Errorf("asked for %d passages", most)
	}
	words := strings.Fields(strings.TrimSuffix(claim, "."))
	if text, ok := s[words[len(words)-1]]; ok {
		return []metrics.Found{{ID: "p-" + words[len(words)-1], Text: text}}, nil
	}
	if claim == "Broken." {
		return nil, errors.New("the shelf broke")
	}
	return nil, nil
}

// factualities scores one answer, whose statements the judge lists as they are given.
func factualities(t *testing.T, name string, sample metrics.Sample, statements ...string) metrics.Result {
	t.Helper()
	list := count(statements...)
	if len(statements) == 0 {
		list = "No statements."
	}
	judge := &backendtest.Fake{
		Reply: func(context.Context, *backend.GenerateRequest) (string, error) { return list, nil },
		LogProbs: func(messages []backend.Message, continuation string) []float64 {
			if strings.Contains(messages[len(messages)-1].Text, "wrong") == (continuation == "No") &&
				continuation != "Unknown" {
				return []float64{math.Log(0.7)}
			}
			return []float64{math.Log(0.1)}
		},
	}
	m := metrictest.One(t, Metrics(), name)
	models := metrics.Models{Roles: metrics.Roles{backend.Judge: judge},
		Evidence: shelf{"red": "It is red.", "blue": "It is wrong that it is blue."}}
	if err := metrics.Check([]metrics.Metric{m}, models, sample.Fields()); err != nil {
		t.Fatal(err)
	}
	samples := func() iter.Seq2[*metrics.Sample, error] {
		return func(yield func(*metrics.Sample, error) bool) { yield(&sample, nil) }
	}
	models, err := metrics.Prepare(t.Context(), samples, []metrics.Metric{m}, models, metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got metrics.Result
	err = metrics.Run(t.Context(), samples(), []metrics.Metric{m}, models, metrics.Options{},
		func(r metrics.Result) error { got = r; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestFactuality(t *testing.T) {
	sample := metrics.Sample{ID: "one", Question: "What is it like?", Answer: "As it is."}
	claims := []string{"It is red.", "It is blue.", "It is old."}
	got := factualities(t, "factuality/factscore_plain", sample, claims...)
	metrictest.WantScore(t, "plain", got, 1.0/3, "supported | passages p-red", "contradicted | passages p-blue",
		"not said | no passage was found", "1 supported, 1 contradicted, 1 not said")
	if got.Score.Ratio == nil || *got.Score.Ratio != (metrics.Ratio{Numerator: 1, Denominator: 3}) {
		t.Errorf("%+v", got.Score.Ratio)
	}
	got = factualities(t, "factuality", sample, claims...)
	metrictest.WantScore(t, "with the penalty", got, math.Exp(1-10.0/3)/3, "", "", "", "", "penalty for 3 statements")
	metrictest.WantScore(t, "K is its own count", factualities(t, "factuality/veriscore", sample, claims...), 1.0/3)
	metrictest.WantScore(t, "K = 1", factualities(t, "factuality/veriscore@1", sample, claims...), 0.5)
	metrictest.WantScore(t, "responds", factualities(t, "factuality/responds", sample, claims...), 1, "3 statements")

	metrictest.WantScore(t, "abstains", factualities(t, "factuality/responds", sample), 0, "0 statements")
	metrictest.WantScore(t, "nothing verifiable", factualities(t, "factuality/veriscore@1", sample), 0)
	if got := factualities(t, "factuality", sample); got.Kind != metrics.NotApplicable ||
		!strings.Contains(got.Error, "abstains") {
		t.Errorf("an answer that abstains: %+v", got)
	}
	if got := factualities(t, "factuality", sample, "Broken."); got.Kind != metrics.Failed ||
		!strings.Contains(got.Error, "the shelf broke") {
		t.Errorf("a search that fails: %+v", got)
	}
	err := metrics.Check([]metrics.Metric{metrictest.One(t, Metrics(), "factuality")},
		metrics.Models{Roles: metrics.Roles{backend.Judge: &backendtest.Fake{}}}, sample.Fields())
	if err == nil || !strings.Contains(err.Error(), "--corpus") {
		t.Errorf("without a corpus: %v", err)
	}
}
