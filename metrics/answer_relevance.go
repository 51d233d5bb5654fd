package metrics

import (
	"context"
	"errors"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/tokenize"
)

// answerRelevanceQuestions is the paper's own method: questions that the answer would answer, compared
// with the question that was asked.
func answerRelevanceQuestions() Metric {
	return Metric{
		Name:    "answer_relevance/questions",
		Doc:     "mean cosine between the question and three that the judge derives from the answer alone",
		Source:  "RAGAS (Es et al. 2023, arXiv 2309.15217), section 3",
		Formula: "mean cosine between the question and three questions that the judge derives from the answer",
		Calls:   "3 replies, 4 texts to embed",
		Default: true,
		Min:     -1,
		Max:     1,
		Needs:   Question | Answer,
		Asks:    Asks{backend.Judge: backend.CanGenerate, backend.Embedder: backend.CanEmbed},
		Prompts: []string{"answer_relevance_question"},
		Score:   scoreAnswerRelevance,
	}
}

// relevanceQuestions is the paper's n.
const relevanceQuestions = 3

// questionData is what answer_relevance_question is rendered with.
type questionData struct {
	Answer string
}

// scoreAnswerRelevance follows the paper to the letter, which has no rule for answers that commit
// themselves to nothing: the question derived from "I don't know" is compared like any other.
func scoreAnswerRelevance(ctx context.Context, m Models, s *Sample) (Score, error) {
	texts := []string{s.Question}
	for i := range relevanceQuestions {
		q := query{prompt: "answer_relevance_question", data: questionData{s.Answer}, first: i, step: relevanceQuestions}
		question, err := ask(ctx, m, q, decodeQuestion)
		if err != nil {
			return Score{}, err
		}
		texts = append(texts, question)
	}
	vectors, err := embedAll(ctx, m, texts)
	if err != nil {
		return Score{}, err
	}
	var score Score
	for i, v := range vectors[1:] {
		similarity := cosine(vectors[0], v)
		score.Value += similarity / relevanceQuestions
		score.Because = append(score.Because, Finding{Kind: "question", Text: texts[1+i], Value: &similarity})
	}
	score.Value = min(1, max(-1, score.Value)) // thirds do not add up exactly
	return score, nil
}

// errNoQuestion says that a reply holds nothing that could be the one question asked for.
var errNoQuestion = errors.New("no question in the reply")

// decodeQuestion finds the question in a reply: the first line or sentence with a question mark, else
// the only line, since some languages need no mark.
func decodeQuestion(r reply) (string, error) {
	var items []item
	for _, it := range copiedLines(r.text) {
		if preamble(it.text) {
			continue
		}
		items = append(items, it)
		for _, s := range tokenize.Sentences(unlabelled(it.text)) {
			if strings.ContainsAny(lastRunes(s.Text), "?？؟;՞⁇") && tokenize.HasWords(s.Text) {
				return clean(s.Text), nil
			}
		}
	}
	if r.cut {
		return "", errCut
	}
	if len(items) != 1 {
		return "", errNoQuestion
	}
	return unlabelled(items[0].text), nil
}
