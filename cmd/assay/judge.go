package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/internal/judge"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/pflag"
)

const judgeHelp = `
Usage: assay judge train RUN... --dimension NAME --human FIELD -o JUDGE.json [flags]
       assay judge test JUDGE.json RUN... --human FIELD [flags]

Trains a small judge: a model that predicts people's labels from the scores of other metrics, which it weighs
against each other. A run with many cheap metrics is what it learns from:

  assay run --data labelled.jsonl --metrics faithfulness/k_precision,faithfulness/cosine,length/words -o features
  assay judge train features --dimension faithfulness --human faithfulness -o judge.json
  assay judge test judge.json others --human correct
  assay run --data new.jsonl --judge-file judge.json -o results      the metric faithfulness/judge

Runs of one dataset are joined by sample; runs of several datasets are learned from together. A regularised logistic
regression, boosted shallow trees and the mean of both are tried on rows that they were not fitted to, and what
is printed was measured on rows that had no part in fitting or choosing. Rows with the same question, or of
one group, are never learned from and tested on. The judge is a JSON file that people can read; it holds
only for the models and prompts that its metrics asked, and refuses others. docs/judge.md tells the rest.
` + labelHelp

func judgeCommand(ctx context.Context, s *std, args []string) error {
	verb := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	switch verb {
	case "train":
		return judgeTrain(ctx, s, args)
	case "test":
		return judgeTest(ctx, s, args)
	case "":
		return parse(s.flags("judge", judgeHelp), args, 1, 1)
	}
	return usagef("unknown verb %q: train or test", verb)
}

// A judgeFile is what assay judge train writes: the model, and what is known of it.
type judgeFile struct {
	Training judgeTraining `json:"training"`
	Figures  judgeFigures  `json:"figures"`
	metrics.TrainedJudge
}

// judgeTraining says where a judge comes from.
type judgeTraining struct {
	Tool    string      `json:"tool"`
	Time    runs.Time   `json:"time"`
	Seed    uint64      `json:"seed"`
	Method  string      `json:"method"`            // linear, trees or both
	Penalty float64     `json:"penalty,omitempty"` // of the linear part
	Depth   int         `json:"depth,omitempty"`   // of the trees
	Tried   []judge.Try `json:"tried"`
	Sets    []judgeSet  `json:"sets"`
	Dropped []string    `json:"dropped,omitempty"` // features that tell no rows apart
}

// A judgeSet is the part of the rows that is from one dataset.
type judgeSet struct {
	Dataset string   `json:"dataset"` // the base name of its file
	SHA256  string   `json:"sha256"`
	Field   string   `json:"field"` // of the labels
	Runs    []string `json:"runs"`
	Rows    int      `json:"rows"`
	Groups  int      `json:"groups"`   // of rows that are kept together
	LeftOut int      `json:"left_out"` // labelled rows on which a feature failed or was not run, or none applies
	Label   float64  `json:"label"`    // the mean
}

// judgeFigures are what is measured of a judge.
type judgeFigures struct {
	On      string            `json:"on"` // "rows not fitted to" or "other data"
	Judge   metricAgreement   `json:"judge"`
	LogLoss *float64          `json:"log_loss,omitempty"` // of labels that are true and false
	Alone   []metricAgreement `json:"alone"`              // each feature by itself, on the rows that have it
	Better  []agreeDifference `json:"differences"`        // the judge less the feature that agrees most by itself
}

// A judgeTrainOptions holds the flags of assay judge train.
type judgeTrainOptions struct {
	rows        judgeRowOptions
	dimension   string
	features    []string
	method      string
	folds       int
	output      string
	predictions string
	seed        uint64
	format      string
}

