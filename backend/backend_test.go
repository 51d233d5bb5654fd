package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestOps(t *testing.T) {
	check := func(o Ops, want string) {
		t.Helper()
		if got := o.String(); got != want {
			t.Errorf("Ops(%d) is %q, want %q", o, got, want)
		}
	}
	check(0, "nothing")
	check(CanGenerate, "generate")
	check(CanClassify|CanEmbed, "embed, rerank")
	check(CanEmbed|CanEmbedTokens, "embed, embed tokens")
	check(CanClassify|CanLabelTokens, "rerank, label tokens")
	check(CanGenerate|CanEmbed|CanScore|CanConstrain|CanClassify, "generate, embed, score, constrain, rerank")
	if !(CanGenerate | CanEmbed).Has(CanEmbed) || CanEmbed.Has(CanEmbed|CanScore) || !CanEmbed.Has(0) {
		t.Error("Has is wrong")
	}
}

// TestDrawSeed checks that seeds and draws, also neighbouring ones, lead to different seeds.
func TestDrawSeed(t *testing.T) {
	seen := map[uint64]string{}
	for _, seed := range []uint64{0, 1, 2, 3, 1 << 32, math.MaxUint64} {
		for draw := range 1000 {
			req := GenerateRequest{Sampling: Sampling{Seed: seed}, Draw: draw}
			got, what := req.DrawSeed(), fmt.Sprintf("seed %d, draw %d", seed, draw)
			if other, ok := seen[got]; ok {
				t.Errorf("%s and %s both start from %d", what, other, got)
			}
			seen[got] = what
			if again := req.DrawSeed(); again != got {
				t.Errorf("%s: %d, then %d", what, got, again)
			}
		}
	}
}

