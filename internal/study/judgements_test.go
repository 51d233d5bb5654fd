package study

import (
	"fmt"
	"math"
	"testing"
)

// TestAgreeJudgements has the kappas of Cohen 1968's kind of table worked out by hand: of ten passages, with the grades of
// people and judge below, 6 are equal.
func TestAgreeJudgements(t *testing.T) {
	j := &Judgements{again: map[[2]string]int{}}
	people := map[string]map[string]int{}
	pairs := [][2]int{{0, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 2}, {2, 2}, {2, 2}, {3, 3}, {3, 2}, {3, 0}} // people, judge
	for i, p := range pairs {
		query, passage := fmt.Sprint("q", i/2), fmt.Sprint("d", i)
		j.again[[2]string{query, passage}] = len(j.List)
		j.List = append(j.List, Judgement{query, passage, p[1]})
		if people[query] == nil {
			people[query] = map[string]int{}
		}
		people[query][passage] = p[0]
	}
	a, err := AgreeJudgements(t.Context(), j, people, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, e *Estimate, want float64) {
		t.Helper()
		if e == nil || math.Abs(e.Value-want) > 1e-12 {
			t.Errorf("%s: %+v, want %v", what, e, want)
		}
	}
	near("exact", a.Exact, 0.6)
	// Chance: people 3, 2, 2, 3 of the grades 0 to 3, the judge 3, 2, 4, 1: (9 + 4 + 8 + 3) / 100.
	near("kappa", a.Kappa, (0.6-0.24)/(1-0.24))
	// Quadratic: (1 + 1 + 1 + 9) / 10 observed; expected: sum of the products of counts times squares, 288 / 100.
	expected := 0.0
	for x, n := range []float64{3, 2, 2, 3} {
		for y, m := range []float64{3, 2, 4, 1} {
			expected += n * m * float64((x-y)*(x-y)) / 100
		}
	}
	near("weighted", a.Weighted, 1-1.2/expected)
	// Relevant is 2 and 3: equal in 8 of 10; people 5 of 10, the judge 5 of 10.
	near("binary", a.Binary, (0.8-0.5)/0.5)
	if a.N != 10 || a.Queries != 5 || a.OnlyHere != 0 || a.OnlyThem != 0 || fmt.Sprint(a.Counts) !=
		"[[2 1 0 0] [0 1 1 0] [0 0 2 0] [1 0 1 1]]" {
		t.Errorf("%+v", a)
	}
	if _, err := AgreeJudgements(t.Context(), j, map[string]map[string]int{"q": {"d": 1}}, 2, 1); err == nil {
		t.Error("nothing in common is no error")
	}
}
