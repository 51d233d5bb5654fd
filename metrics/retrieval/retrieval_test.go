package retrieval

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// scoreAlone scores a sample by one metric without a model, as Run does.
func scoreAlone(t *testing.T, name string, s *metrics.Sample) (metrics.Score, error) {
	t.Helper()
	ms := metrictest.Select(t, Metrics(), name)
	return ms[0].Try(t.Context(), metrics.Models{}, s)
}

// checkDigits compares to the digits that the known answer has.
func checkDigits(t *testing.T, name string, s *metrics.Sample, want string) {
	t.Helper()
	got, err := scoreAlone(t, name, s)
	_, digits, _ := strings.Cut(want, ".")
	if err != nil || fmt.Sprintf("%.*f", len(digits), got.Value) != want {
		t.Errorf("%s of %q = %v, %v; want %s", name, s.ContextIDs, got.Value, err, want)
	}
}

// rankedGrades is a ranking of passages with these grades, and judgements of those and of others not retrieved. A
// grade of unpooled has no judgement.
func rankedGrades(retrieved []int, others ...int) *metrics.Sample {
	s := &metrics.Sample{ID: "q", Relevance: map[string]int{}}
	for i, g := range retrieved {
		id := fmt.Sprintf("r%02d", i+1)
		s.ContextIDs = append(s.ContextIDs, id)
		if g != unpooled {
			s.Relevance[id] = g
		}
	}
	for i, g := range others {
		s.Relevance[fmt.Sprintf("o%02d", i+1)] = g
	}
	return s
}

// Answers published elsewhere.
func TestRetrievalPublished(t *testing.T) {
	// The discounted cumulative gain of Wikipedia's example: 6.861, against 8.740 for the best six of 3,3,3,2,2,2,1,0.
	wikipedia := rankedGrades([]int{3, 2, 3, 0, 1, 2}, 3, 2)
	checkDigits(t, "retrieval/ndcg@6", wikipedia, "0.785")
	checkDigits(t, "retrieval/ndcg", wikipedia, fmt.Sprintf("%.3f", 6.861127/(8.740262+1/math.Log2(8))))
	// The same ranking with exponential gain and nothing beside it is often shown: 13.848 of 14.595.
	checkDigits(t, "retrieval/ndcg_exp", rankedGrades([]int{3, 2, 3, 0, 1, 2}), "0.9488")

	// The tests of the R package evalIR (github.com/semanticpc/evalIR): six relevant passages, five of them in a
	// ranking of ten with two unjudged passages.
	evalIR := rankedGrades([]int{1, 0, unpooled, 1, 0, 0, 1, 1, unpooled, 1}, 1, 0)
	for name, want := range map[string]string{
		"err@3": "0.0625", "err@5": "0.0771", "err@10": "0.0963", "err": "0.0963", "ndcg@3": "0.4693",
		"ndcg@5": "0.4852", "ndcg@10": "0.7167",
		"p@3": "0.3333", "p@5": "0.4000", "p@10": "0.5000", "mrr": "1.0",
	} {
		checkDigits(t, "retrieval/"+name, evalIR, want)
	}

	// Those of the Ruby package evalir (github.com/CompanyBook/evalir), which are rounded to 0.78 and 0.52.
	checkDigits(t, "retrieval/map", rankedGrades([]int{1, 0, 1, 1, 1, 1, 0, 0, 0, 1}), "0.775")
	checkDigits(t, "retrieval/map", rankedGrades([]int{0, 1, 0, 0, 1, 1, 1, 0, 1, 1}), "0.52")

	// The worked example of evret's page on rank-biased precision.
	checkDigits(t, "retrieval/rbp", rankedGrades([]int{1, 0, 1, 1, 0}), "0.4304")
	checkDigits(t, "retrieval/rbp_residual", rankedGrades([]int{1, 0, 1, 1, 0}), "0.32768")
	// That of its page on nDCG.
	checkDigits(t, "retrieval/ndcg@5", rankedGrades([]int{0, 0, 1, 0, 1}, 1), "0.4162")
}

