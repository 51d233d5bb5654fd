package likelihood

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// askedData is what likelihood_answer is rendered with.
type askedData struct {
	Question string
	History  []metrics.Turn
}

// sourceData is what prompts that show nothing but a text are rendered with.
type sourceData struct {
	Text string
}

// followingData is what likelihood_question is rendered with.
type followingData struct {
	Text    string
	History []metrics.Turn
}

// A likelihood is how probable a text is as the continuation of a prompt.
type likelihood struct {
	text   string
	tokens int
	mean   float64 // of the tokens' log-probabilities, natural logarithms
	least  float64 // the lowest of them
}

// likelihoodOf is the likelihood of text as the judge's reply.
func likelihoodOf(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any,
	text string) (likelihood, error) {
	text = strings.TrimSpace(text)
	lists, err := ask.LogProbs(ctx, m, prompt, data, []string{text})
	if err != nil {
		return likelihood{}, err
	}
	l := likelihood{text: text, tokens: len(lists[0]), least: slices.Min(lists[0])}
	for _, x := range lists[0] {
		l.mean += x / float64(l.tokens)
	}
	return l, nil
}

// value is the geometric mean of the tokens' probabilities.
func (l likelihood) value() float64 { return probability(l.mean) }

// probability is exp of a log-probability that may be above 0 by rounding.
func probability(log float64) float64 { return min(1, math.Exp(log)) }

// finding shows the text and what its likelihood comes from.
func (l likelihood) finding(where string) metrics.Finding {
	value := l.value()
	reason := fmt.Sprintf("%d tokens, perplexity %.4g, the least probable token %.2g", l.tokens, math.Exp(-l.mean),
		math.Exp(l.least))
	return metrics.Finding{Kind: "likelihood", Text: metrics.Bounded(l.text), Value: &value, Reason: reason,
		Where: where}
}

// likelihoodInWindows is likelihoodOf after a prompt that shows texts, which may be too long for it: data is
// given the part to show, and the window that makes the text most probable counts.
func likelihoodInWindows(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, texts []string,
	data func(text string) any, text string) (best likelihood, where string, err error) {
	if metrics.Blank(texts...) {
		return likelihood{}, "", fmt.Errorf("%w: there is no text to show", metrics.ErrNotApplicable)
	}
	all, err := metrics.EachWindow(texts, func(shown string) (likelihood, error) {
		return likelihoodOf(ctx, m, prompt, data(shown), text)
	})
	if err != nil {
		return likelihood{}, "", err
	}
	at := metrics.Best(all, func(a, b likelihood) bool { return a.mean > b.mean })
	return all[at], metrics.WindowName(at, len(all)), nil
}

func answerPerplexity() metrics.Metric {
	return metrics.Metric{
		Name: "answer_quality/perplexity",
		Doc: "geometric mean of the answer's token probabilities given the question: the reciprocal of its " +
			"perplexity",
		Source:  "perplexity (Jelinek et al. 1977), its reciprocal, so that it is bounded and higher is better",
		Formula: "exp(mean log p(token)) = 1 / perplexity",
		Calls:   "1 text's log-likelihood",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer,
		Asks:    metrics.Asks{backend.Judge: backend.CanScore},
		Prompts: []*prompts.Prompt{likelihoodAnswerPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			l, err := likelihoodOf(ctx, m, likelihoodAnswerPrompt, askedData{s.Question, s.History}, s.Answer)
			if err != nil {
				return metrics.Score{}, err
			}
			return metrics.Score{Value: l.value(), Because: []metrics.Finding{l.finding("")}}, nil
		},
	}
}

// perplexityMetrics are unitxt's context relevance, over all contexts and over the first few.
func perplexityMetrics() []metrics.Metric {
	base := metrics.Metric{
		Name: "context_relevance/perplexity",
		Doc: "geometric mean of the question's token probabilities given a context, for the context with which " +
			"it is highest",
		Source: "unitxt's perplexity for context relevance (IBM), with our prompt, and without the end-of-sequence " +
			"token",
		Formula: "max over contexts of exp(mean log p(token of the question | context)) = 1 / perplexity",
		Calls:   "1 text's log-likelihood for each context",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Contexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanScore},
		Prompts: []*prompts.Prompt{likelihoodQuestionPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			values, because, err := questionLikelihoods(ctx, m, s, len(s.Contexts))
			if err != nil {
				return metrics.Score{}, err
			}
			return metrics.Score{Value: slices.Max(values), Because: because}, nil
		},
	}
	list := []metrics.Metric{base}
	for _, k := range []int{1, 3, 5} {
		at := base
		at.Name = fmt.Sprintf("context_relevance/perplexity_at_%d", k)
		at.Doc = fmt.Sprintf("geometric mean of the question's token probabilities given a context: "+
			"the mean over the first %d retrieved", k)
		at.Formula = fmt.Sprintf("mean over the first %d contexts, or those there are, of exp(mean log p(token of "+
			"the question | context))", k)
		at.Calls = fmt.Sprintf("%d texts to weigh at most", k)
		if k == 1 {
			at.Doc = "geometric mean of the question's token probabilities given the context retrieved first"
			at.Formula = "exp(mean log p(token of the question | first context))"
			at.Calls = "1 text's log-likelihood"
		}
		at.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			values, because, err := questionLikelihoods(ctx, m, s, k)
			if err != nil {
				return metrics.Score{}, err
			}
			sum := 0.0
			for _, v := range values {
				sum += v
			}
			return metrics.Score{Value: min(1, sum/float64(len(values))), Because: because}, nil
		}
		list = append(list, at)
	}
	return list
}

