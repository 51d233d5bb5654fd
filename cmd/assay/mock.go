package main

import (
	"context"
	"errors"

	"github.com/assay-eval/assay/internal/testset"
)

const mockHelp = `
Usage: assay mock --data FILE --human FIELD -o FOLDER [flags]

Makes mock systems of known accuracy out of rows that people labelled: each is a file with so many rows that are right and
so many that are not. On them one sees whether a metric, or assay ppi, ranks systems as it should. By default they are those
of ARES: accuracies from 0.70 to 0.90 in steps of 0.025.

  assay mock --data labelled.jsonl --human faithfulness --gold 150 -o mock
  for f in mock/*.jsonl; do assay run --data $f --metrics faithfulness/encoder -o runs/$(basename $f .jsonl); done
  assay ppi runs/0.* --rank --gold runs/gold --human faithfulness --truth mock/truth.csv

The folder gets a file for each system, named by its accuracy, truth.csv with the accuracies as they are, and, with --gold,
gold.jsonl: rows of no system, for assay ppi --gold. Rows keep their ids and all their columns. A label is right if it is
true, yes, or at least --positive.
`

func mockCommand(ctx context.Context, s *std, args []string) error {
	var o testset.MockFiles
	f := s.flags("mock", mockHelp)
	f.StringVar(&o.Data, "data", "", "the labelled `FILE`: any dataset that assay run reads")
	f.StringVar(&o.Human, "human", "",
		"the `FIELD` that holds the labels: a member of the column human, a column, or COLUMN.MEMBER")
	f.Float64Var(&o.Positive, "positive", 1, "labels of at least `VALUE` are right")
	f.Float64Var(&o.From, "from", 0.7, "the lowest accuracy")
	f.Float64Var(&o.To, "to", 0.9, "the highest accuracy")
	f.Float64Var(&o.Step, "step", 0.025, "from one accuracy to the next")
	f.IntVarP(&o.N, "number", "n", 0, "rows of each system (default: as many as there are for all)")
	f.IntVar(&o.Gold, "gold", 0, "keep `N` rows apart, for assay ppi --gold")
	f.StringVarP(&o.Folder, "output", "o", "", "the `FOLDER` to write, which is not there yet")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of what is drawn at random")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	switch {
	case o.Data == "" || o.Human == "":
		return usageError{withHint(errors.New("no labelled rows"), "--data FILE and --human FIELD name them")}
	case o.Folder == "":
		return usageError{withHint(errors.New("no folder to write"), "-o FOLDER names it")}
	}
	systems, err := o.Make(ctx)
	if err != nil {
		return err
	}
	s.note("%d systems of %d rows each, %d gold rows, in %s", len(systems), len(systems[0].Rows), o.Gold, o.Folder)
	return nil
}
