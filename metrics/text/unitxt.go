package text

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// unitxtMetrics are unitxt's RAG metrics of token overlap.
//
// unitxt takes the best of several contexts where it compares with contexts, and of several references the
// best for each of precision, recall and F1. The latter is kept here. The former makes an answer that
// draws on two contexts unfaithful, and is kept only in the names with _max, which like those with _ascii
// are unitxt to the letter: the rules of ASCII, and 0 where there is nothing to compare.
func unitxtMetrics() []metrics.Metric {
	const source = unitxtSource
	words, original := tokenize.Tokens, originalTokens
	return []metrics.Metric{
		lexical(metrics.Metric{
			Name: "answer_correctness/token_recall", Source: source, Default: true,
			Doc:     "share of the best reference's words that the answer has, in any script",
			Formula: "words in common / words of the reference, with multiplicity",
			Score:   scoreTokens(words, ofReference, false),
		}),
		lexical(metrics.Metric{
			Name: "answer_correctness/token_precision", Source: source,
			Doc:     "share of the answer's words that the best reference has, in any script",
			Formula: "words in common / words of the answer, with multiplicity",
			Score:   scoreTokens(words, ofAnswer, false),
		}),
		lexical(metrics.Metric{
			Name: "answer_correctness/token_f1", Source: "SQuAD (Rajpurkar et al. 2016, arXiv 1606.05250); unitxt",
			Doc:     "F1 of the answer's words and the best reference's, in any script",
			Formula: "2 * words in common / (words of the answer + words of the reference)",
			Score:   scoreTokens(words, ofBoth, false),
		}),
		lexical(metrics.Metric{
			Name: "answer_correctness/token_recall_ascii", Source: source,
			Doc:     "token recall by the letter of unitxt, to which only ASCII punctuation is punctuation",
			Formula: "words in common / words of the reference, with multiplicity",
			Score:   scoreTokens(original, ofReference, true),
		}),
		lexical(metrics.Metric{
			Name: "answer_correctness/token_precision_ascii", Source: source,
			Doc:     "token precision by the letter of unitxt, to which only ASCII punctuation is punctuation",
			Formula: "words in common / words of the answer, with multiplicity",
			Score:   scoreTokens(original, ofAnswer, true),
		}),
		lexical(metrics.Metric{
			Name:    "answer_correctness/token_f1_ascii",
			Source:  "SQuAD (Rajpurkar et al. 2016, arXiv 1606.05250), evaluation script; unitxt",
			Doc:     "token F1 by the letter of SQuAD and unitxt, to which only ASCII punctuation is punctuation",
			Formula: "2 * words in common / (words of the answer + words of the reference)",
			Score:   scoreTokens(original, ofBoth, true),
		}),
	}
}

const unitxtSource = "unitxt, metrics.rag (token_overlap)"

// originalTokens are words by the rules of ASCII.
func originalTokens(text string) []string { return strings.Fields(tokenize.SQuAD(text)) }

// overlapMetrics are unitxt's overlaps with the contexts and with the question.
func overlapMetrics() []metrics.Metric {
	const source = unitxtSource
	words, original := tokenize.Tokens, originalTokens
	return []metrics.Metric{
		lexical(metrics.Metric{
			Name: "faithfulness/k_precision", Source: "K-precision (Adlakha et al. 2024, arXiv 2307.16877); " + source,
			Doc:     "share of the answer's words that occur in the contexts, taken together",
			Formula: "words in common / words of the answer, with multiplicity",
			Needs:   metrics.Answer | metrics.Contexts,
			Score:   scoreInContexts(words, func(s *metrics.Sample) (string, string) { return "answer", s.Answer }),
		}),
		lexical(metrics.Metric{
			Name: "faithfulness/k_precision_max", Source: source,
			Doc:     "K-precision by the letter of unitxt: that of the one context it is highest for, by ASCII's rules",
			Formula: "maximum over the contexts of words in common / words of the answer",
			Needs:   metrics.Answer | metrics.Contexts,
			Score:   scoreInOneContext(original, func(s *metrics.Sample) string { return s.Answer }),
		}),
		lexical(metrics.Metric{
			Name: "faithfulness/k_precision_bigrams", Source: "Assay, after K-precision and BLEU",
			Doc: "share of the answer's distinct words, and of its distinct bigrams, that occur in the contexts",
			Formula: "mean of two shares: of the answer's distinct words, and of its distinct bigrams, " +
				"that stand in any context",
			Needs: metrics.Answer | metrics.Contexts,
			Score: scoreBigramsInContexts,
		}),
		lexical(metrics.Metric{
			Name: "answer_relevance/token_recall", Source: source,
			Doc:     "share of the question's words that the answer has",
			Formula: "words in common / words of the question, with multiplicity",
			Needs:   metrics.Question | metrics.Answer,
			Turns:   metrics.TurnsUnread,
			Score:   scoreQuestionTokens(words, false),
		}),
		lexical(metrics.Metric{
			Name: "answer_relevance/token_recall_ascii", Source: source,
			Doc: "token recall of the question by the letter of unitxt, to which only ASCII punctuation is " +
				"punctuation",
			Formula: "words in common / words of the question, with multiplicity",
			Needs:   metrics.Question | metrics.Answer,
			Turns:   metrics.TurnsUnread,
			Score:   scoreQuestionTokens(original, true),
		}),
		lexical(metrics.Metric{
			Name: "context_relevance/token_precision", Source: source,
			Doc:     "share of the question's words that occur in the contexts, taken together",
			Formula: "words in common / words of the question, with multiplicity",
			Needs:   metrics.Question | metrics.Contexts,
			Turns:   metrics.TurnsUnread,
			Score:   scoreInContexts(words, func(s *metrics.Sample) (string, string) { return "question", s.Question }),
		}),
		lexical(metrics.Metric{
			Name: "context_relevance/token_precision_max", Source: source,
			Doc:     "share of the question's words in the one context that has most of them, by the letter of unitxt",
			Formula: "maximum over the contexts of words in common / words of the question",
			Needs:   metrics.Question | metrics.Contexts,
			Turns:   metrics.TurnsUnread,
			Score:   scoreInOneContext(original, func(s *metrics.Sample) string { return s.Question }),
		}),
	}
}

