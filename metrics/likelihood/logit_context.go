package likelihood

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// contextLogitMetrics are logitMetrics about contexts.
func contextLogitMetrics() []metrics.Metric {
	return []metrics.Metric{
		contextRelevanceLogit(), contextRelevanceSentencesLogit(), contextPrecisionLogit(), contextRecallLogit(),
	}
}

func contextRelevanceLogit() metrics.Metric {
	return metrics.Metric{
		Name: "context_relevance/logit",
		Doc:  "mean probability, over the contexts, that a context is relevant to the question",
		Source: "Assay; ARES' label of context relevance (Saad-Falcon et al. 2023, arXiv 2311.09476), asked in one " +
			"question",
		Formula: "sum of P(yes) over contexts / contexts; of several windows of a context, the highest",
		Calls:   "1 first-token scoring for each context",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Contexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{contextRelevanceYesPrompt},
		Score:   scoreContextRelevanceLogit,
	}
}

func contextRelevanceSentencesLogit() metrics.Metric {
	return metrics.Metric{
		Name: "context_relevance/sentences_logit",
		Doc:  "mean probability, over the contexts' sentences, that a sentence is relevant to the question",
		Source: "RAGAS (Es et al. 2023, arXiv 2309.15217), section 3, with a question about each sentence in place " +
			"of extraction",
		Formula: "sum of P(yes) over sentences / sentences of the contexts",
		Calls:   "1 first-token scoring for each sentence of the contexts",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Contexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{contextRelevanceSentenceYesPrompt},
		Score:   scoreSentencesLogit,
	}
}

func contextPrecisionLogit() metrics.Metric {
	return metrics.Metric{
		Name:    "context_precision/logit",
		Doc:     "expected average precision of the ranked contexts, each useful with its probability",
		Source:  "Ragas' context precision (Es et al. 2023), its verdicts by first-token scoring",
		Formula: "E[average precision], where context k is useful with P(yes), independently",
		Calls: "1 first-token scoring for each context and reference, or for each context where there is no " +
			"reference",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Contexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{contextPrecisionYesPrompt},
		Score:   scoreContextPrecisionLogit,
	}
}

func contextRecallLogit() metrics.Metric {
	return metrics.Metric{
		Name:    "context_recall/logit",
		Doc:     "mean probability, over the reference's sentences, that a sentence is supported by the contexts",
		Source:  "Ragas' context recall (Es et al. 2023), its verdicts by first-token scoring",
		Formula: "sum of P(yes) over sentences / sentences of the reference with which that is highest",
		Calls:   "1 first-token scoring for each sentence of the references",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Contexts | metrics.References,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{contextRecallYesPrompt},
		Score:   scoreContextRecallLogit,
	}
}

// scoreContextRelevanceLogit takes the mean over contexts, not the maximum: context relevance is to find
// retrieved contexts that are irrelevant.
func scoreContextRelevanceLogit(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	contexts := metrics.NonBlank(s.Contexts)
	var score metrics.Score
	mass := 1.0
	for _, c := range contexts {
		p, err := ask.PollView(ctx, m, contextRelevanceYesPrompt, metrics.View{Sample: s, Context: c.Number}, 1,
			func(e metrics.Excerpt, _ int) any {
				return contextData{e.Row, c.Number, s.Question, e.Text, s.History}
			})
		if err != nil {
			return metrics.Score{}, err
		}
		yes, where := p.Highest(0)
		score.Value, mass = score.Value+yes/float64(len(contexts)), min(mass, p.Mass)
		score.Because = append(score.Because, metrics.Finding{Kind: "context", Text: metrics.Bounded(c.Text),
			Value: &yes, Where: c.Where(where)})
	}
	score.Value = min(1, score.Value)
	score.Because = append(score.Because, ask.Doubts(mass)...)
	return score, nil
}

// sentenceData is what context_relevance_sentence_yes is rendered with.
type sentenceData struct {
	Row                         metrics.Row
	Number                      int // of the sentence
	Context, Question, Sentence string
	History                     []metrics.Turn
}

