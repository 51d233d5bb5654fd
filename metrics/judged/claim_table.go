package judged

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A claimTable is the claims of an answer and of a reference, with the verdicts: which texts support (entail)
// each claim.
type claimTable struct {
	contexts          []string
	answer, reference []claim
}

// A claim is a statement of the answer or of the reference, with the verdicts on it.
type claim struct {
	text     string
	opposite ask.Verdict   // by the other text: the reference, or the answer
	contexts []ask.Verdict // by each context alone
}

// found reports whether any context supports the claim.
func (c claim) found() bool {
	for _, v := range c.contexts {
		if v.Yes {
			return true
		}
	}
	return false
}

// where names the texts that support the claim. Where note is given, it says more of a context by its index.
func (c claim) where(opposite string, note func(i int) string) string {
	var list []string
	if c.opposite.Yes {
		list = append(list, opposite)
	}
	for i, v := range c.contexts {
		if v.Yes {
			name := fmt.Sprintf("context %d", i+1)
			if note != nil {
				name += note(i)
			}
			list = append(list, name)
		}
	}
	if list == nil {
		return "nowhere"
	}
	return strings.Join(list, ", ")
}

// relevant reports whether a context, by its index, supports any claim of the reference.
func (t *claimTable) relevant(context int) bool {
	for _, c := range t.reference {
		if c.contexts[context].Yes {
			return true
		}
	}
	return false
}

// claimParts are the parts of a claimTable.
type claimParts uint

const (
	answerByReference claimParts = 1 << iota // verdicts on the answer's claims by the reference
	referenceByAnswer                        // verdicts on the reference's claims by the answer
	answerByContexts                         // verdicts on the answer's claims by each context
	referenceByContexts
)

func (p claimParts) any(of claimParts) bool { return p&of != 0 }

// fields are the columns that it takes to fill the parts.
func (p claimParts) fields() metrics.Field {
	fields := metrics.Question
	if p.any(answerByReference | answerByContexts | referenceByAnswer) {
		fields |= metrics.Answer
	}
	if p.any(answerByReference | referenceByAnswer | referenceByContexts) {
		fields |= metrics.References
	}
	if p.any(answerByContexts | referenceByContexts) {
		fields |= metrics.Contexts
	}
	return fields
}

// calls says what it costs to fill the parts.
func (p claimParts) calls() string {
	var list []string
	if p.any(answerByReference | answerByContexts) {
		list = append(list, "1 reply for the answer's statements")
	}
	if p.any(referenceByAnswer | referenceByContexts) {
		list = append(list, "1 reply for each reference's statements")
	}
	var texts []string
	if p.any(answerByReference) {
		texts = append(texts, "each reference")
	}
	if p.any(referenceByAnswer) {
		texts = append(texts, "the answer")
	}
	if p.any(answerByContexts | referenceByContexts) {
		texts = append(texts, "each context")
	}
	return strings.Join(append(list, "1 for every 8 verdicts by "+strings.Join(texts, " and by ")), ", ")
}

// claimTablePrompts are the prompts that fill a claimTable: those of faithfulness/claims, asked in the same way,
// so that what one metric has asked no other asks again.
var claimTablePrompts = []*prompts.Prompt{faithfulnessStatementsPrompt, faithfulnessVerdictsPrompt,
	faithfulnessVerdictPrompt}

// newClaimTable fills the parts of a table for one reference. Where one of the texts that are decomposed states
// nothing, it has no verdicts: there is nothing to compare then.
func newClaimTable(ctx context.Context, m metrics.Models, s *metrics.Sample, reference string,
	parts claimParts) (*claimTable, error) {
	t := &claimTable{contexts: s.Contexts}
	ofAnswer, ofReference := parts.any(answerByReference|answerByContexts),
		parts.any(referenceByAnswer|referenceByContexts)
	var err error
	if ofAnswer {
		if t.answer, err = claimsOf(ctx, m, s, s.Answer); err != nil {
			return nil, fmt.Errorf("the answer: %w", err)
		}
	}
	if ofReference {
		if t.reference, err = claimsOf(ctx, m, s, reference); err != nil {
			return nil, fmt.Errorf("the reference: %w", err)
		}
	}
	if ofAnswer && t.answer == nil || ofReference && t.reference == nil {
		return t, nil
	}
	if parts.any(answerByReference) {
		verdicts, err := judgeText(ctx, m, s, reference, t.answer)
		if err != nil {
			return nil, fmt.Errorf("by the reference: %w", err)
		}
		for i, v := range verdicts {
			t.answer[i].opposite = v
		}
	}
	if parts.any(referenceByAnswer) {
		verdicts, err := judgeText(ctx, m, s, s.Answer, t.reference)
		if err != nil {
			return nil, fmt.Errorf("by the answer: %w", err)
		}
		for i, v := range verdicts {
			t.reference[i].opposite = v
		}
	}
	for i, text := range s.Contexts {
		if parts.any(answerByContexts) {
			if err := judgeContext(ctx, m, s, text, t.answer); err != nil {
				return nil, fmt.Errorf("by context %d: %w", i+1, err)
			}
		}
		if parts.any(referenceByContexts) {
			if err := judgeContext(ctx, m, s, text, t.reference); err != nil {
				return nil, fmt.Errorf("by context %d: %w", i+1, err)
			}
		}
	}
	return t, nil
}

