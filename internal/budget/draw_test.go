package budget

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// A world of rows whose true value is 1 or 0, and a cheap score that tells most of them: it is sure of half of the rows,
// and knows little of the others.
func world(rng *rand.Rand, n int) (rows []row, values []float64) {
	for i := range n {
		f, y := rng.Float64(), 0.0
		chance := f
		if rng.IntN(2) == 0 {
			f = 0.9 + f/10
			chance = 0.97
		}
		if rng.Float64() < chance {
			y = 1
		}
		rows = append(rows, row{sample: fmt.Sprint("r", i), cheap: f, known: rng.IntN(20) > 0})
		values = append(values, y)
	}
	return rows, values
}

// exhaust asks about rows until none is drawn any more.
func exhaust(d *draw, values []float64) stats.Active {
	for list := d.next(); list != nil; list = d.next() {
		for _, i := range list {
			d.take(i, &metrics.Score{Value: values[i]})
		}
	}
	return d.survey().Estimate(d.options)
}

// The intervals hold the truth as often as they say: the mean of the very rows, and the mean of all such rows, also where
// asking ends as soon as the interval is narrow. 600 draws: 0.95 is met within 0.03. And the interval is as narrow as that
// of far more rows that are drawn alike.
func TestCoverage(t *testing.T) {
	const draws, n, truth = 600, 800, 0.5*0.5 + 0.5*0.97
	check := func(name string, limit Limit, saves float64) {
		t.Helper()
		rng := rand.New(rand.NewPCG(11, 12))
		held, heldRows, asked, width := 0, 0, 0, 0.0
		for seed := range draws {
			rows, values := world(rng, n)
			mean := 0.0
			for _, y := range values {
				mean += y / n
			}
			a := exhaust(newDraw(rows, limit, uint64(seed), stats.Options{Max: 1}), values)
			if limit.Rows > 0 && a.Asked != limit.Rows {
				t.Fatalf("%s: asked about %d rows, not %d", name, a.Asked, limit.Rows)
			}
			if w := a.Interval.Hi - a.Interval.Lo; limit.Width > 0 && w > limit.Width && a.Asked < n {
				t.Fatalf("%s: ended at %v", name, w)
			}
			if a.Interval.Lo <= truth && truth <= a.Interval.Hi {
				held++
			}
			if a.OfRows.Lo <= mean && mean <= a.OfRows.Hi {
				heldRows++
			}
			asked += a.Asked
			width += (a.Interval.Hi - a.Interval.Lo) / draws
		}
		for what, c := range map[string]float64{"all such rows": float64(held) / draws, "these rows": float64(heldRows) / draws} {
			if c < 0.92 || c > 0.98 {
				t.Errorf("%s: the interval of the mean of %s holds it in %.3f of the draws", name, what, c)
			}
		}
		alike := 4 * 1.96 * 1.96 * truth * (1 - truth) / (width * width) // rows for an interval so wide
		if share := float64(asked) / draws / alike; share > saves {
			t.Errorf("%s: %.2f of the rows that it takes when all are as likely", name, share)
		}
	}
	check("a budget of 120 rows", Limit{Rows: 120}, 0.75)
	check("a budget of 300 rows", Limit{Rows: 300}, 0.75)
	check("a width of 0.1", Limit{Width: 0.1}, 0.75)
}

// What is drawn depends on ids, seed and outcomes alone, in whichever order the rows come.
func TestDrawsRepeat(t *testing.T) {
	rows, values := world(rand.New(rand.NewPCG(1, 2)), 200)
	asked := func(rows []row, values []float64, seed uint64) []string {
		d := newDraw(rows, Limit{Rows: 60}, seed, stats.Options{Max: 1})
		exhaust(d, values)
		var ids []string
		for i, o := range d.values {
			if o.asked {
				ids = append(ids, rows[i].sample)
			}
		}
		slices.Sort(ids)
		return ids
	}
	first := asked(rows, values, 7)
	slices.Reverse(rows)
	slices.Reverse(values)
	if again := asked(rows, values, 7); !slices.Equal(first, again) {
		t.Errorf("%v, and in reverse %v", first, again)
	}
	if other := asked(rows, values, 8); slices.Equal(first, other) {
		t.Error("another seed draws the same rows")
	}
}

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]Limit{"200": {Rows: 200}, "20%": {Share: 0.2}, "0.2": {Share: 0.2}, "100%": {Share: 1}} {
		if got, err := ParseLimit(text); err != nil || got != want {
			t.Errorf("%q: %+v %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-3", "0%", "101%", "1.5", "many", "NaN", "Inf", "nan%", "1e400"} {
		if got, err := ParseLimit(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}
