// Package evaluation is one run of metrics over a dataset, from what the user asks to the results in a folder.
//
// [New] checks all that can be checked before a model is loaded: which metrics, with which prompts, over which rows.
// [Evaluation.Open] opens the models, and reads the dataset once where a metric depends on all rows. What the results
// depend on then stands in [Evaluation.Manifest], by which internal/runs knows the run again, and
// [Evaluation.Score] scores the rows that an earlier attempt has not.
package evaluation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/budget"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/fewshot"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/shard"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Options are what the user asks for.
type Options struct {
	Data    string          // the file, folder or pattern of the dataset; "-": standard input
	Rows    dataset.Options // which of its rows, and how they are read
	SkipBad bool            // leave out the rows that cannot be read
	Shard   string          // which part of the rows: see shard.Choose; "": all of them

	Choice                // the metrics
	Calibrations []string // files of maps for them
	Budget       Budget   // of those that ask a judge
	Prompts      string   // a folder of prompts that replace the built-in ones; "": none
	Layout       string   // of the prompts: see prompts.ParseLayout
	Examples     string   // a file of few-shot examples; "": the prompts' own
	Reasons      string   // which verdicts have a reason: see metrics.ParseReasons
	Evidence     Search   // where metrics look for evidence
	Seed         uint64   // of everything that is drawn at random

	Stack stack.Options // who answers
	Tool  string        // what the manifest says made the run: "assay v0.1.0"

	Say, Warn func(format string, args ...any) // tell the user how it goes, and what may be wrong
	// Indexing is told how many passages are to be indexed. Of what it returns, done is told how many of them are, and
	// stop that no more will be.
	Indexing func(passages int) (done func(n int), stop func())
}

// An Evaluation is a run whose input was checked.
type Evaluation struct {
	Metrics []metrics.Metric
	Data    *dataset.Reader // nil: see NewPart
	Stack   *stack.Stack    // once it is open
	Models  metrics.Models  // likewise, with prompts and what was learned of all rows

	options  Options
	criteria string // the digest of the user's own metrics among them
	judged   string // the digests of the trained judges' files
	prompts  prompts.Set
	examples fewshot.Given
	reasons  metrics.Reasons
	maps     []runs.GivenCalibration
	shard    *shard.Shard     // nil: all rows are scored
	part     *runs.Part       // of that shard; nil without one
	corpus   *runs.Corpus     // nil: no metric looks for evidence
	budget   *runs.Budget     // nil: every metric is asked about every row
	left     []metrics.Metric // of a preset or a profile, because the dataset lacks a column
}

// New checks what is asked for. Its error is the user's to mend.
func New(ctx context.Context, o Options) (*Evaluation, error) {
	e := &Evaluation{options: o}
	own, err := e.choose()
	if err != nil {
		return nil, err
	}
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	e.Data, err = dataset.Open(ctx, o.Data, o.Rows)
	if err != nil {
		return nil, err
	}
	err = e.fit(own)
	if err == nil && o.Shard != "" {
		err = e.divide(ctx)
	}
	if err != nil {
		e.Data.Close()
		return nil, err
	}
	return e, nil
}

// read reads what goes with the metrics: prompts, examples, calibrations.
func (e *Evaluation) read(ctx context.Context) (err error) {
	o := &e.options
	if e.prompts, err = Prompts(o.Prompts, o.Layout); err != nil {
		return err
	}
	if e.examples, err = fewshot.Teach(ctx, o.Examples, &e.prompts, metrics.PromptsOf(e.Metrics), o.Say, o.Warn); err != nil {
		return err
	}
	if e.reasons, err = metrics.ParseReasons(o.Reasons); err != nil {
		return fmt.Errorf("--reasons: %w", err)
	}
	if e.maps, err = runs.LoadCalibrations(o.Calibrations); err != nil {
		return err
	}
	return o.Budget.check()
}

