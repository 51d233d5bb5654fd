package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/openai"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
)

const runHelp = `
Usage: assay run --data FILE [--metrics LIST] [-o DIR] [flags]

Scores every row of a dataset with every metric. The folder DIR receives run.json (what was run) and
results.jsonl (one result a line: a score with its evidence, or an error); the summary goes to
standard output.

The dataset is JSONL, JSON, CSV, TSV or Parquet, also compressed (.gz, .zst), a folder or a pattern of such files, or -
for standard input. The columns that Ragas, DeepEval, promptfoo, unitxt and others use are known by their names; --map
names others, and what is inside others. Traces are recognised, and what other evaluators' tools save (docs/formats.md):

  assay run --data qa.jsonl --metrics faithfulness,answer_relevance -o results
  assay run --data prod.csv --map question=prompt --map answer=output -o results
  assay run --data spans.jsonl --where metadata.lang=de --sample 200 -o results
  assay run --data qa.jsonl --backend ollama --model llama3.2 --embed-model all-minilm -o results

Of several models, each has a name, and metrics say which one they ask:

  assay run --data qa.jsonl --encoder-model a=one.gguf --encoder-model b=other.gguf \
    --metrics faithfulness/encoder@a,faithfulness/encoder@b -o results

An expensive metric need not be asked about every row. With --budget it is asked about as many as you say, and with
--until-width until its mean is known so closely; a cheap metric, asked about every row, tells which rows say most. The
mean and its interval are corrected for the choice (docs/statistics.md):

  assay run --data qa.jsonl --metrics faithfulness --cheap faithfulness/blend --budget 20% -o results

Claims can be checked by documents other than a row's own contexts: passages are found for each in a corpus.

  assay run --data qa.jsonl --corpus docs --metrics factuality/factscore,factuality/veriscore -o results

A TREC run is a dataset too, and relevance judgements may be in a file of their own:

  assay run --data bm25.run --qrels qrels.txt --metrics retrieval/ndcg@10,retrieval/recall@100 -o results

An interrupted run goes on where it was when the same command is given again. Answers are kept in a
cache, so nothing is asked twice.
`

// A runOptions holds the flags of assay run.
type runOptions struct {
	data        string
	metrics     []string
	preset      string
	criteria    criteriaOptions
	judges      judgeFlags
	profiles    profileFlags
	calibration calibrationFlags
	stack       stackOptions
	prompts     string
	layout      string
	examples    string
	reasons     string
	output      string
	overwrite   bool
	limit       int
	sample      int
	where       []string
	dry         bool
	pilot       int
	qrels       string
	complete    bool
	turns       bool
	mapping     map[string]string
	skipBad     bool
	seed        uint64
	think       int
	repeat      int
	budget      budgetOptions
	evidence    evidenceOptions
	maxFailures string
	format      string
}

