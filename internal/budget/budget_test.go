package budget

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

// jobOf is a job over n rows: a metric reads a number in the answer, and another, which is asked about some, what it is
// in truth. Every ninth row has no answer, and of every tenth the expensive metric makes nothing. Asked counts its calls,
// and beyond most calls the model is gone.
func jobOf(n int, limit Limit, most int64, asked *atomic.Int64) *Job {
	metric := func(name string, score func(v float64) (metrics.Score, error)) metrics.Metric {
		return metrics.Metric{Name: name, Max: 1, Needs: metrics.Answer,
			Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				var v int
				if _, err := fmt.Sscan(s.Answer, &v); err != nil {
					return metrics.Score{}, err
				}
				return score(float64(v%100) / 100)
			}}
	}
	cheap := metric("a/cheap", func(v float64) (metrics.Score, error) { return metrics.Score{Value: v}, nil })
	costly := metric("a/costly", func(v float64) (metrics.Score, error) {
		switch {
		case asked.Add(1) > most:
			return metrics.Score{}, backend.ErrUnavailable
		case int(100*v)%10 == 7:
			return metrics.Score{}, metrics.ErrBadReply
		case v > 0.5:
			return metrics.Score{Value: 1}, nil
		}
		return metrics.Score{Value: v}, nil
	})
	return &Job{
		Metrics: []metrics.Metric{costly, cheap},
		Asked:   []runs.Asked{{Metric: "a/costly", Cheap: "a/cheap"}},
		Limit:   limit,
		Options: metrics.Options{Window: 1},
		Say:     func(string, ...any) {},
		Samples: func() iter.Seq2[*metrics.Sample, error] {
			return func(yield func(*metrics.Sample, error) bool) {
				for i := range n {
					s := &metrics.Sample{ID: fmt.Sprint("r", i)}
					if i%9 > 0 {
						s.Answer = fmt.Sprint(i * 37)
					}
					if !yield(s, nil) {
						return
					}
				}
			}
		},
	}
}

func run(t *testing.T, dir string, j *Job) error {
	t.Helper()
	m := runstest.Manifest("a/costly", "a/cheap")
	m.Config.Budget = &runs.Budget{Rows: j.Limit.Rows, Metrics: j.Asked}
	w, err := runs.Create(dir, m, false)
	if err != nil {
		t.Fatal(err)
	}
	err = j.Run(t.Context(), w)
	return errors.Join(err, w.Close(runs.Calls{}, err == nil))
}

