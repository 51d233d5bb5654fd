package judged

import (
	"fmt"

	"github.com/assay-eval/assay/metrics"
)

// claimsMetrics are RAGChecker's, which check claims both ways: the answer's by the reference and by each
// context, the reference's by the answer and by each context. All of them, and every other metric that extracts
// statements, share their requests.
//
// RAGChecker gives 0 where there is nothing to count. Here a sample that states nothing to be checked is
// not applicable; only ragchecker/f1 has a value, 0, for an answer without claims, since all that the
// reference says is missing then. RAGChecker's claims are triples; here they are sentences. Whether less
// ragchecker/self_knowledge is better is a matter of taste, as RAGChecker says too: it is for a system that
// is to keep to its contexts.
func claimsMetrics() []metrics.Metric {
	var list []metrics.Metric
	for _, c := range ragChecks() {
		m := c.metric("RAGChecker (Ru et al. 2024, arXiv 2408.08067)")
		m.Default = m.Name == "ragchecker/f1"
		list = append(list, m)
	}
	return list
}

const noiseParts = answerByReference | answerByContexts | referenceByContexts

func noiseFormula(relevant bool) string {
	which := "a relevant context does"
	if !relevant {
		which = "only irrelevant contexts do"
	}
	return "claims of the answer that the reference does not support and " + which +
		" / claims of the answer; a context is relevant if it supports a claim of the reference"
}

func noAnswerClaims() error {
	return fmt.Errorf("%w: the judge found no statement in the answer", metrics.ErrNotApplicable)
}

func noReferenceClaims() error {
	return fmt.Errorf("%w: the judge found no statement in the reference", metrics.ErrNotApplicable)
}

// answerFinding shows a claim of the answer, and whether it counts.
func answerFinding(c claim, counts bool) metrics.Finding {
	return metrics.Finding{Kind: "claim", Text: c.text, Verdict: &counts, Reason: c.opposite.Reason,
		Where: c.where("reference", nil)}
}

// referenceFinding shows a claim of the reference, and whether it counts.
func referenceFinding(c claim, counts bool) metrics.Finding {
	return metrics.Finding{Kind: "reference", Text: c.text, Verdict: &counts, Reason: c.opposite.Reason,
		Where: c.where("answer", nil)}
}

func claimPrecision(t *claimTable) (metrics.Score, error) {
	if t.answer == nil {
		return metrics.Score{}, noAnswerClaims()
	}
	var list []metrics.Finding
	for _, c := range t.answer {
		list = append(list, answerFinding(c, c.opposite.Yes))
	}
	return shareOf(list), nil
}

func claimRecall(t *claimTable) (metrics.Score, error) {
	if t.reference == nil {
		return metrics.Score{}, noReferenceClaims()
	}
	var list []metrics.Finding
	for _, c := range t.reference {
		list = append(list, referenceFinding(c, c.opposite.Yes))
	}
	return shareOf(list), nil
}

// claimF is the F-measure of claimPrecision and claimRecall, in which recall weighs beta times as much. An answer
// that claims nothing has missed all of the reference, so its value is 0.
func claimF(beta float64) func(t *claimTable) (metrics.Score, error) {
	return func(t *claimTable) (metrics.Score, error) {
		if t.reference != nil && t.answer == nil {
			return nothingClaimed(), nil
		}
		recall, err := claimRecall(t)
		if err != nil {
			return metrics.Score{}, err
		}
		precision, err := claimPrecision(t)
		if err != nil {
			return metrics.Score{}, err
		}
		score := metrics.Score{Because: append(precision.Because, recall.Because...)}
		if p, r := precision.Value, recall.Value; p+r > 0 {
			score.Value = min(1, (1+beta*beta)*p*r/(beta*beta*p+r))
		}
		return score, nil
	}
}

// nothingClaimed is the score of an answer in which there is no claim.
func nothingClaimed() metrics.Score {
	return metrics.Score{Because: []metrics.Finding{{Kind: "note", Text: "the judge found no statement in the answer"}}}
}

func retrievedRecall(t *claimTable) (metrics.Score, error) {
	if t.reference == nil {
		return metrics.Score{}, noReferenceClaims()
	}
	var list []metrics.Finding
	for _, c := range t.reference {
		list = append(list, referenceFinding(c, c.found()))
	}
	return shareOf(list), nil
}

func relevantContexts(t *claimTable) (metrics.Score, error) {
	if t.reference == nil {
		return metrics.Score{}, noReferenceClaims()
	}
	var list []metrics.Finding
	for i, text := range t.contexts {
		relevant := t.relevant(i)
		list = append(list, metrics.Finding{Kind: "passage", Text: metrics.Bounded(text), Verdict: &relevant,
			Where: fmt.Sprintf("context %d", i+1)})
	}
	for _, c := range t.reference {
		list = append(list, metrics.Finding{Kind: "reference", Text: c.text, Where: c.where("answer", nil)})
	}
	return shareOf(list), nil
}

// contextUse, RAGChecker's context utilisation, does not apply where the contexts support no claim of the
// reference: there was nothing to use.
func contextUse(t *claimTable) (metrics.Score, error) {
	if t.reference == nil {
		return metrics.Score{}, noReferenceClaims()
	}
	var list []metrics.Finding
	retrieved := 0
	for _, c := range t.reference {
		if c.found() {
			retrieved++
			list = append(list, referenceFinding(c, c.opposite.Yes))
		} else {
			list = append(list, metrics.Finding{Kind: "reference", Text: c.text, Where: c.where("answer", nil)})
		}
	}
	if retrieved == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the contexts support no claim of the reference",
			metrics.ErrNotApplicable)
	}
	return shareOf(list), nil
}

