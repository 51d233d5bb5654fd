package testset

import (
	"context"
	"encoding/json"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// A CorpusConfig identifies what was retrieved from, in the record of a result.
type CorpusConfig struct {
	Digest   string `json:"digest"`
	Words    int    `json:"passage_words"`
	Overlap  int    `json:"overlap"`
	Retrieve string `json:"retrieve"`
}

// An AnswerConfig is everything that the answers depend on.
type AnswerConfig struct {
	Command   string            `json:"command"`
	Corpus    CorpusConfig      `json:"corpus"`
	Questions string            `json:"questions"` // SHA-256 of the file
	Limit     int               `json:"limit,omitempty"`
	Sample    int               `json:"sample,omitempty"`
	Retrieved bool              `json:"retrieve_only,omitempty"`
	Map       map[string]string `json:"map,omitempty"`
	Top       int               `json:"top"`
	Judge     *backend.Identity `json:"model"`
	Embedder  *backend.Identity `json:"embedder,omitempty"`
	Prompt    string            `json:"prompt"`
	Rewrite   string            `json:"rewrite,omitempty"` // the prompt for standalone questions
	Seed      uint64            `json:"seed"`
}

// An AnswerReport says how answering went.
type AnswerReport struct {
	Questions int `json:"questions"`
	Failed    int `json:"failed"`
	Documents int `json:"documents"`
	Passages  int `json:"passages"`

	First string `json:"-"` // that failed, and why; "": none did
}

// ReadQuestions reads the questions of a dataset, all of which must be readable. Of more than so many, sample draws some at
// random by the seed; 0 takes all.
func ReadQuestions(ctx context.Context, path string, o dataset.Options, sample int, seed uint64) ([]*metrics.Sample,
	dataset.Summary, error) {
	r, err := dataset.Open(ctx, path, o)
	if err != nil {
		return nil, dataset.Summary{}, err
	}
	defer r.Close()
	sum := r.Summary()
	if err := sum.Need(metrics.Question); err != nil {
		return nil, sum, err
	}
	var list []*metrics.Sample
	for sample, err := range r.Samples(ctx) {
		if err != nil {
			return nil, sum, err
		}
		list = append(list, sample)
	}
	if sample > 0 {
		list = Draw(list, sample, seed)
	}
	return list, sum, nil
}

// Write answers the questions that a journal does not have yet, and finishes its file. done is told of each whether it
// failed. The report is r with what was counted.
func (a *Answerer) Write(ctx context.Context, questions []*metrics.Sample, j *runs.Journal, r AnswerReport, done func(failed bool)) (
	AnswerReport, error) {
	kept, err := runs.Pieces[struct{ ID, Error string }](j)
	if err != nil {
		return r, err
	}
	var rows []any
	for i, row := range kept {
		r.count(row.ID, row.Error)
		rows = append(rows, json.RawMessage(j.Kept[i]))
	}
	err = a.AnswerAll(ctx, questions, len(rows), func(row Answered) error {
		r.count(row.ID, row.Error)
		rows = append(rows, row)
		done(row.Error != "")
		return j.Add(row)
	})
	if err != nil {
		return r, err
	}
	r.Questions = len(questions)
	return r, j.Finish(rows, r)
}

// count takes a row into account; problem is why it has no answer.
func (r *AnswerReport) count(id, problem string) {
	if problem == "" {
		return
	}
	if r.Failed++; r.Failed == 1 {
		r.First = id + ": " + problem
	}
}
