package judged

import (
	"context"
	"math"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
)

// factualChecks are Ragas' factual correctness: claims of the answer and of the reference, with a verdict on each
// by the other text. Recall is over the reference's claims. Ragas' recall, and so its F, takes the number of
// right claims from the answer and that of missing ones from the reference, although the same fact may be one
// claim there and three here: answer_correctness/ragas_factual does so too.
//
// How small claims are, and whether all of them are taken, is up to the prompt faithfulness_statements; the
// built-in one asks for short statements and all of them (high atomicity and coverage, in Ragas' terms).
//
// For an answer that claims nothing, precision is not applicable and F is 0; with a reference that claims
// nothing, neither recall nor F is applicable. Ragas gives 0 in all of these cases.
func factualChecks() []claimCheck {
	both := answerByReference | referenceByAnswer
	list := []claimCheck{
		{
			name: "answer_correctness/ragas_factual", parts: both, score: ragasFactual,
			doc: "F1 of statements as Ragas counts and rounds it, which mixes the answer's with the reference's",
			formula: "2 TP / (2 TP + FP + FN) to two decimals: TP and FP the answer's statements that the reference " +
				"does and does not support, FN the reference's that the answer does not",
		},
	}
	for _, f := range []struct {
		method, which, formula string
		beta                   float64
	}{
		{"claims_f2", "F-measure, recall with twice the weight,", "5 P R / (4 P + R)", 2},
		{"claims_f05", "F-measure, recall with half the weight,", "1.25 P R / (0.25 P + R)", 0.5},
	} {
		list = append(list, claimCheck{
			name: "answer_correctness/" + f.method, parts: both, score: claimF(f.beta),
			doc: f.which + " of the precision and recall of statements between answer and reference",
			formula: f.formula + ", where P is answer_correctness/claims_precision and R is " +
				"answer_correctness/claims_recall",
		})
	}
	return list
}

// mixedF is Ragas' F1, with its counts from both lists; 0 where there is nothing to count.
func mixedF(t *claimTable) float64 {
	tp, fp, fn := 0, 0, 0
	for _, c := range t.answer {
		if c.opposite.Yes {
			tp++
		} else {
			fp++
		}
	}
	for _, c := range t.reference {
		if !c.opposite.Yes {
			fn++
		}
	}
	if tp == 0 {
		return 0
	}
	return 2 * float64(tp) / float64(2*tp+fp+fn)
}

// ragasFactual has Ragas' quirks: the mixed counts and the rounding to two decimals.
func ragasFactual(t *claimTable) (metrics.Score, error) {
	switch {
	case t.reference == nil:
		return metrics.Score{}, noReferenceClaims()
	case t.answer == nil:
		return nothingClaimed(), nil
	}
	return metrics.Score{Value: math.RoundToEven(100*mixedF(t)) / 100, Because: bothFindings(t)}, nil
}

// bothFindings shows the claims of both texts.
func bothFindings(t *claimTable) []metrics.Finding {
	var list []metrics.Finding
	for _, c := range t.answer {
		list = append(list, answerFinding(c, c.opposite.Yes))
	}
	for _, c := range t.reference {
		list = append(list, referenceFinding(c, c.opposite.Yes))
	}
	return list
}

// The weights of Ragas' answer correctness.
const (
	factWeight       = 0.75
	similarityWeight = 0.25
)

// answerCorrectnessRagas is Ragas' answer correctness with its weights. Its judge sorts the statements of both
// texts into three lists in one reply; here each has a verdict of its own, the same that the claims metrics
// ask for. Where the answer states nothing the F is 0, and where the reference states nothing the metric is
// not applicable: Ragas gives F = 1 in both cases.
func answerCorrectnessRagas() metrics.Metric {
	return metrics.Metric{
		Name: "answer_correctness/ragas",
		Doc: "weighted mean of the F1 of statements between answer and reference (3/4) and the cosine of their " +
			"embeddings (1/4)",
		Source: "Ragas 0.4, answer correctness",
		Formula: "0.75 × 2 TP / (2 TP + FP + FN) + 0.25 × cosine: TP and FP the answer's statements that the " +
			"reference does and does not support, FN the reference's that the answer does not",
		Calls:   (answerByReference | referenceByAnswer).calls() + "; 2 texts to embed for each reference",
		Min:     -similarityWeight, // a cosine may be negative
		Max:     1,
		Needs:   metrics.Question | metrics.Answer | metrics.References,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate, backend.Embedder: backend.CanEmbed},
		Prompts: claimTablePrompts,
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return byReference(s, false, func(reference string) (metrics.Score, error) {
				return scoreRagasCorrectness(ctx, m, s, reference)
			})
		},
	}
}

func scoreRagasCorrectness(ctx context.Context, m metrics.Models, s *metrics.Sample,
	reference string) (metrics.Score, error) {
	t, err := newClaimTable(ctx, m, s, reference, answerByReference|referenceByAnswer)
	if err != nil {
		return metrics.Score{}, err
	}
	if t.reference == nil {
		return metrics.Score{}, noReferenceClaims()
	}
	vectors, err := ask.Embed(ctx, m, []string{s.Answer, reference})
	if err != nil {
		return metrics.Score{}, err
	}
	score := nothingClaimed()
	facts, similarity := 0.0, ask.Cosine(vectors[0], vectors[1])
	if t.answer != nil {
		facts = mixedF(t)
		score.Because = bothFindings(t)
	}
	score.Value = min(1, factWeight*facts+similarityWeight*similarity)
	score.Because = append(score.Because,
		metrics.Finding{Kind: "note", Text: "F1 of the statements", Value: &facts},
		metrics.Finding{Kind: "note", Text: "cosine between the answer and the reference", Value: &similarity})
	return score, nil
}
