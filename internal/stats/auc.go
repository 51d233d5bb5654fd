package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// DeLong is the interval from the variance of the area under the ROC curve (DeLong, DeLong and Clarke-Pearson 1988,
// Biometrics 44) on the logit scale, where the area is more nearly normal and cannot leave [0, 1] (Pepe 2003,
// section 5.2.5).
const DeLong Method = "delong"

const oneClass = "all labels are alike: there is nothing to tell apart"

// AUC is the area under the ROC curve: the probability that a row whose label is true has a higher score than one
// whose label is false, ties counted half. The interval is DeLong's; of clustered rows, BCa over the groups.
// gonum's stat.ROC draws the curve, of sorted scores; the area needs only ranks.
func AUC(scores []float64, labels []bool, o Options) (Estimate, error) {
	area := auc(scores, labels)
	if slices.ContainsFunc(o.Groups, func(g string) bool { return g != "" }) {
		return estimate(len(scores), area, o, oneClass)
	}
	value, ok := area(ones(len(scores)))
	if !ok {
		return estimate(len(scores), area, o, oneClass) // for its error
	}
	e := Estimate{Value: value, N: len(scores)}
	variance, least := placements(scores, labels)
	switch {
	case value == 0 || value == 1:
		e.Interval = separated(value, least, o.level())
		e.warn("the scores tell the labels apart without an error: the interval says how far others could pull it")
	case variance == 0:
		e.warn("too few rows of one label: no interval")
	default:
		e.Interval = onLogit(value, math.Sqrt(variance), o.level())
	}
	if least < few/2 {
		e.warn("only %d rows of one label: the interval is rough", least)
	}
	return e, nil
}

// AUCDifference compares the areas of two scores for the same labels: the second's less the first's.
func AUCDifference(first, second []float64, labels []bool, o Options) (Difference, error) {
	return differenceOf(len(labels), auc(first, labels), auc(second, labels), o, oneClass)
}

func auc(scores []float64, labels []bool) statistic {
	order := sorted(scores)
	return func(weight []float64) (float64, bool) {
		wins, falses, trues := 0.0, 0.0, 0.0
		for at := 0; at < len(order); {
			end, here := tie(scores, order, weight, at)
			t := 0.0
			for _, i := range order[at:end] {
				if labels[i] {
					t += weight[i]
				}
			}
			f := here - t
			wins += t * (falses + f/2)
			falses, trues = falses+f, trues+t
			at = end
		}
		if falses == 0 || trues == 0 {
			return 0, false
		}
		return wins / (falses * trues), true
	}
}

// placements returns DeLong's variance of the area, and how many rows the rarer label has. A row's placement
// is the share of rows of the other label that it is ranked rightly against: its rank among all less its rank among
// its own, over their number (Sun and Xu 2014, IEEE Signal Processing Letters 21).
func placements(scores []float64, labels []bool) (variance float64, least int) {
	var own [2][]float64
	var at [2][]int
	for i, v := range scores {
		k := 0
		if labels[i] {
			k = 1
		}
		own[k], at[k] = append(own[k], v), append(at[k], i)
	}
	all := make([]float64, len(scores))
	ranks(all, scores, sorted(scores), ones(len(scores)))
	for k, values := range own {
		among := make([]float64, len(values))
		ranks(among, values, sorted(values), ones(len(values)))
		var m moments
		for j, i := range at[k] {
			m.add((all[i] - among[j]) / float64(len(own[1-k])))
		}
		if m.n < 2 {
			return 0, m.n
		}
		variance += m.m2 / float64((m.n-1)*m.n)
	}
	return variance, min(len(own[0]), len(own[1]))
}

func onLogit(v, deviation, level float64) *Interval {
	half := distuv.UnitNormal.Quantile((1+level)/2) * deviation / (v * (1 - v))
	z := logit(v)
	return &Interval{Lo: Logistic(z - half), Hi: Logistic(z + half), Level: level, Method: DeLong}
}

// separated is the interval of an area of 0 or 1. Of k rows with either label, k pairs share no row; if the area
// were a, all of them would be in order with probability a^k.
func separated(v float64, k int, level float64) *Interval {
	a := math.Pow(1-level, 1/float64(k))
	if v == 0 {
		return &Interval{Lo: 0, Hi: 1 - a, Level: level, Method: Exact}
	}
	return &Interval{Lo: a, Hi: 1, Level: level, Method: Exact}
}

func logit(p float64) float64 { return math.Log(p) - math.Log1p(-p) }

// Logistic is the probability that log odds of z stand for.
func Logistic(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// Accuracy is the share of rows in which a score of at least the threshold goes with a true label, and a lower one
// with a false one.
func Accuracy(scores []float64, labels []bool, threshold float64, o Options) Summary {
	right := make([]float64, len(scores))
	for i, v := range scores {
		if (v >= threshold) == labels[i] {
			right[i] = 1
		}
	}
	o.Min, o.Max = 0, 1
	return Of(right, o)
}

// BestThreshold is the threshold with the highest accuracy on these rows, half-way between two scores where it can
// be, and that accuracy. It is optimistic, in-sample: the threshold was fitted to these labels. See
// [CrossValidatedAccuracy].
func BestThreshold(scores []float64, labels []bool) (threshold, accuracy float64) {
	order := sorted(scores)
	right := 0 // with everything taken for true
	for _, l := range labels {
		if l {
			right++
		}
	}
	if len(order) == 0 {
		return 0, 0
	}
	best := right
	threshold = scores[order[0]]
	for at := 0; at < len(order); {
		end, _ := tie(scores, order, scores, at)
		for _, i := range order[at:end] { // from here on taken for false
			if labels[i] {
				right--
			} else {
				right++
			}
		}
		if right > best {
			best = right
			low := scores[order[at]]
			threshold = math.Nextafter(low, math.Inf(1))
			if end < len(order) {
				threshold = low + (scores[order[end]]-low)/2
			}
		}
		at = end
	}
	return threshold, float64(best) / float64(len(order))
}

// CrossValidatedAccuracy is the out-of-sample accuracy of the best threshold, by ten-fold cross-validation: each fold
// is classified by the threshold that is best on the others. The interval takes the rows' outcomes for independent,
// though their thresholds share rows.
func CrossValidatedAccuracy(scores []float64, labels []bool, o Options) Summary {
	right := make([]float64, len(scores))
	part := folds(len(scores), foldCount, o)
	for k := range foldCount {
		if o.err() != nil {
			break
		}
		var s []float64
		var l []bool
		for i := range scores {
			if part[i] != k {
				s, l = append(s, scores[i]), append(l, labels[i])
			}
		}
		threshold, _ := BestThreshold(s, l)
		for i, v := range scores {
			if part[i] == k && len(s) > 0 && (v >= threshold) == labels[i] {
				right[i] = 1
			}
		}
	}
	o.Min, o.Max = 0, 1
	return Of(right, o)
}

const foldCount = 10