// Answers worked by hand.
func TestRetrievalByHand(t *testing.T) {
	s := rankedGrades([]int{1, unpooled, 0, 2, 0}, 1, 0, unjudged)
	for name, want := range map[string]string{
		"p": "0.4000", "p@1": "1.0", "p@4": "0.5", "p@8": "0.25",
		"recall": "0.6667", "recall@1": "0.3333", "recall@99": "0.6667",
		"f": "0.5000", "f@2": "0.4", "relative_p": "0.6667", "relative_p@2": "0.5", "relative_p@8": "0.6667",
		"hit": "1", "hit@1": "1", "mrr": "1.0", "map": "0.5", "map@3": "0.3333",
		"set_map": "0.2667", "r_precision": "0.3333", "r_precision@2": "0.3333", "r_precision@0.5": "0.5",
		"unjudged": "0.2", "unjudged@2": "0.5", "unjudged@10": "0.1",
		"iprec@0": "1.0", "iprec@0.5": "0.5", "iprec@0.7": "0.5", "iprec@1": "0.0",
		// The first has no irrelevant one above, the second one of three: 1 - 1/3; of three relevant ones.
		"bpref": "0.5556",
		// 1; then 1/4 + 3/4 * 2/3 * (1+e)/(2+2e) = 1/2; of three.
		"infap": "0.5",
		// 1/log2(2) and 1/log2(4), of three.
		"bin_g": "0.5",
		// Gains 1, 0, 0, 2 behind 2, 3, 4, 5: 1/log2(3) + 2/log2(2+5-3), of 4.
		"g": "0.4077",
		// R is 1/16 at rank 1 and 3/16 at rank 4; with a highest grade of 2, 1/4 and 3/4.
		"err": "0.1064", "err_max2": "0.3906", "err_max3@3": "0.1250",
		"log_map": "-0.6931", "rbp@0.5": "0.5625", "rbp_residual@0.5": "0.28125",
	} {
		checkDigits(t, "retrieval/"+name, s, want)
	}
	// nDCG after 1, 4 and all ranks, where the ideal is 2, 1, 1.
	at1, at4 := 1/2.0, (1+2/math.Log2(5))/(2+1/math.Log2(3)+1/math.Log2(4))
	checkDigits(t, "retrieval/ndcg_rel", s, fmt.Sprintf("%.6f", (at1+at4+at4)/3))
	// The ideal goes on with a lower grade after 1 and after 3; the ranking is more than one longer.
	at3 := 1 / (2 + 1/math.Log2(3) + 1/math.Log2(4))
	checkDigits(t, "retrieval/r_ndcg", s, fmt.Sprintf("%.6f", (at1+at3+at4)/3))
	checkDigits(t, "retrieval/r_ndcg", rankedGrades([]int{1, 0, 0, 2}, 1), fmt.Sprintf("%.6f", (at1+at3)/2))

	// Pooled but unjudged is between: it counts as pooled for infAP, and for nothing else.
	checkDigits(t, "retrieval/infap", rankedGrades([]int{1, unjudged, 1}), "1.0000") // 1; 1/3 + 2/3 * 2/2
	checkDigits(t, "retrieval/infap", rankedGrades([]int{1, unpooled, 1}), "0.8333") // 1; 1/3 + 2/3 * 1/2
}

// Grades by reference ids are all 1, and what is not among them is unjudged.
func TestRetrievalByReferenceIDs(t *testing.T) {
	s := &metrics.Sample{ContextIDs: []string{"a", "b", "c"}, ReferenceContextIDs: []string{"c", "d", "c"}}
	for name, want := range map[string]string{"retrieval/recall": "0.5", "retrieval/mrr": "0.3333",
		"retrieval/unjudged": "0.6667", "retrieval/bpref": "0.5"} {
		checkDigits(t, name, s, want)
	}
	s.Relevance = map[string]int{"b": 1} // grades say more
	checkDigits(t, "retrieval/mrr", s, "0.5")
}

