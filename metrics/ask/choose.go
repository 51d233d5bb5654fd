package ask

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// LogProbs returns the token log-probabilities of continuations of a prompt: for each continuation a list of
// natural logarithms, one for each of its tokens, and at least one.
func LogProbs(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any,
	continuations []string) ([][]float64, error) {
	p := m.Prompts.For(prompt)
	messages, err := p.Render(data)
	if err != nil {
		return nil, fmt.Errorf("prompt %s: %v", p.Name, err)
	}
	return logProbs(ctx, m, "prompt "+p.Name, &backend.ScoreRequest{Messages: messages, Continuations: continuations})
}

// logProbs returns the token log-probabilities of what a request, which errors call name, asks about.
func logProbs(ctx context.Context, m metrics.Models, name string, req *backend.ScoreRequest) ([][]float64, error) {
	continuations := req.Continuations
	got, err := m.Role(backend.Judge).Score(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	m.Note(backend.ScoreKey(m.Role(backend.Judge).Info(), req), got.PromptTokens, 0)
	if len(got.LogProbs) != len(continuations) {
		return nil, fmt.Errorf("%s: %d lists of probabilities for %d continuations", name, len(got.LogProbs),
			len(continuations))
	}
	for i, list := range got.LogProbs {
		if len(list) == 0 || !Finite(list) {
			return nil, fmt.Errorf("%s: the probabilities of %q are not usable: %v", name,
				metrics.Bounded(continuations[i]), list)
		}
	}
	return got.LogProbs, nil
}

// Finite reports whether no number of a list is NaN or infinite.
func Finite(list []float64) bool {
	for _, x := range list {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// A Choice is the outcome of first-token scoring: the probabilities of several options as the judge's reply.
type Choice struct {
	Chances []float64 // of each option, normalised over the options
	Mass    float64   // of all options together, before that: where it is small, the judge would say something else
}

// Weigh scores several options by first-token scoring: how probable each is as the judge's reply. Only the first
// token of an option counts, so that a long one is at no disadvantage and engines that tell no more can answer
// too; options must differ in it.
func Weigh(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any, options []string) (Choice, error) {
	p := m.Prompts.For(prompt)
	name := "prompt " + p.Name
	messages, err := p.Render(data)
	if err != nil {
		return Choice{}, fmt.Errorf("%s: %v", name, err)
	}
	messages, thought, err := think(ctx, m, name, messages, drawNumber(m.Draw, 0))
	if err != nil {
		return Choice{}, err
	}
	lists, err := logProbs(ctx, m, name, &backend.ScoreRequest{Messages: messages, Thought: thought,
		Continuations: options})
	if err != nil {
		return Choice{}, err
	}
	return choice(name, lists, options)
}

// WeighChat is [Weigh] for a chat.
func WeighChat(ctx context.Context, m metrics.Models, c Chat, options []string) (Choice, error) {
	lists, err := logProbs(ctx, m, c.Name, &backend.ScoreRequest{Messages: c.Messages, Documents: c.Documents,
		Continuations: options})
	if err != nil {
		return Choice{}, err
	}
	return choice(c.Name, lists, options)
}

// choice compares options by the probabilities of their first tokens.
func choice(name string, lists [][]float64, options []string) (Choice, error) {
	top := lists[0][0]
	for i, list := range lists {
		top = max(top, list[0])
		for j := range i {
			if list[0] == lists[j][0] && options[i][0] == options[j][0] {
				return Choice{},
					fmt.Errorf("%s: %q and %q begin with one token, and cannot be told apart: name other words",
						name, options[j], options[i])
			}
		}
	}
	c := Choice{Chances: make([]float64, len(lists))}
	sum := 0.0
	for i, list := range lists {
		c.Chances[i] = math.Exp(list[0] - top)
		sum += c.Chances[i]
	}
	for i := range c.Chances {
		c.Chances[i] /= sum
	}
	c.Mass = min(1, math.Exp(top)*sum)
	return c, nil
}

// Choose scores several options by first-token scoring and returns the probability of each, normalised over them:
// see [Weigh].
func Choose(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any,
	options []string) ([]float64, error) {
	c, err := Weigh(ctx, m, prompt, data, options)
	return c.Chances, err
}

// Yes asks a yes/no question and returns P(yes), normalised over yes and no. The words are Yes and No, or the
// first of those that the prompt's header gives.
func Yes(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any) (float64, error) {
	c, err := yesOrNo(ctx, m, prompt, data)
	if err != nil {
		return 0, err
	}
	return c.Chances[0], nil
}

// yesOrNo is [Weigh] with the options yes and no, in this order.
func yesOrNo(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any) (Choice, error) {
	p := m.Prompts.For(prompt)
	return Weigh(ctx, m, prompt, data, []string{cmp.Or(p.YesWord, "Yes"), cmp.Or(p.NoWord, "No")})
}

// YesInWindows is [Yes] about texts that may be too long for one prompt: data is given the part to show, and the
// highest probability of any window counts. It returns the number of windows.
func YesInWindows(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, texts []string,
	data func(text string) any) (float64, int, error) {
	p, err := PollInWindows(ctx, m, prompt, texts, 1, func(text string, _ int) any { return data(text) })
	if err != nil {
		return 0, 0, err
	}
	best, _ := p.Highest(0)
	return best, len(p.Yes[0]), nil
}
