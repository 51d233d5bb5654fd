package form

import (
	"context"
	_ "embed" // for refusals.txt
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// refusalPhrases finds refusals and noncommittal answers. It is a list of phrases: fast, deterministic, and blind
// to a refusal in other words. Refusing is right where the contexts hold no answer, so that a low value is better
// only where they do.
func refusalPhrases() metrics.Metric {
	return metrics.Metric{
		Name:          "refusal/phrases",
		Doc:           "1 if a sentence of the answer declines to answer, by phrases in 25 languages, else 0",
		Source:        "promptfoo, is-refusal, and Ragas, noncommittal: with phrases of our own",
		Formula:       "1 if any sentence of the answer holds a phrase of refusal or of not knowing, else 0",
		Calls:         "none",
		Default:       true,
		Max:           1,
		LowerIsBetter: true,
		Needs:         metrics.Answer,
		Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			var score metrics.Score
			for i, sentence := range tokenize.Sentences(s.Answer) {
				if phrase := refusalIn(sentence.Text); phrase != "" {
					yes := true
					score.Value = 1
					score.Because = append(score.Because, metrics.Finding{Kind: "sentence", Text: sentence.Text,
						Verdict: &yes,
						Reason:  fmt.Sprintf("it says %q", phrase), Where: fmt.Sprintf("sentence %d", i+1)})
				}
			}
			if score.Because == nil {
				score.Because = []metrics.Finding{{Kind: "note", Text: "no sentence declines to answer"}}
			}
			return score, nil
		},
	}
}

// refusalIn returns the phrase of refusal that a sentence holds, "" if none.
func refusalIn(sentence string) string {
	normal := tokenize.Normalize(sentence)
	for _, p := range refusals() {
		if p.spaced && tokenize.ContainsWords(normal, p.normal) || !p.spaced && strings.Contains(normal, p.normal) {
			return p.text
		}
	}
	return ""
}

type refusalPhrase struct {
	text, normal string
	spaced       bool // its script puts spaces between words
}

// refusalText lists phrases, one a line: all in the first person, or about what was provided, so that sentences about
// somebody else's not knowing do not count.
//
//go:embed refusals.txt
var refusalText string

var refusals = sync.OnceValue(func() []refusalPhrase {
	var list []refusalPhrase
	for line := range strings.Lines(refusalText) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		unspaced := strings.ContainsFunc(line, func(r rune) bool {
			return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
		})
		list = append(list, refusalPhrase{line, tokenize.Normalize(line), !unspaced})
	}
	return list
})
