package cache

import (
	"bytes"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// TestLabelled checks that what a head says of tokens comes back bit for bit from memory, from the file and from an
// export, and that an answer which no head could give is refused.
func TestLabelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	fake := &backendtest.Fake{}
	pairs := []backend.Pair{{Query: "Who sleeps?", Text: "A cat, a cat."}, {Text: "é 🙂"}, {Query: "q"}, {Text: "é 🙂"}}
	want, err := backend.LabelTokens(t.Context(), fake, pairs)
	if err != nil {
		t.Fatal(err)
	}
	asked := fake.Stats().Inputs
	check := func(b *Backend, when string, more int) {
		t.Helper()
		for range 2 {
			got, err := backend.LabelTokens(t.Context(), b, pairs)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, %v, want %+v", when, got, err, want)
				return
			}
			got[0].Spans[0].Low, got[0].Vectors[0][0] = 9, 9 // callers own their answers
		}
		if n := fake.Stats().Inputs - asked; n != more {
			t.Errorf("%s: %d inputs were asked for, want %d", when, n, more)
		}
		asked = fake.Stats().Inputs
	}
	store := openAt(t, path)
	check(Wrap(fake, store, Use, nil), "fresh", 3)
	data, lines := exported(t, store)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	check(Wrap(fake, openAt(t, path), Use, nil), "from the file", 0)
	other := open(t)
	if got, err := other.Import(t.Context(), bytes.NewReader(data)); err != nil || got.Added != 3 {
		t.Errorf("imported %+v, %v", got, err)
	}
	check(Wrap(fake, other, Use, nil), "imported", 0)

	line := ""
	for _, l := range lines {
		if strings.Contains(l, "Who sleeps?") {
			line = l
		}
	}
	refuse := func(old, new, want string) {
		t.Helper()
		if !strings.Contains(line, old) {
			t.Fatalf("no %s in %s", old, line)
		}
		_, err := open(t).Import(t.Context(),
			compressed(lines[0], strings.Replace(line, old, new, 1), `{"entries":1}`+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s for %s: %v, want %q", new, old, err, want)
		}
	}
	refuse(`"spans":[[0,1],`, `"spans":[[0,1],[0,1],`, "spans")
	refuse(`"spans":[[0,1],`, `"spans":[[1,0],`, "token 0")
	refuse(`"spans":[[0,1],`, `"spans":[[7,9],`, "token 1")
	refuse(`"labels":[[`, `"labels":[[1,`, "numbers")
}
