// Package selfcheck has SelfCheckGPT (Manakul et al. 2023, arXiv 2303.08896): how far an answer is consistent with other
// answers of the same system to the same question. A model says what it knows again and again, and a hallucination
// differs from answer to answer; no contexts and no references are needed.
//
//   - selfcheck_ngram and selfcheck_ngram_max, section 5.3: word counts, no model.
//   - selfcheck_embed, after section 5.1: an embedding model in place of BERTScore.
//   - selfcheck_mqag, section 5.2: multiple-choice questions, answered by the judge.
//   - selfcheck_nli, section 5.4: an encoder's labels entailment and contradiction.
//   - selfcheck_prompt, section 5.5: the judge's P(yes).
//
// The other answers must be of the system whose answer is checked: how consistent another model is with it says something
// else. They are the dataset's (other_answers); @drawn has them drawn from the model that the system runs on, which has
// the role [backend.Sampler]. Each value is the paper's score reversed, so that higher is better.
package selfcheck

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

const source = "SelfCheckGPT (Manakul et al. 2023, arXiv 2303.08896), section 5"

// A variant compares an answer with others to the same question, of which there is at least one.
type variant struct {
	metrics.Metric // but for the other answers
	compare        func(ctx context.Context, m metrics.Models, s *metrics.Sample, others []string) (metrics.Score, error)
}

// Metrics are the variants of SelfCheckGPT, each with the answers that a dataset gives and with drawn ones.
func Metrics() []metrics.Metric {
	var list []metrics.Metric
	for _, v := range []variant{ngramMean(), ngramLeast(), embed(), mqag(), nli(), prompted()} {
		list = append(list, v.given(), v.drawn())
	}
	return list
}

// given compares with the other answers that the dataset gives.
func (v variant) given() metrics.Metric {
	m := v.Metric
	m.Min = min(m.Min, 0)
	m.Max = 1
	m.Needs |= metrics.Answer | metrics.OtherAnswers
	m.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		return v.compared(ctx, models, s, metrics.TextsOf(metrics.NonBlank(s.OtherAnswers)))
	}
	return m
}

// drawn compares with answers that are drawn from the model of the system, whatever the dataset gives.
func (v variant) drawn() metrics.Metric {
	m := v.given()
	m.Name += "_drawn"
	m.Doc += "; with five answers drawn from the model of the system"
	m.Calls = "5 replies of the sample model"
	if len(v.Asks) > 0 {
		m.Calls += "; " + v.Calls
	}
	m.Needs = m.Needs&^metrics.OtherAnswers | metrics.Question
	m.Asks = m.Asks.With(metrics.Asks{backend.Sampler: backend.CanGenerate})
	m.Prompts = append([]*prompts.Prompt{answerPrompt}, m.Prompts...)
	m.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		others, err := draw(ctx, models, s)
		if err != nil {
			return metrics.Score{}, err
		}
		return v.compared(ctx, models, s, others)
	}
	return m
}

// compared is compare, with the other answers in evidence.
func (v variant) compared(ctx context.Context, m metrics.Models, s *metrics.Sample, others []string) (metrics.Score, error) {
	score, err := v.compare(ctx, m, s, others)
	if err != nil {
		return metrics.Score{}, err
	}
	for _, text := range others {
		score.Because = append(score.Because, metrics.Finding{Kind: "other answer", Text: metrics.Bounded(text)})
	}
	return score, nil
}

// sentences are those of the answer that hold a word.
func sentences(s *metrics.Sample) ([]string, error) {
	own := metrics.Worded(s.Answer)
	if len(own) == 0 {
		return nil, fmt.Errorf("%w: the answer %q holds no word", metrics.ErrNotApplicable, metrics.Bounded(s.Answer))
	}
	return own, nil
}

// mean is the mean over an answer's sentences.
func mean(sentences []string, values []float64) metrics.Score {
	var score metrics.Score
	for i, sentence := range sentences {
		score.Value += values[i] / float64(len(sentences))
		score.Because = append(score.Because, metrics.Finding{Kind: "sentence", Text: sentence, Value: &values[i]})
	}
	score.Value = metrics.Clamp(score.Value, -1, 1)
	return score
}

// draws is how many answers are drawn. The paper draws 20; its curves are flat by then, and steep up to about this.
const draws = 5

// answerData is what selfcheck_answer is rendered with.
type answerData struct {
	Question, Context string
	History           []metrics.Turn
}

// errNoAnswer says that a reply holds no word.
var errNoAnswer = errors.New("no answer in the reply")

// draw has the model of the system answer the question, by the contexts where there are any. A draw that reaches its
// length limit is a shorter answer.
func draw(ctx context.Context, m metrics.Models, s *metrics.Sample) ([]string, error) {
	m.Roles = metrics.Roles{backend.Judge: m.Role(backend.Sampler)} // which is asked as a judge is
	m.Thought = 0
	data := answerData{Question: s.Question, Context: metrics.NewPassage(s.Contexts).Text, History: s.History}
	var drawn []string
	for i := range draws {
		q := ask.Query{Prompt: answerPrompt, Data: data, First: i, Step: draws}
		text, err := ask.Judge(ctx, m, q, func(r ask.Reply) (string, error) {
			if !tokenize.HasWords(r.Text) {
				return "", errNoAnswer
			}
			return strings.TrimSpace(r.Text), nil
		})
		if err != nil {
			return nil, fmt.Errorf("sample model: %w", err)
		}
		drawn = append(drawn, text)
	}
	return drawn, nil
}

var answerPrompt = prompts.Builtin("selfcheck_answer", prompts.Example{
	Data: answerData{Question: "<question>", Context: "<context>",
		History: history},
	Shown: map[string]string{".Question": "<question>", ".Context": "<context>"},
})

// history stands for the turns before a question in examples of prompts.
var history = []metrics.Turn{{Role: backend.User, Said: "<history>"}, {Role: backend.Assistant, Said: "<reply>"}}
