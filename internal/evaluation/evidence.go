package evaluation

import (
	"context"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// A Search says in what metrics look for evidence, and how.
type Search struct {
	Corpus string // the documents: see corpus.Read; "": there are none
	Sizes  corpus.Sizes
	Method string // see corpus.ParseMethod
}

// asks returns what is asked of models to find evidence for ms: nothing, where none of them looks for any.
func (s *Search) asks(ms []metrics.Metric) (metrics.Asks, error) {
	method, err := corpus.ParseMethod(s.Method)
	if err != nil {
		return nil, &runs.InputError{Err: err}
	}
	searching := slices.IndexFunc(ms, func(m metrics.Metric) bool { return m.Searches })
	switch {
	case searching < 0 && s.Corpus != "":
		return nil, runs.Inputf("--corpus: no metric looks for evidence").WithHint("factuality/factscore does")
	case searching < 0:
		return nil, nil
	case s.Corpus == "":
		return nil, runs.Inputf("%s looks for evidence in a corpus", ms[searching].Name).WithHint(
			"--corpus FOLDER or FILE names it")
	case method == corpus.ByWords:
		return nil, nil
	}
	return metrics.Asks{backend.Embedder: backend.CanEmbed}, nil
}

// search reads and indexes the corpus; without one there is no evidence.
func (e *Evaluation) search(ctx context.Context, embedder backend.Backend) (metrics.Evidence, *runs.Corpus, error) {
	o, s := &e.options, &e.options.Evidence
	if s.Corpus == "" {
		return nil, nil, nil
	}
	docs, passages, err := corpus.Load(ctx, s.Corpus, s.Sizes, o.Say, o.Warn)
	if err != nil {
		return nil, nil, &runs.InputError{Err: err}
	}
	done, stop := o.Indexing(len(passages))
	defer stop()
	retriever, err := corpus.NewRetriever(ctx, corpus.Method(s.Method), passages, embedder, done)
	if err != nil {
		return nil, nil, err
	}
	return evidence{retriever}, &runs.Corpus{Digest: docs.Digest(), Words: s.Sizes.Words, Overlap: s.Sizes.Overlap,
		Retrieve: s.Method}, nil
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
