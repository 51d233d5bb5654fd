package main

import (
	"context"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/preview"
	"github.com/assay-eval/assay/internal/report"
)

const (
	mapHelp   = "name a column, or what is inside one: `FIELD=COLUMN`, such as question=inputs.text; repeatable"
	sheetHelp = "of a workbook of Excel, the sheet with this `NAME` (default the first that is not hidden)"
	whereHelp = "only rows of which this `CONDITION` is true: lang=de, metadata.score>=0.5, split!=train; repeatable"
)

func dataCommand(ctx context.Context, s *std, args []string) error {
	var o dataset.Options
	f := s.flags("data", page("data"))
	first := f.Int("first", 2, "show the first `N` rows")
	f.StringToStringVar(&o.Map, "map", nil, mapHelp)
	f.StringVar(&o.Sheet, "sheet", "", sheetHelp)
	f.StringArrayVar(&o.Where, "where", nil, whereHelp)
	f.IntVar(&o.Sample, "sample", 0, "only `N` rows drawn at random")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the draw")
	f.StringVar(&o.Qrels, "qrels", "", "a `FILE` of relevance judgements, by row id")
	f.BoolVar(&o.Turns, "turns", false, "a row of each turn of a conversation that the assistant replied to")
	format := f.String("format", "table", "table or json")
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if *first < 0 || o.Sample < 0 {
		return usagef("--first and --sample take positive numbers of rows")
	}
	if err := checkFormat(*format, "table", "json"); err != nil {
		return err
	}
	r, err := dataset.Open(ctx, f.Arg(0), o)
	if err != nil {
		return usageError{err}
	}
	defer r.Close()
	d, err := preview.Look(ctx, r, *first)
	if err != nil {
		return err
	}
	if *format == "json" {
		return s.json(d)
	}
	return report.Data(s.out, d)
}
