package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/internal/view/index"
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
		x.Caught(t.Context())
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
	for _, query := range []string{"?at=1&q=img", "?vs=1&at=1", "list", "sample?at=1", "sample?at=1&vs=1", "panel?q=img",
		"panel?show=slices", "?s=" + url.QueryEscape("column="+hostile), "export"} {
		text := get(t, server, query)
		if strings.Contains(text, "<img") || !strings.Contains(text, "&lt;img") && !strings.HasPrefix(query, "panel") {
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
	for _, query := range []string{"run=2", "run=x", "m=1", "p=-1", "sort=random", "f=0", "f=0:99", "f=9:0", "vs=9", "vs=m9", "vs=x", "s=x",
		"show=all"} {
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
	check := func(f index.Filter, want string) {
		t.Helper()
		list, err := x.List(t.Context(), f, 0)
		got := ""
		for _, l := range list {
			got += l.Sample
		}
		if err != nil || got != want {
			t.Errorf("%+v: %q %v, want %q", f, got, err, want)
		}
		if tally, err := x.Tally(t.Context(), f, nil); f.Sort == index.AsRun && (err != nil || tally.Rows != len(want)) {
			t.Errorf("%+v counts %+v, %v", f, tally, err)
		}
	}
	check(index.Filter{}, "abcd")
	check(index.Filter{Words: "ferry"}, "ac")
	check(index.Filter{Words: "FERRY  leave"}, "a")
	check(index.Filter{Words: "ferr"}, "")
	check(index.Filter{Words: "ferr*"}, "ac")
	check(index.Filter{Words: "ferry -leave"}, "c")
	check(index.Filter{Words: "answer:ferry"}, "c")
	check(index.Filter{Words: `"the ferry"`}, "ac")
	check(index.Filter{Words: `"ferry the"`}, "")
	check(index.Filter{Words: "cafe"}, "c")
	check(index.Filter{Words: "灯台"}, "b")
	check(index.Filter{Words: "台何"}, "")
	check(index.Filter{Words: "reasons:broke"}, "c")
	check(index.Filter{Words: "id:d"}, "d")
	check(index.Filter{Words: `" -`}, "abcd")
	check(index.Filter{Sort: "low"}, "bad")
	check(index.Filter{Sort: "high"}, "dab")
	check(index.Filter{Sort: "low", Words: "ferry"}, "a")
	check(index.Filter{Failed: true}, "c")
	check(index.Filter{Ranges: []index.Range{{Lo: 0.45, Hi: 0.55}}}, "a")
	check(index.Filter{Ranges: []index.Range{{Lo: 0.95, Hi: 1, Last: true}}}, "d")
	check(index.Filter{Without: []string{"a", "d"}}, "bc")
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
	if p := progress(v.indexes[0]); p.Rows != 1 || p.Finished || p.Said != "running: 1 of 2 rows" {
		t.Errorf("%+v", p)
	}
	put(runstest.Scored("b", "faithfulness/claims", 0.25), true)
	for deadline := time.Now().Add(20 * time.Second); !v.indexes[0].Now().Finished; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", v.indexes[0].Now())
		}
	}
	if text := get(t, server, "list?q=second"); !strings.Contains(text, "0.250") {
		t.Error(text)
	}
	again, _ := opens(t, Options{Folder: folder}, dir) // beside the first, which holds the index: one of its own
	if n := again.indexes[0].Now().Rows; n != 2 || again.indexes[0].Path() == v.indexes[0].Path() {
		t.Errorf("%d rows in %s", n, again.indexes[0].Path())
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
	if p := progress(v.indexes[0]); p.Rows != 1 || !strings.Contains(p.Problem, "data.jsonl") {
		t.Errorf("%+v", p)
	}
	if text := get(t, server, "sample?at=1"); !strings.Contains(text, "not at hand") || !strings.Contains(text, "1.000") {
		t.Error(text)
	}
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
