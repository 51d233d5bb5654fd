package testset

import (
	"context"
	"maps"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
)

// A SetConfig is everything that a test set depends on.
type SetConfig struct {
	Command  string            `json:"command"`
	Corpus   CorpusConfig      `json:"corpus"`
	N        int               `json:"n"`
	Recipe   Recipe            `json:"recipe"`
	Types    []Type            `json:"types"`
	Style    Style             `json:"style"`
	Each     int               `json:"per_passage"`
	Personas []string          `json:"personas,omitempty"`
	Forms    []QueryStyle      `json:"query_styles,omitempty"`
	Judge    *backend.Identity `json:"model"`
	Embedder *backend.Identity `json:"embedder"`
	Prompts  map[string]string `json:"prompts"`
	Examples string            `json:"examples,omitempty"` // the SHA-256 of the file of few-shot examples
	Seed     uint64            `json:"seed"`
}

// Drafted are the drafts of an earlier attempt, and how many questions were kept among them.
func Drafted(j *runs.Journal) (drafts []Draft, kept int, err error) {
	drafts, err = runs.Pieces[Draft](j)
	for _, d := range drafts {
		if d.Kept() {
			kept++
		}
	}
	return drafts, kept, err
}

// Write writes the questions that drafts, those of the journal, lack, and finishes the journal's file. kept is told of
// each question that is kept.
func (m *Maker) Write(ctx context.Context, drafts []Draft, j *runs.Journal, kept func()) (Report, error) {
	err := m.Drafts(ctx, slices.Clone(drafts), func(d Draft) error {
		drafts = append(drafts, d)
		if d.Kept() {
			kept()
		}
		return j.Add(d)
	})
	if err != nil {
		return Report{}, err
	}
	list := m.Rows(drafts)
	r := m.Report(drafts, list)
	return r, j.Finish(values(list), r)
}

// WritePublished finishes a journal's file with rows that need no model.
func WritePublished(list []Row, j *runs.Journal) error { return j.Finish(values(list), nil) }

// values are rows as a journal takes them.
func values(list []Row) []any {
	rows := make([]any, len(list))
	for i, row := range list {
		rows[i] = row
	}
	return rows
}

// Tell says what was made, and what was not.
func (r Report) Tell(say, warn func(format string, args ...any)) {
	say("asked about %d of %d passages: %d questions kept, %d dropped", r.Asked, r.Passages, r.Kept, r.Tried-r.Kept-r.Lost)
	for _, d := range r.Dropped {
		say("  %5d  dropped: %s", d.N, d.Reason)
	}
	if r.Lost > 0 {
		say("  %5d  do not find their passage at all: negatives", r.Lost)
	}
	if r.Missing > 0 {
		say("  %5d  kept without a contradictory answer: the model wrote none", r.Missing)
	}
	say("%d rows:", r.Rows)
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		say("  %5d  %s", r.Kinds[kind], kind)
	}
	if r.Kept < r.Wanted {
		warn("only %d of %d questions: a larger corpus, smaller passages or a better model make more (of %d "+
			"passages, %d are shorter than is asked about)",
			r.Kept, r.Wanted, r.Passages, r.Short)
	}
}
