package answerability

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Metrics are those that this package asks a judge for by itself.
func Metrics() []metrics.Metric { return []metrics.Metric{truthfulness(), rbLLM()} }

// A Part is a metric that is part of an [Aggregate].
type Part struct {
	Metric metrics.Metric
	Signed bool // its values are cosines from -1 to 1: the aggregate takes them as (value + 1) / 2
}

// Aggregate is RB_agg, the harmonic mean of three measures that know a reference: BERTScore recall, ROUGE-L and
// BERTScore precision against the contexts. It is 0 if one of them is. mtRAG's BERTScores are from -1 to 1, and go from 0
// to 1 into the mean: so its published values come out.
func Aggregate(parts ...Part) metrics.Metric {
	on := metrics.Metric{
		Name:   "mtrag/rb_agg",
		Source: mtRAG + ", section 4: RB_agg",
		Calls:  "those of its parts",
		Max:    1,
	}
	var names []string
	for _, p := range parts {
		name := p.Metric.Name
		if p.Signed {
			name = "(" + name + " + 1) / 2"
		}
		names = append(names, name)
		on.Needs |= p.Metric.Needs
		on.Asks = on.Asks.With(p.Metric.Asks)
		on.Prepare = append(on.Prepare, p.Metric.Prepare...)
	}
	on.Doc = "harmonic mean of BERTScore recall, ROUGE-L and BERTScore precision against the contexts"
	on.Formula = "harmonic mean of " + strings.Join(names, ", ")
	on.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		var values []float64
		var score metrics.Score
		for _, p := range parts {
			got, err := p.Metric.Try(ctx, m, s)
			if err != nil {
				return metrics.Score{}, fmt.Errorf("%s: %w", p.Metric.Name, err)
			}
			v := got.Value
			score.Because = append(score.Because, metrics.Finding{Kind: "note", Text: p.Metric.Name, Value: &v})
			if p.Signed {
				v = (v + 1) / 2
			}
			values = append(values, v)
		}
		score.Value = harmonic(values)
		return score, nil
	}
	return on
}

// harmonic is the harmonic mean of values from 0 to 1, 0 if one of them is.
func harmonic(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		if v <= 0 {
			return 0
		}
		sum += 1 / v
	}
	return metrics.Clamp(float64(len(values))/sum, 0, 1)
}

// rbLLM has the judge grade an answer by reference and contexts together, as RAD-Bench's judge does for mtRAG.
func rbLLM() metrics.Metric {
	return metrics.Metric{
		Name: "mtrag/rb_llm",
		Doc: "the judge's grade from 1 to 10 of the answer beside the reference: faithful to the contexts, to the point, " +
			"complete",
		Source:  mtRAG + ", section 4: RB_llm, after RAD-Bench (Kuo et al. 2024, arXiv 2409.12558); in our words",
		Formula: "grade / 10; by the reference with which it is highest; of several windows of the contexts, the highest",
		Calls:   "1 reply for each reference",
		Default: true,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer | metrics.Contexts | metrics.References,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: []*prompts.Prompt{gradePrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			var score metrics.Score
			for _, r := range metrics.NonBlank(s.References) {
				best := 0.0
				_, err := (metrics.View{Sample: s}).InWindows(ask.InRow(m, gradePrompt), func(e metrics.Excerpt) error {
					grade, err := ask.Judge(ctx, m, ask.Query{Prompt: gradePrompt, Schema: gradeSchema,
						Data: gradeData{e.Row, e.Text, s.Question, r.Text, s.Answer, s.History}}, decodeGrade)
					best = max(best, grade/10)
					return err
				})
				if err != nil {
					return metrics.Score{}, err
				}
				score.Value = max(score.Value, best)
				score.Because = append(score.Because, metrics.Finding{Kind: "reference", Text: r.Text, Value: &best})
			}
			return score, nil
		},
	}
}

// gradeData is what mtrag_grade is rendered with.
type gradeData struct {
	Row                                  metrics.Row
	Context, Question, Reference, Answer string
	History                              []metrics.Turn
}

// gradeSchema asks for a whole number from 1 to 10.
var gradeSchema = []byte(`{"type":"integer","enum":[1,2,3,4,5,6,7,8,9,10]}`)

