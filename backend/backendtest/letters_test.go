package backendtest_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// Letters is an engine whose model counts letters. It embeds texts and can do nothing else.
type Letters struct {
	closed chan struct{}
	close  sync.Once
}

func NewLetters() *Letters { return &Letters{closed: make(chan struct{})} }

func (e *Letters) Info() backend.Info {
	return backend.Info{
		Engine:  "letters 1", // with its version, and all that its bits depend on
		Model:   "a-to-z",
		Digest:  fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("the weights"))),
		Context: 512,
		Slots:   4,
		Ops:     backend.CanEmbed,
	}
}

func (e *Letters) Generate(context.Context, *backend.GenerateRequest) (*backend.Generation, error) {
	return nil, backend.Unsupported(e.Info(), backend.CanGenerate)
}

func (e *Letters) Score(context.Context, *backend.ScoreRequest) (*backend.Scores, error) {
	return nil, backend.Unsupported(e.Info(), backend.CanScore)
}

func (e *Letters) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	info := e.Info()
	if op := req.Output.Op(); !info.Ops.Has(op) {
		return nil, backend.Unsupported(info, op)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	if needs := req.Needs(); !info.Ops.Has(needs) {
		return nil, backend.Unsupported(info, needs)
	}
	answer := &backend.Encoding{Items: make([]backend.Encoded, len(req.Inputs))}
	for i, input := range req.Inputs {
		if n := len(strings.Fields(input.Text)); n > info.Context {
			return nil, &backend.TooLongError{Tokens: n, Limit: info.Context} // never cut
		}
		counts, err := e.compute(ctx, input.Text)
		if err != nil {
			return nil, err
		}
		unit, err := backend.UnitVector(counts)
		if err != nil {
			return nil, err
		}
		answer.Items[i].Vectors = [][]float32{unit}
	}
	return answer, nil
}

// compute stands for the model, which takes its time and can be stopped.
func (e *Letters) compute(ctx context.Context, text string) ([]float32, error) {
	select {
	case <-e.closed: // looked at first: after Close nothing is answered
		return nil, backend.ErrClosed
	default:
	}
	select {
	case <-e.closed:
		return nil, backend.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(50 * time.Microsecond):
	}
	counts := make([]float32, 27)
	counts[26] = 0.1 // a text without letters has a vector, too
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' {
			counts[r-'a']++
		}
	}
	return counts, nil
}

func (e *Letters) Close() error {
	e.close.Do(func() { close(e.closed) })
	return nil
}

func TestLetters(t *testing.T) {
	backendtest.Run(t, backendtest.Config{Open: func(t *testing.T) backend.Backend { return NewLetters() }})
}

// The page on new engines shows the one above, as it stands.
func TestPageShowsLetters(t *testing.T) {
	page, err := os.ReadFile("../../docs/adding-an-engine.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("letters_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "// Letters is")
	code, _, _ = strings.Cut("// Letters is"+code, "\n// The page on")
	if !strings.Contains(string(page), code) {
		t.Error("docs/adding-an-engine.md does not show the engine as it is in letters_test.go")
	}
}