func runCommand(ctx context.Context, s *std, args []string) error {
	var o runOptions
	f := s.flags("run", runHelp)
	f.StringVarP(&o.data, "data", "d", "", "the dataset: a `FILE`, a folder, a pattern such as 'logs/*.jsonl', - for standard input")
	f.StringSliceVarP(&o.metrics, "metrics", "m", nil, "metrics, comma separated: assay metrics lists them")
	f.StringVar(&o.preset, "preset", "",
		"a named list of metrics (default ragas-paper, without --metrics and criteria)")
	o.criteria.add(f)
	o.judges.add(f)
	o.profiles.add(f)
	o.calibration.add(f, "show a metric's mean as a probability, too, by the `MAP` of assay calibrate; repeatable")
	o.stack.several = true
	o.stack.add(f)
	o.stack.addEncoder(f)
	o.stack.addSampler(f)
	f.StringVar(&o.prompts, "prompts", "", "a `FOLDER` of prompts that replace the built-in ones")
	f.StringVar(&o.layout, "layout", string(prompts.Row), layoutHelp)
	f.StringVar(&o.examples, "examples", "", examplesHelp)
	f.StringVar(&o.reasons, "reasons", string(metrics.DoubtfulReasons),
		"`WHICH` verdicts of short forms (claims_short) the judge gives with a reason: all, doubtful or none")
	f.StringVarP(&o.output, "output", "o", "",
		"the run `FOLDER` (default assay-runs/NAME-ID, the same for the same run)")
	f.BoolVar(&o.overwrite, "overwrite", false, "discard another run that the folder holds")
	f.IntVar(&o.limit, "limit", 0, "score only the first `N` rows")
	f.IntVar(&o.sample, "sample", 0, "score `N` rows drawn at random, the same for the same --seed")
	f.StringArrayVar(&o.where, "where", nil, whereHelp)
	f.BoolVar(&o.dry, "dry-run", false,
		"score a few rows and write no run: prompts, calls, and how long all rows would take")
	f.IntVar(&o.pilot, "pilot", 4, "the number of `ROWS` that --dry-run scores")
	f.StringVar(&o.qrels, "qrels", "", "a `FILE` of relevance judgements, by row id: query, iteration, passage, grade")
	f.BoolVar(&o.turns, "turns", false,
		"score each turn of a conversation that the assistant replied to, not the last one alone")
	f.BoolVar(&o.complete, "complete", false,
		"score judged queries that the dataset lacks, as if nothing had been retrieved")
	f.StringToStringVar(&o.mapping, "map", nil, mapHelp)
	f.BoolVar(&o.skipBad, "skip-bad-rows", false, "leave out rows that cannot be read, and count them")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything that is drawn at random")
	f.IntVar(&o.think, "think", 0,
		"let judges think before each reply, up to so many `TOKENS`: @think=TOKENS behind each metric that it concerns")
	f.IntVar(&o.repeat, "repeat", 0,
		"score each row `K` times where a judge writes: @draws=K behind each such metric, with flips and pass^k")
	o.budget.add(f)
	o.evidence.add(f)
	f.StringVar(&o.maxFailures, "max-failures", "",
		"exit with 3 if more results fail than this count or `SHARE` (10, 5%)")
	f.StringVar(&o.format, "format", "table", "how the summary is printed: "+strings.Join(report.Formats(), ", "))
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if o.data == "" {
		return usageError{withHint(errors.New("no dataset"),
			"assay run --data FILE; assay run --help explains the rest")}
	}
	return o.run(ctx, s)
}

func (o *runOptions) run(ctx context.Context, s *std) error {
	plan, err := o.plan(ctx, s)
	if err != nil {
		return err
	}
	defer plan.data.Close()
	o.stack.Grace = grace
	searching, err := o.evidence.check(plan.metrics)
	if err != nil {
		return usageError{err}
	}
	asks := metrics.AsksOf(plan.metrics).With(searching)
	for _, role := range o.stack.Names() {
		if asks[role] == 0 {
			s.warn("no metric asks the %s: METRIC@%s does", role.Title(), role.Name())
		}
	}
	st, err := o.stack.open(ctx, s, asks)
	if err != nil {
		return err
	}
	defer st.Close()
	models := metrics.Models{Roles: st.Roles, Prompts: plan.prompts, Seed: o.seed, Reasons: plan.reasons}
	if models.Evidence, plan.corpus, err = o.evidence.open(ctx, s, st.Roles[backend.Embedder]); err != nil {
		return err
	}
	s.hintProfiles(st.Roles, plan.metrics)
	if err := metrics.Check(plan.metrics, models, plan.fields()); err != nil {
		return usageError{err}
	}
	if err := plan.examples.fit(ctx, models, plan.metrics); err != nil {
		return err
	}
	if models, err = o.prepare(ctx, s, plan, models); err != nil {
		return err
	}
	if o.dry {
		return o.dryRun(ctx, s, plan, models, st)
	}
	m := o.manifest(plan, models)
	for _, c := range plan.maps {
		if err := study.CheckOrigin(&c.Calibration, &m.Config); err != nil {
			return usageError{withHint(fmt.Errorf("--calibration %s: %w", c.Path, err),
				"make another map, from labelled rows that were scored as these will be: assay calibrate")}
		}
	}
	dir := o.output
	if dir == "" {
		dir = defaultDir(o.data, m.Config)
	}
	w, err := runs.Create(dir, m, o.overwrite)
	if err != nil {
		return err
	}
	s.announce(plan, w.Kept())
	err = o.score(ctx, s, plan, models, w, st.Calls)
	if err != nil {
		s.note("what is done is kept in %s: the same command goes on from there", dir)
		return err
	}
	st.Tally()
	return o.conclude(ctx, s, plan, dir)
}

