package view

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

// TestLarge tells how long the page takes over a run of ASSAY_VIEW_ROWS rows, and how much memory: that of a process of its
// own, which opens the run as assay view does. It judges nothing but that what is looked for is found.
func TestLarge(t *testing.T) {
	if run := os.Getenv("ASSAY_VIEW_RUN"); run != "" {
		measure(t, run)
		return
	}
	rows, _ := strconv.Atoi(os.Getenv("ASSAY_VIEW_ROWS"))
	if rows == 0 {
		t.Skip("ASSAY_VIEW_ROWS names no number of rows")
	}
	dir := os.Getenv("ASSAY_VIEW_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	run := largeRun(t, dir, rows)
	folder := t.TempDir()
	for _, what := range []string{"without an index", "with the index of last time"} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLarge$", "-test.v", "-test.timeout=0")
		child.Env = append(os.Environ(), "ASSAY_VIEW_RUN="+run, "ASSAY_VIEW_FOLDER="+folder)
		said, err := child.CombinedOutput()
		t.Logf("%s:\n%s", what, said)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, pattern := range []string{filepath.Join(folder, "*"), filepath.Join(dir, "*.jsonl"), filepath.Join(run, "*")} {
		list, _ := filepath.Glob(pattern)
		for _, path := range list {
			if info, err := os.Stat(path); err == nil {
				t.Logf("%s: %d MB", filepath.Base(path), info.Size()>>20)
			}
		}
	}
}

func measure(t *testing.T, run string) {
	start := time.Now()
	viewer, err := Open(t.Context(), []string{run}, Options{Folder: os.Getenv("ASSAY_VIEW_FOLDER"), Token: "token"})
	if err != nil {
		t.Fatal(err)
	}
	defer viewer.Close()
	server := httptest.NewServer(viewer)
	defer server.Close()
	memory := func() string {
		status, _ := os.ReadFile("/proc/self/status")
		return regexp.MustCompile(`VmHWM:\s*(.*)`).FindString(string(status))
	}
	for !strings.Contains(get(t, server, "?"), `data-at="50"`) {
		time.Sleep(5 * time.Millisecond)
	}
	t.Logf("first list after %v", time.Since(start).Round(time.Millisecond))
	viewer.indexes[0].Caught(t.Context())
	state := viewer.indexes[0].Now()
	if state.Rows != viewer.indexes[0].Run().Manifest.Config.Dataset.Rows || state.Problem != "" {
		t.Fatalf("%d rows, %s", state.Rows, state.Problem)
	}
	t.Logf("all rows after %v, %s", time.Since(start).Round(time.Millisecond), memory())
	for _, query := range []string{"list?q=w7", "list?q=w7+w123", "list?q=w123*", "list?q=%22w7+w8%22", "list?q=w99999", "list?q=s19999",
		"list?sort=low", "list?sort=low&q=w7", "list?sort=low&q=w300", "list?sort=low&q=w99999", "list?sort=low&q=upper", "list?p=300",
		"list?f=0:3", "list?f=0:3&f=1:17", "list?f=0:3&q=w7", "list?s=lang%3Dde", "list?s=lang%3Dde&sort=low", "list?s=topic%3Drare",
		"list?s=topic%3Drare&sort=high", "list?s=lang%3Dde&q=w7&sort=low", "list?vs=m1", "list?vs=m1&q=w7", "panel", "panel?q=w7",
		"panel?show=scatter", "panel?show=scatter&q=w7", "panel?show=slices", "sample?at=19999"} {
		start := time.Now()
		text := get(t, server, query)
		t.Logf("%-32s %6v  %d rows", query, time.Since(start).Round(time.Millisecond), strings.Count(text, `class="row"`))
	}
	t.Logf("at most %s", memory())
}

func get(t testing.TB, server *httptest.Server, query string) string {
	t.Helper()
	answer, err := http.Get(server.URL + "/token/" + query)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", query, answer.Status, text, err)
	}
	return string(text)
}

// largeRun writes a dataset of words drawn at random, a few of them often, and a run on it with two metrics. What is there
// already is left.
func largeRun(t *testing.T, dir string, rows int) string {
	t.Helper()
	run := filepath.Join(dir, fmt.Sprint("run-", rows))
	if _, err := os.Stat(run); err == nil {
		return run
	}
	path := filepath.Join(dir, fmt.Sprint(rows, ".jsonl"))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	buf := bufio.NewWriter(f)
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 10, 200_000)
	words := func(n int) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "w%d", zipf.Uint64())
		}
		return b.String()
	}
	enc := json.NewEncoder(buf)
	for i := range rows {
		topic := fmt.Sprint("t", i%20)
		if i%5000 == 4999 {
			topic = "rare"
		}
		enc.Encode(map[string]any{"id": fmt.Sprint("s", i), "question": words(8), "answer": words(25),
			"contexts": []string{words(60), words(60)}, "lang": []string{"de", "en", "fr"}[i%3], "topic": topic})
	}
	if buf.Flush() != nil || f.Close() != nil {
		t.Fatal("cannot write", path)
	}
	data, err := dataset.Open(t.Context(), path, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data.Close()
	m := runstest.Manifest("faithfulness/claims", "answer_relevance/questions")
	m.Config.Dataset = runs.Dataset{Path: path, SHA256: data.Summary().SHA256, Rows: rows}
	w, err := runs.Create(run, m, false)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	for i := range rows {
		r := runstest.Scored(fmt.Sprint("s", i), "faithfulness/claims", random.Float64())
		end := ""
		if r.Score.Value > 0.5 {
			end = " upper" // a word in half of the rows, none of them among the lowest
		}
		r.Score.Because = []metrics.Finding{{Kind: "claim", Text: words(12), Verdict: &yes, Reason: words(10) + end}}
		if w.Write(r) != nil || w.Write(runstest.Scored(r.Sample, "answer_relevance/questions", random.Float64())) != nil {
			t.Fatal("cannot write the run")
		}
	}
	if err := w.Close(runs.Calls{}, true); err != nil {
		t.Fatal(err)
	}
	return run
}