// scoreSentencesLogit shows a sentence with the context around it, without which "it" means nothing. The prompts
// about one context share a prefix, all but their last line.
func scoreSentencesLogit(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	var score metrics.Score
	var chances []float64
	mass := 1.0
	for _, c := range metrics.NonBlank(s.Contexts) {
		view := metrics.View{Sample: s, Context: c.Number}
		_, err := view.InWindows(ask.InRow(m, contextRelevanceSentenceYesPrompt), func(e metrics.Excerpt) error {
			var found []metrics.Finding
			least := 1.0
			for _, sentence := range e.Sentences {
				if !tokenize.HasWords(sentence.Text) {
					continue
				}
				p, err := ask.PollOnce(ctx, m, contextRelevanceSentenceYesPrompt,
					sentenceData{e.Row, sentence.Number, e.Text, s.Question, sentence.Text, s.History})
				if err != nil {
					return err
				}
				least = min(least, p.Mass)
				found = append(found, metrics.Finding{Kind: "sentence", Text: sentence.Text, Value: &p.Yes[0][0],
					Where: c.Where("")})
			}
			for _, f := range found {
				chances = append(chances, *f.Value)
			}
			score.Because = append(score.Because, found...)
			mass = min(mass, least)
			return nil
		})
		if err != nil {
			return metrics.Score{}, err
		}
	}
	if len(chances) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the contexts hold no sentence", metrics.ErrNotApplicable)
	}
	for _, p := range chances {
		score.Value += p / float64(len(chances))
	}
	score.Value = min(1, score.Value)
	score.Because = append(score.Because, ask.Doubts(mass)...)
	return score, nil
}

// precisionData is what context_precision_yes is rendered with: Answer is the Reference, or the sample's answer where
// there is none.
type precisionData struct {
	Row                                  metrics.Row
	Number                               int // of the context
	Context, Question, Answer, Reference string
	History                              []metrics.Turn
}

// scoreContextPrecisionLogit asks whether a context is useful for arriving at the reference answer, at the answer
// itself where there is no reference. A blank context keeps its rank, and is not useful.
func scoreContextPrecisionLogit(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	references := metrics.NonBlank(s.References)
	answers := references
	if len(answers) == 0 {
		answers = metrics.NonBlank([]string{s.Answer})
	}
	if len(answers) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the sample has neither reference_answers nor an answer",
			metrics.ErrNotApplicable)
	}
	var score metrics.Score
	useful := make([]float64, len(s.Contexts))
	mass := 1.0
	for _, c := range metrics.NonBlank(s.Contexts) {
		p, err := ask.PollView(ctx, m, contextPrecisionYesPrompt, metrics.View{Sample: s, Context: c.Number}, len(answers),
			func(e metrics.Excerpt, i int) any {
				d := precisionData{e.Row, c.Number, e.Text, s.Question, answers[i].Text, "", s.History}
				if len(references) > 0 {
					d.Reference = references[i].Text
				}
				return d
			})
		if err != nil {
			return metrics.Score{}, err
		}
		best, where := p.Highest(0)
		for i := range answers {
			if yes, at := p.Highest(i); yes > best {
				best, where = yes, at
			}
		}
		useful[c.Number-1], mass = best, min(mass, p.Mass)
		score.Because = append(score.Because, metrics.Finding{Kind: "context", Text: metrics.Bounded(c.Text),
			Value: &best, Where: c.Where(where)})
	}
	score.Value = expectedPrecision(useful)
	score.Because = append(score.Because, ask.Doubts(mass)...)
	return score, nil
}

// expectedPrecision is the expected average precision of a ranking whose items are useful with the given
// probabilities, independently. Average precision is the mean of precision@k over the useful ranks k; a ranking
// without any has 0.
//
// If rank k is useful, with a useful ones before it and b after, it adds (a+1)/k to a mean over a+1+b.
func expectedPrecision(useful []float64) float64 {
	after := make([][]float64, len(useful)) // for each rank, the distribution of the number of useful ones after it
	count := []float64{1}
	for k := len(useful) - 1; k >= 0; k-- {
		after[k] = count
		count = oneMore(count, useful[k])
	}
	sum := 0.0
	before := []float64{1}
	for k, p := range useful {
		for a, pa := range before {
			for b, pb := range after[k] {
				sum += p * pa * pb * float64(a+1) / float64((k+1)*(a+1+b))
			}
		}
		before = oneMore(before, p)
	}
	return min(1, sum)
}

