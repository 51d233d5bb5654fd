package main

import (
	"context"
	"errors"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/corpus"
	"github.com/spf13/pflag"
)

// A corpusConfig identifies what was retrieved from, in the record of a result.
type corpusConfig struct {
	Digest   string `json:"digest"`
	Words    int    `json:"passage_words"`
	Overlap  int    `json:"overlap"`
	Retrieve string `json:"retrieve"`
}

// corpusOptions are the flags that say what is retrieved from, and how it is cut.
type corpusOptions struct {
	path  string
	sizes corpus.Sizes
}

func (o *corpusOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.path, "corpus", "",
		"the documents: a `FOLDER` of them or one file (PDF, DOCX, EPUB, HTML, Markdown, LaTeX, notebook, CSV, text), or "+
			"JSON Lines or Parquet with a document a row")
	f.IntVar(&o.sizes.Words, "passage-words", 120, "a passage has at most `N` words, in whole sentences")
	f.IntVar(&o.sizes.Overlap, "overlap", 1, "sentences that a passage repeats from the end of the one before")
}

// read reads the corpus and cuts it, and says what it passed over.
func (o *corpusOptions) read(ctx context.Context, s *std) (*corpus.Corpus, []corpus.Passage, error) {
	if o.path == "" {
		return nil, nil, usageError{withHint(errors.New("no documents"), "--corpus FOLDER or FILE names them")}
	}
	if err := o.sizes.Check(); err != nil {
		return nil, nil, usageError{err}
	}
	c, err := corpus.Read(ctx, o.path, corpus.Limits{})
	if err != nil {
		return nil, nil, usageError{err}
	}
	const most = 5
	for i, skipped := range c.Skipped {
		if i == most {
			s.warn("and %d more were passed over", len(c.Skipped)-most)
			break
		}
		s.warn("passed over %q: %s", skipped.Name, skipped.Why)
	}
	passages, repeated := corpus.Cut(c.Documents, o.sizes)
	if len(passages) == 0 {
		return nil, nil, usagef("corpus %s: no text in it", o.path)
	}
	if repeated > 0 {
		s.note("%d passages that repeat others, or hold no words, are left out", repeated)
	}
	s.note("%d documents, %d passages", len(c.Documents), len(passages))
	return c, passages, nil
}

// index indexes the passages, with a progress bar where they are embedded.
func index(ctx context.Context, s *std, method corpus.Method, passages []corpus.Passage,
	embedder backend.Backend) (*corpus.Retriever, error) {
	s.note("indexing %d passages", len(passages))
	meter := newMeter(s, len(passages), 0)
	defer meter.stop()
	done := 0
	return corpus.NewRetriever(ctx, method, passages, embedder, func(n int) {
		for ; done < n; done++ {
			meter.result()
		}
	})
}
