package stats

import (
	"math"
	"testing"
)

// TestPasses compares the estimates with the share of all subsets of k draws that pass.
func TestPasses(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for c := 0; c <= n; c++ { // the first c draws pass
			for k := 1; k <= n; k++ {
				every, some, sets := 0, 0, 0
				for set := range 1 << n {
					size, passed := 0, 0
					for i := range n {
						if set>>i&1 == 1 {
							size++
							if i < c {
								passed++
							}
						}
					}
					if size != k {
						continue
					}
					sets++
					if passed == k {
						every++
					}
					if passed > 0 {
						some++
					}
				}
				if got, want := PassAll(n, c, k), float64(every)/float64(sets); math.Abs(got-want) > 1e-12 {
					t.Errorf("PassAll(%d, %d, %d) = %v, want %v", n, c, k, got, want)
				}
				if got, want := PassAny(n, c, k), float64(some)/float64(sets); math.Abs(got-want) > 1e-12 {
					t.Errorf("PassAny(%d, %d, %d) = %v, want %v", n, c, k, got, want)
				}
			}
		}
	}
	if p := PassAll(100, 99, 100); p != 0 {
		t.Errorf("one of 100 draws failed, and all pass with %v", p)
	}
}
