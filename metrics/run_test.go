package metrics

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/linger"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Numbered yields n samples with ids "0", "1", ...
func numbered(n int) iter.Seq2[*Sample, error] {
	return func(yield func(*Sample, error) bool) {
		for i := range n {
			if !yield(&Sample{ID: fmt.Sprint(i), Question: "q", Answer: "a"}, nil) {
				return
			}
		}
	}
}

// metric makes a metric from a function.
func metric(name string, score func(ctx context.Context, m Models, s *Sample) (Score, error)) Metric {
	return Metric{Name: name, Max: 1, Needs: Question, Score: score}
}

// asking is a metric that asks the judge once, and asks the judge n times.
func asking(name string) Metric { return asks(name, 1) }

func asks(name string, n int) Metric {
	return metric(name, func(ctx context.Context, m Models, s *Sample) (Score, error) {
		req := &backend.GenerateRequest{Messages: []backend.Message{{Role: backend.User, Text: name + s.ID}},
			MaxTokens: 8}
		for range n {
			if _, err := m.Role(backend.Judge).Generate(ctx, req); err != nil {
				return Score{}, err
			}
		}
		return Score{Value: 1}, nil
	})
}

// collect runs and returns what was emitted, as "sample metric kind".
func collect(ctx context.Context, samples iter.Seq2[*Sample, error], ms []Metric, m Models,
	o Options) ([]string, error) {
	var lines []string
	err := Run(ctx, samples, ms, m, o, func(r Result) error {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Sample, r.Metric, r.Kind)))
		return nil
	})
	return lines, err
}

// order is what collect returns of n samples without an error.
func order(n int, names ...string) []string {
	var want []string
	for i := range n {
		for _, name := range names {
			want = append(want, fmt.Sprint(i, " ", name))
		}
	}
	return want
}

func TestRunKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepy := metric("x/sleepy", func(_ context.Context, _ Models, s *Sample) (Score, error) {
			time.Sleep(time.Duration(7-len(s.ID)*3) * time.Millisecond * time.Duration(s.ID[0]-'0'+1))
			return Score{}, nil
		})
		fake := &backendtest.Fake{PerToken: time.Millisecond}
		got, err := collect(t.Context(), numbered(50), []Metric{sleepy, asking("x/asking")},
			Models{Roles: Roles{backend.Judge: fake}}, Options{})
		if err != nil || !slices.Equal(got, order(50, "x/sleepy", "x/asking")) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestRunOfNothing(t *testing.T) {
	got, err := collect(t.Context(), numbered(0), []Metric{asking("x/a")}, Models{}, Options{})
	if err != nil || got != nil {
		t.Errorf("no samples: %q, %v", got, err)
	}
}

// The window bounds how many samples are taken beyond the one that holds the others up.
func TestRunWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var taken atomic.Int64
		samples := func(yield func(*Sample, error) bool) {
			for s := range numbered(100) {
				taken.Add(1)
				if !yield(s, nil) {
					return
				}
			}
		}
		free := make(chan struct{})
		slow := metric("x/slow", func(_ context.Context, _ Models, s *Sample) (Score, error) {
			if s.ID == "0" {
				<-free
			}
			return Score{}, nil
		})
		done := make(chan error)
		go func() {
			_, err := collect(t.Context(), samples, []Metric{slow}, Models{}, Options{Window: 8})
			done <- err
		}()
		synctest.Wait()
		if n := taken.Load(); n != 8+8+1 {
			t.Errorf("%d samples taken with a window of 8, where 8 are scored at once and one waits to be opened", n)
		}
		close(free)
		if err := <-done; err != nil || taken.Load() != 100 {
			t.Errorf("%d samples taken, %v", taken.Load(), err)
		}
	})
}

// The calls in flight fill the models' slots.
func TestRunFeedsTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &backendtest.Fake{PerToken: time.Millisecond, About: backend.Info{Slots: 6}}
		if _, err := collect(t.Context(), numbered(100), []Metric{asking("x/a")},
			Models{Roles: Roles{backend.Judge: fake}}, Options{}); err != nil {
			t.Fatal(err)
		}
		if n := fake.Stats().MaxInFlight; n < 6 {
			t.Errorf("at most %d calls in flight for 6 slots", n)
		}
	})
}

