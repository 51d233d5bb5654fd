package all

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// handJudge is a trained judge whose prediction can be worked out by hand: log odds -1, 2 for each deviation of
// token recall and a tree that asks for length.
func handJudge() *TrainedJudge {
	return &TrainedJudge{
		Format: JudgeFormat, Metric: "answer_correctness/judge", Label: JudgeLabel{Field: "correct", Max: 1},
		Offset: -1,
		Features: []JudgeFeature{
			{Metric: "answer_correctness/token_recall", Least: 0, Most: 1, Mean: 0.5, Deviation: 0.25, Weight: 2,
				Without: -0.5, Optional: true},
			{Metric: "length/words", Least: 1, Most: 20, Mean: 5, Deviation: 2},
		},
		Trees: []JudgeTree{{
			{Feature: 1, Below: 3, Absent: AbsentLeft, Left: 1, Right: 2, Value: 0.1},
			{Value: 0.4},
			{Feature: 0, Below: 0.9, Absent: AbsentRight, Left: 3, Right: 4, Value: -0.2},
			{Value: -0.7},
			{Value: 0.3},
		}},
	}
}

func TestTrainedJudge(t *testing.T) {
	m, err := handJudge().AsMetric()
	if err != nil {
		t.Fatal(err)
	}
	if m.Min != 0 || m.Max != 1 || m.Needs != metrics.Answer || len(m.Asks) > 0 {
		t.Errorf("%+v", m)
	}
	check := func(s metrics.Sample, odds float64, findings ...string) {
		t.Helper()
		score, err := m.Try(t.Context(), metrics.Models{}, &s)
		if want := 1 / (1 + math.Exp(-odds)); err != nil || math.Abs(score.Value-want) > 1e-12 {
			t.Errorf("%q: %v %v, want %v", s.Answer, score.Value, err, want)
		}
		var got []string
		for _, f := range score.Because {
			if f.Kind == "feature" {
				got = append(got, fmt.Sprintf("%s: %.2f", f.Text, *f.Value))
			}
		}
		if !slices.Equal(got, findings) {
			t.Errorf("%q: %q", s.Answer, got)
		}
	}
	// All of the reference's words, in two words: -1 + 2*(1-0.5)/0.25 + 0.4.
	check(metrics.Sample{Answer: "Alpha beta", References: []string{"alpha"}}, 3.4,
		"answer_correctness/token_recall is 1, 2.0 deviations above its mean in the judge's training: 4.00",
		"length/words is 2, 1.5 deviations below its mean in the judge's training: 0.30")
	// Half of them, in four: -1 + 0 - 0.7, of which the step to the length is -0.3 and the one to the recall -0.5.
	check(metrics.Sample{Answer: "alpha and some more", References: []string{"alpha beta"}}, -1.7,
		"answer_correctness/token_recall is 0.5, as in the judge's training: -0.50",
		"length/words is 4, 0.5 deviations below its mean in the judge's training: -0.30")
	// No reference: -1 - 0.5 + 0.3, the tree going right where recall is missing. 30 words count as 20.
	check(metrics.Sample{Answer: strings.Repeat("alpha ", 30)}, -1.2,
		"length/words is 30, which is beyond the judge's training, 1 to 20: -0.30",
		"answer_correctness/token_recall does not apply: 0.00")
}

// A trained judge of ratings predicts ratings, and one whose training rows all had a metric does not guess
// without it.
func TestTrainedJudgeRatings(t *testing.T) {
	j := handJudge()
	j.Label = JudgeLabel{Field: "stars", Min: 1, Max: 5}
	j.Features[0].Optional = false
	m, err := j.AsMetric()
	if err != nil {
		t.Fatal(err)
	}
	s := metrics.Sample{Answer: "alpha beta", References: []string{"alpha"}}
	score, err := m.Try(t.Context(), metrics.Models{}, &s)
	if want := 1 + 4/(1+math.Exp(-3.4)); err != nil || math.Abs(score.Value-want) > 1e-12 || m.Min != 1 || m.Max != 5 {
		t.Errorf("%v %v, want %v", score.Value, err, want)
	}
	if m.Needs != metrics.Answer|metrics.References {
		t.Errorf("needs %v", m.Needs)
	}
	s.References = []string{"!?"} // a reference without a word: token recall does not apply
	if _, err := m.Try(t.Context(), metrics.Models{}, &s); !errors.Is(err, metrics.ErrNotApplicable) ||
		!strings.Contains(err.Error(), "never saw") {
		t.Errorf("%v", err)
	}
}

