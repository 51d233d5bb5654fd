// Package retrieval has the measures of a retriever's ranking against relevance judgements. They ask no model (no Ops).
//
// The qrels are a sample's Relevance, graded by passage id, or its ReferenceContextIDs as binary relevance. Measures
// with a cutoff take it after an @ (retrieval/ndcg@10).
//
//   - trec_eval's: precision, recall, F, R-precision, success (hit rate), MRR, MAP, nDCG (Järvelin and Kekäläinen
//     2002), bpref (Buckley and Voorhees 2004), infAP (Yilmaz and Aslam 2006), RBP and its residual (Moffat and Zobel
//     2008), interpolated precision, G and binG. Values are trec_eval 10's.
//   - ERR (Chapelle et al. 2009) and nDCG with exponential gain (Burges et al. 2005).
//   - alpha-nDCG (Clarke et al. 2008) for questions with aspects, and Judged@k.
//   - unitxt's context_correctness and Ragas' context_precision and context_recall without a model: the retrieved
//     contexts matched with the reference contexts, by id, text or Levenshtein similarity.
package retrieval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/metrics"
)

// Metrics are measures of a ranking against qrels: trec_eval's, and those of unitxt and Ragas.
func Metrics() []metrics.Metric {
	return slices.Concat(cutMeasures(), wholeMeasures(), parameterMeasures(), contextCorrectness(), contextMatches(),
		[]metrics.Metric{alphaNDCG(), judgedShare()}, rougeMatches())
}

const trecEval = "trec_eval 10 (NIST)"

// cutMeasures are those that take a cutoff k.
func cutMeasures() []metrics.Metric {
	cut := func(name, doc, source, formula string, of func(r *ranking, k int) float64) metrics.Metric {
		return cuttable(retrieval(name, doc, source, formula), func(k int) scorer {
			return needsRelevant(k, func(r *ranking) (float64, error) { return of(r, k), nil })
		})
	}
	exponential := func(r *ranking, k int) float64 { return r.ndcg(k, exponentialGain) }
	linear := func(r *ranking, k int) float64 { return r.ndcg(k, linearGain) }
	ndcg := cut("ndcg", "normalised discounted cumulative gain (nDCG), with linear gain: a grade is its gain",
		"Järvelin and Kekäläinen 2002; ndcg and ndcg_cut of "+trecEval,
		"sum of grade/log2(rank+1), over that of the ideal ranking", linear)
	ndcg.Default = true
	list := []metrics.Metric{
		ndcg,
		cut("ndcg_exp", "normalised discounted cumulative gain (nDCG), with exponential gain: 2^grade-1",
			"Burges et al. 2005 (RankNet), section 5",
			"sum of (2^grade-1)/log2(rank+1), over that of the ideal ranking", exponential),
		cut("p", "precision: share of the retrieved passages that are relevant", "P and set_P of "+trecEval,
			"relevant passages retrieved / passages retrieved; with a cutoff, / cutoff", (*ranking).precision),
		cut("recall", "share of the relevant passages that were retrieved", "recall and set_recall of "+trecEval,
			"relevant passages retrieved / relevant passages", (*ranking).recall),
		cut("f", "harmonic mean of precision and recall", "van Rijsbergen 1979, chapter 7; set_F of "+trecEval,
			"2 * relevant passages retrieved / (passages retrieved, or cutoff, + relevant passages)", (*ranking).f),
		cut("relative_p", "precision over the highest possible at that cutoff", "relative_P and set_relative_P of "+
			trecEval,
			"relevant passages retrieved / min(passages retrieved, or cutoff; relevant passages)",
			(*ranking).relativePrecision),
		cut("hit", "whether a relevant passage was retrieved (hit rate, success)", "success of "+trecEval,
			"1 if a relevant passage was retrieved, 0 if not", (*ranking).hit),
		cut("mrr", "reciprocal rank of the first relevant passage; its mean is MRR", "recip_rank of "+trecEval,
			"1 / rank of the first relevant passage, 0 without one", (*ranking).reciprocalRank),
		cut("map", "average precision, whose mean is MAP: precision at the rank of each relevant passage",
			"map and map_cut of "+trecEval,
			"sum of the precision at each relevant passage retrieved / relevant passages", (*ranking).averagePrecision),
	}
	shareUnjudged := retrieval("unjudged", "share of the retrieved passages that are unjudged", "unj of "+trecEval,
		"passages retrieved without judgement / passages retrieved; with a cutoff, / cutoff")
	shareUnjudged.LowerIsBetter = true
	list = append(list, cuttable(shareUnjudged, func(k int) scorer {
		return rankingScorer(k, func(r *ranking) (float64, error) { return r.unjudgedShare(k), nil })
	}))
	return append(list, errMeasures()...)
}