func TestRunMemoryIsFlat(t *testing.T) {
	const n = 4000
	text := strings.Repeat("x", 64<<10) // n of them are 256 MB
	samples := func(yield func(*Sample, error) bool) {
		for i := range n {
			if !yield(&Sample{ID: fmt.Sprint(i), Question: text + fmt.Sprint(i)}, nil) {
				return
			}
		}
	}
	quick := metric("x/quick", func(context.Context, Models, *Sample) (Score, error) { return Score{}, nil })
	var most uint64
	emitted := 0
	err := Run(t.Context(), samples, []Metric{quick}, Models{}, Options{}, func(Result) error {
		if emitted++; emitted%500 == 0 {
			runtime.GC()
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
		}
		return nil
	})
	if err != nil || emitted != n || most > 64<<20 {
		t.Errorf("%d results, at most %d MB in use, %v", emitted, most>>20, err)
	}
}

func TestRunRecordsWhatGoesWrong(t *testing.T) {
	value := func(v float64) func(context.Context, Models, *Sample) (Score, error) {
		return func(context.Context, Models, *Sample) (Score, error) { return Score{Value: v}, nil }
	}
	failing := func(err error) func(context.Context, Models, *Sample) (Score, error) {
		return func(context.Context, Models, *Sample) (Score, error) { return Score{Value: 1}, err }
	}
	needs := metric("x/needs", value(1))
	needs.Needs = Question | Contexts | References
	nan := math.NaN()
	for _, tt := range []struct {
		metric Metric
		kind   Kind
		says   string
	}{
		{metric("x/fine", value(1)), "", ""},
		{needs, NotApplicable, "contexts, reference_answers"},
		{metric("x/high", value(1.5)), Failed, "1.5"},
		{metric("x/nan", value(nan)), Failed, "NaN"},
		{metric("x/finding", func(context.Context, Models, *Sample) (Score, error) {
			return Score{Because: []Finding{{Text: "odd", Value: &nan}}}, nil
		}), Failed, "odd"},
		{metric("x/panic", func(context.Context, Models, *Sample) (Score, error) { panic("oh") }), Failed, "panic: oh"},
		{metric("x/bad", failing(fmt.Errorf("hm: %w", ErrBadReply))), BadReply, "hm"},
		{metric("x/na", failing(ErrNotApplicable)), NotApplicable, "not applicable"},
		{metric("x/long", failing(&backend.TooLongError{Tokens: 9, Limit: 5})), TooLong, "9 of 5"},
		{metric("x/invalid", failing(backend.ErrInvalid)), Invalid, "invalid"},
		{metric("x/other", failing(errors.New("disk on fire"))), Failed, "disk on fire"},
		{metric("x/deadline", failing(context.DeadlineExceeded)), Failed, "deadline"}, // an engine's own, not the run's
	} {
		var got Result
		err := Run(t.Context(), numbered(1), []Metric{tt.metric}, Models{}, Options{}, func(r Result) error {
			got = r
			return nil
		})
		if err != nil || got.Kind != tt.kind || !strings.Contains(got.Error, tt.says) ||
			(got.Score == nil) != (tt.kind != "") {
			t.Errorf("%s: %+v, %v; want kind %q and an error that says %q", tt.metric.Name, got, err, tt.kind, tt.says)
		}
	}
}

func TestRunEndsEarly(t *testing.T) {
	check := func(err error, at string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			m := metric("x/m", func(ctx context.Context, _ Models, s *Sample) (Score, error) {
				if s.ID == at {
					return Score{}, err
				}
				return Score{}, nil
			})
			got, runErr := collect(t.Context(), numbered(100), []Metric{m}, Models{}, Options{})
			if !errors.Is(runErr, err) || !strings.Contains(runErr.Error(), `"`+at+`"`) {
				t.Errorf("error %v, want %v with the sample's id", runErr, err)
			}
			if want := order(100, "x/m"); len(got) > 5 || !slices.Equal(got, want[:len(got)]) {
				t.Errorf("emitted %q", got)
			}
		})
	}
	check(backend.ErrUnavailable, "5")
	check(backend.ErrClosed, "5")
	check(backend.ErrUnavailable, "0")
}

