package likelihood

import (
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// TestTRACe has five sentences, of which three are relevant, three used, and two both.
func TestTRACe(t *testing.T) {
	asked := map[string]int{}
	judge := metrictest.Affirms(func(prompt string) float64 {
		_, sentence, _ := strings.Cut(prompt, "Sentence: ")
		sentence, question, _ := strings.Cut(sentence, "\n")
		word := "relevant"
		if strings.Contains(question, "use this sentence") {
			word = "used"
			if !strings.Contains(prompt, "Answer: the reply") {
				t.Error("the prompt does not show the answer")
			}
		}
		asked[word]++
		if strings.Contains(sentence, word) {
			return 0.8
		}
		return 0.3
	})
	s := metrics.Sample{Question: "q", Answer: "the reply", Contexts: []string{"This is relevant and used. This is relevant.",
		" ", "This is used. This is none. This is used and relevant."}}
	score := func(name string) metrics.Result {
		return metrictest.Score(t, metrictest.One(t, Metrics(), name), judge, s)
	}
	metrictest.WantValue(t, "utilization", score("context_utilization"), 3.0/5, 0.8, 0.3, 0.8, 0.3, 0.8)
	clear(asked)
	metrictest.WantValue(t, "completeness", score("completeness/sentences_logit"), 2.0/3, 0.8, 0.3, 0.8)
	if asked["relevant"] != 2*5 || asked["used"] != 2*3 { // each asks for Yes and for No
		t.Errorf("asked %v", asked)
	}
	s.Contexts = []string{"This is used."}
	if got := score("completeness/sentences_logit"); got.Kind != metrics.NotApplicable {
		t.Errorf("without a relevant sentence: %+v", got)
	}
}
