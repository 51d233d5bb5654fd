package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/assay-eval/assay/internal/export"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/slicing"
)

// An exporter writes the results of runs, and returns how many rows or events it has written.
type exporter func(ctx context.Context, w io.Writer, sources []export.Source) (int, error)

// exports are the formats of assay report that hold every score in place of a summary.
func exports() map[string]exporter {
	return map[string]exporter{
		"wide-csv":     export.WideCSV,
		"wide-parquet": export.WideParquet,
		"parquet":      onRuns(export.Scores),
		"otlp":         onRuns(export.OTLP),
	}
}

func onRuns(write func(context.Context, io.Writer, ...*runs.Run) (int, error)) exporter {
	return func(ctx context.Context, w io.Writer, sources []export.Source) (int, error) {
		var list []*runs.Run
		for _, s := range sources {
			list = append(list, s.Run)
		}
		return write(ctx, w, list...)
	}
}

// export writes the scores as they are, where a summary is not what was asked for.
func (o *reportOptions) export(ctx context.Context, s *std, write exporter, dirs []string) error {
	wide := strings.HasPrefix(o.format, "wide-")
	switch {
	case strings.HasSuffix(o.format, "parquet") && (o.output == "" || o.output == "-"):
		return usageError{withHint(errors.New("a Parquet file is no text to print"), "-o FILE names a file for it")}
	case len(o.under)+len(o.passes)+len(o.drops)+len(o.maps) > 0 || o.baseline != "":
		return usagef("--format %s writes the scores as they are: --fail-under, --max-drop, --pass and --calibration "+
			"belong to a summary", o.format)
	case len(o.by) > 0 && !wide:
		return usagef("--format %s has no metadata columns: wide-csv and wide-parquet do", o.format)
	}
	var sources []export.Source
	for _, dir := range dirs {
		run, err := runs.Open(dir)
		if err != nil {
			return err
		}
		source := export.Source{Run: run}
		if len(o.by) > 0 {
			if source.Data, err = slicing.Read(ctx, run, o.data, o.by, s.warn); err != nil {
				return err
			}
		}
		sources = append(sources, source)
	}
	return s.output(o.output, func(w io.Writer) error {
		n, err := write(ctx, w, sources)
		if err == nil && o.output != "" && o.output != "-" {
			s.note("%s in %s", report.Counted(n, map[bool]string{true: "event", false: "row"}[o.format == "otlp"]), o.output)
		}
		return err
	})
}
