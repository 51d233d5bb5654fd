package vector

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
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
			Calls:   "1 pair for the cross-encoder for each window of up to 128 words of each context",
			Needs:   metrics.Question | metrics.Contexts,
			Outputs: []string{"context_relevance"},
			Score:   scoreContextEncoder,
		},
		{
			Name: "faithfulness/encoder",
			Doc: "mean probability, over the answer's sentences, that a sentence is supported by the contexts, by a " +
				"cross-encoder",
			Formula: "mean over the answer's sentences of the maximum over windows of the contexts of P(supported | " +
				"sentence, window)",
			Calls: "1 pair for the cross-encoder for each sentence of the answer with each window of up to 128 words " +
				"of " +
				"the contexts",
			Needs:   metrics.Answer | metrics.Contexts,
			Outputs: []string{"faithfulness"},
			Score:   scoreFaithfulnessEncoder,
		},
		{
			Name:    "answer_relevance/encoder",
			Doc:     "probability that the answer answers the question, by a cross-encoder",
			Formula: "maximum over the answer's windows of P(answers | question, window)",
			Calls:   "1 pair for the cross-encoder for each window of up to 128 words of the answer",
			Needs:   metrics.Question | metrics.Answer,
			Outputs: []string{"answer_relevance"},
			Score:   scoreAnswerEncoder,
		},
		{
			Name:    "answer_correctness/encoder",
			Doc:     "probability that the answer says the same as the best reference, by a cross-encoder",
			Formula: "maximum over references and the answer's windows of P(same | question and reference, window)",
			Calls: "1 pair for the cross-encoder for each reference with each window of up to 128 words of the " +
				"answer",
			Needs:   metrics.Question | metrics.Answer | metrics.References,
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
		best, windows, err := encodeWindows(ctx, m, "context_relevance", []string{s.Question}, []string{text})
		if err != nil {
			return metrics.Score{}, err
		}
		score.Value += best[0].chance
		score.Because = append(score.Because, metrics.Finding{Kind: "passage", Text: best[0].text,
			Value: &best[0].chance,
			Where: fmt.Sprintf("context %d", contexts.Places[i]) + best[0].where(", ", windows)})
	}
	score.Value = metrics.Clamp(score.Value/float64(len(contexts.Texts)), 0, 1)
	return score, nil
}

func scoreFaithfulnessEncoder(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	contexts := metrics.Saying(s.Contexts)
	sentences, err := shortSentences(s.Answer)
	if err != nil {
		return metrics.Score{}, err
	}
	if len(sentences) == 0 || len(contexts.Texts) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the answer or the contexts hold no sentence", metrics.ErrNotApplicable)
	}
	best, windows, err := encodeWindows(ctx, m, "faithfulness", sentences, contexts.Texts)
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	for i, sentence := range sentences {
		score.Value += best[i].chance
		score.Because = append(score.Because,
			metrics.Finding{Kind: "sentence", Text: sentence, Value: &best[i].chance,
				Where: best[i].where("", windows)})
	}
	score.Value = metrics.Clamp(score.Value/float64(len(sentences)), 0, 1)
	return score, nil
}

func scoreAnswerEncoder(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	best, windows, err := encodeWindows(ctx, m, "answer_relevance", []string{s.Question}, []string{s.Answer})
	if err != nil {
		return metrics.Score{}, err
	}
	return metrics.Score{Value: best[0].chance, Because: []metrics.Finding{
		{Kind: "passage", Text: best[0].text, Value: &best[0].chance, Where: best[0].where("", windows)}}}, nil
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
	best, windows, err := encodeWindows(ctx, m, "answer_correctness", queries, []string{s.Answer})
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	for i, text := range references.Texts {
		score.Value = max(score.Value, best[i].chance)
		score.Because = append(score.Because, metrics.Finding{Kind: "reference", Text: text, Value: &best[i].chance,
			Where: best[i].where("", windows)})
	}
	return score, nil
}

// encoderWords is the most words of a text that the encoder is shown at once: about as much as it was trained on,
// and much less than its context length. Models of this kind get worse with length well before they refuse.
const encoderWords = 128