// A plan is a run whose input was checked.
type plan struct {
	metrics  []metrics.Metric
	criteria string // the digest of the user's own metrics among them
	judges   []*all.TrainedJudge
	judged   string // the digests of those judges' files
	prompts  prompts.Set
	examples givenExamples
	reasons  metrics.Reasons
	maps     []runs.GivenCalibration
	data     *dataset.Reader
	failures failureLimit
	corpus   *runs.Corpus     // nil: no metric looks for evidence
	budget   *runs.Budget     // nil: every metric is asked about every row
	left     []metrics.Metric // of the preset or a profile, because the dataset lacks a column
}

// plan checks everything that can be checked before a model is loaded.
func (o *runOptions) plan(ctx context.Context, s *std) (*plan, error) {
	if err := report.CheckFormat(o.format); err != nil {
		return nil, usageError{err}
	}
	var p plan
	var err error
	own, digest, err := o.criteria.load()
	if err != nil {
		return nil, usageError{err}
	}
	p.criteria = digest
	judges, trained, judged, err := o.judges.load()
	if err != nil {
		return nil, usageError{err}
	}
	p.judges, p.judged = judges, judged
	profiled, err := o.profiles.load(o.stack.Models)
	if err != nil {
		return nil, usageError{err}
	}
	own = append(own, profiled...)
	if p.metrics, err = o.selectMetrics(own, trained); err != nil {
		return nil, usageError{err}
	}
	if p.prompts, err = loadPrompts(o.prompts, o.layout); err != nil {
		return nil, usageError{err}
	}
	if p.examples, err = s.loadExamples(ctx, o.examples, &p.prompts, promptsOf(p.metrics)); err != nil {
		return nil, usageError{err}
	}
	if p.reasons, err = metrics.ParseReasons(o.reasons); err != nil {
		return nil, usageError{fmt.Errorf("--reasons: %w", err)}
	}
	if p.maps, err = o.calibration.load(); err != nil {
		return nil, usageError{err}
	}
	if p.failures, err = parseFailureLimit(o.maxFailures); err != nil {
		return nil, usageError{err}
	}
	if err := o.budget.check(); err != nil {
		return nil, usageError{err}
	}
	if o.limit < 0 || o.sample < 0 || o.pilot < 1 {
		return nil, usagef("--limit, --sample and --pilot take positive numbers of rows")
	}
	p.data, err = dataset.Open(ctx, o.data, dataset.Options{
		Map: o.mapping, Limit: o.limit, Where: o.where, Sample: o.sample, Seed: o.seed, Qrels: o.qrels,
		Complete: o.complete, Turns: o.turns,
	})
	if err != nil {
		return nil, usageError{err}
	}
	p.leaveOut(func(m metrics.Metric) bool { return o.preset != "" || o.ofProfile(m, profiled) })
	p.metrics, p.budget, err = o.budget.choose(p.metrics, all.Selector{Own: own, Models: o.stack.Names()},
		p.data.Summary().Rows)
	if err := errors.Join(err, o.stack.Check(p.metrics), p.checkMaps(), o.checkData(&p)); err != nil {
		p.data.Close()
		return nil, usageError{err}
	}
	return &p, nil
}

