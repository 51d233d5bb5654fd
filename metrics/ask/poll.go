package ask

import (
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A poll is what the judge says to several questions of yes and no about a text.
type poll struct {
	Yes  [][]float64 // the probability of yes: to each question, in each window of the text
	Mass float64     // the least probability that yes and no had together
}

// PollInWindows asks n questions of yes and no about texts that may be too long for one prompt: data is
// given the part to show and the number of the question, from 0. Every question is asked about one window
// before any is asked about the next, so that what the prompts have in common is computed once.
func PollInWindows(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, texts []string, n int,
	data func(text string, i int) any) (poll, error) {
	p := poll{Yes: make([][]float64, n), Mass: 1}
	passage := metrics.NewPassage(texts)
	if len(passage.Sentences) == 0 {
		return poll{}, fmt.Errorf("%w: there is no text to ask about", metrics.ErrNotApplicable)
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

// PollOnce asks one question of yes and no about something that a single prompt must hold.
func PollOnce(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any) (poll, error) {
	c, err := yesOrNo(ctx, m, prompt, data)
	if err != nil {
		return poll{}, err
	}
	return poll{Yes: [][]float64{{c.Chances[0]}}, Mass: c.Mass}, nil
}

// Highest is the probability of yes to question i in the window where it is highest, and that window's
// name where there are several.
func (p poll) Highest(i int) (yes float64, where string) {
	yes = slices.Max(p.Yes[i])
	return yes, p.where(i, yes)
}

// Lowest is highest for the window where the probability is lowest.
func (p poll) Lowest(i int) (yes float64, where string) {
	yes = slices.Min(p.Yes[i])
	return yes, p.where(i, yes)
}

func (p poll) where(i int, yes float64) string {
	return metrics.WindowName(slices.Index(p.Yes[i], yes), len(p.Yes[i]))
}

// Doubts is a note where the judge would rather have said something else than yes or no. The probability
// of yes says little then.
func Doubts(mass float64) []metrics.Finding {
	const half = 0.5
	if mass >= half {
		return nil
	}
	return []metrics.Finding{{Kind: "note",
		Text: fmt.Sprintf("yes and no had only %.2g of the judge's probability: it would rather say something else",
			mass)}}
}