// oneMore adds a trial with success probability p to a Poisson binomial distribution.
func oneMore(count []float64, p float64) []float64 {
	next := make([]float64, len(count)+1)
	for n, pn := range count {
		next[n] += pn * (1 - p)
		next[n+1] += pn * p
	}
	return next
}

// sentenceOfData is what context_recall_yes is rendered with: Answer is a sentence of the Reference, and Number its place
// in it.
type sentenceOfData struct {
	Row                       metrics.Row
	Reference                 string
	Number                    int
	Context, Question, Answer string
	History                   []metrics.Turn
}

// scoreContextRecallLogit shows a sentence of the reference as an answer to the question, which says what
// its pronouns stand for.
func scoreContextRecallLogit(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	best := metrics.Score{Value: -1}
	mass := 1.0
	for _, r := range metrics.NonBlank(s.References) {
		sentences := metrics.Worded(r.Text)
		if len(sentences) == 0 {
			continue
		}
		p, err := ask.PollView(ctx, m, contextRecallYesPrompt, metrics.View{Sample: s}, len(sentences),
			func(e metrics.Excerpt, i int) any {
				return sentenceOfData{e.Row, r.Text, i + 1, e.Text, s.Question, sentences[i], s.History}
			})
		if err != nil {
			return metrics.Score{}, err
		}
		mass = min(mass, p.Mass)
		var score metrics.Score
		for i, sentence := range sentences {
			yes, where := p.Highest(i)
			score.Value += yes / float64(len(sentences))
			score.Because = append(score.Because, metrics.Finding{Kind: "sentence", Text: sentence, Value: &yes,
				Where: where})
		}
		if score.Value > best.Value {
			best = score
		}
	}
	if best.Because == nil {
		return metrics.Score{}, fmt.Errorf("%w: the references hold no sentence", metrics.ErrNotApplicable)
	}
	best.Value = min(1, best.Value)
	best.Because = append(best.Because, ask.Doubts(mass)...)
	return best, nil
}

var contextRelevanceSentenceYesPrompt = prompts.Builtin("context_relevance_sentence_yes", prompts.Example{
	Data:  sentenceData{Context: "<context>", Question: "<question>", Sentence: "<sentence>", History: history},
	Shown: map[string]string{".Context": "<context>", ".Question": "<question>", ".Sentence": "<sentence>"},
})

var contextPrecisionYesPrompt = prompts.Builtin("context_precision_yes", prompts.Example{
	Data: precisionData{Context: "<context>", Question: "<question>", Answer: "<answer>", Reference: "<answer>",
		History: history},
	Shown: map[string]string{".Context": "<context>", ".Question": "<question>", ".Answer": "<answer>"},
	Shot: func(s *prompts.Shot) (any, string) {
		if metrics.Blank(s.Context) || metrics.Blank(s.Answer) {
			return nil, ""
		}
		return precisionData{Context: s.Context, Question: s.Question, Answer: s.Answer}, s.Says("context_precision")
	},
	Verdict: true,
})

var contextRecallYesPrompt = prompts.Builtin("context_recall_yes", prompts.Example{
	Data: sentenceOfData{Reference: "<answer>", Number: 1, Context: "<context>", Question: "<question>",
		Answer: "<answer>", History: history},
	Shown: map[string]string{".Context": "<context>", ".Question": "<question>", ".Answer": "<answer>"},
	Shot: func(s *prompts.Shot) (any, string) {
		if metrics.Blank(s.Context) || metrics.Blank(s.Answer) {
			return nil, ""
		}
		return sentenceOfData{Context: s.Context, Question: s.Question, Answer: s.Answer}, s.Says("faithfulness")
	},
	Verdict: true,
})

var contextRelevanceYesPrompt = prompts.Builtin("context_relevance_yes", prompts.Example{
	Data:  contextData{Question: "<question>", Context: "<context>", History: history},
	Shown: map[string]string{".Question": "<question>", ".Context": "<context>"},
	Shot: func(s *prompts.Shot) (any, string) {
		if metrics.Blank(s.Context) || metrics.Blank(s.Question) {
			return nil, ""
		}
		return contextData{Question: s.Question, Context: s.Context}, s.Says("context_relevance")
	},
	Verdict: true,
})
