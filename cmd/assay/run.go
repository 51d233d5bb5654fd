package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/assay-eval/assay/internal/evaluation"
	"github.com/assay-eval/assay/internal/gate"
	"github.com/assay-eval/assay/internal/preview"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/spf13/pflag"
)

// A runOptions holds the flags of assay run.
type runOptions struct {
	evaluation.Options
	stack       stackOptions
	queue       queueOptions
	shared      []string // the flags that workers take
	output      string
	overwrite   bool
	dry         bool
	pilot       int
	maxFailures string
	format      string
}

func runCommand(ctx context.Context, s *std, args []string) error {
	var o runOptions
	f := s.flags("run", page("run"))
	o.add(f)
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if o.Data == "" {
		return usageError{withHint(errors.New("no dataset"),
			"assay run --data FILE; assay run --help explains the rest")}
	}
	if err := o.queue.check(f); err != nil {
		return err
	}
	o.shared = shareFlags(f)
	return o.run(ctx, s)
}

// add adds the flags, in the order in which the help shows them.
func (o *runOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.Data, "data", "d", "", "the dataset: a `FILE`, a folder, a pattern such as 'logs/*.jsonl', - for standard input")
	f.StringSliceVarP(&o.Metrics, "metrics", "m", nil, "metrics, comma separated: assay metrics lists them")
	f.StringVar(&o.Preset, "preset", "",
		"a named list of metrics (default ragas-paper, without --metrics and criteria)")
	addBrought(f, &o.Options)
	f.StringArrayVar(&o.Calibrations, "calibration", nil,
		"show a metric's mean as a probability, too, by the `MAP` of assay calibrate; repeatable")
	o.stack.several = true
	o.stack.add(f)
	o.stack.addEncoder(f)
	o.stack.addSampler(f)
	addAsking(f, &o.Options)
	f.StringVarP(&o.output, "output", "o", "",
		"the run `FOLDER` (default assay-runs/NAME-ID, the same for the same run)")
	f.BoolVar(&o.overwrite, "overwrite", false, "discard another run that the folder holds")
	f.IntVar(&o.Rows.Limit, "limit", 0, "score only the first `N` rows")
	f.IntVar(&o.Rows.Sample, "sample", 0, "score `N` rows drawn at random, the same for the same --seed")
	f.StringArrayVar(&o.Rows.Where, "where", nil, whereHelp)
	f.StringVar(&o.Shard, "shard", "", shardHelp)
	f.BoolVar(&o.dry, "dry-run", false,
		"score a few rows and write no run: prompts, calls, and how long all rows would take")
	f.IntVar(&o.pilot, "pilot", 4, "the number of `ROWS` that --dry-run scores")
	f.StringVar(&o.Rows.Qrels, "qrels", "", "a `FILE` of relevance judgements, by row id: query, iteration, passage, grade")
	f.BoolVar(&o.Rows.Turns, "turns", false,
		"score each turn of a conversation that the assistant replied to, not the last one alone")
	f.BoolVar(&o.Rows.Complete, "complete", false,
		"score judged queries that the dataset lacks, as if nothing had been retrieved")
	f.StringToStringVar(&o.Rows.Map, "map", nil, mapHelp)
	f.StringVar(&o.Rows.Sheet, "sheet", "", sheetHelp)
	f.BoolVar(&o.SkipBad, "skip-bad-rows", false, "leave out rows that cannot be read, and count them")
	f.Uint64Var(&o.Seed, "seed", 0, seedHelp)
	f.IntVar(&o.Think, "think", 0,
		"let judges think before each reply, up to so many `TOKENS`: @think=TOKENS behind each metric that it concerns")
	f.IntVar(&o.Repeat, "repeat", 0,
		"score each row `K` times where a judge writes: @draws=K behind each such metric, with flips and pass^k")
	f.StringVar(&o.Budget.Most, "budget", "",
		"ask each metric that asks a judge about so many rows only, or such a `SHARE` (200, 20%)")
	f.Float64Var(&o.Budget.Width, "until-width", 0, "ask about rows until the metric's interval is only so `WIDE`")
	f.StringSliceVar(&o.Budget.Cheap, "cheap", nil,
		"the `METRIC` that is asked about every row to choose by (default: of the same dimension, by words)")
	addSearch(f, &o.Evidence)
	o.queue.add(f)
	f.StringVar(&o.maxFailures, "max-failures", "",
		"exit with 3 if more results fail than this count or `SHARE` (10, 5%)")
	f.StringVar(&o.format, "format", "table", "how the summary is printed: "+strings.Join(report.Formats(), ", "))
}

// addBrought adds the flags that bring metrics of the user's own.
func addBrought(f *pflag.FlagSet, o *evaluation.Options) {
	addCriteria(f, &o.Criteria)
	f.StringArrayVar(&o.Judges, "judge-file", nil,
		"a judge, `FILE`, that assay judge train made: its metric is run too, repeatable")
	f.StringArrayVar(&o.Profiles, "judge-profile", nil,
		"run the metrics of a judge of your own by its profile: `NAME` or FILE, or auto for those that the models' names or "+
			"labels tell, repeatable: docs/judges.md")
}

// addAsking adds the flags that say how models are asked.
func addAsking(f *pflag.FlagSet, o *evaluation.Options) {
	f.StringVar(&o.Prompts, "prompts", "", "a `FOLDER` of prompts that replace the built-in ones")
	f.StringVar(&o.Layout, "layout", string(prompts.Row), layoutHelp)
	f.StringVar(&o.Examples, "examples", "", examplesHelp)
	f.StringVar(&o.Reasons, "reasons", string(metrics.DoubtfulReasons),
		"`WHICH` verdicts of short forms (claims_short) the judge gives with a reason: all, doubtful or none")
}

