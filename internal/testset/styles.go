package testset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// A Style says what stands in the place of a question.
type Style string

// The styles, after the data sets of ARES (Saad-Falcon et al. 2023, arXiv 2311.09476, section 4.1).
const (
	Asking   Style = "question" // a question
	Claim    Style = "claim"    // a claim, as in FEVER; the answer says whether the passage supports it
	Dialogue Style = "dialogue" // a turn of a conversation, as in Wizard of Wikipedia; the answer is the next one
)

// ParseStyle returns the style of a name, for questions of some types.
func ParseStyle(name string, r Recipe, types []Type) (Style, error) {
	switch s := Style(name); {
	case s == Asking:
		return s, nil
	case s != Claim && s != Dialogue:
		return "", fmt.Errorf("unknown style %q: question, claim or dialogue", name)
	case r == WikiEval:
		return "", fmt.Errorf("the recipe wikieval has questions, and nothing of the style %q", name)
	case slices.ContainsFunc(types, func(t Type) bool { return t != Single && t != Unanswerable && t != Noisy }):
		return "", fmt.Errorf("the style %q is of the types single, unanswerable and noisy alone", name)
	default:
		return s, nil
	}
}

// asks is the prompt for what stands in the place of a question, and what looks at the reply.
func (s Style) asks() (*prompts.Prompt, func(reply, text string) string) {
	switch s {
	case Claim:
		return claimPrompt, checkClaim
	case Dialogue:
		return dialoguePrompt, checkTurn
	}
	return questionPrompt, func(reply, _ string) string { return checkQuestion(reply) }
}

// answers is the prompt for the answer.
func (s Style) answers() *prompts.Prompt {
	switch s {
	case Claim:
		return claimAnswerPrompt
	case Dialogue:
		return dialogueReplyPrompt
	}
	return groundedPrompt
}

// checkClaim looks at a claim that the text must support.
func checkClaim(claim, text string) string {
	switch {
	case strings.Contains(claim, "?"):
		return "the claim is a question"
	case grounded(claim, text) < minGrounded:
		return "the claim is not from the passage"
	}
	return checkAlone(claim)
}

// checkTurn looks at a turn of a conversation.
func checkTurn(turn, _ string) string { return checkAlone(turn) }

// part is the sentence of a text that the n-th further question is to be about, 1 the first, each another one as long
// as there are any; "" if there is none.
func part(text string, n int, seed uint64) string {
	var list []string
	for _, s := range tokenize.Sentences(text) {
		if len(tokenize.Words(s.Text)) >= 5 {
			list = append(list, s.Text)
		}
	}
	if len(list) == 0 {
		return ""
	}
	rng := rand.New(rand.NewPCG(seed, hashed(text)))
	return list[rng.Perm(len(list))[(n-1)%len(list)]]
}