// ofProfile reports whether a metric came with a profile, and was not named by itself.
func (o *runOptions) ofProfile(m metrics.Metric, profiled []metrics.Metric) bool {
	full, _, _ := strings.Cut(m.Name, "@")
	if !slices.ContainsFunc(profiled, func(p metrics.Metric) bool { return p.Name == full }) {
		return false
	}
	return !slices.ContainsFunc(o.metrics, func(name string) bool {
		named, _, _ := strings.Cut(strings.TrimSpace(name), "@")
		return named == full
	})
}

// leaveOut takes out the metrics for which the dataset has no columns, of those that may be left out, unless that are
// all of them: a preset, or a judge's profile, is for datasets of several kinds.
func (p *plan) leaveOut(may func(metrics.Metric) bool) {
	has := p.fields()
	fits := func(m metrics.Metric) bool { return has.Has(m.Needs) || !may(m) }
	if !slices.ContainsFunc(p.metrics, fits) {
		return
	}
	var kept []metrics.Metric
	for _, m := range p.metrics {
		if fits(m) {
			kept = append(kept, m)
		} else {
			p.left = append(p.left, m)
		}
	}
	p.metrics = kept
}

// selectMetrics returns the metrics that are named, after them those of the user's own that are not among them, and
// then the trained judges, which ask the models of their training and no others.
func (o *runOptions) selectMetrics(own, trained []metrics.Metric) ([]metrics.Metric, error) {
	var list []metrics.Metric
	var err error
	from := all.Selector{Own: own, Models: o.stack.Names()}
	switch {
	case o.preset != "" && len(o.metrics) > 0:
		return nil, errors.New("--metrics and --preset exclude each other")
	case len(o.metrics) > 0:
		list, err = from.Select(o.metrics)
		own = slices.DeleteFunc(slices.Clone(own), func(m metrics.Metric) bool {
			return slices.ContainsFunc(list, func(selected metrics.Metric) bool {
				full, _, _ := strings.Cut(selected.Name, "@")
				return full == m.Name
			})
		})
	case o.preset != "":
		list, err = from.Preset(o.preset)
	case own == nil && trained == nil:
		list, err = all.Preset("ragas-paper")
	}
	for _, m := range own {
		list = append(list, from.Namesake(m))
	}
	if err == nil {
		list, err = all.Everywhere(list, o.think, o.repeat)
	}
	return append(list, trained...), err
}

// checkMaps refuses a calibration of a metric that is not run.
func (p *plan) checkMaps() error {
	var names []string
	for _, m := range p.metrics {
		names = append(names, m.Name)
	}
	for _, c := range p.maps {
		if err := c.CheckMetrics(names); err != nil {
			return fmt.Errorf("--calibration %s: %w", c.Path, err)
		}
	}
	return nil
}

// checkData refuses a dataset with bad rows, unless they may be skipped, and one that lacks a column.
func (o *runOptions) checkData(p *plan) error {
	sum := p.data.Summary()
	if sum.Bad > 0 && !o.skipBad {
		const most = 3
		var errs []error
		for _, e := range sum.Errors[:min(most, len(sum.Errors))] {
			errs = append(errs, e)
		}
		if sum.Bad > most {
			errs = append(errs, fmt.Errorf("and %d more bad rows", sum.Bad-most))
		}
		return withHint(errors.Join(errs...), "mend the file, or leave such rows out with --skip-bad-rows")
	}
	if sum.Rows == 0 {
		return fmt.Errorf("%s: no rows to score", sum.Name)
	}
	var want metrics.Field
	for _, m := range p.metrics {
		want |= m.Needs
	}
	for _, m := range p.metrics {
		if slices.Contains(m.Settings, "drawn") && sum.Filled[metrics.OtherAnswers] == 0 {
			return withHint(sum.Need(metrics.OtherAnswers), "%s@drawn draws them from the system's model, --sample-model", m.Name)
		}
	}
	return sum.Need(want)
}

