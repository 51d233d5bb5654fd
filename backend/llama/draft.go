package llama

import "github.com/hybridgroup/yzma/pkg/llama"

// Drafting guesses the next tokens of a reply that copies from its prompt, or repeats itself, by looking up
// what followed the last time that the reply's last tokens stood there (Saxena 2023, prompt lookup
// decoding). The guess is computed in one pass and checked token by token against what the model would have
// chosen, so the reply is the same to the bit, only sooner.
const (
	// draftMatch is how many tokens must have stood there before.
	draftMatch = 4

	// Drafts are as long as the ones before were right, within these limits. One pass takes all of it, and
	// wide is more than enough.
	shortDraft, longDraft = 3, 15

	// draftCompany is how many jobs there may be for drafts to pay on a processor. When more are under way, the
	// passes are full anyway, and a token of a draft takes the time of another job's token.
	draftCompany = 4

	// draftPause is for how many tokens a job makes no draft after a poor one.
	draftPause = 8
)

// A drafter makes the drafts of one job.
type drafter struct {
	drafted int // tokens at the end of the job that are a guess
	length  int // of the next draft; 0: short
	made    int // length of the last one
	pause   int // tokens until the next one
}

// guess returns what may come after tokens, at most so many.
func (d *drafter) guess(tokens []llama.Token, most int) []llama.Token {
	if d.pause > 0 {
		d.pause--
		return nil
	}
	d.length = max(d.length, shortDraft)
	most = min(most, d.length)
	if most <= 0 || len(tokens) < draftMatch {
		return nil
	}
	last := tokens[len(tokens)-draftMatch:]
	for end := len(tokens) - 1; end >= draftMatch; end-- {
		if common(tokens[end-draftMatch:end], last) == draftMatch {
			return tokens[end:min(end+most, len(tokens))]
		}
	}
	return nil
}

// judge learns from a draft of which so many tokens were right.
func (d *drafter) judge(right int) {
	switch {
	case right == d.made:
		d.length = min(2*d.length+1, longDraft)
	case 2*right < d.made:
		d.length, d.pause = shortDraft, draftPause
	}
}
