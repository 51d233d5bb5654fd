package backendtest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
)

func (s *suite) testGenerate(t *testing.T) {
	t.Run("Concurrent", s.testConcurrent)
	t.Run("Seeds", s.testSeeds)
	t.Run("Lengths", s.testLengths)
	t.Run("Stop", s.testStop)
	t.Run("TooLong", s.testTooLong)
	t.Run("Texts", s.testTexts)
	t.Run("ControlTokens", s.testControlTokens)
	t.Run("CancelInTheMiddle", s.testCancelInTheMiddle)
}

// testConcurrent asks eight questions one by one, then all at once, twice each. Each has its own length,
// so that an answer to another question is noticed even where texts may differ.
func (s *suite) testConcurrent(t *testing.T) {
	const n = 8
	var reqs []*backend.GenerateRequest
	var alone []*backend.Generation
	for i := range n {
		req := s.ask("Write about these words: " + manyWords(3*i+1))
		reqs = append(reqs, req)
		alone = append(alone, s.generate(t, req))
		if i > 0 && alone[i].PromptTokens <= alone[i-1].PromptTokens {
			t.Fatalf("prompts of growing length have %d, then %d tokens",
				alone[i-1].PromptTokens, alone[i].PromptTokens)
		}
	}
	var wg sync.WaitGroup
	for i := range 2 * n {
		wg.Go(func() {
			i := i % n
			g, err := s.b.Generate(t.Context(), reqs[i])
			if err != nil {
				t.Errorf("question %d of %d at once: %v", i, n, err)
				return
			}
			if err := checkGeneration(reqs[i], g); err != nil {
				t.Errorf("question %d of %d at once: %v", i, n, err)
			}
			if g.PromptTokens != alone[i].PromptTokens || !s.Loose && *g != *alone[i] {
				t.Errorf("question %d: alone %+v, beside others %+v", i, *alone[i], *g)
			}
		})
	}
	wg.Wait()
}

// testSeeds checks that a reply can be had again, and that draws differ.
func (s *suite) testSeeds(t *testing.T) {
	greedy := s.ask("Name a colour.")
	a, b := s.generate(t, greedy), s.generate(t, greedy)
	greedy.Sampling.Seed, greedy.Draw = 7, 3
	seeded := s.generate(t, greedy)
	if !s.Loose && (*a != *b || *a != *seeded) {
		t.Errorf("at temperature 0: %+v, then %+v, then with a seed %+v", *a, *b, *seeded)
	}

	req := s.ask("Invent the first line of a strange poem about the sea.")
	req.MaxTokens = s.Tokens + 4
	req.Sampling = backend.Sampling{Temperature: 1, Seed: 42}
	texts := map[string]bool{}
	var first *backend.Generation
	for draw := range 5 {
		req.Draw = draw
		g := s.generate(t, req)
		texts[g.Text] = true
		if draw == 0 {
			first = g
		}
	}
	if len(texts) < 2 {
		t.Errorf("5 draws at temperature 1 all gave %q", first.Text)
	}
	req.Draw = 0
	before := fmt.Sprintf("%+v", *req)
	if again := s.generate(t, req); !s.Loose && *again != *first {
		t.Errorf("draw 0 gave %+v, then %+v", *first, *again)
	}
	if after := fmt.Sprintf("%+v", *req); after != before {
		t.Errorf("Generate changed its request from %s to %s", before, after)
	}
}

// testLengths checks that MaxTokens is met exactly, down to a single token.
func (s *suite) testLengths(t *testing.T) {
	for _, n := range []int{1, 2, s.Tokens} {
		req := s.long("Tell a long story about a lighthouse keeper and her brother.")
		req.MaxTokens = n
		g := s.generate(t, req)
		if g.Stop != backend.StopLength || g.OutputTokens != n {
			t.Errorf("a story cut after %d tokens: %+v", n, *g)
		}
	}
}

// testStop takes a word out of a reply and has the same reply stop before it.
func (s *suite) testStop(t *testing.T) {
	req := s.ask("Count from one to ten in words.")
	req.MaxTokens = 2 * s.Tokens
	whole := s.generate(t, req)
	words := strings.Fields(whole.Text)
	if len(words) < 2 {
		t.Fatalf("the reply %q has no second word to stop at", whole.Text)
	}
	if s.Loose {
		t.Skip("replies of this engine may differ from one call to the next")
	}
	stop := words[len(words)/2]
	req.Stop = []string{"no such text in the reply", stop}
	want, _, _ := strings.Cut(whole.Text, stop)
	g := s.generate(t, req)
	if strings.TrimSpace(g.Text) != strings.TrimSpace(want) || g.Stop != backend.StopEnd {
		t.Errorf("%q stopped before %q is %q (%s), want %q (%s)",
			whole.Text, stop, g.Text, g.Stop, want, backend.StopEnd)
	}
}