func TestCheckGenerate(t *testing.T) {
	check := func(what string, ok bool, change func(*GenerateRequest)) {
		t.Helper()
		_, req, _ := full()
		change(req)
		if err := req.Check(); (err == nil) != ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("full", true, func(*GenerateRequest) {})
	check("an empty text", true, func(r *GenerateRequest) { r.Messages[0].Text = "" })
	check("no messages", false, func(r *GenerateRequest) { r.Messages = nil })
	check("a role unknown", false, func(r *GenerateRequest) { r.Messages[1].Role = "tool" })
	check("a text not UTF-8", false, func(r *GenerateRequest) { r.Messages[1].Text = "\xff" })
	check("no tokens", false, func(r *GenerateRequest) { r.MaxTokens = 0 })
	check("negative tokens", false, func(r *GenerateRequest) { r.MaxTokens = -1 })
	check("a negative draw", false, func(r *GenerateRequest) { r.Draw = -1 })
	check("temperature 0", true, func(r *GenerateRequest) { r.Sampling.Temperature = 0 })
	check("temperature negative", false, func(r *GenerateRequest) { r.Sampling.Temperature = -0.1 })
	check("temperature infinite", false, func(r *GenerateRequest) { r.Sampling.Temperature = math.Inf(1) })
	check("temperature not a number", false, func(r *GenerateRequest) { r.Sampling.Temperature = math.NaN() })
	check("top-p 1", true, func(r *GenerateRequest) { r.Sampling.TopP = 1 })
	check("top-p above 1", false, func(r *GenerateRequest) { r.Sampling.TopP = 1.1 })
	check("top-p not a number", false, func(r *GenerateRequest) { r.Sampling.TopP = math.NaN() })
	check("top-k negative", false, func(r *GenerateRequest) { r.Sampling.TopK = -1 })
	check("an empty stop string", false, func(r *GenerateRequest) { r.Stop = []string{"x", ""} })
	check("no schema", true, func(r *GenerateRequest) { r.Schema = nil })
	check("an empty schema", false, func(r *GenerateRequest) { r.Schema = json.RawMessage{} })
	check("a schema that is not JSON", false, func(r *GenerateRequest) { r.Schema = json.RawMessage("{") })
	check("a schema not UTF-8", false, func(r *GenerateRequest) { r.Schema = json.RawMessage("{\"\xff\": 1}") })
	check("a stop string not UTF-8", false, func(r *GenerateRequest) { r.Stop = []string{"\xff"} })
}

func TestCheckScore(t *testing.T) {
	check := func(what string, ok bool, change func(*ScoreRequest)) {
		t.Helper()
		_, _, req := full()
		change(req)
		if err := req.Check(); (err == nil) != ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("full", true, func(*ScoreRequest) {})
	check("no messages", false, func(r *ScoreRequest) { r.Messages = nil })
	check("no continuations", false, func(r *ScoreRequest) { r.Continuations = nil })
	check("an empty continuation", false, func(r *ScoreRequest) { r.Continuations[1] = "" })
	check("a continuation not UTF-8", false, func(r *ScoreRequest) { r.Continuations[1] = "\xc3" })
}

func TestCheckEncode(t *testing.T) {
	check := func(ok bool, output Output, inputs ...Pair) {
		t.Helper()
		req := &EncodeRequest{Output: output, Inputs: inputs}
		if err := req.Check(); (err == nil) != ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", *req, err)
		}
	}
	for _, output := range Outputs() {
		check(true, output)
		check(true, output, Pair{}, text("b"), text("🙂"))
		check(false, output, text("a"), text("\xff"))
		check(output.OfPairs(), output, Pair{Query: "a"}, Pair{Query: "é", Text: "b"})
		check(false, output, Pair{Query: "\xff", Text: "a"})
	}
	check(false, "", text("a"))
	check(false, "probabilities")
}

// TestMarks checks which special tokens may stand where, and how a text with them is cut and shown.
func TestMarks(t *testing.T) {
	check := func(ok bool, p Pair, shown string) {
		t.Helper()
		req := &EncodeRequest{Output: HeadOutputs, Inputs: []Pair{p}}
		if err := req.Check(); (err == nil) != ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", p, err)
		}
		if p.String() != shown {
			t.Errorf("shown as %q, want %q", p.String(), shown)
		}
		chat := &ScoreRequest{Messages: []Message{{Role: User, Text: p.Text, Marks: p.Marks}}, Continuations: []string{"a"}}
		if err := chat.Check(); (err == nil) != ok && p.Query == "" {
			t.Errorf("%+v in a message: %v", p, err)
		}
	}
	check(true, Pair{Text: "é b", Marks: []Mark{{0, "cls"}, {2, "sep"}, {2, "<x>"}, {4, "eos"}}}, "[cls]é[sep][<x>] b[eos]")
	check(false, Pair{Text: "é b", Marks: []Mark{{1, "sep"}}}, "é b")
	check(false, Pair{Text: "ab", Marks: []Mark{{2, "sep"}, {1, "sep"}}}, "ab")
	check(false, Pair{Text: "ab", Marks: []Mark{{3, "sep"}}}, "ab")
	check(false, Pair{Text: "ab", Marks: []Mark{{-1, "sep"}}}, "ab")
	check(false, Pair{Text: "ab", Marks: []Mark{{1, ""}}}, "ab")
	check(false, Pair{Text: "ab", Marks: []Mark{{1, "\xff"}}}, "ab")
	check(false, Pair{Text: "ab", Marks: make([]Mark, 65)}, "ab")
	check(false, Pair{Query: "a", Text: "ab", Marks: []Mark{{1, "sep"}}}, "a | a[sep]b")
	for _, output := range []Output{Embedding, TokenEmbeddings, TokenOutputs} {
		req := &EncodeRequest{Output: output, Inputs: []Pair{{Text: "ab", Marks: []Mark{{1, "sep"}}}}}
		if err := req.Check(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s of a text with marks: %v", output, err)
		}
	}
	bad := &GenerateRequest{Messages: []Message{{Role: User, Text: "a"}}, Documents: []string{"\xff"}, MaxTokens: 1}
	if err := bad.Check(); !errors.Is(err, ErrInvalid) {
		t.Errorf("a document that is not UTF-8: %v", err)
	}
	bad.Documents = []string{"a"}
	if bad.Check() != nil || bad.Needs() != CanGenerate|CanReadDocuments {
		t.Errorf("it needs %v", bad.Needs())
	}
}

// TestTokens checks which requests can have tokens for a prompt, and that those need the ability.
func TestTokens(t *testing.T) {
	check := func(valid bool, g *GenerateRequest) {
		t.Helper()
		g.MaxTokens = 1
		if err := g.Check(); (err == nil) != valid || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v, want valid %v", *g, err, valid)
		}
	}
	messages := []Message{{Role: User, Text: "a"}}
	check(true, &GenerateRequest{Tokens: []int32{1, 0}})
	check(true, &GenerateRequest{Tokens: []int32{1}, Schema: []byte(`{}`)})
	check(false, &GenerateRequest{Tokens: []int32{}})
	check(false, &GenerateRequest{Tokens: []int32{1, -1}})
	check(false, &GenerateRequest{Tokens: []int32{1}, Messages: messages})
	check(false, &GenerateRequest{Tokens: []int32{1}, Documents: []string{"a"}})
	score := func(valid bool, s *ScoreRequest) {
		t.Helper()
		if err := s.Check(); (err == nil) != valid || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v, want valid %v", *s, err, valid)
		}
	}
	score(true, &ScoreRequest{Tokens: []int32{1}})
	score(true, &ScoreRequest{Tokens: []int32{1}, Likely: MaxLikely})
	score(false, &ScoreRequest{Tokens: []int32{1}, Likely: MaxLikely + 1})
	score(false, &ScoreRequest{Tokens: []int32{1}, Likely: -1})
	score(false, &ScoreRequest{Tokens: []int32{-1}})
	score(false, &ScoreRequest{Tokens: []int32{1}, Continuations: []string{"a"}})
	score(false, &ScoreRequest{Tokens: []int32{1}, Messages: messages})
	score(false, &ScoreRequest{Messages: messages, Continuations: []string{"a"}, Likely: 1})
	if ops := (&GenerateRequest{Tokens: []int32{1}}).Needs(); ops != CanGenerate|CanReadTokens {
		t.Errorf("a prompt of tokens needs %v", ops)
	}
	if ops := (&ScoreRequest{Tokens: []int32{1}}).Needs(); ops != CanReadTokens {
		t.Errorf("tokens to score need %v", ops)
	}
}

