package likelihood

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// exam sets an exam on the reference, which the judge sits twice: with the reference at hand, for the answer key, and
// with the answer alone.
func exam() metrics.Metric {
	return metrics.Metric{
		Name: "completeness/exam",
		Doc: "share of the questions that the judge generates from the reference that it answers rightly from the " +
			"answer alone",
		Source: "EXAM (Sander and Dietz 2021, DESIRES), with questions and an answer key that the judge takes from " +
			"the reference in place of a textbook's",
		Formula: "questions whose reply from the answer agrees with that from the reference / questions that the " +
			"reference answers, by the reference with which that is highest",
		Calls: "1 reply for each reference, 2 for each question, and 1 first-token scoring for each question whose two " +
			"replies are in other words",
		Min:     0,
		Max:     1,
		Needs:   metrics.Answer | metrics.References,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []*prompts.Prompt{examQuestionsPrompt, examReplyPrompt, examAgreesYesPrompt},
		Score:   scoreExam,
	}
}

func scoreExam(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	best := metrics.Score{Value: -1}
	for _, r := range metrics.NonBlank(s.References) {
		questions, err := examQuestions(ctx, m, r.Text)
		if err != nil {
			return metrics.Score{}, err
		}
		score, err := sitExam(ctx, m, questions, r.Text, s.Answer)
		if err != nil {
			return metrics.Score{}, err
		}
		if score.Value > best.Value {
			best = score
		}
	}
	if best.Because == nil {
		return metrics.Score{}, fmt.Errorf("%w: the judge found no question in the references that they answer",
			metrics.ErrNotApplicable)
	}
	return best, nil
}

// sitExam asks each question of the reference, for the key, and of the answer. A question that the reference does not
// answer has no key, and does not count; with none that counts the Value is -1.
func sitExam(ctx context.Context, m metrics.Models, questions []string, reference, answer string) (metrics.Score, error) {
	score := metrics.Score{Value: -1}
	passed, counted, mass := 0, 0, 1.0
	for _, question := range questions {
		key, err := examReply(ctx, m, reference, question)
		if err != nil {
			return metrics.Score{}, err
		}
		if key == "" {
			score.Because = append(score.Because, metrics.Finding{Kind: "question", Text: question,
				Reason: "the reference does not answer it: not counted"})
			continue
		}
		reply, err := examReply(ctx, m, answer, question)
		if err != nil {
			return metrics.Score{}, err
		}
		g, err := gradeReply(ctx, m, question, key, reply)
		if err != nil {
			return metrics.Score{}, err
		}
		verdict := g.yes >= 0.5
		if verdict {
			passed++
		}
		counted++
		mass = min(mass, g.mass)
		score.Because = append(score.Because, metrics.Finding{Kind: "question", Text: question, Verdict: &verdict,
			Value: &g.yes, Reason: g.reason})
	}
	if counted > 0 {
		score.Value = float64(passed) / float64(counted)
		score.Because = append(score.Because, ask.Doubts(mass)...)
	}
	return score, nil
}

// A replyGrade is how far a reply in an exam agrees with the key.
type replyGrade struct {
	yes, mass float64 // P(yes), and the probability that yes and no had together
	reason    string
}

// gradeReply asks whether a reply, "" for none, agrees with the key. Replies in the same words do.
func gradeReply(ctx context.Context, m metrics.Models, question, key, reply string) (replyGrade, error) {
	reason := fmt.Sprintf("the key %q, the reply %q", metrics.Bounded(key), metrics.Bounded(reply))
	switch {
	case reply == "":
		return replyGrade{0, 1, fmt.Sprintf("the key %q, no reply", metrics.Bounded(key))}, nil
	case tokenize.Normalize(key) == tokenize.Normalize(reply):
		return replyGrade{1, 1, reason}, nil
	}
	p, err := ask.PollOnce(ctx, m, examAgreesYesPrompt, examAgreesData{question, key, reply})
	if err != nil {
		return replyGrade{}, err
	}
	return replyGrade{p.Yes[0][0], p.Mass, reason}, nil
}

// examReply is what a text says in reply to a question, "" where it says nothing. Of a text that is too long for one
// prompt, the first part with a reply counts.
func examReply(ctx context.Context, m metrics.Models, text, question string) (string, error) {
	p := m.Prompts.For(examReplyPrompt)
	replies, err := metrics.EachWindow([]string{text}, func(part string) (string, error) {
		return ask.Judge(ctx, m, ask.Query{Prompt: p, Data: examData{part, question}},
			func(r ask.Reply) (string, error) { return decodeExamReply(r, p.Nothing) })
	})
	for _, reply := range replies {
		if reply != "" {
			return reply, err
		}
	}
	return "", err
}

// errNoReply says that a reply holds no word.
var errNoReply = errors.New("no word in the reply")

// decodeExamReply reads a reply in an exam, "" for one which says that the text has none.
func decodeExamReply(r ask.Reply, nothing []string) (string, error) {
	text, _, _ := strings.Cut(strings.TrimSpace(r.Text), "\n")
	for _, label := range []string{"Answer:", "Text:"} { // of the prompt's lines, which weak judges repeat
		text = strings.TrimSpace(strings.TrimPrefix(text, label))
	}
	switch {
	case ask.SaysNothing(text, nothing):
		return "", nil
	case r.Cut:
		return "", metrics.ErrCut
	case !tokenize.HasWords(text):
		return "", errNoReply
	}
	return ask.Clean(text), nil
}

// examAgreesData is what exam_agrees_yes is rendered with.
type examAgreesData struct {
	Question, Key, Reply string
}

var examReplyPrompt = prompts.Builtin("exam_reply", prompts.Example{
	Data:  examData{Text: "<text>", Question: "<question>"},
	Shown: map[string]string{".Text": "<text>", ".Question": "<question>"},
})

var examAgreesYesPrompt = prompts.Builtin("exam_agrees_yes", prompts.Example{
	Data:  examAgreesData{Question: "<question>", Key: "<key>", Reply: "<reply>"},
	Shown: map[string]string{".Question": "<question>", ".Key": "<key>", ".Reply": "<reply>"},
})
