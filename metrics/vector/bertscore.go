package vector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
)

// A tokenText is a text's tokens, each with its embedding, normalised to length 1, and its place: the number of
// the text that it is from, where several were put together.
type tokenText struct {
	tokens  []string
	vectors [][]float32
	places  []int
	weights []float64 // summing to 1, or to 0 if no token weighs anything; nil: uniform
	windows int
}

// weightless reports whether no token weighs anything.
func (t tokenText) weightless() bool {
	return t.weights != nil && !slices.ContainsFunc(t.weights, func(w float64) bool { return w > 0 })
}

// only returns the tokens, by their indexes, that are to be kept.
func (t tokenText) only(keep func(i int) bool) tokenText {
	var kept tokenText
	for i := range t.tokens {
		if !keep(i) {
			continue
		}
		kept.tokens = append(kept.tokens, t.tokens[i])
		kept.vectors = append(kept.vectors, t.vectors[i])
		kept.places = append(kept.places, t.places[i])
		if t.weights != nil {
			kept.weights = append(kept.weights, t.weights[i])
		}
	}
	return kept
}

// tokenTexts returns the tokens of each text. One that exceeds the model's context length is read in windows of
// whole sentences, and its tokens are theirs one after the other. No text may be blank.
func tokenTexts(ctx context.Context, m metrics.Models, texts metrics.NumberedTexts) ([]tokenText, error) {
	all, err := embedTokensAll(ctx, m, texts.Texts)
	if err != nil && !errors.Is(err, backend.ErrPromptTooLong) {
		return nil, err
	}
	list := make([]tokenText, len(texts.Texts))
	for i, text := range texts.Texts {
		t := &list[i]
		if err == nil {
			t.add(all[i], texts.Places[i])
			continue
		}
		_, err := metrics.NewPassage([]string{text}).InWindows(false, func(part string) error {
			got, err := embedTokensAll(ctx, m, []string{part})
			if err == nil {
				t.add(got[0], texts.Places[i])
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (t *tokenText) add(v backend.Encoded, place int) {
	t.tokens = append(t.tokens, v.Tokens...)
	t.vectors = append(t.vectors, v.Vectors...)
	for range v.Tokens {
		t.places = append(t.places, place)
	}
	t.windows++
}

// joinedTokens puts texts together as if they were one.
func joinedTokens(list []tokenText) tokenText {
	var all tokenText
	for _, t := range list {
		all.tokens = append(all.tokens, t.tokens...)
		all.vectors = append(all.vectors, t.vectors...)
		all.places = append(all.places, t.places...)
		all.windows += t.windows
	}
	return all
}

// embedTokensAll returns each text's token embeddings, all of one dimension and normalised to length 1, and notes
// the texts' cache keys.
func embedTokensAll(ctx context.Context, m metrics.Models, texts []string) ([]backend.Encoded, error) {
	all, err := backend.EmbedTokens(ctx, m.Role(backend.Embedder), texts)
	if err != nil {
		return nil, fmt.Errorf("embedding tokens: %w", err)
	}
	info := m.Role(backend.Embedder).Info()
	size := 0
	unit := make([]backend.Encoded, len(all))
	for i, a := range all {
		m.Note(backend.EncodeKey(info, backend.TokenEmbeddings, backend.Pair{Text: texts[i]}), 0, 0)
		if len(a.Tokens) != len(a.Vectors) {
			return nil, fmt.Errorf("embedding tokens: %d tokens and %d vectors for %q", len(a.Tokens), len(a.Vectors),
				metrics.Bounded(texts[i]))
		}
		unit[i].Tokens = a.Tokens
		for k, v := range a.Vectors {
			size = cmp.Or(size, len(v))
			n := ask.Norm(v)
			if len(v) != size || !(n > 0) || math.IsInf(n, 0) {
				return nil, fmt.Errorf("embedding tokens: the vector of %q is not usable: %d numbers, length %v",
					a.Tokens[k], len(v), n)
			}
			scaled := make([]float32, len(v))
			for j, x := range v {
				scaled[j] = float32(float64(x) / n)
			}
			unit[i].Vectors = append(unit[i].Vectors, scaled)
		}
	}
	return unit, nil
}

// unitCosine is the cosine of two vectors of length 1. Long texts take many, so it keeps four partial sums side
// by side.
func unitCosine(a, b []float32) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float64(a[i]) * float64(b[i])
		s1 += float64(a[i+1]) * float64(b[i+1])
		s2 += float64(a[i+2]) * float64(b[i+2])
		s3 += float64(a[i+3]) * float64(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float64(a[i]) * float64(b[i])
	}
	return metrics.Clamp(s0+s1+s2+s3, -1, 1)
}

// A tokenMatch is the token of another text that a token is aligned with: its nearest by cosine.
type tokenMatch struct {
	cosine float64
	at     int // the other text's token
}

// greedyMatch is greedy alignment: it matches each token of a with its nearest of b, and returns the mean of the
// cosines, by the weights of a. Neither may be empty.
func greedyMatch(a, b tokenText) (float64, []tokenMatch) {
	matches := make([]tokenMatch, len(a.vectors))
	sum, weight, weights := 0.0, 1.0, float64(len(a.vectors))
	for i, v := range a.vectors {
		best := tokenMatch{-1, 0}
		for k, w := range b.vectors {
			if c := unitCosine(v, w); c > best.cosine {
				best = tokenMatch{c, k}
			}
		}
		matches[i] = best
		if a.weights != nil {
			weight, weights = a.weights[i], 1
		}
		sum += best.cosine * weight
	}
	return metrics.Clamp(sum/weights, -1, 1), matches
}

// maxTokens is how many tokens a score shows: those that count against it most.
const maxTokens = 12

// weakestTokens shows the tokens of a that are least like anything in b.
func weakestTokens(a, b tokenText, matches []tokenMatch, what string) []metrics.Finding {
	order := make([]int, len(matches))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(matches[i].cosine, matches[k].cosine) })
	return shownTokens(order, a, b, matches, what, "weakest")
}

// shownTokens shows the first tokens of a in an order, with their matches in b.
func shownTokens(order []int, a, b tokenText, matches []tokenMatch, what, which string) []metrics.Finding {
	var list []metrics.Finding
	for _, i := range order[:min(maxTokens, len(order))] {
		m := matches[i]
		list = append(list, metrics.Finding{Kind: "token", Text: strings.TrimSpace(a.tokens[i]), Value: &m.cosine,
			Where: fmt.Sprintf("%s %d: %q", what, b.places[m.at], strings.TrimSpace(b.tokens[m.at]))})
	}
	if len(order) > maxTokens {
		list = append(list, metrics.Finding{Kind: "note", Text: fmt.Sprintf("the %d %s of %d tokens are shown",
			maxTokens, which, len(order))})
	}
	return list
}

// answerAndReferences returns the tokens of the answer and of each reference that has any.
func answerAndReferences(ctx context.Context, m metrics.Models,
	s *metrics.Sample) (answer tokenText, references []tokenText, err error) {
	texts := metrics.Saying(s.References)
	texts.Texts, texts.Places = append(texts.Texts, s.Answer), append(texts.Places, 1)
	list, err := tokenTexts(ctx, m, texts)
	if err != nil {
		return tokenText{}, nil, err
	}
	answer, references = list[len(list)-1], list[:len(list)-1]
	references = slices.DeleteFunc(references, func(t tokenText) bool { return len(t.tokens) == 0 })
	if len(answer.tokens) == 0 || len(references) == 0 {
		return tokenText{}, nil, fmt.Errorf("%w: for this model the answer or every reference has no tokens",
			metrics.ErrNotApplicable)
	}
	return answer, references, nil
}

// A bertscore is one of BERTScore's three values. Of several references the best counts. Special tokens are left
// out, and no baseline is subtracted (no rescaling). Where precision or recall is not positive, their harmonic
// mean is 0.
type bertscore struct {
	aliases            []string
	name, doc, formula string
	min                float64
	precision, recall  bool // whether it takes them into account
	value              func(precision, recall float64) float64
}

func bertscorePrecision() bertscore {
	return bertscore{
		name: "precision",
		doc:  "mean over the answer's tokens of the cosine with the nearest token of the reference",
		formula: "maximum over references of the mean over the answer's tokens of the maximum over the reference's " +
			"tokens of their cosine",
		min:       -1,
		precision: true,
		value:     func(precision, _ float64) float64 { return precision },
	}
}

func bertscoreRecall() bertscore {
	return bertscore{
		name:    "recall",
		aliases: []string{"answer_correctness/bertscore_recall"}, // as unitxt has it
		doc:     "mean over the reference's tokens of the cosine with the nearest token of the answer",
		formula: "maximum over references of the mean over the reference's tokens of the maximum over the answer's " +
			"tokens of their cosine",
		min:    -1,
		recall: true,
		value:  func(_, recall float64) float64 { return recall },
	}
}

func bertscoreF1() bertscore {
	return bertscore{
		name:      "f1",
		doc:       "harmonic mean of BERTScore's precision and recall",
		formula:   "maximum over references of 2PR / (P + R), 0 where P or R is not positive",
		precision: true,
		recall:    true,
		value: func(precision, recall float64) float64 {
			if precision <= 0 || recall <= 0 {
				return 0
			}
			return metrics.Clamp(2*precision*recall/(precision+recall), 0, 1)
		},
	}
}

// metric is the method with uniform weights, without idf.
func (b bertscore) metric() metrics.Metric {
	return metrics.Metric{
		Name:    "answer_similarity/bertscore_" + b.name,
		Aliases: b.aliases,
		Doc:     b.doc,
		Source:  "BERTScore (Zhang et al. 2020, arXiv 1904.09675), section 3, without idf and rescaling",
		Formula: b.formula,
		Calls:   "token embeddings of 1 text for the answer, 1 for each reference",
		Min:     b.min,
		Max:     1,
		Needs:   metrics.Answer | metrics.References,
		Asks:    metrics.Asks{backend.Embedder: backend.CanEmbedTokens},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return b.score(ctx, m, s, nil)
		},
	}
}

// score compares the answer with each reference, both as f weighs them. Where the tokens that a mean is over weigh
// nothing, there is no such mean.
func (b bertscore) score(ctx context.Context, m metrics.Models, s *metrics.Sample,
	f *Frequencies) (metrics.Score, error) {
	answer, references, err := answerAndReferences(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	answer = f.weigh(answer)
	best := metrics.Score{Value: math.Inf(-1)}
	for _, reference := range references {
		reference = f.weigh(reference)
		if b.precision && answer.weightless() || b.recall && reference.weightless() {
			continue
		}
		precision, found := greedyMatch(answer, reference)
		recall, kept := greedyMatch(reference, answer)
		value := b.value(precision, recall)
		if value <= best.Value {
			continue
		}
		var means []string
		if !answer.weightless() {
			means = append(means, fmt.Sprintf("precision %.3f", precision))
		}
		if !reference.weightless() {
			means = append(means, fmt.Sprintf("recall %.3f", recall))
		}
		best = metrics.Score{Value: value, Because: []metrics.Finding{
			{Kind: "note", Text: fmt.Sprintf("reference %d: %s", reference.places[0], strings.Join(means, ", "))},
		}}
		if b.recall {
			best.Because = append(best.Because, f.tokenFindings(reference, answer, kept, "answer")...)
		}
		if b.precision {
			best.Because = append(best.Because, f.tokenFindings(answer, reference, found, "reference")...)
		}
	}
	if math.IsInf(best.Value, -1) {
		return metrics.Score{}, errWeightless()
	}
	return best, nil
}

// faithfulnessBertscore looks for each of the answer's tokens in all contexts together.
func faithfulnessBertscore() metrics.Metric {
	return metrics.Metric{
		Name:    "faithfulness/bertscore_k_precision",
		Doc:     "mean over the answer's tokens of the cosine with the nearest token of any context",
		Source:  "unitxt faithfulness.bert_score_k_precision, there the maximum over single contexts",
		Formula: "mean over the answer's tokens of the maximum over all contexts' tokens of their cosine",
		Calls:   "token embeddings of 1 text for the answer, 1 for each context",
		Min:     -1,
		Max:     1,
		Needs:   metrics.Answer | metrics.Contexts,
		Asks:    metrics.Asks{backend.Embedder: backend.CanEmbedTokens},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			answer, contexts, err := answerAndContexts(ctx, m, s)
			if err != nil {
				return metrics.Score{}, err
			}
			value, matches := greedyMatch(answer, contexts)
			return metrics.Score{Value: value, Because: weakestTokens(answer, contexts, matches, "context")}, nil
		},
	}
}

// faithfulnessBertscoreMax looks for the answer in each context by itself, as unitxt does: an answer that rests on
// two contexts cannot reach 1.
func faithfulnessBertscoreMax() metrics.Metric {
	m := faithfulnessBertscore()
	m.Name = "faithfulness/bertscore_k_precision_max"
	m.Doc = "BERTScore's precision of the answer in the one context where it is highest"
	m.Source = "unitxt faithfulness.bert_score_k_precision; BERTScore (Zhang et al. 2020, arXiv 1904.09675), section 3"
	m.Formula = "maximum over contexts of the mean over the answer's tokens of the maximum over the context's tokens " +
		"of their cosine"
	m.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		answer, contexts, err := answerAndContexts(ctx, m, s)
		if err != nil {
			return metrics.Score{}, err
		}
		best := metrics.Score{Value: math.Inf(-1)}
		for from := 0; from < len(contexts.tokens); {
			one := contexts.from(from)
			from += len(one.tokens)
			if value, matches := greedyMatch(answer, one); value > best.Value {
				best = metrics.Score{Value: value, Because: weakestTokens(answer, one, matches, "context")}
			}
		}
		return best, nil
	}
	return m
}

// from returns the tokens from one on that have its place.
func (t tokenText) from(at int) tokenText {
	end := at
	for end < len(t.tokens) && t.places[end] == t.places[at] {
		end++
	}
	return tokenText{tokens: t.tokens[at:end], vectors: t.vectors[at:end], places: t.places[at:end]}
}

// answerAndContexts returns the token embeddings of the answer, and those of all contexts together.
func answerAndContexts(ctx context.Context, m metrics.Models,
	s *metrics.Sample) (answer, contexts tokenText, err error) {
	texts := metrics.Saying(s.Contexts)
	texts.Texts, texts.Places = append(texts.Texts, s.Answer), append(texts.Places, 1)
	list, err := tokenTexts(ctx, m, texts)
	if err != nil {
		return tokenText{}, tokenText{}, err
	}
	answer, contexts = list[len(list)-1], joinedTokens(list[:len(list)-1])
	if len(answer.tokens) == 0 || len(contexts.tokens) == 0 {
		return tokenText{}, tokenText{}, fmt.Errorf("%w: for this model the answer or the contexts have no tokens",
			metrics.ErrNotApplicable)
	}
	return answer, contexts, nil
}
