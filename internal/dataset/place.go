package dataset

import (
	"context"

	"github.com/assay-eval/assay/metrics"
)

// A Place is where a sample stands.
type Place struct {
	File string
	Line int // on which its row starts, from 1; in Parquet the number of the row; 0: it is in no file (see [Options.Complete])
}

// Places visits the samples that [Reader.Samples] yields, each with its place, until visit returns false. Bad rows are
// left out.
func (r *Reader) Places(ctx context.Context, visit func(*metrics.Sample, Place) bool) error {
	rows := 0
	more := true
	err := r.read(ctx, func(row int, rec record, sample *metrics.Sample, err error) bool {
		if _, repeated := r.repeats[row]; repeated || err != nil {
			return true
		}
		if r.choice != nil && !r.choice.has(row) {
			return true
		}
		rows++
		more = visit(sample, Place{r.source.fileOf(rec), rec.line})
		return more && (r.options.Limit == 0 || rows < r.options.Limit)
	})
	if err != nil {
		return err
	}
	for _, id := range r.added {
		if !more {
			break
		}
		more = visit(r.qrels.nothingFound(id), Place{})
	}
	return nil
}