// What was read before a bad row is scored.
func TestRunEndsWithTheSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("line 4 is no JSON")
		samples := func(yield func(*Sample, error) bool) {
			for s := range numbered(3) {
				if !yield(s, nil) {
					return
				}
			}
			if yield(nil, bad) {
				t.Error("asked for more after an error")
			}
		}
		fake := &backendtest.Fake{PerToken: time.Second}
		got, err := collect(t.Context(), samples, []Metric{asking("x/a")}, Models{Roles: Roles{backend.Judge: fake}},
			Options{})
		if err != bad || !slices.Equal(got, order(3, "x/a")) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestRunStopsWhenEmitFails(t *testing.T) {
	full := errors.New("disk full")
	n := 0
	err := Run(t.Context(), numbered(1000), []Metric{asking("x/a")},
		Models{Roles: Roles{backend.Judge: &backendtest.Fake{}}}, Options{}, func(Result) error {
			if n++; n == 3 {
				return full
			}
			return nil
		})
	if err != full || n != 3 {
		t.Errorf("%v after %d results", err, n)
	}
}

// Once the context is cancelled, no call begins; calls in flight have their grace.
func TestRunCancelled(t *testing.T) {
	check := func(grace, perToken time.Duration, calls, emitted int) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("interrupted")
			var late, ended atomic.Int64
			fake := &backendtest.Fake{PerToken: perToken, Before: func(context.Context, backendtest.Call) error {
				if ctx.Err() != nil {
					late.Add(1)
				}
				return nil
			}}
			// Each call takes 8 tokens' time; all samples of the window run at once.
			time.AfterFunc(perToken*4, func() { cancel(cause) })
			begin := time.Now()
			got, err := collect(ctx, numbered(1000), []Metric{asks("x/a", calls)},
				Models{Roles: Roles{backend.Judge: linger.Wrap(fake, grace)}},
				Options{Window: 10, Ready: func(Result) { ended.Add(1) }})
			if err != cause || late.Load() != 0 {
				t.Errorf("error %v, %d calls begun after it", err, late.Load())
			}
			if len(got) != emitted || !slices.Equal(got, order(1000, "x/a")[:emitted]) || int(ended.Load()) < emitted {
				t.Errorf("grace %v: emitted %q, %d were ready", grace, got, ended.Load())
			}
			if took := time.Since(begin); took > 4*perToken+grace {
				t.Errorf("it took %v", took)
			}
		})
	}
	check(0, time.Second, 1, 0)
	check(5*time.Second, time.Second, 1, 10) // 4 seconds are left of each call
	check(3*time.Second, time.Second, 1, 0)  // too little for them
	check(time.Minute, time.Second, 2, 0)    // each has a call to make yet
}

func TestRunCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fake := &backendtest.Fake{}
	got, err := collect(ctx, numbered(10), []Metric{asking("x/a")},
		Models{Roles: Roles{backend.Judge: linger.Wrap(fake, time.Minute)}}, Options{})
	if !errors.Is(err, context.Canceled) || got != nil || fake.Stats().Calls() != 0 {
		t.Errorf("%q, %v, %d calls", got, err, fake.Stats().Calls())
	}
}

// Running the same again, with the answers of the first run at hand, gives the rest.
func TestRunGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	first, err := 0, error(nil)
	err = Run(ctx, numbered(30), []Metric{asking("x/a")}, Models{Roles: Roles{backend.Judge: &backendtest.Fake{}}},
		Options{}, func(r Result) error {
			if first++; first == 7 {
				cancel()
			}
			return nil
		})
	if !errors.Is(err, context.Canceled) || first < 7 {
		t.Fatalf("%d results, %v", first, err)
	}
	got, err := collect(t.Context(), numbered(30), []Metric{asking("x/a")},
		Models{Roles: Roles{backend.Judge: &backendtest.Fake{}}}, Options{})
	if err != nil || !slices.Equal(got, order(30, "x/a")) {
		t.Errorf("the second run: %q, %v", got, err)
	}
}

// What a result cost is the sum over its answers, whoever computed them.
func TestRunCounts(t *testing.T) {
	judged := metric("x/judged", func(ctx context.Context, m Models, s *Sample) (Score, error) {
		m.Note(backend.Key{1}, 100, 0)
		m.Note(backend.Key{2}, 20, 4)
		return Score{Value: 1}, nil
	})
	quiet := metric("x/quiet", func(context.Context, Models, *Sample) (Score, error) { return Score{}, nil })
	var got []Result
	err := Run(t.Context(), numbered(1), []Metric{judged, quiet}, Models{}, Options{}, func(r Result) error {
		got = append(got, r)
		return nil
	})
	if err != nil || len(got) != 2 {
		t.Fatalf("%d results, %v", len(got), err)
	}
	if c := got[0].Cost; len(got[0].Calls) != 2 || c == nil || *c != (Cost{PromptTokens: 120, OutputTokens: 4}) {
		t.Errorf("two calls cost %+v, keys %q", c, got[0].Calls)
	}
	if got[1].Cost != nil || got[1].Calls != nil {
		t.Errorf("no call cost %+v, keys %q", got[1].Cost, got[1].Calls)
	}
}

