package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/internal/fewshot"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/testset"
	"github.com/assay-eval/assay/metrics"
)

const testsetHelp = `
Usage: assay testset --corpus DIR|FILE -n N -o FILE [flags]
       assay testset --published FILE -o FILE

Makes a test set out of documents. For passages drawn at random the model writes a question and its answer. A
question is kept if it finds its own passage first (embeddings and BM25, fused); what is dropped is counted, with
its reasons, and stands in FILE.about.json. What is written depends on the recipe:

  ares        for each question a true row, one with a wrong context and one with a wrong answer, half of them
              easy to tell (weak) and half hard (strong); what is known of each row is in the column labels
  questions   the question with its answer and passages, for a RAG to be asked: assay answer reads it
  wikieval    for each question a good row, and one each that is worse in faithfulness, answer relevance and
              context relevance: what a metric should prefer is known

  assay testset --corpus docs -n 100 --model tinyllama-q4_0 --embed-model minilm -o testset.jsonl
  assay testset --corpus docs -n 50 --recipe wikieval -o pairs.jsonl
  assay testset --published wikieval.parquet -o pairs.jsonl

The types of questions (--types):
  single, several, multihop      one passage answers it; it takes two alike; two that speak of the same name
  unanswerable, noisy            the passage that answers it is withheld, or stands among others
  complex, reasoning, conditional, double, distracting, situational, conversational
                                 a single question made harder for one part of a RAG (assay components says which)
  outside                        no passage answers it (recipe questions)
They share N evenly. --style claim writes claims to be checked in the place of questions, as in FEVER, and --style
dialogue turns of a conversation, as in Wizard of Wikipedia. An output file named .parquet is Parquet.

--persona "WORDS" (repeatable) and --query-style say who asks and how; one of each is drawn for each question.

--published reads WikiEval as it came with the RAGAS paper (columns question, answer, ungrounded_answer, poor_answer,
context_v1, context_v2) and writes the rows that the recipe wikieval makes; it asks no model.

An interrupted command goes on where it was when it is given again.
`

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

// A testsetConfig is everything that a test set depends on.
type testsetConfig struct {
	Command  string               `json:"command"`
	Corpus   corpusConfig         `json:"corpus"`
	N        int                  `json:"n"`
	Recipe   testset.Recipe       `json:"recipe"`
	Types    []testset.Type       `json:"types"`
	Style    testset.Style        `json:"style"`
	Each     int                  `json:"per_passage"`
	Personas []string             `json:"personas,omitempty"`
	Forms    []testset.QueryStyle `json:"query_styles,omitempty"`
	Judge    *backend.Identity    `json:"model"`
	Embedder *backend.Identity    `json:"embedder"`
	Prompts  map[string]string    `json:"prompts"`
	Examples string               `json:"examples,omitempty"` // the SHA-256 of the file of few-shot examples
	Seed     uint64               `json:"seed"`
}

func testsetCommand(ctx context.Context, s *std, args []string) error {
	var o testsetOptions
	f := s.flags("testset", testsetHelp)
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
	rows := make([]any, len(list))
	for i, row := range list {
		rows[i] = row
	}
	s.note("%d rows of %d questions", len(list), len(list)/4)
	return j.Finish(rows, nil)
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
	config := testsetConfig{
		Command: "testset", N: o.n, Recipe: recipe, Types: types, Style: style, Each: o.each, Seed: o.seed,
		Personas: o.personas, Forms: forms,
		Corpus: corpusConfig{docs.Digest(), o.corpus.sizes.Words, o.corpus.sizes.Overlap, string(corpus.ByBoth)},
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

// make writes the questions that the journal does not have yet, and the file.
func (o *testsetOptions) make(ctx context.Context, s *std, m *testset.Maker, j *runs.Journal) error {
	var drafts []testset.Draft
	kept := 0
	for _, piece := range j.Kept {
		var d testset.Draft
		if err := json.Unmarshal(piece, &d); err != nil {
			return fmt.Errorf("%s.part: %v", o.output, err)
		}
		if drafts = append(drafts, d); d.Kept() {
			kept++
		}
	}
	shown := newMeter(s, "questions", o.n, kept)
	err := m.Drafts(ctx, slices.Clone(drafts), func(d testset.Draft) error {
		drafts = append(drafts, d)
		if d.Kept() {
			shown.Done("", false)
		}
		return j.Add(d)
	})
	shown.Stop()
	if err != nil {
		s.note("what is done is kept in %s.part: the same command goes on from there", o.output)
		return err
	}
	list := m.Rows(drafts)
	rows := make([]any, len(list))
	for i, row := range list {
		rows[i] = row
	}
	r := m.Report(drafts, list)
	if err := j.Finish(rows, r); err != nil {
		return err
	}
	return o.conclude(s, r)
}

// conclude says what was made, and what was not.
func (o *testsetOptions) conclude(s *std, r testset.Report) error {
	s.note("asked about %d of %d passages: %d questions kept, %d dropped", r.Asked, r.Passages, r.Kept,
		r.Tried-r.Kept-r.Lost)
	for _, d := range r.Dropped {
		s.note("  %5d  dropped: %s", d.N, d.Reason)
	}
	if r.Lost > 0 {
		s.note("  %5d  do not find their passage at all: negatives", r.Lost)
	}
	if r.Missing > 0 {
		s.note("  %5d  kept without a contradictory answer: the model wrote none", r.Missing)
	}
	s.note("%d rows:", r.Rows)
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		s.note("  %5d  %s", r.Kinds[kind], kind)
	}
	if r.Kept < r.Wanted {
		s.warn("only %d of %d questions: a larger corpus, smaller passages or a better model make more (of %d "+
			"passages, %d are shorter than is asked about)",
			r.Kept, r.Wanted, r.Passages, r.Short)
	}
	s.note("written to %s; the whole account is in %s.about.json", o.output, o.output)
	if r.Kept == 0 {
		return errors.New("no question was kept")
	}
	return nil
}
