package desk

import (
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/assay-eval/assay/metrics"
)

// A pair is a row's own answer, or contexts, and its one rival.
type pair struct {
	own, rival string
	contexts   bool // of contexts, not of answers
}

// pairOf is the pair that a sample is: it has one rival, of its answer or else of its contexts.
func pairOf(s *metrics.Sample) (p pair, ok bool) {
	answers := metrics.NonBlank(s.OtherAnswers)
	switch {
	case len(answers) == 1:
		return pair{s.Answer, answers[0].Text, false}, true
	case len(answers) == 0 && len(s.OtherContexts) == 1 && !metrics.Blank(s.OtherContexts[0]...):
		return pair{strings.Join(s.Contexts, "\n"), strings.Join(s.OtherContexts[0], "\n"), true}, true
	}
	return pair{}, false
}

// IsPair reports whether a sample can be labelled as a pair: it has one rival, of its contexts if the dimension is about
// those, and of its answer if not. One that says in which dimension it is worse than its rival is of that alone.
func IsPair(s *metrics.Sample, dimension string) bool {
	p, ok := pairOf(s)
	var in string
	if raw, said := s.Extra["worse_in"]; said && json.Unmarshal(raw, &in) == nil && in != "" && in != dimension {
		return false
	}
	return ok && p.contexts == strings.HasPrefix(dimension, "context_")
}

// PairQuestion is what to ask of pairs in a dimension.
func PairQuestion(dimension string) string {
	switch dimension {
	case "faithfulness":
		return "Which answer keeps more to what the contexts say?"
	case "answer_relevance":
		return "Which answer gives more of what the question asks for, and less besides?"
	case "context_relevance":
		return "Which contexts hold what the question asks for, and less besides?"
	}
	return "Which is better?"
}

// turned reports whether the rival is shown first, which is drawn for each sample, so that nobody can tell by the place
// which is which.
func (d *Desk) turned(sample string) bool {
	h := fnv.New64a()
	h.Write([]byte(sample))
	return rand.New(rand.NewPCG(d.Seed, h.Sum64())).IntN(2) == 1
}

// pairTexts lists the parts of a pair that say something: the two sides last.
func (d *Desk) pairTexts(s *metrics.Sample) []namedText {
	p, ok := pairOf(s)
	if !ok {
		return textsOf(s)
	}
	shared, name := *s, "answer "
	shared.Answer = ""
	if p.contexts {
		shared.Contexts, name = nil, "contexts "
	}
	first, second := p.own, p.rival
	if d.turned(s.ID) {
		first, second = second, first
	}
	return append(textsOf(&shared), namedText{name + "1", first}, namedText{name + "2", second})
}
