package labels

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
)

// run is a run folder's scores of the samples a, b and c, in the dataset at a path.
func run(dataset, sha string) *runs.Scores {
	r := &runs.Scores{Run: &runs.Run{Dir: "runs/one"}, Samples: []string{"a", "b", "c"},
		Group: map[string]string{"a": "g"}}
	r.Manifest.Config.Dataset = runs.Dataset{Path: dataset, SHA256: sha}
	return r
}

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file of labels: of several raters in rows and lists, of several runs, and of samples that the run does not have.
func TestLoadFile(t *testing.T) {
	path := file(t, "labels.jsonl", `{"sample": "a", "label": 4}
{"sample": "a", "label": 2, "pick": "uncertain"}
{"sample": "b", "label": [1, null, 3]}
{"sample": "b", "label": 5, "run": "two"}
{"sample": "z", "label": 1}
{"sample": "c", "label": null}
`)
	l, err := (&Source{File: path}).Load(t.Context(), run("", ""))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]Rating{"a": {{0, 4}, {1, 2}}, "b": {{0, 1}, {2, 3}}}
	if !reflect.DeepEqual(l.Ratings, want) || l.Raters != 3 || l.Unfair != 1 || l.Field != "label" || l.Binary() {
		t.Errorf("%+v", l)
	}
	if low, high := l.Span(); low != 1 || high != 4 {
		t.Errorf("from %v to %v", low, high)
	}
	if g := l.GroupOf(run("", ""), "a"); g != "g" || Mean(l.Ratings["a"]) != 3 {
		t.Errorf("group %q, mean %v", g, Mean(l.Ratings["a"]))
	}
	l, err = (&Source{File: path, Positive: "3"}).Load(t.Context(), run("", ""))
	if want := map[string][]Rating{"a": {{0, 1}, {1, 0}}, "b": {{0, 0}, {2, 1}}}; err != nil ||
		!reflect.DeepEqual(l.Ratings, want) || !l.Binary() {
		t.Errorf("at least 3: %+v, %v", l, err)
	}
}

// What keeps labels from being read is the user's to mend.
func TestLoadFails(t *testing.T) {
	data := file(t, "data.jsonl", `{"id": "a", "question": "?", "human": {"good": true}}`+"\n")
	check := func(want, hint string, s Source, r *runs.Scores) {
		t.Helper()
		_, err := s.Load(t.Context(), r)
		var input *runs.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) || !strings.Contains(input.Hint, hint) {
			t.Errorf("%v (%+v), want %q and the hint %q", err, input, want, hint)
		}
	}
	check("no labels", "--human", Source{}, run(data, ""))
	check("changed since", "run again", Source{Human: "good"}, run(data, "00"))
	check("no such dataset", "--data FILE", Source{Human: "good"}, run("absent.jsonl", "00"))
	check("standard input", "--data FILE", Source{Human: "good"}, run("-", ""))
	check("it takes a number", "", Source{Human: "good", Positive: "high"}, run(data, ""))
	check("none that the run scored", "", Source{File: file(t, "l.csv", "sample,label\nz,1\n")}, run(data, ""))
	check(`has no label "label": its columns are`, "", Source{File: file(t, "l.csv", "sample,other\na,1\n")},
		run(data, ""))
	check("neither a number nor true or false", "", Source{File: file(t, "l.csv", "sample,label\na,fine\n")},
		run(data, ""))

	var said []string
	warn := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	l, err := (&Source{Human: "good", Data: data, Warn: warn}).Load(t.Context(), run("gone.jsonl", "00"))
	if err != nil || len(l.Ratings["a"]) != 1 || len(said) != 1 ||
		!strings.Contains(said[0], "is not the file that was scored") {
		t.Errorf("another file by name: %+v, %v, %q", l, err, said)
	}
	check(`its column human holds good`, "", Source{Human: "bad", Data: data}, run("gone.jsonl", "00"))
}