// A feature that fails is a failure of the trained judge, not a missing value; and its requests are the trained
// judge's.
func TestTrainedJudgeFails(t *testing.T) {
	j := handJudge()
	j.Features[0].Metric = "answer_similarity/cosine"
	m, err := j.AsMetric()
	if err != nil || m.Asks[backend.Embedder] != backend.CanEmbed {
		t.Fatal(m.Asks, err)
	}
	s := metrics.Sample{ID: "s", Answer: "alpha beta", References: []string{"alpha"}}
	run := func(b backend.Backend) metrics.Result {
		t.Helper()
		var got []metrics.Result
		samples := func(yield func(*metrics.Sample, error) bool) { yield(&s, nil) }
		err := metrics.Run(t.Context(), samples, []metrics.Metric{m},
			metrics.Models{Roles: metrics.Roles{backend.Embedder: b}}, metrics.Options{}, func(r metrics.Result) error {
				got = append(got, r)
				return nil
			})
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		return got[0]
	}
	if r := run(&backendtest.Fake{}); r.Score == nil || len(r.Calls) != 2 {
		t.Errorf("%+v", r)
	}
	broken := &backendtest.Fake{Before: func(context.Context, backendtest.Call) error {
		return errors.New("no memory")
	}}
	if r := run(broken); r.Score != nil || r.Kind != metrics.Failed ||
		!strings.Contains(r.Error, "answer_similarity/cosine") {
		t.Errorf("%+v", r)
	}
}

func TestTrainedJudgeChecksModels(t *testing.T) {
	j := handJudge()
	check := func(want string, judge, embedder backend.Backend) {
		t.Helper()
		switch err := j.CheckModels(metrics.Models{Roles: metrics.Roles{backend.Judge: judge,
			backend.Embedder: embedder}}); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v, want %q", err, want)
		}
	}
	model := func(name, digest string) backend.Backend {
		return &backendtest.Fake{About: backend.Info{Model: name, Digest: digest}}
	}
	small, large := model("small", "sha256:1"), model("large", "sha256:2")
	check("", large, small)
	j.Embedder = &backend.Identity{Name: "small", Digest: "sha256:1"}
	check("", large, small)
	check("large", small, large)
	j.Judge = &backend.Identity{Name: "small", Digest: "sha256:1"}
	check("with the judge small", large, small)
	j.Prompts = []prompts.Identity{{Name: "faithfulness_verdict", Digest: "another"}}
	check("another text of the prompt faithfulness_verdict", small, small)
	p := Prompts()[slices.Index(prompts.Names(Prompts()), "faithfulness_verdict")]
	j.Prompts[0].Digest = p.Digest
	check("", small, small)

	p = Prompts()[slices.Index(prompts.Names(Prompts()), "completeness_yes")]
	j.Prompts[0] = p.Identity()
	check("", small, small)
	err := j.CheckModels(metrics.Models{Roles: metrics.Roles{backend.Judge: small, backend.Embedder: small},
		Prompts: prompts.Set{}.In(prompts.Row)})
	if err == nil || !strings.Contains(err.Error(), "--layout classic") {
		t.Errorf("%v, want the layout that it was trained in", err)
	}
}

