// Package form has deterministic checks of a text's form. They ask no model (no Ops): each is a rule that can be shown.
//
// The answer's length and language (by script and function words), readability formulas for English (Flesch 1948,
// Kincaid et al. 1975), quotations found verbatim in the contexts (Ragas), phrases of refusal, signs of indirect prompt
// injection in the contexts (Greshake et al. 2023, arXiv 2302.12173), and personal data by pattern and checksum.
package form

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// Metrics are checks of an answer's form, and of the contexts' for prompt injection.
func Metrics() []metrics.Metric {
	return []metrics.Metric{
		languageMatch(),
		lengthWords(), lengthReference(),
		fleschEase(), fleschKincaid(), automatedReadability(),
		quotedSpans(), quotedSpansRagas(),
		refusalPhrases(), injectionSigns(), personalData(),
	}
}

// maxWords bounds the length that lengthWords reports: that of a long book.
const maxWords = 1_000_000

func lengthWords() metrics.Metric {
	return metrics.Metric{
		Name:    "length/words",
		Doc:     "number of words of the answer; neither end is better by itself",
		Source:  "word boundaries of Unicode's UAX 29",
		Formula: "words of the answer; each Chinese or Japanese character is one",
		Calls:   "none",
		Default: true,
		Max:     maxWords,
		Needs:   metrics.Answer,
		Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			n := len(tokenize.Words(s.Answer))
			if n > maxWords {
				return metrics.Score{}, fmt.Errorf("%w: the answer has %d words, more than %d",
					metrics.ErrNotApplicable, n, maxWords)
			}
			note := fmt.Sprintf("words: %d, sentences: %d", n, len(tokenize.Sentences(s.Answer)))
			return metrics.Score{Value: float64(n), Because: []metrics.Finding{{Kind: "note", Text: note}}}, nil
		},
	}
}

// lengthReference compares the answer's length with that of the reference answer nearest in length.
func lengthReference() metrics.Metric {
	return metrics.Metric{
		Name:    "length/reference",
		Doc:     "ratio of the answer's length to the nearest reference answer's: 1 is equal, 0.5 half or double",
		Source:  "a symmetric form of BLEU's brevity ratio (Papineni et al. 2002)",
		Formula: "maximum over the reference answers of shorter / longer, in words",
		Calls:   "none",
		Max:     1,
		Needs:   metrics.Answer | metrics.References,
		Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			n := len(tokenize.Words(s.Answer))
			var score metrics.Score
			for i, reference := range s.References {
				words := len(tokenize.Words(reference))
				if words == 0 {
					continue
				}
				ratio := float64(min(n, words)) / float64(max(n, words))
				score.Value = max(score.Value, ratio)
				score.Because = append(score.Because, metrics.Finding{Kind: "note",
					Text:  fmt.Sprintf("words: %d, of the reference: %d", n, words),
					Value: &ratio, Where: fmt.Sprintf("reference %d", i+1)})
			}
			if score.Because == nil {
				return metrics.Score{}, fmt.Errorf("%w: the reference answers hold no words", metrics.ErrNotApplicable)
			}
			return score, nil
		},
	}
}

// minQuotation is how many words make a quotation one that can be looked for: fewer occur by chance.
const minQuotation = 3

// quotedSpans looks for quotations verbatim in the contexts. It is not applicable to an answer that quotes
// nothing.
func quotedSpans() metrics.Metric {
	return metrics.Metric{
		Name:    "faithfulness/quoted_spans",
		Doc:     "share of the answer's quotations of three words or more that occur verbatim in the contexts",
		Source:  "Ragas, QuotedSpansAlignment, with pairs of quotation marks and without its quirks",
		Formula: "quotations whose words are a contiguous run of a context's / quotations of at least 3 words",
		Calls:   "none",
		Max:     1,
		Needs:   metrics.Answer | metrics.Contexts,
		Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			var contexts []string
			for _, text := range s.Contexts {
				contexts = append(contexts, tokenize.Normalize(text))
			}
			var score metrics.Score
			matched := 0
			for _, text := range quotations(s.Answer) {
				f := metrics.Finding{Kind: "quotation", Text: text}
				there := false
				for i, c := range contexts {
					if !there && tokenize.ContainsWords(c, tokenize.Normalize(text)) {
						there = true
						f.Where = fmt.Sprintf("context %d", i+1)
						matched++
					}
				}
				f.Verdict = &there
				score.Because = append(score.Because, f)
			}
			if score.Because == nil {
				return metrics.Score{}, fmt.Errorf("%w: the answer quotes nothing of %d words or more",
					metrics.ErrNotApplicable, minQuotation)
			}
			return metrics.Portion(matched, len(score.Because), score.Because), nil
		},
	}
}

// quotationMarks are pairs: an opening mark with its closing one. An apostrophe opens nothing within a word.
var quotationMarks = regexp.MustCompile(`"([^"\n]+)"|“([^”“]+)[”“]|„([^“”„]+)[“”]|«([^»]+)»|»([^«]+)«|「([^」]+)」|` +
	`『([^』]+)』|(?:^|[\s(])'([^'\n]+(?:'\pL[^'\n]*)*)'(?:$|[\s).,;:!?])|(?:^|[\s(])‘([^’\n]+(?:’\pL[^’\n]*)*)’`)

// quotations returns what stands between quotation marks and has minQuotation words or more.
func quotations(text string) []string {
	var list []string
	for _, groups := range quotationMarks.FindAllStringSubmatch(text, -1) {
		for _, inner := range groups[1:] {
			if len(tokenize.Words(inner)) >= minQuotation {
				list = append(list, strings.TrimSpace(inner))
			}
		}
	}
	return list
}

// quotedSpansRagas gives the number that Ragas gives. Its quirks: any mark closes any other, an apostrophe
// is a mark, what stands between two quotations counts as words by white space alone, and an answer without
// quotations has 1.
func quotedSpansRagas() metrics.Metric {
	return metrics.Metric{
		Name:   "faithfulness/quoted_spans_ragas",
		Doc:    "the number of Ragas' quoted spans: an apostrophe quotes, and an answer without quotations has 1",
		Source: "Ragas 0.4.3, QuotedSpansAlignment",
		Formula: "spans between any two quotation marks that the joined contexts hold, case and white space aside / " +
			"spans of at least 3 words; 1 if there are none",
		Calls: "none",
		Max:   1,
		Needs: metrics.Answer | metrics.Contexts,
		Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			form := func(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
			source := form(strings.Join(s.Contexts, " "))
			var score metrics.Score
			matched := 0
			for _, groups := range ragasQuotes.FindAllStringSubmatch(s.Answer, -1) {
				if len(strings.Fields(groups[1])) < minQuotation {
					continue
				}
				there := strings.Contains(source, form(groups[1]))
				if there {
					matched++
				}
				score.Because = append(score.Because, metrics.Finding{Kind: "quotation",
					Text: strings.TrimSpace(groups[1]), Verdict: &there})
			}
			if score.Because == nil {
				return metrics.Score{Value: 1,
					Because: []metrics.Finding{{Kind: "note", Text: "no quotation, which counts as 1"}}}, nil
			}
			return metrics.Portion(matched, len(score.Because), score.Because), nil
		},
	}
}

var ragasQuotes = regexp.MustCompile("[\"\u201c\u201d\u201e\u201f'\u2018\u2019`\u00b4](.*?)" +
	"[\"\u201c\u201d\u201e\u201f'\u2018\u2019`\u00b4]")
