package main

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/internal/tune"
	"github.com/assay-eval/assay/internal/units"
	"github.com/assay-eval/assay/models"
	"github.com/jedib0t/go-pretty/v6/table"
)

func tuneModel(ctx context.Context, s *std, home string, args []string) error {
	f := s.flags("models tune", page("models"))
	kind := f.String("type", "", "make this `TYPE`, unmeasured: q4_0 (smaller) or q8_0 (closer to the original)")
	name := f.String("name", "", "the `NAME` of the result (default MODEL-TYPE)")
	format := f.String("format", "table", "table or json")
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	switch {
	case *kind != "" && *kind != "q4_0" && *kind != "q8_0":
		return usageError{withHint(fmt.Errorf("unknown type %q", *kind),
			"--type q4_0 or --type q8_0, or neither to have it chosen")}
	case *format != "table" && *format != "json":
		return usagef("unknown format %q: table or json", *format)
	case *name != "":
		if err := models.CheckName(*name); err != nil {
			return usageError{err}
		}
	}
	t, err := tune.Open(home, f.Arg(0), s.note, s.warn)
	if err != nil {
		return err
	}
	defer t.Close()
	var choice *tune.Choice
	if *kind != "" {
		choice, err = t.Make(ctx, *kind)
	} else {
		choice, err = t.Choose(ctx)
	}
	if err != nil {
		return err
	}
	if *format == "table" {
		printSpeeds(s, choice.Speeds, choice.Best)
	}
	result, err := t.Keep(choice, *name)
	if err != nil || *format != "json" {
		return err
	}
	return s.json(result)
}

// printSpeeds prints what was measured; chosen is the type that is used from now on.
func printSpeeds(s *std, speeds []models.Speed, chosen string) {
	if len(speeds) == 0 {
		return
	}
	t := s.table("weights", "size", "prompt tok/s", fmt.Sprintf("reply tok/s, %d at once", speeds[0].Sequences),
		"calls/min", "")
	for i, v := range speeds {
		mark := ""
		if i == 0 {
			mark = "as it was"
		}
		if v.Weights == chosen {
			mark = "chosen"
		}
		t.AppendRow(table.Row{v.Weights, units.Size(v.Size), fmt.Sprintf("%.0f", v.Prompt), fmt.Sprintf("%.0f", v.Reply),
			fmt.Sprintf("%.1f", v.Calls), mark})
	}
	t.Render()
}