func judgeTrain(ctx context.Context, s *std, args []string) error {
	var o judgeTrainOptions
	f := s.flags("judge train", judgeHelp)
	f.StringVar(&o.dimension, "dimension", "", "what the labels are about: the metric is `NAME`/judge")
	o.rows.add(f)
	f.StringSliceVar(&o.features, "features", nil, "look only at these metrics or dimensions (default all that the runs have in common)")
	f.StringVar(&o.method, "method", "", "linear, trees or both (default: the one that does best on other rows)")
	f.IntVar(&o.folds, "folds", 10, "parts that the rows are dealt into for the figures")
	f.StringVarP(&o.output, "output", "o", "", "write the judge to `FILE`")
	f.StringVar(&o.predictions, "predictions", "", "write to a CSV `FILE` what was predicted for each row without it")
	f.Uint64Var(&o.seed, "seed", 0, "seed of how the rows are dealt")
	f.StringVar(&o.format, "format", "table", "table or json")
	if err := parse(f, args, 1, -1); err != nil {
		return err
	}
	if err := errors.Join(checkFormat(o.format, "table", "json"), o.check()); err != nil {
		return err
	}
	rows, err := o.rows.load(ctx, s, f.Args(), o.features)
	if err != nil {
		return err
	}
	file, out, err := o.train(ctx, rows)
	if err != nil {
		return err
	}
	if o.predictions != "" {
		if err := s.output(o.predictions, func(w io.Writer) error { return rows.write(w, rows.inUnits(out.Predictions), out.Parts) }); err != nil {
			return err
		}
	}
	if o.output != "" {
		if err := s.output(o.output, func(w io.Writer) error { return writeJSON(w, file) }); err != nil {
			return err
		}
	}
	if o.format == "json" {
		return s.json(struct {
			judgeFile
			Trees int `json:"trees"` // how many; they are in the file
		}{*file, len(file.Trees)})
	}
	file.print(s)
	if o.output != "" {
		s.note("the judge is in %s; next: assay run --data FILE --judge-file %s", o.output, o.output)
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(v)
}

func (o *judgeTrainOptions) check() error {
	switch {
	case o.dimension == "":
		return usageError{withHint(errors.New("no dimension"), "--dimension faithfulness makes the metric faithfulness/judge")}
	case strings.Trim(o.dimension, "abcdefghijklmnopqrstuvwxyz_") != "":
		return usagef("--dimension %q: it takes small letters and _", o.dimension)
	case o.method != "" && !slices.Contains(judge.Methods(), o.method):
		return usagef("--method %q: %s", o.method, strings.Join(judge.Methods(), ", "))
	case o.folds < 4 || o.folds > 1000:
		return usagef("--folds %d: from 4 to 1000", o.folds)
	}
	return nil
}

func (o *judgeTrainOptions) train(ctx context.Context, rows *judgeRows) (*judgeFile, *judge.Outcome, error) {
	options := judge.Options{Seed: o.seed, Folds: o.folds}
	if o.method != "" {
		options.Methods = []string{o.method}
	}
	out, err := judge.Train(ctx, rows.table(), options)
	if ctx.Err() != nil {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, usageError{err}
	}
	file := &judgeFile{TrainedJudge: *out.Judge}
	file.Metric = o.dimension + "/judge"
	file.Label = rows.label
	file.JudgeModels, file.Prompts = metrics.JudgeModels(rows.asked.Fields()), rows.prompts
	file.Training = judgeTraining{Tool: "assay " + buildVersion(), Time: runs.Now(), Seed: o.seed, Method: out.Method,
		Penalty: out.Penalty, Depth: out.Depth, Tried: out.Tried, Sets: rows.sets, Dropped: out.Dropped}
	if file.Figures, err = rows.figures(file.Metric, rows.inUnits(out.Predictions), o.seed); err != nil {
		return nil, nil, err
	}
	file.Figures.On = "rows not fitted to"
	if text, err := json.Marshal(file.TrainedJudge); err != nil {
		return nil, nil, err
	} else if _, err := metrics.LoadJudge(text); err != nil {
		return nil, nil, fmt.Errorf("the judge cannot be used: %w", err)
	}
	return file, out, nil
}

// write writes what was predicted for each row, and the part that it was in.
func (r *judgeRows) write(w io.Writer, predicted []float64, parts []int) error {
	c := csv.NewWriter(w)
	list := [][]string{{"dataset", "sample", "label", "prediction", "part"}}
	for i, row := range r.rows {
		list = append(list, []string{r.sets[row.set].Dataset, row.id, strconv.FormatFloat(row.label, 'g', -1, 64),
			strconv.FormatFloat(predicted[i], 'g', 6, 64), strconv.Itoa(parts[i])})
	}
	return c.WriteAll(list)
}

// print tells what a judge is worth and what it looks at.
func (f *judgeFile) print(s *std) {
	var rows, groups int
	for _, set := range f.Training.Sets {
		rows, groups = rows+set.Rows, groups+set.Groups
	}
	f.Figures.print(s)
	fmt.Fprintln(s.out)
	t := s.table("it looks at", "importance", "weight", "rows without it")
	list := slices.Clone(f.Features)
	slices.SortStableFunc(list, func(a, b metrics.JudgeFeature) int { return cmp.Compare(b.Importance, a.Importance) })
	for _, feature := range list {
		t.AppendRow(table.Row{printable(feature.Metric), fmt.Sprintf("%.0f%%", 100*feature.Importance), signed(feature.Weight), feature.Missing})
	}
	render(t, 4, "table")
	notes := []string{fmt.Sprintf("%s: %s, fitted to %d rows in %d groups", f.Metric, f.kind(), rows, groups)}
	var tried []string
	for _, try := range f.Training.Tried {
		tried = append(tried, fmt.Sprintf("%s %s", try.Method, number(try.Loss)))
	}
	notes = append(notes, "log loss in choosing: "+strings.Join(tried, ", "))
	for _, set := range f.Training.Sets {
		if set.LeftOut > 0 {
			notes = append(notes, fmt.Sprintf("%d labelled rows of %s are left out: a metric failed on them or was not run, or none applies", set.LeftOut, set.Dataset))
		}
	}
	if len(f.Training.Dropped) > 0 {
		notes = append(notes, "left out, since they do not vary or nearly no row has them: "+strings.Join(f.Training.Dropped, ", "))
	}
	s.bullets(append(notes, f.warnings(rows, groups)...))
}

func (f *judgeFile) kind() string {
	switch f.Training.Method {
	case "linear":
		return fmt.Sprintf("a logistic regression with the penalty %v", f.Training.Penalty)
	case "trees":
		return fmt.Sprintf("%d boosted trees of depth %d", len(f.Trees), f.Training.Depth)
	}
	return fmt.Sprintf("a logistic regression with the penalty %v and %d boosted trees of depth %d", f.Training.Penalty, len(f.Trees), f.Training.Depth)
}

func (f *judgeFile) warnings(rows, groups int) []string {
	var list []string
	constant, best := f.Training.Tried[0].Loss, f.Training.Tried[0].Loss
	for _, try := range f.Training.Tried {
		best = min(best, try.Loss)
	}
	if best >= constant {
		list = append(list, "no method does better than one label for all rows: these metrics tell nothing about these labels")
	}
	if rows < 200 {
		list = append(list, fmt.Sprintf("only %d labelled rows: a judge is rough below 200", rows))
	}
	if groups == rows {
		list = append(list, "no two rows share a question or group: each counts as independent")
	}
	return list
}

// print writes the figures: of the judge, and of the best of its features by themselves.
func (f *judgeFigures) print(s *std) {
	const most = 4
	t := s.table("on "+f.On, "n", "spearman", "auc")
	row := func(a *metricAgreement) {
		t.AppendRow(table.Row{printable(a.Metric), a.N, a.Spearman.String(), a.AUC.String()})
	}
	row(&f.Judge)
	for i := range f.Alone[:min(most, len(f.Alone))] {
		row(&f.Alone[i])
	}
	render(t, 4, "table")
	var notes []string
	for _, d := range f.Better {
		line := fmt.Sprintf("%s less %s: %s %s", printable(d.Second), printable(d.First), d.Measure, signed(d.Difference))
		if d.Lo != nil {
			line += fmt.Sprintf(" (%s to %s)", signed(*d.Lo), signed(*d.Hi))
		}
		notes = append(notes, fmt.Sprintf("%s, p %s; that metric was picked as the best on these rows", line, pValue(d.P)))
	}
	if c := f.Judge.Calibration; c != nil {
		notes = append(notes, fmt.Sprintf("as probabilities: brier %s; calibration error %s, where true ones would show %s (p %s)",
			f.Judge.Brier, number(c.Error), number(c.Expected), pValue(c.P)))
	}
	s.bullets(append(notes, f.Judge.Warnings...))
}

// readJudge reads a judge's file, and returns its digest.
func readJudge(path string) (*judgeFile, *metrics.TrainedJudge, string, error) {
	text, err := readJudgeText(path)
	if err != nil {
		return nil, nil, "", err
	}
	j, err := metrics.LoadJudge(text)
	if err != nil {
		return nil, nil, "", withHint(fmt.Errorf("%s is no judge: %v", path, err), "assay judge train writes one")
	}
	var file judgeFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, nil, "", fmt.Errorf("%s is no judge: %v", path, err)
	}
	sum := sha256.Sum256(text)
	return &file, j, hex.EncodeToString(sum[:]), nil
}

