package backendtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
)

// A Config says how to test an engine.
type Config struct {
	// Open returns a fresh instance, loaded and ready. The suite closes it. It is called three times.
	Open func(t *testing.T) backend.Backend

	// Tokens is how long replies are where the suite may choose; 0 means 8. Small is fast.
	Tokens int

	// Loose is for engines whose bits depend on what is computed beside or before a request. Greedy
	// replies asked for twice may then differ in their text; all else must still hold.
	Loose bool
}

// Run tests that an engine keeps the contract of [backend.Backend]: everything that its Info claims,
// and the right errors for all that it does not. It asks some 60 short questions, and for up to 1000
// short embeddings, or as many pairs, in one call.
func Run(t *testing.T, c Config) {
	if c.Tokens == 0 {
		c.Tokens = 8
	}
	s := &suite{Config: c}
	s.b = c.Open(t)
	s.info = s.b.Info()
	t.Cleanup(func() { s.b.Close() })

	t.Run("Info", s.testInfo)
	t.Run("Unsupported", s.testUnsupported)
	t.Run("Invalid", s.testInvalid)
	t.Run("Cancelled", s.testCancelled)
	if s.info.Ops.Has(backend.CanGenerate) {
		t.Run("Generate", s.testGenerate)
	}
	if s.info.Ops.Has(backend.CanConstrain) {
		t.Run("Constrain", s.testConstrain)
	}
	if s.info.Ops.Has(backend.CanScore) {
		t.Run("Score", s.testScore)
	}
	if s.info.Ops.Has(backend.CanChoose) {
		t.Run("Choose", s.testChoose)
	}
	if s.info.Ops.Has(backend.CanReadTokens) {
		t.Run("Tokens", s.testReadTokens)
	}
	for _, e := range encodings() {
		if s.info.Ops.Has(e.output.Op()) {
			t.Run(e.name, func(t *testing.T) { s.testEncode(t, e) })
		}
	}
	t.Run("Info constant", func(t *testing.T) {
		if got := s.b.Info(); !reflect.DeepEqual(got, s.info) {
			t.Errorf("Info changed from %+v to %+v", s.info, got)
		}
	})
	t.Run("Close", s.testClose)
	t.Run("CloseInUse", s.testCloseInUse)
}

// A suite runs the tests on one instance, b.
type suite struct {
	Config
	b    backend.Backend
	info backend.Info
}

// ask is a greedy request with a short reply.
func (s *suite) ask(text string) *backend.GenerateRequest {
	return &backend.GenerateRequest{
		Messages:  []backend.Message{{Role: backend.User, Text: text}},
		MaxTokens: s.Tokens,
	}
}

// long is a request whose reply, left alone, is hundreds of tokens.
func (s *suite) long(text string) *backend.GenerateRequest {
	req := s.ask(text)
	req.MaxTokens = min(1024, s.info.Context/2)
	return req
}

// tooLong is a text of more tokens than the model has room for, however it is tokenised: each of its
// words is a token at least.
func (s *suite) tooLong() string { return manyWords(s.info.Context + 100) }

// manyWords is a text of n different-looking words.
func manyWords(n int) string {
	words := strings.Fields("river stone cloud window garden letter winter bridge silver candle market forest")
	var b strings.Builder
	for i := range n {
		b.WriteString(words[(i+i/len(words))%len(words)])
		b.WriteByte(' ')
	}
	return b.String()
}

// generate asks b and checks what holds for every reply.
func (s *suite) generate(t *testing.T, req *backend.GenerateRequest) *backend.Generation {
	t.Helper()
	g, err := s.b.Generate(t.Context(), req)
	if err != nil {
		t.Fatalf("Generate(%.60q): %v", req.Messages[0].Text, err)
	}
	if err := checkGeneration(req, g); err != nil {
		t.Errorf("Generate(%.60q): %v", req.Messages[0].Text, err)
	}
	return g
}

