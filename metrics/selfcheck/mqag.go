package selfcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

func mqag() variant {
	return variant{
		Metric: metrics.Metric{
			Name: "faithfulness/selfcheck_mqag",
			Doc: "consistency with other answers of the system: whether multiple-choice questions about the answer's " +
				"sentences have the same answer by the others",
			Source: source + ".2 (MQAG), Bayes with soft counts, its questions, options and choices by the judge, and 2 " +
				"questions for its 5",
			Formula: "mean over sentences and 2 questions each of 4^m / (4^m + 4^n), where m and n are the other answers by " +
				"which the judge chooses the option that it chooses by the answer, and another; each counts as much as it is " +
				"probable that it answers the question",
			Calls:   "2 replies for each sentence, and for each question 1 first-token scoring by the answer and by each other",
			Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
			Prompts: []*prompts.Prompt{questionPrompt, choicePrompt},
		},
		compare: compareMQAG,
	}
}

// questionsEach is how many questions are asked about a sentence. The paper asks 5.
const questionsEach = 2

// surprise is the paper's gamma_1 and gamma_2, beta / (1 - beta) for its beta of 0.8: by how much one more match, or
// mismatch, makes the sentence likelier to be true, or false.
const surprise = 4

// choices are the letters of the options, and of there being none.
var choices = []string{"A", "B", "C", "D", "E"}

func compareMQAG(ctx context.Context, m metrics.Models, s *metrics.Sample, others []string) (metrics.Score, error) {
	own, err := sentences(s)
	if err != nil {
		return metrics.Score{}, err
	}
	means := make([]float64, len(own))
	var because []metrics.Finding
	for i, sentence := range own {
		for k := range questionsEach {
			q, err := question(ctx, m, s.Answer, sentence, k)
			if err != nil {
				return metrics.Score{}, err
			}
			q.turn(i + k)
			value, f, err := q.consistent(ctx, m, s.Answer, others)
			if err != nil {
				return metrics.Score{}, err
			}
			means[i] += value / questionsEach
			because = append(because, f)
		}
	}
	score := mean(own, means)
	score.Because = append(score.Because, because...)
	return score, nil
}

// A multipleChoice is a question with four options.
type multipleChoice struct {
	question string
	options  []string
}

// turn rotates the options, of which a judge writes the right one first, so that no letter is right more often.
func (q *multipleChoice) turn(by int) {
	by %= len(q.options)
	q.options = slices.Concat(q.options[by:], q.options[:by])
}

// consistent is how sure it is, by the other answers, that the answer's option is right.
func (q *multipleChoice) consistent(ctx context.Context, m metrics.Models, answer string,
	others []string) (float64, metrics.Finding, error) {
	said, _, err := q.choose(ctx, m, answer)
	if err != nil {
		return 0, metrics.Finding{}, err
	}
	match, mismatch := 0.0, 0.0
	for _, other := range others {
		chosen, answered, err := q.choose(ctx, m, other)
		switch {
		case err != nil:
			return 0, metrics.Finding{}, err
		case chosen == said:
			match += answered
		default:
			mismatch += answered
		}
	}
	value := 1 / (1 + math.Pow(surprise, mismatch-match))
	return value, metrics.Finding{Kind: "question", Text: metrics.Bounded(q.question), Value: &value,
		Reason: fmt.Sprintf("by the answer %q; of %d other answers %.2f say so, and %.2f otherwise",
			metrics.Bounded(q.options[said]), len(others), match, mismatch)}, nil
}

// choose is the option that the judge chooses by a text, and the probability that the text answers the question.
func (q *multipleChoice) choose(ctx context.Context, m metrics.Models, text string) (option int, answered float64, err error) {
	c, err := ask.Weigh(ctx, m, choicePrompt, choiceData{text, q.question, q.options}, choices)
	if err != nil {
		return 0, 0, err
	}
	options := c.Chances[:len(q.options)]
	return slices.Index(options, slices.Max(options)), 1 - c.Chances[len(q.options)], nil
}

// questionData is what selfcheck_question is rendered with.
type questionData struct {
	Answer, Sentence string
}

// question has the judge write a question about a sentence; k numbers those about one.
func question(ctx context.Context, m metrics.Models, answer, sentence string, k int) (multipleChoice, error) {
	q := ask.Query{Prompt: questionPrompt, Data: questionData{answer, sentence}, First: k, Step: questionsEach,
		Schema: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"},"right":{"type":"string"},` +
			`"wrong":{"type":"array","items":{"type":"string"},"minItems":3,"maxItems":3}},` +
			`"required":["question","right","wrong"],"additionalProperties":false}`)}
	return ask.Judge(ctx, m, q, decodeQuestion)
}

// errNoChoices says that a reply is no question with four options.
var errNoChoices = errors.New("no question with one right and three wrong answers in the reply, all different")

func decodeQuestion(r ask.Reply) (multipleChoice, error) {
	object, err := ask.DecodeObject(r)
	if err != nil {
		return multipleChoice{}, err
	}
	text, _ := object["question"].(string)
	right, _ := object["right"].(string)
	wrong, _ := object["wrong"].([]any)
	q := multipleChoice{question: strings.TrimSpace(text), options: []string{strings.TrimSpace(right)}}
	for _, one := range wrong {
		option, _ := one.(string)
		q.options = append(q.options, strings.TrimSpace(option))
	}
	if len(q.options) != len(choices)-1 || !tokenize.HasWords(q.question) {
		return multipleChoice{}, errNoChoices
	}
	for i, option := range q.options {
		alike := func(other string) bool { return tokenize.Normalize(other) == tokenize.Normalize(option) }
		if !tokenize.HasWords(option) || slices.ContainsFunc(q.options[:i], alike) {
			return multipleChoice{}, errNoChoices
		}
	}
	return q, nil
}

var questionPrompt = prompts.Builtin("selfcheck_question", prompts.Example{
	Data:  questionData{Answer: "<answer>", Sentence: "<sentence>"},
	Shown: map[string]string{".Answer": "<answer>", ".Sentence": "<sentence>"},
})

// choiceData is what selfcheck_choice is rendered with.
type choiceData struct {
	Text, Question string
	Options        []string
}

var choicePrompt = prompts.Builtin("selfcheck_choice", prompts.Example{
	Data:  choiceData{Text: "<text>", Question: "<question>", Options: []string{"<one>", "<two>", "<three>", "<four>"}},
	Shown: map[string]string{".Text": "<text>", ".Question": "<question>", ".Options": "C. <three>"},
})
