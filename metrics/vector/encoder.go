package vector

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/pairs"
)

// encoderMetrics are the outputs of a cross-encoder: a small discriminative model that reads a pair of texts in
// one forward pass, with one output of its classification head for each dimension it was trained on. Its labels
// say which output is which.
//
// scripts/train-judge/pairs.py puts its pairs in the same form.
func encoderMetrics() []metrics.Metric {
	list := []metrics.Metric{
		{
			Name: "context_relevance/encoder",
			Doc: "mean probability, over the contexts, that a context is relevant to the question, by a " +
				"cross-encoder",
			Formula: "mean over contexts of the maximum over a context's windows of P(relevant | question, window)",
			Calls:   "1 pair for the cross-encoder for each window of up to 160 words of each context",
			Needs:   metrics.Question | metrics.Contexts,
			Turns:   metrics.TurnsAsked,
			Outputs: []string{"context_relevance"},
			Score:   scoreContextEncoder,
		},
		{
			Name: "faithfulness/encoder",
			Doc: "mean probability, over the answer's sentences, that a sentence is supported by the contexts, by a " +
				"cross-encoder",
			Formula: "mean over the answer's sentences of the maximum, over the windows of the contexts that are read, " +
				"of P(supported | sentence, window)",
			Calls:   faithfulnessCalls,
			Needs:   metrics.Answer | metrics.Contexts,
			Outputs: []string{"faithfulness"},
			Score:   scoreFaithfulnessEncoder,
		},
		{
			Name: "faithfulness/encoder_least",
			Doc: "probability that the answer's least supported sentence is supported by the contexts, by a " +
				"cross-encoder",
			Formula: "minimum over the answer's sentences of what faithfulness/encoder takes the mean of",
			Calls:   faithfulnessCalls,
			Needs:   metrics.Answer | metrics.Contexts,
			Outputs: []string{"faithfulness"},
			Score:   scoreLeastEncoder,
		},
		{
			Name: "faithfulness/contradiction",
			Doc: "probability that the contexts contradict a sentence of the answer, by a cross-encoder: the highest " +
				"over the sentences",
			Formula: "maximum over the answer's sentences, in the window that supports a sentence most, of " +
				"P(contradicted | sentence, window) * (1 - P(supported | sentence, window))",
			Calls:         faithfulnessCalls,
			Needs:         metrics.Answer | metrics.Contexts,
			Outputs:       []string{"faithfulness", "contradiction"},
			LowerIsBetter: true,
			Score:         scoreContradictionEncoder,
		},
		stanceRate("contradicted", contradicted),
		stanceRate("not_said", notSaid),
		{
			Name:    "answer_relevance/encoder",
			Doc:     "probability that the answer answers the question, by a cross-encoder",
			Formula: "maximum over the answer's windows of P(answers | question, window)",
			Calls:   "1 pair for the cross-encoder for each window of up to 160 words of the answer",
			Needs:   metrics.Question | metrics.Answer,
			Turns:   metrics.TurnsAsked,
			Outputs: []string{"answer_relevance"},
			Score:   scoreAnswerEncoder,
		},
		{
			Name: "answer_relevance/ares_encoder",
			Doc: "probability that the answer answers the question and that the contexts contradict none of it, by a " +
				"cross-encoder: ARES' definition",
			Formula: "answer_relevance/encoder * (1 - faithfulness/contradiction)",
			Calls:   "1 pair for the cross-encoder for each window of up to 160 words of the answer, and " + faithfulnessCalls,
			Needs:   metrics.Question | metrics.Answer | metrics.Contexts,
			Outputs: []string{"answer_relevance", "faithfulness", "contradiction"},
			Score:   scoreARESEncoder,
		},
		{
			Name:    "answer_correctness/encoder",
			Doc:     "probability that the answer says the same as the best reference, by a cross-encoder",
			Formula: "maximum over references and the answer's windows of P(same | question and reference, window)",
			Calls: "1 pair for the cross-encoder for each reference with each window of up to 160 words of the " +
				"answer",
			Needs:   metrics.Question | metrics.Answer | metrics.References,
			Turns:   metrics.TurnsAsked,
			Outputs: []string{"answer_correctness"},
			Score:   scoreCorrectnessEncoder,
		},
	}
	for i := range list {
		list[i].Source = "cross-encoders (Nogueira and Cho 2019, arXiv 1901.04085) as trained judges (ARES, " +
			"Saad-Falcon et " +
			"al. 2024, arXiv 2311.09476)"
		list[i].Max = 1
		list[i].Asks = metrics.Asks{backend.Encoder: backend.CanClassify}
	}
	return list
}

