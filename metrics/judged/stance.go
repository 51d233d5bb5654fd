package judged

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A stance is what a text makes of a claim: the three verdicts of RefChecker (entailment, contradiction, neutral).
type stance int

const (
	supported    stance = iota // the text says so, or it follows
	contradicted               // the text says otherwise
	notSaid                    // the text says neither
)

// stanceWords are the replies that stand for the stances, in their order.
var stanceWords = []string{"Yes", "No", "Unknown"}

func (v stance) String() string { return [...]string{"supported", "contradicted", "not said"}[v] }

// A stanceRate is a metric: the share of the answer's claims to which a text takes certain stances.
type stanceRate struct {
	suffix, doc, formula string
	counts               [3]bool // by stance
	lowerIsBetter        bool
	source               string
}

func stanceRates() []stanceRate {
	const refChecker = "RefChecker (Hu et al. 2024, arXiv 2405.14486), its three labels, on statements"
	return []stanceRate{
		{"", "that are supported", "supported", [3]bool{supported: true}, false, refChecker},
		{"_contradicted", "that are contradicted", "contradicted", [3]bool{contradicted: true}, true, refChecker},
		{"_not_said", "that are neither supported nor contradicted", "neither supported nor contradicted",
			[3]bool{notSaid: true}, true, refChecker},
		{"_not_contradicted", "that are not contradicted, whether or not they are supported", "not contradicted",
			[3]bool{supported: true, notSaid: true}, false, "DeepEval, FaithfulnessMetric, whose claims are counted against " +
				"an answer only where they are contradicted"},
	}
}

// stanceMetrics are the rates of the three verdicts on the answer's statements: by the contexts, and by the reference,
// of several that by which most are supported.
func stanceMetrics() []metrics.Metric {
	var list []metrics.Metric
	for _, r := range stanceRates() {
		list = append(list, metrics.Metric{
			Name:    "faithfulness/verdicts" + r.suffix,
			Doc:     "share of the answer's statements " + r.doc + " by the contexts, of three verdicts",
			Source:  r.source,
			Formula: "statements " + r.formula + " / statements; of several windows, one that supports it, else one that contradicts it",
			Calls:   "1 reply for the statements, 1 first-token scoring for each and each window of the contexts",
			Min:     0, Max: 1, LowerIsBetter: r.lowerIsBetter,
			Needs:   metrics.Question | metrics.Answer | metrics.Contexts,
			Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
			Prompts: []*prompts.Prompt{faithfulnessStatementsPrompt, claimStancePrompt},
			Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				return r.score(ctx, m, s, s.Contexts)
			},
		}, metrics.Metric{
			Name:    "answer_correctness/verdicts" + r.suffix,
			Doc:     "share of the answer's statements " + r.doc + " by the reference, of three verdicts",
			Source:  r.source,
			Formula: "statements " + r.formula + " / statements, by the reference that supports most of them",
			Calls:   "1 reply for the statements, 1 first-token scoring for each and each reference",
			Min:     0, Max: 1, LowerIsBetter: r.lowerIsBetter,
			Needs:   metrics.Question | metrics.Answer | metrics.References,
			Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
			Prompts: []*prompts.Prompt{faithfulnessStatementsPrompt, claimStancePrompt},
			Score:   r.scoreByReference,
		})
	}
	return list
}