// fields are those that some row of the dataset fills.
func (p *plan) fields() metrics.Field {
	var f metrics.Field
	for field, n := range p.data.Summary().Filled {
		if n > 0 {
			f |= field
		}
	}
	return f
}

func (o *runOptions) manifest(p *plan, models metrics.Models) runs.Manifest {
	sum := p.data.Summary()
	m := runs.Manifest{Tool: "assay " + buildVersion(), Started: runs.Now(), Notes: sum.Notes, Calibrations: p.maps}
	if o.stack.Remote {
		m.Notes = append(slices.Clip(m.Notes), "the models were asked at "+openai.Host(o.stack.Address)+
			", which may be another machine (--allow-remote)")
	}
	m.Config = runs.Config{
		Dataset: runs.Dataset{Path: o.data, SHA256: sum.SHA256, Rows: sum.Rows, BadRows: sum.Bad, Limit: o.limit,
			Where: o.where, Sample: o.sample, Map: o.mapping, Qrels: sum.Qrels, Complete: o.complete, Turns: o.turns},
		IdentityFields: models.Identities().Fields(),

		Examples: p.examples.sha256,
		Criteria: p.criteria,
		Judges:   p.judged,
		Seed:     o.seed,
		Budget:   p.budget,
		Corpus:   p.corpus,
	}
	if p.reasons != metrics.DoubtfulReasons {
		m.Config.Reasons = p.reasons
	}
	var learned []string
	for _, p := range metrics.Preparations(p.metrics) {
		known := models.Known(p)
		learned = append(learned, known.Digest())
		m.Notes = append(slices.Clip(m.Notes), known.Notes()...)
	}
	m.Config.Frequencies = strings.Join(learned, ",")
	for _, metric := range p.metrics {
		m.Config.Metrics = append(m.Config.Metrics, runs.Metric{
			Name: metric.Name, Doc: metric.Doc, Source: metric.Source,
			Min: metric.Min, Max: metric.Max, LowerIsBetter: metric.LowerIsBetter, Draws: metric.Draws,
		})
	}
	for _, prompt := range promptsOf(p.metrics) {
		asked := p.prompts.For(prompt)
		m.Config.Prompts = append(m.Config.Prompts, asked.Identity())
		if asked.Layout == prompts.Row {
			m.Config.Layout = prompts.Row
		}
	}
	return m
}

// promptsOf are the prompts that metrics ask with, each once.
func promptsOf(ms []metrics.Metric) []*prompts.Prompt {
	var list []*prompts.Prompt
	for _, m := range ms {
		for _, p := range m.Prompts {
			if !slices.ContainsFunc(list, func(q *prompts.Prompt) bool { return q.Name == p.Name }) {
				list = append(list, p)
			}
		}
	}
	return list
}

// prepare reads the dataset once before anything is scored, if a metric depends on all rows.
func (o *runOptions) prepare(ctx context.Context, s *std, p *plan, models metrics.Models) (metrics.Models, error) {
	for _, what := range metrics.Preparations(p.metrics) {
		s.note("%s of all %d samples", what.Doc, p.data.Summary().Rows)
	}
	samples := func() iter.Seq2[*metrics.Sample, error] { return o.samples(ctx, p, 0) }
	return metrics.Prepare(ctx, samples, p.metrics, models, metrics.Options{})
}

// defaultDir is the run folder when none is named: the same for the same run.
func defaultDir(data string, c runs.Config) string {
	name := filepath.Base(data)
	if i := strings.IndexByte(name, '.'); i > 0 {
		name = name[:i]
	}
	if data == "-" {
		name = "stdin"
	}
	return filepath.Join("assay-runs", name+"-"+c.ID())
}