// scoreTokens compares the answer's tokens with each reference's.
func scoreTokens(cut func(string) []string, of share, original bool) scoreFunc {
	return func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		answer := cut(s.Answer)
		return bestReference(s, func(reference string) (metrics.Score, error) {
			return newOverlap(answer, cut(reference), of).tokenScore(of, original, "answer", "reference")
		})
	}
}

// scoreQuestionTokens looks for the question's tokens in the answer.
func scoreQuestionTokens(cut func(string) []string, original bool) scoreFunc {
	return func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		return newOverlap(cut(s.Answer), cut(s.Question), ofReference).tokenScore(ofReference, original, "answer",
			"question")
	}
}

// scoreInContexts looks for the tokens of a part of the sample, which it also names, in all of the contexts:
// each is found as often as all of them have it together.
func scoreInContexts(cut func(string) []string, part func(s *metrics.Sample) (name, text string)) scoreFunc {
	return func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		name, text := part(s)
		var contexts []string
		for _, c := range s.Contexts {
			contexts = append(contexts, cut(c)...)
		}
		return newOverlap(cut(text), contexts, ofAnswer).tokenScore(ofAnswer, false, name, "contexts")
	}
}

// scoreInOneContext looks for the tokens of a part of the sample in each context, and takes the best.
func scoreInOneContext(cut func(string) []string, part func(s *metrics.Sample) string) scoreFunc {
	return func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		tokens := cut(part(s))
		var best overlap
		at := 0
		for i, c := range s.Contexts {
			if o := newOverlap(tokens, cut(c), ofAnswer); i == 0 || o.common > best.common {
				best, at = o, i
			}
		}
		where := fmt.Sprintf("context %d", at+1)
		because := best.unitFindings()
		for i := range because {
			because[i].Where = where
		}
		return best.score(ofAnswer, because), nil
	}
}

// tokenScore is a share of the tokens, with what was found and what was not. A text without tokens has no
// share to give, unless the original's 0 is wanted.
func (o overlap) tokenScore(of share, original bool, answer, reference string) (metrics.Score, error) {
	if !original {
		switch {
		case o.reference == 0:
			return metrics.Score{}, fmt.Errorf("%w: there is no word in the %s", metrics.ErrNotApplicable, reference)
		case o.answer == 0 && of == ofAnswer:
			return metrics.Score{}, fmt.Errorf("%w: there is no word in the %s", metrics.ErrNotApplicable, answer)
		}
	}
	note := fmt.Sprintf("%d words in common, of %d in the %s and %d in the %s", o.common, o.answer, answer, o.reference,
		reference)
	return o.score(of, append([]metrics.Finding{{Kind: "note", Text: note}}, o.unitFindings()...)), nil
}

// scoreBigramsInContexts is K-precision made stricter and fairer. Stricter, since the right words in another
// connection are not what the contexts say: bigrams count as much as words. Fairer, since what an answer says
// twice is no more and no less supported than what it says once: each distinct word and bigram counts once. Words
// and bigrams weigh one half each; nothing here is tuned.
func scoreBigramsInContexts(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	answer := tokenize.Tokens(s.Answer)
	if len(answer) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: there is no word in the answer %q", metrics.ErrNotApplicable,
			metrics.Bounded(s.Answer))
	}
	var contexts [][]string
	for _, c := range s.Contexts {
		contexts = append(contexts, tokenize.Tokens(c))
	}
	var score metrics.Score
	orders := min(2, len(answer))
	for n := 1; n <= orders; n++ {
		in := make(map[string]bool)
		for _, c := range contexts {
			for _, g := range grams(c, n, " ") { // no pair reaches from one context into another
				in[g] = true
			}
		}
		var o overlap
		seen := make(map[string]bool)
		for _, g := range grams(answer, n, " ") {
			switch {
			case seen[g]:
				continue
			case in[g]:
				o.found = append(o.found, g)
			default:
				o.missing = append(o.missing, g)
			}
			seen[g] = true
		}
		o.common, o.answer = len(o.found), len(seen)
		note := fmt.Sprintf("%d of the answer's %d different %s stand in the contexts", o.common, o.answer,
			[...]string{1: "words", 2: "pairs of words"}[n])
		score.Value += o.value(ofAnswer) / float64(orders)
		score.Because = append(append(score.Because, metrics.Finding{Kind: "note", Text: note}), o.unitFindings()...)
	}
	return score, nil
}
