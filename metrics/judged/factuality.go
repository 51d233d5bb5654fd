package judged

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// evidencePassages is how many passages of the corpus a claim is checked by: FActScore's number.
const evidencePassages = 5

// factLength is FActScore's gamma: an answer of fewer statements is penalised.
const factLength = 10

// factualityMetrics check each statement of an answer by the passages of a corpus that are found for it, not by the
// answer's own contexts.
func factualityMetrics() []metrics.Metric {
	const calls = "1 reply for the statements, 1 first-token scoring for each, by the 5 passages of the corpus found for it"
	base := metrics.Metric{
		Source: "FActScore (Min et al. 2023, arXiv 2305.14251), section 3, with three verdicts and our statements",
		Calls:  calls,
		Min:    0, Max: 1, Searches: true,
		Needs:   metrics.Question | metrics.Answer,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []*prompts.Prompt{faithfulnessStatementsPrompt, claimStancePrompt},
	}
	score, plain, responds := base, base, base
	score.Name, score.Default = "factuality/factscore", true
	score.Doc = "share of the answer's statements that passages of the corpus support, less a penalty for fewer than 10"
	score.Formula = "supported / statements x penalty; penalty = exp(1 - 10 / statements) for up to 10 statements, else 1"
	score.Score = factScore(factLength)
	plain.Name = "factuality/factscore_plain"
	plain.Doc = "share of the answer's statements that passages of the corpus support"
	plain.Formula = "supported / statements"
	plain.Score = factScore(0)
	responds.Name = "factuality/responds"
	responds.Doc = "whether the answer states anything; over all rows the share that does not abstain"
	responds.Formula = "1 with a statement, 0 without one"
	responds.Calls = "1 reply for the statements"
	responds.Searches = false
	responds.Asks = metrics.Asks{backend.Judge: backend.CanGenerate}
	responds.Prompts = []*prompts.Prompt{faithfulnessStatementsPrompt}
	responds.Score = scoreResponds

	veri := base
	veri.Name = "factuality/veriscore"
	veri.Doc = "F1@K of the answer's verifiable statements: K that are supported are enough"
	veri.Source = "VeriScore (Song et al. 2024, arXiv 2406.19276), section 3, by the passages of a corpus in place of a web search"
	veri.Formula = "2PR / (P + R), 0 if none is supported; P = supported / statements, R = min(1, supported / K); K is the " +
		"median of statements over the dataset's answers; factuality/veriscore@12 sets K to 12"
	veri.Calls = strings.Replace(calls, "statements", "verifiable statements", 1)
	veri.Prompts = []*prompts.Prompt{verifiableStatementsPrompt, claimStancePrompt}
	at := veri // K is given: nothing need be learned of the dataset
	veri.Prepare = []*metrics.Preparation{countStatements}
	veri.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		n, ok := m.Known(countStatements).(*statementCounts)
		if !ok {
			return metrics.Score{}, fmt.Errorf("the statements were not counted")
		}
		return scoreVeri(ctx, m, s, n.median())
	}
	veri.At = func(text string) (metrics.Metric, error) {
		k, err := strconv.Atoi(text)
		if err != nil || k < 1 || text[0] == '+' {
			return metrics.Metric{}, fmt.Errorf("%s@%s: K is a whole number from 1, as in %[1]s@12", veri.Name, text)
		}
		fixed := at
		fixed.Name = fmt.Sprintf("%s@%d", veri.Name, k)
		fixed.Doc = fmt.Sprintf("F1@%d of the answer's verifiable statements: %[1]d that are supported are enough", k)
		fixed.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return scoreVeri(ctx, m, s, float64(k))
		}
		return fixed, nil
	}
	return []metrics.Metric{score, plain, responds, veri}
}

// factScore is FActScore with a gamma, 0 for none.
func factScore(gamma int) func(context.Context, metrics.Models, *metrics.Sample) (metrics.Score, error) {
	return func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		claims, err := statements(ctx, m, s)
		if err != nil {
			return metrics.Score{}, err
		}
		if len(claims) == 0 {
			return metrics.Score{}, fmt.Errorf("%w: the answer abstains: the judge found no statement in it",
				metrics.ErrNotApplicable)
		}
		score, err := checkByCorpus(ctx, m, claims)
		if err != nil || gamma == 0 {
			return score, err
		}
		if penalty := lengthPenalty(len(claims), gamma); penalty < 1 {
			score.Value *= penalty
			score.Ratio = nil
			score.Because = append(score.Because, metrics.Finding{Kind: "note", Value: &penalty,
				Text: fmt.Sprintf("the penalty for %d statements, not more than %d", len(claims), gamma)})
		}
		return score, nil
	}
}

// lengthPenalty is that of FActScore's released program.
func lengthPenalty(statements, gamma int) float64 {
	if statements > gamma {
		return 1
	}
	return math.Exp(1 - float64(gamma)/float64(statements))
}