// webGrade is the highest grade of the TREC Web Track, for which ERR is mostly computed.
const webGrade = 4

// errMeasures are expected reciprocal rank for each highest grade of a relevance scale. It must be set: the
// highest grade in one sample's qrels need not be that of the scale.
func errMeasures() []metrics.Metric {
	var list []metrics.Metric
	for most := 1; most <= webGrade; most++ {
		name := fmt.Sprintf("err_max%d", most)
		if most == webGrade {
			name = "err"
		}
		m := retrieval(name, fmt.Sprintf("expected reciprocal rank (ERR), with grades from 0 to %d", most),
			"Chapelle et al. 2009, section 4",
			fmt.Sprintf("sum over ranks of 1/rank * R * product of (1-R) above, R = (2^grade-1)/2^%d", most))
		list = append(list, cuttable(m, func(k int) scorer {
			return needsRelevant(k, func(r *ranking) (float64, error) {
				if r.highest() > most {
					return 0, fmt.Errorf("a passage has grade %d, and %s takes grades up to %d", r.highest(),
						m.Name, most)
				}
				return r.expectedReciprocalRank(k, most), nil
			})
		}))
	}
	return list
}

// wholeMeasures are those without a cutoff.
func wholeMeasures() []metrics.Metric {
	whole := func(name, doc, source, formula string, of func(r *ranking) float64) metrics.Metric {
		m := retrieval(name, doc, source, formula)
		m.Score = needsRelevant(0, func(r *ranking) (float64, error) { return of(r), nil })
		return m
	}
	logarithm := func(name, doc, source, formula string, of func(r *ranking) float64) metrics.Metric {
		m := whole(name, doc, source, formula, func(r *ranking) float64 { return logFloored(of(r)) })
		m.Min, m.Max = math.Log(leastMean), 0
		return m
	}
	averagePrecision := func(r *ranking) float64 { return r.averagePrecision(0) }
	return []metrics.Metric{
		whole("bpref", "binary preference (bpref): share of pairs of judged passages that are ranked in the right "+
			"order",
			"Buckley and Voorhees 2004; bpref of "+trecEval,
			"mean over relevant passages of 1 - judged irrelevant ones above / min(relevant, irrelevant); unjudged "+
				"passages are ignored",
			(*ranking).bpref),
		whole("infap", "inferred average precision (infAP), from judgements of a random sample of the pool",
			"Yilmaz and Aslam 2006; infAP of "+trecEval,
			"mean over relevant passages of the expected precision at their ranks; a negative grade is pooled but "+
				"unjudged",
			(*ranking).inferredAP),
		whole("set_map", "precision times recall of what was retrieved, whatever its order", "set_map of "+trecEval,
			"relevant passages retrieved^2 / (passages retrieved * relevant passages)", (*ranking).setMAP),
		whole("ndcg_rel", "nDCG averaged over the ranks of the relevant passages", "ndcg_rel of "+trecEval,
			"mean over relevant passages of nDCG at their ranks; of the whole ranking for those not retrieved",
			(*ranking).ndcgRelevant),
		whole("r_ndcg", "nDCG averaged over the ranks where the ideal ranking changes grade", "Rndcg of "+trecEval,
			"mean of nDCG where each grade of the ideal ranking ends, and at the end of the ranking",
			(*ranking).ndcgLevels),
		whole("g", "cumulative gain, discounted by how far it is behind that of the ideal ranking", "G of "+trecEval,
			"sum of grade/log2(2 + ideal gain - gain so far) / sum of all grades", (*ranking).g),
		whole("bin_g", "relevant passages, discounted by the irrelevant ones above", "binG of "+trecEval,
			"mean over relevant passages of 1/log2(2 + irrelevant ones above)", (*ranking).binaryG),
		logarithm("log_map", "logarithm of average precision: e to the power of its mean is trec_eval's gm_map",
			"Robertson 2006; gm_map of "+trecEval, "ln max(average precision, 0.00001)", averagePrecision),
		logarithm("log_bpref", "logarithm of bpref: e to the power of its mean is trec_eval's gm_bpref",
			"gm_bpref of "+trecEval, "ln max(bpref, 0.00001)", (*ranking).bpref),
	}
}