// TestOutputs checks that each output takes an ability of its own, by which it is refused.
func TestOutputs(t *testing.T) {
	seen := CanGenerate | CanScore | CanConstrain | CanChoose | CanMark | CanReadDocuments | CanReadTokens
	for _, output := range Outputs() {
		if op := output.Op(); op == 0 || seen.Has(op) {
			t.Errorf("%s takes the ability %v", output, op)
		}
		seen |= output.Op()
	}
}

func TestCheckAnswer(t *testing.T) {
	one, two, none := Encoded{Vectors: [][]float32{{1}}}, Encoded{Vectors: [][]float32{{1}, {0}}}, Encoded{}
	check := func(want string, output Output, items ...Encoded) {
		t.Helper()
		req := &EncodeRequest{Output: output, Inputs: Texts("a", "b")}
		if err := req.CheckAnswer(&Encoding{Items: items}); (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s, %v: %v, want %q", output, items, err, want)
		}
	}
	check("", Embedding, one, one)
	check("", HeadOutputs, one, one)
	check("", TokenEmbeddings, two, none)
	check("2 vectors for text 1", Embedding, one, two)
	check("0 vectors for pair 0", HeadOutputs, none, one)
	labels := func(spans ...Span) Encoded {
		return Encoded{Spans: spans, Vectors: make([][]float32, len(spans))}
	}
	check("", TokenOutputs, labels(Span{0, 1}), none)
	check("", TokenOutputs, labels(Span{0, 0}, Span{0, 1}, Span{0, 1}, Span{1, 1}), none)
	check("pair 1: 0 spans for 1 vectors", TokenOutputs, none, one)
	check("pair 0: token 0 has the span 0 to 2 in a text of 1 bytes", TokenOutputs, labels(Span{0, 2}), none)
	check("token 1 has the span 0 to 1", TokenOutputs, labels(Span{1, 1}, Span{0, 1}), none)
	check("token 0 has the span 1 to 0", TokenOutputs, labels(Span{1, 0}), none)
	check("token 0 has the span -1 to 0", TokenOutputs, labels(Span{-1, 0}), none)
	within := &EncodeRequest{Output: TokenOutputs, Inputs: Texts("é")}
	if err := within.CheckAnswer(&Encoding{Items: []Encoded{labels(Span{0, 1})}}); err == nil {
		t.Error("a span may end within a character")
	}
	for _, output := range Outputs() {
		check("1 answers for 2", output, one)
		check("3 answers for 2", output, one, one, one)
	}
}

func TestCheckText(t *testing.T) {
	for _, good := range []string{"", "a", "é🙂\x00", "\ufffd"} {
		if err := CheckText(good); err != nil {
			t.Errorf("CheckText(%q): %v", good, err)
		}
	}
	// The replacement character itself is good, so the position of the first bad byte must pass over it.
	if err := CheckText("\ufffdab\xc3"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "byte 5") {
		t.Errorf("CheckText: %v, want byte 5", err)
	}
}

func TestErrors(t *testing.T) {
	err := fmt.Errorf("prompt claims: %w", &TooLongError{Tokens: 3000, Limit: 2048})
	if !errors.Is(err, ErrPromptTooLong) || errors.Is(err, ErrInvalid) {
		t.Errorf("%v is the wrong error", err)
	}
	if want := "prompt claims: prompt too long: needs 3000 of 2048 tokens"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if got := (&TooLongError{Limit: 2048}).Error(); strings.Contains(got, " 0 ") {
		t.Errorf("%q shows a number that is not known", got)
	}
	err = Unsupported(Info{Model: "m", Engine: "e"}, CanScore)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.HasPrefix(err.Error(), "m on e cannot score") {
		t.Errorf("Unsupported: %v", err)
	}
}
