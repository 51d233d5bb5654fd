package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/internal/fewshot"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/testset"
	"github.com/assay-eval/assay/metrics"
)

// testsetOptions holds the flags of assay testset.
type testsetOptions struct {
	corpus    corpusOptions
	published string
	n         int
	recipe    string
	types     []string
	style     string
	personas  []string
	forms     []string
	each      int
	stack     stackOptions
	prompts   string
	examples  string
	output    string
	overwrite bool
	seed      uint64
}

func testsetCommand(ctx context.Context, s *std, args []string) error {
	var o testsetOptions
	f := s.flags("testset", page("testset"))
	o.corpus.add(f)
	f.StringVar(&o.published, "published", "", "make the rows of WikiEval's published `FILE` instead")
	f.IntVarP(&o.n, "number", "n", 100, "keep `N` questions")
	f.StringVarP(&o.output, "output", "o", "",
		"the `FILE` of rows: JSON Lines, or Parquet if its name ends in .parquet")
	f.StringVar(&o.recipe, "recipe", "ares", "what is made of a question: ares, questions or wikieval")
	f.StringSliceVar(&o.types, "types", []string{"single"},
		"types of questions: "+strings.Trim(fmt.Sprint(testset.AllTypes()), "[]"))
	f.StringVar(&o.style, "style", "question", "what is asked: question, claim (to be checked) or dialogue (a turn of it)")
	f.StringArrayVar(&o.personas, "persona", nil, "who asks, in `WORDS`; repeatable: one is drawn for each question")
	f.StringSliceVar(&o.forms, "query-style", nil,
		"forms of questions, one drawn for each: plain, misspelled, poor_grammar, web_search")
	f.IntVar(&o.each, "per-passage", 1, "ask up to `N` questions about each passage")
	o.stack.add(f)
	f.StringVar(&o.prompts, "prompts", "", "a `FOLDER` of prompts that replace the built-in ones")
	f.StringVar(&o.examples, "examples", "", examplesHelp)
	f.BoolVar(&o.overwrite, "overwrite", false, "discard what the file holds")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything that is drawn at random")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if o.published != "" {
		return o.rewrite(ctx, s)
	}
	return o.run(ctx, s)
}

// rewrite writes the rows of the published WikiEval.
func (o *testsetOptions) rewrite(ctx context.Context, s *std) error {
	if o.output == "" || o.corpus.path != "" {
		return usagef("--published FILE goes with -o FILE, and without --corpus")
	}
	list, sum, err := testset.Published(ctx, o.published)
	if err != nil {
		return usageError{err}
	}
	config := struct {
		Command   string `json:"command"`
		Published string `json:"published"`
	}{"testset", sum}
	j, err := openJournal(s, o.output, config, o.overwrite)
	if err != nil || j.Done {
		return err
	}
	defer j.Close()
	s.note("%d rows of %d questions", len(list), len(list)/4)
	return testset.WritePublished(list, j)
}

func (o *testsetOptions) run(ctx context.Context, s *std) error {
	recipe, err := testset.ParseRecipe(o.recipe)
	if err != nil {
		return usageError{err}
	}
	types, err := testset.ParseTypes(o.types, recipe)
	if err != nil {
		return usageError{err}
	}
	style, err := testset.ParseStyle(o.style, recipe, types)
	if err != nil {
		return usageError{err}
	}
	forms, err := testset.ParseQueryStyles(o.forms)
	if err != nil {
		return usageError{err}
	}
	switch {
	case (len(forms) > 0 || len(o.personas) > 0) && (style != testset.Asking || recipe == testset.WikiEval):
		return usagef("--persona and --query-style are about questions of the recipes ares and questions")
	case o.each < 1 || o.each > 100:
		return usagef("--per-passage is %d: it takes a number of questions from 1 to 100", o.each)
	case o.output == "":
		return usageError{withHint(errors.New("no file to write"), "-o FILE names it")}
	case o.n < 1 || o.n > 1_000_000:
		return usagef("-n is %d: it takes a number of questions from 1 to 1000000", o.n)
	}
	own, err := testset.LoadPrompts(o.prompts)
	if err != nil {
		return usageError{err}
	}
	examples, err := fewshot.Teach(ctx, o.examples, &own, testset.Prompts(), s.note, s.warn)
	if err != nil {
		return usageError{err}
	}
	docs, passages, err := o.corpus.read(ctx, s)
	if err != nil {
		return err
	}
	st, err := o.stack.open(ctx, s, metrics.Asks{
		backend.Judge: backend.CanGenerate, backend.Embedder: backend.CanEmbed,
	})
	if err != nil {
		return err
	}
	defer st.Close()
	models := metrics.Models{Roles: st.Roles}.Identities().Fields()
	config := testset.SetConfig{
		Command: "testset", N: o.n, Recipe: recipe, Types: types, Style: style, Each: o.each, Seed: o.seed,
		Personas: o.personas, Forms: forms,
		Corpus: o.corpus.config(docs, corpus.ByBoth),
		Judge:  models.Judge, Embedder: models.Embedder, Prompts: testset.Versions(own), Examples: examples.SHA256,
	}
	j, err := openJournal(s, o.output, config, o.overwrite)
	if err != nil || j.Done {
		return err
	}
	defer j.Close()
	retriever, err := index(ctx, s, corpus.ByBoth, passages, st.Roles[backend.Embedder])
	if err != nil {
		return err
	}
	writer := &testset.Writer{Model: st.Roles[backend.Judge], Prompts: own, Seed: o.seed}
	m := testset.NewMaker(writer, retriever, recipe, types, o.n)
	m.Style, m.PerPassage, m.Personas, m.QueryStyles = style, o.each, o.personas, forms
	return o.make(ctx, s, m, j)
}

// make writes the questions that the journal does not have yet, and says what was made.
func (o *testsetOptions) make(ctx context.Context, s *std, m *testset.Maker, j *runs.Journal) error {
	drafts, kept, err := testset.Drafted(j)
	if err != nil {
		return err
	}
	shown := newMeter(s, "questions", o.n, kept)
	r, err := m.Write(ctx, drafts, j, func() { shown.Done("", false) })
	shown.Stop()
	if err != nil {
		s.note("what is done is kept in %s.part: the same command goes on from there", o.output)
		return err
	}
	r.Tell(s.note, s.warn)
	s.note("written to %s; the whole account is in %s.about.json", o.output, o.output)
	if r.Kept == 0 {
		return errors.New("no question was kept")
	}
	return nil
}
