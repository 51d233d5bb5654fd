package report

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Notes are what a reader of the numbers should know, beginning with what weighs most, each said once.
func (r *Report) Notes() []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	data, rows := r.Manifest.Config.Dataset, r.Manifest.Config.Rows()
	if part := r.Manifest.Config.Part; part != nil {
		note("%s: %d of the run's %s; the others are not here (assay merge puts shards together)", part, rows,
			plural(data.Rows, "row"))
	}
	switch {
	case r.Part != "":
		note("%s", r.Part)
	case r.Manifest.Finished == nil:
		note("unfinished: %d of %d rows; the command that began this run goes on with it", r.Samples, rows)
	case r.Samples != rows:
		note("the results hold %d rows of %d: the file is not as it was written", r.Samples, rows)
	}
	if data.BadRows > 0 {
		note("%s of the dataset could not be read and %s left out", plural(data.BadRows, "row"), were(data.BadRows))
	}
	if r.pooled() {
		note("the counts of all rows pooled, which weighs a row by what it counts: %s", r.pools())
	}
	var of metricNotes
	for _, m := range r.Metrics {
		note := func(format string, args ...any) { of.add(m.Name, "", fmt.Sprintf(format, args...)) }
		if have := m.N + m.Failed + m.NotApplicable + m.NotAsked; have != r.Samples && r.Manifest.Finished != nil && r.Part == "" {
			note("results for %d of %d rows: the file is not as it was written", have, r.Samples)
		}
		if m.Active != nil {
			note("%s", m.askedNote(r.Manifest.Config.Budget))
		}
		if m.Failed > 0 {
			note("%d failed (%s)", m.Failed, m.kinds())
		}
		for _, w := range m.Stats.Warnings {
			note("%s", w)
		}
		if m.Spreads > 0 {
			note("the scores behind a row's have a standard deviation of %s, on average over %s",
				number(m.Spread), plural(m.Spreads, "row"))
		}
		if m.Drawn != nil {
			note("%s", m.Drawn.note())
		}
		if m.LowerIsBetter {
			note("lower is better")
		}
		if m.Calibration != nil {
			note("%s", calibrationNote(m.Calibration, &r.Manifest.Config))
		}
		if c := m.Calibrated; c != nil {
			of.add(m.Name, ", calibrated", calibrationNote(c.By, &r.Manifest.Config))
			for _, w := range c.Stats.Warnings {
				if !slices.Contains(m.Stats.Warnings, w) {
					of.add(m.Name, ", calibrated", w)
				}
			}
		}
	}
	notes = append(notes, of.lines(len(r.Metrics))...)
	return append(notes, r.Manifest.Notes...)
}

// metricNotes are notes on metrics. What is to be said of several is said once, where it is said of the first.
type metricNotes []metricNote

type metricNote struct {
	text    string
	metrics []string
	of      string // what of them: ", calibrated"
	kind    string // the text, less the counts that may differ between metrics
	counts  []int  // in the text's places, the least
	most    []int  // and the largest
}

// countsIn are the counts that need not be the same for a note to be: "only 12 values", "12 values from 4 groups".
var countsIn = regexp.MustCompile(`\b[0-9]+ (values|groups)\b`)

func (n *metricNotes) add(metric, of, text string) {
	note := metricNote{text: text, metrics: []string{metric}, of: of, kind: text}
	if strings.HasPrefix(text, "only ") {
		note.kind = countsIn.ReplaceAllString(text, "# $1")
		for _, found := range countsIn.FindAllString(text, -1) {
			digits, _, _ := strings.Cut(found, " ")
			count, _ := strconv.Atoi(digits) // too large to be one: 0, in place of a range
			note.counts, note.most = append(note.counts, count), append(note.most, count)
		}
	}
	i := slices.IndexFunc(*n, func(other metricNote) bool { return other.of == note.of && other.kind == note.kind })
	if i < 0 {
		*n = append(*n, note)
		return
	}
	same := &(*n)[i]
	same.metrics = append(same.metrics, metric)
	for k, count := range note.counts {
		same.counts[k], same.most[k] = min(same.counts[k], count), max(same.most[k], count)
	}
}

// lines writes the notes, each with the metrics that it is on: "lower is better: noise/points, perplexity/answer".
func (n metricNotes) lines(metrics int) []string {
	var lines []string
	for _, note := range n {
		text, k := note.text, 0
		if note.counts != nil {
			text = countsIn.ReplaceAllStringFunc(text, func(found string) string {
				lo, hi := note.counts[k], note.most[k]
				k++
				_, what, _ := strings.Cut(found, " ")
				return strconv.Itoa(lo) + when(hi > lo, " to "+strconv.Itoa(hi)) + " " + what
			})
		}
		lines = append(lines, someOf(note.metrics, metrics)+note.of+": "+text)
	}
	return lines
}

// someOf names metrics, of so many: a few of them, where they are many.
func someOf(names []string, all int) string {
	const few = 4
	switch {
	case len(names) == 2 && all == 2:
		return "both metrics"
	case len(names) == all && all > 1:
		return fmt.Sprintf("all %d metrics", all)
	case len(names) <= few:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few-1], ", "), len(names)-few+1)
}
