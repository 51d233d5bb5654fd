package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/tokenize"
)

// moverscore is MoverScore of single tokens: how far the answer's tokens are moved to become the reference's.
// Unlike BERTScore's, the matching is one of all tokens at once, so that none can be matched twice over. Each
// token that holds a letter or digit weighs the same: the paper's weights by rarity want a corpus.
func moverscore() Metric {
	return Metric{
		Name:     "answer_similarity/moverscore",
		Doc:      "how little the answer's tokens must be moved to become the reference's",
		Source:   "MoverScore (Zhao et al. 2019, arXiv 1909.02622), of single tokens, without idf",
		Formula:  "maximum over references of 1 / (1 + W), W the least mean Euclidean distance between tokens over all ways to move one text's into the other's",
		Calls:    "1 text to embed by tokens for the answer, 1 for each reference",
		Min:      1.0 / 3,
		Max:      1,
		Needs:    Answer | References,
		EmbedOps: backend.CanEmbedTokens,
		Score:    scoreMover,
	}
}

func scoreMover(ctx context.Context, m Models, s *Sample) (Score, error) {
	answer, references, err := answerAndReferences(ctx, m, s)
	if err != nil {
		return Score{}, err
	}
	answer = withWords(answer)
	var best Score
	for _, reference := range references {
		reference = withWords(reference)
		if len(answer.tokens) == 0 || len(reference.tokens) == 0 {
			continue
		}
		cost := make([][]float64, len(answer.vectors))
		for i, v := range answer.vectors {
			cost[i] = make([]float64, len(reference.vectors))
			for k, w := range reference.vectors {
				cost[i][k] = euclidean(v, w)
			}
		}
		far, flow := transport(cost)
		if value := clipped(1/(1+far), 1.0/3, 1); value > best.Value {
			best = Score{Value: value, Because: movedTokens(answer, reference, cost, flow)}
			note := Finding{Kind: "note", Text: fmt.Sprintf("reference %d: mean distance %.3f", reference.places[0], far)}
			best.Because = append([]Finding{note}, best.Because...)
		}
	}
	if best.Value == 0 {
		return Score{}, fmt.Errorf("%w: the answer or every reference has no words", ErrNotApplicable)
	}
	return best, nil
}

// euclidean is the distance of two vectors of length 1, in [0, 2].
func euclidean(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		d := float64(x) - float64(b[i])
		sum += d * d
	}
	return min(2, math.Sqrt(sum))
}

// withWords leaves out the tokens without a letter or digit.
func withWords(t tokenText) tokenText {
	var kept tokenText
	for i, token := range t.tokens {
		if tokenize.HasWords(token) {
			kept.tokens = append(kept.tokens, token)
			kept.vectors = append(kept.vectors, t.vectors[i])
			kept.places = append(kept.places, t.places[i])
		}
	}
	return kept
}

// movedTokens shows, of the answer's tokens, those that were moved farthest, and where most of each went. Value is the
// cosine, as elsewhere.
func movedTokens(answer, reference tokenText, cost [][]float64, flow [][]int) []Finding {
	matches := make([]tokenMatch, len(cost))
	for i, row := range flow {
		to := 0
		for k, n := range row {
			if n > row[to] {
				to = k
			}
		}
		matches[i] = tokenMatch{clipped(1-cost[i][to]*cost[i][to]/2, -1, 1), to}
	}
	return weakestTokens(answer, reference, matches, "reference")
}

// transport solves the transport problem exactly: rows and columns each hold the same mass altogether, spread
// evenly, and moving a unit of it from row i to column k costs cost[i][k]. It returns the least mean cost and how
// much goes where; each row holds as many units as there are columns, and the other way round, so that all
// amounts are whole numbers.
//
// It sends mass along shortest paths, one after the other, where paths may take back what was sent before
// (Edmonds and Karp 1972, with potentials so that no edge has a negative length).
func transport(cost [][]float64) (mean float64, flow [][]int) {
	t := newTransporter(cost)
	return t.solve() / float64(len(cost)*len(cost[0])), t.flow
}

// A transporter is a transport problem that is being solved.
type transporter struct {
	cost           [][]float64
	flow           [][]int
	supply, demand []int     // what rows still hold, and what columns still want
	row, column    []float64 // potentials: cost[i][k] - row[i] - column[k] is at least 0, and 0 where mass flows
}

func newTransporter(cost [][]float64) *transporter {
	n, m := len(cost), len(cost[0])
	t := &transporter{cost: cost, supply: make([]int, n), demand: make([]int, m), row: make([]float64, n), column: make([]float64, m)}
	for i := range cost {
		t.flow = append(t.flow, make([]int, m))
		t.supply[i] = m
	}
	for k := range t.demand {
		t.demand[k] = n
	}
	return t
}

// solve sends all mass, and returns what that costs.
func (t *transporter) solve() float64 {
	for row := range t.supply {
		for t.supply[row] > 0 {
			t.augment(row)
		}
	}
	total := 0.0
	for i, list := range t.flow {
		for k, n := range list {
			total += float64(n) * t.cost[i][k]
		}
	}
	return total
}

// augment sends as much as it can from a row that still holds some along the shortest path to a column that still
// wants some (Dijkstra's). Rows are the first nodes, columns those after them.
func (t *transporter) augment(source int) {
	n, m := len(t.row), len(t.column)
	distance, from, done := make([]float64, n+m), make([]int, n+m), make([]bool, n+m)
	for v := range distance {
		distance[v] = math.Inf(1)
	}
	distance[source] = 0
	reach := func(v, u int, d float64) {
		if d < distance[v] {
			distance[v], from[v] = d, u
		}
	}
	end := -1
	for end < 0 {
		u := -1
		for v, d := range distance {
			if !done[v] && (u < 0 || d < distance[u]) {
				u = v
			}
		}
		done[u] = true
		switch {
		case u < n:
			for k, c := range t.cost[u] {
				reach(n+k, u, distance[u]+max(0, c-t.row[u]-t.column[k]))
			}
		case t.demand[u-n] > 0:
			end = u
		default: // what flows into this column may be taken back, at no length
			for i := range n {
				if t.flow[i][u-n] > 0 {
					reach(i, u, distance[u])
				}
			}
		}
	}
	for v, d := range distance {
		if d = min(d, distance[end]); v < n {
			t.row[v] -= d
		} else {
			t.column[v-n] += d
		}
	}
	t.send(source, end-n, from)
}

// send moves what fits along a path, which from gives backwards.
func (t *transporter) send(source, end int, from []int) {
	n := len(t.row)
	amount := min(t.supply[source], t.demand[end])
	for v := n + end; v != source; v = from[v] {
		if v < n {
			amount = min(amount, t.flow[v][from[v]-n])
		}
	}
	for v := n + end; v != source; v = from[v] {
		if v < n {
			t.flow[v][from[v]-n] -= amount
		} else {
			t.flow[from[v]][v-n] += amount
		}
	}
	t.supply[source] -= amount
	t.demand[end] -= amount
}
