package main

import (
	"context"
	"errors"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/internal/testset"
	"github.com/spf13/pflag"
)

// corpusOptions are the flags that say what is retrieved from, and how it is cut.
type corpusOptions struct {
	path  string
	sizes corpus.Sizes
}

func (o *corpusOptions) add(f *pflag.FlagSet) { addCorpus(f, &o.path, &o.sizes) }

func addCorpus(f *pflag.FlagSet, path *string, sizes *corpus.Sizes) {
	f.StringVar(path, "corpus", "",
		"the documents: a `FOLDER` of them or one file (PDF, DOCX, EPUB, HTML, Markdown, LaTeX, notebook, CSV, text), or "+
			"JSON Lines or Parquet with a document a row")
	f.IntVar(&sizes.Words, "passage-words", 120, "a passage has at most `N` words, in whole sentences")
	f.IntVar(&sizes.Overlap, "overlap", 1, "sentences that a passage repeats from the end of the one before")
}

// read reads the corpus and cuts it.
func (o *corpusOptions) read(ctx context.Context, s *std) (*corpus.Corpus, []corpus.Passage, error) {
	if o.path == "" {
		return nil, nil, usageError{withHint(errors.New("no documents"), "--corpus FOLDER or FILE names them")}
	}
	c, passages, err := corpus.Load(ctx, o.path, o.sizes, s.note, s.warn)
	if err != nil {
		return nil, nil, usageError{err}
	}
	return c, passages, nil
}

// config identifies what is retrieved from, for a record.
func (o *corpusOptions) config(docs *corpus.Corpus, method corpus.Method) testset.CorpusConfig {
	return testset.CorpusConfig{Digest: docs.Digest(), Words: o.sizes.Words, Overlap: o.sizes.Overlap,
		Retrieve: string(method)}
}

// index indexes the passages.
func index(ctx context.Context, s *std, method corpus.Method, passages []corpus.Passage,
	embedder backend.Backend) (*corpus.Retriever, error) {
	done, stop := s.indexing(len(passages))
	defer stop()
	return corpus.NewRetriever(ctx, method, passages, embedder, done)
}

// indexing shows how far the indexing of passages is.
func (s *std) indexing(passages int) (done func(n int), stop func()) {
	s.note("indexing %d passages", passages)
	shown := newMeter(s, "passages", passages, 0)
	seen := 0
	return func(n int) {
		for ; seen < n; seen++ {
			shown.Done("", false)
		}
	}, shown.Stop
}
