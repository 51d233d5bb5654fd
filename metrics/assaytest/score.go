package assaytest

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

// Score fails the test if the sample's score by a metric is worse than limit, and returns it. Names of metrics are those
// of assay metrics. Worse is lower, or higher where lower is better.
//
// It opens the models for this one score: tests that ask several have a [Judge].
func Score(t testing.TB, s *metrics.Sample, metric string, limit float64) metrics.Score {
	t.Helper()
	var j Judge
	defer j.closeFor(t)
	return j.Score(t, s, metric, limit)
}

// Mean fails the test if the mean score of the samples is worse than limit: see [Judge.Mean]. It opens the models for this
// one mean.
func Mean(t testing.TB, samples []*metrics.Sample, metric string, limit float64) Summary {
	t.Helper()
	var j Judge
	defer j.closeFor(t)
	return j.Mean(t, samples, metric, limit)
}

// Score fails the test if the sample's score by a metric is worse than limit, and returns it. A sample without a score
// fails the test, too: because something went wrong, or since the metric says nothing about it.
func (j *Judge) Score(t testing.TB, s *metrics.Sample, metric string, limit float64) metrics.Score {
	t.Helper()
	m, results := j.score(t, []*metrics.Sample{s}, metric, limit)
	r := results[0]
	switch {
	case r.Score == nil:
		t.Errorf("%s", show(m, s, r, "has no score"))
		return metrics.Score{}
	case worse(m, r.Score.Value, limit):
		t.Errorf("%s", show(m, s, r, fmt.Sprintf("%.3f is %s", r.Score.Value, beyond(m, limit))))
	}
	return *r.Score
}

// A Summary is the mean score of several samples.
type Summary struct {
	N             int // samples with a score
	Failed        int // samples without one because something went wrong
	NotApplicable int // samples that the metric says nothing about
	Mean          float64
	// The ends of its 95% interval (BCa bootstrap; of groups of samples, where they are in some); nil where so few
	// samples have none.
	Lo, Hi *float64
}

// Mean fails the test if the mean score of the samples by a metric is worse than limit, and returns it with its interval.
// The message shows the samples that have the worst scores. A sample that could not be scored fails the test; those that the
// metric says nothing about are counted.
func (j *Judge) Mean(t testing.TB, samples []*metrics.Sample, metric string, limit float64) Summary {
	t.Helper()
	return j.mean(t, samples, metric, limit, false)
}

// MeanBound is Mean for a limit that the samples have to show: the test fails if the worse end of the mean's 95% interval is
// worse than limit.
func (j *Judge) MeanBound(t testing.TB, samples []*metrics.Sample, metric string, limit float64) Summary {
	t.Helper()
	return j.mean(t, samples, metric, limit, true)
}

func (j *Judge) mean(t testing.TB, samples []*metrics.Sample, metric string, limit float64, bound bool) Summary {
	t.Helper()
	if len(samples) == 0 {
		t.Fatalf("%s of no samples", metric)
	}
	m, results := j.score(t, samples, metric, limit)
	var s Summary
	var mean stats.Mean
	for i, r := range results {
		switch {
		case r.Score != nil:
			mean.AddTo(r.Group, r.Score.Value)
		case r.Kind == metrics.NotApplicable:
			s.NotApplicable++
		default:
			s.Failed++
			t.Errorf("%s", show(m, samples[i], r, "has no score"))
		}
	}
	sum := mean.Summary(stats.Options{Seed: j.Seed, Min: m.Min, Max: m.Max})
	s.N, s.Mean = sum.N, sum.Mean
	if sum.Interval != nil {
		s.Lo, s.Hi = &sum.Interval.Lo, &sum.Interval.Hi
	}
	end := s.Lo
	if m.LowerIsBetter {
		end = s.Hi
	}
	switch {
	case s.N == 0:
		t.Errorf("%s has no score for any of %d samples", m.Name, len(samples))
	case bound && end == nil:
		t.Errorf("the mean %v has no interval: %s", s.text(m), strings.Join(sum.Warnings, "; "))
	case bound && worse(m, *end, limit):
		t.Errorf("the mean %s: its interval ends %s%s", s.text(m), beyond(m, limit), worst(m, samples, results))
	case !bound && worse(m, s.Mean, limit):
		t.Errorf("the mean %s is %s%s", s.text(m), beyond(m, limit), worst(m, samples, results))
	}
	return s
}

