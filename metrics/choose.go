package metrics

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/assay-eval/assay/backend"
)

// logProbs asks how probable each continuation is after a prompt: one list of natural logarithms for each
// continuation, one number for each of its tokens, and at least one.
func logProbs(ctx context.Context, m Models, prompt string, data any, continuations []string) ([][]float64, error) {
	p, ok := m.Prompts.Lookup(prompt)
	if !ok {
		return nil, fmt.Errorf("no prompt %q", prompt)
	}
	messages, err := p.render(data)
	if err != nil {
		return nil, fmt.Errorf("prompt %s: %v", p.Name, err)
	}
	req := &backend.ScoreRequest{Messages: messages, Continuations: continuations}
	got, err := m.Judge.Score(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("prompt %s: %w", p.Name, err)
	}
	m.calls.add(backend.ScoreKey(m.Judge.Info(), req), got.PromptTokens, 0)
	if len(got.LogProbs) != len(continuations) {
		return nil, fmt.Errorf("prompt %s: %d lists of probabilities for %d continuations", p.Name, len(got.LogProbs), len(continuations))
	}
	for i, list := range got.LogProbs {
		if len(list) == 0 || !finite(list) {
			return nil, fmt.Errorf("prompt %s: the probabilities of %q are not usable: %v", p.Name, bounded(continuations[i]), list)
		}
	}
	return got.LogProbs, nil
}

func finite(list []float64) bool {
	for _, x := range list {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// choose asks which of several options the judge would reply with: the probability of each, given that it
// is one of them. Only the first token of an option counts, so that a long one is at no disadvantage and
// engines that know no more can answer too; options must differ in it.
func choose(ctx context.Context, m Models, prompt string, data any, options []string) ([]float64, error) {
	lists, err := logProbs(ctx, m, prompt, data, options)
	if err != nil {
		return nil, err
	}
	top := lists[0][0]
	for _, list := range lists {
		top = max(top, list[0])
	}
	chances := make([]float64, len(lists))
	sum := 0.0
	for i, list := range lists {
		chances[i] = math.Exp(list[0] - top)
		sum += chances[i]
	}
	for i := range chances {
		chances[i] /= sum
	}
	return chances, nil
}

// yes asks a question of yes or no and returns the probability of yes. The words are Yes and No, or the
// first of those that the prompt's header gives.
func yes(ctx context.Context, m Models, prompt string, data any) (float64, error) {
	p, ok := m.Prompts.Lookup(prompt)
	if !ok {
		return 0, fmt.Errorf("no prompt %q", prompt)
	}
	chances, err := choose(ctx, m, prompt, data, []string{cmp.Or(p.YesWord, "Yes"), cmp.Or(p.NoWord, "No")})
	if err != nil {
		return 0, err
	}
	return chances[0], nil
}

// yesInWindows is yes about texts that may be too long for one prompt: data is given the part to show, and
// the highest probability of any window counts. It returns the number of windows.
func yesInWindows(ctx context.Context, m Models, prompt string, texts []string, data func(text string) any) (float64, int, error) {
	best := 0.0
	windows, err := newPassage(texts).inWindows(true, func(text string) error {
		p, err := yes(ctx, m, prompt, data(text))
		best = max(best, p)
		return err
	})
	return best, windows, err
}
