package report

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/metrics/all"
)

// documentOf lays out a result of a study.
func documentOf(result any) (*document, error) {
	d := &document{value: result}
	switch r := result.(type) {
	case *study.Agreement:
		d.sections = agreement(r)
	case *study.Preferences:
		d.sections = preferences(r)
	case *study.WikiEvalAgreement:
		d.sections = wikiEval(r)
	case *study.JudgedAgreement:
		d.sections = judgedAgreement(r)
	case *study.Comparison:
		d.sections = comparison(r)
	case *study.PPI:
		d.sections = ppi(r)
	case *study.Ranking:
		d.sections = ranked(r)
	case *study.ComponentScores:
		d.sections = components(r)
	case *study.Calibrated:
		d.sections = calibrated(r)
	case *study.JudgeFile:
		d.sections = judgeFile(r)
		d.value = struct {
			study.JudgeFile
			Trees int `json:"trees"` // how many; they are in the file
		}{*r, len(r.Trees)}
	case *study.JudgeTest:
		d.sections = judgeFigures(&r.JudgeFigures)
	default:
		return nil, fmt.Errorf("there is no way to lay out a %T", result)
	}
	return d, nil
}

func agreement(a *study.Agreement) []section {
	t := section{header: []string{"metric", "n", "spearman", "kendall", "pearson"}}
	for _, m := range a.Metrics {
		t.rows = append(t.rows, []any{m.Metric, m.N, estimate{m.Spearman}, estimate{m.Kendall}, estimate{m.Pearson}})
	}
	list := []section{t}
	if a.Binary {
		list = append(list, atThresholds(a), errorsAtThresholds(a))
	}
	var notes []string
	if r := a.Raters; r != nil {
		notes = append(notes, ratersLine(r))
	}
	for _, d := range a.Differences {
		notes = append(notes, differenceLine(d))
	}
	for i := range a.Metrics {
		notes = append(notes, agreementLines(&a.Metrics[i])...)
	}
	return append(list, section{notes: notes})
}

func atThresholds(a *study.Agreement) section {
	t := section{header: []string{"metric", "auc", "threshold", "accuracy", "kappa"}}
	for _, m := range a.Metrics {
		row := []any{m.Metric, estimate{m.AUC}, "", "", ""}
		if k := m.AtThreshold; k != nil {
			row[2], row[3], row[4] = value(k.Threshold), estimate{k.Accuracy}, estimate{k.Kappa}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// errorsAtThresholds tells how often each metric errs at its threshold, and of what kind.
func errorsAtThresholds(a *study.Agreement) section {
	t := section{header: []string{"metric", "precision", "recall (TPR)", "specificity (TNR)", "mcc", "said true",
		"true, corrected"}}
	for _, m := range a.Metrics {
		k := m.AtThreshold
		if k == nil || k.Said == nil {
			continue
		}
		t.rows = append(t.rows, []any{m.Metric, estimate{k.Precision}, estimate{k.Recall}, estimate{k.Specificity},
			estimate{k.MCC}, fmt.Sprintf("%d of %d", k.Said.Said, k.Said.Rows), estimate{k.Said.Corrected}})
	}
	return t
}

// agreementLines are what there is to say of a metric below the tables.
func agreementLines(m *study.MetricAgreement) []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, m.Metric+": "+fmt.Sprintf(format, args...)) }
	if k := m.BestThreshold; k != nil {
		say("the best threshold here, %s, can be expected to have the accuracy %s on other rows; always giving the "+
			"more frequent label has %s",
			number(k.Threshold), estimate{k.Accuracy}, number(*m.Majority))
	}
	if m.Brier != nil {
		say("brier %s as probabilities", estimate{m.Brier})
	}
	if c := m.Calibration; c != nil {
		say("calibration error %s; scores that were true probabilities would show %s (p %s)", number(c.Error),
			number(c.Expected), pValue(c.P))
	}
	if m.LowerIsBetter {
		say("lower is better, so it was negated")
	}
	if m.LeftOut > 0 {
		say("%d labelled samples have no score", m.LeftOut)
	}
	for _, w := range m.Warnings {
		say("%s", w)
	}
	return list
}