// claimsOf decomposes an answer or a reference into claims, without verdicts yet.
func claimsOf(ctx context.Context, m metrics.Models, s *metrics.Sample, text string) ([]claim, error) {
	texts, err := statementsOf(ctx, m, s, text)
	if err != nil {
		return nil, err
	}
	var claims []claim
	for _, text := range texts {
		claims = append(claims, claim{text: text})
	}
	return claims, nil
}

// judgeContext adds the verdicts by one more context.
func judgeContext(ctx context.Context, m metrics.Models, s *metrics.Sample, text string, claims []claim) error {
	verdicts, err := judgeText(ctx, m, s, text, claims)
	if err != nil {
		return err
	}
	for i, v := range verdicts {
		claims[i].contexts = append(claims[i].contexts, v)
	}
	return nil
}

// judgeText gives a verdict on every claim by one text, in windows if it is long. A blank text supports nothing,
// and the judge is not asked.
func judgeText(ctx context.Context, m metrics.Models, s *metrics.Sample, text string,
	claims []claim) ([]ask.Verdict, error) {
	verdicts := make([]ask.Verdict, len(claims))
	if metrics.Blank(text) {
		return verdicts, nil
	}
	var texts []string
	for _, c := range claims {
		texts = append(texts, c.text)
	}
	alone := &metrics.Sample{Question: s.Question, History: s.History, Contexts: []string{text}}
	placed, _, err := judgeInWindows(ctx, m, alone, texts)
	for i, v := range placed {
		verdicts[i] = v.Verdict
	}
	return verdicts, err
}

// A claimCheck is a metric whose value follows from a claimTable.
type claimCheck struct {
	name, doc, formula string
	aliases            []string
	parts              claimParts
	lowerIsBetter      bool
	score              func(t *claimTable) (metrics.Score, error)
}

// metric makes a metric of the check. Of several references, the one that gives the best value counts.
func (c claimCheck) metric(source string) metrics.Metric {
	return metrics.Metric{
		Name: c.name, Aliases: c.aliases, Doc: c.doc, Source: source, Formula: c.formula, Calls: c.parts.calls(),
		Min: 0, Max: 1, LowerIsBetter: c.lowerIsBetter,
		Needs: c.parts.fields(), Asks: metrics.Asks{backend.Judge: backend.CanGenerate}, Prompts: claimTablePrompts,
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			score := func(reference string) (metrics.Score, error) {
				t, err := newClaimTable(ctx, m, s, reference, c.parts)
				if err != nil {
					return metrics.Score{}, err
				}
				return c.score(t)
			}
			if c.parts == answerByContexts {
				return score("")
			}
			return byReference(s, c.lowerIsBetter, score)
		},
	}
}

// byReference scores a sample by each of its references alone. The best score counts.
func byReference(s *metrics.Sample, lowerIsBetter bool,
	score func(reference string) (metrics.Score, error)) (metrics.Score, error) {
	better := metrics.Higher
	if lowerIsBetter {
		better = metrics.Lower
	}
	best, at, err := metrics.BestReference(s.References, better, score)
	if err != nil {
		return metrics.Score{}, err
	}
	if of := len(s.References); len(metrics.NonBlank(s.References)) > 1 {
		note := fmt.Sprintf("by reference %d of %d, which gives the best value", at+1, of)
		best.Because = append(best.Because, metrics.Finding{Kind: "note", Text: note})
	}
	return best, nil
}

// shareOf is the share of the findings with a verdict whose verdict is positive. One at least has a verdict; the
// others are only shown.
func shareOf(findings []metrics.Finding) metrics.Score {
	counted, of := 0, 0
	for _, f := range findings {
		if f.Verdict != nil {
			of++
			if *f.Verdict {
				counted++
			}
		}
	}
	return metrics.Portion(counted, of, findings)
}
