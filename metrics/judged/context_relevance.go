package judged

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// contextRelevanceSentences is the paper's own method: the judge extracts the sentences of the contexts that help
// to answer.
func contextRelevanceSentences() metrics.Metric {
	return metrics.Metric{
		Name:    "context_relevance/sentences",
		Doc:     "share of the contexts' sentences that the judge extracts as relevant to the question",
		Source:  "RAGAS (Es et al. 2023, arXiv 2309.15217), section 3",
		Formula: "sentences that the judge extracts / sentences of the contexts",
		Calls:   "1 reply for each window of the contexts",
		Default: true,
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Contexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: []*prompts.Prompt{contextRelevanceSentencesPrompt},
		Score:   scoreContextRelevance,
	}
}

// sentencesData is what context_relevance_sentences is rendered with.
type sentencesData struct {
	Question, Context string
	History           []metrics.Turn
}

// maxExtract bounds the completion tokens of an extract: up to it an extract may have half the tokens of a text in
// Latin script. A judge that wants to copy more is asked about less text at once.
const maxExtract = 192

func scoreContextRelevance(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	p := m.Prompts.For(contextRelevanceSentencesPrompt)
	passage := metrics.NewPassage(s.Contexts)
	var texts []string
	var origin []int
	for i, sentence := range passage.Sentences {
		if tokenize.HasWords(sentence.Text) {
			texts = append(texts, sentence.Text)
			origin = append(origin, passage.Origin[i])
		}
	}
	if len(texts) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the contexts hold no sentence", metrics.ErrNotApplicable)
	}
	match := ask.NewMatcher(texts)
	kept := make([]bool, len(texts))
	var strange []string
	windows, err := passage.InWindows(false, func(text string) error {
		q := ask.Query{
			Prompt:     p,
			Data:       sentencesData{s.Question, text, s.History},
			Room:       min(len(text)/8, maxExtract),
			Splittable: true,
		}
		got, err := ask.Judge(ctx, m, q, func(r ask.Reply) (extract, error) {
			return decodeExtract(r, match, p.Nothing)
		})
		for _, i := range got.found {
			kept[i] = true
		}
		strange = append(strange, got.strange...)
		return err
	})
	if err != nil {
		return metrics.Score{}, err
	}
	return extractScore(texts, origin, kept, strange, windows), nil
}

// extractScore counts the kept sentences.
func extractScore(texts []string, origin []int, kept []bool, strange []string, windows int) metrics.Score {
	var score metrics.Score
	yes, no := true, false
	n := 0
	for i, text := range texts {
		if kept[i] {
			n++
			score.Because = append(score.Because,
				metrics.Finding{Kind: "sentence", Text: text, Verdict: &yes,
					Where: fmt.Sprintf("context %d", origin[i])})
		}
	}
	for _, text := range strange {
		score.Because = append(score.Because,
			metrics.Finding{Kind: "sentence", Text: text, Verdict: &no,
				Reason: "not a sentence of the contexts: not counted"})
	}
	note := fmt.Sprintf("%d of the contexts' %d sentences", n, len(texts))
	if windows > 1 {
		note += fmt.Sprintf(", read in %d windows", windows)
	}
	score.Because = append(score.Because, metrics.Finding{Kind: "note", Text: note})
	score.Value = float64(n) / float64(len(texts))
	return score
}

// An extract is what the judge copied from a text.
type extract struct {
	found   []int    // the sentences that it copied, by index
	strange []string // what it wrote that is no sentence of the text
}

// Reasons why a reply is no extract.
var (
	errNoCopy = errors.New("nothing in the reply is a sentence of the contexts, nor does it say that there is " +
		"none")
	errContradiction = errors.New("the reply says that nothing helps, and copies sentences all the same")
)

// decodeExtract matches the sentences in a reply with those of the contexts.
func decodeExtract(r ask.Reply, match *ask.Matcher, nothing []string) (extract, error) {
	var e extract
	texts, repeated := ask.Distinct(ask.CopiedLines(r.Text))
	if r.Cut && !repeated {
		return extract{}, metrics.ErrCut
	}
	insufficient := false
	for _, text := range texts {
		found := match.Find(text)
		if found == nil {
			for _, s := range tokenize.Sentences(text) {
				if f := match.Find(s.Text); f != nil {
					found = append(found, f...)
				}
			}
		}
		switch {
		case found != nil:
			e.found = append(e.found, found...)
		case slices.ContainsFunc(nothing, func(p string) bool {
			return tokenize.ContainsWords(tokenize.Normalize(text), p)
		}):
			insufficient = true
		case !ask.Preamble(text):
			e.strange = append(e.strange, strings.TrimSpace(text))
		}
	}
	slices.Sort(e.found)
	e.found = slices.Compact(e.found)
	switch {
	case insufficient && e.found != nil:
		return extract{}, errContradiction
	case insufficient:
		return extract{}, nil // what else it wrote is its explanation
	case e.found == nil:
		return extract{}, errNoCopy
	}
	return e, nil
}

var contextRelevanceSentencesPrompt = prompts.Builtin("context_relevance_sentences", prompts.Example{
	Data:  sentencesData{Question: "<question>", Context: "<context>", History: history},
	Shown: map[string]string{".Question": "<question>", ".Context": "<context>"},
})