// text describes a mean with its interval and what is missing from it.
func (s *Summary) text(m metrics.Metric) string {
	text := fmt.Sprintf("%s of %d samples, %.3f", m.Name, s.N, s.Mean)
	if s.Lo != nil {
		text += fmt.Sprintf(" (95%% interval %.3f to %.3f)", *s.Lo, *s.Hi)
	}
	if s.NotApplicable > 0 {
		text += fmt.Sprintf(", without %d that it says nothing about", s.NotApplicable)
	}
	if s.Failed > 0 {
		text += fmt.Sprintf(", without %d that failed", s.Failed)
	}
	return text
}

// score scores the samples by one metric, in their order. What keeps all of them from being scored ends the test.
func (j *Judge) score(t testing.TB, samples []*metrics.Sample, name string, limit float64) (metrics.Metric, []metrics.Result) {
	t.Helper()
	options := j.options()
	ms, err := all.Select([]string{name}, options.Names()...)
	if err != nil {
		t.Fatal(advised(err))
	}
	m := ms[0]
	switch {
	case len(ms) > 1:
		t.Fatalf("%s names %d metrics: a limit is one metric's", name, len(ms))
	case !(limit >= m.Min && limit <= m.Max):
		t.Fatalf("the limit %v is not in the range of %s, %v to %v", limit, m.Name, m.Min, m.Max)
	case len(m.Asks) > 0 && testing.Short():
		t.Skipf("%s asks a model: not with -short", m.Name)
	}
	models, err := j.models(t.Context(), ms)
	if err != nil {
		t.Fatal(advised(err))
	}
	samples = named(samples)
	var fields metrics.Field
	for _, s := range samples {
		fields |= s.Fields()
	}
	if err := metrics.Check(ms, models, fields); err != nil {
		t.Fatal(err)
	}
	each := func() iter.Seq2[*metrics.Sample, error] {
		return func(yield func(*metrics.Sample, error) bool) {
			for _, s := range samples {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
	if models, err = metrics.Prepare(t.Context(), each, ms, models, metrics.Options{}); err != nil {
		t.Fatal(err)
	}
	var results []metrics.Result
	err = metrics.Run(t.Context(), each(), ms, models, metrics.Options{}, func(r metrics.Result) error {
		results = append(results, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, results
}

// named are the samples, those without an id with the number of their place.
func named(samples []*metrics.Sample) []*metrics.Sample {
	list := slices.Clone(samples)
	for i, s := range list {
		if s.ID == "" {
			with := *s
			with.ID = "sample " + strconv.Itoa(i+1)
			list[i] = &with
		}
	}
	return list
}

// advised is an error with its hint.
func advised(err error) string {
	var input *runs.InputError
	if errors.As(err, &input) && input.Hint != "" {
		return fmt.Sprintf("%v: %s", err, input.Hint)
	}
	return err.Error()
}

func worse(m metrics.Metric, v, limit float64) bool {
	if m.LowerIsBetter {
		return v > limit
	}
	return v < limit
}

func beyond(m metrics.Metric, limit float64) string {
	if m.LowerIsBetter {
		return fmt.Sprintf("above %v", limit)
	}
	return fmt.Sprintf("below %v", limit)
}

// worst shows the samples with the worst scores.
func worst(m metrics.Metric, samples []*metrics.Sample, results []metrics.Result) string {
	const most = 3
	var order []int
	for i, r := range results {
		if r.Score != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if m.LowerIsBetter {
			a, b = b, a
		}
		return cmp.Compare(results[a].Score.Value, results[b].Score.Value)
	})
	var text strings.Builder
	for _, i := range order[:min(most, len(order))] {
		fmt.Fprintf(&text, "\n%s", show(m, samples[i], results[i], fmt.Sprintf("%.3f", results[i].Score.Value)))
	}
	return text.String()
}

// show describes a result with its evidence, so that it can be read in a terminal, whatever models and data hold.
func show(m metrics.Metric, s *metrics.Sample, r metrics.Result, verdict string) string {
	const most = 20
	var text strings.Builder
	fmt.Fprintf(&text, "%s of %s: %s\n", m.Name, metrics.Bounded(r.Sample), verdict)
	if r.Score == nil {
		fmt.Fprintf(&text, "    %s: %s\n", r.Kind, metrics.Bounded(r.Error))
	}
	line := func(name, value string) {
		if !metrics.Blank(value) {
			fmt.Fprintf(&text, "    %s: %s\n", name, metrics.Bounded(value))
		}
	}
	line("question", s.Question)
	line("answer", s.Answer)
	if r.Score != nil {
		because := r.Score.Because
		for _, f := range because[:min(most, len(because))] {
			fmt.Fprintf(&text, "    %s\n", metrics.Bounded(f.String()))
			line("    because", f.Reason)
		}
		if n := len(because) - most; n > 0 {
			fmt.Fprintf(&text, "    and %d more findings\n", n)
		}
	}
	return report.Printable(strings.TrimSuffix(text.String(), "\n"))
}
