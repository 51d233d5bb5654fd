package form

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// The readability formulas were fitted to English, and to passages of about a hundred words: of a short answer
// they say little. They are unbounded on one side; the ranges here end where no prose does, and a value beyond is
// clamped and said to be.

func fleschEase() metrics.Metric {
	m := readability("readability/flesch", "Flesch reading ease of an English answer: 100 is very easy, 0 very hard",
		"Flesch 1948, A new readability yardstick", "206.835 - 1.015 words/sentences - 84.6 syllables/words", -200,
		121.22,
		fleschOf)
	m.Default = true
	return m
}

func fleschKincaid() metrics.Metric {
	m := readability("readability/kincaid", "school grade that an English answer asks for, by Flesch and Kincaid",
		"Kincaid et al. 1975, Derivation of new readability formulas",
		"0.39 words/sentences + 11.8 syllables/words - 15.59", -3.4, 60,
		kincaidOf)
	m.LowerIsBetter = true
	return m
}

func automatedReadability() metrics.Metric {
	m := readability("readability/ari", "school grade that an English answer asks for, by the automated readability "+
		"index",
		"Smith and Senter 1967, Automated readability index",
		"4.71 letters and digits/words + 0.5 words/sentences - 21.43", -16.22, 60,
		ariOf)
	m.LowerIsBetter = true
	return m
}

// textCounts are the counts that the formulas are of.
type textCounts struct{ sentences, words, syllables, characters int }

func (t textCounts) wordsPerSentence() float64 { return float64(t.words) / float64(t.sentences) }
func (t textCounts) syllablesPerWord() float64 { return float64(t.syllables) / float64(t.words) }

func fleschOf(t textCounts) float64 {
	return 206.835 - 1.015*t.wordsPerSentence() - 84.6*t.syllablesPerWord()
}

func kincaidOf(t textCounts) float64 {
	return 0.39*t.wordsPerSentence() + 11.8*t.syllablesPerWord() - 15.59
}

func ariOf(t textCounts) float64 {
	return 4.71*float64(t.characters)/float64(t.words) + 0.5*t.wordsPerSentence() - 21.43
}

func readability(name, doc, source, formula string, lo, hi float64, of func(textCounts) float64) metrics.Metric {
	return metrics.Metric{
		Name: name, Doc: doc, Source: source, Formula: formula + ", held to the range", Calls: "none",
		Min: lo, Max: hi, Needs: metrics.Answer,
		Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			t := countText(s.Answer)
			if t.words == 0 {
				return metrics.Score{}, fmt.Errorf("%w: the answer has no words", metrics.ErrNotApplicable)
			}
			if told := languageOf(s.Answer); !slices.Equal(told.languages, []string{"en"}) {
				return metrics.Score{}, fmt.Errorf("%w: the formula is for English, and the answer is %v",
					metrics.ErrNotApplicable, told)
			}
			value := of(t)
			score := metrics.Score{Value: metrics.Clamp(value, lo, hi), Because: []metrics.Finding{{Kind: "note",
				Text: fmt.Sprintf("sentences: %d, words: %d, syllables: %d, letters and digits: %d", t.sentences,
					t.words, t.syllables, t.characters)}}}
			if value != score.Value {
				score.Because = append(score.Because, metrics.Finding{Kind: "note",
					Text: fmt.Sprintf("the formula gives %.1f, beyond the range", value)})
			}
			return score, nil
		},
	}
}

// countText counts what the formulas need. A sentence without words is none.
func countText(text string) textCounts {
	var t textCounts
	for _, sentence := range tokenize.Sentences(text) {
		words := tokenize.Words(sentence.Text)
		if len(words) == 0 {
			continue
		}
		t.sentences++
		t.words += len(words)
		for _, word := range words {
			t.syllables += syllables(word)
			for _, r := range word {
				if unicode.IsLetter(r) || unicode.IsNumber(r) {
					t.characters++
				}
			}
		}
	}
	return t
}

var (
	vowelGroup = regexp.MustCompile(`[aeiouy]+`)
	// apart are vowels side by side that are spoken apart, and endings with a vowel that is not written.
	apart = regexp.MustCompile(`[^cgstx]i[au]|[^cgnstx]io|[aeiouy]ing|[^gq]ua|uou|creat|` +
		`reac[tq]|theat|idea|area|[dp]oe[mt]|[aeiouy]sm$|thm$|[^aeiouy]n't$|scie|quie|die[nt]`)
	// which are not, and an e within that is silent
	together = regexp.MustCompile(`lli[ao]n|iage|suade|creatu|every|some[a-z]|busin`)
)

// syllables estimates the syllables of an English word: its groups of vowels, less a silent e at its end,
// more where two vowels are spoken apart. A word of digits counts one.
func syllables(word string) int {
	word = strings.TrimSuffix(strings.ToLower(word), "'s")
	n := len(vowelGroup.FindAllString(word, -1)) +
		len(apart.FindAllString(word, -1)) - len(together.FindAllString(word, -1))
	if silentE(word) {
		n--
	}
	return max(1, n)
}

// silentE reports whether the e of a word's end, "e", "es" or "ed", is silent.
func silentE(word string) bool {
	stem, ending := word, ""
	for _, ending = range []string{"e", "es", "ed"} {
		if cut, ok := strings.CutSuffix(word, ending); ok {
			stem = cut
			break
		}
	}
	if len(stem) < 2 || stem == word {
		return false
	}
	last, before := stem[len(stem)-1], stem[len(stem)-2]
	vowel := func(c byte) bool { return strings.IndexByte("aeiouy", c) >= 0 }
	switch {
	case vowel(last), (last == 'l' || last == 'r') && !vowel(before): // "tree", "table", "centre"
		return false
	case ending == "es":
		return !strings.ContainsRune("sxzcg", rune(last)) && !(last == 'h' && (before == 'c' || before == 's'))
	case ending == "ed":
		return last != 't' && last != 'd'
	}
	return true
}
