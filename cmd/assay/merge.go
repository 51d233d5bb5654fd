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

func mergeCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("merge", page("merge"))
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
