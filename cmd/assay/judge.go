package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/judge"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/study"
	"github.com/spf13/pflag"
)

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
		return parse(s.flags("judge", page("judge", "labels")), args, 1, 1)
	}
	return usagef("unknown verb %q: train or test", verb)
}

// A judgeTrainOptions holds the flags of assay judge train.
type judgeTrainOptions struct {
	labels      judgeLabelOptions
	dimension   string
	features    []string
	method      string
	folds       int
	bySource    bool
	output      string
	predictions string
	seed        uint64
	format      string
}

func judgeTrain(ctx context.Context, s *std, args []string) error {
	var o judgeTrainOptions
	f := s.flags("judge train", page("judge", "labels"))
	f.StringVar(&o.dimension, "dimension", "", "what the labels are about: the metric is `NAME`/judge")
	o.labels.add(f)
	f.StringSliceVar(&o.features, "features", nil,
		"look only at these metrics or dimensions (default all that the runs have in common)")
	f.StringVar(&o.method, "method", "", "linear, trees or both (default: the one that does best on other rows)")
	f.IntVar(&o.folds, "folds", 10, "parts that the rows are dealt into for the figures")
	f.BoolVar(&o.bySource, "by-source", false,
		"leave out each dataset in turn for the figures, count each as much as any other, and let no better score "+
			"lower the prediction")
	f.StringVarP(&o.output, "output", "o", "", "write the judge to `FILE`")
	f.StringVar(&o.predictions, "predictions", "", "write to a CSV `FILE` what was predicted for each row without it")
	f.Uint64Var(&o.seed, "seed", 0, "seed of how the rows are dealt")
	f.StringVar(&o.format, "format", "table", strings.Join(report.StudyFormats(), ", "))
	if err := parse(f, args, 1, -1); err != nil {
		return err
	}
	if err := errors.Join(checkFormat(o.format, report.StudyFormats()...), o.check()); err != nil {
		return err
	}
	rows, err := o.labels.rows(ctx, s, f.Args(), o.features)
	if err != nil {
		return err
	}
	file, predictions, err := study.TrainJudge(ctx, rows, study.TrainOptions{
		Tool: "assay " + buildVersion(), Dimension: o.dimension, Method: o.method, Folds: o.folds, Seed: o.seed, BySource: o.bySource,
	})
	if err != nil {
		return err
	}
	if err := s.predictions(o.predictions, predictions); err != nil {
		return err
	}
	if o.output != "" {
		if err := s.output(o.output, func(w io.Writer) error { return writeJSON(w, file) }); err != nil {
			return err
		}
	}
	if err := report.WriteStudy(s.out, file, o.format); err != nil {
		return err
	}
	if o.output != "" && o.format == "table" {
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
		return usageError{withHint(errors.New("no dimension"),
			"--dimension faithfulness makes the metric faithfulness/judge")}
	case strings.Trim(o.dimension, "abcdefghijklmnopqrstuvwxyz_") != "":
		return usagef("--dimension %q: it takes small letters and _", o.dimension)
	case o.method != "" && !slices.Contains(judge.Methods(), o.method):
		return usagef("--method %q: %s", o.method, strings.Join(judge.Methods(), ", "))
	case o.bySource && o.method != "" && o.method != "linear":
		return usagef("--by-source fits a linear judge: leave out --method %s", o.method)
	case o.folds < 4 || o.folds > 1000:
		return usagef("--folds %d: from 4 to 1000", o.folds)
	}
	return nil
}

// A judgeTestOptions holds the flags of assay judge test.
type judgeTestOptions struct {
	labels      judgeLabelOptions
	predictions string
	seed        uint64
	format      string
}

func judgeTest(ctx context.Context, s *std, args []string) error {
	var o judgeTestOptions
	f := s.flags("judge test", page("judge", "labels"))
	o.labels.add(f)
	f.StringVar(&o.predictions, "predictions", "", "write to a CSV `FILE` what is predicted for each row")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything that is drawn at random")
	f.StringVar(&o.format, "format", "table", strings.Join(report.StudyFormats(), ", "))
	if err := parse(f, args, 2, -1); err != nil {
		return err
	}
	if err := checkFormat(o.format, report.StudyFormats()...); err != nil {
		return err
	}
	file, _, err := study.ReadJudge(f.Arg(0))
	if err != nil {
		return usageError{err}
	}
	var names []string
	for _, feature := range file.Features {
		names = append(names, feature.Metric)
	}
	rows, err := o.labels.rows(ctx, s, f.Args()[1:], names)
	if err != nil {
		return err
	}
	result, predictions, err := file.Test(ctx, rows, o.seed, s.warn)
	if err != nil {
		return err
	}
	if err := s.predictions(o.predictions, predictions); err != nil {
		return err
	}
	return report.WriteStudy(s.out, result, o.format)
}

// predictions writes to a file what was predicted for each row, if a file is named.
func (s *std) predictions(path string, list []study.Prediction) error {
	if path == "" {
		return nil
	}
	return s.output(path, func(w io.Writer) error { return report.WritePredictions(w, list) })
}

// judgeLabelOptions are the flags that say which labels a judge learns from, or is tested on.
type judgeLabelOptions struct{ labelOptions }

func (o *judgeLabelOptions) add(f *pflag.FlagSet) {
	o.labelOptions.add(f)
	f.Lookup("human").Usage += "; of several datasets, FIELD,FIELD... in the runs' order"
}

// rows are the labelled rows of runs with the scores of metrics, those that are named or all.
func (o *judgeLabelOptions) rows(ctx context.Context, s *std, dirs, names []string) (*study.JudgeRows, error) {
	o.Warn = s.warn
	return study.LoadJudgeRows(ctx, dirs, names, o.Source)
}