// noiseIn is noise sensitivity: it counts the wrong claims that relevant contexts support, or those that only
// irrelevant ones do. A context is relevant if it supports a claim of the reference.
func noiseIn(relevant bool) func(t *claimTable) (metrics.Score, error) {
	return func(t *claimTable) (metrics.Score, error) {
		if t.answer == nil {
			return metrics.Score{}, noAnswerClaims()
		}
		if t.reference == nil {
			return metrics.Score{}, noReferenceClaims()
		}
		var list []metrics.Finding
		for _, c := range t.answer {
			inRelevant := false
			for i, v := range c.contexts {
				inRelevant = inRelevant || v.Yes && t.relevant(i)
			}
			f := answerFinding(c, !c.opposite.Yes && c.found() && inRelevant == relevant)
			f.Where = c.where("reference", func(i int) string {
				if t.relevant(i) {
					return " (relevant)"
				}
				return " (irrelevant)"
			})
			list = append(list, f)
		}
		return shareOf(list), nil
	}
}

// unfounded counts the claims of the answer that no context supports: the correct ones (self-knowledge) or the
// wrong ones (hallucination).
func unfounded(right bool) func(t *claimTable) (metrics.Score, error) {
	return func(t *claimTable) (metrics.Score, error) {
		if t.answer == nil {
			return metrics.Score{}, noAnswerClaims()
		}
		var list []metrics.Finding
		for _, c := range t.answer {
			list = append(list, answerFinding(c, !c.found() && c.opposite.Yes == right))
		}
		return shareOf(list), nil
	}
}

func claimFaithfulness(t *claimTable) (metrics.Score, error) {
	if t.answer == nil {
		return metrics.Score{}, noAnswerClaims()
	}
	var list []metrics.Finding
	for _, c := range t.answer {
		list = append(list, answerFinding(c, c.found()))
	}
	return shareOf(list), nil
}

func ragChecks() []claimCheck {
	return []claimCheck{
		{
			name: "ragchecker/precision", aliases: []string{"answer_correctness/claims_precision"},
			parts: answerByReference, score: claimPrecision,
			doc:     "share of the answer's claims that the reference supports",
			formula: "claims of the answer that the reference supports / claims of the answer",
		}, {
			name: "ragchecker/recall", aliases: []string{"answer_correctness/claims_recall"},
			parts: referenceByAnswer, score: claimRecall,
			doc:     "share of the reference's claims that the answer makes",
			formula: "claims of the reference that the answer supports / claims of the reference",
		}, {
			name: "ragchecker/f1", aliases: []string{"answer_correctness/claims_f1"},
			parts: answerByReference | referenceByAnswer, score: claimF(1),
			doc:     "harmonic mean of claim precision and claim recall between answer and reference",
			formula: "2PR / (P + R), where P is ragchecker/precision and R is ragchecker/recall",
		}, {
			name: "ragchecker/claim_recall", parts: referenceByContexts, score: retrievedRecall,
			doc:     "share of the reference's claims that at least one context supports",
			formula: "claims of the reference that a context supports / claims of the reference",
		}, {
			name: "ragchecker/context_precision", parts: referenceByContexts, score: relevantContexts,
			doc:     "share of the contexts that support a claim of the reference",
			formula: "contexts that support any claim of the reference / contexts",
		}, {
			name: "ragchecker/context_utilization", parts: referenceByAnswer | referenceByContexts, score: contextUse,
			doc: "share of the reference's claims in the contexts that the answer makes too",
			formula: "claims of the reference that a context and the answer support / claims of the reference that a " +
				"context supports",
		}, {
			name: "ragchecker/hallucination", parts: answerByReference | answerByContexts, score: unfounded(false),
			lowerIsBetter: true,
			doc:           "share of the answer's claims that neither the reference nor any context supports",
			formula: "claims of the answer that neither the reference nor a context supports / claims of the " +
				"answer",
		}, {
			name: "ragchecker/self_knowledge", parts: answerByReference | answerByContexts, score: unfounded(true),
			lowerIsBetter: true,
			doc:           "share of the answer's claims that are right although no context supports them",
			formula: "claims of the answer that the reference supports and no context does / claims of the " +
				"answer",
		}, {
			name: "ragchecker/faithfulness", parts: answerByContexts, score: claimFaithfulness,
			doc:     "share of the answer's claims that at least one context by itself supports",
			formula: "claims of the answer that a context by itself supports / claims of the answer",
		},
	}
}

// noiseChecks are those that Ragas has taken over from RAGChecker.
func noiseChecks() []claimCheck {
	return []claimCheck{
		{
			name: "noise_sensitivity/relevant", aliases: []string{"ragchecker/noise_relevant"},
			parts: noiseParts, score: noiseIn(true), lowerIsBetter: true,
			doc:     "share of the answer's statements that are wrong and come from a context of use",
			formula: noiseFormula(true),
		}, {
			name: "noise_sensitivity/irrelevant", aliases: []string{"ragchecker/noise_irrelevant"},
			parts: noiseParts, score: noiseIn(false), lowerIsBetter: true,
			doc:     "share of the answer's statements that are wrong and come from a context of no use",
			formula: noiseFormula(false),
		},
	}
}