// A feature may be an encoder's output: then the trained judge needs that encoder, with each output that is read.
func TestTrainedJudgeOfEncoder(t *testing.T) {
	j := handJudge()
	j.Features[0].Metric, j.Features[1].Metric = "answer_relevance/encoder", "answer_correctness/encoder"
	j.Features[0].Optional = false
	m, err := j.AsMetric()
	if err != nil || m.Asks[backend.Encoder] != backend.CanClassify {
		t.Fatal(m.Asks, err)
	}
	info := backend.Info{Engine: "e", Model: "small", Digest: "sha256:1", Ops: backend.CanClassify,
		Labels: []string{"answer_correctness", "answer_relevance", "context_relevance", "faithfulness"}}
	fields := metrics.Question | metrics.Answer | metrics.References
	with := func(info backend.Info) metrics.Models {
		return metrics.Models{Roles: metrics.Roles{backend.Encoder: &backendtest.Fake{About: info}}}
	}
	if err := metrics.Check([]metrics.Metric{m}, with(info), fields); err != nil {
		t.Error(err)
	}
	less := info
	less.Labels = []string{"answer_relevance"}
	for _, have := range []metrics.Models{{}, with(less)} {
		if err := metrics.Check([]metrics.Metric{m}, have, fields); err == nil {
			t.Errorf("%+v is enough", have)
		}
	}
	fake := &backendtest.Fake{About: info, Outputs: func(backend.Pair) []float32 { return make([]float32, 4) }}
	score, err := m.Try(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Encoder: fake}},
		&metrics.Sample{Question: "Why?", Answer: "So.", References: []string{"So."}})
	if err != nil || len(score.Because) != 4 || score.Because[3].Kind != "passage" {
		t.Errorf("%+v %v", score, err)
	}
	j.Encoder = &backend.Identity{Name: "small", Digest: "sha256:1"}
	if err := j.CheckModels(with(info)); err != nil {
		t.Error(err)
	}
	info.Digest = "sha256:2"
	if err := j.CheckModels(with(info)); err == nil {
		t.Error("another encoder will do")
	}
}

func TestLoadJudge(t *testing.T) {
	text, err := json.Marshal(handJudge())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadJudge(text); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(j *TrainedJudge){
		"a format of the future":     func(j *TrainedJudge) { j.Format = 99 },
		"no judge's name":            func(j *TrainedJudge) { j.Metric = "faithfulness/claims" },
		"a name that is a path":      func(j *TrainedJudge) { j.Metric = "../judge" },
		"no features":                func(j *TrainedJudge) { j.Features = nil },
		"an unknown feature":         func(j *TrainedJudge) { j.Features[0].Metric = "x/y" },
		"a judge of itself":          func(j *TrainedJudge) { j.Features[0].Metric = "answer_correctness/judge" },
		"a feature twice":            func(j *TrainedJudge) { j.Features[1].Metric = j.Features[0].Metric },
		"no deviation":               func(j *TrainedJudge) { j.Features[0].Deviation = 0 },
		"labels of one value":        func(j *TrainedJudge) { j.Label.Max = 0 },
		"an empty tree":              func(j *TrainedJudge) { j.Trees[0] = nil },
		"a tree that is a circle":    func(j *TrainedJudge) { j.Trees[0][2].Left = 2 },
		"a tree that leads out":      func(j *TrainedJudge) { j.Trees[0][2].Right = 5 },
		"a tree that asks elsewhere": func(j *TrainedJudge) { j.Trees[0][0].Feature = 2 },
		"half a leaf":                func(j *TrainedJudge) { j.Trees[0][0].Left = 0 },
		"a huge weight":              func(j *TrainedJudge) { j.Features[0].Weight = 1e300 },
		"a model of no kind": func(j *TrainedJudge) {
			j.Named = []backend.NamedIdentity{{Kind: "jury", As: "a"}}
		},
		"a model with no name": func(j *TrainedJudge) {
			j.Named = []backend.NamedIdentity{{Kind: backend.Judge, As: "a:b"}}
		},
		"a bare dimension": func(j *TrainedJudge) { j.Features[1].Metric = "length" },
		"odds that are too large": func(j *TrainedJudge) {
			j.Features[0].Weight, j.Features[0].Deviation = 1e12, 1e-300
		},
		"too many trees":  func(j *TrainedJudge) { j.Trees = slices.Repeat([]JudgeTree{{{}}}, mostNodes+1) },
		"too long a name": func(j *TrainedJudge) { j.Label.Field = strings.Repeat("x", MostJudge) },
	} {
		j := handJudge()
		spoil(j)
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := LoadJudge(text); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// Whatever a file holds, it is refused, or it predicts a number in its range.
func FuzzLoadJudge(f *testing.F) {
	text, err := json.Marshal(handJudge())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":1,"metric":"a/judge","label":{"max":1},"features":[{"metric":"length/words",` +
		`"deviation":1}],"trees":[[{}]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := LoadJudge(text)
		if err != nil {
			return
		}
		for _, v := range []float64{0, -1e6, 1e6, math.NaN()} {
			p := j.Predict(slices.Repeat([]float64{v}, len(j.Features)))
			if !(p >= j.Label.Min && p <= j.Label.Max) {
				t.Errorf("it predicts %v, outside [%v, %v]", p, j.Label.Min, j.Label.Max)
			}
		}
	})
}
