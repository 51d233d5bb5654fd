package likelihood

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// examCover is the answerability of questions about the reference, given the answer, whatever the answers would be:
// scoreExam checks those.
func examCover() metrics.Metric {
	return metrics.Metric{
		Name: "completeness/exam_cover",
		Doc: "share of the questions that the judge generates from the reference that can be answered from the " +
			"answer, rightly or not",
		Source: "EXAM++ (Farzi and Dietz 2024, arXiv 2402.00309), its cover by self-rated answerability, with " +
			"questions about the reference and ratings of yes and no",
		Formula: "questions with P(yes) >= 1/2 / questions, by the reference with which that is highest",
		Calls:   "1 reply and 1 first-token scoring for each question, for each reference",
		Min:     0,
		Max:     1,
		Needs:   metrics.Answer | metrics.References,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []*prompts.Prompt{examQuestionsPrompt, examAnswerableYesPrompt},
		Score:   scoreExamCover,
	}
}

// examData is what exam_answerable_yes is rendered with.
type examData struct {
	Text, Question string
}

func scoreExamCover(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	best := metrics.Score{Value: -1}
	for _, r := range metrics.NonBlank(s.References) {
		questions, err := examQuestions(ctx, m, r.Text)
		if err != nil {
			return metrics.Score{}, err
		}
		if len(questions) == 0 {
			continue
		}
		p, err := ask.PollInWindows(ctx, m, examAnswerableYesPrompt, []string{s.Answer}, len(questions),
			func(text string, i int) any {
				return examData{text, questions[i]}
			})
		if err != nil {
			return metrics.Score{}, err
		}
		var score metrics.Score
		passed := 0
		for i, question := range questions {
			yes, where := p.Highest(i)
			verdict := yes >= 0.5
			if verdict {
				passed++
			}
			score.Because = append(score.Because, metrics.Finding{Kind: "question", Text: question, Verdict: &verdict,
				Value: &yes, Where: where})
		}
		score.Because = append(score.Because, ask.Doubts(p.Mass)...)
		if score.Value = float64(passed) / float64(len(questions)); score.Value > best.Value {
			best = score
		}
	}
	if best.Because == nil {
		return metrics.Score{}, fmt.Errorf("%w: the judge found no question in the references",
			metrics.ErrNotApplicable)
	}
	return best, nil
}

// examQuestions has the judge write questions that a text answers, each once. A text that is too long for
// one prompt or one reply is asked about part by part.
func examQuestions(ctx context.Context, m metrics.Models, text string) ([]string, error) {
	p := m.Prompts.For(examQuestionsPrompt)
	return ask.ListInWindows(ctx, m, []string{text}, func(part string) ask.Query {
		return ask.Query{Prompt: p, Data: sourceData{part}, Room: len(part) / 2}
	}, func(r ask.Reply) ([]string, error) { return ask.DecodeList(r, p.Nothing) })
}

var examAnswerableYesPrompt = prompts.Builtin("exam_answerable_yes", prompts.Example{
	Data:  examData{Text: "<text>", Question: "<question>"},
	Shown: map[string]string{".Text": "<text>", ".Question": "<question>"},
})

var examQuestionsPrompt = prompts.Builtin("exam_questions", prompts.Example{
	Data:  sourceData{Text: "<text>"},
	Shown: map[string]string{".Text": "<text>"},
})
