package all

import (
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
)

// blended returns the judges that come with Assay, by the names of their metrics.
func blended(t *testing.T) map[string]*TrainedJudge {
	t.Helper()
	files, err := blendFiles.ReadDir("blends")
	if err != nil {
		t.Fatal(err)
	}
	list := make(map[string]*TrainedJudge)
	for _, file := range files {
		text, err := blendFiles.ReadFile("blends/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		j, err := readJudge(text)
		if err != nil {
			t.Fatalf("%s: %v", file.Name(), err)
		}
		list[strings.TrimSuffix(file.Name(), ".json")+"/blend"] = j
	}
	return list
}

// No better value of any feature lowers what a blend says, and a blend looks at nothing that does not count.
func TestBlendsAreMonotone(t *testing.T) {
	list := blended(t)
	if len(list) != 4 {
		t.Fatalf("there are %d blends, want one for each of four dimensions", len(list))
	}
	for name, j := range list {
		for i, f := range j.Features {
			m, err := Select([]string{f.Metric})
			if err != nil {
				t.Fatal(err)
			}
			better := 1.0
			if m[0].LowerIsBetter {
				better = -1
			}
			if better*f.Weight < 0 || f.Weight == 0 && f.Without == 0 {
				t.Errorf("%s: the weight of %s is %v", name, f.Metric, f.Weight)
			}
			values := make([]float64, len(j.Features))
			for k, of := range j.Features {
				values[k] = of.Mean
			}
			worse, best := m[0].Min, m[0].Max
			if better < 0 {
				worse, best = best, worse
			}
			values[i] = worse
			low := j.Predict(values)
			values[i] = best
			if high := j.Predict(values); high < low {
				t.Errorf("%s: the best %s gives %v, the worst %v", name, f.Metric, high, low)
			}
		}
	}
}

// A blend's parts are its evidence, those of the sentences too, and it refuses other models than it was fitted with.
func TestBlend(t *testing.T) {
	j := blended(t)["faithfulness/blend"]
	labels := []string{"context_relevance", "faithfulness", "answer_relevance", "answer_correctness", "contradiction"}
	encoder := &backendtest.Fake{About: backend.Info{Engine: "e", Model: "encoder-judge", Digest: j.Encoder.Digest,
		Ops: backend.CanClassify, Labels: labels},
		Outputs: func(backend.Pair) []float32 { return []float32{0, 3, 0, 0, -3} }}
	embedder := &backendtest.Fake{About: backend.Info{Engine: "e", Model: "minilm", Ops: backend.CanEmbed | backend.CanEmbedTokens}}
	if j.Embedder != nil {
		embedder.About.Digest = j.Embedder.Digest
	}
	ms, err := Select([]string{"faithfulness/blend"})
	if err != nil {
		t.Fatal(err)
	}
	models := metrics.Models{Roles: metrics.Roles{backend.Encoder: encoder, backend.Embedder: embedder}}
	fields := metrics.Answer | metrics.Contexts
	if err := metrics.Check(ms, models, fields); err != nil {
		t.Fatal(err)
	}
	score, err := ms[0].Score(t.Context(), models, &metrics.Sample{ID: "1", Answer: "It is blue.",
		Contexts: []string{"A thing. It is blue."}})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	total := 0.0
	for _, f := range score.Because {
		kinds[f.Kind]++
		if f.Kind == "feature" {
			total += *f.Value
		}
	}
	if kinds["note"] != 1 || kinds["feature"] != len(j.Features) || kinds["sentence"] == 0 {
		t.Errorf("the findings are %+v", score.Because)
	}
	if base, _ := j.Explain(make([]float64, len(j.Features))); math.Abs(1/(1+math.Exp(-base-total))-score.Value) > 1e-9 {
		t.Errorf("the parts sum to %v over %v, and the score is %v", total, base, score.Value)
	}
	encoder.About.Digest = "sha256:" + strings.Repeat("0", 64)
	if err := metrics.Check(ms, models, fields); err == nil || !strings.Contains(err.Error(), "is another") {
		t.Errorf("with another encoder: %v", err)
	}
}