// questionLikelihoods is the likelihood of the question given each of the first k contexts that hold text, at
// least one.
func questionLikelihoods(ctx context.Context, m metrics.Models, s *metrics.Sample,
	k int) (values []float64, because []metrics.Finding, err error) {
	contexts := metrics.NonBlank(s.Contexts)
	for _, c := range contexts[:min(k, len(contexts))] {
		l, where, err := likelihoodInWindows(ctx, m, likelihoodQuestionPrompt, []string{c.Text}, func(text string) any {
			return followingData{text, s.History}
		}, s.Question)
		if err != nil {
			return nil, nil, err
		}
		f := l.finding(c.Where(where))
		f.Kind, f.Text = "context", metrics.Bounded(c.Text)
		values, because = append(values, *f.Value), append(because, f)
	}
	return values, because, nil
}

func pTrue() metrics.Metric {
	return metrics.Metric{
		Name:    "answer_correctness/p_true",
		Doc:     "probability with which the judge itself holds the answer to be true, without a reference",
		Source:  "P(True) (Kadavath et al. 2022, arXiv 2207.05221), without the brainstormed samples",
		Formula: "P(True) / (P(True) + P(False))",
		Calls:   "1 first-token scoring",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{pTruePrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			p, err := ask.PollOnce(ctx, m, pTruePrompt, exchangeData{Question: s.Question, Answer: s.Answer,
				History: s.History})
			if err != nil {
				return metrics.Score{}, err
			}
			return answerScore(s, p.Yes[0][0], "", p.Mass), nil
		},
	}
}

func answerReward() metrics.Metric {
	return metrics.Metric{
		Name:    "answer_quality/reward",
		Doc:     "a reward model's score of the answer to the question",
		Source:  "unitxt's answer reward (IBM)",
		Formula: "1 / (1 + exp(-reward))",
		Calls:   "1 pair for the judge's classification head",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer,
		Asks:    metrics.Asks{backend.Judge: backend.CanClassify},
		Turns:   metrics.TurnsAsked,
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			reward, err := headOf(ctx, m, backend.Pair{Query: s.Question, Text: s.Answer})
			if err != nil {
				return metrics.Score{}, err
			}
			value := stats.Logistic(reward)
			return metrics.Score{Value: value,
				Because: []metrics.Finding{{Kind: "reward", Text: metrics.Bounded(s.Answer), Value: &reward,
					Reason: "the number that the model's head gave"}}}, nil
		},
	}
}

// headOf returns the single output of the judge's classification head for a pair.
func headOf(ctx context.Context, m metrics.Models, p backend.Pair) (float64, error) {
	lists, err := backend.Classify(ctx, m.Role(backend.Judge), []backend.Pair{p})
	if err != nil {
		return 0, fmt.Errorf("reward: %w", err)
	}
	m.Note(backend.EncodeKey(m.Role(backend.Judge).Info(), backend.HeadOutputs, p), 0, 0)
	if len(lists) != 1 || len(lists[0]) != 1 {
		return 0, fmt.Errorf("reward: the model's head gave %v, want one number: a classifier is no reward model",
			lists)
	}
	x := float64(lists[0][0])
	if !ask.Finite([]float64{x}) {
		return 0, fmt.Errorf("reward: the model's head gave %v", x)
	}
	return x, nil
}

// rewardLikelihood stands in for a reward model where there is none: the pointwise mutual information of question
// and answer. Unlike perplexity it favours no answer for common words alone.
func rewardLikelihood() metrics.Metric {
	return metrics.Metric{
		Name: "answer_quality/reward_likelihood",
		Doc: "pointwise mutual information of question and answer, per token: a substitute for " +
			"answer_quality/reward that needs no reward model, and is none",
		Source: "Assay; pointwise mutual information, per token, in place of unitxt's reward",
		Formula: "1 / (1 + exp(-d)), d = mean log p(token | question) - mean log p(token); 1/2: the question makes " +
			"no difference",
		Calls:   "the log-likelihoods of 2 texts",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer,
		Asks:    metrics.Asks{backend.Judge: backend.CanScore},
		Prompts: []*prompts.Prompt{likelihoodAnswerPrompt, likelihoodAnythingPrompt},
		Score:   scoreRewardLikelihood,
	}
}

func scoreRewardLikelihood(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	asked, err := likelihoodOf(ctx, m, likelihoodAnswerPrompt, askedData{s.Question, s.History}, s.Answer)
	if err != nil {
		return metrics.Score{}, err
	}
	alone, err := likelihoodOf(ctx, m, likelihoodAnythingPrompt, struct{}{}, s.Answer)
	if err != nil {
		return metrics.Score{}, err
	}
	if asked.tokens != alone.tokens {
		return metrics.Score{},
			errors.New("the answer is cut into other tokens after the question than without it: they cannot be " +
				"compared")
	}
	return metrics.Score{
		Value:   stats.Logistic(asked.mean - alone.mean),
		Because: []metrics.Finding{asked.finding("after the question"), alone.finding("without it")},
	}, nil
}

var likelihoodAnswerPrompt = prompts.Builtin("likelihood_answer", prompts.Example{
	Data:  askedData{Question: "<question>", History: history},
	Shown: map[string]string{".Question": "<question>"},
})

var likelihoodAnythingPrompt = prompts.Builtin("likelihood_anything", prompts.Example{Data: struct{}{}})

var likelihoodQuestionPrompt = prompts.Builtin("likelihood_question", prompts.Example{
	Data:  followingData{Text: "<text>", History: history},
	Shown: map[string]string{".Text": "<text>"},
})

var pTruePrompt = prompts.Builtin("p_true", exchangeExample("answer_correctness"))
