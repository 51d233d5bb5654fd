package ask

import (
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A Poll is the judge's answers to several yes/no questions about a text, as probabilities.
type Poll struct {
	Yes  [][]float64 // P(yes), normalised over yes and no: for each question, in each window of the text
	Mass float64     // the lowest probability that yes and no had together, before normalising

	Parts []metrics.Excerpt // of a poll about a View, the windows in their order
}

// PollInWindows asks n yes/no questions about texts that may be too long for one prompt: data is given the part
// to show and the number of the question, from 0. Every question is asked about one window before any is asked
// about the next, so that the prefix that the prompts share is computed once and then prefix-cached.
func PollInWindows(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, texts []string, n int,
	data func(text string, i int) any) (Poll, error) {
	p := Poll{Yes: make([][]float64, n), Mass: 1}
	passage := metrics.NewPassage(texts)
	if len(passage.Sentences) == 0 {
		return Poll{}, fmt.Errorf("%w: there is no text to ask about", metrics.ErrNotApplicable)
	}
	_, err := passage.InWindows(true, func(text string) error {
		answers, mass, err := poll(ctx, m, prompt, n, func(i int) any { return data(text, i) })
		if err == nil {
			p.add(answers, mass)
		}
		return err
	})
	return p, err
}

// poll asks n yes/no questions: P(yes) of each, and the lowest probability that yes and no had together.
func poll(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, n int,
	data func(i int) any) (answers []float64, mass float64, err error) {
	answers, mass = make([]float64, n), 1
	for i := range n {
		c, err := yesOrNo(ctx, m, prompt, data(i))
		if err != nil {
			return nil, 0, err
		}
		answers[i], mass = c.Chances[0], min(mass, c.Mass)
	}
	return answers, mass, nil
}

// add adds the answers about one window.
func (p *Poll) add(answers []float64, mass float64) {
	for i, yes := range answers {
		p.Yes[i] = append(p.Yes[i], yes)
	}
	p.Mass = min(p.Mass, mass)
}

// PollOnce asks one yes/no question about something that a single prompt must hold.
func PollOnce(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any) (Poll, error) {
	c, err := yesOrNo(ctx, m, prompt, data)
	if err != nil {
		return Poll{}, err
	}
	return Poll{Yes: [][]float64{{c.Chances[0]}}, Mass: c.Mass}, nil
}

// Best is the window in which question i has its highest P(yes), from 0.
func (p Poll) Best(i int) int { return slices.Index(p.Yes[i], slices.Max(p.Yes[i])) }

// Highest is P(yes) for question i in the window where it is highest, and that window's name where there are
// several.
func (p Poll) Highest(i int) (yes float64, where string) {
	yes = slices.Max(p.Yes[i])
	return yes, p.where(i, yes)
}

// Lowest is P(yes) for question i in the window where it is lowest, and that window's name.
func (p Poll) Lowest(i int) (yes float64, where string) {
	yes = slices.Min(p.Yes[i])
	return yes, p.where(i, yes)
}

func (p Poll) where(i int, yes float64) string {
	return metrics.WindowName(slices.Index(p.Yes[i], yes), len(p.Yes[i]))
}

// Doubts is a note where most of the judge's probability lies on replies other than yes and no. P(yes) says
// little then.
func Doubts(mass float64) []metrics.Finding {
	const half = 0.5
	if mass >= half {
		return nil
	}
	return []metrics.Finding{{Kind: "note",
		Text: fmt.Sprintf("yes and no had only %.2g of the judge's probability: it would rather say something else",
			mass)}}
}

// PollView asks n yes/no questions about a sample: data is given the part to show and the number of the question, from
// 0. See [metrics.View.InWindows]. Every question is asked about one part before any is asked about the next.
func PollView(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, v metrics.View, n int,
	data func(part metrics.Excerpt, i int) any) (Poll, error) {
	p := Poll{Yes: make([][]float64, n), Mass: 1}
	_, err := v.InWindows(InRow(m, prompt), func(part metrics.Excerpt) error {
		answers, mass, err := poll(ctx, m, prompt, n, func(i int) any { return data(part, i) })
		if err == nil {
			p.add(answers, mass)
			p.Parts = append(p.Parts, part)
		}
		return err
	})
	return p, err
}

// PollFirst asks one yes/no question that does not depend on the contexts: see [metrics.View.First].
func PollFirst(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, v metrics.View,
	data func(part metrics.Excerpt) any) (Poll, error) {
	var p Poll
	err := v.First(InRow(m, prompt), func(part metrics.Excerpt) (err error) {
		p, err = PollOnce(ctx, m, prompt, data(part))
		return err
	})
	return p, err
}

// InRow reports whether a prompt is asked in the row layout.
func InRow(m metrics.Models, p *prompts.Prompt) bool { return m.Prompts.For(p).Layout == prompts.Row }
