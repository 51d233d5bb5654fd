package dataset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-eval/assay/metrics"
)

// Of a folder, a row's place is in its own file, and of a sample only the rows that were drawn have one.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.jsonl": `{"id":"a1","question":"q"}` + "\n\n" + `{"id":"a2","question":"q"}` + "\n",
		"b.jsonl": `{"id":"b1","question":"q"}` + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	places := func(o Options) map[string]Place {
		r, err := Open(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		of := map[string]Place{}
		if err := r.Places(t.Context(), func(s *metrics.Sample, at Place) bool { of[s.ID] = at; return true }); err != nil {
			t.Fatal(err)
		}
		return of
	}
	of := places(Options{})
	for id, want := range map[string]Place{"a1": {"a.jsonl", 1}, "a2": {"a.jsonl", 3}, "b1": {"b.jsonl", 1}} {
		if at := of[id]; filepath.Base(at.File) != want.File || at.Line != want.Line {
			t.Errorf("%s is at %+v, want %+v", id, at, want)
		}
	}
	if of := places(Options{Sample: 2}); len(of) != 2 {
		t.Errorf("of two rows that were drawn: %v", of)
	}
}
