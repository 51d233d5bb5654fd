package labels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// assay ppi must have labels of rows that were drawn fairly: among the first, each row has the same chance to be,
// whatever its score. Over many seeds a row is among the first 12 of 40 in 30% of the draws; 5 standard errors are
// allowed.
func TestSpreadIsFair(t *testing.T) {
	of := map[string]float64{}
	var ids []string
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		id := fmt.Sprint("r", i)
		ids, of[id] = append(ids, id), math.Round(4*rng.ExpFloat64()) // many are equal, few are high
	}
	const draws, first = 4000, 12
	among := map[string]int{}
	for seed := range uint64(draws) {
		order := Spread(ids, of, seed)
		if got := slices.Compact(slices.Sorted(slices.Values(order))); len(got) != len(ids) {
			t.Fatalf("seed %d: %d different rows of %d", seed, len(got), len(ids))
		}
		for _, id := range order[:first] {
			among[id]++
		}
	}
	p := float64(first) / float64(len(ids))
	most := 5 * math.Sqrt(p*(1-p)/draws)
	for _, id := range ids {
		if share := float64(among[id]) / draws; math.Abs(share-p) > most {
			t.Errorf("%s with the score %v is among the first in %.3f of the draws, want %.3f", id, of[id], share, p)
		}
	}
}

// Two terminals may label into one file: neither loses what the other wrote. A link stays a link, and a number is an
// id.
func TestLabelBook(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.jsonl"), filepath.Join(dir, "labels.jsonl")
	if err := os.WriteFile(real, []byte("{\"sample\": 7, \"label\": 1, \"by\": \"A\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.jsonl", link); err != nil {
		t.Skip(err)
	}
	open := func() *Book {
		t.Helper()
		b, err := OpenBook(link)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	one, two := open(), open()
	yes, no := 1, 0
	for _, err := range []error{one.Put("a", &yes, Pick{}), two.Put("b", &no, Pick{}), one.Put("c", nil, Pick{}),
		two.Put("a", &no, Pick{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "{\"sample\": 7, \"label\": 1, \"by\": \"A\"}\n" +
		"{\"sample\":\"a\",\"label\":0}\n{\"sample\":\"b\",\"label\":0}\n{\"sample\":\"c\",\"label\":null}\n"
	if got, err := os.ReadFile(real); err != nil || string(got) != want {
		t.Errorf("%q %v, want %q", got, err, want)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became a file: %v", err)
	}
	if !open().Seen("7") {
		t.Error("a sample whose id is a number is not known")
	}
	if _, err := OpenBook(filepath.Join(dir, "none", "labels.jsonl")); err == nil {
		t.Error("a folder that is not there is found out after the first label only")
	}
}
