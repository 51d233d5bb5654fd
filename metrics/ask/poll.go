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
		answers := make([]float64, n)
		mass := 1.0
		for i := range n {
			c, err := yesOrNo(ctx, m, prompt, data(text, i))
			if err != nil {
				return err
			}
			answers[i], mass = c.Chances[0], min(mass, c.Mass)
		}
		for i, yes := range answers {
			p.Yes[i] = append(p.Yes[i], yes)
		}
		p.Mass = min(p.Mass, mass)
		return nil
	})
	return p, err
}

// PollOnce asks one yes/no question about something that a single prompt must hold.
func PollOnce(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any) (Poll, error) {
	c, err := yesOrNo(ctx, m, prompt, data)
	if err != nil {
		return Poll{}, err
	}
	return Poll{Yes: [][]float64{{c.Chances[0]}}, Mass: c.Mass}, nil
}

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