// readJudgeText reads a file up to one byte more than LoadJudge takes.
func readJudgeText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, metrics.MostJudge+1))
}

// A judgeTestOptions holds the flags of assay judge test.
type judgeTestOptions struct {
	rows        judgeRowOptions
	predictions string
	seed        uint64
	format      string
}

func judgeTest(ctx context.Context, s *std, args []string) error {
	var o judgeTestOptions
	f := s.flags("judge test", judgeHelp)
	o.rows.add(f)
	f.StringVar(&o.predictions, "predictions", "", "write to a CSV `FILE` what is predicted for each row")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything that is drawn at random")
	f.StringVar(&o.format, "format", "table", "table or json")
	if err := parse(f, args, 2, -1); err != nil {
		return err
	}
	if err := checkFormat(o.format, "table", "json"); err != nil {
		return err
	}
	file, j, _, err := readJudge(f.Arg(0))
	if err != nil {
		return usageError{err}
	}
	var names []string
	for _, feature := range j.Features {
		names = append(names, feature.Metric)
	}
	rows, err := o.rows.load(ctx, s, f.Args()[1:], names)
	if err != nil {
		return err
	}
	if err := rows.fits(j); err != nil {
		return usageError{err}
	}
	predicted := rows.predict(j)
	file.warnTest(s, rows)
	figures, err := rows.figures(j.Metric, predicted, o.seed)
	if err != nil {
		return err
	}
	figures.On = "other data"
	if o.predictions != "" {
		if err := s.output(o.predictions, func(w io.Writer) error { return rows.write(w, predicted, make([]int, len(predicted))) }); err != nil {
			return err
		}
	}
	if o.format == "json" {
		return s.json(struct {
			Sets []judgeSet `json:"sets"`
			judgeFigures
		}{rows.sets, figures})
	}
	figures.print(s)
	return nil
}