func ratersLine(r *study.RaterAgreement) string {
	line := fmt.Sprintf("%d raters on %d samples: Krippendorff's alpha %s ordinal, %s interval, %s nominal",
		r.Raters, r.N, estimate{r.Alpha.Ordinal}, estimate{r.Alpha.Interval}, estimate{r.Alpha.Nominal})
	if r.Kappa != nil {
		line += fmt.Sprintf("; Cohen's kappa, quadratic weights, %s", estimate{r.Kappa})
	}
	var others []string
	for _, e := range r.Others {
		if e != nil {
			others = append(others, number(e.Value))
		}
	}
	if len(others) > 0 {
		line += "; spearman of each rater with the mean of the others " + strings.Join(others, ", ")
	}
	return line
}

func differenceLine(d study.AgreeDifference) string {
	return fmt.Sprintf("%s less %s, %s on the same %d rows: %s%s, p %s, %s with Holm's correction",
		d.Second, d.First, d.Measure, d.N, signed(d.Difference), inBrackets(d.Lo, d.Hi), pValue(d.P), pValue(d.PHolm))
}

// inBrackets writes the interval of a difference; "" if there is none.
func inBrackets(lo, hi *float64) string {
	if lo == nil {
		return ""
	}
	return fmt.Sprintf(" (%s)", shift{*lo, *hi})
}

func preferences(all *study.Preferences) []section {
	t := section{header: []string{"metric", "n", "prefers as people do", "where they prefer 1", "where they prefer 2",
		"ties", "position bias"}}
	var notes []string
	for _, p := range all.Metrics {
		t.rows = append(t.rows, []any{p.Metric, p.N, estimate{p.Agreement}, estimate{p.IfFirst}, estimate{p.IfSecond},
			p.Ties, estimate{p.Bias}})
		notes = append(notes, fmt.Sprintf("%s puts the first answer first in %s of the pairs, people in %s", p.Metric,
			number(p.First), number(p.PeopleFirst)))
		notes = append(notes, prefixed(p.Metric+": ", p.Warnings)...)
	}
	return []section{t, {notes: notes}}
}

func wikiEval(all *study.WikiEvalAgreement) []section {
	t := section{header: []string{"metric", "pairs", "prefers the good one", "wins", "ties", "losses", "left out"}}
	var notes []string
	if all.Field != "" {
		t.header[2] = "prefers as people do"
		notes = append(notes, "what people prefer is the label "+all.Field)
	}
	for _, p := range all.Metrics {
		t.rows = append(t.rows, []any{p.Metric, p.N, estimate{p.Agreement}, p.Wins, p.Ties, p.Losses, p.LeftOut})
		notes = append(notes, prefixed(p.Metric+": ", p.Warnings)...)
	}
	if all.Table == nil {
		return []section{t, {notes: notes}}
	}
	paper := section{header: []string{"", "faithfulness", "answer relevance", "context relevance"}}
	for _, m := range all.Table {
		paper.rows = append(paper.rows, []any{m.Method, estimate{m.Faithfulness}, estimate{m.AnswerRelevance},
			estimate{m.ContextRelevance}})
	}
	return []section{t, paper, {notes: notes}}
}

func prefixed(prefix string, list []string) []string {
	var lines []string
	for _, line := range list {
		lines = append(lines, prefix+line)
	}
	return lines
}

func comparison(c *study.Comparison) []section {
	several := len(c.Dirs) > 2
	name := shortNames(c.Dirs)
	t := section{header: []string{"metric"}}
	if several {
		t.header = append(t.header, "run")
	}
	t.header = append(t.header, "baseline", "mean", "difference", "95% interval", "p", "p (Holm)", "better", "equal",
		"worse", "n")
	var notes []string
	var changed []section
	for i := range c.Metrics {
		d := &c.Metrics[i]
		row, of := []any{d.Name}, d.Name
		if several {
			row, of = append(row, name(d.Run)), of+", "+name(d.Run)
		}
		var between any = ""
		if d.Lo != nil {
			between = shift{*d.Lo, *d.Hi}
		}
		t.rows = append(t.rows, append(row, value(d.BaselineMean), value(d.Mean), change(d.Difference), between,
			chance(d.P), chance(d.PHolm), d.Better, d.Equal, d.Worse, d.N))
		notes = append(notes, comparisonNotes(d, of)...)
		most := section{title: fmt.Sprintf("Changed most, %s:", of)}
		for _, s := range d.Changed {
			most.lines = append(most.lines, fmt.Sprintf("%s  %s to %s  %s", signed(s.Difference), number(s.Baseline),
				number(s.Value), s.Sample))
		}
		changed = append(changed, most)
	}
	list := []section{t, {notes: notes}}
	if len(c.Strengths) > 0 {
		list = append(list, strengths(c.Strengths, name))
	}
	return append(list, changed...)
}