func checkGeneration(req *backend.GenerateRequest, g *backend.Generation) error {
	switch {
	case !utf8.ValidString(g.Text):
		return fmt.Errorf("reply is not UTF-8: %q", g.Text)
	case g.Stop != backend.StopEnd && g.Stop != backend.StopLength && !(req.Once && g.Stop == backend.StopRepeat):
		return fmt.Errorf("reply has stop reason %q", g.Stop)
	case g.OutputTokens < 0 || g.OutputTokens > req.MaxTokens:
		return fmt.Errorf("reply has %d tokens of at most %d", g.OutputTokens, req.MaxTokens)
	case g.Text != "" && g.OutputTokens == 0:
		return fmt.Errorf("reply %q has no tokens", g.Text)
	case g.PromptTokens < 1:
		return fmt.Errorf("prompt has %d tokens", g.PromptTokens)
	}
	for _, stop := range req.Stop {
		if strings.Contains(g.Text, stop) {
			return fmt.Errorf("reply %q contains the stop string %q", g.Text, stop)
		}
	}
	return nil
}

// checkError checks that err wraps want.
func checkError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want one wrapping %q", what, err, want)
	}
}

func (s *suite) testInfo(t *testing.T) {
	i := s.info
	if i.Engine == "" || i.Model == "" {
		t.Errorf("Info has no engine or no model: %+v", i)
	}
	if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(i.Digest) {
		t.Errorf("Info.Digest is %q, want sha256: and 64 hexadecimal digits", i.Digest)
	}
	if i.Context < 1 || i.Slots < 1 {
		t.Errorf("Info has %d tokens of context and %d slots", i.Context, i.Slots)
	}
	if i.Ops == 0 {
		t.Error("Info claims no ability")
	}
	if i.Ops.Has(backend.CanScore) && !i.Ops.Has(backend.CanChoose) {
		t.Error("Info claims to score but not to choose")
	}
	if i.Ops.Has(backend.CanConstrain) && !i.Ops.Has(backend.CanGenerate) {
		t.Error("Info claims to constrain but not to generate")
	}
}

func (s *suite) testUnsupported(t *testing.T) {
	if !s.info.Ops.Has(backend.CanGenerate) {
		_, err := s.b.Generate(t.Context(), s.ask("Hello."))
		checkError(t, "Generate", err, errors.ErrUnsupported)
	} else if !s.info.Ops.Has(backend.CanConstrain) {
		req := s.ask("Hello.")
		req.Schema = []byte(`{"type":"object"}`)
		_, err := s.b.Generate(t.Context(), req)
		checkError(t, "Generate with a schema", err, errors.ErrUnsupported)
	}
	if !s.info.Ops.Has(backend.CanChoose) {
		_, err := s.b.Score(t.Context(), scoreOf("Hello.", "Hi"))
		checkError(t, "Score", err, errors.ErrUnsupported)
	}
	s.testUnsupportedParts(t)
	for _, e := range encodings() {
		if !s.info.Ops.Has(e.output.Op()) {
			_, err := s.b.Encode(t.Context(), e.request(e.input("Hello.")))
			checkError(t, "Encode, "+e.name, err, errors.ErrUnsupported)
		}
	}
}

// testUnsupportedParts checks that special tokens within texts, and documents, are refused where they cannot be given.
func (s *suite) testUnsupportedParts(t *testing.T) {
	check := func(what string, needs backend.Ops, change func(*[]backend.Message, *[]string)) {
		t.Helper()
		if s.info.Ops.Has(needs) {
			return
		}
		if s.info.Ops.Has(backend.CanGenerate) {
			req := s.ask("Hello.")
			change(&req.Messages, &req.Documents)
			_, err := s.b.Generate(t.Context(), req)
			checkError(t, "Generate with "+what, err, errors.ErrUnsupported)
		}
		if s.info.Ops.Has(backend.CanChoose) {
			req := scoreOf("Hello.", "Hi")
			change(&req.Messages, &req.Documents)
			_, err := s.b.Score(t.Context(), req)
			checkError(t, "Score with "+what, err, errors.ErrUnsupported)
		}
	}
	marks := []backend.Mark{{At: 2, Token: "eos"}}
	check("marks", backend.CanMark, func(m *[]backend.Message, _ *[]string) { (*m)[0].Marks = marks })
	check("documents", backend.CanReadDocuments, func(_ *[]backend.Message, d *[]string) { *d = []string{"It rains."} })
	if !s.info.Ops.Has(backend.CanReadTokens) {
		if s.info.Ops.Has(backend.CanGenerate) {
			_, err := s.b.Generate(t.Context(), &backend.GenerateRequest{Tokens: []int32{5, 6}, MaxTokens: 1})
			checkError(t, "Generate from tokens", err, errors.ErrUnsupported)
		}
		_, err := s.b.Score(t.Context(), &backend.ScoreRequest{Tokens: []int32{5, 6}})
		checkError(t, "Score of tokens", err, errors.ErrUnsupported)
	}
	if s.info.Ops.Has(backend.CanClassify) && !s.info.Ops.Has(backend.CanMark) {
		req := &backend.EncodeRequest{Output: backend.HeadOutputs, Inputs: []backend.Pair{{Text: "Hello.", Marks: marks}}}
		_, err := s.b.Encode(t.Context(), req)
		checkError(t, "Encode with marks", err, errors.ErrUnsupported)
	}
}

