package backendtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
)

// A broken engine is a Fake, but for one fault. Nil functions mean no fault.
type broken struct {
	*Fake
	generate func(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error)
	embed    func(ctx context.Context, texts []string) ([][]float32, error)
	tokens   func(ctx context.Context, texts []string) ([]backend.TokenVectors, error)
	score    func(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error)
	rerank   func(ctx context.Context, pairs []backend.Pair) ([][]float32, error)
	close    func() error
}

func (b *broken) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	if b.generate != nil {
		return b.generate(ctx, req)
	}
	return b.Fake.Generate(ctx, req)
}

func (b *broken) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if b.embed != nil {
		return b.embed(ctx, texts)
	}
	return b.Fake.Embed(ctx, texts)
}

func (b *broken) EmbedTokens(ctx context.Context, texts []string) ([]backend.TokenVectors, error) {
	if b.tokens != nil {
		return b.tokens(ctx, texts)
	}
	return b.Fake.EmbedTokens(ctx, texts)
}

func (b *broken) Score(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	if b.score != nil {
		return b.score(ctx, req)
	}
	return b.Fake.Score(ctx, req)
}

func (b *broken) Rerank(ctx context.Context, pairs []backend.Pair) ([][]float32, error) {
	if b.rerank != nil {
		return b.rerank(ctx, pairs)
	}
	return b.Fake.Rerank(ctx, pairs)
}

func (b *broken) Close() error {
	if b.close != nil {
		return b.close()
	}
	return b.Fake.Close()
}