// strengths are the Bradley-Terry strengths of runs, by metric.
func strengths(list []study.Strengths, name func(dir string) string) section {
	t := section{header: []string{"metric", "run", "strength", "wins", "games", "samples"},
		notes: []string{"strengths are log odds by the model of Bradley and Terry; 0 is the mean of the runs"}}
	for _, s := range list {
		for _, r := range s.Runs {
			t.rows = append(t.rows, []any{s.Metric, name(r.Run), estimate{r.Strength}, r.Wins, r.Games, s.Samples})
		}
	}
	return t
}

func comparisonNotes(d *study.Difference, name string) []string {
	var list []string
	if d.LowerIsBetter {
		list = append(list, name+": lower is better")
	}
	list = append(list, prefixed(name+": ", d.Warnings)...)
	if k := d.Detect; k != nil {
		line := fmt.Sprintf("%s: a difference of %v takes %d rows to be seen with a chance of %.0f%%", name,
			k.Difference, k.Rows, 100*k.Power)
		if k.Smallest != nil {
			line += fmt.Sprintf("; these %d show one of %.2g or more", d.N, *k.Smallest)
		}
		list = append(list, line)
	}
	return list
}

// shortNames returns what names a folder: its base name, or its path where those of two folders are alike.
func shortNames(dirs []string) func(dir string) string {
	base := func(dir string) string { return filepath.Base(filepath.Clean(dir)) }
	var short []string
	for _, dir := range dirs {
		short = append(short, base(dir))
	}
	if different := slices.Compact(slices.Sorted(slices.Values(short))); len(different) < len(dirs) {
		return func(dir string) string { return dir }
	}
	return base
}

func ppi(r *study.PPI) []section {
	t := section{header: []string{"what people would say", "estimate", fmt.Sprintf("%v%% interval", 100*r.Level),
		"width"}}
	row := func(what string, b study.Bounds) {
		t.rows = append(t.rows, []any{what, value(b.Estimate), interval{b.Lo, b.Hi}, value(b.Hi - b.Lo)})
	}
	if r.Gold != "" {
		row(fmt.Sprintf("%s of %d rows and %d labels of others", r.Metric, r.Unlabeled, r.Labeled),
			study.Bounds{Estimate: r.Estimate, Lo: r.Lo, Hi: r.Hi})
		t.rows = append(t.rows, []any{"the metric alone, uncorrected", value(r.Imputed), "", ""})
		return []section{t, {notes: r.Warnings}}
	}
	row(fmt.Sprintf("%d labels and %s of %d rows", r.Labeled, r.Metric, r.Labeled+r.Unlabeled),
		study.Bounds{Estimate: r.Estimate, Lo: r.Lo, Hi: r.Hi})
	row(fmt.Sprintf("%d labels alone", r.Labeled), r.Classical)
	t.rows = append(t.rows, []any{"the metric alone, uncorrected", value(r.Imputed), "", ""})
	if r.Plain == nil { // rows with weights: there is no λ
		note := fmt.Sprintf("as short an interval as from %.0f labels of rows that are all as likely", r.Effective)
		return []section{t, {notes: append([]string{note}, r.Warnings...)}}
	}
	notes := []string{fmt.Sprintf("λ = %s (0: the scores do not count, 1: they count in full); as short an interval "+
		"as from %.0f labels alone",
		number(r.Lambda), r.Effective)}
	if b := r.Buy; b != nil {
		notes = append(notes, fmt.Sprintf("an interval %s wide takes about %d labels, or %d without the metric",
			number(b.Width), b.Labels, b.Alone))
	}
	return []section{t, {notes: append(notes, r.Warnings...)}}
}