// addSearch adds the flags that say where evidence is looked for.
func addSearch(f *pflag.FlagSet, o *evaluation.Search) {
	addCorpus(f, &o.Corpus, &o.Sizes)
	f.StringVar(&o.Method, "retrieve", "bm25",
		"how evidence is found in the corpus: embed (nearest vectors), bm25 (words) or both")
}

// addCriteria adds the flags that describe metrics of the user's own.
func addCriteria(f *pflag.FlagSet, c *evaluation.Criteria) {
	f.StringArrayVar(&c.Files, "criteria", nil,
		"a `FILE` of criteria of your own, YAML or JSON, repeatable: docs/criteria.md")
	f.StringArrayVar(&c.Words, "criterion", nil,
		"one criterion in `WORDS`, \"NAME: what the answer should be like\", repeatable")
}

const (
	seedHelp     = "seed of everything that is drawn at random"
	layoutHelp   = "of the built-in prompts: `row`, in which each row is read once for all metrics, or classic"
	examplesHelp = "a `FILE` of labelled rows that the model is shown first, in place of the prompts' own examples"
)

// grace is how long answers in flight may take once the user has interrupted the run.
const grace = 5 * time.Second

func (o *runOptions) run(ctx context.Context, s *std) error {
	if err := report.CheckFormat(o.format); err != nil {
		return usageError{err}
	}
	most, err := gate.ParseFailures(o.maxFailures)
	if err != nil {
		return usageError{err}
	}
	if o.dry && o.Shard != "" {
		return usagef("--dry-run is about all rows: it excludes --shard")
	}
	if o.Rows.Limit < 0 || o.Rows.Sample < 0 || o.pilot < 1 {
		return usagef("--limit, --sample and --pilot take positive numbers of rows")
	}
	o.Stack, o.Stack.Grace = o.stack.speaking(s), grace
	o.Rows.Seed, o.Tool, o.Say, o.Warn, o.Indexing = o.Seed, "assay "+buildVersion(), s.note, s.warn, s.indexing
	e, err := evaluation.New(ctx, o.Options)
	if err != nil {
		return usageError{err}
	}
	defer e.Close()
	broker, err := o.queue.open(ctx, s, e, o.stack.Remote)
	if err != nil {
		return err
	}
	defer broker.Close()
	if err := e.Open(ctx); err != nil {
		return err
	}
	if o.dry {
		return o.dryRun(ctx, s, e)
	}
	m, err := e.Manifest()
	if err != nil {
		return err
	}
	if broker != nil && o.stack.Remote {
		m.Notes = append(m.Notes, "the rows were scored through the queue at "+broker.Host()+
			", which may be another machine (--allow-remote)")
	}
	dir := cmp.Or(o.output, evaluation.Folder(m.Config))
	w, err := runs.Create(dir, m, o.overwrite)
	if err != nil {
		return err
	}
	e.Announce(w.Kept())
	if broker != nil {
		err = o.shareOut(ctx, s, e, broker, m, w)
	} else {
		err = s.score(ctx, e, w)
	}
	if err != nil {
		s.note("what is done is kept in %s: the same command goes on from there", dir)
		return err
	}
	e.Stack.Tally()
	return o.conclude(ctx, s, most, dir)
}

// dryRun scores a few rows without a run, and says what all of them would take.
func (o *runOptions) dryRun(ctx context.Context, s *std, e *evaluation.Evaluation) error {
	if e.Budgeted() {
		return usageError{errors.New("--dry-run cannot tell how many rows a budget asks about: leave --budget and --until-width out")}
	}
	if o.format != "table" && o.format != "json" {
		return usagef("--dry-run writes table or json")
	}
	pilot, err := preview.Try(ctx, e.Data, o.pilot, e.Metrics, e.Models, func() (int64, int64) {
		calls := e.Stack.Calls()
		return calls.Computed, calls.Cached
	})
	if err != nil {
		return err
	}
	s.note("no run was written; the answers are in the cache")
	if o.format == "json" {
		return s.json(pilot)
	}
	return report.Pilot(s.out, pilot)
}

// score scores the samples that w does not have yet, and closes w.
func (s *std) score(ctx context.Context, e *evaluation.Evaluation, w *runs.Writer) (err error) {
	shown := scoringMeter(s, e.Rows(), w.Kept(), e.Metrics, e.Stack)
	defer func() {
		shown.Stop()
		err = errors.Join(err, w.Close(e.Stack.Calls(), err == nil))
	}()
	stop := context.AfterFunc(ctx, func() {
		s.note("stopping: waiting up to %v for the answers in flight", grace)
	})
	defer stop()
	return e.Score(ctx, w, noted(shown))
}

// conclude prints the summary and says whether the run was good enough.
func (o *runOptions) conclude(ctx context.Context, s *std, most gate.Failures, dir string) error {
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
	if part := r.Manifest.Config.Part; part != nil {
		s.note("%v in %s; when all are there: assay merge DIR... -o results", part, dir)
	} else {
		s.note("results in %s; next: assay report %s --format html > report.html", dir, dir)
	}
	if scores == 0 && failed > 0 {
		return fmt.Errorf("nothing could be scored: %s says why, row by row", filepath.Join(dir, "results.jsonl"))
	}
	if most.Crossed(failed, scores+failed) {
		return thresholdError{fmt.Errorf("%d of %d results failed, more than --max-failures %s",
			failed, scores+failed, o.maxFailures)}
	}
	return nil
}
