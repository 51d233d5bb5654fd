package vector

import (
	"context"
	"fmt"
	"math"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// Alignment looks for a text's tokens in another in two ways that make up for each other's faults. The exact
// match is blind to synonyms, and to the same word in another sense. The soft match, the highest cosine of token
// embeddings, sees both, but never quite tells a name or number from its like. A token's credit is the mean of
// the two. Tokens without a letter or digit are left out, and each distinct token counts once, with the mean of
// its credits, or else function words would decide.

// A credit is what one token of an aligned text is worth.
type credit struct {
	tokenMatch      // with the nearest
	same       bool // an exact match: the token itself is in the other text
}

func (c credit) value() float64 {
	exact := 0.0
	if c.same {
		exact = 1
	}
	return (exact + c.cosine) / 2
}

// alignTokens credits each token of a with its matches in b, and returns the mean over distinct tokens. Neither
// may be empty.
func alignTokens(a, b tokenText) (float64, []credit) {
	known := make(map[string]bool)
	for _, token := range b.tokens {
		known[tokenize.Normalize(token)] = true
	}
	times := make(map[string]int)
	for _, token := range a.tokens {
		times[tokenize.Normalize(token)]++
	}
	_, matches := greedyMatch(a, b)
	credits := make([]credit, len(matches))
	sum := 0.0
	for i, m := range matches {
		token := tokenize.Normalize(a.tokens[i])
		credits[i] = credit{m, known[token]}
		sum += credits[i].value() / float64(times[token])
	}
	return sum / float64(len(times)), credits
}

// faithfulnessAlignment aligns the answer with the contexts.
func faithfulnessAlignment() metrics.Metric {
	return metrics.Metric{
		Name: "faithfulness/alignment",
		Doc: "mean over the answer's distinct tokens of exact match and soft match (highest cosine of token " +
			"embeddings) in the contexts",
		Source: "Assay: the mean of K-precision (Adlakha et al. 2023) and BERTScore's precision (Zhang et al. " +
			"2020), over all contexts",
		Formula: "mean over the answer's distinct tokens of (1 if the token is in a context, else 0; plus the " +
			"maximum over all contexts' tokens of their cosine) / 2",
		Calls: "token embeddings of 1 text for the answer, 1 for each context",
		Min:   -0.5,
		Max:   1,
		Needs: metrics.Answer | metrics.Contexts,
		Asks:  metrics.Asks{backend.Embedder: backend.CanEmbedTokens},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			answer, contexts, err := answerAndContexts(ctx, m, s)
			if err != nil {
				return metrics.Score{}, err
			}
			answer, contexts = withWords(answer), withWords(contexts)
			if len(answer.tokens) == 0 || len(contexts.tokens) == 0 {
				return metrics.Score{}, fmt.Errorf("%w: the answer or the contexts have no words",
					metrics.ErrNotApplicable)
			}
			value, credits := alignTokens(answer, contexts)
			return metrics.Score{Value: metrics.Clamp(value, -0.5, 1), Because: leastCredited(answer, contexts, credits,
				"context")}, nil
		},
	}
}

// leastCredited shows the tokens of a with the lowest credit, and their nearest tokens.
func leastCredited(a, b tokenText, credits []credit, what string) []metrics.Finding {
	matches := make([]tokenMatch, len(credits))
	for i, c := range credits {
		matches[i] = tokenMatch{c.value(), c.at}
	}
	return weakestTokens(a, b, matches, what)
}

// answerCorrectnessAlignment aligns each reference with the answer, as recall does.
func answerCorrectnessAlignment() metrics.Metric {
	return metrics.Metric{
		Name: "answer_correctness/alignment",
		Doc: "mean over the reference's distinct tokens of exact match and soft match (highest cosine of token " +
			"embeddings) in the answer",
		Source: "Assay: the mean of token recall (unitxt) and BERTScore's recall (Zhang et al. 2020)",
		Formula: "maximum over references of the mean over the reference's distinct tokens of (1 if the token is in " +
			"the answer, else 0; plus the maximum over the answer's tokens of their cosine) / 2",
		Calls: "token embeddings of 1 text for the answer, 1 for each reference",
		Min:   -0.5,
		Max:   1,
		Needs: metrics.Answer | metrics.References,
		Asks:  metrics.Asks{backend.Embedder: backend.CanEmbedTokens},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			answer, references, err := answerAndReferences(ctx, m, s)
			if err != nil {
				return metrics.Score{}, err
			}
			answer = withWords(answer)
			best := metrics.Score{Value: math.Inf(-1)}
			for _, reference := range references {
				reference = withWords(reference)
				if len(answer.tokens) == 0 || len(reference.tokens) == 0 {
					continue
				}
				if value, credits := alignTokens(reference, answer); value > best.Value {
					note := metrics.Finding{Kind: "note", Text: fmt.Sprintf("reference %d", reference.places[0])}
					best = metrics.Score{Value: metrics.Clamp(value, -0.5, 1), Because: append([]metrics.Finding{note},
						leastCredited(reference, answer, credits, "answer")...)}
				}
			}
			if math.IsInf(best.Value, -1) {
				return metrics.Score{}, fmt.Errorf("%w: the answer or every reference has no words",
					metrics.ErrNotApplicable)
			}
			return best, nil
		},
	}
}