func ranked(r *study.Ranking) []section {
	var dirs []string
	for _, sys := range r.Systems {
		dirs = append(dirs, sys.Run)
	}
	name := shortNames(dirs)
	t := section{header: []string{"system", "estimate", "interval", "λ", "labels", "rows", "labels alone",
		"metric alone"}}
	var notes, warnings []string
	for _, sys := range r.Systems {
		rows, alone := sys.Labeled+sys.Unlabeled, any(interval{sys.Classical.Lo, sys.Classical.Hi})
		if sys.Gold != "" { // the labels are of other rows, and alone say nothing of these
			rows, alone = sys.Unlabeled, ""
		}
		t.rows = append(t.rows, []any{name(sys.Run), value(sys.Estimate), interval{sys.Lo, sys.Hi}, value(sys.Lambda),
			sys.Labeled, rows, alone, value(sys.Imputed)})
		warnings = append(warnings, prefixed(name(sys.Run)+": ", sys.Warnings)...)
	}
	for _, d := range r.Pairs {
		verdict := "undecided"
		if d.Better != "" {
			verdict = name(d.Better) + " is better"
		}
		notes = append(notes, fmt.Sprintf("%s less %s: %s (%s), p %s, %s with Holm's correction: %s",
			name(d.Second), name(d.First), signed(d.Difference), shift{d.Lo, d.Hi}, pValue(d.P),
			pValue(d.PHolm), verdict))
	}
	if k := r.Tau; k != nil {
		notes = append(notes, tauLines(k)...)
	}
	return []section{t, {notes: append(notes, warnings...)}}
}

// components tells how the parts of a RAG do.
func components(c *study.ComponentScores) []section {
	t := section{header: []string{"part", "score", "n", "questions"}}
	for _, part := range c.Components {
		t.rows = append(t.rows, []any{part.Name, estimate{part.Value}, part.N, strings.Join(part.Types, ", ")})
	}
	list := []section{t}
	for _, kind := range []struct {
		name  string
		parts []study.Part
	}{{"questions", c.Types}, {"topic", c.Topics}} {
		t := section{header: []string{kind.name, "mean", "n"}}
		for _, p := range kind.parts {
			t.rows = append(t.rows, []any{p.Name, estimate{p.Mean}, p.N})
		}
		if t.rows != nil {
			list = append(list, t)
		}
	}
	return append(list, section{notes: append([]string{"scores are means of " + c.Metric}, c.Warnings...)})
}

// tauLines say how far rankings agree with the true one.
func tauLines(k *study.Tau) []string {
	tau := func(v *float64) string {
		if v == nil {
			return "undefined, as all are equal,"
		}
		return number(*v)
	}
	list := []string{fmt.Sprintf("Kendall's tau with the true ranking of %d systems: %s by the estimates, %s by the metric "+
		"alone; %d of the intervals hold the true value", k.N, tau(k.Estimates), tau(k.Metric), k.Covered)}
	if len(k.Missing) > 0 {
		list = append(list, "how good they are is not known of "+strings.Join(k.Missing, ", "))
	}
	return list
}

func calibrated(c *study.Calibrated) []section {
	t := section{header: []string{"map", "log loss on other rows", ""}}
	for _, method := range slices.Sorted(maps.Keys(c.Losses)) {
		t.rows = append(t.rows, []any{method, value(c.Losses[method]), when(method == c.Map.Method, "chosen")})
	}
	var notes []string
	if c.Before != nil {
		notes = append(notes, "the scores as they are: "+qualityLine(c.Before))
	}
	notes = append(notes, "mapped, on rows not fitted to: "+qualityLine(&c.After))
	return []section{t, {notes: append(notes, c.Warnings...)}}
}

func qualityLine(q *study.Quality) string {
	line := fmt.Sprintf("brier %s", estimate{q.Brier})
	if k := q.Calibration; k != nil {
		line += fmt.Sprintf("; calibration error %s, where true probabilities would show %s (p %s)", number(k.Error),
			number(k.Expected), pValue(k.P))
	}
	return line
}

