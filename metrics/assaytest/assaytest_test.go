package assaytest_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/assaytest"
)

// A recorder is a test whose end is looked at.
type recorder struct {
	testing.TB
	ctx     context.Context
	said    strings.Builder
	failed  bool
	skipped bool
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	fmt.Fprintf(&r.said, format+"\n", args...)
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = true
	fmt.Fprintf(&r.said, format+"\n", args...)
	runtime.Goexit()
}

// try runs a test to its end.
func try(t *testing.T, test func(testing.TB)) *recorder {
	r := &recorder{ctx: t.Context()}
	var done sync.WaitGroup
	done.Go(func() { test(r) })
	done.Wait()
	return r
}

func (r *recorder) want(t *testing.T, failed bool, words ...string) {
	t.Helper()
	if r.failed != failed {
		t.Errorf("failed is %v: %s", r.failed, &r.said)
	}
	for _, w := range words {
		if !strings.Contains(r.said.String(), w) {
			t.Errorf("%q is missing from: %s", w, &r.said)
		}
	}
}

var harbour = metrics.Sample{
	ID: "harbour", Question: "When does the ferry leave?", Answer: "The ferry leaves at noon.",
	Contexts: []string{"The ferry leaves at noon and takes an hour."},
}

func TestScoreByWords(t *testing.T) {
	t.Setenv("ASSAY_HOME", t.TempDir()) // no model is there, and none is asked
	const metric = "faithfulness/k_precision"
	if s := assaytest.Score(t, &harbour, metric, 0.9); s.Value != 1 {
		t.Errorf("an answer in the context's words has %v", s.Value)
	}
	strange := harbour
	strange.Answer = "Bears hibernate in winter.\x1b[31m"
	r := try(t, func(t testing.TB) { assaytest.Score(t, &strange, metric, 0.5) })
	r.want(t, true, "faithfulness/k_precision of harbour: 0.000 is below 0.5", "answer: Bears hibernate",
		"question: When does the ferry leave?")
	if strings.Contains(r.said.String(), "\x1b") {
		t.Error("an answer reached the terminal's controls")
	}
	try(t, func(t testing.TB) { assaytest.Score(t, &harbour, "faithfulnes/k_precision", 0.5) }).
		want(t, true, "faithfulness")
	try(t, func(t testing.TB) { assaytest.Score(t, &harbour, metric, 80) }).
		want(t, true, "the limit 80 is not in the range")
	try(t, func(t testing.TB) { assaytest.Score(t, &harbour, metric, math.NaN()) }).
		want(t, true, "the limit NaN is not in the range")
	try(t, func(t testing.TB) { assaytest.Score(t, &metrics.Sample{Question: "?"}, metric, 0.5) }).
		want(t, true, "needs", "contexts")
}

func TestMeanByWords(t *testing.T) {
	t.Setenv("ASSAY_HOME", t.TempDir())
	const metric = "faithfulness/k_precision"
	var samples []*metrics.Sample
	for i := range 12 {
		s := harbour
		s.ID = fmt.Sprint("row-", i)
		if i%3 == 0 {
			s.Answer = "Bears hibernate."
		}
		samples = append(samples, &s)
	}
	var j assaytest.Judge
	defer j.Close()
	s := j.Mean(t, samples, metric, 0.6)
	if s.N != 12 || math.Abs(s.Mean-2.0/3) > 1e-9 || s.Lo == nil || !(*s.Lo < s.Mean && s.Mean < *s.Hi) {
		t.Errorf("of 12 samples, 8 of them right: %+v", s)
	}
	try(t, func(t testing.TB) { j.Mean(t, samples, metric, 0.7) }).
		want(t, true, "of 12 samples, 0.667 (95% interval", "is below 0.7", "of row-0: 0.000", "of row-6: 0.000")
	try(t, func(t testing.TB) { j.MeanBound(t, samples, metric, 0.6) }).want(t, true, "its interval ends below 0.6")
	try(t, func(t testing.TB) { j.MeanBound(t, samples, metric, 0.1) }).want(t, false)
	try(t, func(t testing.TB) { j.MeanBound(t, samples[:1], metric, 0.1) }).want(t, true, "has no interval")
	try(t, func(t testing.TB) { j.Mean(t, nil, metric, 0.1) }).want(t, true, "of no samples")

	bare := append(samples[:3:3], &metrics.Sample{Question: "Why?", Answer: "Because."})
	try(t, func(t testing.TB) { j.Mean(t, bare, metric, 0.9) }).
		want(t, true, "of 3 samples", "without 1 that it says nothing about")
}

// Where a lower score is better, a limit is a ceiling.
func TestLowerIsBetter(t *testing.T) {
	t.Setenv("ASSAY_HOME", t.TempDir())
	s := metrics.Sample{Answer: "Write to ann@example.org.", Question: "Where to?"}
	try(t, func(t testing.TB) { assaytest.Score(t, &s, "pii/patterns", 0) }).want(t, true, "is above 0")
	s.Answer = "Write to us."
	try(t, func(t testing.TB) { assaytest.Score(t, &s, "pii/patterns", 0) }).want(t, false)
}

func TestNothingInstalled(t *testing.T) {
	if testing.Short() {
		t.Skip("what asks a model is skipped with -short")
	}
	t.Setenv("ASSAY_HOME", t.TempDir())
	t.Setenv("ASSAY_LLAMA_LIB", "")
	r := try(t, func(t testing.TB) { assaytest.Score(t, &harbour, "faithfulness/encoder", 0.5) })
	r.want(t, true, "assay models")
	if r.skipped {
		t.Error("a model that is not there skipped the test")
	}
}

// The encoder judge that comes with Assay, on the engine that make test installs: opened once for tests that run at
// once, and answers from the cache the second time.
func TestEncoder(t *testing.T) {
	lib := os.Getenv("ASSAY_TEST_LIB")
	if lib == "" || testing.Short() {
		t.Skip("ASSAY_TEST_LIB is not set: make test runs this")
	}
	t.Setenv("ASSAY_HOME", t.TempDir())
	t.Setenv("ASSAY_LLAMA_LIB", lib)
	asset, err := filepath.Abs("../../models/assets/encoder-judge.gguf")
	if err != nil {
		t.Fatal(err)
	}
	other := harbour
	other.ID, other.Answer = "other", "The ferry sinks every night at the stroke of eleven."
	judge := assaytest.Judge{Models: map[backend.Role]string{backend.Encoder: asset}}
	defer judge.Close()
	var good, bad metrics.Score
	t.Run("at once", func(t *testing.T) {
		t.Run("good", func(t *testing.T) {
			t.Parallel()
			good = judge.Score(t, &harbour, "faithfulness/encoder", 0.6)
		})
		t.Run("bad", func(t *testing.T) {
			t.Parallel()
			r := try(t, func(t testing.TB) { bad = judge.Score(t, &other, "faithfulness/encoder", 0.6) })
			r.want(t, true, "faithfulness/encoder of other", "is below 0.6", "sentence", "sinks every night")
		})
	})
	if !(bad.Value < good.Value) {
		t.Errorf("what the context says has %v, what it does not has %v", good.Value, bad.Value)
	}
	if err := judge.Close(); err != nil {
		t.Fatal(err)
	}
	if again := judge.Score(t, &harbour, "faithfulness/encoder", 0.6); again.Value != good.Value {
		t.Errorf("%v, and after it was closed %v", good.Value, again.Value)
	}
}