func scoreOf(text string, continuations ...string) *backend.ScoreRequest {
	return &backend.ScoreRequest{
		Messages:      []backend.Message{{Role: backend.User, Text: text}},
		Continuations: continuations,
	}
}

// testInvalid sends what can never be answered.
func (s *suite) testInvalid(t *testing.T) {
	const bad = "half of an e-acute: \xc3"
	if s.info.Ops.Has(backend.CanGenerate) {
		check := func(what string, spoil func(*backend.GenerateRequest)) {
			t.Helper()
			req := s.ask("Hello.")
			spoil(req)
			_, err := s.b.Generate(t.Context(), req)
			checkError(t, "Generate, "+what, err, backend.ErrInvalid)
		}
		check("text not UTF-8", func(r *backend.GenerateRequest) { r.Messages[0].Text = bad })
		check("no messages", func(r *backend.GenerateRequest) { r.Messages = nil })
		check("unknown role", func(r *backend.GenerateRequest) { r.Messages[0].Role = "narrator" })
		check("no tokens", func(r *backend.GenerateRequest) { r.MaxTokens = 0 })
		check("empty stop string", func(r *backend.GenerateRequest) { r.Stop = []string{""} })
		check("temperature not a number", func(r *backend.GenerateRequest) { r.Sampling.Temperature = math.NaN() })
		check("negative draw", func(r *backend.GenerateRequest) { r.Draw = -1 })
	}
	if s.info.Ops.Has(backend.CanChoose) {
		_, err := s.b.Score(t.Context(), scoreOf(bad, "yes"))
		checkError(t, "Score, text not UTF-8", err, backend.ErrInvalid)
		_, err = s.b.Score(t.Context(), scoreOf("Hello.", bad))
		checkError(t, "Score, continuation not UTF-8", err, backend.ErrInvalid)
		_, err = s.b.Score(t.Context(), scoreOf("Hello."))
		checkError(t, "Score, no continuations", err, backend.ErrInvalid)
	}
	for _, e := range encodings() {
		if !s.info.Ops.Has(e.output.Op()) {
			continue
		}
		_, err := s.b.Encode(t.Context(), e.request(e.input("Hello."), backend.Pair{Text: bad}))
		checkError(t, e.name+", text not UTF-8", err, backend.ErrInvalid)
		_, err = s.b.Encode(t.Context(), e.request(e.input("Hello."), backend.Pair{Query: bad, Text: "Hi."}))
		checkError(t, e.name+", query not UTF-8", err, backend.ErrInvalid)
		if !e.output.OfPairs() {
			_, err = s.b.Encode(t.Context(), e.request(e.input("Hello."), backend.Pair{Query: "Hello.", Text: "Hi."}))
			checkError(t, e.name+", a query beside a text", err, backend.ErrInvalid)
		}
	}
	_, err := s.b.Encode(t.Context(), &backend.EncodeRequest{Output: "colours", Inputs: backend.Texts("Hello.")})
	checkError(t, "Encode, unknown output", err, backend.ErrInvalid)
}

// testCancelled asks with a context that has already ended.
func (s *suite) testCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s.info.Ops.Has(backend.CanGenerate) {
		_, err := s.b.Generate(ctx, s.ask("Hello."))
		checkError(t, "Generate", err, context.Canceled)
	}
	if s.info.Ops.Has(backend.CanChoose) {
		_, err := s.b.Score(ctx, scoreOf("Hello.", "yes"))
		checkError(t, "Score", err, context.Canceled)
	}
	for _, e := range encodings() {
		if s.info.Ops.Has(e.output.Op()) {
			_, err := s.b.Encode(ctx, e.request(e.input("Hello.")))
			checkError(t, "Encode, "+e.name, err, context.Canceled)
		}
	}
}

