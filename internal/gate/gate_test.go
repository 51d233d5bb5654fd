package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

// run writes a run of 40 rows in two languages: one metric of which more is better, and one of which less is.
func run(t *testing.T, data string, score func(i int) float64) string {
	t.Helper()
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	m := runstest.Manifest("a/x", "b/low")
	m.Config.Dataset = runs.Dataset{Path: data, SHA256: hex.EncodeToString(sum[:]), Rows: 40}
	m.Config.Metrics[1].LowerIsBetter = true
	var list []metrics.Result
	for i := range 40 {
		v := score(i)
		x := runstest.Scored(fmt.Sprint("s", i), "a/x", v)
		no := false
		x.Score.Because = []metrics.Finding{{Kind: "claim", Text: "made up", Verdict: &no, Reason: "nobody says so"}}
		if i == 39 {
			x = metrics.Result{Sample: x.Sample, Metric: "a/x", Kind: metrics.BadReply, Error: "no verdict"}
		}
		list = append(list, x, runstest.Scored(fmt.Sprint("s", i), "b/low", 1-v))
	}
	dir := filepath.Join(t.TempDir(), "run")
	runstest.Write(t, dir, m, list...)
	return dir
}

func dataset(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.jsonl")
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "{\"id\":\"s%d\",\"question\":\"q\",\"lang\":\"%s\"}\n", i, []string{"de", "en"}[i%2])
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func good(i int) float64 { return 0.7 + 0.1*float64(i%3) }

// worse is good less 0.1 on average, of the German rows less 0.2.
func worse(i int) float64 {
	if i%2 == 0 {
		return good(i) - 0.15 - 0.05*float64(i%3)
	}
	return good(i)
}

func open(t *testing.T, g Gate, dir string) *Outcome {
	t.Helper()
	g.Warn = t.Logf
	out, err := g.Open(t.Context(), dir, report.View{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func drops(t *testing.T, texts ...string) []Drop {
	t.Helper()
	var list []Drop
	for _, text := range texts {
		d, err := ParseDrop(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

func TestDrops(t *testing.T) {
	data := dataset(t)
	base, now := run(t, data, good), run(t, data, worse)
	check := func(drop string, want ...string) {
		t.Helper()
		out := open(t, Gate{Baseline: base, Drops: drops(t, drop)}, now)
		var got []string
		for _, v := range out.Verdicts {
			got = append(got, v.Word()+" "+v.What())
			if !v.Passed && !strings.Contains(v.Why, "95% interval") {
				t.Errorf("%s: %s says no interval", drop, v.Why)
			}
		}
		if strings.Join(got, "; ") != strings.Join(want, "; ") {
			t.Errorf("%s: %q, want %q", drop, got, want)
		}
	}
	check("0.05", "FAIL a/x", "FAIL b/low") // of b/low a rise is the drop
	check("0.15", "ok a/x", "ok b/low")
	check("a/x=0.11:lower", "FAIL a/x") // the drop is 0.1, and may be more
	check("a/x=0.2:lower", "ok a/x")
	check("a=0.15:lang", "FAIL a/x, lang=de", "ok a/x, lang=en")
	check("b=0.15:lower:lang", "FAIL b/low, lang=de", "ok b/low, lang=en")
	// The other way round it is better, by however much.
	out := open(t, Gate{Baseline: now, Drops: drops(t, "0:lower")}, base)
	for _, v := range out.Verdicts {
		if !v.Passed {
			t.Errorf("what became better fails: %+v", v)
		}
	}
	fails := func(g Gate, want string) {
		t.Helper()
		g.Warn = t.Logf
		if _, err := g.Open(t.Context(), now, report.View{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", g, err, want)
		}
	}
	fails(Gate{Baseline: base}, "nothing is asked of the difference")
	fails(Gate{Drops: drops(t, "0.1")}, "nothing from which")
	fails(Gate{Baseline: base, Drops: drops(t, "c=0.1")}, `no metric "c"`)
	fails(Gate{Baseline: base, Drops: drops(t, "c=0.1:lang")}, `no metric "c"`)
	fails(Gate{By: []string{"colour"}}, `no row of`)
}

func TestParseDrop(t *testing.T) {
	for _, bad := range []string{"", "=0.1", "-0.1", "a=x", "0.1:", "a=0.1:lower:", "NaN", "a"} {
		if d, err := ParseDrop(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, d)
		}
	}
	want := Drop{Metric: "a/x@draws=5", Most: 0.1, Held: report.Held{Worst: true, By: "metadata.lang"}}
	if d, err := ParseDrop("a/x@draws=5=0.1:lower:metadata.lang"); err != nil || d != want {
		t.Errorf("%+v, %v", d, err)
	}
}

// The worst rows come first, failures last, each with its line of the dataset and what counts against it.
func TestRows(t *testing.T) {
	dir := run(t, dataset(t), worse)
	g := Gate{Thresholds: []report.Threshold{{Metric: "a", Bound: 0.6}}, Rows: 7}
	out := open(t, g, dir)
	if len(out.Rows) != 7 || out.MoreRows == 0 {
		t.Fatalf("%d rows and %d more", len(out.Rows), out.MoreRows)
	}
	last := 0.0
	for _, r := range out.Rows {
		if *r.Score < last || *r.Score >= 0.6 || r.Because == nil || r.Because.Text != "made up" {
			t.Errorf("%+v comes after %v", r, last)
		}
		last = *r.Score
		if want := fmt.Sprint("s", r.Line-1); r.Sample != want || r.File == "" {
			t.Errorf("%s is said to be on line %d of %s", r.Sample, r.Line, r.File)
		}
	}
	g.Rows = 100
	all := open(t, g, dir)
	if all.MoreRows != 0 || len(all.Rows) != len(out.Rows)+out.MoreRows {
		t.Errorf("%d rows and %d more, where there were %d and %d", len(all.Rows), all.MoreRows, len(out.Rows), out.MoreRows)
	}
	if r := all.Rows[len(all.Rows)-1]; r.Sample != "s39" || r.Score != nil || r.Why != "bad_reply: no verdict" {
		t.Errorf("the failure is not last: %+v", r)
	}
}
