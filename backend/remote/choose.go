// Package remote has what the engines that ask a server share: first-token scoring from the tokens that the server
// names, and the control tokens that it would obey in a text.
package remote

import (
	"fmt"
	"math"
	"strings"

	"github.com/assay-eval/assay/backend"
)

// A Token is one that a reply may begin with, and its natural-log probability.
type Token struct {
	Text    string
	LogProb float64
}

// Choose is first-token scoring where a server names no more than the most probable first tokens of a reply: it returns
// for each continuation the logarithm of the probability that the reply's first token is its beginning, with or without
// white space before it. A continuation that none of the tokens begins is given the probability of the last of them,
// which is an upper bound; where that holds for all, it is an error. Two continuations with one beginning are
// [backend.ErrInvalid].
func Choose(top []Token, continuations []string) ([]float64, error) {
	sums := make([]float64, len(continuations))
	least, known := 0.0, false
	for _, t := range top {
		if math.IsNaN(t.LogProb) || t.LogProb > 1e-3 {
			return nil, fmt.Errorf("the server gives %.40q the log-probability %v", t.Text, t.LogProb)
		}
		least = min(least, t.LogProb)
		token := strings.TrimSpace(t.Text)
		if token == "" {
			continue
		}
		owner := -1
		for i, c := range continuations {
			switch {
			case !strings.HasPrefix(strings.TrimSpace(c), token):
			case owner >= 0 && continuations[owner] != c:
				return nil, fmt.Errorf("%w: %.40q and %.40q both begin with the token %.40q: "+
					"the server cannot tell them apart", backend.ErrInvalid, continuations[owner], c, token)
			default:
				sums[i] += math.Exp(t.LogProb)
				owner, known = i, true
			}
		}
	}
	if !known {
		return nil, fmt.Errorf("none of %.100q begins with one of the %d most probable tokens%s", continuations, len(top),
			first(top))
	}
	logs := make([]float64, len(sums))
	for i, sum := range sums {
		logs[i] = least
		if sum > 0 {
			logs[i] = min(0, math.Log(sum))
		}
	}
	return logs, nil
}

// first names the most probable token for a message.
func first(top []Token) string {
	if len(top) == 0 {
		return ""
	}
	return fmt.Sprintf(", %.40q and others", top[0].Text)
}