// faults are ways to break the contract, by the test of the suite that must notice.
func faults() map[string]func(*broken) {
	return map[string]func(*broken){
		"Invalid": func(b *broken) {
			b.embed = func(ctx context.Context, texts []string) ([][]float32, error) {
				var valid []string
				for _, text := range texts {
					valid = append(valid, strings.ToValidUTF8(text, "?"))
				}
				return b.Fake.Embed(ctx, valid)
			}
		},
		"Cancelled": func(b *broken) {
			b.score = func(_ context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
				return b.Fake.Score(context.Background(), req)
			}
		},
		"Generate/Concurrent": func(b *broken) { // answers depend on what runs beside
			b.Reply = crowded(b.Fake)
		},
		"Generate/Seeds": func(b *broken) { // the draw is forgotten
			b.generate = func(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
				same := *req
				same.Draw = 0
				return b.Fake.Generate(ctx, &same)
			}
		},
		"Generate/Lengths": func(b *broken) { // a reply that is cut is said to have ended
			b.generate = func(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
				g, err := b.Fake.Generate(ctx, req)
				if err == nil {
					g.Stop = backend.StopEnd
				}
				return g, err
			}
		},
		"Generate/Stop": func(b *broken) {
			b.generate = func(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
				endless := *req
				endless.Stop = nil
				return b.Fake.Generate(ctx, &endless)
			}
		},
		"Generate/TooLong": func(b *broken) { // the prompt is cut to fit
			b.generate = func(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
				short := *req
				short.Messages = slices.Clone(req.Messages)
				for i, m := range short.Messages {
					short.Messages[i].Text = m.Text[:min(len(m.Text), 3000)]
				}
				return b.Fake.Generate(ctx, &short)
			}
		},
		"Generate/ControlTokens": func(b *broken) {
			b.generate = func(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
				read := *req
				read.Messages = slices.Clone(req.Messages)
				for i, m := range read.Messages {
					read.Messages[i].Text = strings.ReplaceAll(m.Text, "</s>", "eos")
				}
				return b.Fake.Generate(ctx, &read)
			}
		},
		"Generate/CancelInTheMiddle": func(b *broken) {
			b.generate = func(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				return b.Fake.Generate(context.Background(), req)
			}
		},
		"Embed/Batches": func(b *broken) { // large batches come back in another order
			b.embed = func(ctx context.Context, texts []string) ([][]float32, error) {
				v, err := b.Fake.Embed(ctx, texts)
				if len(v) > 500 {
					slices.Reverse(v)
				}
				return v, err
			}
		},
		"Embed/Texts": func(b *broken) { // the vector of nothing is zero
			b.embed = func(ctx context.Context, texts []string) ([][]float32, error) {
				v, err := b.Fake.Embed(ctx, texts)
				for i := range v {
					if texts[i] == "" {
						clear(v[i])
					}
				}
				return v, err
			}
		},
		"EmbedTokens/Batches": func(b *broken) { // the vectors of a batch are computed together
			b.tokens = func(ctx context.Context, texts []string) ([]backend.TokenVectors, error) {
				a, err := b.Fake.EmbedTokens(ctx, texts)
				for i := range a {
					for _, v := range a[i].Vectors {
						v[0] += 1e-5 * float32(len(texts))
					}
				}
				return a, err
			}
		},
		"EmbedTokens/Texts": func(b *broken) { // a word's vector is the same everywhere
			b.tokens = func(ctx context.Context, texts []string) ([]backend.TokenVectors, error) {
				a, err := b.Fake.EmbedTokens(ctx, texts)
				for i := range a {
					for k, token := range a[i].Tokens {
						a[i].Vectors[k] = Vector(token)
					}
				}
				return a, err
			}
		},
		"Score": func(b *broken) { // probabilities, not their logarithms
			b.score = func(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
				s, err := b.Fake.Score(ctx, req)
				if err == nil {
					s.LogProbs[0][0] = 0.9
				}
				return s, err
			}
		},
		"Rerank/Batches": func(b *broken) { // large batches come back in another order
			b.rerank = func(ctx context.Context, pairs []backend.Pair) ([][]float32, error) {
				v, err := b.Fake.Rerank(ctx, pairs)
				if len(v) > 50 {
					slices.Reverse(v)
				}
				return v, err
			}
		},
		"Rerank/Texts": func(b *broken) { // the text is cut to fit
			b.rerank = func(ctx context.Context, pairs []backend.Pair) ([][]float32, error) {
				short := slices.Clone(pairs)
				for i, p := range short {
					short[i].Text = p.Text[:min(len(p.Text), 3000)]
				}
				return b.Fake.Rerank(ctx, short)
			}
		},
		"Rerank/Concurrent": func(b *broken) { // numbers depend on what runs beside
			b.Outputs = func(p backend.Pair) []float32 {
				time.Sleep(time.Millisecond) // company may come
				return []float32{float32(len(p.Text) + b.Stats().InFlight)}
			}
		},
		"Close": func(b *broken) { // closing twice is an error
			var mu sync.Mutex
			closed := false
			b.close = func() error {
				mu.Lock()
				defer mu.Unlock()
				if closed {
					return errors.New("closed already")
				}
				closed = true
				return b.Fake.Close()
			}
		},
		"CloseInUse": func(b *broken) { // Close does not end what is under way
			b.generate = func(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
				g, err := b.Fake.Generate(ctx, req)
				if errors.Is(err, backend.ErrClosed) && b.Stats().Generates > 1 {
					err = errors.New("segmentation fault")
				}
				return g, err
			}
		},
	}
}

// crowded replies in another way when it has company.
func crowded(f *Fake) func(context.Context, *backend.GenerateRequest) (string, error) {
	return func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		time.Sleep(time.Millisecond) // company may come
		if f.Stats().InFlight > 1 {
			return strings.ToUpper(Babble(req)), nil
		}
		return Babble(req), nil
	}
}

// TestSuiteNotices runs the suite on each broken engine, in a process of its own, and checks that it fails
// where it should.
func TestSuiteNotices(t *testing.T) {
	const variable = "BACKENDTEST_FAULT"
	if name := os.Getenv(variable); name != "" {
		Run(t, Config{Open: func(*testing.T) backend.Backend {
			b := &broken{Fake: &Fake{PerToken: 200 * time.Microsecond, About: backend.Info{Context: 2048}}}
			faults()[name](b)
			return b
		}})
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range faults() {
		cmd := exec.Command(exe, "-test.run=^TestSuiteNotices$")
		cmd.Env = append(os.Environ(), variable+"="+name)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: TestSuiteNotices/"+name+" ") {
			t.Errorf("the suite did not notice the fault %s: %v\n%s", name, err, out)
		}
	}
}
