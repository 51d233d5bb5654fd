package metrics

import (
	"context"
	"errors"
	"fmt"

	"github.com/assay-eval/assay/backend"
)

// exam asks which questions the answer would let its reader answer.
func exam() Metric {
	return Metric{
		Name:    "completeness/exam",
		Doc:     "share of the questions that the judge derives from the reference which the answer lets a reader answer",
		Source:  "EXAM (Sander and Dietz 2021), with questions that the judge writes in place of a textbook's",
		Formula: "questions with P(yes) >= 1/2 / questions, by the reference with which that is highest",
		Calls:   "1 reply and 1 choice for each question, for each reference",
		Min:     0,
		Max:     1,
		Needs:   Answer | References,
		Asks:    Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []string{"exam_questions", "exam_answerable_yes"},
		Score:   scoreExam,
	}
}

// examData is what exam_answerable_yes is rendered with.
type examData struct {
	Text, Question string
}

func scoreExam(ctx context.Context, m Models, s *Sample) (Score, error) {
	best := Score{Value: -1}
	for _, r := range nonBlank(s.References) {
		questions, err := examQuestions(ctx, m, r.text)
		if err != nil {
			return Score{}, err
		}
		if len(questions) == 0 {
			continue
		}
		p, err := pollInWindows(ctx, m, "exam_answerable_yes", []string{s.Answer}, len(questions), func(text string, i int) any {
			return examData{text, questions[i]}
		})
		if err != nil {
			return Score{}, err
		}
		var score Score
		passed := 0
		for i, question := range questions {
			yes, where := p.highest(i)
			verdict := yes >= 0.5
			if verdict {
				passed++
			}
			score.Because = append(score.Because, Finding{Kind: "question", Text: question, Verdict: &verdict, Value: &yes, Where: where})
		}
		score.Because = append(score.Because, doubts(p.mass)...)
		if score.Value = float64(passed) / float64(len(questions)); score.Value > best.Value {
			best = score
		}
	}
	if best.Because == nil {
		return Score{}, fmt.Errorf("%w: the judge found no question in the references", ErrNotApplicable)
	}
	return best, nil
}

// examQuestions has the judge write questions that a text answers, each once. A text that is too long for
// one prompt or one reply is asked about part by part.
func examQuestions(ctx context.Context, m Models, text string) ([]string, error) {
	p, ok := m.Prompts.Lookup("exam_questions")
	if !ok {
		return nil, errors.New("no prompt exam_questions")
	}
	var all []item
	_, err := newPassage([]string{text}).inWindows(false, func(part string) error {
		q := query{prompt: p.Name, data: sourceData{part}, room: len(part) / 2, splittable: true}
		list, err := ask(ctx, m, q, func(r reply) ([]string, error) { return decodeList(r, p.Nothing) })
		for _, question := range list {
			all = append(all, item{-1, question})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	questions, _ := distinct(all)
	return questions, nil
}