// fit holds the metrics, and what goes with them, against the dataset.
func (e *Evaluation) fit(own chosen) (err error) {
	o := &e.options
	e.Metrics, e.left = Fitting(e.Metrics, e.fields(), func(m metrics.Metric) bool {
		return o.Preset != "" || own.byProfile(m)
	})
	from := all.Selector{Own: own.metrics, Models: o.Stack.Names()}
	e.Metrics, e.budget, err = o.Budget.choose(e.Metrics, from, e.Data.Summary().Rows)
	return errors.Join(err, o.Stack.Check(e.Metrics), e.checkMaps(), e.checkData())
}

// Prompts are the built-in prompts in a layout, and the user's of a folder, if one is named, in their places.
func Prompts(dir, layout string) (prompts.Set, error) {
	l, err := prompts.ParseLayout(layout)
	if err != nil {
		return prompts.Set{}, fmt.Errorf("--layout: %w", err)
	}
	var p prompts.Set
	if dir != "" {
		if p, err = all.LoadPrompts(os.DirFS(dir)); err != nil {
			return prompts.Set{}, fmt.Errorf("--prompts %s: %w", dir, err)
		}
	}
	return p.In(l), nil
}

// checkMaps refuses a calibration of a metric that is not run.
func (e *Evaluation) checkMaps() error {
	var names []string
	for _, m := range e.Metrics {
		names = append(names, m.Name)
	}
	for _, c := range e.maps {
		if err := c.CheckMetrics(names); err != nil {
			return fmt.Errorf("--calibration %s: %w", c.Path, err)
		}
	}
	return nil
}

// checkData refuses a dataset with bad rows, unless they may be skipped, and one that lacks a column.
func (e *Evaluation) checkData() error {
	sum := e.Data.Summary()
	if sum.Bad > 0 && !e.options.SkipBad {
		const most = 3
		var errs []error
		for _, e := range sum.Errors[:min(most, len(sum.Errors))] {
			errs = append(errs, e)
		}
		if sum.Bad > most {
			errs = append(errs, fmt.Errorf("and %d more bad rows", sum.Bad-most))
		}
		return &runs.InputError{Err: errors.Join(errs...), Hint: "mend the file, or leave such rows out with --skip-bad-rows"}
	}
	if sum.Rows == 0 {
		return fmt.Errorf("%s: no rows to score", sum.Name)
	}
	var want metrics.Field
	for _, m := range e.Metrics {
		want |= m.Needs
	}
	for _, m := range e.Metrics {
		if slices.Contains(m.Settings, "drawn") && sum.Filled[metrics.OtherAnswers] == 0 {
			return &runs.InputError{Err: sum.Need(metrics.OtherAnswers),
				Hint: m.Name + "@drawn draws them from the system's model, --sample-model"}
		}
	}
	return sum.Need(want)
}

// fields are those that some row of the dataset fills.
func (e *Evaluation) fields() metrics.Field {
	if e.Data == nil {
		return ^metrics.Field(0) // the rows come from where that was seen
	}
	sum := e.Data.Summary()
	return sum.Fields()
}

// Open opens the models, and has the metrics learn what they must of all rows.
func (e *Evaluation) Open(ctx context.Context) (err error) {
	o := &e.options
	searching, err := o.Evidence.asks(e.Metrics)
	if err != nil {
		return err
	}
	asks := metrics.AsksOf(e.Metrics).With(searching)
	for _, role := range o.Stack.Names() {
		if asks[role] == 0 {
			o.Warn("no metric asks the %s: METRIC@%s does", role.Title(), role.Name())
		}
	}
	if e.Stack, err = stack.Open(ctx, o.Stack, asks); err != nil {
		return err
	}
	return e.Ask(ctx, e.Stack.Roles)
}