func read(t *testing.T, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every row has a result of each metric, in order. Those that were not asked say so, and with what probability they might
// have been; the expensive metric is asked about no more rows than the budget allows.
func TestJob(t *testing.T) {
	var asked atomic.Int64
	dir := t.TempDir()
	if err := run(t, dir, jobOf(200, Limit{Rows: 50}, 1000, &asked)); err != nil {
		t.Fatal(err)
	}
	if asked.Load() != 50 {
		t.Errorf("asked %d times", asked.Load())
	}
	r, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	kinds := map[metrics.Kind]int{}
	weights := 0.0
	for res, err := range r.Results(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("r", n/2); res.Sample != want || res.Metric != []string{"a/costly", "a/cheap"}[n%2] {
			t.Fatalf("result %d is of %s, %s", n, res.Sample, res.Metric)
		}
		if n++; res.Metric == "a/cheap" {
			continue
		}
		kinds[res.Kind]++
		switch {
		case (res.Kind == metrics.NotApplicable) != (res.Drawn == nil):
			t.Errorf("%+v", res)
		case res.Drawn != nil && res.Kind != metrics.NotAsked:
			weights += 1 / res.Drawn.Probability
		}
	}
	rows := 200 - 23
	if n != 400 || kinds[metrics.NotApplicable] != 23 || kinds[metrics.NotAsked] != rows-50 ||
		kinds[""]+kinds[metrics.BadReply] != 50 || kinds[metrics.BadReply] == 0 {
		t.Errorf("%d results: %v", n, kinds)
	}
	if weights < float64(rows)-1e-6 || weights > float64(rows)+1e-6 {
		t.Errorf("the weights add up to %v, not to the %d rows", weights, rows)
	}
	if _, err := os.Stat(filepath.Join(dir, "draft.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the draft is left behind: %v", err)
	}
}

// A job whose model goes away after any number of answers goes on from there: it asks nothing twice, and the file comes
// out the same. The same holds where a kill tore the draft.
func TestResume(t *testing.T) {
	var asked atomic.Int64
	whole := t.TempDir()
	if err := run(t, whole, jobOf(120, Limit{Rows: 30}, 1000, &asked)); err != nil {
		t.Fatal(err)
	}
	want := read(t, whole)
	for most := int64(0); most < 30; most += 7 {
		dir := t.TempDir()
		asked.Store(0)
		if err := run(t, dir, jobOf(120, Limit{Rows: 30}, most, &asked)); !errors.Is(err, backend.ErrUnavailable) {
			t.Fatalf("after %d answers: %v", most, err)
		}
		asked.Store(0)
		if err := run(t, dir, jobOf(120, Limit{Rows: 30}, 1000, &asked)); err != nil {
			t.Fatal(err)
		}
		if got := asked.Load(); got != 30-most {
			t.Errorf("after %d answers, %d more were asked for", most, got)
		}
		if !bytes.Equal(read(t, dir), want) {
			t.Fatalf("after %d answers the results differ", most)
		}
	}
	draft := t.TempDir()
	if err := run(t, draft, jobOf(120, Limit{Rows: 30}, 20, &asked)); err == nil {
		t.Fatal("the model did not go away")
	}
	torn, err := os.ReadFile(filepath.Join(draft, "draft.jsonl"))
	if err != nil || strings.Count(string(torn), "\n") < 120 {
		t.Fatalf("%d bytes, %v", len(torn), err)
	}
	for cut := 0; cut < len(torn); cut += 1499 {
		dir := t.TempDir()
		asked.Store(0)
		if err := run(t, dir, jobOf(120, Limit{Rows: 30}, 0, &asked)); err == nil {
			t.Fatal("the model did not go away")
		}
		if err := os.WriteFile(filepath.Join(dir, "draft.jsonl"), torn[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		if err := run(t, dir, jobOf(120, Limit{Rows: 30}, 1000, &asked)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, dir), want) {
			t.Fatalf("cut at %d, the results differ", cut)
		}
	}
}

func TestChoose(t *testing.T) {
	judge := metrics.Asks{backend.Judge: backend.CanGenerate}
	claims := metrics.Metric{Name: "faithfulness/claims", Asks: judge}
	own := metrics.Metric{Name: "mine/own", Asks: judge}
	words := metrics.Metric{Name: "faithfulness/words"}
	f1 := metrics.Metric{Name: "answer_correctness/token_f1"}
	check := func(ms, cheap []metrics.Metric, want, missing, wantErr string) {
		t.Helper()
		asked, more, err := Choose(ms, cheap)
		if wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), wantErr) {
				t.Errorf("%v, want an error with %q", err, wantErr)
			}
			return
		}
		got := ""
		for _, a := range asked {
			got += a.Metric + " by " + a.Cheap + "; "
		}
		if err != nil || got != want || strings.Join(more, ",") != missing {
			t.Errorf("%s, missing %v, %v; want %s, missing %s", got, more, err, want, missing)
		}
	}
	list := func(ms ...metrics.Metric) []metrics.Metric { return ms }
	check(list(claims), nil, "faithfulness/claims by faithfulness/k_precision; ", "faithfulness/k_precision", "")
	check(list(claims, words), nil, "faithfulness/claims by faithfulness/words; ", "", "")
	check(list(claims), list(f1), "faithfulness/claims by answer_correctness/token_f1; ", "answer_correctness/token_f1", "")
	check(list(claims, own), list(words), "faithfulness/claims by faithfulness/words; mine/own by faithfulness/words; ",
		"faithfulness/words", "")
	check(list(f1, words), list(words), "answer_correctness/token_f1 by faithfulness/words; ", "", "")
	check(list(own), nil, "", "", "mine/own: no cheap metric goes with it")
	check(list(words), list(words), "", "", "no metric is left")
	check(list(f1), nil, "answer_correctness/token_f1 by answer_correctness/token_recall; ",
		"answer_correctness/token_recall", "")
}
