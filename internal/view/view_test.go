package view

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// opens opens runs and waits until all of their rows are there.
func opens(t *testing.T, o Options, dirs ...string) (*Viewer, *httptest.Server) {
	t.Helper()
	o.Token = "token"
	if o.Folder == "" {
		o.Folder = t.TempDir()
	}
	v, err := Open(t.Context(), dirs, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, x := range v.indexes {
		x.caught(t.Context())
	}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	return v, server
}

// hostile is text that would be markup, were it not escaped.
const hostile = `<img src=x onerror=alert(1)>"'&`

func small(t *testing.T, rows ...metrics.Sample) (dir string, m runs.Manifest) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "data.jsonl")
	var text strings.Builder
	for _, s := range rows {
		line, _ := json.Marshal(s)
		fmt.Fprintln(&text, string(line))
	}
	write(t, path, text.String())
	data, err := dataset.Open(t.Context(), path, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	m = runstest.Manifest("faithfulness/claims")
	m.Config.Dataset = runs.Dataset{Path: path, SHA256: data.Summary().SHA256, Rows: len(rows)}
	return filepath.Join(dir, "run"), m
}

// Whatever a dataset and a model say is text on every page.
func TestEscaped(t *testing.T) {
	no := false
	dir, m := small(t, metrics.Sample{ID: hostile, Question: hostile, Answer: hostile, Contexts: []string{hostile}, References: []string{hostile},
		Extra: map[string]json.RawMessage{"column": json.RawMessage(`"<img src=x onerror=alert(1)>"`)}})
	m.Config.Metrics[0].Doc = hostile
	runstest.Write(t, dir, m, metrics.Result{Sample: hostile, Metric: "faithfulness/claims", Calls: []string{hostile},
		Score: &metrics.Score{Because: []metrics.Finding{{Kind: hostile, Text: hostile, Reason: hostile, Where: hostile, Verdict: &no,
			Marks: []metrics.Mark{{Low: 0, High: 4}}}}}})
	_, server := opens(t, Options{Labels: filepath.Join(t.TempDir(), "l.jsonl")}, dir, dir)
	for _, query := range []string{"?at=1&q=img", "?vs=1&at=1", "list", "sample?at=1", "sample?at=1&vs=1", "charts?q=img"} {
		text := get(t, server, query)
		if strings.Contains(text, "<img") || !strings.Contains(text, "&lt;img") && !strings.Contains(query, "charts") {
			t.Errorf("%s:\n%s", query, text)
		}
	}
}

// Only who knows the token is answered, by an address of this machine's own, and no other page writes labels.
func TestRefuses(t *testing.T) {
	dir, m := small(t, metrics.Sample{ID: "a", Question: "q"})
	runstest.Write(t, dir, m, runstest.Scored("a", "faithfulness/claims", 1))
	book := filepath.Join(t.TempDir(), "labels.jsonl")
	_, server := opens(t, Options{Labels: book}, dir)
	check := func(want int, method, path, body string, change func(*http.Request)) {
		t.Helper()
		req, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if change != nil {
			change(req)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s %s %s: %s, want %d", method, path, body, answer.Status, want)
		}
		if !strings.Contains(answer.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s has no policy", path)
		}
	}
	label := `{"run":0,"sample":"a","label":1}`
	check(403, "GET", "/", "", nil)
	check(403, "GET", "/tokem/", "", nil)
	check(403, "GET", "/token/", "", func(r *http.Request) { r.Host = "evil.example:80" })
	check(200, "GET", "/token/", "", func(r *http.Request) { r.Host = "localhost:80" })
	check(403, "POST", "/token/label", label, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") })
	check(403, "POST", "/token/label", label, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") })
	check(400, "POST", "/token/label", `{"run":0,"sample":"a","label":7}`, nil)
	check(404, "POST", "/token/label", `{"run":0,"sample":"b","label":1}`, nil)
	check(404, "POST", "/token/label", `{"run":9,"sample":"a","label":1}`, nil)
	check(405, "POST", "/token/list", "", nil)
	check(404, "GET", "/token/sample?at=9", "", nil)
	for _, query := range []string{"run=2", "run=x", "m=1", "p=-1", "sort=random", "f=0", "f=0:99", "f=9:0", "vs=9"} {
		check(400, "GET", "/token/list?"+query, "", nil)
	}
	if _, err := os.Stat(book); err == nil {
		t.Error("a label was written that should have been refused")
	}
	check(204, "POST", "/token/label", label, nil)
	check(204, "POST", "/token/label", `{"run":0,"sample":"a","label":null}`, nil)
	if text, err := os.ReadFile(book); err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), `"label":null`) {
		t.Errorf("%s %v", text, err)
	}
}

