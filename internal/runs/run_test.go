package runs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

func manifest(names ...string) Manifest {
	m := Manifest{Tool: "assay test", Started: Now()}
	m.Config.Dataset = Dataset{Path: "a.jsonl", SHA256: "00", Rows: 5}
	for _, name := range names {
		m.Config.Metrics = append(m.Config.Metrics, Metric{Name: name, Max: 1})
	}
	return m
}

// results are what n samples with the given metrics give; every fifth is a failure.
func results(n int, names ...string) []metrics.Result {
	var rs []metrics.Result
	for i := range n {
		for j, name := range names {
			r := metrics.Result{Sample: fmt.Sprint("s", i), Metric: name}
			if (i+j)%5 == 4 {
				r.Error, r.Kind = "no verdict\nfor claim 2", metrics.BadReply
			} else {
				r.Score = &metrics.Score{Value: float64(i) / 10}
			}
			rs = append(rs, r)
		}
	}
	return rs
}

func write(t *testing.T, w *Writer, rs []metrics.Result) {
	t.Helper()
	for _, r := range rs {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
}

func create(t *testing.T, dir string, m Manifest) *Writer {
	t.Helper()
	w, err := Create(dir, m, false)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func read(t *testing.T, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// kill ends a Writer as a killed process would: its lock goes, nothing else happens.
func kill(w *Writer) {
	w.file.Close()
	w.lock.Unlock()
}

// TestResume cuts a results file at every byte, as a crash might, and continues the run. The file
// must come out as if nothing had happened.
func TestResume(t *testing.T) {
	names := []string{"a/x", "b/y"}
	all := results(5, names...)
	m := manifest(names...)

	whole := t.TempDir()
	w := create(t, whole, m)
	write(t, w, all)
	if err := w.Close(Calls{}, true); err != nil {
		t.Fatal(err)
	}
	want := read(t, whole)

	for cut := range len(want) + 1 {
		dir := t.TempDir()
		w := create(t, dir, m)
		if err := os.WriteFile(filepath.Join(dir, resultsFile), want[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		kill(w)
		w = create(t, dir, m)
		if complete := bytes.Count(want[:cut], []byte("\n")) / len(names); w.Kept() != complete {
			t.Fatalf("cut at %d: kept %d samples, want %d", cut, w.Kept(), complete)
		}
		write(t, w, all[w.Kept()*len(names):])
		if err := w.Close(Calls{}, true); err != nil {
			t.Fatal(err)
		}
		if got := read(t, dir); !bytes.Equal(got, want) {
			t.Fatalf("cut at %d: the file is\n%s\nwant\n%s", cut, got, want)
		}
	}
}

func TestDamagedLine(t *testing.T) {
	m := manifest("a/x")
	dir := t.TempDir()
	w := create(t, dir, m)
	write(t, w, results(3, "a/x"))
	kill(w)
	b := read(t, dir)
	second := bytes.IndexByte(b, '\n') + 1
	b[second] = 'X'
	if err := os.WriteFile(filepath.Join(dir, resultsFile), b, 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var msg string
	for _, err := range r.Results(t.Context()) {
		if err != nil {
			msg = err.Error()
		}
	}
	if !strings.Contains(msg, "line 2") {
		t.Errorf("reading a damaged file: %q, want an error that names line 2", msg)
	}
	if w = create(t, dir, m); w.Kept() != 1 {
		t.Errorf("kept %d samples before the damage, want 1", w.Kept())
	}
	kill(w)
}

func TestAgain(t *testing.T) {
	m := manifest("a/x")
	dir := t.TempDir()
	w := create(t, dir, m)
	write(t, w, results(3, "a/x"))
	if err := w.Close(Calls{Computed: 3}, true); err != nil {
		t.Fatal(err)
	}
	first := read(t, dir)

	// A second pass that is killed leaves the finished one as it was, and is itself continued.
	w = create(t, dir, m)
	write(t, w, results(2, "a/x"))
	kill(w)
	if got := read(t, dir); !bytes.Equal(got, first) {
		t.Errorf("an unfinished second pass changed the results")
	}
	w = create(t, dir, m)
	if w.Kept() != 2 {
		t.Errorf("the second pass kept %d samples, want 2", w.Kept())
	}
	write(t, w, results(3, "a/x")[2:])
	if err := w.Close(Calls{Cached: 3}, true); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Manifest.Calls != (Calls{Cached: 3}) || r.Manifest.Finished == nil {
		t.Errorf("after the second pass the manifest says %+v", r.Manifest)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"+newSuffix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestRefusals(t *testing.T) {
	check := func(what string, dir string, m Manifest, want string) {
		t.Helper()
		_, err := Create(dir, m, false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", what, err, want)
		}
	}
	dir := t.TempDir()
	m := manifest("a/x")
	w := create(t, dir, m)
	check("a second writer", dir, m, "another assay")
	if err := w.Close(Calls{}, false); err != nil {
		t.Fatal(err)
	}

	other := m
	other.Config.Seed = 7
	check("another seed", dir, other, "its seed differs")
	other = m
	other.Config.Judge = &backend.Identity{Digest: "sha256:1"}
	check("another judge", dir, other, "its judge differs")
	other = m
	other.Config.Frequencies = "sha256:1"
	check("another count of tokens", dir, other, "its count of tokens in the references differs")
	other = m
	other.Config.Dataset.Path = "elsewhere.jsonl"
	w = create(t, dir, other) // the same content in another place is the same run
	kill(w)

	strange := t.TempDir()
	if err := os.WriteFile(filepath.Join(strange, resultsFile), []byte("mine\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	check("results of unknown origin", strange, m, "--overwrite")
	if got := read(t, strange); string(got) != "mine\n" {
		t.Errorf("a refused run changed the folder: %q", got)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no run folder") {
		t.Errorf("Open of an empty folder: %v", err)
	}
}