// parameterMeasures are those with a parameter that is no cutoff: retrieval/rbp@0.95.
func parameterMeasures() []metrics.Metric {
	rbp := retrieval("rbp", "rank-biased precision (RBP): expected gain per passage seen of a user who goes on to "+
		"the next passage "+
		"with persistence p",
		"Moffat and Zobel 2008; rbp of "+trecEval+", where p is 0.9",
		"(1-p) * sum of p^(rank-1) over relevant passages")
	residual := retrieval("rbp_residual", "residual of rank-biased precision: how much higher it could be if "+
		"unjudged and unretrieved passages were relevant",
		"Moffat and Zobel 2008; rbp_resid of "+trecEval+", where p is 0.9",
		"p^passages retrieved + (1-p) * sum of p^(rank-1) over unjudged passages")
	residual.LowerIsBetter = true
	rPrecision := retrieval("r_precision", "R-precision: precision at a cutoff of R, the number of relevant "+
		"passages, or at a multiple of R",
		"Rprec and Rprec_mult of "+trecEval, "relevant passages among the first R / R, where R are relevant in all")
	iprec := retrieval("iprec", "interpolated precision at a recall level, or the 11-point average over the levels "+
		"0, 0.1 ... 1",
		"iprec_at_recall and 11pt_avg of "+trecEval, "highest precision at any rank with at least that recall")

	persistence := rankParameter{"p", "0.95", "p is a number between 0 and 1", func(p float64) bool {
		return p > 0 && p < 1
	}}
	multiple := rankParameter{"multiple", "0.5", "the multiple is a number above 0, up to 1000", func(x float64) bool {
		return x > 0 && x <= 1000
	}}
	recall := rankParameter{"recall", "0.5", "the recall is a number from 0 to 1", func(x float64) bool {
		return x >= 0 && x <= 1
	}}
	return []metrics.Metric{
		persistence.of(rbp, 0.8, func(p float64) scorer {
			return needsRelevant(0, func(r *ranking) (float64, error) { return r.rankBiasedPrecision(p), nil })
		}),
		persistence.of(residual, 0.8, func(p float64) scorer {
			return rankingScorer(0, func(r *ranking) (float64, error) { return r.rankBiasedResidual(p), nil })
		}),
		multiple.of(rPrecision, 1, func(x float64) scorer {
			return needsRelevant(0, func(r *ranking) (float64, error) { return r.rPrecision(x), nil })
		}),
		recall.of(iprec, allRecalls, func(x float64) scorer {
			return needsRelevant(0, func(r *ranking) (float64, error) {
				if x == allRecalls {
					return r.elevenPoints(), nil
				}
				return r.interpolatedPrecision(x), nil
			})
		}),
	}
}

// allRecalls stands for the 11-point average over the recall levels.
const allRecalls = -1

// A scorer is a Metric's Score.
type scorer = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error)

// retrieval begins a measure of a ranking against qrels. These may be grades or reference ids, so that Needs does
// not name them.
func retrieval(name, doc, source, formula string) metrics.Metric {
	return metrics.Metric{
		Name: "retrieval/" + name, Doc: doc, Source: source, Formula: formula,
		Calls: "none", Min: 0, Max: 1, Needs: metrics.ContextIDs,
	}
}

// cuttable completes a measure that is of the whole ranking by default and takes a cutoff after an @.
func cuttable(m metrics.Metric, score func(k int) scorer) metrics.Metric {
	plain := m.Formula
	m.Formula += fmt.Sprintf("; %s@10 looks at the first 10", m.Name)
	m.Score = score(0)
	m.At = func(text string) (metrics.Metric, error) {
		k, err := strconv.Atoi(text)
		if err != nil || k < 1 || text[0] == '+' {
			return metrics.Metric{}, fmt.Errorf("%s@%s: the cutoff is a whole number from 1, as in %s@10", m.Name, text,
				m.Name)
		}
		cut := m
		cut.Name = fmt.Sprintf("%s@%d", m.Name, k)
		cut.Doc, cut.Formula = fmt.Sprintf("%s; of the first %d passages", m.Doc, k), plain
		cut.Score, cut.At, cut.Default = score(k), nil, false
		return cut, nil
	}
	return m
}

// A rankParameter is a parameter of a measure, given after an @.
type rankParameter struct {
	name, example, want string
	ok                  func(x float64) bool
}

// of completes a measure, whose parameter has the usual value by default.
func (p rankParameter) of(m metrics.Metric, usual float64, score func(x float64) scorer) metrics.Metric {
	plain := m.Formula
	if usual != allRecalls {
		m.Formula += fmt.Sprintf("; %s = %v", p.name, usual)
	}
	m.Formula += fmt.Sprintf("; %s@%s has %s = %s", m.Name, p.example, p.name, p.example)
	m.Score = score(usual)
	m.At = func(text string) (metrics.Metric, error) {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !p.ok(x) {
			return metrics.Metric{}, fmt.Errorf("%s@%s: %s", m.Name, text, p.want)
		}
		value := strconv.FormatFloat(x, 'f', -1, 64)
		with := m
		with.Name = m.Name + "@" + value
		with.Doc, with.Formula = fmt.Sprintf("%s; %s = %s", m.Doc, p.name, value), plain
		with.Score, with.At = score(x), nil
		return with, nil
	}
	return m
}

