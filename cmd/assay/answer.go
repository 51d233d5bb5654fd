package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/testset"
	"github.com/assay-eval/assay/metrics"
)

const answerHelp = `
Usage: assay answer --corpus DIR|FILE --questions FILE -o FILE [flags]

Answers questions from documents: a plain RAG, as a baseline and as something to score. For each question the
passages are found that suit it best, and the model answers from them. The file that is written is a dataset:

  assay answer --corpus docs --questions questions.jsonl --model tinyllama-q4_0 --embed-model minilm -o answers.jsonl
  assay run --data answers.jsonl -o results

The corpus is a folder of text, Markdown and HTML files, or a JSON Lines or Parquet file with id, text and, if there
is one, title. The questions are any dataset with a column for the question; what else it has is carried along. A question
that could not be answered has the reason in the column error. An output file named .parquet is Parquet.

An interrupted command goes on where it was when it is given again.
`

// answerOptions holds the flags of assay answer.
type answerOptions struct {
	corpus    corpusOptions
	questions string
	retrieve  string
	top       int
	stack     stackOptions
	prompts   string
	output    string
	overwrite bool
	limit     int
	rewrite   bool
	mapping   map[string]string
	seed      uint64
}

// An answerConfig is everything that the answers depend on.
type answerConfig struct {
	Command   string            `json:"command"`
	Corpus    corpusConfig      `json:"corpus"`
	Questions string            `json:"questions"` // SHA-256 of the file
	Limit     int               `json:"limit,omitempty"`
	Map       map[string]string `json:"map,omitempty"`
	Top       int               `json:"top"`
	Judge     *backend.Identity `json:"model"`
	Embedder  *backend.Identity `json:"embedder,omitempty"`
	Prompt    string            `json:"prompt"`
	Rewrite   string            `json:"rewrite,omitempty"` // the prompt for standalone questions
	Seed      uint64            `json:"seed"`
}

// An answerReport says how answering went.
type answerReport struct {
	Questions int `json:"questions"`
	Failed    int `json:"failed"`
	Documents int `json:"documents"`
	Passages  int `json:"passages"`
}

func answerCommand(ctx context.Context, s *std, args []string) error {
	var o answerOptions
	f := s.flags("answer", answerHelp)
	o.corpus.add(f)
	f.StringVar(&o.questions, "questions", "", "the questions: a dataset `FILE`")
	f.StringVarP(&o.output, "output", "o", "",
		"the `FILE` of answers: JSON Lines, or Parquet if its name ends in .parquet")
	f.StringVar(&o.retrieve, "retrieve", "both",
		"how passages are found: embed (nearest vectors), bm25 (words) or both")
	f.IntVar(&o.top, "top", 5, "answer from the best `N` passages")
	o.stack.add(f)
	f.StringVar(&o.prompts, "prompts", "", "a `FOLDER` with an answer.tmpl that replaces the built-in prompt")
	f.BoolVar(&o.rewrite, "rewrite", false,
		"of a conversation, have the model make a question that stands alone first: column standalone_question")
	f.BoolVar(&o.overwrite, "overwrite", false, "discard what the file holds")
	f.IntVar(&o.limit, "limit", 0, "answer only the first `N` questions")
	f.StringToStringVar(&o.mapping, "map", nil, mapHelp)
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything that is drawn at random")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	return o.run(ctx, s)
}

func (o *answerOptions) run(ctx context.Context, s *std) error {
	method, err := corpus.ParseMethod(o.retrieve)
	if err != nil {
		return usageError{err}
	}
	switch {
	case o.questions == "":
		return usageError{withHint(errors.New("no questions"), "--questions FILE names them")}
	case o.output == "":
		return usageError{withHint(errors.New("no file to write"), "-o FILE names it")}
	case o.top < 1 || o.limit < 0:
		return usagef("--top and --limit take positive numbers")
	}
	own, err := ownPrompts(o.prompts)
	if err != nil {
		return usageError{err}
	}
	questions, sum, err := o.readQuestions(ctx)
	if err != nil {
		return usageError{err}
	}
	docs, passages, err := o.corpus.read(ctx, s)
	if err != nil {
		return err
	}
	need := metrics.Asks{backend.Judge: backend.CanGenerate}
	if method != corpus.ByWords {
		need[backend.Embedder] = backend.CanEmbed
	}
	st, err := openStack(ctx, s, &o.stack, need)
	if err != nil {
		return err
	}
	defer st.close()
	models := metrics.Models{Roles: st.roles}.Identities().Fields()
	config := answerConfig{
		Command: "answer", Questions: sum.SHA256, Limit: o.limit, Map: o.mapping, Top: o.top, Seed: o.seed,
		Corpus: corpusConfig{docs.Digest(), o.corpus.sizes.Words, o.corpus.sizes.Overlap, string(method)},
		Judge:  models.Judge, Embedder: models.Embedder, Prompt: testset.Versions(own)["answer"],
	}
	if o.rewrite {
		config.Rewrite = testset.Versions(own)["standalone"]
	}
	j, err := openJournal(s, o.output, config, o.overwrite)
	if err != nil || j.Done {
		return err
	}
	defer j.Close()
	retriever, err := index(ctx, s, method, passages, st.roles[backend.Embedder])
	if err != nil {
		return err
	}
	answerer := &testset.Answerer{
		Writer:    &testset.Writer{Model: st.roles[backend.Judge], Prompts: own, Seed: o.seed},
		Retriever: retriever, Top: o.top, Rewrite: o.rewrite,
	}
	return o.answer(ctx, s, answerer, questions, j, answerReport{
		Documents: len(docs.Documents), Passages: len(passages),
	})
}

// readQuestions reads the questions, all of which must be readable.
func (o *answerOptions) readQuestions(ctx context.Context) ([]*metrics.Sample, dataset.Summary, error) {
	r, err := dataset.Open(ctx, o.questions, dataset.Options{Map: o.mapping, Limit: o.limit})
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
	return list, sum, nil
}

// answer answers the questions that the journal does not have yet, and writes the file.
func (o *answerOptions) answer(ctx context.Context, s *std, a *testset.Answerer, questions []*metrics.Sample,
	j *runs.Journal, r answerReport) error {
	var rows []any
	failed := ""
	count := func(id, problem string) {
		if problem != "" {
			if r.Failed++; r.Failed == 1 {
				failed = fmt.Sprintf("%s: %s", id, problem)
			}
		}
	}
	for _, piece := range j.Kept {
		var row struct{ ID, Error string }
		if err := json.Unmarshal(piece, &row); err != nil {
			return fmt.Errorf("%s.part: %v", o.output, err)
		}
		count(row.ID, row.Error)
		rows = append(rows, piece)
	}
	meter := newMeter(s, len(questions), len(rows))
	err := a.AnswerAll(ctx, questions, len(rows), func(row testset.Answered) error {
		count(row.ID, row.Error)
		rows = append(rows, row)
		meter.result()
		return j.Add(row)
	})
	meter.stop()
	if err != nil {
		s.note("what is done is kept in %s.part: the same command goes on from there", o.output)
		return err
	}
	r.Questions = len(questions)
	if err := j.Finish(rows, r); err != nil {
		return err
	}
	s.note("%d questions, %d answered, %d failed", r.Questions, r.Questions-r.Failed, r.Failed)
	if r.Failed > 0 {
		s.warn("the first that failed, %s", failed)
	}
	s.note("answers in %s; next: assay run --data %s -o results", o.output, o.output)
	if r.Failed == r.Questions {
		return errors.New("no question could be answered: the column error says why, row by row")
	}
	return nil
}
