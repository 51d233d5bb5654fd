package judged

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// answerRelevanceRagas is what Ragas made of the paper's method: with each question the judge says whether the answer is
// noncommittal, and an answer that is so each time is worth nothing.
func answerRelevanceRagas() metrics.Metric {
	return metrics.Metric{
		Name: "answer_relevance/ragas",
		Doc: "mean cosine similarity between the question and three that the judge generates from the answer; 0 where it " +
			"calls the answer noncommittal each time",
		Source: "Ragas 0.4, response relevancy",
		Formula: "mean cosine between the question and three questions that the judge generates from the answer, * 0 if with " +
			"each it says that the answer is noncommittal, else * 1",
		Calls:   "3 replies, 4 texts to embed",
		Min:     -1,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate, backend.Embedder: backend.CanEmbed},
		Prompts: []*prompts.Prompt{answerRelevanceRagasPrompt},
		Score:   scoreAnswerRelevanceRagas,
	}
}

// A guess is a question that an answer may have been given to.
type guess struct {
	question     string
	noncommittal bool // the answer says neither this nor that
}

func scoreAnswerRelevanceRagas(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	texts := []string{s.Question}
	var guesses []guess
	committed := false
	for i := range relevanceQuestions {
		q := ask.Query{Prompt: answerRelevanceRagasPrompt, Data: questionData{s.Answer}, First: i, Step: relevanceQuestions,
			Schema: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"},` +
				`"noncommittal":{"type":"integer","enum":[0,1]}},"required":["question","noncommittal"],` +
				`"additionalProperties":false}`)}
		g, err := ask.Judge(ctx, m, q, decodeGuess)
		if err != nil {
			return metrics.Score{}, err
		}
		texts, guesses = append(texts, g.question), append(guesses, g)
		committed = committed || !g.noncommittal
	}
	vectors, err := ask.Embed(ctx, m, texts)
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	for i, v := range vectors[1:] {
		similarity := ask.Cosine(vectors[0], v)
		score.Value += similarity / relevanceQuestions
		f := metrics.Finding{Kind: "question", Text: texts[1+i], Value: &similarity}
		if guesses[i].noncommittal {
			f.Reason = "the judge calls the answer noncommittal"
		}
		score.Because = append(score.Because, f)
	}
	score.Value = metrics.Clamp(score.Value, -1, 1)
	if !committed {
		note := fmt.Sprintf("noncommittal each time: %.3g counts as 0", score.Value)
		score.Value = 0
		score.Because = append(score.Because, metrics.Finding{Kind: "note", Text: note})
	}
	return score, nil
}

// errNoGuess says that a reply lacks the question or what is said of the answer.
var errNoGuess = errors.New("want a question, and noncommittal as 0 or 1")

func decodeGuess(r ask.Reply) (guess, error) {
	object, err := ask.DecodeObject(r)
	if err != nil {
		return guess{}, err
	}
	text, _ := object["question"].(string)
	if text = strings.TrimSpace(text); !tokenize.HasWords(text) {
		return guess{}, errNoGuess
	}
	switch fmt.Sprint(object["noncommittal"]) {
	case "0", "false":
		return guess{question: text}, nil
	case "1", "true":
		return guess{question: text, noncommittal: true}, nil
	}
	return guess{}, errNoGuess
}

var answerRelevanceRagasPrompt = prompts.Builtin("answer_relevance_ragas", prompts.Example{
	Data:  questionData{Answer: "<answer>"},
	Shown: map[string]string{".Answer": "<answer>"},
})
