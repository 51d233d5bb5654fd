package selfcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

func nli() variant {
	return variant{
		Metric: metrics.Metric{
			Name: "faithfulness/selfcheck_nli",
			Doc: "consistency with other answers of the system: mean probability, by an encoder, that one entails a " +
				"sentence of the answer rather than contradicts it",
			Source:  source + ".4, the other answer as premise; or by the encoder judge that comes with Assay",
			Formula: "mean over sentences and other answers of P(entailment) / (P(entailment) + P(contradiction))",
			Calls:   "1 pair for the encoder for each sentence and other answer",
			Asks:    metrics.Asks{backend.Encoder: backend.CanClassify},
			Fits: func(role backend.Role, info backend.Info) error {
				if role != backend.Encoder {
					return nil
				}
				_, err := readingOf(info)
				return err
			},
		},
		compare: compareNLI,
	}
}

func compareNLI(ctx context.Context, m metrics.Models, s *metrics.Sample, others []string) (metrics.Score, error) {
	own, err := sentences(s)
	if err != nil {
		return metrics.Score{}, err
	}
	encoder := m.Role(backend.Encoder)
	how, err := readingOf(encoder.Info())
	if err != nil {
		return metrics.Score{}, err
	}
	means := make([]float64, len(own))
	for _, other := range others {
		entailed := make([]float64, len(own))
		_, err := metrics.NewPassage([]string{other}).InWindows(true, func(part string) error {
			chances, err := how.entailed(ctx, m, part, own)
			for i, chance := range chances {
				entailed[i] = max(entailed[i], chance)
			}
			return err
		})
		if err != nil {
			return metrics.Score{}, err
		}
		for i := range own {
			means[i] += entailed[i] / float64(len(others))
		}
	}
	return mean(own, means), nil
}

// A reading says how an encoder tells entailment from contradiction.
type reading struct {
	entailment, contradiction int // the outputs

	// judge says that it is an encoder judge of Assay's own, which is shown the sentence first. Its outputs are logits of
	// two questions: whether a text says a sentence and, where it does not, whether it says otherwise. Those of an NLI
	// model are shares of one whole.
	judge bool
}

// readingOf finds the outputs by their labels.
func readingOf(info backend.Info) (reading, error) {
	at := func(label string) int {
		return slices.IndexFunc(info.Labels, func(l string) bool { return strings.EqualFold(l, label) })
	}
	r := reading{entailment: at("entailment"), contradiction: at("contradiction")}
	if r.entailment < 0 {
		r.entailment, r.judge = at("faithfulness"), true
	}
	if r.entailment < 0 || r.contradiction < 0 {
		return r, fmt.Errorf("%s on %s has the outputs %q: name an encoder of natural language inference, with outputs "+
			"entailment and contradiction, or the encoder judge, with faithfulness and contradiction", info.Model, info.Engine,
			strings.Join(info.Labels, ","))
	}
	return r, nil
}

// errNoNumber says that an output of an encoder is no number.
var errNoNumber = errors.New("encoder: one of its numbers is not one")

// entailed is, for each sentence, P(entailment) / (P(entailment) + P(contradiction)), given a text.
func (r reading) entailed(ctx context.Context, m metrics.Models, text string, sentences []string) ([]float64, error) {
	pairs := make([]backend.Pair, len(sentences))
	for i, sentence := range sentences {
		pairs[i] = backend.Pair{Query: text, Text: sentence}
		if r.judge {
			pairs[i] = backend.Pair{Query: sentence, Text: text}
		}
	}
	encoder := m.Role(backend.Encoder)
	outputs, err := backend.Classify(ctx, encoder, pairs)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	chances := make([]float64, len(sentences))
	for i, numbers := range outputs {
		m.Note(backend.EncodeKey(encoder.Info(), backend.HeadOutputs, pairs[i]), 0, 0)
		if max(r.entailment, r.contradiction) >= len(numbers) {
			return nil, fmt.Errorf("encoder: %d numbers where its labels make it %d", len(numbers), len(encoder.Info().Labels))
		}
		pro, against := float64(numbers[r.entailment]), float64(numbers[r.contradiction])
		if pro != pro || against != against {
			return nil, errNoNumber
		}
		chances[i] = stats.Logistic(pro - against) // the softmax of two
		if r.judge {
			said := stats.Logistic(pro)
			otherwise := (1 - said) * stats.Logistic(against)
			chances[i] = said / (said + otherwise)
		}
	}
	return chances, nil
}