// score is the share by texts.
func (r stanceRate) score(ctx context.Context, m metrics.Models, s *metrics.Sample, texts []string) (metrics.Score, error) {
	claims, err := statements(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	if len(claims) == 0 {
		return metrics.Score{}, noAnswerClaims()
	}
	taken, err := stancesOn(ctx, m, texts, claims)
	if err != nil {
		return metrics.Score{}, err
	}
	return r.of(claims, taken), nil
}

// scoreByReference is the share by that reference which supports most claims, whatever is counted: the rates of one
// answer are of one reference.
func (r stanceRate) scoreByReference(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	claims, err := statements(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	if len(claims) == 0 {
		return metrics.Score{}, noAnswerClaims()
	}
	var best takenStances
	most, at := -1, 0
	references := metrics.NonBlank(s.References)
	for _, reference := range references {
		taken, err := stancesOn(ctx, m, []string{reference.Text}, claims)
		if err != nil {
			return metrics.Score{}, fmt.Errorf("by reference %d: %w", reference.Number, err)
		}
		if n := taken.count(supported); n > most {
			best, most, at = taken, n, reference.Number
		}
	}
	score := r.of(claims, best)
	if len(references) > 1 {
		score.Because = append(score.Because, metrics.Finding{Kind: "note",
			Text: fmt.Sprintf("by reference %d of %d, which supports most statements", at, len(s.References))})
	}
	return score, nil
}

// of counts the stances taken.
func (r stanceRate) of(claims []string, taken takenStances) metrics.Score {
	var list []metrics.Finding
	for i, claim := range claims {
		t := taken.stances[i]
		counts := r.counts[t.stance]
		list = append(list, metrics.Finding{Kind: "claim", Text: claim, Verdict: &counts, Value: &t.chance,
			Reason: t.stance.String(), Where: t.where})
	}
	score := shareOf(list)
	score.Because = append(score.Because, metrics.Finding{Kind: "note", Text: fmt.Sprintf(
		"%d supported, %d contradicted, %d not said", taken.count(supported), taken.count(contradicted), taken.count(notSaid))})
	if taken.mass < 0.5 {
		score.Because = append(score.Because, metrics.Finding{Kind: "note", Text: fmt.Sprintf("Yes, No and Unknown had only "+
			"%.2g of the judge's probability: it would rather say something else", taken.mass)})
	}
	return score
}

// A takenStance is the likeliest stance of a text to a claim, and its probability.
type takenStance struct {
	stance stance
	chance float64
	where  string
}

// takenStances are those to several claims.
type takenStances struct {
	stances []takenStance
	mass    float64 // the lowest probability that the three words had together
}

func (t takenStances) count(of stance) int {
	n := 0
	for _, s := range t.stances {
		if s.stance == of {
			n++
		}
	}
	return n
}

// stancesOn asks for the stance of texts to each claim. Where they do not fit in one prompt, a window that supports a
// claim counts before one that contradicts it, and that before one that says neither; of equals, the surest.
func stancesOn(ctx context.Context, m metrics.Models, texts, claims []string) (takenStances, error) {
	taken := takenStances{mass: 1}
	perWindow, err := metrics.EachWindow(texts, func(text string) ([]takenStance, error) {
		list := make([]takenStance, len(claims))
		for i, claim := range claims {
			c, err := ask.Weigh(ctx, m, claimStancePrompt, stanceData{text, claim}, stanceWords)
			if err != nil {
				return nil, err
			}
			taken.mass = min(taken.mass, c.Mass)
			likeliest := metrics.Best(c.Chances, func(a, b float64) bool { return a > b })
			list[i] = takenStance{stance: stance(likeliest), chance: c.Chances[likeliest]}
		}
		return list, nil
	})
	if err != nil {
		return taken, err
	}
	for i := range claims {
		var by []takenStance
		for w, list := range perWindow {
			list[i].where = metrics.WindowName(w, len(perWindow))
			by = append(by, list[i])
		}
		taken.stances = append(taken.stances, by[metrics.Best(by, func(a, b takenStance) bool {
			return a.stance < b.stance || a.stance == b.stance && a.chance > b.chance
		})])
	}
	return taken, nil
}

// stanceData is what claim_stance is rendered with.
type stanceData struct {
	Context, Statement string
}

var claimStancePrompt = prompts.Builtin("claim_stance", prompts.Example{
	Data:  stanceData{"<context>", "<statement>"},
	Shown: map[string]string{".Context": "<context>", ".Statement": "<statement>"},
})