// testTooLong checks that nothing is ever cut to make it fit.
func (s *suite) testTooLong(t *testing.T) {
	_, err := s.b.Generate(t.Context(), s.ask(s.tooLong()))
	checkError(t, "prompt too long", err, backend.ErrPromptTooLong)

	req := s.ask(s.tooLong())
	req.Messages = append(req.Messages, backend.Message{Role: backend.Assistant, Text: "I see."},
		backend.Message{Role: backend.User, Text: "And now?"})
	_, err = s.b.Generate(t.Context(), req)
	checkError(t, "first of three messages too long", err, backend.ErrPromptTooLong)

	req = s.ask("Hello.")
	req.MaxTokens = s.info.Context
	_, err = s.b.Generate(t.Context(), req)
	checkError(t, "prompt fits, but not with MaxTokens", err, backend.ErrPromptTooLong)

	n := min(s.info.Context/4, 400)
	if g := s.generate(t, s.ask(manyWords(n))); g.PromptTokens < n {
		t.Errorf("a prompt of %d words has %d tokens: it was cut", n, g.PromptTokens)
	}
}

// testTexts sends odd texts, and has replies cut in the middle of characters of several bytes.
func (s *suite) testTexts(t *testing.T) {
	for _, text := range []string{
		" \n\t ",
		"Was heißt «żółw» auf 日本語?",
		"a\x00b\u2028c\u202ed\ufeff",
		"Say this back to me: 👩‍👩‍👧‍👦🏳️‍🌈🙂🙃🙂🙃",
	} {
		s.generate(t, s.ask(text))
	}
	for n := range 3 {
		req := s.ask("Repeat exactly: 🙂🙃🙂🙃🙂🙃")
		req.MaxTokens = n + 1
		s.generate(t, req)
	}
	if _, err := s.b.Generate(t.Context(), s.ask("")); err != nil {
		checkError(t, "empty message", err, backend.ErrInvalid) // some templates refuse it
	}
	chat := s.ask("You answer in one word.")
	chat.Messages[0].Role = backend.System
	chat.Messages = append(chat.Messages, backend.Message{Role: backend.User, Text: "Which colour is snow?"},
		backend.Message{Role: backend.Assistant, Text: "White."},
		backend.Message{Role: backend.User, Text: "And soot?"})
	s.generate(t, chat)
}

// testControlTokens checks that text that looks like a control token is text: spelt out, it is several
// tokens. An engine whose server reads control tokens in messages and cannot be told not to must refuse
// such text with ErrInvalid.
func (s *suite) testControlTokens(t *testing.T) {
	req := s.ask("One line.")
	req.MaxTokens = 1
	plain := s.generate(t, req).PromptTokens
	for _, mark := range []string{"</s>", "<s>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>"} {
		const times = 5
		req.Messages[0].Text = "One line." + strings.Repeat(" "+mark, times)
		g, err := s.b.Generate(t.Context(), req)
		if err != nil {
			checkError(t, mark, err, backend.ErrInvalid)
			continue
		}
		if more := g.PromptTokens - plain; more < 2*times {
			t.Errorf("%d times %q took %d tokens: it was read as a control token", times, mark, more)
		}
	}
}

// testCancelInTheMiddle ends the context of long generations while they run, and checks that the engine
// is as good afterwards.
func (s *suite) testCancelInTheMiddle(t *testing.T) {
	short := s.ask("Which animal barks?")
	start := time.Now()
	want := s.generate(t, short)
	took := time.Since(start) // some tokens' worth: a reply of hundreds takes much longer

	cancelled := 0
	for try := range 8 {
		// The calls differ in how far they get. Only those that the model ended early may succeed.
		var wg sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			wg.Go(func() {
				req := s.long(fmt.Sprintf("Tell a very long story about %d sailors, with many chapters.", 3*try+i+2))
				ctx, cancel := context.WithTimeout(t.Context(), took*time.Duration(i+1)/2)
				defer cancel()
				if ctx.Err() == nil { // on a busy machine it may be over before the call
					_, errs[i] = s.b.Generate(ctx, req)
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				checkError(t, "cancelled in the middle", err, context.DeadlineExceeded)
				cancelled++
			}
		}
		if cancelled >= 3 {
			break
		}
	}
	if cancelled == 0 {
		t.Error("no generation took long enough to be cancelled")
	}
	if got := s.generate(t, short); !s.Loose && *got != *want {
		t.Errorf("before the cancellations %+v, after them %+v", *want, *got)
	}
}

// testConstrain checks that a reply satisfies a schema.
func (s *suite) testConstrain(t *testing.T) {
	req := s.ask("Is the sky blue? Reply with a JSON object.")
	req.MaxTokens = 48
	req.Schema = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string","enum":["yes","no"]},` +
		`"sure":{"type":"boolean"}},"required":["answer","sure"],"additionalProperties":false}`)
	schema := slices.Clone(req.Schema)
	g := s.generate(t, req)
	if !reflect.DeepEqual(req.Schema, schema) {
		t.Error("Generate changed its request")
	}
	if g.Stop != backend.StopEnd {
		t.Fatalf("the reply did not end: %+v", *g)
	}
	var reply struct {
		Answer *string `json:"answer"`
		Sure   *bool   `json:"sure"`
	}
	dec := json.NewDecoder(strings.NewReader(g.Text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&reply); err != nil || reply.Answer == nil || reply.Sure == nil ||
		*reply.Answer != "yes" && *reply.Answer != "no" {
		t.Errorf("reply %q does not satisfy the schema: %v", g.Text, err)
	}
	req.Schema = json.RawMessage(`{"type":`)
	_, err := s.b.Generate(t.Context(), req)
	checkError(t, "a schema that is not JSON", err, backend.ErrInvalid)
}
