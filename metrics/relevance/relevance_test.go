package relevance

import (
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// TestGrades: the likeliest grade counts, of a long context that of its best window, and the ids stand beside them.
func TestGrades(t *testing.T) {
	prompts := 0
	judge := &backendtest.Fake{About: backend.Info{Context: 600}, LogProbs: func(messages []backend.Message,
		continuation string) []float64 {
		last := messages[len(messages)-1].Text
		if strings.Contains(last, "the answer") {
			t.Error("the judge sees the answer")
		}
		prompts++
		want := "0"
		for _, digit := range []string{"1", "2", "3"} {
			if strings.Contains(last, "grade"+digit) {
				want = digit
			}
		}
		if continuation == want {
			return []float64{math.Log(0.6)}
		}
		return []float64{math.Log(0.1)}
	}}
	long := strings.Repeat("The river runs to the sea and on. ", 60) + "It is grade2 here."
	s := metrics.Sample{Question: "q", Answer: "the answer", Contexts: []string{"grade3.", " ", "none.", long},
		ContextIDs: []string{"a", "b", "c", "d"}}
	got := metrictest.Score(t, umbrela(), judge, s)
	metrictest.WantValue(t, "umbrela", got, 5.0/9, 3, 0, 2)
	ids := ""
	for _, f := range got.Score.Because {
		ids += f.ID
	}
	if ids != "acd" {
		t.Errorf("the ids are %q", ids)
	}
}
