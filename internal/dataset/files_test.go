package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
)

// folder writes files, by their paths below a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func idsOf(samples []*metrics.Sample) (ids []string) {
	for _, s := range samples {
		ids = append(ids, s.ID)
	}
	return ids
}

func TestFolder(t *testing.T) {
	dir := folder(t, map[string]string{
		"README.md":                          "no data",
		"dataset_infos.json":                 "{}",
		".cache/old.jsonl":                   `{"question": "hidden"}`,
		"data/test-00001-of-00002.jsonl":     `{"question": "b"}` + "\n" + `{"id": "x", "question": "c"}` + "\n",
		"data/test-00000-of-00002.jsonl":     `{"question": "a"}` + "\n",
		"data/test-00002-of-00002.jsonl.csv": "question,lang\nd,de\n",
	})
	whole, bad, s, err := load(t, dir, Options{})
	if err != nil || len(bad) > 0 || !slices.Equal(idsOf(whole), []string{"row-1", "row-2", "x", "row-4"}) || s.Name != dir {
		t.Fatalf("%v, bad %q, %q, %+v", err, bad, idsOf(whole), s)
	}
	if some, _, one, err := load(t, filepath.Join(dir, "data", "*-of-00002.jsonl"), Options{}); err != nil || len(some) != 3 ||
		one.SHA256 == s.SHA256 {
		t.Errorf("by a pattern: %v, %d samples, %q", err, len(some), one.SHA256)
	}
	// The hash is of all files, also where reading stops in the first, and changes with the last.
	if _, _, limited, err := load(t, dir, Options{Limit: 1}); err != nil || limited.SHA256 != s.SHA256 {
		t.Errorf("with a limit: %v, hash %q, want %q", err, limited.SHA256, s.SHA256)
	}
	last := filepath.Join(dir, "data/test-00002-of-00002.jsonl.csv")
	if err := os.WriteFile(last, []byte("question,lang\ne,de\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, changed, err := load(t, dir, Options{}); err != nil || changed.SHA256 == s.SHA256 {
		t.Errorf("changed: %v, %q", err, changed.SHA256)
	}

	fails := func(name string, files map[string]string, want string) {
		t.Helper()
		_, _, _, err := load(t, folder(t, files), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	fails("splits", map[string]string{"train-00000-of-00001.jsonl": "{}", "test-00000-of-00001.jsonl": "{}"},
		"holds the splits test, train: choose one")
	fails("no data", map[string]string{"a.txt": "x"}, "no dataset in the folder")
	fails("two tools", map[string]string{"a.jsonl": `{"question": "q"}`, "b.jsonl": `{"run_type": "chain", "trace_id": "t"}`},
		"give each a run of its own")
	if _, _, _, err := load(t, filepath.Join(dir, "*.none"), Options{}); err == nil || !strings.Contains(err.Error(), "no file fits") {
		t.Errorf("a pattern without files: %v", err)
	}
	_, bad, _, err = load(t, folder(t, map[string]string{"a.jsonl": `{"id": "x", "question": "q"}`, "b.jsonl": "\n" + `{"id": "x", "question": "q"}`}), Options{})
	if err != nil || len(bad) != 1 || !strings.Contains(bad[0], "b.jsonl:2: the id \"x\" is used twice: first in ") ||
		!strings.HasSuffix(bad[0], "a.jsonl:1") {
		t.Errorf("an id in two files: %v, %q", err, bad)
	}
}

// The spans of a trace may lie in several files.
func TestTraceOverFiles(t *testing.T) {
	b, err := os.ReadFile("testdata/traces/langfuse.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(b)) {
		files[fmt.Sprintf("shard-%d.jsonl", len(files))] = line
	}
	samples, bad, s, err := load(t, folder(t, files), Options{})
	if err != nil || len(bad) > 0 || len(samples) != 1 || len(samples[0].Contexts) != 2 || samples[0].Answer != replied {
		t.Errorf("%v, bad %q, %+v, %q", err, bad, samples, s.Notes)
	}
}

func TestNestedColumns(t *testing.T) {
	path := write(t, "d.jsonl", `{"inputs": {"q": "one", "docs": [{"text": "p", "id": "1"}]}, "out": "{\"a\": [\"x\", \"y\"]}", "in.put": "dotted"}`+"\n"+
		`{"inputs": {}}`+"\n")
	samples, bad, _, err := load(t, path, Options{Map: map[string]string{"question": "inputs.q", "contexts": "inputs.docs",
		"answer": "out.a.1", "group": "in.put"}})
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	if s := samples[0]; s.Question != "one" || s.Answer != "y" || s.Group != "dotted" || !slices.Equal(s.Contexts, []string{"p"}) ||
		len(s.Extra) != 2 || samples[1].Question != "" {
		t.Errorf("%+v", s)
	}
	for _, missing := range []string{"inputs.x", "out.a.2", "out.a.-1", "nothing.q"} {
		if _, _, _, err := load(t, path, Options{Map: map[string]string{"question": missing}}); err == nil ||
			!strings.Contains(err.Error(), "has no column \""+missing+"\"") {
			t.Errorf("%s: %v", missing, err)
		}
	}
	table := write(t, "d.csv", "inputs,id\n\"{\"\"q\"\": \"\"one\"\"}\",7\n")
	if samples, _, _, err := load(t, table, Options{Map: map[string]string{"question": "inputs.q"}}); err != nil || samples[0].Question != "one" {
		t.Errorf("in a table: %v", err)
	}
}

func TestWhere(t *testing.T) {
	path := write(t, "d.jsonl", `{"id": "a", "question": "q", "lang": "de", "meta": {"n": 1.5}}`+"\n"+
		`{"id": "b", "question": "q", "lang": "en", "meta": {"n": "7"}}`+"\n"+
		`{"id": "c", "question": "q", "lang": null, "meta": {}}`+"\n"+`{"question": "q", "ok": true}`+"\n")
	for _, c := range []struct {
		where []string
		want  string
	}{
		{[]string{"lang=de"}, "a"}, {[]string{"lang != de"}, "b c row-4"}, {[]string{"meta.n>1.5"}, "b"},
		{[]string{"meta.n>=1.5"}, "a b"}, {[]string{"meta.n<7"}, "a"}, {[]string{"meta.n<=7", "lang=en"}, "b"}, {[]string{"ok=true"}, "row-4"},
	} {
		samples, bad, _, err := load(t, path, Options{Where: c.where})
		if got := strings.Join(idsOf(samples), " "); err != nil || len(bad) > 0 || got != c.want {
			t.Errorf("%q: %v, %q, want %q", c.where, err, got, c.want)
		}
	}
	for where, want := range map[string]string{"lang": "is no condition", "=x": "is no condition", "lang!x": "want COLUMN!=VALUE",
		"lang<x": "is no number", "land=de": "has the column of --where land=de; its columns: id", "lang=fr": "fulfils --where lang=fr"} {
		if _, _, _, err := load(t, path, Options{Where: []string{where}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", where, err, want)
		}
	}
}

func TestSample(t *testing.T) {
	var lines, backwards strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"id": "%d", "question": "q"}`+"\n", i)
		fmt.Fprintf(&backwards, `{"id": "%d", "question": "q", "answer": "a"}`+"\n", 999-i)
	}
	path := write(t, "d.jsonl", lines.String())
	first, _, s, err := load(t, path, Options{Sample: 100, Seed: 1})
	if err != nil || len(first) != 100 || s.Rows != 100 || s.Filled[metrics.Question] != 100 {
		t.Fatal(err, len(first), s)
	}
	// The same rows are drawn from the file in another order, others by another seed, and few rows are all drawn.
	again, _, _, err := load(t, write(t, "b.jsonl", backwards.String()), Options{Sample: 100, Seed: 1})
	reversed := idsOf(again)
	slices.Reverse(reversed)
	if err != nil || !slices.Equal(idsOf(first), reversed) {
		t.Errorf("in another order: %v, %q and %q", err, idsOf(first), reversed)
	}
	if other, _, _, err := load(t, path, Options{Sample: 100, Seed: 2}); err != nil || slices.Equal(idsOf(first), idsOf(other)) {
		t.Errorf("another seed draws the same rows: %v", err)
	}
	if whole, _, _, err := load(t, path, Options{Sample: 5000}); err != nil || len(whole) != 1000 {
		t.Errorf("%v, %d rows", err, len(whole))
	}
	// Every hundred in the file has a share of a thousand draws: 100 of each expected, with a standard deviation below 10.
	var hundreds [10]int
	for seed := range 10 {
		samples, _, _, err := load(t, path, Options{Sample: 100, Seed: uint64(seed)})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			hundreds[(len(s.ID)-1)/2*int(s.ID[0]-'0')]++
		}
	}
	for i, n := range hundreds {
		if n < 60 || n > 140 {
			t.Errorf("hundred %d was drawn %d times", i, n)
		}
	}
	if _, _, _, err := load(t, path, Options{Sample: 1, Limit: 1}); err == nil {
		t.Error("--sample with --limit is no error")
	}
}