func TestRetrievalFindings(t *testing.T) {
	got, err := scoreAlone(t, "retrieval/p@2", rankedGrades([]int{1, unpooled, 0}, 1, 3, 0))
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	want := []metrics.Finding{
		{Kind: "passage", Text: "r01", Verdict: &yes, Reason: "grade 1", Where: "rank 1"},
		{Kind: "passage", Text: "r02", Verdict: &no, Reason: "not judged", Where: "rank 2"},
		{Kind: "note", Text: "2 passages looked at: 1 relevant, 0 judged irrelevant, 1 not judged; 3 relevant in " +
			"all; not among them: o02, o01"},
	}
	if !slices.EqualFunc(got.Because, want, func(a, b metrics.Finding) bool {
		return a.Kind == b.Kind && a.Text == b.Text && a.Reason == b.Reason && a.Where == b.Where &&
			(a.Verdict == nil) == (b.Verdict == nil) && (a.Verdict == nil || *a.Verdict == *b.Verdict)
	}) {
		t.Errorf("findings %+v", got.Because)
	}
	many, others := make([]int, 30), make([]int, 30)
	for i := range others {
		others[i] = 1
	}
	got, err = scoreAlone(t, "retrieval/p", rankedGrades(many, others...))
	if err != nil || len(got.Because) != maxShown+1 || !strings.HasSuffix(got.Because[maxShown].Text,
		", o10 and 20 more") {
		t.Errorf("long rankings: %v, %+v", err, got.Because)
	}
}

func TestRetrievalRefuses(t *testing.T) {
	check := func(name string, s *metrics.Sample, applicable bool, want string) {
		t.Helper()
		_, err := scoreAlone(t, name, s)
		if err == nil || errors.Is(err, metrics.ErrNotApplicable) == applicable ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	check("retrieval", &metrics.Sample{ContextIDs: []string{"a", "b", "a"}, ReferenceContextIDs: []string{"a"}}, true,
		`the passage "a" is in the ranking twice, at ranks 1 and 3`)
	check("retrieval", &metrics.Sample{ContextIDs: []string{"a"}, Relevance: map[string]int{"a": 128}}, true,
		`"a" has grade 128: the highest is 127`)
	check("retrieval/err_max1", rankedGrades([]int{1, 2}), true,
		"a passage has grade 2, and retrieval/err_max1 takes grades up to 1")
	check("retrieval/err", rankedGrades([]int{1}, 5), true,
		"a passage has grade 5, and retrieval/err takes grades up to 4")
	check("retrieval", &metrics.Sample{ContextIDs: []string{"a"}}, false, "neither relevance nor reference_context_ids")
	check("retrieval", &metrics.Sample{Relevance: map[string]int{"a": 1}}, false, "no context_ids")
	for _, name := range []string{"retrieval/ndcg", "retrieval/hit@3", "retrieval/rbp", "retrieval/bpref",
		"retrieval/iprec@0.2", "retrieval/log_map"} {
		check(name, rankedGrades([]int{0, unpooled}), false, "no passage is judged relevant")
	}
	checkDigits(t, "retrieval/unjudged", rankedGrades([]int{0, unpooled}), "0.5") // has nothing to do with relevance
}

// Every measure keeps to its range, is highest for the ideal ranking where that is 1, and does not fall when a
// relevant passage changes places with a less relevant one above it.
func TestRetrievalProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var measures []metrics.Metric
	for _, m := range Metrics() {
		if !strings.HasPrefix(m.Name, "retrieval/") || m.Needs.Has(metrics.Aspects) {
			continue
		}
		measures = append(measures, m)
		for _, at := range []string{"1", "3", "0.5"} {
			if m.At == nil {
				continue
			}
			if cut, err := m.At(at); err == nil {
				measures = append(measures, cut)
			}
		}
	}
	if len(measures) < 40 {
		t.Fatalf("only %d measures", len(measures))
	}
	value := func(m metrics.Metric, s *metrics.Sample) float64 {
		t.Helper()
		got, err := m.Try(t.Context(), metrics.Models{}, s)
		if err != nil {
			t.Fatalf("%s of %+v: %v", m.Name, s, err)
		}
		return got.Value
	}
	compared := 0
	for range 300 {
		most := 1 + rng.IntN(4)
		retrieved := make([]int, 1+rng.IntN(9))
		for i := range retrieved {
			retrieved[i] = rng.IntN(most+3) - 2
		}
		others := make([]int, 1+rng.IntN(5))
		for i := range others {
			others[i] = rng.IntN(most + 1)
		}
		others[0] = most
		s := rankedGrades(retrieved, others...)
		r, err := newRanking(s.ContextIDs, s.Relevance)
		if err != nil {
			t.Fatal(err)
		}
		ideal := rankedGrades(r.ideal)
		better := slices.Clone(retrieved)
		i, j := rng.IntN(len(better)), rng.IntN(len(better))
		if i > j {
			i, j = j, i
		}
		swapped := better[i] < better[j] && better[j] > 0
		better[i], better[j] = better[j], better[i]
		for _, m := range measures {
			if strings.HasPrefix(m.Name, "retrieval/err_max") &&
				!strings.HasPrefix(m.Name, fmt.Sprintf("retrieval/err_max%d", most)) {
				continue
			}
			v := value(m, s)
			if full := value(m, ideal); !m.LowerIsBetter && full < v-1e-12 {
				t.Errorf("%s: %v for grades %d, only %v for the ideal ranking", m.Name, v, retrieved, full)
			}
			// A rank of its own for a pooled but unjudged passage is infAP's alone, and r_ndcg, ndcg_rel and g
			// compare with ideals of other lengths: swaps of grades may lower them.
			if name := strings.TrimPrefix(m.Name, "retrieval/"); swapped && !m.LowerIsBetter &&
				!slices.Contains([]string{"infap", "ndcg_rel", "r_ndcg", "g"}, name) {
				compared++
				if after := value(m, rankedGrades(better, others...)); after < v-1e-12 {
					t.Errorf("%s: %v for %d, but %v for %d", m.Name, v, retrieved, after, better)
				}
			}
		}
	}
	if compared < 1000 {
		t.Errorf("only %d comparisons", compared)
	}
}

