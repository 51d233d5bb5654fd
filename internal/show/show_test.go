package show

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

// A sample is shown with what was found in it, and nothing in it drives the terminal.
func TestSample(t *testing.T) {
	found := runstest.Scored("s1", "faithfulness/claims", 0.5)
	found.Score.Because = []metrics.Finding{{Text: "a\x1b[2Jclaim", Reason: "it is not there"}}
	found.Calls = []string{strings.Repeat("ab", 32), strings.Repeat("ab", 32)}
	failed := metrics.Result{Sample: "s1", Metric: "length/words", Kind: metrics.BadReply, Error: "no number"}
	dir := filepath.Join(t.TempDir(), "run")
	runstest.Write(t, dir, runstest.Manifest("faithfulness/claims", "length/words"), found, failed)
	run, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	check := func(metric string, want ...string) {
		t.Helper()
		var b bytes.Buffer
		if err := Sample(t.Context(), &b, run, "s1", metric); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(b.String(), text) {
				t.Errorf("%s: no %q in\n%s", metric, text, b.String())
			}
		}
		if n := strings.Count(b.String(), "asked: "); n > 1 || strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s: %d calls in\n%s", metric, n, b.String())
		}
	}
	check("", "faithfulness/claims  0.500", "      it is not there", "asked: assay show abababababababab\n", "length/words  no score")
	check("faithfulness", "faithfulness/claims  0.500")
	if err := Sample(t.Context(), &bytes.Buffer{}, run, "nobody", ""); !errors.As(err, new(*runs.InputError)) {
		t.Errorf("%v is not the user's to mend", err)
	}
}

// An answer is shown with its question; one that cannot be read is an error.
func TestEntry(t *testing.T) {
	request, err := json.Marshal(&backend.GenerateRequest{Messages: []backend.Message{{Role: "user", Text: "why?"}}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := json.Marshal(&backend.Generation{Text: "because"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Entry(&b, &cache.Entry{Op: "generate", Request: request, Answer: answer}); err != nil ||
		!strings.Contains(b.String(), "--- user\nwhy?\n") || !strings.Contains(b.String(), "--- reply\nbecause\n") {
		t.Errorf("%v in\n%s", err, b.String())
	}
	b.Reset()
	long := []byte(strings.Repeat("1", 5000))
	if err := Entry(&b, &cache.Entry{Op: "encode", Request: request, Answer: long}); err != nil ||
		b.Len() > 4000 || !strings.Contains(b.String(), "(5.0 kB)") {
		t.Errorf("%v, %d characters", err, b.Len())
	}
	if err := Entry(&b, &cache.Entry{Op: "generate", Request: []byte("{")}); err == nil {
		t.Error("what cannot be read is shown")
	}
}
