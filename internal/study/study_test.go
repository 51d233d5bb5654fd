package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
)

// scores is a small run of one metric, from 0 to 1, on the samples s0, s1 and so on; NaN is no score.
func scores(dir string, values ...float64) *runs.Scores {
	now := runs.Now()
	r := &runs.Scores{Run: &runs.Run{Dir: dir}, Group: map[string]string{},
		Of: map[string]map[string]float64{"hand/made": {}}}
	r.Manifest.Finished = &now
	r.Manifest.Config.Metrics = []runs.Metric{{Name: "hand/made", Max: 1}}
	for i, v := range values {
		id := fmt.Sprint("s", i)
		r.Samples = append(r.Samples, id)
		if !math.IsNaN(v) {
			r.Of["hand/made"][id] = v
		}
	}
	return r
}

// labelled reads labels of samples s0, s1 and so on for a run. Each is a row of a file: "3", or "[1, 2]" of two raters.
func labelled(t *testing.T, run *runs.Scores, positive string, values ...string) *labels.Set {
	t.Helper()
	var b strings.Builder
	for i, v := range values {
		fmt.Fprintf(&b, "{\"sample\": \"s%d\", \"label\": %s}\n", i, v)
	}
	path := filepath.Join(t.TempDir(), "labels.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := (&labels.Source{File: path, Positive: positive}).Load(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func near(a, b float64) bool { return math.Abs(a-b) < 5e-7 }

// is reports whether an estimate has a value; nil has none.
func is(e *Estimate, want float64) bool { return e != nil && near(e.Value, want) }

var none = math.NaN()

// Five samples have both scores. They differ by 1, 1, 1, 0 and 0: by 0.6 with the variance 0.3. Of the eight ways to
// flip the three signs, two are as far from 0.
func TestCompare(t *testing.T) {
	base, other := scores("a", 0, 0, 0, 0, 1, 0.5, none), scores("b", 1, 1, 1, 0, 1, none, 0.5)
	o := CompareOptions{Power: 0.8, Changed: 2}
	c, err := Compare(t.Context(), base, []*runs.Scores{other}, o)
	if err != nil {
		t.Fatal(err)
	}
	d := c.Metrics[0]
	deviation := math.Sqrt(0.3)
	if d.N != 5 || d.LeftOut != 2 || !near(d.BaselineMean, 0.2) || !near(d.Mean, 0.8) || !near(d.Difference, 0.6) ||
		!near(d.Effect, 0.6/deviation) ||
		d.P != 0.25 || d.PHolm != 0.25 || d.Test != "randomisation" || d.Better != 3 || d.Equal != 2 || d.Worse != 0 {
		t.Errorf("%+v", d)
	}
	if d.T == nil || d.T.DF != 4 || !near(d.T.T, 0.6/(deviation/math.Sqrt(5))) {
		t.Errorf("Student's test: %+v", d.T)
	}
	if want := []Changed{{"s0", 0, 1, 1}, {"s1", 0, 1, 1}}; !reflect.DeepEqual(d.Changed, want) {
		t.Errorf("changed: %+v", d.Changed)
	}
	if len(d.Warnings) == 0 || !strings.Contains(d.Warnings[len(d.Warnings)-1], "2 of 7 samples lack a score") {
		t.Errorf("warnings: %q", d.Warnings)
	}
	if d.Detect == nil || d.Detect.Difference != 0.05 || d.Detect.Rows < 100 {
		t.Errorf("detectable: %+v", d.Detect)
	}
	base.Manifest.Config.Metrics[0].LowerIsBetter = true
	if c, err = Compare(t.Context(), base, []*runs.Scores{other, other}, o); err != nil || c.Metrics[0].Better != 0 ||
		c.Metrics[0].Worse != 3 {
		t.Errorf("lower is better: %+v, %v", c, err)
	} else if c.Metrics[1].PHolm != 0.5 {
		t.Errorf("two comparisons: %+v", c.Metrics)
	}
	other.Manifest.Config.Metrics[0].Max = 5
	if _, err = Compare(t.Context(), base, []*runs.Scores{other}, o); err == nil ||
		!strings.Contains(err.Error(), "another range") {
		t.Errorf("another range: %v", err)
	}
	var input *runs.InputError
	if _, err = Compare(t.Context(), base, []*runs.Scores{scores("c", none, none)}, o); !errors.As(err, &input) ||
		input.Hint == "" {
		t.Errorf("nothing in common: %v", err)
	}
}

// Ranks that differ by 1 each: Spearman's correlation is 1 - 6×6/(6×35); 3 of 15 pairs are out of order. With labels of
// at least 3 for true, every true row scores above every false one.
func TestAgree(t *testing.T) {
	run := scores("a", 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
	l := labelled(t, run, "", "2", "1", "4", "3", "6", "5")
	a, err := Agree(t.Context(), run, l, AgreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a.N != 6 || a.LeftOut != 0 || a.Binary || !is(a.Spearman, 1-36.0/210) || !is(a.Pearson, 1-36.0/210) ||
		!is(a.Kendall, 0.6) || a.AUC != nil {
		t.Errorf("%+v", a.MetricAgreement)
	}
	at := 0.35
	a, err = Agree(t.Context(), run, labelled(t, run, "3", "2", "1", "4", "3", "6", "5"), AgreeOptions{Threshold: &at})
	if err != nil {
		t.Fatal(err)
	}
	// Scores of 0.35 and above call one of the four true rows false. By chance 4/6×3/6 + 2/6×3/6 would agree: half.
	if !a.Binary || !is(a.AUC, 1) || !near(*a.Majority, 4.0/6) || !is(a.AtThreshold.Accuracy, 5.0/6) ||
		!is(a.AtThreshold.Kappa, (5.0/6-0.5)/0.5) {
		t.Errorf("%+v", a.MetricAgreement)
	}
	if want := (0.1*0.1 + 0.2*0.2 + 0.7*0.7 + 0.6*0.6 + 0.5*0.5 + 0.4*0.4) / 6; !is(a.Brier, want) {
		t.Errorf("brier %+v, want %v", a.Brier, want)
	}
	var said []string
	_, err = Agree(t.Context(), run, labelled(t, run, "", "1", "2"),
		AgreeOptions{Warn: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }})
	if len(said) != 1 || !strings.Contains(said[0], "2 samples have both") || err == nil ||
		!strings.Contains(err.Error(), "no metric of a") {
		t.Errorf("two labels: %q, %v", said, err)
	}
}

// Raters who always agree, and each other's labels as ranks.
func TestRaters(t *testing.T) {
	run := scores("a", 0.1, 0.2, 0.3, 0.4)
	a, err := Agree(t.Context(), run, labelled(t, run, "", "[1, 1]", "[2, 2]", "[3, 3]", "5"), AgreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := a.Raters
	if r == nil || r.Raters != 2 || r.N != 3 || !is(r.Alpha.Nominal, 1) || !is(r.Alpha.Ordinal, 1) ||
		!is(r.Alpha.Interval, 1) || !is(r.Kappa, 1) || len(r.Others) != 2 || !is(r.Others[0], 1) {
		t.Errorf("%+v", r)
	}
}

// Of four pairs the metric prefers one as people do and one not where people prefer the first, one as they do where
// they prefer the second, and does not decide the last.
func TestPrefer(t *testing.T) {
	run := scores("a", 0.9, 0.2, 0.1, 0.5)
	p, err := Prefer(t.Context(), run, labelled(t, run, "", "1", "1", "2", "2"), AgreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p.N != 4 || p.Ties != 1 || !is(p.Agreement, 0.625) || !is(p.IfFirst, 0.5) || !is(p.IfSecond, 0.75) ||
		!near(p.First, 0.375) || p.PeopleFirst != 0.5 || !is(p.Bias, -0.125) {
		t.Errorf("%+v", p.Preference)
	}
	if _, err := Prefer(t.Context(), run, labelled(t, run, "", "1", "3", "2"), AgreeOptions{}); err == nil ||
		!strings.Contains(err.Error(), "neither 1 nor 2") {
		t.Errorf("a label of 3: %v", err)
	}
}

// One pair is won, one tied, one lost, and one lacks a score.
func TestWikiEval(t *testing.T) {
	run := &runs.Scores{Run: &runs.Run{Dir: "a"}, Group: map[string]string{},
		Of: map[string]map[string]float64{"faithfulness/x": {}}}
	run.Manifest.Config.Metrics = []runs.Metric{{Name: "faithfulness/x", Max: 1}}
	for group, pair := range map[string][2]float64{"g1": {0.9, 0.1}, "g2": {0.5, 0.5}, "g3": {0.2, 0.6},
		"g4": {0.9, none}} {
		for i, kind := range []string{"/good", "/ungrounded"} {
			id := group + kind
			run.Samples, run.Group[id] = append(run.Samples, id), group
			if !math.IsNaN(pair[i]) {
				run.Of["faithfulness/x"][id] = pair[i]
			}
		}
	}
	a, err := WikiEval(t.Context(), run, nil, AgreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := a.Metrics[0]; s.N != 3 || s.LeftOut != 1 || s.Wins != 1 || s.Ties != 1 || s.Losses != 1 ||
		!is(s.Agreement, 0.5) {
		t.Errorf("%+v", s)
	}
	if _, err := WikiEval(t.Context(), scores("b", 1), nil, AgreeOptions{}); err == nil ||
		!strings.Contains(err.Error(), "no pairs") {
		t.Errorf("no pairs: %v", err)
	}
}

// A metric that ranks is asked on the worse row alone: it won 0, tied and won 1 against the good one. Where people prefer
// the worse row of the first pair, the metric does not agree there; where they are divided, the pair is left out. The
// three metrics make the three lines of the paper's table.
func TestWikiEvalRanks(t *testing.T) {
	run := &runs.Scores{Run: &runs.Run{Dir: "a"}, Group: map[string]string{}, Of: map[string]map[string]float64{}}
	for _, name := range []string{"context_relevance/rank", "context_relevance/sentences", "faithfulness/judge_score"} {
		run.Manifest.Config.Metrics = append(run.Manifest.Config.Metrics, runs.Metric{Name: name, Max: 1})
		run.Of[name] = map[string]float64{}
	}
	for i, v := range []float64{0, 0.5, 1} {
		group := fmt.Sprint("g", i)
		for _, kind := range []string{"/good", "/padded", "/ungrounded"} {
			run.Samples, run.Group[group+kind] = append(run.Samples, group+kind), group
		}
		run.Of["context_relevance/rank"][group+"/padded"] = v
		run.Of["context_relevance/sentences"][group+"/padded"] = 0.2
		run.Of["context_relevance/sentences"][group+"/good"] = 0.8
		run.Of["faithfulness/judge_score"][group+"/ungrounded"] = 0.9
		run.Of["faithfulness/judge_score"][group+"/good"] = 0.8
	}
	a, err := WikiEval(t.Context(), run, nil, AgreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := a.Metrics[0]; s.N != 3 || s.Wins != 1 || s.Ties != 1 || s.Losses != 1 || !is(s.Agreement, 0.5) {
		t.Errorf("%+v", s)
	}
	if len(a.Table) != 3 || !is(a.Table[0].ContextRelevance, 1) || a.Table[0].Faithfulness != nil ||
		!is(a.Table[1].Faithfulness, 0) || !is(a.Table[2].ContextRelevance, 0.5) {
		t.Errorf("%+v", a.Table)
	}
	path := filepath.Join(t.TempDir(), "labels.jsonl")
	text := `{"sample": "g0/padded", "label": 1}
{"sample": "g1/padded", "label": [1, 2]}
{"sample": "g2/padded", "label": 1}
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := (&labels.Source{File: path}).Load(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	a, err = WikiEval(t.Context(), run, l, AgreeOptions{Metrics: []string{"context_relevance/rank"}})
	if err != nil {
		t.Fatal(err)
	}
	if s := a.Metrics[0]; a.Field != "label" || s.N != 2 || s.LeftOut != 1 || s.Wins != 1 || s.Losses != 1 {
		t.Errorf("%+v", a)
	}
}

// The labels 1, 0, 1, 1 and their scores have the covariance 0.1, and all eight scores the variance 0.069375: λ is
// 0.1 / (2 × 0.069375), and the estimate λ × 0.45 + 0.75 - λ × 0.6.
func TestPPI(t *testing.T) {
	values := []float64{0.9, 0.2, 0.6, 0.7, 0.1, 0.5, 0.4, 0.8}
	run := scores("a", values...)
	sys := system(t, run, labelled(t, run, "", "1", "0", "1", "1"))
	p := sys.PPI(0.2)
	lambda := 0.1 / (2 * 0.069375)
	if !near(p.Lambda, lambda) || !near(p.Estimate, lambda*0.45+0.75-lambda*0.6) || p.Labeled != 4 ||
		p.Unlabeled != 4 || p.Classical.Estimate != 0.75 || !near(p.Imputed, 0.525) {
		t.Errorf("%+v", p)
	}
	if p.Buy == nil || p.Buy.Width != 0.2 || p.Buy.Labels >= p.Buy.Alone {
		t.Errorf("labels for a width of 0.2: %+v", p.Buy)
	}
	// The same scores on another scale, and upside down, help as much.
	stretched := system(t, run, labelled(t, run, "", "3", "0", "3", "3")).PPI(0)
	if !near(stretched.Estimate, 3*p.Estimate) || !near(stretched.Lambda, p.Lambda) {
		t.Errorf("stretched: %+v", stretched)
	}
	var mirrored []float64
	for _, v := range values {
		mirrored = append(mirrored, 1-v)
	}
	down := scores("b", mirrored...)
	down.Manifest.Config.Metrics[0].LowerIsBetter = true
	if got := system(t, down, labelled(t, down, "", "1", "0", "1", "1")).PPI(0); !near(got.Estimate, p.Estimate) {
		t.Errorf("mirrored: %+v", got)
	}
	if _, err := NewSystem(run, run.Manifest.Config.Metrics[0], labelled(t, run, "", "1"), 0.95); !errors.As(err,
		new(*runs.InputError)) {
		t.Errorf("one label: %v", err)
	}
}

func system(t *testing.T, run *runs.Scores, l *labels.Set) *System {
	t.Helper()
	sys, err := NewSystem(run, run.Manifest.Config.Metrics[0], l, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

// By hand: the gold rows are labelled 1, 0, 1, 1 and scored 0.9, 0.2, 0.6, 0.7: scores are 0.15 too low in the mean, and
// so are those of the systems, whose rows are others. λ is 1: with another, labels of other rows would pull the estimate
// to their own mean. What both are corrected by does not tell two systems apart.
func TestGold(t *testing.T) {
	gold := scores("gold", 0.9, 0.2, 0.6, 0.7)
	metric := gold.Manifest.Config.Metrics[0]
	l := labelled(t, gold, "", "1", "0", "1", "1")
	of := func(run *runs.Scores) *System {
		t.Helper()
		sys, err := NewGoldSystem(run, gold, metric, l, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		return sys
	}
	a, b := of(scores("runs/a", 0.1, 0.4, 0.1, 0.2)), of(scores("runs/b", 0.3, 0.7, 0.3, 0.5, none))
	p := a.PPI(0)
	// The variances are 0.06/4 of the system's scores (0.015) and of 0.1, -0.2, 0.4, 0.3 less 0.15: 0.21/4 (0.0525).
	half := 1.9599639845 * math.Sqrt(0.015/4+0.0525/4)
	if p.Gold != "gold" || p.Lambda != 1 || !near(p.Estimate, 0.2+0.15) || !near(p.Hi-p.Estimate, half) ||
		p.Labeled != 4 || p.Unlabeled != 4 || !near(p.Imputed, 0.2) || p.Buy != nil ||
		!strings.Contains(strings.Join(p.Warnings, ";"), "errs on the rows of runs/a as it does on those") {
		t.Errorf("%+v", p)
	}
	if p := b.PPI(0); !strings.Contains(strings.Join(p.Warnings, ";"), "1 rows have no score") {
		t.Errorf("%+v", p.Warnings)
	}
	r, err := Rank(t.Context(), []*System{a, b}, 0, map[string]float64{"a": 0.3, "runs/b": 0.6, "other": 1})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Pairs[0]
	// b's scores are 0.2, 0.3, 0.2, 0.3 above a's: 0.25, with the variance 0.0025.
	if !d.Paired || d.First != "runs/b" || !near(d.Difference, -0.25) ||
		!near(d.Hi-d.Difference, 1.9599639845*math.Sqrt(0.0025/4)) || d.Better != "runs/b" {
		t.Errorf("%+v", d)
	}
	if k := r.Tau; k.N != 2 || *k.Estimates != 1 || *k.Metric != 1 || k.Covered != 2 || k.Missing != nil {
		t.Errorf("%+v", k)
	}
	r, err = Rank(t.Context(), []*System{a, of(scores("c", 0.3, 0.3))}, 0, map[string]float64{"a": 0.3})
	if err != nil || r.Pairs[0].Paired || r.Tau.Estimates != nil || len(r.Tau.Missing) != 1 {
		t.Errorf("other rows: %+v, %+v, %v", r.Pairs, r.Tau, err)
	}
	other := scores("other", 0.5, 0.6)
	other.Manifest.Config.Judge = &backend.Identity{Name: "large", Digest: "sha256:01"}
	gold.Manifest.Config.Judge = &backend.Identity{Name: "small", Digest: "sha256:00"}
	if _, err := NewGoldSystem(other, gold, metric, l, 0.95); err == nil || !strings.Contains(err.Error(),
		"was scored with another judge, small") {
		t.Errorf("another judge: %v", err)
	}
	if _, err := NewGoldSystem(other, gold, runs.Metric{Name: "other/made"}, l, 0.95); err == nil ||
		!strings.Contains(err.Error(), "gold has no scores of other/made") {
		t.Errorf("another metric: %v", err)
	}
}

// The better system comes first; on the same rows they are compared row by row.
func TestRank(t *testing.T) {
	var good, poor []float64
	var yes, no []string
	for i := range 60 {
		v := float64(i%10) / 10
		good, poor = append(good, 0.5+v/2), append(poor, v/2)
		if i < 30 {
			yes, no = append(yes, fmt.Sprint(i%10/2*2/8)), append(no, fmt.Sprint(i%7/6))
		}
	}
	a, b := scores("poor", poor...), scores("good", good...)
	r, err := Rank(t.Context(), []*System{system(t, a, labelled(t, a, "", no...)),
		system(t, b, labelled(t, b, "", yes...))}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Systems[0].Run != "good" || len(r.Pairs) != 1 {
		t.Fatalf("%+v", r)
	}
	if d := r.Pairs[0]; !d.Paired || d.First != "good" || d.Second != "poor" || d.Difference >= 0 || d.P != d.PHolm ||
		(d.Better == "good") != (d.P < 0.05) {
		t.Errorf("%+v", d)
	}
}

// Scores that tell nothing leave one probability for all rows; scores that tell much do not.
func TestCalibrate(t *testing.T) {
	var values []float64
	var told, random []string
	for i := range 80 {
		values = append(values, float64(i%20)/20)
		told, random = append(told, fmt.Sprint(i%20/10)), append(random, fmt.Sprint(i/20%2))
	}
	run := scores("a", values...)
	m := run.Manifest.Config.Metrics[0]
	c, err := Calibrate(t.Context(), run, m, labelled(t, run, "", told...), 0)
	if err != nil || c.Map.Method == "constant" || c.N != 80 || c.After.Brier.Value > c.Before.Brier.Value ||
		c.Map.At(0.1) > 0.2 || c.Map.At(0.9) < 0.8 {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = Calibrate(t.Context(), run, m, labelled(t, run, "", random...), 0)
	if err != nil || c.Map.Method != "constant" || len(c.Warnings) != 2 || !near(c.Map.At(0.3), 0.5) {
		t.Errorf("%+v, %v", c, err)
	}
	var input *runs.InputError
	if _, err = Calibrate(t.Context(), run, m, labelled(t, run, "", "3", "1"), 0); !errors.As(err, &input) ||
		!strings.Contains(input.Hint, "--positive") {
		t.Errorf("labels from 1 to 3: %v", err)
	}
}

// A context that has ended ends everything that draws at random.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run := scores("a", 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
	l := labelled(t, run, "", "2", "1", "2", "1", "2", "1")
	sys := system(t, run, l)
	for name, do := range map[string]func() error{
		"agree":  func() error { _, err := Agree(ctx, run, l, AgreeOptions{}); return err },
		"prefer": func() error { _, err := Prefer(ctx, run, l, AgreeOptions{}); return err },
		"compare": func() error {
			_, err := Compare(ctx, run, []*runs.Scores{run},
				CompareOptions{Power: 0.8})
			return err
		},
		"rank": func() error { _, err := Rank(ctx, []*System{sys, sys}, 0, nil); return err },
		"figures": func() error {
			r := &JudgeRows{features: []string{"length/words"}, sets: make([]JudgeSet, 1)}
			r.label.Max = 1
			for i := range 6 {
				r.rows = append(r.rows, judgeRow{id: fmt.Sprint(i), label: float64(i % 2),
					values: []float64{float64(i)}})
			}
			_, err := r.figures("x/judge", []float64{0, 1, 2, 3, 4, 5}, stats.Options{Err: ctx.Err})
			return err
		},
	} {
		if err := do(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
