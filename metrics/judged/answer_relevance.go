package judged

import (
	"context"
	"errors"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// answerRelevanceQuestions is the paper's own method: questions generated from the answer, compared by their
// embeddings with the question that was asked.
func answerRelevanceQuestions() metrics.Metric {
	return metrics.Metric{
		Name:    "answer_relevance/questions",
		Doc:     "mean cosine similarity between the question and three that the judge generates from the answer alone",
		Source:  "RAGAS (Es et al. 2023, arXiv 2309.15217), section 3",
		Formula: "mean cosine between the question and three questions that the judge generates from the answer",
		Calls:   "3 replies, 4 texts to embed",
		Default: true,
		Min:     -1,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate, backend.Embedder: backend.CanEmbed},
		Prompts: []*prompts.Prompt{answerRelevanceQuestionPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return scoreAnswerRelevance(ctx, m, s, relevanceQuestions)
		},
	}
}

// answerRelevanceOneQuestion is answerRelevanceQuestions in its short form: with the first of the questions alone.
func answerRelevanceOneQuestion() metrics.Metric {
	m := answerRelevanceQuestions()
	m.Name, m.Default = "answer_relevance/questions_short", false
	m.Doc = "short form of questions: cosine similarity between the question and the first of those that it generates"
	m.Source += ", with n = 1 for its 3"
	m.Formula = "cosine between the question and one question that the judge generates from the answer"
	m.Calls = "1 reply, 2 texts to embed"
	m.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		return scoreAnswerRelevance(ctx, m, s, 1)
	}
	return m
}

// relevanceQuestions is the paper's n.
const relevanceQuestions = 3

// questionData is what answer_relevance_question is rendered with.
type questionData struct {
	Answer  string
	History []metrics.Turn
}

// scoreAnswerRelevance follows the paper to the letter, which has no rule for noncommittal answers: the question
// generated from "I don't know" is compared like any other.
//
// With n below the paper's, it is the first n of the paper's questions, in the very same requests.
func scoreAnswerRelevance(ctx context.Context, m metrics.Models, s *metrics.Sample, n int) (metrics.Score, error) {
	texts := []string{s.Question}
	for i := range n {
		q := ask.Query{Prompt: answerRelevanceQuestionPrompt, Data: questionData{s.Answer, s.History}, First: i,
			Step: relevanceQuestions}
		question, err := ask.Judge(ctx, m, q, decodeQuestion)
		if err != nil {
			return metrics.Score{}, err
		}
		texts = append(texts, question)
	}
	vectors, err := ask.Embed(ctx, m, texts)
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	for i, v := range vectors[1:] {
		similarity := ask.Cosine(vectors[0], v)
		score.Value += similarity / float64(n)
		score.Because = append(score.Because, metrics.Finding{Kind: "question", Text: texts[1+i], Value: &similarity})
	}
	score.Value = min(1, max(-1, score.Value)) // thirds do not add up exactly
	return score, nil
}

// errNoQuestion says that a reply holds nothing that could be the one question asked for.
var errNoQuestion = errors.New("no question in the reply")

// decodeQuestion finds the question in a reply: the first line or sentence with a question mark, else
// the only line, since some languages need no mark.
func decodeQuestion(r ask.Reply) (string, error) {
	var items []ask.Item
	for _, it := range ask.CopiedLines(r.Text) {
		if ask.Preamble(it.Text) {
			continue
		}
		items = append(items, it)
		for _, s := range tokenize.Sentences(ask.Unlabelled(it.Text)) {
			if strings.ContainsAny(ask.LastRunes(s.Text), "?？؟;՞⁇") && tokenize.HasWords(s.Text) {
				return ask.Clean(s.Text), nil
			}
		}
	}
	if r.Cut {
		return "", metrics.ErrCut
	}
	if len(items) != 1 {
		return "", errNoQuestion
	}
	return ask.Unlabelled(items[0].Text), nil
}

var answerRelevanceQuestionPrompt = prompts.Builtin("answer_relevance_question", prompts.Example{
	Data:  questionData{Answer: "<answer>", History: history},
	Shown: map[string]string{".Answer": "<answer>"},
})