// errNoGrade says that a reply is no grade.
var errNoGrade = errors.New("want one whole number from 1 to 10")

var (
	wholeGrade = regexp.MustCompile(`^\D*?\b(\d{1,2})(?:\s*/\s*10|\s+out of 10)?\D*$`)
	scale      = regexp.MustCompile(`(?i)\b1\s*(?:-|–|to)\s*10\b`)
)

// decodeGrade reads "8", "8/10", "Grade: 8."; of several numbers it takes none.
func decodeGrade(r ask.Reply) (float64, error) {
	if r.Cut {
		return 0, metrics.ErrCut // of "1" there is no telling whether it would have been "10"
	}
	groups := wholeGrade.FindStringSubmatch(scale.ReplaceAllString(strings.TrimSpace(r.Text), ""))
	if groups == nil {
		return 0, errNoGrade
	}
	n, err := strconv.Atoi(groups[1])
	if err != nil || n < 1 || n > 10 || strings.Contains(r.Text, "-"+groups[1]) {
		return 0, errNoGrade
	}
	return float64(n), nil
}

// truthfulness is CRAG's score of an answer.
func truthfulness() metrics.Metric {
	return metrics.Metric{
		Name: "truthfulness/crag",
		Doc:  "CRAG's score: 1 for a perfect answer, 1/2 for an acceptable one, 0 for none, -1 for an incorrect one",
		Source: "CRAG (Yang et al. 2024, arXiv 2406.04744), section 3.2, its four grades by first-token scoring; in our " +
			"words",
		Formula: "the value of the likeliest of the four grades, by the reference with which it is highest",
		Calls:   "1 first-token scoring for each reference",
		Default: true,
		Min:     -1,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer | metrics.References,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{truthPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			score := metrics.Score{Value: -1}
			for _, r := range metrics.NonBlank(s.References) {
				value, f, err := truth(ctx, m, s, r.Text)
				if err != nil {
					return metrics.Score{}, err
				}
				score.Value = max(score.Value, value)
				score.Because = append(score.Because, f)
			}
			return score, nil
		},
	}
}

// truthData is what truthfulness is rendered with.
type truthData struct {
	Row                         metrics.Row
	Question, Reference, Answer string
	History                     []metrics.Turn
}

// truth grades the answer by one reference.
func truth(ctx context.Context, m metrics.Models, s *metrics.Sample, reference string) (float64, metrics.Finding, error) {
	grades := []string{"Perfect", "Acceptable", "Missing", "Incorrect"}
	values := []float64{1, 0.5, 0, -1}
	var c ask.Choice
	err := metrics.View{Sample: s}.First(ask.InRow(m, truthPrompt), func(e metrics.Excerpt) (err error) {
		c, err = ask.Weigh(ctx, m, truthPrompt, truthData{e.Row, s.Question, reference, s.Answer, s.History}, grades)
		return err
	})
	if err != nil {
		return 0, metrics.Finding{}, err
	}
	best := 0
	var parts []string
	for i, p := range c.Chances {
		if p > c.Chances[best] {
			best = i
		}
		parts = append(parts, fmt.Sprintf("P(%s) = %.3f", grades[i], p))
	}
	return values[best], metrics.Finding{Kind: "reference", Text: reference, Value: &values[best],
		Reason: strings.Join(parts, ", ")}, nil
}

var history = []metrics.Turn{{Role: backend.User, Said: "<history>"}, {Role: backend.Assistant, Said: "<reply>"}}

var gradePrompt = prompts.Builtin("mtrag_grade", prompts.Example{
	Data: gradeData{Context: "<context>", Question: "<question>", Reference: "<reference>", Answer: "<answer>",
		History: history},
	Shown: map[string]string{".Context": "<context>", ".Question": "<question>", ".Reference": "<reference>",
		".Answer": "<answer>"},
})

var truthPrompt = prompts.Builtin("truthfulness", prompts.Example{
	Data:  truthData{Question: "<question>", Reference: "<reference>", Answer: "<answer>", History: history},
	Shown: map[string]string{".Question": "<question>", ".Reference": "<reference>", ".Answer": "<answer>"},
})
