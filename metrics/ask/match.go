package ask

import (
	"slices"

	"github.com/assay-eval/assay/tokenize"
)

// A Matcher finds the sentences of a text again in what a model copied from it, although the model
// changed case, punctuation, markup or a few words, copied a part, or ran sentences together.
type Matcher struct {
	normal []string   // of each sentence
	words  [][]string // of each normal
}

// NewMatcher returns a Matcher of these sentences.
func NewMatcher(sentences []string) *Matcher {
	m := &Matcher{}
	for _, s := range sentences {
		n := tokenize.Normalize(s)
		m.normal = append(m.normal, n)
		m.words = append(m.words, tokenize.Words(n))
	}
	return m
}

// What a copy must have in common with its sentence.
const (
	minAgreement = 0.8 // longest common subsequence of words, over the mean of the two numbers of words
	minShare     = 0.5 // of the sentence, for a part of it to stand for it
	minPart      = 4   // words, for a part to be more than a heading or name that occurs elsewhere too
)

// Find returns the indexes of the sentences that copy stands for, sorted; none if it stands for none.
// Sentences that are equal in normal form are found together.
func (m *Matcher) Find(copied string) []int {
	normal := tokenize.Normalize(copied)
	if normal == "" {
		return nil
	}
	var found []int
	for i, n := range m.normal {
		if n == normal || len(m.words[i]) >= minPart && tokenize.ContainsWords(normal, n) {
			found = append(found, i)
		}
	}
	if found != nil {
		return found
	}
	words := tokenize.Words(normal)
	best, bestAgreement := -1, 0.0
	for i := range m.normal {
		if a := tokenize.Agreement(words, m.words[i], minAgreement); a > bestAgreement {
			best, bestAgreement = i, a
		}
	}
	if bestAgreement < minAgreement {
		best = m.part(words)
	}
	for i, n := range m.normal {
		if best >= 0 && n == m.normal[best] {
			found = append(found, i)
		}
	}
	return found
}

// part returns the sentence that holds words as a contiguous run, -1 if none does of which they are enough.
func (m *Matcher) part(words []string) int {
	if len(words) < minPart {
		return -1
	}
	return slices.IndexFunc(m.words, func(sentence []string) bool {
		return float64(len(words)) >= minShare*float64(len(sentence)) && tokenize.ContainsRun(sentence, words)
	})
}
