package main

import (
	"errors"

	"github.com/assay-eval/assay/internal/runs"
)

// openJournal opens the journal of an output file and says how far an earlier attempt came.
func openJournal(s *std, output string, config any, overwrite bool) (*runs.Journal, error) {
	j, err := runs.OpenJournal(output, config, overwrite)
	if errors.As(err, new(*runs.ExistsError)) {
		return nil, usageError{withHint(err, "write to another file, or discard it with --overwrite")}
	}
	if err != nil {
		return nil, err
	}
	if j.Done {
		s.note("%s is there already, made of the same things: nothing to do", output)
		return j, j.Close()
	}
	if j.Forgot > 0 {
		s.warn("%s.part is damaged: of an earlier attempt the last %d rows are made again", output, j.Forgot)
	}
	if n := len(j.Kept); n > 0 {
		s.note("going on after the %d rows of an earlier attempt", n)
	}
	return j, nil
}