const faithfulnessCalls = "1 pair for the cross-encoder for each sentence of the answer with up to 2 windows of up to " +
	"160 words of the contexts, those that share its rarest words first, until one supports it"

// Judges reports whether a model with these labels is an encoder that metrics read: whether one of its labels is
// theirs.
func Judges(labels []string) bool {
	return slices.ContainsFunc(encoderMetrics(), func(m metrics.Metric) bool {
		return slices.Contains(labels, m.Outputs[0])
	})
}

func scoreContextEncoder(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	contexts := metrics.Saying(s.Contexts)
	if len(contexts.Texts) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: no context has a word", metrics.ErrNotApplicable)
	}
	var score metrics.Score
	for i, text := range contexts.Texts {
		best, windows, err := pairs.Read(ctx, m, "context_relevance", []string{s.Question}, []string{text}, 0)
		if err != nil {
			return metrics.Score{}, err
		}
		score.Value += best[0].Chance
		score.Because = append(score.Because, metrics.Finding{Kind: "passage", Text: best[0].Text,
			Value: &best[0].Chance,
			Where: fmt.Sprintf("context %d", contexts.Places[i]) + best[0].Where(", ", windows)})
	}
	score.Value = metrics.Clamp(score.Value/float64(len(contexts.Texts)), 0, 1)
	return score, nil
}