func scoreResponds(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	claims, err := statements(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	return metrics.Portion(min(1, len(claims)), 1, []metrics.Finding{{Kind: "note",
		Text: fmt.Sprintf("%d statements", len(claims))}}), nil
}

// scoreVeri is F1@K.
func scoreVeri(ctx context.Context, m metrics.Models, s *metrics.Sample, k float64) (metrics.Score, error) {
	claims, err := verifiable(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	if len(claims) == 0 {
		return metrics.Score{Because: []metrics.Finding{{Kind: "note",
			Text: "the judge found no verifiable statement in the answer"}}}, nil
	}
	score, err := checkByCorpus(ctx, m, claims)
	if err != nil {
		return metrics.Score{}, err
	}
	score.Value, score.Because = veriF1(score.Ratio.Numerator, len(claims), k), append(score.Because,
		metrics.Finding{Kind: "note", Text: fmt.Sprintf("K is %v", k)})
	score.Ratio = nil
	return score, nil
}

// veriF1 is F1@K of so many supported statements.
func veriF1(supported, statements int, k float64) float64 {
	if supported == 0 {
		return 0
	}
	p, r := float64(supported)/float64(statements), min(1, float64(supported)/max(k, 1))
	return 2 * p * r / (p + r)
}

// checkByCorpus is the share of claims that are supported by the passages found for each.
func checkByCorpus(ctx context.Context, m metrics.Models, claims []string) (metrics.Score, error) {
	taken := takenStances{mass: 1}
	for _, claim := range claims {
		found, err := m.Evidence.Find(ctx, claim, evidencePassages)
		if err != nil {
			return metrics.Score{}, fmt.Errorf("evidence for %q: %w", metrics.Bounded(claim), err)
		}
		if len(found) == 0 {
			taken.stances = append(taken.stances, takenStance{stance: notSaid, chance: 1, where: "no passage was found"})
			continue
		}
		var texts, ids []string
		for _, f := range found {
			texts, ids = append(texts, f.Text), append(ids, f.ID)
		}
		by, err := stancesOn(ctx, m, texts, []string{claim})
		if err != nil {
			return metrics.Score{}, err
		}
		one := by.stances[0]
		one.where = strings.TrimPrefix(one.where+" of ", " of ") + "passages " + metrics.Bounded(strings.Join(ids, ", "))
		taken.stances, taken.mass = append(taken.stances, one), min(taken.mass, by.mass)
	}
	return stanceRate{counts: [3]bool{supported: true}}.of(claims, taken), nil
}

// verifiable has the judge list the answer's statements that evidence could bear out or refute, each once.
func verifiable(ctx context.Context, m metrics.Models, s *metrics.Sample) ([]string, error) {
	p := m.Prompts.For(verifiableStatementsPrompt)
	return ask.ListInWindows(ctx, m, []string{s.Answer}, func(part string) ask.Query {
		return ask.Query{Prompt: p, Data: statementsData{s.Question, part, s.History}, Room: len(part) / 2}
	}, func(r ask.Reply) ([]string, error) { return decodeStatements(r, s.Question, p.Nothing) })
}

// statementCounts are how many verifiable statements each answer of a dataset makes.
type statementCounts struct {
	counts []int
	unread int // answers of which the judge gave no list
}

// countStatements counts them. The lists are then cached.
var countStatements = &metrics.Preparation{
	Doc: "counting verifiable statements in the answers",
	Read: func(ctx context.Context, samples iter.Seq2[*metrics.Sample, error], m metrics.Models,
		o metrics.Options) (metrics.Knowledge, error) {
		n := &statementCounts{}
		var mu sync.Mutex
		count := metrics.Metric{Name: "counting statements", Needs: metrics.Question | metrics.Answer, Max: 1,
			Prompts: []*prompts.Prompt{verifiableStatementsPrompt},
			Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				claims, err := verifiable(ctx, m, s)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					n.counts = append(n.counts, len(claims))
				}
				return metrics.Score{}, err
			}}
		err := metrics.Run(ctx, samples, []metrics.Metric{count}, m, o, func(r metrics.Result) error {
			if r.Score == nil && r.Kind != metrics.NotApplicable {
				n.unread++
			}
			return nil
		})
		slices.Sort(n.counts)
		return n, err
	},
}

// median is VeriScore's K: at least 1.
func (n *statementCounts) median() float64 {
	size := len(n.counts)
	if size == 0 {
		return 1
	}
	return max(1, float64(n.counts[(size-1)/2]+n.counts[size/2])/2)
}

// Digest identifies the counts.
func (n *statementCounts) Digest() string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Append(nil, n.counts)))
}

// Notes say what K is.
func (n *statementCounts) Notes() []string {
	text := fmt.Sprintf("factuality/veriscore: K is %v, the median of verifiable statements over %d answers", n.median(),
		len(n.counts))
	if n.unread > 0 {
		text += fmt.Sprintf("; of %d the judge gave no list", n.unread)
	}
	return []string{text}
}

var verifiableStatementsPrompt = prompts.Builtin("verifiable_statements", prompts.Example{
	Data:  statementsData{Question: "<question>", Answer: "<answer>", History: history},
	Shown: map[string]string{".Answer": "<answer>"},
})