// testScore checks the likelihoods of given continuations.
func (s *suite) testScore(t *testing.T) {
	const question = "Name the capital of France in one word."
	req := scoreOf(question, "Paris", "xylophone", "Paris")
	if s.info.Ops.Has(backend.CanGenerate) {
		// The reply that the model itself prefers must beat nonsense.
		req.Continuations[0] = s.generate(t, s.ask(question)).Text
		req.Continuations[2] = req.Continuations[0]
		if req.Continuations[0] == "" {
			t.Fatal("the greedy reply is empty")
		}
	}
	before := *req
	got, err := s.b.Score(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*req, before) {
		t.Error("Score changed its request")
	}
	if len(got.LogProbs) != 3 || got.PromptTokens < 1 {
		t.Fatalf("Score of 3 continuations gave %+v", got)
	}
	mean := func(list []float64) float64 {
		sum := 0.0
		for _, v := range list {
			if !(v <= 0) || math.IsInf(v, 0) {
				t.Errorf("a log-probability is %v, not finite and at most 0", v)
			}
			sum += v
		}
		if len(list) == 0 {
			t.Fatal("a continuation has no tokens")
		}
		return sum / float64(len(list))
	}
	preferred := mean(got.LogProbs[0]) > mean(got.LogProbs[1])
	if s.info.Ops.Has(backend.CanGenerate) && !preferred {
		t.Errorf("%q has mean log-probability %v, %q has %v: want the first to be more probable",
			req.Continuations[0], mean(got.LogProbs[0]), req.Continuations[1], mean(got.LogProbs[1]))
	}
	if !near(got.LogProbs[0], got.LogProbs[2]) {
		t.Errorf("the same continuation twice in one request: %v and %v", got.LogProbs[0], got.LogProbs[2])
	}
	alone, err := s.b.Score(t.Context(), scoreOf(question, req.Continuations[1]))
	if err != nil {
		t.Fatal(err)
	}
	if !near(got.LogProbs[1], alone.LogProbs[0]) {
		t.Errorf("the same continuation beside others %v, alone %v", got.LogProbs[1], alone.LogProbs[0])
	}
	_, err = s.b.Score(t.Context(), scoreOf(s.tooLong(), "yes"))
	checkError(t, "Score, prompt too long", err, backend.ErrPromptTooLong)
	_, err = s.b.Score(t.Context(), scoreOf("Hello.", "yes", s.tooLong()))
	checkError(t, "Score, continuation too long", err, backend.ErrPromptTooLong)
}

// testChoose checks what engines can tell that know no more than how a reply would begin.
func (s *suite) testChoose(t *testing.T) {
	const question = "Name the capital of France in one word."
	liked := "Paris"
	if s.info.Ops.Has(backend.CanGenerate) {
		liked = s.generate(t, s.ask(question)).Text
	}
	got, err := s.b.Score(t.Context(), scoreOf(question, liked, "xylophone", liked))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.LogProbs) != 3 || got.PromptTokens < 1 {
		t.Fatalf("Score of 3 continuations gave %+v", got)
	}
	for i, list := range got.LogProbs {
		if len(list) == 0 || !(list[0] <= 0) || math.IsInf(list[0], 0) {
			t.Fatalf("the log-probabilities of continuation %d are %v, want finite ones, at most 0", i, list)
		}
	}
	if a, b := got.LogProbs[0][0], got.LogProbs[1][0]; s.info.Ops.Has(backend.CanGenerate) && a <= b {
		t.Errorf("%q begins with log-probability %v, %q with %v: want the first to be more probable",
			liked, a, "xylophone", b)
	}
	if !near(got.LogProbs[0][:1], got.LogProbs[2][:1]) {
		t.Errorf("the same continuation twice in one request: %v and %v", got.LogProbs[0], got.LogProbs[2])
	}
	_, err = s.b.Score(t.Context(), scoreOf(s.tooLong(), "yes"))
	checkError(t, "Score, prompt too long", err, backend.ErrPromptTooLong)
}

// near reports whether two lists of log-probabilities are the same but for rounding.
func near(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Abs(a[i]-b[i]) > 0.05+0.01*math.Abs(a[i]) {
			return false
		}
	}
	return true
}
