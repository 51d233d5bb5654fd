package metrics

import "context"

// An Evidence finds passages of a corpus for a claim: for metrics that check an answer by more than its own contexts.
// Its methods are safe for concurrent use.
type Evidence interface {
	// Find returns the most passages that suit the claim best, best first; none if there is none.
	Find(ctx context.Context, claim string, most int) ([]Found, error)
}

// A Found is a passage of a corpus.
type Found struct {
	ID   string // unique in the corpus
	Text string
}
