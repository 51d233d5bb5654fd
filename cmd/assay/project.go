package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/preview"
	"github.com/assay-eval/assay/internal/project"
)

func initCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("init", page("init"))
	overwrite := f.Bool("overwrite", false, "replace an assay.yaml that is there")
	output := f.StringP("output", "o", "results", "the run `FOLDER` that it names")
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if _, err := os.Stat(project.Name); err == nil && !*overwrite {
		return usageError{withHint(fmt.Errorf("there is a file %s already", project.Name), "--overwrite replaces it")}
	}
	r, err := dataset.Open(ctx, f.Arg(0), dataset.Options{})
	if err != nil {
		return usageError{err}
	}
	defer r.Close()
	d, err := preview.Look(ctx, r, 0)
	if err != nil {
		return err
	}
	draft := &project.Draft{Data: f.Arg(0), Metrics: d.Starting(), Output: *output, By: d.Sliceable()}
	if len(draft.Metrics) == 0 {
		return usageError{withHint(fmt.Errorf("no metric can run on %s", f.Arg(0)), "assay data %s says what is missing", f.Arg(0))}
	}
	err = s.output(project.Name, func(w io.Writer) error {
		_, err := io.WriteString(w, project.Write(draft))
		return err
	})
	if err == nil {
		s.note("%s is written: %s; next: assay run", project.Name, strings.Join(draft.Metrics, ", "))
	}
	return err
}

// withProject adds to a command's words what assay.yaml says of it, where the folder has one.
func withProject(ctx context.Context, s *std, name string, args []string) ([]string, error) {
	if s.asked != nil || name == "init" || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return args, nil
	}
	file, err := project.Read()
	if err != nil {
		return nil, usageError{err}
	}
	if file == nil || !slices.Contains(file.Commands, name) {
		return args, nil
	}
	p, err := manualOf(ctx)
	if err != nil {
		return nil, err
	}
	words, from, err := file.Apply(name, args, p.Flags())
	if err != nil {
		return nil, usageError{err}
	}
	if len(from) > 0 {
		s.note("%s: %s", project.Name, strings.Join(from, " "))
	}
	return words, nil
}
