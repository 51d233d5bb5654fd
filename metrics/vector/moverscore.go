package vector

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// moverscore is MoverScore of unigrams: the word mover's (earth mover's) distance between the tokens of answer
// and reference. Unlike BERTScore's greedy alignment, optimal transport matches all tokens at once, so that none
// can be matched twice over. As in the paper a token weighs by its idf, counted over the dataset's references for
// both texts.
func moverscore() metrics.Metric {
	m := moverscoreUniform()
	m.Name = "answer_similarity/moverscore"
	m.Doc += ", where rare tokens weigh more"
	m.Source = "MoverScore (Zhao et al. 2019, arXiv 1909.02622), section 3, of single tokens"
	m.Formula = strings.ReplaceAll(m.Formula, "mean", "weighted mean") + idfFormula
	m.Calls += idfCalls
	m.Prepare = []*metrics.Preparation{countReferences}
	m.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		return scoreMover(ctx, m, s, frequencies(m))
	}
	return m
}

// moverscoreUniform gives every token that holds a letter or digit the same weight, whatever other rows hold.
func moverscoreUniform() metrics.Metric {
	return metrics.Metric{
		Name:   "answer_similarity/moverscore_uniform",
		Doc:    "inverse of the word mover's distance between the token embeddings of answer and reference",
		Source: "MoverScore (Zhao et al. 2019, arXiv 1909.02622), section 3, of unigrams, without idf",
		Formula: "maximum over references of 1 / (1 + W), W the optimal transport cost between the two texts' tokens " +
			"under Euclidean distance",
		Calls: "token embeddings of 1 text for the answer, 1 for each reference",
		Min:   1.0 / 3,
		Max:   1,
		Needs: metrics.Answer | metrics.References,
		Asks:  metrics.Asks{backend.Embedder: backend.CanEmbedTokens},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return scoreMover(ctx, m, s, nil)
		},
	}
}

// scoreMover transports the answer's tokens to each reference's, as f weighs them.
func scoreMover(ctx context.Context, m metrics.Models, s *metrics.Sample, f *Frequencies) (metrics.Score, error) {
	answer, references, err := answerAndReferences(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	refused := fmt.Errorf("%w: the answer or every reference has no words", metrics.ErrNotApplicable)
	answer = withWords(answer)
	var best metrics.Score
	for _, reference := range references {
		reference = withWords(reference)
		if len(answer.tokens) == 0 || len(reference.tokens) == 0 {
			continue
		}
		from, to := withWeight(f.weigh(answer)), withWeight(f.weigh(reference))
		if len(from.tokens) == 0 || len(to.tokens) == 0 {
			refused = errWeightless()
			continue
		}
		cost := make([][]float64, len(from.vectors))
		for i, v := range from.vectors {
			cost[i] = make([]float64, len(to.vectors))
			for k, w := range to.vectors {
				cost[i][k] = euclidean(v, w)
			}
		}
		far, flow := transport(newTransporter(cost, from.weights, to.weights))
		if value := metrics.Clamp(1/(1+far), 1.0/3, 1); value > best.Value {
			note := metrics.Finding{Kind: "note", Text: fmt.Sprintf("reference %d: mean distance %.3f",
				to.places[0], far)}
			best = metrics.Score{Value: value, Because: append([]metrics.Finding{note},
				f.tokenFindings(from, to, mostMoved(cost, flow), "reference")...)}
		}
	}
	if best.Value == 0 {
		return metrics.Score{}, refused
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
	return t.only(func(i int) bool { return tokenize.HasWords(t.tokens[i]) })
}

// withWeight leaves out the tokens that weigh nothing.
func withWeight(t tokenText) tokenText {
	return t.only(func(i int) bool { return t.weights == nil || t.weights[i] > 0 })
}

// mostMoved tells for each token where most of its mass went. The cosine is that of the two embeddings, as
// elsewhere.
func mostMoved(cost [][]float64, flow [][]int64) []tokenMatch {
	matches := make([]tokenMatch, len(cost))
	for i, row := range flow {
		to := 0
		for k, n := range row {
			if n > row[to] {
				to = k
			}
		}
		matches[i] = tokenMatch{metrics.Clamp(1-cost[i][to]*cost[i][to]/2, -1, 1), to}
	}
	return matches
}

// A transporter is a transport problem: rows and columns each hold the same mass altogether, and moving a unit of
// it from row i to column k costs cost[i][k]. All amounts are whole numbers. It is solved exactly as a
// minimum-cost flow by successive shortest augmenting paths (Edmonds and Karp 1972, with potentials so that no
// edge of the residual graph has a negative length).
type transporter struct {
	cost           [][]float64
	flow           [][]int64
	supply, demand []int64   // what rows still hold, and what columns still want
	row, column    []float64 // potentials: cost[i][k] - row[i] - column[k] is at least 0, and 0 where mass flows
}

// newTransporter spreads the mass by weights, which add up to 1, or evenly where they are nil.
func newTransporter(cost [][]float64, rows, columns []float64) *transporter {
	n, m := len(cost), len(cost[0])
	t := &transporter{cost: cost, row: make([]float64, n), column: make([]float64, m)}
	for range n {
		t.flow = append(t.flow, make([]int64, m))
	}
	if rows == nil && columns == nil {
		t.supply, t.demand = slices.Repeat([]int64{int64(m)}, n), slices.Repeat([]int64{int64(n)}, m)
	} else {
		t.supply, t.demand = units(rows), units(columns)
	}
	return t
}

// units cuts a mass of 2^50 by weights, to within one unit, such that nothing of it is lost.
func units(weights []float64) []int64 {
	const mass int64 = 1 << 50
	list := make([]int64, len(weights))
	sum, given := 0.0, int64(0)
	for i, w := range weights {
		sum += w
		list[i] = min(mass, int64(math.Round(sum*float64(mass)))) - given
		given += list[i]
	}
	list[len(list)-1] += mass - given
	return list
}

// transport solves t, and returns the least mean cost and the flow.
func transport(t *transporter) (mean float64, flow [][]int64) {
	mass := int64(0)
	for _, n := range t.supply {
		mass += n
	}
	return t.solve() / float64(mass), t.flow
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

// augment sends as much as it can from a row that still holds some along the shortest path (Dijkstra's) to a
// column that still wants some. Rows are the first nodes, columns those after them.
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
