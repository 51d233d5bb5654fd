// Package relevance has a judge grade passages for a question as the assessors of a test collection would, from 0 to 3, by
// UMBRELA's scale (Upadhyay et al. 2024, arXiv 2406.06519). Written as relevance judgements (assay qrels), the grades
// stand in for people's in all measures of package retrieval.
//
// A grade depends on the question and the passage alone. The prompt shows neither the answer nor other passages, and has
// the classic layout only: what several systems retrieve is judged once, and alike.
package relevance

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// MaxGrade is the highest grade.
const MaxGrade = 3

// Metrics is the judge's grading.
func Metrics() []metrics.Metric { return []metrics.Metric{umbrela()} }

func umbrela() metrics.Metric {
	return metrics.Metric{
		Name: "context_relevance/umbrela",
		Doc:  "mean grade of the contexts for the question, from 0 (unrelated) to 3 (made for it), by the judge, over 3",
		Source: "UMBRELA (Upadhyay et al. 2024, arXiv 2406.06519), after Thomas et al. 2024 (arXiv 2309.10621): its scale, " +
			"by first-token scoring; in our words",
		Formula: "sum of grades / (3 * contexts); a grade is the likeliest of 0 to 3; of several windows of a context, the " +
			"highest",
		Calls:   "1 first-token scoring for each context",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Contexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{gradePrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			var score metrics.Score
			contexts := metrics.NonBlank(s.Contexts)
			for _, c := range contexts {
				f, err := grade(ctx, m, s, c)
				if err != nil {
					return metrics.Score{}, fmt.Errorf("context %d: %w", c.Number, err)
				}
				score.Value += *f.Value / float64(MaxGrade*len(contexts))
				score.Because = append(score.Because, f)
			}
			score.Value = metrics.Clamp(score.Value, 0, 1)
			return score, nil
		},
	}
}

// grade is the finding on one context: its id, where the sample has one, and its grade as the value.
func grade(ctx context.Context, m metrics.Models, s *metrics.Sample, c metrics.TextAt) (metrics.Finding, error) {
	grades := []string{"0", "1", "2", "3"}
	f := metrics.Finding{Kind: "passage", Text: metrics.Bounded(c.Text), Where: c.Where("")}
	if c.Number <= len(s.ContextIDs) && len(s.ContextIDs) == len(s.Contexts) {
		f.ID = s.ContextIDs[c.Number-1]
	}
	highest := -1
	_, err := metrics.NewPassage([]string{c.Text}).InWindows(true, func(part string) error {
		got, err := ask.Weigh(ctx, m, gradePrompt, gradeData{s.Question, part, s.History}, grades)
		if err != nil {
			return err
		}
		best := 0
		var parts []string
		for i, p := range got.Chances {
			if p > got.Chances[best] {
				best = i
			}
			parts = append(parts, fmt.Sprintf("P(%s) = %.3f", grades[i], p))
		}
		if best > highest {
			highest, f.Reason = best, strings.Join(parts, ", ")
		}
		return nil
	})
	value := float64(highest)
	f.Value = &value
	return f, err
}

// gradeData is what relevance_grade is rendered with.
type gradeData struct {
	Question, Passage string
	History           []metrics.Turn
}

var gradePrompt = prompts.Builtin("relevance_grade", prompts.Example{
	Data: gradeData{Question: "<question>", Passage: "<passage>", History: []metrics.Turn{{Role: backend.User,
		Said: "<history>"}}},
	Shown: map[string]string{".Question": "<question>", ".Passage": "<passage>"},
})