// Ask is Open with models that the caller has opened, and closes.
func (e *Evaluation) Ask(ctx context.Context, roles metrics.Roles) (err error) {
	o := &e.options
	m := metrics.Models{Roles: roles, Prompts: e.prompts, Seed: o.Seed, Reasons: e.reasons}
	if m.Evidence, e.corpus, err = e.search(ctx, roles[backend.Embedder]); err != nil {
		return err
	}
	e.hintProfiles(roles)
	if err := metrics.Check(e.Metrics, m, e.fields()); err != nil {
		return &runs.InputError{Err: err}
	}
	if err := e.examples.Fit(ctx, m, metrics.PromptsOf(e.Metrics)); err != nil {
		return err
	}
	for _, what := range metrics.Preparations(e.Metrics) {
		o.Say("%s of all %d samples", what.Doc, e.Data.Summary().Rows)
	}
	every := func() iter.Seq2[*metrics.Sample, error] { return e.samples(ctx, 0) }
	e.Models, err = metrics.Prepare(ctx, every, e.Metrics, m, metrics.Options{})
	return err
}

// Close closes the models that Open opened, and the dataset.
func (e *Evaluation) Close() error {
	var err error
	if e.Stack != nil {
		err = e.Stack.Close()
	}
	if e.Data != nil {
		err = errors.Join(err, e.Data.Close())
	}
	return err
}

// Budgeted reports whether some metric is asked about some of the rows only.
func (e *Evaluation) Budgeted() bool { return e.budget != nil }

// Results are how many results the run has when it is whole, and how many of them w has already.
func (e *Evaluation) Results(w *runs.Writer) (total, kept int) {
	return e.Rows() * len(e.Metrics), w.Kept() * len(e.Metrics)
}

// Announce says what is about to happen, where an earlier attempt scored the first kept samples.
func (e *Evaluation) Announce(kept int) {
	say, sum := e.options.Say, e.Data.Summary()
	var names []string
	for _, m := range e.Metrics {
		names = append(names, m.Name)
	}
	if e.part != nil {
		say("%v: %d of %d samples", e.part, e.part.Rows, sum.Rows)
	}
	say("%d samples, %s", e.Rows(), strings.Join(names, ", "))
	if sum.Tool != "" {
		say("the rows were made of %s", sum.Format)
		for _, note := range sum.Notes {
			say("%s", note)
		}
	}
	for _, m := range e.left {
		say("%s is left out: the dataset has no %v", m.Name, m.Needs&^e.fields())
	}
	if kept > 0 {
		say("going on after the %d samples of an earlier attempt", kept)
	}
}

// Score scores the samples that w does not have yet. ready, which may be called concurrently, is told of each result as
// soon as it is there; w gets them in the dataset's order.
func (e *Evaluation) Score(ctx context.Context, w *runs.Writer, ready func(metrics.Result)) error {
	options := metrics.Options{Ready: ready}
	if e.budget != nil {
		job := &budget.Job{Metrics: e.Metrics, Asked: e.budget.Metrics, Limit: e.options.Budget.limit(),
			Seed: e.options.Seed, Models: e.Models, Options: options, Say: e.options.Say,
			Samples: func() iter.Seq2[*metrics.Sample, error] { return e.samples(ctx, 0) }}
		return job.Run(ctx, w)
	}
	if e.shard != nil {
		return e.shard.Score(ctx, e.samples(ctx, 0), e.Metrics, e.Models, options, w)
	}
	return metrics.Run(ctx, e.samples(ctx, w.Kept()), e.Metrics, e.Models, options, w.Write)
}

// samples yields the samples after the first skip, without the bad rows.
func (e *Evaluation) samples(ctx context.Context, skip int) iter.Seq2[*metrics.Sample, error] {
	return func(yield func(*metrics.Sample, error) bool) {
		for sample, err := range e.Data.Samples(ctx) {
			if errors.As(err, new(*dataset.RowError)) {
				continue // counted, and allowed, before the run began
			}
			if err == nil && skip > 0 {
				skip--
				continue
			}
			if !yield(sample, err) {
				return
			}
		}
	}
}

// Folder is the run folder when none is named: the same for the same run.
func Folder(c runs.Config) string {
	name := filepath.Base(c.Dataset.Path)
	if i := strings.IndexByte(name, '.'); i > 0 {
		name = name[:i]
	}
	if c.Dataset.Path == "-" {
		name = "stdin"
	}
	part := c.Part
	c.Part = nil
	name += "-" + c.ID()
	if part != nil {
		name += "-" + part.Name()
	}
	return filepath.Join("assay-runs", name)
}
