package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

// A made row, and what a filter is held against without an index.
type made struct {
	sample  *metrics.Sample
	scores  [2]float64 // NaN: none
	lang    string
	failed  bool
	labels  float64
	labeled bool
}

// makeIndex indexes rows drawn at random: scores of two metrics, the second of which is better low and from 1 to 5.
func makeIndex(t *testing.T, n int) (*Index, []made) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	m := runstest.Manifest("faithfulness/claims", "toxicity/judge")
	m.Config.Metrics[1].Min, m.Config.Metrics[1].Max, m.Config.Metrics[1].LowerIsBetter = 1, 5, true
	m.Config.Dataset.Rows = n
	var rows []made
	var results []metrics.Result
	for i := range n {
		r := made{lang: []string{"de", "en", "fr"}[random.IntN(3)], scores: [2]float64{random.Float64(), 1 + 4*random.Float64()},
			labels: float64(random.IntN(2)), labeled: random.IntN(4) == 0}
		words := []string{"common"}
		if r.scores[0] > 0.6 {
			words = append(words, "upper")
		}
		if random.IntN(20) == 0 {
			words = append(words, "rare")
		}
		r.sample = &metrics.Sample{ID: fmt.Sprint("s", i), Question: strings.Join(words, " "),
			Extra: map[string]json.RawMessage{"lang": json.RawMessage(`"` + r.lang + `"`), "serial": json.RawMessage(fmt.Sprint(i))}}
		for k, metric := range m.Config.Metrics {
			result := runstest.Scored(r.sample.ID, metric.Name, r.scores[k])
			if random.IntN(10) == 0 {
				r.scores[k], r.failed = math.NaN(), true
				result = metrics.Result{Sample: r.sample.ID, Metric: metric.Name, Error: "the reply broke off", Kind: metrics.BadReply}
			}
			results = append(results, result)
		}
		rows = append(rows, r)
	}
	dir := filepath.Join(t.TempDir(), "run")
	runstest.Write(t, dir, m, results...)
	run, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(run, t.TempDir(), func(context.Context, *runs.Run) (Data, error) {
		return Data{Samples: func(yield func(*metrics.Sample, error) bool) {
			for _, r := range rows {
				if !yield(r.sample, nil) {
					return
				}
			}
		}, Close: func() error { return nil }}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { x.Follow(ctx); close(ended) }()
	x.Caught(ctx)
	stop()
	<-ended
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x, rows
}

// Whatever is asked for, and however it is looked for, the rows are those that a plain search through all of them finds, in
// its order.
func TestLists(t *testing.T) {
	x, rows := makeIndex(t, 220)
	state := x.Now()
	if c := state.Column("serial"); c != nil {
		t.Error("a column of 220 values is taken for one of slices")
	}
	given := map[string]float64{}
	for _, r := range rows {
		if r.labeled {
			given[r.sample.ID] = r.labels
		}
	}
	share := func(r made, metric int) float64 {
		if metric == 1 {
			return 1 - (r.scores[1]-1)/4
		}
		return r.scores[0]
	}
	plain := func(f Filter) []string {
		var list []made
		for _, r := range rows {
			ok := f.Words == "" || slices.Contains(strings.Fields(r.sample.Question), f.Words)
			for _, b := range f.Ranges {
				v := r.scores[b.Metric]
				ok = ok && v >= b.Lo && v < b.Hi
			}
			for _, s := range f.Slices {
				ok = ok && s == Slice{"lang", r.lang}
			}
			ok = ok && (!f.Failed || r.failed) && !slices.Contains(f.Without, r.sample.ID) && (f.Sort == AsRun || !math.IsNaN(r.scores[f.By]))
			if ok {
				list = append(list, r)
			}
		}
		other := func(r made) float64 {
			if f.Against.Labels == nil {
				return share(r, f.Against.Metric)
			}
			if !r.labeled {
				return math.NaN()
			}
			return r.labels
		}
		flips := func(r made) bool { return (other(r) >= 0.5) != (share(r, f.By) >= 0.5) }
		if f.Against != nil {
			list = slices.DeleteFunc(list, func(r made) bool {
				return math.IsNaN(other(r)) || math.IsNaN(r.scores[f.By]) || f.Flipped && !flips(r)
			})
		}
		slices.SortStableFunc(list, func(a, b made) int {
			switch {
			case f.Sort == Low:
				return cmp.Compare(a.scores[f.By], b.scores[f.By])
			case f.Sort == High:
				return cmp.Compare(b.scores[f.By], a.scores[f.By])
			case f.Against == nil:
				return 0
			}
			apart := func(r made) float64 {
				d := math.Abs(other(r) - share(r, f.By))
				if flips(r) {
					d += 2
				}
				return d
			}
			return cmp.Compare(apart(b), apart(a))
		})
		var ids []string
		for _, r := range list {
			ids = append(ids, r.sample.ID)
		}
		return ids
	}
	var filters []Filter
	for _, words := range []string{"", "common", "upper", "rare", "absent"} {
		for _, sort := range []Sort{AsRun, Low, High} {
			for _, slice := range [][]Slice{nil, {{"lang", "de"}}, {{"lang", "nl"}}} {
				f := Filter{Words: words, Sort: sort, Slices: slice}
				filters = append(filters, f)
				f.By = 1
				f.Ranges = []Range{{Metric: 0, Lo: 0.2, Hi: 0.7}}
				filters = append(filters, f)
				f.Against = &Against{Metric: 0}
				filters = append(filters, f)
				f.Against, f.Flipped, f.By = &Against{Labels: given, High: 1}, true, 0
				filters = append(filters, f)
			}
		}
	}
	filters = append(filters, Filter{Failed: true}, Filter{Without: []string{"s0", "s3"}, Sort: Low})
	for k, p := range []patience{{30_000, 4000}, {3, 40}, {3, 1}} {
		x.patience = p
		for _, f := range filters {
			want := plain(f)
			var got []string
			for from := 0; from <= len(want); from += PageRows {
				list, err := x.List(t.Context(), f, from)
				if err != nil {
					t.Fatalf("%+v: %v", f, err)
				}
				if more := len(list) > PageRows; more != (len(want) > from+PageRows) {
					t.Errorf("%+v from %d: it goes on is %v", f, from, more)
				}
				for _, r := range list[:min(len(list), PageRows)] {
					got = append(got, r.Sample)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v %+v:\n%v, want\n%v", p, f, got, want)
			}
			if k > 0 {
				continue // what follows does not go by patience
			}
			f.Sort = AsRun
			ids, more, err := x.Passing(t.Context(), f, 1000)
			if n := len(plain(f)); err != nil || more || len(ids) != n {
				t.Errorf("%+v: %d pass, want %d, %v", f, len(ids), n, err)
			}
			if tally, err := x.Tally(t.Context(), f, nil); err != nil || tally.Rows != len(plain(f)) || tally.More {
				t.Errorf("%+v: %+v %v, want %d rows", f, tally, err, len(plain(f)))
			}
		}
	}
	if ids, more, err := x.Passing(t.Context(), Filter{}, 7); err != nil || !more || len(ids) != 7 {
		t.Errorf("%v %v %v", ids, more, err)
	}
	if _, err := x.Find(t.Context(), "s220"); !errors.Is(err, ErrNoRow) {
		t.Error(err)
	}
}

// What the index says of slices and scores is what the rows say.
func TestData(t *testing.T) {
	x, rows := makeIndex(t, 60)
	data, err := x.Data(t.Context(), []string{"lang"})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := x.Scores(t.Context(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	some, err := x.Scores(t.Context(), 1, []string{"s3", "s5", "none"})
	if err != nil || !slices.Equal(some.Samples, []string{"s3", "s5"}) {
		t.Errorf("%v %v", some.Samples, err)
	}
	for i, r := range rows {
		if got := data.Rows[r.sample.ID].Values; len(got) != 1 || !slices.Equal(got[0], []string{r.lang}) {
			t.Errorf("%s is in %v, want %s", r.sample.ID, got, r.lang)
		}
		v, ok := scores.Of["toxicity/judge"][r.sample.ID]
		if ok == math.IsNaN(r.scores[1]) || ok && v != r.scores[1] || scores.Samples[i] != r.sample.ID {
			t.Errorf("%s has the score %v %v, want %v", r.sample.ID, v, ok, r.scores[1])
		}
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
