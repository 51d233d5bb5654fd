package backendtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-eval/assay/backend"
)

func TestConformance(t *testing.T) {
	check := func(name string, ops backend.Ops, window int) {
		t.Run(name, func(t *testing.T) {
			Run(t, Config{Open: func(t *testing.T) backend.Backend {
				f := &Fake{PerToken: 200 * time.Microsecond, About: backend.Info{Ops: ops, Context: window}}
				if ops.Has(backend.CanConstrain) {
					f.Reply = constrained
				}
				return f
			}})
		})
	}
	check("default", 0, 0)
	check("generate", backend.CanGenerate, 512)
	check("embed", backend.CanEmbed, 256)
	check("embed tokens", backend.CanEmbedTokens, 256)
	check("score", backend.CanScore|backend.CanChoose, 2048)
	check("classify", backend.CanClassify, 256)
	check("constrain", backend.CanGenerate|backend.CanConstrain, 4096)
}

// constrained replies as the suite's schema wants.
func constrained(_ context.Context, req *backend.GenerateRequest) (string, error) {
	if req.Schema != nil {
		return `{"answer": "yes", "sure": true}`, nil
	}
	return Babble(req), nil
}

func TestFakeScript(t *testing.T) {
	fault := errors.New("scripted")
	f := &Fake{
		Reply: func(context.Context, *backend.GenerateRequest) (string, error) { return "one, two. Three", nil },
		Before: func(_ context.Context, call Call) error {
			if call.N == 2 {
				return fault
			}
			return nil
		},
	}
	req := &backend.GenerateRequest{
		Messages:  []backend.Message{{Role: backend.User, Text: "count up"}},
		MaxTokens: 10,
	}
	check := func(req backend.GenerateRequest, want backend.Generation) {
		t.Helper()
		got, err := f.Generate(t.Context(), &req)
		if err != nil || *got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	check(*req, backend.Generation{Text: "one, two. Three", Stop: backend.StopEnd, PromptTokens: 6, OutputTokens: 5})
	if _, err := f.Generate(t.Context(), req); err != fault {
		t.Errorf("second call: %v, want the scripted fault", err)
	}
	short, stopped := *req, *req
	short.MaxTokens = 4
	check(short, backend.Generation{Text: "one, two.", Stop: backend.StopLength, PromptTokens: 6, OutputTokens: 4})
	stopped.Stop = []string{"Three", " two"}
	check(stopped, backend.Generation{Text: "one,", Stop: backend.StopEnd, PromptTokens: 6, OutputTokens: 2})
	if got := f.Stats(); got.Calls() != 4 || got.Generates != 4 || got.InFlight != 0 || got.MaxInFlight != 1 {
		t.Errorf("stats are %+v", got)
	}
}

func TestFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &Fake{PerToken: time.Second}
		start := time.Now()
		if _, err := backend.Embed(t.Context(), f, []string{"a", "b", "c"}); err != nil ||
			time.Since(start) != 3*time.Second {
			t.Errorf("3 texts took %v, %v", time.Since(start), err)
		}
		go backend.Embed(t.Context(), f, []string{"d"})
		synctest.Wait()
		if got := f.Stats(); got.InFlight != 1 || got.Inputs != 4 {
			t.Errorf("stats are %+v", got)
		}
	})
}

func TestVector(t *testing.T) {
	cosine := func(a, b string) float64 { return dot(Vector(a), Vector(b)) }
	same := cosine("the cat sat", "The cat, SAT!")
	near := cosine("the cat sat on the mat", "the cat lay on the mat")
	far := cosine("the cat sat on the mat", "stock prices fell sharply")
	if !(same > 0.999 && near > 0.7 && far < 0.3) {
		t.Errorf("cosines are %v, %v, %v", same, near, far)
	}
}

func TestTokenVectors(t *testing.T) {
	a, b := TokenVectors("The cat sat, twice"), TokenVectors("stock cat")
	if want := []string{"the", " cat", " sat", ",", " twice"}; !slices.Equal(a.Tokens, want) {
		t.Errorf("tokens are %q, want %q", a.Tokens, want)
	}
	same, other := dot(a.Vectors[1], b.Vectors[1]), dot(a.Vectors[1], b.Vectors[0])
	if !(same > 0.8 && same < 0.999 && other < 0.5) {
		t.Errorf("one word in two contexts has the cosine %v, two words have %v", same, other)
	}
	if got := TokenVectors(" \n"); len(got.Tokens)+len(got.Vectors) != 0 {
		t.Errorf("nothing has the tokens %q", got.Tokens)
	}
}
