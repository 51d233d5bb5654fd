package likelihood

import (
	"context"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// rankContexts is pairwise comparison of what was retrieved with what else might have been, in both orders. Each side is
// shown whole: texts of which one must be preferred cannot be read in windows.
func rankContexts(a aspect) metrics.Metric {
	return metrics.Metric{
		Name: a.dimension + "/rank",
		Doc: "share of comparisons for " + a.title() +
			" that the contexts win against the other contexts, pairwise in both orders",
		Source: "the baseline GPT Ranking of RAGAS (Es et al. 2023, arXiv 2309.15217), section 5; both orders after " +
			"Zheng et al. 2023 (arXiv 2306.05685) and Wang et al. 2023 (arXiv 2305.17926)",
		Formula: "(comparisons won + ties / 2) / comparisons; a comparison is won if P(contexts) > 1/2; two for each " +
			"of the other contexts, all passages of a side together",
		Calls:   "2 first-token scorings for each of the other contexts",
		Min:     0,
		Max:     1,
		Needs:   a.shown | metrics.OtherContexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{rankContextsPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			d := rankData{Dimension: a.title(), Definition: a.definition, Question: s.Question, History: s.History}
			own := strings.Join(s.Contexts, "\n")
			var rivals []string
			for _, list := range s.OtherContexts {
				if !metrics.Blank(list...) {
					rivals = append(rivals, strings.Join(list, "\n"))
				}
			}
			return against(rivals, func(rival string) (comparison, error) {
				return inBothOrders(ctx, m, rankContextsPrompt, d, own, rival)
			})
		},
	}
}

// inBothOrders has the judge choose between the row's own text and a rival, with either first.
func inBothOrders(ctx context.Context, m metrics.Models, p *prompts.Prompt, d rankData,
	own, rival string) (comparison, error) {
	if tokenize.Normalize(rival) == tokenize.Normalize(own) {
		return comparison{0.5, 0.5, true}, nil
	}
	d.First, d.Second = own, rival
	first, err := ask.Choose(ctx, m, p, d, []string{"A", "B"})
	if err != nil {
		return comparison{}, err
	}
	d.First, d.Second = rival, own
	second, err := ask.Choose(ctx, m, p, d, []string{"A", "B"})
	if err != nil {
		return comparison{}, err
	}
	return comparison{first: first[0], second: second[1]}, nil
}

var rankContextsPrompt = prompts.Builtin("rank_contexts", prompts.Example{
	Data: rankData{Dimension: "<dimension>", Definition: "<definition>", Question: "<question>", First: "<first>",
		Second: "<second>", History: history},
	Shown: map[string]string{".Definition": "<definition>", ".Question": "<question>", ".First": "<first>",
		".Second": "<second>"},
})
