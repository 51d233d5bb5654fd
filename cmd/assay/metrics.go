package main

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/internal/catalogue"
	"github.com/assay-eval/assay/internal/evaluation"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
)

func metricsCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("metrics", page("metrics"))
	format := f.String("format", "table", "table, json or md")
	folder := f.String("prompts", "", "a `FOLDER` of prompts that replace the built-in ones")
	layout := f.String("layout", string(prompts.Row), layoutHelp)
	costs := f.String("costs", "", "a JSON report, `FILE`, from which to add what each metric cost")
	var criteria evaluation.Criteria
	addCriteria(f, &criteria)
	if err := parse(f, args, 0, 1); err != nil {
		return err
	}
	if *format != "table" && *format != "json" && *format != "md" {
		return usagef("unknown format %q: table, json or md", *format)
	}
	own, _, err := criteria.Load()
	if err != nil {
		return usageError{err}
	}
	list := own
	if own == nil {
		list = all.All()
	}
	single, named := false, all.Selector{Own: own}
	if f.NArg() == 1 && f.Arg(0) != "all" {
		if several := catalogue.Methods(list, f.Arg(0)); len(several) > 0 {
			list = several
		} else if list, err = named.Select(f.Args()); err != nil {
			return usageError{err}
		} else {
			single = true
		}
	}
	texts, err := evaluation.Prompts(*folder, *layout)
	if err != nil {
		return usageError{err}
	}
	switch {
	case *format == "json":
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.json(map[string]any{"metrics": catalogue.Rows(list)})
	case *format == "md":
		return catalogue.Page(ctx, s.out, list, *costs)
	case single:
		catalogue.Explain(s.out, list[0], texts)
		return ctx.Err()
	case f.NArg() == 0 && own == nil:
		catalogue.Overview(s.out, list)
		return ctx.Err()
	}
	for i, m := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		catalogue.Describe(s.out, m)
	}
	return nil
}
