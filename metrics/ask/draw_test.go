package ask

import (
	"context"
	"errors"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Where a sample is scored several times, each reply to each prompt has a draw of its own, retries and further replies
// of one sample included, and is sampled. Where it is scored once, nothing is other than without draws.
func TestDraw(t *testing.T) {
	seen := map[int]bool{}
	var last *backend.GenerateRequest
	judge := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		if seen[req.Draw] {
			t.Errorf("draw %d comes twice", req.Draw)
		}
		seen[req.Draw], last = true, req
		return "no", nil
	}}
	m := metrics.Models{Roles: metrics.Roles{backend.Judge: judge}, Seed: 7}
	prompt, err := prompts.Parse("p.tmpl", "version: 1\nmax_tokens: 9\n--- user\nWell?\n")
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(Reply) (int, error) { return 0, errors.New("no") }
	const n, replies = 4, 2
	for i := range n {
		for k := range replies {
			q := Query{Prompt: prompt, First: k, Step: replies}
			if _, err := Judge(t.Context(), m.Drawing(i, n), q, refuse); !errors.Is(err, metrics.ErrBadReply) {
				t.Fatal(err)
			}
			if s := last.Sampling; s.Temperature != DrawTemperature || s.TopP != 0.95 || s.Seed != 7 {
				t.Errorf("%+v", s)
			}
		}
	}
	if want := n * replies * MaxDraws; len(seen) != want || !seen[0] || !seen[want-1] {
		t.Errorf("%d draws, want %d: %v", len(seen), want, seen)
	}
	clear(seen)
	if _, err := Judge(t.Context(), m, Query{Prompt: prompt, Draws: 1}, refuse); err == nil || !seen[0] ||
		last.Sampling != (backend.Sampling{}) {
		t.Errorf("%+v", last)
	}
	clear(seen)
	prompt.Sampling = backend.Sampling{Temperature: 1, Seed: 3}
	if _, err := Judge(t.Context(), m.Drawing(1, 2), Query{Prompt: prompt, Draws: 1}, refuse); err == nil || !seen[1] ||
		last.Sampling != (backend.Sampling{Temperature: 1, Seed: 10}) {
		t.Errorf("%+v", last)
	}
}
