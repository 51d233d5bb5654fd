package testset

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestJournal(t *testing.T) {
	out := filepath.Join(t.TempDir(), "rows.jsonl")
	open := func(config string, overwrite bool) *Journal {
		t.Helper()
		j, err := OpenJournal(out, config, overwrite)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	add := func(j *Journal, pieces ...int) {
		t.Helper()
		for _, p := range pieces {
			if err := j.Add(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := func(j *Journal, want ...int) {
		t.Helper()
		var got []int
		for _, k := range j.Kept {
			var n int
			if err := json.Unmarshal(k, &n); err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
		if len(got) != len(want) || len(want) > 0 && (got[0] != want[0] || got[len(got)-1] != want[len(want)-1]) {
			t.Errorf("kept %v, want %v", got, want)
		}
	}
	j := open("one", false)
	add(j, 1, 2)
	if _, err := OpenJournal(out, "one", false); err == nil {
		t.Error("two journals of one file")
	}
	j.Close()

	// Torn by a kill: the last line is forgotten, and what is added next is whole.
	f, err := os.OpenFile(out+".part", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"torn": `)
	f.Close()
	j = open("one", false)
	kept(j, 1, 2)
	add(j, 3)
	j.Close()
	j = open("one", false)
	kept(j, 1, 2, 3)
	j.Close()

	// Other work does not go on from it, unless it may discard it.
	if _, err := OpenJournal(out, "two", false); !errors.As(err, new(*ExistsError)) {
		t.Errorf("other work: %v", err)
	}
	j = open("two", true)
	kept(j)
	add(j, 9)
	if err := j.Finish([]any{9, "<&>"}, map[string]int{"n": 2}); err != nil {
		t.Fatal(err)
	}
	j.Close()
	if b, err := os.ReadFile(out); err != nil || string(b) != "9\n\"<&>\"\n" {
		t.Errorf("%q, %v", b, err)
	}
	left, err := filepath.Glob(out + "*")
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
	if j = open("two", false); !j.Done {
		t.Error("finished work is not known again")
	}
	j.Close()
	if _, err := OpenJournal(out, "one", false); !errors.As(err, new(*ExistsError)) {
		t.Errorf("over another result: %v", err)
	}
	j = open("one", true)
	if j.Done {
		t.Error("another result is taken for this one")
	}
	j.Close()
}

// FuzzJournal: whatever a journal file holds, opening it does no harm, and what is added can be read again.
func FuzzJournal(f *testing.F) {
	f.Add([]byte("\"c\"\n1\n2"))
	f.Add([]byte("\"c\"\n1\n\n{\n2\n"))
	f.Add([]byte("\"d\"\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		out := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(out+".part", content, 0o666); err != nil {
			t.Fatal(err)
		}
		j, err := OpenJournal(out, "c", true)
		if err != nil {
			t.Fatal(err)
		}
		n := len(j.Kept)
		if err := j.Add("x"); err != nil {
			t.Fatal(err)
		}
		j.Close()
		j, err = OpenJournal(out, "c", false)
		if err != nil || len(j.Kept) != n+1 || string(j.Kept[n]) != `"x"` {
			t.Fatalf("%v: %d kept after %d", err, len(j.Kept), n)
		}
		j.Close()
	})
}