// Nothing retrieved is a ranking too: what it found is 0.
func TestRetrievalOfNothing(t *testing.T) {
	s := &metrics.Sample{ContextIDs: []string{}, Relevance: map[string]int{"a": 1, "b": 0}}
	for _, m := range Metrics() {
		if !strings.HasPrefix(m.Name, "retrieval/") || m.Needs.Has(metrics.Aspects) || m.Name == "retrieval/judged" {
			continue // the last says nothing of nothing
		}
		want := m.Min
		if m.Name == "retrieval/rbp_residual" {
			want = 1 // all that it has not retrieved
		}
		if got, err := m.Try(t.Context(), metrics.Models{}, s); err != nil || math.Abs(got.Value-want) > 1e-12 {
			t.Errorf("%s: %v, %v; want %v", m.Name, got.Value, err, want)
		}
	}
}

func FuzzRanking(f *testing.F) {
	f.Add([]byte{1, 0, 2}, []byte{3, 255})
	f.Add([]byte{}, []byte{127})
	f.Fuzz(func(t *testing.T, retrieved, others []byte) {
		grades := func(b []byte) (list []int) {
			for _, g := range b[:min(len(b), 99)] {
				list = append(list, int(int8(g)))
			}
			return list
		}
		s := rankedGrades(grades(retrieved), grades(others)...)
		if s.ContextIDs == nil {
			s.ContextIDs = []string{}
		}
		for _, m := range Metrics() {
			if !strings.HasPrefix(m.Name, "retrieval/") {
				continue
			}
			if _, err := m.Try(t.Context(), metrics.Models{}, s); err != nil &&
				strings.Contains(err.Error(), "a bug in") {
				t.Error(err)
			}
		}
	})
}
