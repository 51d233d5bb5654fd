package budget

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
)

// TestLabelledSets takes people's labels for the scores of an expensive metric, and prints how many calls of it an
// interval takes beside calls drawn all alike. scripts/active.sh says of which runs: ASSAY_TEST_ACTIVE holds RUN=METRIC
// words.
func TestLabelledSets(t *testing.T) {
	sets := strings.Fields(os.Getenv("ASSAY_TEST_ACTIVE"))
	if len(sets) == 0 {
		t.Skip("ASSAY_TEST_ACTIVE names no runs: scripts/active.sh does")
	}
	for _, set := range sets {
		dir, metric, _ := strings.Cut(set, "=")
		rows, values := labelled(t, dir, metric)
		for _, share := range []float64{0.1, 0.2, 1.0 / 3} {
			if n := int(share * float64(len(rows))); n >= 30 {
				fmt.Printf("| %s | `%s` | %s", filepath.Base(dir), metric, simulate(rows, values, n))
			}
		}
	}
}

func labelled(t *testing.T, dir, metric string) (rows []row, values []float64) {
	run, err := runs.LoadScores(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	source := labels.Source{Human: "label"}
	l, err := source.Load(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range run.Samples {
		if list := l.Ratings[id]; len(list) > 0 {
			v, known := run.Of[metric][id]
			rows = append(rows, row{sample: id, cheap: v, known: known})
			values = append(values, labels.Mean(list))
		}
	}
	return rows, values
}

// simulate asks about n rows: of the set, whose mean is then the truth, and of sets as large that are drawn from it with
// replacement, whose rows are a sample.
func simulate(rows []row, values []float64, n int) string {
	draws := 1000
	if len(rows) > 2000 {
		draws = 400
	}
	size := len(rows)
	all := stats.Of(values, stats.Options{})
	low, high, variance := values[0], values[0], 0.0
	var cheap, known []float64
	for i, y := range values {
		low, high = min(low, y), max(high, y)
		variance += (y - all.Mean) * (y - all.Mean) / float64(size-1)
		if rows[i].known {
			cheap, known = append(cheap, rows[i].cheap), append(known, y)
		}
	}
	correlation, _ := stats.Pearson(cheap, known, stats.Options{})
	o := stats.Options{Min: low, Max: high}
	rng := rand.New(rand.NewPCG(1, 2))
	var held, heldRows, width, widthRows float64
	for seed := range draws {
		a := exhaust(newDraw(rows, Limit{Rows: n}, uint64(seed), o), values)
		if i := a.OfRows; i.Lo <= all.Mean && all.Mean <= i.Hi {
			heldRows += 1 / float64(draws)
		}
		widthRows += (a.OfRows.Hi - a.OfRows.Lo) / float64(draws)
		again, labels := make([]row, size), make([]float64, size)
		for i := range again {
			k := rng.IntN(size)
			again[i], labels[i] = rows[k], values[k]
			again[i].sample = strconv.Itoa(i)
		}
		a = exhaust(newDraw(again, Limit{Rows: n}, uint64(seed), o), labels)
		if i := a.Interval; i.Lo <= all.Mean && all.Mean <= i.Hi {
			held += 1 / float64(draws)
		}
		width += (a.Interval.Hi - a.Interval.Lo) / float64(draws)
	}
	// calls that give intervals as wide when all rows are as likely: of the set, and of all such rows
	k := 4 * 1.96 * 1.96 * variance
	alikeRows := 1 / (widthRows*widthRows/k + 1/float64(size))
	alike := k / (width * width)
	return fmt.Sprintf("%.2f | %d | %d | %.4f | %.0f | **%.2f** | %.3f | %.4f | %.0f | **%.2f** | %.3f |\n", correlation.Value, size, n,
		widthRows, alikeRows, float64(n)/alikeRows, heldRows, width, alike, float64(n)/alike, held)
}
