package retrieval

import "math"

// A ranking is what a retriever returned for a query, each passage as its grade, and what the measures need of
// the qrels besides. A passage of grade 1 or more is relevant.
//
// The measures are trec_eval's. A cutoff k looks at the first k passages, and k = 0 at all of them. A ranking
// that is shorter than k counts as one that goes on with irrelevant passages.
type ranking struct {
	grades     []int // of what was retrieved, best first
	ideal      []int // the grades of all relevant passages, highest first
	irrelevant int   // how many passages were judged irrelevant
}

// Grades of unjudged passages.
const (
	unpooled = -1 // it was not in the pool, and so not judged
	unjudged = -2 // it was in the pool of passages to judge, but not in the sample that was judged
)

func (r *ranking) relevant() int { return len(r.ideal) }

// within is how many passages a cutoff lets through.
func (r *ranking) within(k int) int {
	if k == 0 {
		return len(r.grades)
	}
	return min(k, len(r.grades))
}

// hits counts the relevant passages within a cutoff.
func (r *ranking) hits(k int) int {
	n := 0
	for _, g := range r.grades[:r.within(k)] {
		if g > 0 {
			n++
		}
	}
	return n
}

// size is what a cutoff divides by: k itself, however few passages there are.
func (r *ranking) size(k int) int {
	if k == 0 {
		return len(r.grades)
	}
	return k
}

