package testset

import (
	"math"
	"slices"
	"testing"
)

// ARES' nine systems: each has the accuracy that it is named for, as far as whole rows can, and none a gold row.
func TestMock(t *testing.T) {
	right := make([]bool, 1000)
	for i := range right {
		right[i] = i%2 == 0
	}
	systems, gold, err := Mock{From: 0.7, To: 0.9, Step: 0.025, Gold: 150, Seed: 1}.Draw(right)
	if err != nil || len(systems) != 9 || len(gold) != 150 {
		t.Fatalf("%d systems, %d gold rows, %v", len(systems), len(gold), err)
	}
	for k, s := range systems {
		yes := 0
		for i, row := range s.Rows {
			if i > 0 && row <= s.Rows[i-1] || slices.Contains(gold, row) {
				t.Fatalf("%s: row %d after %v", s.Name, row, s.Rows[:i])
			}
			if right[row] {
				yes++
			}
		}
		want := 0.7 + 0.025*float64(k)
		if n := len(s.Rows); n != len(systems[0].Rows) || n < 400 || s.Accuracy != float64(yes)/float64(n) ||
			math.Abs(s.Accuracy-want) > 0.5/float64(n)+1e-9 {
			t.Errorf("%s: accuracy %v of %d rows, %d are right", s.Name, s.Accuracy, n, yes)
		}
	}
	if systems[0].Name != "0.700" || systems[8].Name != "0.900" {
		t.Errorf("names %s to %s", systems[0].Name, systems[8].Name)
	}
	again, _, _ := Mock{From: 0.7, To: 0.9, Step: 0.025, Gold: 150, Seed: 1}.Draw(right)
	if !slices.Equal(again[3].Rows, systems[3].Rows) {
		t.Error("the same seed drew another system")
	}
	for _, bad := range []Mock{{From: 0.9, To: 0.7, Step: 0.1}, {To: 1}, {To: 2, Step: 1}, {To: 1, Step: 1e-9},
		{To: 1, Step: 0.5, N: 600}, {From: 0.5, To: 0.5, Step: 1, Gold: 1001}} {
		if got, _, err := bad.Draw(right); err == nil {
			t.Errorf("%+v: %d systems", bad, len(got))
		}
	}
	if _, _, err := (Mock{From: 0.7, To: 0.9, Step: 0.1}).Draw(right[:6]); err == nil {
		t.Error("six rows make systems")
	}
}
