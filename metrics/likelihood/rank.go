package likelihood

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// rankMetric is pairwise comparison of the answer with its rivals in both orders, since judges have a position
// bias, most often for the first.
func rankMetric(a aspect) metrics.Metric {
	each, mean := "", ""
	if a.shown.Has(metrics.Contexts) {
		each, mean = " and window of the contexts", "; of several windows, the mean of P"
	}
	return metrics.Metric{
		Name: a.dimension + "/rank",
		Doc: "share of comparisons for " + a.title() +
			" that the answer wins against the other answers, pairwise in both orders",
		Source: "the baseline GPT Ranking of RAGAS (Es et al. 2023, arXiv 2309.15217), section 5; both orders after " +
			"Zheng et al. 2023 (arXiv 2306.05685) and Wang et al. 2023 (arXiv 2305.17926)",
		Formula: "(comparisons won + ties / 2) / comparisons; a comparison is won if P(answer) > 1/2; two for each " +
			"other answer" + mean,
		Calls:   "2 first-token scorings for each other answer" + each,
		Min:     0,
		Max:     1,
		Needs:   a.shown | metrics.OtherAnswers,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{rankPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return a.compareAll(ctx, m, s)
		},
	}
}

// rankData is what rank is rendered with. What the aspect does not look at is empty.
type rankData struct {
	Dimension, Definition        string
	Context, Question, Reference string
	First, Second                string
	History                      []metrics.Turn
}

func (a aspect) compareAll(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	d := rankData{Dimension: a.title(), Definition: a.definition, Question: s.Question, History: s.History}
	if a.shown.Has(metrics.References) {
		d.Reference = strings.Join(metrics.TextsOf(metrics.NonBlank(s.References)), "\nor: ")
	}
	return against(metrics.TextsOf(metrics.NonBlank(s.OtherAnswers)), func(rival string) (comparison, error) {
		return a.compare(ctx, m, s, d, rival)
	})
}

// against is the share of the comparisons with rivals that are won.
func against(rivals []string, compare func(rival string) (comparison, error)) (metrics.Score, error) {
	var score metrics.Score
	moved := 0
	for _, r := range rivals {
		c, err := compare(r)
		if err != nil {
			return metrics.Score{}, err
		}
		won := (preference(c.first) + preference(c.second)) / 2
		mean := (c.first + c.second) / 2
		score.Value += won / float64(len(rivals))
		if preference(c.first) != preference(c.second) {
			moved++
		}
		score.Because = append(score.Because, metrics.Finding{Kind: "comparison", Text: metrics.Bounded(r),
			Value: &mean, Reason: c.reason()})
	}
	score.Value = min(1, score.Value)
	note := fmt.Sprintf("the order changed the verdict in %d of %d comparisons", moved, len(rivals))
	score.Because = append(score.Because, metrics.Finding{Kind: "note", Text: note})
	return score, nil
}

// A comparison is the probability that the judge prefers the row's own answer, or contexts, to a rival: with its own
// shown first, and second.
type comparison struct {
	first, second float64
	same          bool // the two are one text, and the judge was not asked
}

// reason says how a comparison went.
func (c comparison) reason() string {
	if c.same {
		return "the same text: a tie"
	}
	text := fmt.Sprintf("P(the row's own) is %.3f where it stands first, %.3f where it stands second", c.first, c.second)
	if preference(c.first) != preference(c.second) {
		text += ": the order changed the verdict"
	}
	return text
}

// preference is 1 for a comparison that is won, 0 for one that is lost and 1/2 for a tie.
func preference(p float64) float64 {
	switch {
	case p > 0.5:
		return 1
	case p < 0.5:
		return 0
	}
	return 0.5
}

// compare has the judge choose between the answer and a rival, in both orders (position bias). Where the contexts
// do not fit in one prompt, the probability is the mean over their windows.
func (a aspect) compare(ctx context.Context, m metrics.Models, s *metrics.Sample, d rankData,
	rival string) (comparison, error) {
	sum := comparison{}
	both := func(text string) error {
		d.Context = text
		c, err := inBothOrders(ctx, m, rankPrompt, d, s.Answer, rival)
		sum.first += c.first
		sum.second += c.second
		sum.same = c.same
		return err
	}
	if !a.shown.Has(metrics.Contexts) {
		err := both("")
		return sum, err
	}
	windows, err := metrics.NewPassage(s.Contexts).InWindows(true, both)
	if err != nil {
		return comparison{}, err
	}
	return comparison{sum.first / float64(windows), sum.second / float64(windows), sum.same}, nil
}

var rankPrompt = prompts.Builtin("rank", prompts.Example{
	Data: rankData{Dimension: "<dimension>", Definition: "<definition>", Context: "<context>",
		Question:  "<question>",
		Reference: "<reference>", First: "<first>", Second: "<second>", History: history},
	Shown: map[string]string{".Definition": "<definition>", ".Context": "<context>", ".Question": "<question>",
		".Reference": "<reference>", ".First": "<first>", ".Second": "<second>"},
})
