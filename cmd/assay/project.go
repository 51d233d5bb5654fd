package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/preview"
	"github.com/assay-eval/assay/internal/project"
	"github.com/spf13/pflag"
)

const initHelp = `
Usage: assay init DATA [flags]

Writes assay.yaml for a dataset: the file, metrics that can run on it, the run folder, and what a report may be held to.
In a folder that has an assay.yaml, a command takes from it the flags that it was not given:

  assay init eval/qa.jsonl
  assay run
  assay report
`

func initCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("init", initHelp)
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
	draft := &project.Draft{Data: f.Arg(0), Metrics: startingMetrics(d), Output: *output, By: sliceable(d)}
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

// startingMetrics are those of the first preset, from what comes with Assay to what needs no model, of which some can run.
func startingMetrics(d *preview.Data) []string {
	for _, name := range []string{"encoder", "retrieval", "lexical"} {
		for _, p := range d.Presets {
			if p.Name == name && len(p.Ready) > 0 {
				return p.Ready
			}
		}
	}
	if len(d.Ready) > 0 && len(d.Ready[0].Metrics) > 0 {
		return d.Ready[0].Metrics[:1]
	}
	return nil
}

// sliceable is the first metadata column with a few values, "" if there is none.
func sliceable(d *preview.Data) string {
	for _, c := range d.Columns {
		if len(c.Fields) == 0 && len(c.Values) > 1 {
			return c.Name
		}
	}
	return ""
}

// withProject adds to a command's words what assay.yaml says of it, where the folder has one.
func withProject(ctx context.Context, s *std, name string, args []string) ([]string, error) {
	if s.asked != nil || name == "init" || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return args, nil
	}
	text, err := os.ReadFile(project.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return args, nil
	}
	if err != nil {
		return nil, err
	}
	file, err := project.Parse(text)
	if err != nil {
		return nil, usageError{err}
	}
	if !slices.Contains(file.Commands, name) {
		return args, nil
	}
	p, err := manualOf(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	flags := map[string]*pflag.FlagSet{}
	for _, c := range p.Commands {
		if !strings.Contains(c.Name, " ") {
			names, flags[c.Name] = append(names, c.Name), c.Flags
		}
	}
	if err := file.Check(names, func(command string) *pflag.FlagSet { return flags[command] }); err != nil {
		return nil, usageError{err}
	}
	given := flags[name]
	given.SetOutput(io.Discard)
	given.Usage = func() {}
	if err := given.Parse(args); err != nil {
		return args, nil // the command itself says what is wrong
	}
	added, arguments, keys := file.Args(name, given.Changed)
	if given.NArg() > 0 {
		arguments = nil
	}
	if len(keys)+len(arguments) > 0 {
		s.note("%s: %s", project.Name, strings.Join(slices.Concat(prefixed(keys), arguments), " "))
	}
	return slices.Concat(added, args, arguments), nil
}

func prefixed(keys []string) []string {
	var list []string
	for _, key := range keys {
		list = append(list, "--"+key)
	}
	return list
}
