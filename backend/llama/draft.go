package llama

import "github.com/hybridgroup/yzma/pkg/llama"

// Speculative decoding by prompt lookup (Saxena 2023): where a reply copies from its prompt, or repeats itself, draft
// tokens are proposed by looking up what followed the last time that the reply's last tokens stood there. They are
// verified in one pass, and accepted as long as the model would have chosen the same, so the reply is the same to the
// bit, only sooner.
const (
	// draftMatch is how many tokens must match for a lookup; fewer will do where a draft costs nothing.
	draftMatch = 4

	// Drafts are as long as the ones before were accepted, within these limits. One pass takes all of it, and
	// wide is more than enough.
	shortDraft, longDraft = 3, 15

	// draftCompany is how many jobs there may be for drafts to pay on a CPU. When more are under way, the
	// passes are full anyway, and a draft token takes the time of another job's token.
	draftCompany = 4

	// draftPause is for how many tokens a job makes no draft after a poor one.
	draftPause = 8
)

// A drafter makes the drafts of one job.
type drafter struct {
	drafted int // draft tokens at the end of the job, not yet verified
	length  int // of the next draft; 0: short
	made    int // length of the last one
	pause   int // tokens until the next one
}

// propose returns draft tokens for what may come after tokens, at most so many, of which the first free cost nothing:
// without them there would be padding tokens.
func (d *drafter) propose(tokens []llama.Token, most, free int) []llama.Token {
	d.length = max(d.length, shortDraft)
	n := max(d.length, free)
	if d.pause > 0 {
		d.pause--
		n = free
	}
	if draft := lookup(tokens, draftMatch, min(n, most)); draft != nil {
		return draft
	}
	for match := draftMatch - 1; match > 0; match-- {
		if draft := lookup(tokens, match, min(free, most)); draft != nil {
			return draft
		}
	}
	return nil
}

// lookup returns what followed the last time that the last so many tokens stood there before, at most n tokens.
func lookup(tokens []llama.Token, match, n int) []llama.Token {
	if n <= 0 || len(tokens) < match {
		return nil
	}
	last := tokens[len(tokens)-match:]
	for end := len(tokens) - 1; end >= match; end-- {
		if common(tokens[end-match:end], last) == match {
			return tokens[end:min(end+n, len(tokens))]
		}
	}
	return nil
}

// learn adapts to a draft of which so many tokens were accepted.
func (d *drafter) learn(accepted int) {
	switch {
	case accepted == d.made:
		d.length, d.pause = min(2*d.made+1, longDraft), 0
	case 2*accepted < d.made:
		d.length, d.pause = shortDraft, draftPause
	}
}
