package main

import (
	"context"
	"errors"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/testset"
	"github.com/assay-eval/assay/metrics"
)

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
	sample    int
	retrieved bool
	vectors   string
	mapping   map[string]string
	seed      uint64
}

func answerCommand(ctx context.Context, s *std, args []string) error {
	var o answerOptions
	f := s.flags("answer", page("answer"))
	o.corpus.add(f)
	f.StringVar(&o.questions, "questions", "", "the questions: a dataset `FILE`")
	f.StringVarP(&o.output, "output", "o", "",
		"the `FILE` of answers: JSON Lines, or Parquet if its name ends in .parquet")
	f.StringVar(&o.retrieve, "retrieve", "both",
		"how passages are found: embed (nearest vectors), bm25 (words) or both")
	f.IntVar(&o.top, "top", 5, "answer from the best `N` passages; 0: from none (closed book)")
	f.BoolVar(&o.retrieved, "retrieve-only", false, "find the passages, and ask for no answers")
	f.StringVar(&o.vectors, "vectors", "", "write the passages with their vectors to `FILE`, as Parquet")
	o.stack.add(f)
	f.StringVar(&o.prompts, "prompts", "", "a `FOLDER` with an answer.tmpl that replaces the built-in prompt")
	f.BoolVar(&o.rewrite, "rewrite", false,
		"of a conversation, have the model make a question that stands alone first: column standalone_question")
	f.BoolVar(&o.overwrite, "overwrite", false, "discard what the file holds")
	f.IntVar(&o.limit, "limit", 0, "answer only the first `N` questions")
	f.IntVar(&o.sample, "sample", 0, "answer only `N` questions, drawn at random by the seed")
	f.StringToStringVar(&o.mapping, "map", nil, mapHelp)
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything that is drawn at random")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	return o.run(ctx, s)
}

// check returns how passages are looked up, unless the flags contradict each other.
func (o *answerOptions) check() (corpus.Method, error) {
	method, err := corpus.ParseMethod(o.retrieve)
	if err != nil {
		return method, usageError{err}
	}
	switch {
	case o.questions == "":
		err = usageError{withHint(errors.New("no questions"), "--questions FILE names them")}
	case o.output == "":
		err = usageError{withHint(errors.New("no file to write"), "-o FILE names it")}
	case o.top < 0 || o.limit < 0 || o.sample < 0:
		err = usagef("--top, --limit and --sample take positive numbers")
	case o.top == 0 && (o.retrieved || o.vectors != "" || o.corpus.path != ""):
		err = usagef("--top 0 looks nothing up: it goes without --corpus, --retrieve-only and --vectors")
	case o.vectors != "" && method == corpus.ByWords:
		err = usagef("--retrieve bm25 makes no vectors to write to %s", o.vectors)
	}
	return method, err
}

func (o *answerOptions) run(ctx context.Context, s *std) error {
	method, err := o.check()
	if err != nil {
		return err
	}
	own, err := testset.LoadPrompts(o.prompts)
	if err != nil {
		return usageError{err}
	}
	questions, sum, err := testset.ReadQuestions(ctx, o.questions, dataset.Options{Map: o.mapping, Limit: o.limit}, o.sample, o.seed)
	if err != nil {
		return usageError{err}
	}
	docs, passages := &corpus.Corpus{}, []corpus.Passage(nil)
	if o.top > 0 {
		if docs, passages, err = o.corpus.read(ctx, s); err != nil {
			return err
		}
	}
	need := metrics.Asks{}
	if !o.retrieved || o.rewrite {
		need[backend.Judge] = backend.CanGenerate
	}
	if o.top > 0 && method != corpus.ByWords {
		need[backend.Embedder] = backend.CanEmbed
	}
	st, err := o.stack.open(ctx, s, need)
	if err != nil {
		return err
	}
	defer st.Close()
	config := o.config(sum, o.corpus.config(docs, method), metrics.Models{Roles: st.Roles}, testset.Versions(own))
	j, err := openJournal(s, o.output, config, o.overwrite)
	if err != nil || j.Done {
		return err
	}
	defer j.Close()
	var retriever *corpus.Retriever
	if o.top > 0 {
		if retriever, err = index(ctx, s, method, passages, st.Roles[backend.Embedder]); err != nil {
			return err
		}
	}
	if o.vectors != "" {
		if err := s.output(o.vectors, retriever.WriteVectors); err != nil {
			return err
		}
		s.note("vectors of %d passages in %s", len(passages), o.vectors)
	}
	answerer := &testset.Answerer{
		Writer:    &testset.Writer{Model: st.Roles[backend.Judge], Prompts: own, Seed: o.seed},
		Retriever: retriever, Top: o.top, Rewrite: o.rewrite, RetrieveOnly: o.retrieved,
	}
	return o.answer(ctx, s, answerer, questions, j, testset.AnswerReport{
		Documents: len(docs.Documents), Passages: len(passages),
	})
}

// config is what the answers depend on; versions are those of the prompts.
func (o *answerOptions) config(questions dataset.Summary, from testset.CorpusConfig, models metrics.Models,
	versions map[string]string) testset.AnswerConfig {
	asked := models.Identities().Fields()
	c := testset.AnswerConfig{
		Command: "answer", Questions: questions.SHA256, Limit: o.limit, Map: o.mapping, Top: o.top, Seed: o.seed,
		Corpus: from, Judge: asked.Judge, Embedder: asked.Embedder, Prompt: versions["answer"],
		Sample: o.sample, Retrieved: o.retrieved,
	}
	switch {
	case o.top == 0:
		c.Corpus, c.Prompt = testset.CorpusConfig{}, versions["answer_closed_book"]
	case o.retrieved:
		c.Prompt = ""
	}
	if o.rewrite {
		c.Rewrite = versions["standalone"]
	}
	return c
}

// answer answers the questions that the journal does not have yet, and says how it went.
func (o *answerOptions) answer(ctx context.Context, s *std, a *testset.Answerer, questions []*metrics.Sample,
	j *runs.Journal, r testset.AnswerReport) error {
	shown := newMeter(s, "questions", len(questions), len(j.Kept))
	r, err := a.Write(ctx, questions, j, r, func(failed bool) { shown.Done("", failed) })
	shown.Stop()
	if err != nil {
		s.note("what is done is kept in %s.part: the same command goes on from there", o.output)
		return err
	}
	done := "answered"
	if o.retrieved {
		done = "with their passages"
	}
	s.note("%d questions, %d %s, %d failed", r.Questions, r.Questions-r.Failed, done, r.Failed)
	if r.First != "" {
		s.warn("the first that failed, %s", r.First)
	}
	s.note("answers in %s; next: assay run --data %s -o results", o.output, o.output)
	if r.Failed == r.Questions {
		return errors.New("no question could be answered: the column error says why, row by row")
	}
	return nil
}