// warnTest says what to know of a test before its figures.
func (f *judgeFile) warnTest(s *std, rows *judgeRows) {
	for _, set := range rows.sets {
		name := printable(set.Dataset)
		if slices.ContainsFunc(f.Training.Sets, func(t judgeSet) bool { return t.SHA256 == set.SHA256 }) {
			s.warn("the judge was trained on %s: what it does there says nothing about other data", name)
		}
		if set.LeftOut > 0 {
			s.warn("%d labelled rows of %s are left out: a metric failed on them or was not run, or the judge cannot do without one that does not apply",
				set.LeftOut, name)
		}
	}
	if mine, theirs := f.Label, rows.label; mine.Min != theirs.Min || mine.Max != theirs.Max {
		s.warn("the judge predicts %s from %v to %v, and the labels are from %v to %v: its predictions are put into that range",
			printable(mine.Field), mine.Min, mine.Max, theirs.Min, theirs.Max)
	}
}

// base is the name of a file or folder without the way to it.
func base(path string) string { return filepath.Base(filepath.Clean(path)) }

// A judgeFlags holds the flags of assay run that name judges.
type judgeFlags struct{ files []string }

func (o *judgeFlags) add(f *pflag.FlagSet) {
	f.StringArrayVar(&o.files, "judge-file", nil, "a judge, `FILE`, that assay judge train made: its metric is run too, repeatable")
}

// load returns the judges' metrics, and the digest of their files: nil and "" if there are none.
func (o *judgeFlags) load() (judges []*metrics.TrainedJudge, list []metrics.Metric, digest string, err error) {
	var digests []string
	for _, path := range o.files {
		_, j, sum, err := readJudge(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil, "", withHint(err, "assay judge train writes such a file")
		}
		if err != nil {
			return nil, nil, "", err
		}
		m, err := j.AsMetric()
		if err != nil {
			return nil, nil, "", err
		}
		if slices.ContainsFunc(list, func(other metrics.Metric) bool { return other.Name == m.Name }) {
			return nil, nil, "", fmt.Errorf("--judge-file %s: a judge for %s is there already", path, m.Name)
		}
		judges, list, digests = append(judges, j), append(list, m), append(digests, sum)
	}
	return judges, list, strings.Join(digests, ","), nil
}