// What is searched, filtered and sorted is what comes.
func TestLists(t *testing.T) {
	dir, m := small(t,
		metrics.Sample{ID: "a", Question: "When does the ferry leave?", Answer: "At seven."},
		metrics.Sample{ID: "b", Question: "灯台は何色ですか", Answer: "白い"},
		metrics.Sample{ID: "c", Question: "Is the café open?", Answer: "The ferry café is."},
		metrics.Sample{ID: "d", Question: "Who paints it?"})
	runstest.Write(t, dir, m, runstest.Scored("a", "faithfulness/claims", 0.5), runstest.Scored("b", "faithfulness/claims", 0.1),
		metrics.Result{Sample: "c", Metric: "faithfulness/claims", Error: "the reply broke off", Kind: metrics.BadReply},
		runstest.Scored("d", "faithfulness/claims", 1))
	book := filepath.Join(t.TempDir(), "labels.jsonl")
	write(t, book, `{"sample":"a","label":1}`+"\n")
	v, _ := opens(t, Options{Labels: book}, dir)
	x := v.indexes[0]
	check := func(f filter, want string) {
		t.Helper()
		list, err := x.list(t.Context(), f, 0)
		got := ""
		for _, l := range list {
			got += l.Sample
		}
		if err != nil || got != want {
			t.Errorf("%+v: %q %v, want %q", f, got, err, want)
		}
		if _, rows, _, err := x.tally(t.Context(), f); f.Sort == "" && (err != nil || rows != len(want)) {
			t.Errorf("%+v counts %d rows, %v", f, rows, err)
		}
	}
	check(filter{}, "abcd")
	check(filter{Words: "ferry"}, "ac")
	check(filter{Words: "FERRY  leave"}, "a")
	check(filter{Words: "ferr"}, "")
	check(filter{Words: "ferr*"}, "ac")
	check(filter{Words: "ferry -leave"}, "c")
	check(filter{Words: "answer:ferry"}, "c")
	check(filter{Words: `"the ferry"`}, "ac")
	check(filter{Words: `"ferry the"`}, "")
	check(filter{Words: "cafe"}, "c")
	check(filter{Words: "灯台"}, "b")
	check(filter{Words: "台何"}, "")
	check(filter{Words: "reasons:broke"}, "c")
	check(filter{Words: "id:d"}, "d")
	check(filter{Words: `" -`}, "abcd")
	check(filter{Sort: "low"}, "bad")
	check(filter{Sort: "high"}, "dab")
	check(filter{Sort: "low", Words: "ferry"}, "a")
	check(filter{Failed: true}, "c")
	check(filter{Ranges: []bound{{0, 0.45, 0.55, false}}}, "a")
	check(filter{Ranges: []bound{{0, 0.95, 1, true}}}, "d")
	check(filter{Without: []string{"a", "d"}}, "bc")
}

// A run that goes on is followed, and one that is made anew is begun anew; an index that was made before is used again.
func TestFollows(t *testing.T) {
	dir, m := small(t, metrics.Sample{ID: "a", Question: "first"}, metrics.Sample{ID: "b", Question: "second"})
	put := func(r metrics.Result, finished bool) {
		t.Helper()
		w, err := runs.Create(dir, m, false) // begins the run, or goes on with it
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(r), w.Close(runs.Calls{}, finished)); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	put(runstest.Scored("a", "faithfulness/claims", 0.5), false)
	v, server := opens(t, Options{Folder: folder}, dir)
	if p := v.indexes[0].progress(); p.Rows != 1 || p.Finished || p.Said != "running: 1 of 2 rows" {
		t.Errorf("%+v", p)
	}
	put(runstest.Scored("b", "faithfulness/claims", 0.25), true)
	for deadline := time.Now().Add(20 * time.Second); !v.indexes[0].now().Finished; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", v.indexes[0].now())
		}
	}
	if text := get(t, server, "list?q=second"); !strings.Contains(text, "0.250") {
		t.Error(text)
	}
	again, _ := opens(t, Options{Folder: folder}, dir) // beside the first, which holds the index: one of its own
	if n := again.indexes[0].now().Rows; n != 2 || again.indexes[0].path == v.indexes[0].path {
		t.Errorf("%d rows in %s", n, again.indexes[0].path)
	}
}

// Without its dataset, a run is shown by its results, and it is said why.
func TestNoDataset(t *testing.T) {
	dir, m := small(t, metrics.Sample{ID: "a", Question: "q"})
	runstest.Write(t, dir, m, runstest.Scored("a", "faithfulness/claims", 1))
	if err := os.Remove(m.Config.Dataset.Path); err != nil {
		t.Fatal(err)
	}
	v, server := opens(t, Options{}, dir)
	if p := v.indexes[0].progress(); p.Rows != 1 || !strings.Contains(p.Problem, "data.jsonl") {
		t.Errorf("%+v", p)
	}
	if text := get(t, server, "sample?at=1"); !strings.Contains(text, "not at hand") || !strings.Contains(text, "1.000") {
		t.Error(text)
	}
}

// Whatever is typed is a query that SQLite understands.
func FuzzMatch(f *testing.F) {
	for _, typed := range []string{"a b", `"a b" -c answer:d*`, `"`, "-", "NEAR(a b)", "a:b:c", "灯台*", "{x} : y", "answer:", "\x00"} {
		f.Add(typed)
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		f.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE VIRTUAL TABLE words USING fts5(id, question, answer, contexts, reasons)"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		query := match(typed)
		if query == "" {
			return
		}
		var n int
		if err := db.QueryRow("SELECT count(*) FROM words WHERE words MATCH ?", query).Scan(&n); err != nil {
			t.Errorf("%q became %q: %v", typed, query, err)
		}
	})
}

// What two texts share, lose and gain makes up both of them.
func TestChanges(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"a b c", "a c d", "same:a gone:b same:c new:d"},
		{"", "a", "new:a"},
		{"a", "", "gone:a"},
		{"It leaves at 7.", "It leaves at 8.", "same:It leaves at gone:7. new:8."},
		{"The ferry", "the ferry", "same:the ferry"},
	} {
		var got []string
		for _, p := range changes(c.before, c.after) {
			got = append(got, p.Kind+":"+p.Text)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%q to %q: %q, want %q", c.before, c.after, text, c.want)
		}
	}
}
