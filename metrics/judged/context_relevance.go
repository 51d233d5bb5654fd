package judged

import (
	"context"
	"encoding/json"
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
	Row               metrics.Row // what is shown in the row layout; Context is in the classic one
	Question, Context string
	History           []metrics.Turn
}

// maxExtract bounds the completion tokens of an extract: up to it an extract may have half the tokens of a text in
// Latin script. A judge that wants to copy more is asked about less text at once.
const maxExtract = 192

func scoreContextRelevance(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	p := m.Prompts.For(contextRelevanceSentencesPrompt)
	sentences := metrics.NumberedSentences(s.Contexts)
	if len(sentences.Texts) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the contexts hold no sentence", metrics.ErrNotApplicable)
	}
	match := ask.NewMatcher(sentences.Texts)
	kept := make([]bool, len(sentences.Texts))
	var strange []string
	windows, err := metrics.View{Sample: s}.InWindows(ask.InRow(m, p), func(part metrics.Excerpt) error {
		q := ask.Query{
			Prompt:     p,
			Data:       sentencesData{part.Row, s.Question, part.Text, s.History},
			Room:       min(len(part.Text)/8, maxExtract),
			Schema:     copiesSchema(part.Sentences),
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
	return extractScore(sentences.Texts, sentences.Places, kept, strange, windows), nil
}

// maxCopies bounds the bytes of the sentences that a schema lists: its automaton has a state for each.
const maxCopies = 64 << 10

// copiesSchema is the JSON Schema of a list of copied sentences, or of the paper's words for none. So a copy is true to
// the text, and forced as soon as one sentence alone can follow. Of more than an automaton can hold there is none.
func copiesSchema(sentences []metrics.RowSentence) json.RawMessage {
	var texts []string
	size := 0
	for _, s := range sentences {
		if tokenize.HasWords(s.Text) && !slices.Contains(texts, s.Text) {
			texts, size = append(texts, s.Text), size+len(s.Text)
		}
	}
	if len(texts) == 0 || size > maxCopies {
		return nil
	}
	list, err := json.Marshal(texts)
	if err != nil {
		panic(err) // unreachable: texts are plain data
	}
	return json.RawMessage(fmt.Sprintf(`{"anyOf":[{"const":"Insufficient Information"},`+
		`{"type":"array","items":{"enum":%s},"minItems":1,"maxItems":%d}]}`, list, len(texts)))
}

// extractScore counts the kept sentences.
func extractScore(texts []string, origin []int, kept []bool, strange []string, windows int) metrics.Score {
	var because []metrics.Finding
	yes, no := true, false
	n := 0
	for i, text := range texts {
		if kept[i] {
			n++
			because = append(because,
				metrics.Finding{Kind: "sentence", Text: text, Verdict: &yes,
					Where: fmt.Sprintf("context %d", origin[i])})
		}
	}
	for _, text := range strange {
		because = append(because,
			metrics.Finding{Kind: "sentence", Text: text, Verdict: &no,
				Reason: "not a sentence of the contexts: not counted"})
	}
	note := fmt.Sprintf("%d of the contexts' %d sentences", n, len(texts))
	if windows > 1 {
		note += fmt.Sprintf(", read in %d windows", windows)
	}
	return metrics.Portion(n, len(texts), append(because, metrics.Finding{Kind: "note", Text: note}))
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

// contextRelevanceSentencesShort is contextRelevanceSentences in its short form: the judge names the sentences by their
// numbers instead of copying them.
func contextRelevanceSentencesShort() metrics.Metric {
	m := contextRelevanceSentences()
	m.Name, m.Default = "context_relevance/sentences_short", false
	m.Doc = "short form of sentences: share of the contexts' sentences whose numbers the judge lists as relevant"
	m.Source += ", with numbers for copies"
	m.Formula = "sentences whose numbers the judge lists / sentences of the contexts"
	m.Prompts = []*prompts.Prompt{contextRelevanceNumbersPrompt}
	m.Score = scoreContextRelevanceShort
	return m
}

// maxNumbers bounds the completion tokens of a list of numbers: some two dozen of them. A judge that wants to list more is
// asked about fewer sentences at once; room for all would make windows of many short sentences small.
const maxNumbers = 128

// numbersData is what context_relevance_numbers is rendered with.
type numbersData struct {
	Row      metrics.Row // with the sentences numbered, in either layout
	Question string
	History  []metrics.Turn
}

func scoreContextRelevanceShort(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	p := m.Prompts.For(contextRelevanceNumbersPrompt)
	var texts []string
	var origin []int
	var kept []bool
	windows, err := metrics.View{Sample: s}.InWindows(true, func(part metrics.Excerpt) error {
		var shown []metrics.RowSentence
		var numbers []int
		for _, sentence := range part.Sentences {
			if tokenize.HasWords(sentence.Text) {
				shown, numbers = append(shown, sentence), append(numbers, sentence.Number)
			}
		}
		if shown == nil {
			return nil
		}
		q := ask.Query{
			Prompt:     p,
			Data:       numbersData{part.Row, s.Question, s.History},
			Room:       min(tokensPerNumber*len(numbers), maxNumbers),
			Schema:     ask.NumbersSchema(numbers),
			Splittable: true,
		}
		listed, err := ask.Judge(ctx, m, q, func(r ask.Reply) ([]int, error) {
			return ask.DecodeNumbers(r, numbers, p.Nothing)
		})
		if err != nil {
			return err
		}
		for _, sentence := range shown {
			texts, origin = append(texts, sentence.Text), append(origin, sentence.Context)
			kept = append(kept, slices.Contains(listed, sentence.Number))
		}
		return nil
	})
	if err != nil {
		return metrics.Score{}, err
	}
	if texts == nil {
		return metrics.Score{}, fmt.Errorf("%w: the contexts hold no sentence", metrics.ErrNotApplicable)
	}
	return extractScore(texts, origin, kept, nil, windows), nil
}

var contextRelevanceNumbersPrompt = prompts.Builtin("context_relevance_numbers", prompts.Example{
	Data: numbersData{Row: metrics.Row{Contexts: []metrics.RowContext{{Number: 1, Text: "1. <context>"}}},
		Question: "<question>", History: history},
	Shown: map[string]string{".Question": "<question>", ".Row.Contexts": "1. <context>"},
})

var contextRelevanceSentencesPrompt = prompts.Builtin("context_relevance_sentences", prompts.Example{
	Data:  sentencesData{Question: "<question>", Context: "<context>", History: history},
	Shown: map[string]string{".Question": "<question>", ".Context": "<context>"},
})
