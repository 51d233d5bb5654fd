package vector

import (
	"context"
	"errors"
	"fmt"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
)

// embeddingMetrics compare embeddings.
func embeddingMetrics() []metrics.Metric {
	return []metrics.Metric{
		answerSimilarityCosine(), answerRelevanceCosine(),
		contextRelevanceCosine(), contextRelevanceCosineMax(), faithfulnessCosine(),
		bertscorePrecision().metric(), bertscoreRecall().metric(), bertscoreF1().metric(),
		bertscorePrecision().idf(), bertscoreRecall().idf(), bertscoreF1().idf(),
		faithfulnessBertscore(), faithfulnessBertscoreMax(), faithfulnessAlignment(), moverscore(), moverscoreUniform(),
		answerCorrectnessAlignment(),
	}
}

// textVectors returns one embedding per text, as [ask.Embed] does, but for texts of any length: one that exceeds
// the model's context length is read in windows of whole sentences, and its embedding is the mean of theirs, each
// weighted by its length. It returns in how many windows each text was read. No text may be blank.
func textVectors(ctx context.Context, m metrics.Models,
	texts []string) (vectors [][]float32, windows []int, err error) {
	windows = make([]int, len(texts))
	vectors, err = ask.Embed(ctx, m, texts)
	if !errors.Is(err, backend.ErrPromptTooLong) {
		for i := range windows {
			windows[i] = 1
		}
		return vectors, windows, err
	}
	vectors = make([][]float32, len(texts))
	for i, text := range texts {
		windows[i], err = metrics.NewPassage([]string{text}).InWindows(false, func(part string) error {
			got, err := ask.Embed(ctx, m, []string{part})
			if err != nil {
				return err
			}
			if vectors[i] == nil {
				vectors[i] = make([]float32, len(got[0]))
			}
			for k, x := range got[0] {
				vectors[i][k] += x * float32(len(part)) / float32(len(text))
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		if ask.Norm(vectors[i]) == 0 {
			return nil, nil, fmt.Errorf("embedding: the vectors of the windows of %q cancel out", metrics.Bounded(text))
		}
	}
	return vectors, windows, nil
}

// answerSimilarityCosine is Ragas' semantic similarity.
func answerSimilarityCosine() metrics.Metric {
	return metrics.Metric{
		Name:    "answer_similarity/cosine",
		Aliases: []string{"answer_correctness/cosine"},
		Doc:     "cosine similarity between the embeddings of the answer and the nearest reference",
		Source:  "Ragas SemanticSimilarity (there with one reference); unitxt answer_correctness.sentence_bert",
		Formula: "maximum over references of cos(answer, reference)",
		Calls:   "1 text to embed for the answer, 1 for each reference",
		Default: true,
		Min:     -1,
		Max:     1,
		Needs:   metrics.Answer | metrics.References,
		Asks:    metrics.Asks{backend.Embedder: backend.CanEmbed},
		Score:   scoreReferenceCosine,
	}
}

func scoreReferenceCosine(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	return nearestCosine(ctx, m, s.Answer, "reference", metrics.Saying(s.References))
}

// answerRelevanceCosine compares the question with the answer itself: a paraphrase of the question would score
// highest.
func answerRelevanceCosine() metrics.Metric {
	return metrics.Metric{
		Name:    "answer_relevance/cosine",
		Doc:     "cosine similarity between the embeddings of answer and question",
		Source:  "the embedding part of RAGAS' answer relevance (Es et al. 2023), without the questions",
		Formula: "cos(question, answer)",
		Calls:   "2 texts to embed",
		Min:     -1,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer,
		Turns:   metrics.TurnsAsked,
		Asks:    metrics.Asks{backend.Embedder: backend.CanEmbed},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return nearestCosine(ctx, m, s.Answer, "question", metrics.Saying([]string{s.Question}))
		},
	}
}

// nearestCosine is the highest cosine similarity between the answer and any of others.
func nearestCosine(ctx context.Context, m metrics.Models, answer, kind string,
	others metrics.NumberedTexts) (metrics.Score, error) {
	vectors, windows, err := textVectors(ctx, m, append([]string{answer}, others.Texts...))
	if err != nil {
		return metrics.Score{}, err
	}
	score := metrics.Score{Value: -1}
	for i, other := range others.Texts {
		similarity := ask.Cosine(vectors[0], vectors[1+i])
		score.Value = max(score.Value, similarity)
		score.Because = append(score.Because, metrics.Finding{Kind: kind, Text: other, Value: &similarity,
			Where: inParts("", windows[1+i])})
	}
	if note := inParts("the answer was ", windows[0]); note != "" {
		score.Because = append(score.Because, metrics.Finding{Kind: "note", Text: note})
	}
	return score, nil
}

// inParts says that something was read in several windows, or nothing.
func inParts(what string, windows int) string {
	if windows < 2 {
		return ""
	}
	return fmt.Sprintf("%sread in %d windows", what, windows)
}

// contextRelevanceCosine compares the question with each retrieved passage by itself.
func contextRelevanceCosine() metrics.Metric {
	return metrics.Metric{
		Name:    "context_relevance/cosine",
		Doc:     "mean cosine similarity between the embeddings of the question and each context",
		Source:  "unitxt context_relevance.sentence_bert, there the maximum over contexts",
		Formula: "mean over contexts of cos(question, context)",
		Calls:   "1 text to embed for the question, 1 for each context",
		Min:     -1,
		Max:     1,
		Needs:   metrics.Question | metrics.Contexts,
		Turns:   metrics.TurnsAsked,
		Asks:    metrics.Asks{backend.Embedder: backend.CanEmbed},
		Score:   scoreContextCosine,
	}
}

// contextRelevanceCosineMax takes the nearest passage alone, as unitxt does: what else was retrieved does not
// count.
func contextRelevanceCosineMax() metrics.Metric {
	m := contextRelevanceCosine()
	m.Name = "context_relevance/cosine_max"
	m.Doc = "cosine between the question and the context nearest to it"
	m.Source = "unitxt context_relevance.sentence_bert"
	m.Formula = "maximum over contexts of cos(question, context)"
	m.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		score, err := scoreContextCosine(ctx, m, s)
		if err == nil {
			score.Value = -1
			for _, f := range score.Because {
				score.Value = max(score.Value, *f.Value)
			}
		}
		return score, err
	}
	return m
}

func scoreContextCosine(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	contexts := metrics.Saying(s.Contexts)
	vectors, windows, err := textVectors(ctx, m, append([]string{s.Question}, contexts.Texts...))
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	for i, text := range contexts.Texts {
		similarity := ask.Cosine(vectors[0], vectors[1+i])
		score.Value += similarity
		score.Because = append(score.Because, metrics.Finding{Kind: "passage", Text: text, Value: &similarity,
			Where: fmt.Sprintf("context %d", contexts.Places[i]) + inParts(", ", windows[1+i])})
	}
	score.Value = metrics.Clamp(score.Value/float64(len(contexts.Texts)), -1, 1)
	return score, nil
}

// faithfulnessCosine looks for each of the answer's sentences in the contexts.
func faithfulnessCosine() metrics.Metric {
	return metrics.Metric{
		Name:    "faithfulness/cosine",
		Doc:     "mean over the answer's sentences of the cosine similarity with the nearest sentence of the contexts",
		Source:  "unitxt faithfulness.sentence_bert, there of whole texts, here of sentences",
		Formula: "mean over the answer's sentences of the maximum over the contexts' sentences of their cosine",
		Calls:   "1 text to embed for each sentence of the answer and of the contexts",
		Min:     -1,
		Max:     1,
		Needs:   metrics.Answer | metrics.Contexts,
		Asks:    metrics.Asks{backend.Embedder: backend.CanEmbed},
		Score:   scoreFaithfulnessCosine,
	}
}

func scoreFaithfulnessCosine(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	answer, contexts := metrics.NumberedSentences([]string{s.Answer}), metrics.NumberedSentences(s.Contexts)
	if len(answer.Texts) == 0 || len(contexts.Texts) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the answer or the contexts hold no sentence", metrics.ErrNotApplicable)
	}
	n := len(answer.Texts)
	vectors, _, err := textVectors(ctx, m, append(answer.Texts[:n:n], contexts.Texts...))
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	for i, text := range answer.Texts {
		best, at := -1.0, 0
		for k, v := range vectors[n:] {
			if similarity := ask.Cosine(vectors[i], v); similarity > best {
				best, at = similarity, k
			}
		}
		score.Value += best
		score.Because = append(score.Because, metrics.Finding{Kind: "sentence", Text: text, Value: &best,
			Where: fmt.Sprintf("context %d: %s", contexts.Places[at], contexts.Texts[at])})
	}
	score.Value = metrics.Clamp(score.Value/float64(n), -1, 1)
	return score, nil
}