// A windowChance is the window of a text with the highest probability, and that probability.
type windowChance struct {
	chance float64
	text   string
	window int // from 1
}

// where says which of several windows it is, after a comma or the like; "" for the only one.
func (w windowChance) where(before string, windows int) string {
	if windows < 2 {
		return ""
	}
	return fmt.Sprintf("%swindow %d of %d", before, w.window, windows)
}

// encodeWindows returns, for each query, the highest probability of its pair with any window of the texts, one of
// which at least is not blank, and the number of windows.
func encodeWindows(ctx context.Context, m metrics.Models, label string, queries,
	texts []string) ([]windowChance, int, error) {
	best := make([]windowChance, len(queries))
	windows := 0
	ask := func(text string) error {
		if err := withinWords(text, encoderWords); err != nil {
			return err
		}
		pairs := make([]backend.Pair, len(queries))
		for i, q := range queries {
			pairs[i] = backend.Pair{Query: q, Text: text}
		}
		chances, err := encode(ctx, m, label, pairs)
		if err != nil {
			return err
		}
		windows++
		for i, c := range chances {
			if windows == 1 || c > best[i].chance {
				best[i] = windowChance{c, text, windows}
			}
		}
		return nil
	}
	for _, text := range encoderWindows(texts) {
		if _, err := metrics.NewPassage([]string{text}).InWindows(true, ask); err != nil {
			return nil, 0, err
		}
	}
	return best, windows, nil
}

// encoderWindows cuts texts into windows filled with up to encoderWords words each. A window begins with the sentence
// that ended the one before, where there is room for both it and a new one. A sentence that is too long has one for
// itself.
func encoderWindows(texts []string) []string {
	p := metrics.NewPassage(texts)
	length := make([]int, len(p.Sentences))
	for i, s := range p.Sentences {
		length[i] = len(tokenize.Words(s.Text))
	}
	var list []string
	for start := 0; start < len(length); {
		end, words := start, 0
		for end == start || end < len(length) && words+length[end] <= encoderWords {
			words += length[end]
			end++
		}
		list = append(list, p.Text[p.Sentences[start].Start:p.Sentences[end-1].End])
		if again := end - 1; end < len(length) && again > start && length[again]+length[end] <= encoderWords {
			end = again
		}
		start = end
	}
	return list
}

// withinWords refuses a text of too many words as an engine does one that exceeds its context length, so that it
// is split.
func withinWords(text string, most int) error {
	if n := len(tokenize.Words(text)); n > most {
		return &backend.TooLongError{Tokens: n, Limit: most}
	}
	return nil
}

// shortSentences returns a text's sentences that have a word, those that are far too long in parts.
func shortSentences(text string) ([]string, error) {
	var list []string
	for _, sentence := range metrics.NumberedSentences([]string{text}).Texts {
		_, err := metrics.NewPassage([]string{sentence}).InWindows(false, func(part string) error {
			if err := withinWords(part, encoderWords/2); err != nil {
				return err
			}
			list = append(list, part)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// encode returns the probability of each pair, by the output with this label, and notes the cache keys.
func encode(ctx context.Context, m metrics.Models, label string, pairs []backend.Pair) ([]float64, error) {
	info := m.Role(backend.Encoder).Info()
	output, err := metrics.EncoderOutput(info, label)
	if err != nil {
		return nil, err
	}
	answer, err := backend.Classify(ctx, m.Role(backend.Encoder), pairs)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	chances := make([]float64, len(pairs))
	for i, numbers := range answer {
		m.Note(backend.EncodeKey(info, backend.HeadOutputs, pairs[i]), 0, 0)
		if want := max(1, len(info.Labels)); len(numbers) != want {
			return nil, fmt.Errorf("encoder: %d numbers where its labels make it %d", len(numbers), want)
		}
		x := float64(numbers[output])
		if math.IsNaN(x) {
			return nil, fmt.Errorf("encoder: its number for %q is not one", metrics.Bounded(pairs[i].Text))
		}
		chances[i] = stats.Logistic(x)
	}
	return chances, nil
}
