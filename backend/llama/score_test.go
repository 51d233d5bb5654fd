package llama

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// plainScore evaluates tokens in a context of their own, one piece of a width after another, and returns the
// log-probability of each token from the given one on.
func plainScore(t *testing.T, m *model, tokens []llama.Token, from, width int) []float64 {
	t.Helper()
	c := llama.ContextDefaultParams()
	c.NCtx, c.NSeqMax, c.NBatch, c.NUbatch = 4096, 1, uint32(width), uint32(width)
	c.NThreads, c.NThreadsBatch = 1, 1
	c.FlashAttentionType = llama.FlashAttentionTypeEnabled
	ctx, err := llama.InitFromModel(m.handle, c)
	if err != nil {
		t.Fatal(err)
	}
	defer llama.Free(ctx)
	batch := llama.BatchInit(int32(width), 0, 1)
	defer llama.BatchFree(batch)
	var list []float64
	for at := 0; at < len(tokens)-1; at += width {
		batch.Clear()
		piece := tokens[at:min(at+width, len(tokens)-1)]
		for i, token := range piece {
			if err := batch.Add(token, llama.Pos(at+i), []llama.SeqId{0}, true); err != nil {
				t.Fatal(err)
			}
		}
		if code, err := llama.Decode(ctx, batch); code != 0 || err != nil {
			t.Fatal(code, err)
		}
		for i := range piece {
			if at+i+1 < from {
				continue
			}
			logits, err := llama.GetLogitsIth(ctx, int32(i), m.vocab.size)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, l := range logits {
				sum += math.Exp(float64(l))
			}
			list = append(list, float64(logits[tokens[at+i+1]])-math.Log(sum))
		}
	}
	return list
}

// TestExactScores compares the scores of continuations, short and long, alone and beside others, with
// a plain evaluation of the same tokens.
func TestExactScores(t *testing.T) {
	testLib(t)
	e := open(t, Options{Model: tinyModel{template: plainTemplate}.write(t), Slots: 8})
	long := strings.Repeat("The ferry sails from May to September. ", 12)
	req := &backend.ScoreRequest{
		Messages:      []backend.Message{{Role: backend.User, Text: "When does the ferry sail?"}},
		Continuations: []string{"yes", "no", "In May, mostly.", long, long + "No", "yes"},
	}
	alone, err := e.Score(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	prompt, tiles, list, err := e.continuations(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if tiles.head > 0 || tiles.end > tiles.last {
		t.Fatalf("the prompt is computed in tiles, %+v: it must be shorter for this test", tiles)
	}
	for i, c := range list {
		want := plainScore(t, e.model, slices.Concat(prompt, c), len(prompt), 32)
		got := alone.LogProbs[i]
		if len(got) != len(want) {
			t.Fatalf("continuation %d has %d values, want %d", i, len(got), len(want))
		}
		for k := range want {
			if d := math.Abs(got[k] - want[k]); d > 1e-3 {
				t.Fatalf("continuation %d, token %d: %v, want %v", i, k, got[k], want[k])
			}
		}
	}

	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			packed, err := e.Score(t.Context(), req)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range alone.LogProbs {
				if !slices.Equal(packed.LogProbs[i], alone.LogProbs[i]) {
					t.Errorf("continuation %d has other bits beside others than alone", i)
				}
			}
		})
		wg.Go(func() { e.Generate(t.Context(), &backend.GenerateRequest{Messages: req.Messages, MaxTokens: 40}) })
	}
	wg.Wait()
}

// TestVerdictIsOnePass checks that a choice among answers of one token computes the prompt and nothing else.
func TestVerdictIsOnePass(t *testing.T) {
	testLib(t)
	e := open(t, Options{Model: tinyModel{template: plainTemplate}.write(t), Slots: 4})
	letters := []string{"a", "b", "c", "d"}
	req := &backend.ScoreRequest{
		Messages:      []backend.Message{{Role: backend.User, Text: "Which of the four is right?"}},
		Continuations: letters,
	}
	scores, err := e.Score(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range scores.LogProbs {
		if len(s) != 1 {
			t.Fatalf("%q takes %d tokens: choose others for this test", letters[i], len(s))
		}
	}
	if s := e.Stats(); s.PromptComputed != int64(scores.PromptTokens) || s.OutputTokens != 0 || s.Requests != 1 {
		t.Errorf("a prompt of %d tokens took %+v", scores.PromptTokens, s)
	}
}

func TestBench(t *testing.T) {
	testLib(t)
	e := open(t, Options{Model: tinyModel{template: plainTemplate}.write(t), Slots: 4})
	s, err := e.Bench(t.Context(), Shape{Sequences: 3, Prompt: 100, Reply: 20})
	if err != nil {
		t.Fatal(err)
	}
	if s.PromptTime <= 0 || s.ReplyTime <= 0 {
		t.Errorf("it took no time: %+v", s)
	}
	if n := e.Stats().OutputTokens; n != 3+3*20 {
		t.Errorf("%d tokens were written, want %d", n, 3+3*20)
	}
	for _, bad := range []Shape{{}, {5, 10, 10}, {1, 4090, 10}} {
		if _, err := e.Bench(t.Context(), bad); err == nil {
			t.Errorf("no error for %+v", bad)
		}
	}
}
