package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-eval/assay/internal/parquet"
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

// A file named so is Parquet, with the rows that the JSON Lines would have.
func TestJournalParquet(t *testing.T) {
	out := filepath.Join(t.TempDir(), "rows.parquet")
	j, err := OpenJournal(out, "one", false)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	type row struct {
		ID       string         `json:"id"`
		Contexts []string       `json:"contexts,omitempty"`
		Labels   map[string]int `json:"labels,omitempty"`
	}
	rows := []any{row{"a", []string{"x", "y"}, map[string]int{"p": 1}}, json.RawMessage(`{"id": "b", "contexts": []}`)}
	if err := j.Finish(rows, nil); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.Open(bytes.NewReader(b), int64(len(b)), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for r, err := range f.Rows() {
		if err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		for _, field := range r.Fields {
			got += fmt.Sprintf("%s=%s ", field.Name, field.Value)
		}
	}
	if want := `id="a" contexts=["x","y"] labels={"p":1} id="b" contexts=[] labels= `; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	left, err := filepath.Glob(out + "*")
	if err != nil || len(left) != 3 { // the lock is still held
		t.Errorf("left behind: %v", left)
	}
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

// A line that was damaged, and not torn, is forgotten with what comes after it, and that is told. Where the first one
// is damaged nobody knows what the work was: it is not discarded unasked.
func TestJournalDamaged(t *testing.T) {
	out := filepath.Join(t.TempDir(), "rows.jsonl")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(out+".part", []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("\"one\"\n1\n2\n{\"3\x00\n4\n5\n6")
	j, err := OpenJournal(out, "one", false)
	if err != nil || len(j.Kept) != 2 || j.Forgot != 3 {
		t.Fatalf("%v: %d kept and %d forgotten, want 2 and 3", err, len(j.Kept), j.Forgot)
	}
	j.Close()
	if b, err := os.ReadFile(out + ".part"); err != nil || string(b) != "\"one\"\n1\n2\n" {
		t.Errorf("%q %v", b, err)
	}
	write("\"on\x00\n1\n2\n")
	if _, err := OpenJournal(out, "one", false); !errors.As(err, new(*ExistsError)) {
		t.Errorf("a damaged first line: %v", err)
	}
}

// An old file beside the account of a new one, as a kill between writing the two leaves them, is not taken for the new
// one; nor is a file that was changed by hand.
func TestJournalKnowsItsFile(t *testing.T) {
	out := filepath.Join(t.TempDir(), "rows.jsonl")
	finish := func(config string, overwrite bool, row string) {
		t.Helper()
		j, err := OpenJournal(out, config, overwrite)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		if err := j.Finish([]any{row}, nil); err != nil {
			t.Fatal(err)
		}
	}
	finish("old", false, "a")
	old, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	finish("new", true, "b")
	if err := os.WriteFile(out, old, 0o666); err != nil {
		t.Fatal(err)
	}
	if j, err := OpenJournal(out, "new", false); !errors.As(err, new(*ExistsError)) {
		t.Errorf("the old file is taken for the new one: %+v %v", j, err)
	}
	finish("new", true, "b")
	j, err := OpenJournal(out, "new", false)
	if err != nil || !j.Done {
		t.Fatalf("%+v %v", j, err)
	}
	j.Close()
}
