package stats

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Confusion is how said relates to true, both of yes and no, each share with an interval. A share of no rows has N 0.
type Confusion struct {
	TruePositives, FalsePositives, TrueNegatives, FalseNegatives int

	Precision   Summary // of the rows that are said to be true, those that are
	Recall      Summary // of the rows that are true, those that are said to be: sensitivity, TPR
	Specificity Summary // of the rows that are false, those that are said to be: TNR
}

// Count counts how said relates to labels, without the shares.
func Count(said, labels []bool) Confusion {
	var c Confusion
	for i, yes := range said {
		switch {
		case yes && labels[i]:
			c.TruePositives++
		case yes:
			c.FalsePositives++
		case labels[i]:
			c.FalseNegatives++
		default:
			c.TrueNegatives++
		}
	}
	return c
}

// Confused counts how said relates to labels.
func Confused(said, labels []bool, o Options) Confusion {
	c := Count(said, labels)
	part := func(of func(i int) (counts, yes bool)) Summary {
		var values []float64
		var groups []string
		for i := range said {
			counts, yes := of(i)
			if !counts {
				continue
			}
			v := 0.0
			if yes {
				v = 1
			}
			values, groups = append(values, v), append(groups, o.group(i))
		}
		own := o
		own.Min, own.Max, own.Groups = 0, 1, groups
		return Of(values, own)
	}
	c.Precision = part(func(i int) (bool, bool) { return said[i], labels[i] })
	c.Recall = part(func(i int) (bool, bool) { return labels[i], said[i] })
	c.Specificity = part(func(i int) (bool, bool) { return !labels[i], !said[i] })
	return c
}

// MCC is Matthews' correlation coefficient, the correlation of two columns of yes and no: 1 is perfect, 0 is chance, and
// it does not profit from one of them being frequent (Matthews 1975, BBA 405). With a BCa interval.
func MCC(said, labels []bool, o Options) (Estimate, error) {
	x, y := make([]float64, len(said)), make([]float64, len(said))
	for i := range said {
		if said[i] {
			x[i] = 1
		}
		if labels[i] {
			y[i] = 1
		}
	}
	return estimate(len(said), pearson(x, y), o, "one side says the same of all rows: there is no correlation")
}

// RoganGladen estimates how many rows of a population are true from how many are said to be, and from the errors that
// were seen on labelled rows: (share said + TNR - 1) / (TPR + TNR - 1), held to [0, 1] (Rogan and Gladen 1978, American
// Journal of Epidemiology 107). It assumes that the errors are as frequent among all rows as among the labelled ones, of
// true and of false rows each. The interval is that of Lang and Reiczigel 2014 (Preventive Veterinary Medicine 113), which
// allows for the labelled rows being few; rows of a group are not told apart from others. It is an error where what is
// said is no better than chance.
func RoganGladen(said, rows int, c Confusion, level float64) (Estimate, error) {
	positives, negatives := c.TruePositives+c.FalseNegatives, c.TrueNegatives+c.FalsePositives
	e := Estimate{N: rows}
	if rows == 0 || positives == 0 || negatives == 0 {
		return e, errors.New("it takes labelled rows that are true and some that are false")
	}
	if level == 0 {
		level = 0.95
	}
	tpr, tnr := float64(c.TruePositives)/float64(positives), float64(c.TrueNegatives)/float64(negatives)
	if tpr+tnr <= 1 {
		return e, fmt.Errorf("what is said is no better than chance: TPR %.2f and TNR %.2f", tpr, tnr)
	}
	held := func(v float64) float64 { return min(max(v, 0), 1) }
	e.Value = held((float64(said)/float64(rows) + tnr - 1) / (tpr + tnr - 1))

	z := distuv.UnitNormal.Quantile((1 + level) / 2)
	n, n1, n0 := float64(rows)+z*z, float64(positives)+2, float64(negatives)+2
	p := (float64(said) + z*z/2) / n
	tpr, tnr = (float64(c.TruePositives)+1)/n1, (float64(c.TrueNegatives)+1)/n0
	youden := tpr + tnr - 1
	if youden <= 0 {
		e.warn("too few labelled rows: no interval")
		return e, nil
	}
	share := (p + tnr - 1) / youden
	ofTPR, ofTNR := tpr*(1-tpr)/n1, tnr*(1-tnr)/n0
	shift := 2 * z * z * (share*ofTPR - (1-share)*ofTNR)
	half := z * math.Sqrt(p*(1-p)/n+share*share*ofTPR+(1-share)*(1-share)*ofTNR) / youden
	e.Interval = &Interval{Lo: held(share + shift - half), Hi: held(share + shift + half), Level: level,
		Method: LangReiczigel}
	return e, nil
}

// LangReiczigel is the method of intervals by [RoganGladen].
const LangReiczigel Method = "lang-reiczigel"
