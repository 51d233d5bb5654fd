package metrics

import (
	"context"
	"fmt"
	"slices"
)

// A poll is what the judge says to several questions of yes and no about a text.
type poll struct {
	yes  [][]float64 // the probability of yes: to each question, in each window of the text
	mass float64     // the least probability that yes and no had together
}

// pollInWindows asks n questions of yes and no about texts that may be too long for one prompt: data is
// given the part to show and the number of the question, from 0. Every question is asked about one window
// before any is asked about the next, so that what the prompts have in common is computed once.
func pollInWindows(ctx context.Context, m Models, prompt string, texts []string, n int, data func(text string, i int) any) (poll, error) {
	p := poll{yes: make([][]float64, n), mass: 1}
	passage := newPassage(texts)
	if len(passage.sentences) == 0 {
		return poll{}, fmt.Errorf("%w: there is no text to ask about", ErrNotApplicable)
	}
	_, err := passage.inWindows(true, func(text string) error {
		answers := make([]float64, n)
		mass := 1.0
		for i := range n {
			c, err := yesOrNo(ctx, m, prompt, data(text, i))
			if err != nil {
				return err
			}
			answers[i], mass = c.chances[0], min(mass, c.mass)
		}
		for i, yes := range answers {
			p.yes[i] = append(p.yes[i], yes)
		}
		p.mass = min(p.mass, mass)
		return nil
	})
	return p, err
}

// pollOnce asks one question of yes and no about something that a single prompt must hold.
func pollOnce(ctx context.Context, m Models, prompt string, data any) (poll, error) {
	c, err := yesOrNo(ctx, m, prompt, data)
	if err != nil {
		return poll{}, err
	}
	return poll{yes: [][]float64{{c.chances[0]}}, mass: c.mass}, nil
}

// highest is the probability of yes to question i in the window where it is highest, and that window's
// name where there are several.
func (p poll) highest(i int) (yes float64, where string) {
	yes = slices.Max(p.yes[i])
	return yes, p.where(i, yes)
}

// lowest is highest for the window where the probability is lowest.
func (p poll) lowest(i int) (yes float64, where string) {
	yes = slices.Min(p.yes[i])
	return yes, p.where(i, yes)
}

func (p poll) where(i int, yes float64) string {
	if len(p.yes[i]) == 1 {
		return ""
	}
	return fmt.Sprintf("window %d of %d", slices.Index(p.yes[i], yes)+1, len(p.yes[i]))
}

// doubts is a note where the judge would rather have said something else than yes or no. The probability
// of yes says little then.
func doubts(mass float64) []Finding {
	const half = 0.5
	if mass >= half {
		return nil
	}
	return []Finding{{Kind: "note", Text: fmt.Sprintf("yes and no had only %.2g of the judge's probability: it would rather say something else", mass)}}
}
