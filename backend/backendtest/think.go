package backendtest

import (
	"reflect"
	"testing"

	"github.com/assay-eval/assay/backend"
)

// testThink checks that a thought is bounded, can be had again, stands before what follows it and counts in the prompt.
func (s *suite) testThink(t *testing.T) {
	if !s.info.Ops.Has(backend.CanGenerate) {
		t.Error("Info claims to think but not to generate")
	}
	const question = "Is a whale a fish? Answer yes or no."
	thinks := s.ask(question)
	thinks.Thinks, thinks.MaxTokens = true, 2*s.Tokens
	thought := s.generate(t, thinks)
	if again := s.generate(t, thinks); !s.Loose && *again != *thought {
		t.Errorf("the thought %+v, then %+v", *thought, *again)
	}

	plain := s.generate(t, s.ask(question))
	behind := s.ask(question)
	behind.Thought = "A whale breathes air, and its young drink milk."
	first := s.generate(t, behind)
	if first.PromptTokens <= plain.PromptTokens {
		t.Errorf("the prompt has %d tokens without a thought, and %d with one", plain.PromptTokens, first.PromptTokens)
	}
	if again := s.generate(t, behind); !s.Loose && *again != *first {
		t.Errorf("behind a thought %+v, then %+v", *first, *again)
	}
	far := *behind
	far.MaxTokens = s.info.Context
	_, err := s.b.Generate(t.Context(), &far)
	checkError(t, "prompt and thought fit, but not with MaxTokens", err, backend.ErrPromptTooLong)
	far.MaxTokens, far.Thought = 1, s.tooLong()
	_, err = s.b.Generate(t.Context(), &far)
	checkError(t, "thought too long", err, backend.ErrPromptTooLong)

	if !s.info.Ops.Has(backend.CanChoose) {
		return
	}
	score := func(thought string) [][]float64 {
		t.Helper()
		req := scoreOf(question, first.Text+"!", "yes") // what comes first is what the model says behind its thought
		req.Thought = thought
		got, err := s.b.Score(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return got.LogProbs
	}
	with, without := score(behind.Thought), score("")
	if again := score(behind.Thought); !near(with[0], again[0]) || !near(with[1], again[1]) {
		t.Errorf("probabilities behind one thought %v, then %v", with, again)
	}
	if reflect.DeepEqual(with, without) {
		t.Errorf("the probabilities are %v with a thought and without", with)
	}
}
