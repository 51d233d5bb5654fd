package metrics_test

import (
	"os"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

// What holds of any language model, however small, holds of a real one: a question is likelier after its own
// context than after another's, and an answer after what it says again. A judge that is shown a prompt of
// yes and no answers in that form.
func TestProbabilitiesOfARealModel(t *testing.T) {
	lib, path := os.Getenv("ASSAY_TEST_LIB"), os.Getenv("ASSAY_TEST_JUDGE")
	if lib == "" || path == "" {
		t.Skip("ASSAY_TEST_LIB and ASSAY_TEST_JUDGE do not name libraries and a model: make test runs this")
	}
	judge, err := llama.Open(t.Context(), llama.Options{Lib: lib, Model: path, Slots: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()

	octopus := metrics.Sample{
		ID: "octopus", Question: "How many hearts does an octopus have?", Answer: "An octopus has three hearts.",
		Contexts:   []string{"An octopus has three hearts. Two of them push blood through the gills."},
		References: []string{"It has three hearts."},
	}
	saturn := octopus
	saturn.ID, saturn.Contexts, saturn.References = "saturn",
		[]string{"Saturn is known for its rings, which are made of ice and rock."},
		[]string{"Its rings are made of ice and rock."}

	likelier := []string{"context_relevance/perplexity", "faithfulness/bartscore", "answer_correctness/bartscore_f"}
	ms, err := all.Select(append(likelier, "answer_quality/reward_likelihood", "answer_relevance/logit"))
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	err = metrics.Run(t.Context(), func(yield func(*metrics.Sample, error) bool) {
		_ = yield(&octopus, nil) && yield(&saturn, nil)
	}, ms, metrics.Models{Roles: metrics.Roles{backend.Judge: judge}}, metrics.Options{}, func(r metrics.Result) error {
		if r.Score == nil {
			t.Errorf("%s of %s: %s", r.Metric, r.Sample, r.Error)
			return nil
		}
		values[r.Metric+" of "+r.Sample] = r.Score.Value
		for _, f := range r.Score.Because {
			if f.Kind == "note" && strings.Contains(f.Text, "rather") {
				t.Errorf("%s of %s: %s", r.Metric, r.Sample, f.Text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range likelier {
		if own, other := values[name+" of octopus"], values[name+" of saturn"]; !(own > other && other > 0) {
			t.Errorf("%s is %v with what belongs together and %v without", name, own, other)
		}
	}
	if v := values["answer_quality/reward_likelihood of octopus"]; !(v > 0.5) {
		t.Errorf("answer_quality/reward_likelihood is %v: the question makes its own answer no more probable", v)
	}
}
