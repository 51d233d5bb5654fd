package main

import (
	"context"
	"errors"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/spf13/pflag"
)

// evidenceOptions are the flags that say in what metrics look for evidence.
type evidenceOptions struct {
	corpus   corpusOptions
	retrieve string
}

func (o *evidenceOptions) add(f *pflag.FlagSet) {
	o.corpus.add(f)
	f.StringVar(&o.retrieve, "retrieve", "bm25",
		"how evidence is found in the corpus: embed (nearest vectors), bm25 (words) or both")
}

// check returns what is asked of models to find evidence for ms: nothing, where none of them looks for any.
func (o *evidenceOptions) check(ms []metrics.Metric) (metrics.Asks, error) {
	method, err := corpus.ParseMethod(o.retrieve)
	if err != nil {
		return nil, err
	}
	searching := slices.IndexFunc(ms, func(m metrics.Metric) bool { return m.Searches })
	switch {
	case searching < 0 && o.corpus.path != "":
		return nil, withHint(errors.New("--corpus: no metric looks for evidence"), "factuality/factscore does")
	case searching < 0:
		return nil, nil
	case o.corpus.path == "":
		return nil, withHint(errors.New(ms[searching].Name+" looks for evidence in a corpus"),
			"--corpus FOLDER or FILE names it")
	case method == corpus.ByWords:
		return nil, nil
	}
	return metrics.Asks{backend.Embedder: backend.CanEmbed}, nil
}

// open reads and indexes the corpus; without one there is no evidence.
func (o *evidenceOptions) open(ctx context.Context, s *std, embedder backend.Backend) (metrics.Evidence, *runs.Corpus,
	error) {
	if o.corpus.path == "" {
		return nil, nil, nil
	}
	docs, passages, err := o.corpus.read(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	retriever, err := index(ctx, s, corpus.Method(o.retrieve), passages, embedder)
	if err != nil {
		return nil, nil, err
	}
	return evidence{retriever}, &runs.Corpus{Digest: docs.Digest(), Words: o.corpus.sizes.Words,
		Overlap: o.corpus.sizes.Overlap, Retrieve: o.retrieve}, nil
}

// An evidence is a corpus as metrics search it.
type evidence struct{ *corpus.Retriever }

// Find returns the passages with the titles of their documents.
func (e evidence) Find(ctx context.Context, claim string, most int) ([]metrics.Found, error) {
	hits, err := e.Search(ctx, claim, most)
	var found []metrics.Found
	for _, h := range hits {
		p := e.Passages[h.Index]
		found = append(found, metrics.Found{ID: p.ID, Text: p.Titled()})
	}
	return found, err
}