// judgeFile tells what a trained judge is worth and what it looks at.
func judgeFile(f *study.JudgeFile) []section {
	t := section{header: []string{"it looks at", "importance", "weight", "rows without it"}}
	list := slices.Clone(f.Features)
	slices.SortStableFunc(list, func(a, b all.JudgeFeature) int { return cmp.Compare(b.Importance, a.Importance) })
	for _, feature := range list {
		t.rows = append(t.rows, []any{feature.Metric, fmt.Sprintf("%.0f%%", 100*feature.Importance),
			change(feature.Weight), feature.Missing})
	}
	rows, groups := f.Training.Size()
	notes := []string{fmt.Sprintf("%s: %s, fitted to %d rows in %d groups", f.Metric, judgeKind(f), rows, groups)}
	var tried []string
	for _, try := range f.Training.Tried {
		tried = append(tried, fmt.Sprintf("%s %s", try.Method, number(try.Loss)))
	}
	notes = append(notes, "log loss in choosing: "+strings.Join(tried, ", "))
	for _, set := range f.Training.Sets {
		if set.LeftOut > 0 {
			notes = append(notes, fmt.Sprintf("%d labelled rows of %s are left out: a metric failed on them or was "+
				"not run, or none applies", set.LeftOut, set.Dataset))
		}
	}
	if len(f.Training.Dropped) > 0 {
		notes = append(notes,
			"left out, since they do not vary or nearly no row has them: "+strings.Join(f.Training.Dropped, ", "))
	}
	sections := judgeFigures(&f.Figures)
	if f.Sources != nil {
		sections = append(sections, judgeSources(f.Sources))
	}
	return append(sections, t, section{notes: append(notes, f.Training.Warnings()...)})
}

// judgeSources tells what a judge is worth on each source of its labels, fitted to the others.
func judgeSources(f *study.SourceFigures) section {
	t := section{header: []string{"left out in turn", "n", "measure", "judge", "mean of features", "best feature",
		"judge less mean", "judge less best"}}
	difference := func(d study.AgreeDifference) string { return signed(d.Difference) + inBrackets(d.Lo, d.Hi) }
	for _, s := range f.Sources {
		t.rows = append(t.rows, []any{s.Dataset, s.N, s.Measure, estimate{s.Judge}, s.Mean,
			fmt.Sprintf("%s %s", number(s.Alone[s.LessBest.First]), s.LessBest.First), difference(s.LessMean),
			difference(s.LessBest)})
	}
	t.rows = append(t.rows, []any{"mean over sources", f.LessMean.N, "", f.Judge, f.Mean,
		fmt.Sprintf("%s %s", number(f.Alone[f.LessBest.First]), f.LessBest.First), difference(f.LessMean),
		difference(f.LessBest)})
	t.notes = []string{"the best feature of a source was picked on its rows, and that of all as the best on average"}
	return t
}

func judgeKind(f *study.JudgeFile) string {
	linear := fmt.Sprintf("a logistic regression with the penalty %v", f.Training.Penalty)
	trees := fmt.Sprintf("%d boosted trees of depth %d", len(f.Trees), f.Training.Depth)
	switch f.Training.Method {
	case "linear":
		return linear
	case "trees":
		return trees
	}
	return linear + " and " + trees
}

// judgeFigures are the figures of a trained judge, and of the best of its features by themselves.
func judgeFigures(f *study.JudgeFigures) []section {
	const most = 4
	t := section{header: []string{"on " + f.On, "n", "spearman", "auc"}}
	row := func(a *study.MetricAgreement) {
		t.rows = append(t.rows, []any{a.Metric, a.N, estimate{a.Spearman}, estimate{a.AUC}})
	}
	row(&f.Judge)
	for i := range f.Alone[:min(most, len(f.Alone))] {
		row(&f.Alone[i])
	}
	var notes []string
	for _, d := range f.Better {
		notes = append(notes, fmt.Sprintf("%s less %s: %s %s%s, p %s; that metric was picked as the best on these rows",
			d.Second, d.First, d.Measure, signed(d.Difference), inBrackets(d.Lo, d.Hi), pValue(d.P)))
	}
	if c := f.Judge.Calibration; c != nil {
		notes = append(notes,
			fmt.Sprintf("as probabilities: brier %s; calibration error %s, where true ones would show %s (p %s)",
				estimate{f.Judge.Brier}, number(c.Error), number(c.Expected), pValue(c.P)))
	}
	return []section{t, {notes: append(notes, f.Judge.Warnings...)}}
}
