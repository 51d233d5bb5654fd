package profile

import (
	"fmt"
	"math"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

// A spanReader reads the numbers that a token classification head gives for each token of the answer. The answer's
// value is 1 less the highest probability, of any token, that it is not supported; tokens beside each other with a
// probability of at least the threshold make a span.
type spanReader struct {
	headReader
	threshold float64
}

// A token is a stretch of the answer and the probability that it is not supported.
type token struct {
	span   backend.Span
	chance float64
}

// ofTokens reads what a head says about the tokens of an answer.
func (r *reading) ofTokens(info backend.Info, e backend.Encoded) (outcome, error) {
	at, err := r.spans.index(info)
	if err != nil {
		return outcome{}, err
	}
	var o outcome
	worst := 0.0
	for i, numbers := range e.Vectors {
		if at >= len(numbers) || len(numbers) < 2 {
			return outcome{}, fmt.Errorf("%s gives %d numbers for a token, and the profile reads number %d of several",
				info.Model, len(numbers), at+1)
		}
		p := softmax(numbers)[at]
		if math.IsNaN(p) {
			return outcome{}, fmt.Errorf("%s gives a number that is none", info.Model)
		}
		worst = max(worst, p)
		o.tokens = append(o.tokens, token{e.Spans[i], p})
	}
	if o.tokens == nil {
		return outcome{}, fmt.Errorf("%w: the answer has no token", metrics.ErrNotApplicable)
	}
	o.value = 1 - worst
	return o, nil
}

// overChunks combines what was said about one answer beside several windows of the contexts: of each token the highest
// probability, or as by says.
func overChunks(by string, list []outcome) (outcome, error) {
	all := outcome{value: 1, tokens: make([]token, len(list[0].tokens))}
	for i := range all.tokens {
		var chances []float64
		for _, o := range list {
			if len(o.tokens) != len(all.tokens) || o.tokens[i].span != list[0].tokens[i].span {
				return outcome{}, fmt.Errorf("the answer has other tokens beside another window")
			}
			chances = append(chances, o.tokens[i].chance)
		}
		all.tokens[i] = token{list[0].tokens[i].span, combined(by, chances)}
		all.value = min(all.value, 1-all.tokens[i].chance)
	}
	return all, nil
}

// marks returns the spans of an answer whose tokens all have a probability of at least the threshold. Tokens with
// nothing but white space between them are neighbours.
func (r *reading) marks(answer string, tokens []token) []metrics.Mark {
	var list []metrics.Mark
	before := false // whether the token before is in a span
	for _, t := range tokens {
		if t.span.Low == t.span.High {
			continue
		}
		in := t.chance >= r.spans.threshold
		switch last := len(list) - 1; {
		case !in:
		case before && strings.TrimSpace(answer[list[last].High:max(list[last].High, t.span.Low)]) == "":
			list[last].High = max(list[last].High, t.span.High)
			list[last].Value = max(list[last].Value, t.chance)
		default:
			list = append(list, metrics.Mark{Low: t.span.Low, High: t.span.High, Value: t.chance})
		}
		before = in
	}
	return list
}
