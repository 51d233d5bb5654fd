package bench

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/metrics"
)

// batched writes a file as llama-batched-bench does.
func batched(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "batched.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCompare sets speeds beside those of llama-batched-bench, of which the fastest lines count, and reads what was
// written.
func TestCompare(t *testing.T) {
	rates, err := ReadBatched(batched(t, `{"pp": 128, "tg": 32, "pl": 4, "speed_pp": 100, "speed_tg": 40, "speed": 80}
{"pp": 128, "tg": 32, "pl": 4, "speed_pp": 90, "speed_tg": 50, "speed": 85}
{"pp": 128, "tg": 32, "pl": 16, "speed_pp": 100, "speed_tg": 80, "speed": 90}
`))
	if err != nil {
		t.Fatal(err)
	}
	var b Report
	b.Compare(Speed{Shape: Shape{4, 128, 32}, PromptRate: 95, ReplyRate: 55, Rate: 82}, rates)
	b.Compare(Speed{Shape: Shape{16, 128, 32}, PromptRate: 101, ReplyRate: 60, Rate: 81}, rates)
	b.Compare(Speed{Shape: Shape{1, 128, 32}, PromptRate: 95, ReplyRate: 20, Rate: 60}, rates)
	if b.EngineRatio != 81.0/90 || b.Speeds[0].PromptRatio != 0.95 || b.Speeds[0].ReplyRatio != 1.1 || b.Speeds[2].Batched != nil {
		t.Errorf("%+v", b)
	}
	b.Rows = Rows{Count: 3, RowsPerMinute: 12, Reading: 1.5}
	var out bytes.Buffer
	if err := b.Write(&out, "json"); err != nil {
		t.Fatal(err)
	}
	again, err := Read(batched(t, out.String()))
	if err != nil || again.Count != 3 || again.Speeds[0].Batched.ReplyRate != 50 || again.Reading != 1.5 {
		t.Errorf("%+v, %v", again, err)
	}
	out.Reset()
	if err := again.Write(&out, "md"); err != nil || !strings.Contains(out.String(), "| 4 | 128 + 32 | 95.0 | 100.0 | 0.95 | 55.0 | 50.0 | 1.10 |") ||
		!strings.Contains(out.String(), "| 1 | 128 + 32 | 95.0 | – | – | 20.0 | – | – |") {
		t.Errorf("%v: %s", err, out.String())
	}
}

func FuzzReadBatched(f *testing.F) {
	f.Add(`{"pp": 1, "tg": 1, "pl": 1, "speed_pp": 1, "speed_tg": 1, "speed": 1}`)
	f.Add(`{"speed": 0}`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, text string) {
		rates, err := ReadBatched(batched(t, text))
		if err != nil && rates != nil {
			t.Errorf("%v beside %v", rates, err)
		}
		for shape, r := range rates {
			if !(r.Rate > 0) {
				t.Errorf("%+v has %+v", shape, r)
			}
		}
	})
}

// Without engines nothing is measured, and what is wrong is the user's to mend.
func TestMeasureRefused(t *testing.T) {
	t.Setenv("ASSAY_HOME", t.TempDir())
	data := filepath.Join(t.TempDir(), "qa.jsonl")
	if err := os.WriteFile(data, []byte(`{"question": "q", "answer": "a"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	check := func(want string, j Job) {
		t.Helper()
		j.Say, j.Stack = t.Logf, stack.Options{Backend: "llama", Cache: "off", Say: t.Logf, Warn: t.Logf}
		_, err := j.Measure(t.Context())
		if !errors.As(err, new(*runs.InputError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check("--sequences 0", Job{Sequences: []int{0}})
	check("no such file", Job{Batched: filepath.Join(t.TempDir(), "none.jsonl")})
	check("preset", Job{Data: data, Preset: "nothing", Layout: "row"})
	check("--layout", Job{Data: data, Preset: "lexical", Layout: "other"})
	check("no such dataset", Job{Data: data + "x", Preset: "lexical", Layout: "row"})
}

// Metrics that no model is asked for need none to be scored with.
func TestMeasureRows(t *testing.T) {
	data := filepath.Join(t.TempDir(), "qa.jsonl")
	if err := os.WriteFile(data, []byte(`{"question": "q", "answer": "a b", "references": ["a"]}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var seen atomic.Int64
	stopped := false
	j := Job{Data: data, Preset: "lexical", Layout: "row", Say: t.Logf, Stack: stack.Options{Backend: "llama", Cache: "off"},
		Meter: func(int) (func(metrics.Result), func()) {
			return func(metrics.Result) { seen.Add(1) }, func() { stopped = true }
		}}
	b, err := j.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b.Model != "" || b.Count != 1 || b.RowsPerMinute <= 0 || seen.Load() == 0 || !stopped {
		t.Errorf("%+v, %d results", b, seen.Load())
	}
}
