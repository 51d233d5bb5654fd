package stats

import (
	"errors"
	"math"
	"slices"
)

// A Strength is how a player does against the others, by the model of Bradley and Terry.
type Strength struct {
	Value    float64 // the natural logarithm of its odds; the mean over players is 0
	Wins     float64 // draws count half
	Games    float64
	Interval *Interval // nil where there are too few rows, or all of them say the same
}

// BradleyTerry fits the model of Bradley and Terry (1952, Biometrika 39), in which player i wins against j with
// probability 1 / (1 + exp(value j - value i)), to games: rows of a score for each player, of which every two of a row are
// a game that the higher score wins; equal scores are half a win for each. NaN is a player that did not play in a row.
// Each player is given half a game more, a draw with one whose odds are 1: without it, one that never loses would have no
// strength. Intervals are by the bootstrap over rows, or groups of them: percentiles of the strengths.
//
// It is an error if fewer than two players have played, or two sets of them never met.
func BradleyTerry(rows [][]float64, o Options) ([]Strength, error) {
	if len(rows) == 0 || len(rows[0]) < 2 {
		return nil, errors.New("it takes rows with the scores of two systems or more")
	}
	players := len(rows[0])
	games := make([][]float64, len(rows)) // by row: the wins of i over j, at i*players + j
	for r, row := range rows {
		games[r] = make([]float64, players*players)
		for i, a := range row {
			for j, b := range row {
				switch {
				case i == j || math.IsNaN(a) || math.IsNaN(b):
				case a > b:
					games[r][i*players+j] = 1
				case a == b:
					games[r][i*players+j] = 0.5
				}
			}
		}
	}
	add := func(weight []float64) []float64 {
		sum := make([]float64, players*players)
		for r, w := range weight {
			if w == 0 {
				continue
			}
			for k, v := range games[r] {
				sum[k] += w * v
			}
		}
		return sum
	}
	whole := add(ones(len(rows)))
	if !connected(whole, players) {
		return nil, errors.New("the systems fall into sets that share no row: they cannot be compared")
	}
	values := fitStrengths(whole, players, make([]float64, players))
	list := make([]Strength, players)
	for i := range list {
		list[i].Value = values[i]
		for j := range players {
			list[i].Wins += whole[i*players+j]
			list[i].Games += whole[i*players+j] + whole[j*players+i]
		}
	}
	units := unitsOf(len(rows), o.Groups)
	if len(units) < 2 {
		return list, nil
	}
	const draws = 1000
	drawn := make([][]float64, players)
	rng := random(o.Seed)
	weight := make([]float64, len(rows))
	for range draws {
		if err := o.err(); err != nil {
			return nil, err
		}
		clear(weight)
		for range units {
			for _, r := range units[rng.IntN(len(units))] {
				weight[r]++
			}
		}
		for i, v := range fitStrengths(add(weight), players, values) {
			drawn[i] = append(drawn[i], v)
		}
	}
	for i := range list {
		slices.Sort(drawn[i])
		if drawn[i][0] == drawn[i][draws-1] {
			continue // every row says the same: resampling would claim certainty
		}
		list[i].Interval = &Interval{Lo: quantile(drawn[i], (1-o.level())/2), Hi: quantile(drawn[i], (1+o.level())/2),
			Level: o.level(), Method: Percentile}
	}
	return list, nil
}

// Percentile is the method of intervals by percentiles of the bootstrap (Efron 1979).
const Percentile Method = "percentile"

// connected reports whether every player met every other, be it through others.
func connected(wins []float64, players int) bool {
	seen := make([]bool, players)
	todo := []int{0}
	seen[0] = true
	count := 1
	for len(todo) > 0 {
		i := todo[0]
		todo = todo[1:]
		for j := range players {
			if !seen[j] && wins[i*players+j]+wins[j*players+i] > 0 {
				seen[j] = true
				count++
				todo = append(todo, j)
			}
		}
	}
	return count == players
}

// fitStrengths is the maximum of the likelihood by minorisation (Hunter 2004, Annals of Statistics 32, section 2), with
// the half game of each player against one whose odds are 1. It begins at the strengths from.
func fitStrengths(wins []float64, players int, from []float64) []float64 {
	odds := make([]float64, players)
	for i, v := range from {
		odds[i] = math.Exp(v)
	}
	const mostRounds = 10_000
	for range mostRounds {
		moved := 0.0
		for i := range players {
			won, met := 0.25, 0.5/(odds[i]+1)
			for j := range players {
				if n := wins[i*players+j] + wins[j*players+i]; i != j && n > 0 {
					won += wins[i*players+j]
					met += n / (odds[i] + odds[j])
				}
			}
			next := won / met
			moved = max(moved, math.Abs(math.Log(next/odds[i])))
			odds[i] = next
		}
		if moved < 1e-8 {
			break
		}
	}
	mean := 0.0
	for i, v := range odds {
		odds[i] = math.Log(v)
		mean += odds[i] / float64(players)
	}
	for i := range odds {
		odds[i] -= mean
	}
	return odds
}
