package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
)

type labelIn struct {
	Run    string `json:"run" jsonschema:"the run folder whose rows are labelled"`
	Labels string `json:"labels" jsonschema:"the file of labels, whose name ends in .jsonl; begun if it is not there"`
	Metric string `json:"metric,omitempty" jsonschema:"the metric that the labels are about, where the run has several"`
	Sample string `json:"sample,omitempty" jsonschema:"the row that the person labelled; without it, rows to label"`
	Label  *int   `json:"label,omitempty" jsonschema:"what the person said: 0 (no) or 1 (yes), or a grade to 9; without it the row was skipped"`
	Most   int    `json:"most,omitempty" jsonschema:"how many rows to label, at most 50 (default 1)"`
}

type labelOut struct {
	Labelled int   `json:"labelled" jsonschema:"rows of the run that have a label now"`
	Rows     []row `json:"rows,omitempty" jsonschema:"to be labelled next, in this order"`
	Left     int   `json:"left" jsonschema:"rows of the run that were not shown yet"`
}

// label gives out rows, spread along the scores of the metric so that any beginning of them is a fair sample, or writes down a
// label. A label of another row than the next is marked as come upon, which statistics over all rows leave out.
func (s *server) label(ctx context.Context, in labelIn) (out labelOut, err error) {
	run, err := s.open(in.Run)
	if err != nil {
		return out, err
	}
	file, err := s.path("labels", in.Labels)
	if err != nil {
		return out, err
	}
	switch {
	case !strings.HasSuffix(file, ".jsonl"):
		return out, fmt.Errorf("labels %s: labels are written as JSONL: name the file .jsonl", file)
	case in.Label != nil && in.Sample == "":
		return out, errors.New("a label without a sample: which row did the person label?")
	case in.Label != nil && (*in.Label < 0 || *in.Label > 9):
		return out, fmt.Errorf("the label %d: it is 0 or 1, or a grade to 9", *in.Label)
	}
	scores, err := runs.LoadScores(ctx, run.Dir)
	if err != nil {
		return out, err
	}
	m, err := scores.One(in.Metric)
	if err != nil {
		return out, err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	book, err := labels.OpenBook(file)
	if err != nil {
		return out, err
	}
	of := scores.Of[m.Name]
	var scored, next []string
	for _, id := range scores.Samples {
		if _, ok := of[id]; ok {
			scored = append(scored, id)
		}
	}
	const seed = 0 // as assay label has it
	for _, id := range labels.Spread(scored, of, seed) {
		if !book.Seen(id) {
			next = append(next, id)
		}
	}
	if in.Sample != "" {
		if _, ok := of[in.Sample]; !ok {
			return out, fmt.Errorf("%s has no score of %s for a row %q", run.Dir, m.Name, short(in.Sample, 200))
		}
		var pick labels.Pick
		if len(next) == 0 || next[0] != in.Sample {
			pick.How = "browsed"
		}
		if err := book.Put(in.Sample, in.Label, pick); err != nil {
			return out, err
		}
		next = slices.DeleteFunc(next, func(id string) bool { return id == in.Sample })
	} else if wanted := next[:min(len(next), cmp.Or(max(in.Most, 0), 1), mostRows)]; len(wanted) > 0 {
		out.Rows = s.rows(ctx, run, wanted)
	}
	out.Labelled, out.Left = book.Labelled(scores.Samples), len(next)
	return out, nil
}