// announce says what is about to happen.
func (s *std) announce(p *plan, kept int) {
	var names []string
	for _, m := range p.metrics {
		names = append(names, m.Name)
	}
	sum := p.data.Summary()
	s.note("%d samples, %s", sum.Rows, strings.Join(names, ", "))
	if sum.Tool != "" {
		s.note("the rows were made of %s", sum.Format)
		for _, note := range sum.Notes {
			s.note("%s", note)
		}
	}
	has := p.fields()
	for _, m := range p.left {
		s.note("%s is left out: the dataset has no %v", m.Name, m.Needs&^has)
	}
	if kept > 0 {
		s.note("going on after the %d samples of an earlier attempt", kept)
	}
}

// grace is how long answers in flight may take once the user has interrupted the run.
const grace = 5 * time.Second

// score scores the samples that w does not have yet, and closes w.
func (o *runOptions) score(
	ctx context.Context, s *std, p *plan, models metrics.Models, w *runs.Writer, calls func() runs.Calls,
) (err error) {
	meter := newMeter(s, p.data.Summary().Rows*len(p.metrics), w.Kept()*len(p.metrics))
	defer func() {
		meter.stop()
		err = errors.Join(err, w.Close(calls(), err == nil))
	}()
	stop := context.AfterFunc(ctx, func() {
		s.note("stopping: waiting up to %v for the answers in flight", grace)
	})
	defer stop()

	options := metrics.Options{Ready: func(metrics.Result) { meter.result() }}
	if p.budget != nil {
		all := func() iter.Seq2[*metrics.Sample, error] { return o.samples(ctx, p, 0) }
		return o.budget.score(ctx, s, p, models, options, o.seed, all, w)
	}
	return metrics.Run(ctx, o.samples(ctx, p, w.Kept()), p.metrics, models, options, w.Write)
}

// samples yields the samples after the first skip, without the bad rows.
func (o *runOptions) samples(ctx context.Context, p *plan, skip int) iter.Seq2[*metrics.Sample, error] {
	return func(yield func(*metrics.Sample, error) bool) {
		for sample, err := range p.data.Samples(ctx) {
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

// conclude prints the summary and says whether the run was good enough.
func (o *runOptions) conclude(ctx context.Context, s *std, p *plan, dir string) error {
	r, err := report.Load(ctx, dir, report.View{})
	if err != nil {
		return err
	}
	if err := report.Write(s.out, []*report.Report{r}, report.Options{Format: o.format, Color: s.outTerm}); err != nil {
		return err
	}
	scores, failed := 0, 0
	for _, m := range r.Metrics {
		scores += m.N
		failed += m.Failed
	}
	calls := r.Manifest.Calls
	s.note("%d answers from the model, %d from the cache, in %s", calls.Computed, calls.Cached,
		duration(time.Duration(r.Manifest.Seconds*float64(time.Second))))
	s.note("results in %s; next: assay report %s --format html > report.html", dir, dir)
	if scores == 0 && failed > 0 {
		return fmt.Errorf("nothing could be scored: %s says why, row by row", filepath.Join(dir, "results.jsonl"))
	}
	if p.failures.crossed(failed, scores+failed) {
		return thresholdError{fmt.Errorf("%d of %d results failed, more than --max-failures %s",
			failed, scores+failed, o.maxFailures)}
	}
	return nil
}

// A failureLimit is how many results may fail: a count, or a share of them; the zero value sets none.
type failureLimit struct {
	set   bool
	count int
	share float64 // in [0, 1], if count is negative
}

func parseFailureLimit(text string) (failureLimit, error) {
	if text == "" {
		return failureLimit{}, nil
	}
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		v, err := strconv.ParseFloat(percent, 64)
		if err == nil && v >= 0 && v <= 100 {
			return failureLimit{set: true, count: -1, share: v / 100}, nil
		}
	} else if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return failureLimit{set: true, count: n}, nil
	}
	return failureLimit{}, fmt.Errorf("--max-failures %q: it takes a count (10) or a share (5%%)", text)
}

// crossed reports whether failed of all results are too many.
func (l failureLimit) crossed(failed, all int) bool {
	switch {
	case !l.set:
		return false
	case l.count >= 0:
		return failed > l.count
	}
	return float64(failed) > l.share*float64(all)
}
