package main

import (
	"context"
	"errors"

	"github.com/assay-eval/assay/internal/testset"
)

func mockCommand(ctx context.Context, s *std, args []string) error {
	var o testset.MockFiles
	f := s.flags("mock", page("mock"))
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
