package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/assay-eval/assay/internal/evaluation"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/shard"
)

const mergeHelp = `
Usage: assay merge DIR... [-o DIR] [--partial]

Puts the folders of shards, as assay run --shard makes them, into one run folder: its results and its report are those of
one run over all rows, byte for byte, wherever the rows were scored.

  assay run --data qa.jsonl --metrics faithfulness --shard 1/2 -o shard-1     on one machine
  assay run --data qa.jsonl --metrics faithfulness --shard 2/2 -o shard-2     on another
  assay merge shard-* -o results

Folders of different runs are refused, with what differs, and so are shards that are missing, unfinished or there twice.
With --partial, what is there is merged; the report says so, and the folder can be merged with the others later.

The answers that the machines computed are merged by assay cache import.
`

func mergeCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("merge", mergeHelp)
	output := f.StringP("output", "o", "", "the run `FOLDER` (default assay-runs/NAME-ID, as that of one run)")
	partial := f.Bool("partial", false, "merge what is there: without shards that are missing or unfinished")
	overwrite := f.Bool("overwrite", false, "discard another run that the folder holds")
	format := f.String("format", "table", "how the summary is printed: "+strings.Join(report.Formats(), ", "))
	if err := parse(f, args, 1, -1); err != nil {
		return err
	}
	if err := report.CheckFormat(*format); err != nil {
		return usageError{err}
	}
	m, err := shard.Gather(f.Args(), *partial)
	if err != nil {
		return usageError{err}
	}
	for _, left := range m.Left {
		s.warn("%v: it is left out", left)
	}
	dir := cmp.Or(*output, evaluation.Folder(m.Manifest.Config))
	for _, part := range f.Args() {
		if same(part, dir) {
			return usagef("-o %s is one of the shards: choose another folder", dir)
		}
	}
	w, err := runs.Create(dir, m.Manifest, *overwrite)
	if err != nil {
		return err
	}
	err = m.Into(ctx, w)
	if err := errors.Join(err, w.Close(runs.Calls{}, err == nil)); err != nil {
		return err
	}
	r, err := report.Load(ctx, dir, report.View{})
	if err != nil {
		return err
	}
	if err := report.Write(s.out, []*report.Report{r}, report.Options{Format: *format, Color: s.outTerm}); err != nil {
		return err
	}
	s.note("%d rows of %d folders in %s; next: assay report %s --format html > report.html", m.Manifest.Config.Rows(),
		len(f.Args())-len(m.Left), dir, dir)
	return nil
}

// same reports whether two paths are of one folder that there is.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

const shardHelp = "score one of several parts of the rows, such as 3/8, the third of eight: assay merge puts them together. " +
	"auto: as Slurm's array, GitLab, CircleCI or Buildkite says; auto/8: as Kubernetes says, of eight"