// portion is n/of, and 0 where of is 0.
func portion(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func (r *ranking) precision(k int) float64 { return portion(r.hits(k), r.size(k)) }
func (r *ranking) recall(k int) float64    { return portion(r.hits(k), r.relevant()) }

// f is the harmonic mean of precision and recall.
func (r *ranking) f(k int) float64 { return portion(2*r.hits(k), r.size(k)+r.relevant()) }

// relativePrecision is the precision over the highest possible at the cutoff.
func (r *ranking) relativePrecision(k int) float64 {
	return portion(r.hits(k), min(r.size(k), r.relevant()))
}

// setMAP is precision times recall, for an unranked result set.
func (r *ranking) setMAP() float64 { return r.precision(0) * r.recall(0) }

func (r *ranking) hit(k int) float64 { return float64(min(r.hits(k), 1)) }

// reciprocalRank is one over the rank of the first relevant passage.
func (r *ranking) reciprocalRank(k int) float64 {
	for i, g := range r.grades[:r.within(k)] {
		if g > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

// averagePrecision is the mean, over all relevant passages, of the precision at their ranks; 0 for those that
// were not retrieved.
func (r *ranking) averagePrecision(k int) float64 {
	sum, found := 0.0, 0
	for i, g := range r.grades[:r.within(k)] {
		if g > 0 {
			found++
			sum += float64(found) / float64(i+1)
		}
	}
	return sum / float64(max(r.relevant(), 1))
}

// leastMean is the floor of values in a geometric mean, as in trec_eval: one 0 would make it 0.
const leastMean = 0.00001

func logFloored(v float64) float64 { return math.Log(max(v, leastMean)) }

// The gain of a grade, linear and exponential.
func linearGain(grade int) float64      { return float64(max(grade, 0)) }
func exponentialGain(grade int) float64 { return math.Exp2(float64(max(grade, 0))) - 1 }

// dcg is the discounted cumulative gain of a list of grades.
func dcg(grades []int, worth func(grade int) float64) float64 {
	sum := 0.0
	for i, g := range grades {
		sum += discounted(worth(g), i)
	}
	return sum
}

// discounted is the discounted gain at index i of a ranking.
func discounted(gain float64, i int) float64 { return gain / math.Log2(float64(i+2)) }

func (r *ranking) ndcg(k int, worth func(grade int) float64) float64 {
	ideal := r.ideal
	if k > 0 {
		ideal = ideal[:min(k, len(ideal))]
	}
	if len(ideal) == 0 {
		return 0
	}
	return dcg(r.grades[:r.within(k)], worth) / dcg(ideal, worth)
}

// ndcgRelevant is nDCG at the rank of each relevant passage, averaged over all of them; one that was not
// retrieved has that of the whole ranking.
func (r *ranking) ndcgRelevant() float64 {
	sum, have, ideal, found := 0.0, 0.0, 0.0, 0
	for i, g := range r.grades {
		have += discounted(linearGain(g), i)
		if i < len(r.ideal) {
			ideal += discounted(linearGain(r.ideal[i]), i)
		}
		if g > 0 {
			found++
			sum += have / ideal
		}
	}
	missing := float64(r.relevant() - found)
	return (sum + missing*r.ndcg(0, linearGain)) / float64(max(r.relevant(), 1))
}

// ndcgLevels is nDCG averaged over the cutoffs at which the ideal ranking goes on with a lower grade, and the
// end of the ranking where that is further down: more than one passage further, as in trec_eval.
func (r *ranking) ndcgLevels() float64 {
	sum, n := 0.0, 0
	for i, g := range r.ideal {
		if i+1 == len(r.ideal) || r.ideal[i+1] != g {
			sum += r.ndcg(i+1, linearGain)
			n++
		}
	}
	if len(r.grades) > len(r.ideal)+1 {
		sum += r.ndcg(0, linearGain)
		n++
	}
	return sum / float64(max(n, 1))
}

// rPrecision is R-precision: the precision at a multiple of the number of relevant passages, rounded as in
// trec_eval.
func (r *ranking) rPrecision(multiple float64) float64 {
	// The conversion keeps product and sum from becoming a fused multiply-add, which rounds differently.
	return r.precision(max(int(float64(multiple*float64(r.relevant()))+0.9), 1))
}

// recallLevels are those of the 11-point interpolated average precision.
var recallLevels = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}

// interpolatedPrecision is the highest precision at any rank where the recall is the level or more; the number
// of relevant passages that make the level is rounded.
func (r *ranking) interpolatedPrecision(level float64) float64 {
	need := int(math.Round(level * float64(r.relevant())))
	best, found := 0.0, 0
	for i, g := range r.grades {
		if g > 0 {
			found++
		}
		if found >= need {
			best = max(best, float64(found)/float64(i+1))
		}
	}
	return best
}

func (r *ranking) elevenPoints() float64 {
	sum := 0.0
	for _, level := range recallLevels {
		sum += r.interpolatedPrecision(level)
	}
	return sum / float64(len(recallLevels))
}

// bpref is the share of pairs of a relevant and an irrelevant passage, both judged, that the ranking has in the
// right order. No more irrelevant passages count than there are relevant ones.
func (r *ranking) bpref() float64 {
	sum, above := 0.0, 0
	for _, g := range r.grades {
		switch {
		case g == 0:
			above++
		case g > 0 && above > 0:
			sum += 1 - portion(min(above, r.relevant()), min(r.irrelevant, r.relevant()))
		case g > 0:
			sum++
		}
	}
	return sum / float64(max(r.relevant(), 1))
}

// inferredAP is infAP: it estimates average precision from judgements of a random sample of the pool.
func (r *ranking) inferredAP() float64 {
	const little = 0.00001 // trec_eval's
	sum := 0.0
	found, irrelevant, inPool := 0.0, 0.0, 0.0
	for i, g := range r.grades {
		above := float64(i)
		switch {
		case g == unjudged:
			inPool++
		case g == 0:
			irrelevant++
			inPool++
		case g > 0 && i == 0:
			sum++
			found++
			inPool++
		case g > 0:
			// The expected precision here: this passage, and those above by the share of them in the pool
			// and the share of relevant ones in what is judged.
			sum += 1/(above+1) + above/(above+1)*(inPool/above)*((found+little)/(found+irrelevant+2*little))
			found++
			inPool++
		}
	}
	return sum / float64(max(r.relevant(), 1))
}

// binaryG is the mean over the relevant passages of one over the logarithm of the irrelevant ones ranked above.
func (r *ranking) binaryG() float64 {
	sum, found := 0.0, 0
	for i, g := range r.grades {
		if g > 0 {
			found++
			sum += 1 / math.Log2(float64(3+i-found))
		}
	}
	return sum / float64(max(r.relevant(), 1))
}

// g is binaryG for grades: a passage is discounted by how far the gains so far are behind what the ideal ranking
// has, where each rank costs at least 1.
func (r *ranking) g() float64 {
	sum, have, could := 0.0, 0.0, 0.0
	for i, grade := range r.grades {
		have += linearGain(grade)
		cost := 1.0
		if i < len(r.ideal) {
			cost = max(cost, linearGain(r.ideal[i]))
		}
		could += cost
		sum += linearGain(grade) / math.Log2(2+could-have)
	}
	all := 0.0
	for _, grade := range r.ideal {
		all += linearGain(grade)
	}
	return sum / max(all, 1)
}

// rankBiasedPrecision is the expected gain, per passage seen, of a user who goes from each passage to the next
// with probability p, the persistence.
func (r *ranking) rankBiasedPrecision(p float64) float64 {
	return r.expectedReading(p, func(grade int) bool { return grade > 0 })
}

// rankBiasedResidual is how much higher it could be, if unjudged and unretrieved passages were relevant.
func (r *ranking) rankBiasedResidual(p float64) float64 {
	rest := math.Pow(p, float64(len(r.grades)))
	return min(rest+r.expectedReading(p, func(grade int) bool { return grade < 0 }), 1)
}

// expectedReading is the expected share of a kind in what such a user sees.
func (r *ranking) expectedReading(p float64, kind func(grade int) bool) float64 {
	sum, chance := 0.0, 1.0
	for _, g := range r.grades {
		if kind(g) {
			sum += chance
		}
		chance *= p
	}
	return min((1-p)*sum, 1) // rounding may carry it beyond
}

// expectedReciprocalRank is the expectation of one over the rank at which a user stops, who is satisfied by a
// passage of grade g with probability (2^g - 1)/2^most (cascade model).
func (r *ranking) expectedReciprocalRank(k, most int) float64 {
	sum, reading := 0.0, 1.0
	for i, g := range r.grades[:r.within(k)] {
		content := exponentialGain(g) / math.Exp2(float64(most))
		sum += reading * content / float64(i+1)
		reading *= 1 - content
	}
	return sum
}

// unjudgedShare is the share of unjudged passages.
func (r *ranking) unjudgedShare(k int) float64 {
	n := 0
	for _, g := range r.grades[:r.within(k)] {
		if g < 0 {
			n++
		}
	}
	return portion(n, r.size(k))
}

// highest is the highest grade of any passage.
func (r *ranking) highest() int {
	if len(r.ideal) == 0 {
		return 0
	}
	return r.ideal[0]
}
