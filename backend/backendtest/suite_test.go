package backendtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
)

// A broken engine is a Fake, but for one fault. Nil functions mean no fault.
type broken struct {
	*Fake
	generate func(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error)
	encode   func(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error)
	score    func(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error)
	close    func() error
}

func (b *broken) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	if b.generate != nil {
		return b.generate(ctx, req)
	}
	return b.Fake.Generate(ctx, req)
}

func (b *broken) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	if b.encode != nil {
		return b.encode(ctx, req)
	}
	return b.Fake.Encode(ctx, req)
}

func (b *broken) Score(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	if b.score != nil {
		return b.score(ctx, req)
	}
	return b.Fake.Score(ctx, req)
}

// spoil changes the answers for one output, given what was asked.
func (b *broken) spoil(output backend.Output, change func(inputs []backend.Pair, items []backend.Encoded)) {
	b.encode = func(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
		answer, err := b.Fake.Encode(ctx, req)
		if err == nil && req.Output == output {
			change(req.Inputs, answer.Items)
		}
		return answer, err
	}
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
			b.encode = func(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
				valid := &backend.EncodeRequest{Output: req.Output}
				for _, p := range req.Inputs {
					valid.Inputs = append(valid.Inputs, backend.Pair{
						Query: p.Query, Text: strings.ToValidUTF8(p.Text, "?"),
					})
				}
				return b.Fake.Encode(ctx, valid)
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
			b.spoil(backend.Embedding, func(_ []backend.Pair, items []backend.Encoded) {
				if len(items) > 500 {
					slices.Reverse(items)
				}
			})
		},
		"Embed/Texts": func(b *broken) { // the vector of nothing is zero
			b.spoil(backend.Embedding, func(inputs []backend.Pair, items []backend.Encoded) {
				for i := range items {
					if inputs[i].Text == "" {
						clear(items[i].Vectors[0])
					}
				}
			})
		},
		"EmbedTokens/Batches": func(b *broken) { // the vectors of a batch are computed together
			b.spoil(backend.TokenEmbeddings, func(_ []backend.Pair, items []backend.Encoded) {
				for _, item := range items {
					for _, v := range item.Vectors {
						v[0] += 1e-5 * float32(len(items))
					}
				}
			})
		},
		"EmbedTokens/Texts": func(b *broken) { // a word's vector is the same everywhere
			b.spoil(backend.TokenEmbeddings, func(_ []backend.Pair, items []backend.Encoded) {
				for _, item := range items {
					for k, token := range item.Tokens {
						item.Vectors[k] = Vector(token)
					}
				}
			})
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
		"Classify/Batches": func(b *broken) { // large batches come back in another order
			b.spoil(backend.HeadOutputs, func(_ []backend.Pair, items []backend.Encoded) {
				if len(items) > 50 {
					slices.Reverse(items)
				}
			})
		},
		"Classify/Texts": func(b *broken) { // the text is cut to fit
			b.encode = func(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
				if req.Output != backend.HeadOutputs {
					return b.Fake.Encode(ctx, req)
				}
				short := &backend.EncodeRequest{Output: req.Output, Inputs: slices.Clone(req.Inputs)}
				for i, p := range short.Inputs {
					short.Inputs[i].Text = p.Text[:min(len(p.Text), 3000)]
				}
				return b.Fake.Encode(ctx, short)
			}
		},
		"Classify/Concurrent": func(b *broken) { // numbers depend on what runs beside
			b.Outputs = func(p backend.Pair) []float32 {
				time.Sleep(time.Millisecond) // company may come
				return []float32{float32(len(p.Text) + b.Stats().InFlight)}
			}
		},
		"LabelTokens/Texts": func(b *broken) { // spans begin with the space before a word
			b.spoil(backend.TokenOutputs, func(inputs []backend.Pair, items []backend.Encoded) {
				for i, item := range items {
					for k, s := range item.Spans {
						if s.Low > 0 && inputs[i].Text[s.Low-1] == ' ' {
							item.Spans[k].Low--
						}
					}
				}
			})
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
			var calls atomic.Int64 // those that begin after Close too, as they may on a busy machine
			b.generate = func(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
				calls.Add(1)
				g, err := b.Fake.Generate(ctx, req)
				if errors.Is(err, backend.ErrClosed) && calls.Load() > 1 {
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