// A result says which group its sample is in, scored or not: what is averaged must know what belongs together.
func TestRunKeepsGroups(t *testing.T) {
	samples := func(yield func(*Sample, error) bool) {
		_ = yield(&Sample{ID: "a", Group: "kettle", Question: "q"}, nil) &&
			yield(&Sample{ID: "b", Group: "kettle"}, nil) &&
			yield(&Sample{ID: "c", Question: "q"}, nil)
	}
	one := metric("x/one", func(context.Context, Models, *Sample) (Score, error) { return Score{Value: 1}, nil })
	groups := map[string]string{}
	err := Run(context.Background(), samples, []Metric{one}, Models{}, Options{}, func(r Result) error {
		groups[r.Sample] = r.Group
		return nil
	})
	if want := map[string]string{"a": "kettle", "b": "kettle", "c": ""}; err != nil || !maps.Equal(groups, want) {
		t.Errorf("%v %v, want %v", groups, err, want)
	}
}

// In the row layout no more samples are scored at once than fill the judge's slots, so that what their calls share stays
// in its prefix cache. A run that ends meanwhile ends.
func TestRunScoresFewSamplesAtOnce(t *testing.T) {
	for _, tt := range []struct {
		layout prompts.Layout
		slots  int
		ops    backend.Ops
		most   int
	}{
		{prompts.Row, 6, backend.CanChoose, 3},
		{prompts.Row, 6, backend.CanGenerate, 6},
		{prompts.Row, 1, backend.CanChoose, 2},
		{prompts.Classic, 6, backend.CanChoose, 16},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			active, most := map[string]int{}, 0
			busy := func(name string) Metric {
				m := metric(name, func(ctx context.Context, _ Models, s *Sample) (Score, error) {
					mu.Lock()
					active[s.ID]++
					most = max(most, len(active))
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					defer mu.Unlock()
					if active[s.ID]--; active[s.ID] == 0 {
						delete(active, s.ID)
					}
					return Score{Value: 1}, ctx.Err()
				})
				m.Asks = Asks{backend.Judge: tt.ops}
				return m
			}
			models := Models{Prompts: prompts.Set{}.In(tt.layout), Roles: Roles{
				backend.Judge: &backendtest.Fake{About: backend.Info{Slots: tt.slots}}}}
			lines, err := collect(t.Context(), numbered(40), []Metric{busy("a"), busy("b")}, models, Options{})
			if err != nil || len(lines) != 80 || most != tt.most {
				t.Errorf("%+v: %d results, %d samples at once, %v", tt, len(lines), most, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			if _, err := collect(ctx, numbered(40), []Metric{busy("a"), busy("b")}, models, Options{}); err == nil {
				t.Error("a run that was ended has no error")
			}
		})
	}
}

func TestRunEndsWithShortSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lengths := []int{5, 1, 1, 2, 9, 4, 7} // of the answers; the last are read ahead
		samples := func(yield func(*Sample, error) bool) {
			for i, n := range lengths {
				if !yield(&Sample{ID: fmt.Sprint(i), Question: "?", Answer: strings.Repeat("x", n)}, nil) {
					return
				}
			}
		}
		var mu sync.Mutex
		var begun []int
		slow := metric("x/slow", func(ctx context.Context, _ Models, s *Sample) (Score, error) {
			mu.Lock()
			begun = append(begun, len(s.Answer))
			mu.Unlock()
			time.Sleep(time.Duration(backend.Priority(ctx)) * time.Second)
			return Score{}, nil
		})
		slow.Asks = Asks{backend.Judge: backend.CanChoose}
		models := Models{Prompts: prompts.Set{}.In(prompts.Row), Roles: Roles{
			backend.Judge: &backendtest.Fake{About: backend.Info{Slots: 2}}}}
		lines, err := collect(t.Context(), samples, []Metric{slow}, models, Options{})
		if err != nil || !slices.Equal(lines, order(len(lengths), "x/slow")) {
			t.Errorf("%v, %v", lines, err)
		}
		if last := begun[len(begun)-2:]; !slices.Equal(last, []int{7, 4}) {
			t.Errorf("samples were begun in the order %v: the last two are to be the shorter of those read ahead", begun)
		}
	})
}
