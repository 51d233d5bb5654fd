package main

import (
	"context"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/spf13/pflag"
)

// labelOptions are the flags that say where people's labels are.
type labelOptions struct{ labels.Source }

func (o *labelOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.Human, "human", "",
		"the `FIELD` that holds the labels: a member of the column human, a column, or COLUMN.MEMBER")
	f.StringVar(&o.Data, "data", "", "the dataset `FILE`, where it is not any more where the run found it")
	f.StringVar(&o.File, "labels", "",
		"a `FILE` of labels: columns sample and label (or FIELD), also run for several runs")
	f.StringVar(&o.Positive, "positive", "", "make labels of at least `VALUE` true, and others false")
}

// load reads the labels for a run, and says what may be wrong with them.
func (o *labelOptions) load(ctx context.Context, s *std, run *runs.Scores) (*labels.Set, error) {
	o.Warn = s.warn
	return o.Load(ctx, run)
}