func scoreFaithfulnessEncoder(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	verdicts, err := readSentences(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	for i := range verdicts {
		score.Value += verdicts[i].Chance
		score.Because = append(score.Because, verdicts[i].finding())
	}
	score.Value = metrics.Clamp(score.Value/float64(len(verdicts)), 0, 1)
	return score, nil
}

func scoreLeastEncoder(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	verdicts, err := readSentences(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	least := slices.MinFunc(verdicts, func(a, b sentenceVerdict) int { return cmp.Compare(a.Chance, b.Chance) })
	return metrics.Score{Value: least.Chance, Because: []metrics.Finding{least.finding()}}, nil
}

func scoreContradictionEncoder(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	verdicts, err := readSentences(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	most := slices.MaxFunc(verdicts, func(a, b sentenceVerdict) int {
		return cmp.Compare(a.contradicted(), b.contradicted())
	})
	value := most.contradicted()
	f := most.finding()
	f.Value = &value
	return metrics.Score{Value: value, Because: []metrics.Finding{f}}, nil
}

// stanceRate is the share of the answer's sentences for which one of the three verdicts is the likeliest. That of the
// supported ones is what is left to 1.
func stanceRate(name string, counted stance) metrics.Metric {
	return metrics.Metric{
		Name: "faithfulness/encoder_" + name,
		Doc: "share of the answer's sentences that are " + counted.String() + " by the contexts, of three verdicts, by a " +
			"cross-encoder",
		Formula: "sentences whose likeliest verdict is " + counted.String() + " / sentences; P(contradicted) as in " +
			"faithfulness/contradiction, P(not said) what is left to 1",
		Calls:         faithfulnessCalls,
		Needs:         metrics.Answer | metrics.Contexts,
		Outputs:       []string{"faithfulness", "contradiction"},
		LowerIsBetter: true,
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			verdicts, err := readSentences(ctx, m, s)
			if err != nil {
				return metrics.Score{}, err
			}
			n := 0
			var because []metrics.Finding
			for i := range verdicts {
				if verdicts[i].stance() == counted {
					n++
				}
				because = append(because, verdicts[i].finding())
			}
			return metrics.Portion(n, len(verdicts), because), nil
		},
	}
}

// A stance is one of the three verdicts.
type stance int

const (
	supported stance = iota
	contradicted
	notSaid
)

func (v stance) String() string { return [...]string{"supported", "contradicted", "not said"}[v] }

// A sentenceVerdict is what the encoder says of a sentence of the answer.
type sentenceVerdict struct {
	sentence string
	pairs.Reading
	windows int // that the contexts have
}

// contradicted is the probability that the window contradicts the sentence: that it does not support it, and that what
// it says is otherwise rather than nothing.
func (v *sentenceVerdict) contradicted() float64 { return v.Against * (1 - v.Chance) }

// stance is the likeliest of the three verdicts.
func (v *sentenceVerdict) stance() stance {
	unsaid := 1 - v.Chance - v.contradicted()
	switch {
	case v.Chance >= max(unsaid, v.contradicted()):
		return supported
	case v.contradicted() >= unsaid:
		return contradicted
	}
	return notSaid
}

// finding says which of three verdicts is the likeliest: supported, contradicted or not said. An encoder without an
// output for contradiction gives a probability only.
func (v *sentenceVerdict) finding() metrics.Finding {
	f := metrics.Finding{Kind: "sentence", Text: v.sentence, Value: &v.Chance, Where: v.Where("", v.windows)}
	if !v.Told {
		return f
	}
	s := v.stance()
	yes := s == supported
	f.Verdict = &yes
	switch s {
	case contradicted:
		f.Reason = "contradicted: the contexts say otherwise"
	case notSaid:
		f.Reason = "not said: the contexts say neither this nor otherwise"
	}
	return f
}

// readSentences reads every sentence of the answer with the contexts.
func readSentences(ctx context.Context, m metrics.Models, s *metrics.Sample) ([]sentenceVerdict, error) {
	contexts := metrics.Saying(s.Contexts)
	sentences, err := pairs.Sentences(s.Answer)
	if err != nil {
		return nil, err
	}
	if len(sentences) == 0 || len(contexts.Texts) == 0 {
		return nil, fmt.Errorf("%w: the answer or the contexts hold no sentence", metrics.ErrNotApplicable)
	}
	best, windows, err := pairs.Read(ctx, m, "faithfulness", sentences, contexts.Texts, pairs.Most)
	if err != nil {
		return nil, err
	}
	verdicts := make([]sentenceVerdict, len(sentences))
	for i, sentence := range sentences {
		verdicts[i] = sentenceVerdict{sentence, best[i], windows}
	}
	return verdicts, nil
}

func scoreAnswerEncoder(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	best, windows, err := pairs.Read(ctx, m, "answer_relevance", []string{s.Question}, []string{s.Answer}, 0)
	if err != nil {
		return metrics.Score{}, err
	}
	return metrics.Score{Value: best[0].Chance, Because: []metrics.Finding{
		{Kind: "passage", Text: best[0].Text, Value: &best[0].Chance, Where: best[0].Where("", windows)}}}, nil
}

// scoreARESEncoder reads the two ways in which ARES has an answer fail: it answers something else, as the answer to
// another question does, or the passage says otherwise. ARES trains one classifier on query, passage and answer.
func scoreARESEncoder(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	answers, err := scoreAnswerEncoder(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	contradicted, err := scoreContradictionEncoder(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	return metrics.Score{Value: answers.Value * (1 - contradicted.Value),
		Because: append(answers.Because, contradicted.Because...)}, nil
}

func scoreCorrectnessEncoder(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	references := metrics.Saying(s.References)
	if len(references.Texts) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: no reference has a word", metrics.ErrNotApplicable)
	}
	queries := make([]string, len(references.Texts))
	for i, text := range references.Texts {
		queries[i] = s.Question + " | " + text
	}
	best, windows, err := pairs.Read(ctx, m, "answer_correctness", queries, []string{s.Answer}, 0)
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	for i, text := range references.Texts {
		score.Value = max(score.Value, best[i].Chance)
		score.Because = append(score.Because, metrics.Finding{Kind: "reference", Text: text, Value: &best[i].Chance,
			Where: best[i].Where("", windows)})
	}
	return score, nil
}