// needsRelevant is rankingScorer for a measure that means something only where a passage is relevant: without one,
// every ranking is as good as any other. trec_eval, Ragas and unitxt count a 0 there.
func needsRelevant(k int, of func(r *ranking) (float64, error)) scorer {
	return rankingScorer(k, func(r *ranking) (float64, error) {
		if r.relevant() == 0 {
			return 0, fmt.Errorf("%w: no passage is judged relevant, so that no ranking could do well",
				metrics.ErrNotApplicable)
		}
		return of(r)
	})
}

// rankingScorer scores a sample's ranking. The findings show as much of it as a cutoff lets through.
func rankingScorer(k int, of func(r *ranking) (float64, error)) scorer {
	return func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		grades, err := judgements(s)
		if err != nil {
			return metrics.Score{}, err
		}
		r, err := newRanking(s.ContextIDs, grades)
		if err != nil {
			return metrics.Score{}, err
		}
		value, err := of(r)
		if err != nil {
			return metrics.Score{}, err
		}
		return metrics.Score{Value: value, Because: r.findings(s.ContextIDs, grades, k)}, nil
	}
}

// judgements are a sample's qrels: its grades or, where it has none, its reference ids as passages of grade 1.
func judgements(s *metrics.Sample) (map[string]int, error) {
	if len(s.Relevance) > 0 {
		return s.Relevance, nil
	}
	if metrics.Blank(s.ReferenceContextIDs...) {
		return nil, fmt.Errorf("%w: the sample has neither %v nor %v to judge its passages by",
			metrics.ErrNotApplicable, metrics.Relevance, metrics.ReferenceContextIDs)
	}
	grades := make(map[string]int, len(s.ReferenceContextIDs))
	for _, id := range s.ReferenceContextIDs {
		grades[id] = 1
	}
	return grades, nil
}

// maxRelevance is the highest grade of a passage, as in trec_eval.
const maxRelevance = 127

// newRanking looks up the grades of what was retrieved. A passage that is retrieved twice is an error, as in
// trec_eval: it would count twice.
func newRanking(ids []string, grades map[string]int) (*ranking, error) {
	r := &ranking{}
	for id, g := range grades {
		switch {
		case g > maxRelevance:
			return nil, fmt.Errorf("the passage %q has grade %d: the highest is %d", metrics.Bounded(id), g,
				maxRelevance)
		case g > 0:
			r.ideal = append(r.ideal, g)
		case g == 0:
			r.irrelevant++
		}
	}
	slices.SortFunc(r.ideal, func(a, b int) int { return b - a })
	first := make(map[string]int, len(ids))
	for i, id := range ids {
		if at, twice := first[id]; twice {
			return nil, fmt.Errorf("the passage %q is in the ranking twice, at ranks %d and %d", metrics.Bounded(id),
				at, i+1)
		}
		first[id] = i + 1
		switch g, known := grades[id]; {
		case !known:
			r.grades = append(r.grades, unpooled)
		case g < 0:
			r.grades = append(r.grades, unjudged)
		default:
			r.grades = append(r.grades, g)
		}
	}
	return r, nil
}

// maxShown is how many passages findings show: the rest is counted.
const maxShown = 10

// findings show the passages that were looked at, with their grades, then say what was retrieved and what was
// not.
func (r *ranking) findings(ids []string, grades map[string]int, k int) []metrics.Finding {
	var list []metrics.Finding
	for i, id := range ids[:min(r.within(k), maxShown)] {
		relevant := r.grades[i] > 0
		f := metrics.Finding{Kind: "passage", Text: id, Verdict: &relevant, Reason: "not judged",
			Where: fmt.Sprintf("rank %d", i+1)}
		if r.grades[i] >= 0 {
			f.Reason = fmt.Sprintf("grade %d", r.grades[i])
		}
		list = append(list, f)
	}
	unjudged := 0
	for _, g := range r.grades[:r.within(k)] {
		if g < 0 {
			unjudged++
		}
	}
	text := fmt.Sprintf("%d passages looked at: %d relevant, %d judged irrelevant, %d not judged; %d relevant in all",
		r.within(k), r.hits(k), r.within(k)-r.hits(k)-unjudged, unjudged, r.relevant())
	if ids := missed(ids[:r.within(k)], grades); len(ids) > 0 {
		text += "; not among them: " + strings.Join(ids[:min(len(ids), maxShown)], ", ")
		if more := len(ids) - maxShown; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	return append(list, metrics.Finding{Kind: "note", Text: text})
}

// missed lists the relevant passages that are not among ids, the highest grades first.
func missed(ids []string, grades map[string]int) []string {
	have := make(map[string]bool, len(ids))
	for _, id := range ids {
		have[id] = true
	}
	var list []string
	for id, g := range grades {
		if g > 0 && !have[id] {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		if grades[a] != grades[b] {
			return grades[b] - grades[a]
		}
		return strings.Compare(a, b)
	})
	return list
}
