package vector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
		best, windows, err := encodeWindows(ctx, m, "context_relevance", []string{s.Question}, []string{text}, 0)
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
	verdicts, err := readSentences(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	for i := range verdicts {
		score.Value += verdicts[i].chance
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
	least := slices.MinFunc(verdicts, func(a, b sentenceVerdict) int { return cmp.Compare(a.chance, b.chance) })
	return metrics.Score{Value: least.chance, Because: []metrics.Finding{least.finding()}}, nil
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
	reading
	windows int // that the contexts have
}

// contradicted is the probability that the window contradicts the sentence: that it does not support it, and that what
// it says is otherwise rather than nothing.
func (v *sentenceVerdict) contradicted() float64 { return v.against * (1 - v.chance) }

// stance is the likeliest of the three verdicts.
func (v *sentenceVerdict) stance() stance {
	unsaid := 1 - v.chance - v.contradicted()
	switch {
	case v.chance >= max(unsaid, v.contradicted()):
		return supported
	case v.contradicted() >= unsaid:
		return contradicted
	}
	return notSaid
}

// finding says which of three verdicts is the likeliest: supported, contradicted or not said. An encoder without an
// output for contradiction gives a probability only.
func (v *sentenceVerdict) finding() metrics.Finding {
	f := metrics.Finding{Kind: "sentence", Text: v.sentence, Value: &v.chance, Where: v.where("", v.windows)}
	if !v.told {
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
	sentences, err := shortSentences(s.Answer)
	if err != nil {
		return nil, err
	}
	if len(sentences) == 0 || len(contexts.Texts) == 0 {
		return nil, fmt.Errorf("%w: the answer or the contexts hold no sentence", metrics.ErrNotApplicable)
	}
	best, windows, err := encodeWindows(ctx, m, "faithfulness", sentences, contexts.Texts, mostWindows)
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
	best, windows, err := encodeWindows(ctx, m, "answer_relevance", []string{s.Question}, []string{s.Answer}, 0)
	if err != nil {
		return metrics.Score{}, err
	}
	return metrics.Score{Value: best[0].chance, Because: []metrics.Finding{
		{Kind: "passage", Text: best[0].text, Value: &best[0].chance, Where: best[0].where("", windows)}}}, nil
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
	best, windows, err := encodeWindows(ctx, m, "answer_correctness", queries, []string{s.Answer}, 0)
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
const encoderWords = 160

// A sentence of an answer is read with mostWindows windows of the contexts at most, and no further once its chance of
// being supported is settled: a later window could only raise it.
const (
	mostWindows = 2
	settled     = 0.7
)

// A reading is what the encoder says of a query and a window of a text: of the window, among those that were read,
// with the highest chance.
type reading struct {
	chance  float64 // of the output that was asked for
	against float64 // of contradiction
	told    bool    // the encoder has an output for contradiction
	text    string
	window  int // from 1
}

// where says which of several windows it is, after a comma or the like; "" for the only one.
func (r reading) where(before string, windows int) string {
	if windows < 2 {
		return ""
	}
	return fmt.Sprintf("%swindow %d of %d", before, r.window, windows)
}

// encodeWindows reads each query with windows of the texts, one of which at least is not blank. It returns what is
// said of each with the window that has the highest chance, and how many windows there are. With most above 0, a query
// is read with so many windows at most, those most like it first, until its chance is settled.
func encodeWindows(ctx context.Context, m metrics.Models, label string, queries, texts []string,
	most int) ([]reading, int, error) {
	windows, err := encoderWindows(texts)
	if err != nil {
		return nil, 0, err
	}
	best := make([]reading, len(queries))
	order := make([][]int, len(queries))
	for i, q := range queries {
		order[i] = inOrder(len(windows))
		if most > 0 {
			order[i] = likest(q, windows)
			order[i] = order[i][:min(most, len(windows))]
		}
	}
	for round := range len(order[0]) {
		var pairs []backend.Pair
		var of []int // the query of each pair
		for i, q := range queries {
			if most == 0 || best[i].chance < settled {
				pairs = append(pairs, backend.Pair{Query: q, Text: windows[order[i][round]]})
				of = append(of, i)
			}
		}
		if len(pairs) == 0 {
			break
		}
		read, err := readPairs(ctx, m, label, pairs)
		if err != nil {
			return nil, 0, err
		}
		for k, i := range of {
			if read[k].window = order[i][round] + 1; round == 0 || read[k].chance > best[i].chance {
				best[i] = read[k]
			}
		}
	}
	return best, len(windows), nil
}

func inOrder(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// readPairs reads pairs at once. Where one is too long for the encoder's context, each is read by itself, the text in
// parts of which the one with the highest chance counts.
func readPairs(ctx context.Context, m metrics.Models, label string, pairs []backend.Pair) ([]reading, error) {
	read, err := encode(ctx, m, label, pairs)
	if !errors.Is(err, backend.ErrPromptTooLong) {
		return read, err
	}
	read = make([]reading, len(pairs))
	for i, pair := range pairs {
		first := true
		_, err := metrics.NewPassage([]string{pair.Text}).InWindows(true, func(part string) error {
			of, err := encode(ctx, m, label, []backend.Pair{{Query: pair.Query, Text: part}})
			if err == nil && (first || of[0].chance > read[i].chance) {
				read[i], first = of[0], false
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return read, nil
}

// likest orders windows by how many of a query's distinct words they hold, a word that few windows hold counting more;
// equals stay in order.
func likest(query string, windows []string) []int {
	weight := make([]float64, len(windows))
	held := make([]map[string]bool, len(windows))
	for i, w := range windows {
		held[i] = make(map[string]bool)
		for _, word := range tokenize.Words(w) {
			held[i][strings.ToLower(word)] = true
		}
	}
	seen := make(map[string]bool)
	for _, word := range tokenize.Words(query) {
		word = strings.ToLower(word)
		if seen[word] {
			continue
		}
		seen[word] = true
		n := 0
		for i := range windows {
			if held[i][word] {
				n++
			}
		}
		for i := range windows {
			if held[i][word] {
				weight[i] += 1 / float64(n)
			}
		}
	}
	order := inOrder(len(windows))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	return order
}

// encoderWindows cuts texts into windows of up to encoderWords words.
func encoderWindows(texts []string) ([]string, error) {
	return cutInto(windowsOf(texts, encoderWords), encoderWords, true)
}

// windowsOf cuts texts into windows filled with up to most words each. A window begins with the sentence that ended the
// one before, where there is room for both it and a new one. A sentence that is too long has one for itself.
func windowsOf(texts []string, most int) []string {
	p := metrics.NewPassage(texts)
	length := make([]int, len(p.Sentences))
	for i, s := range p.Sentences {
		length[i] = len(tokenize.Words(s.Text))
	}
	var list []string
	for start := 0; start < len(length); {
		end, words := start, 0
		for end == start || end < len(length) && words+length[end] <= most {
			words += length[end]
			end++
		}
		list = append(list, p.Text[p.Sentences[start].Start:p.Sentences[end-1].End])
		if again := end - 1; end < len(length) && again > start && length[again]+length[end] <= most {
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
	return cutInto(metrics.NumberedSentences([]string{text}).Texts, encoderWords/2, false)
}

// cutInto returns texts of up to so many words each: those that have more in parts, which may overlap.
func cutInto(texts []string, most int, overlap bool) ([]string, error) {
	var list []string
	for _, text := range texts {
		_, err := metrics.NewPassage([]string{text}).InWindows(overlap, func(part string) error {
			if err := withinWords(part, most); err != nil {
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

// encode reads pairs: what the output with this label says of each. It notes the cache keys.
func encode(ctx context.Context, m metrics.Models, label string, pairs []backend.Pair) ([]reading, error) {
	info := m.Role(backend.Encoder).Info()
	output, err := metrics.EncoderOutput(info, label)
	if err != nil {
		return nil, err
	}
	against := slices.Index(info.Labels, "contradiction")
	answer, err := backend.Classify(ctx, m.Role(backend.Encoder), pairs)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	read := make([]reading, len(pairs))
	for i, numbers := range answer {
		m.Note(backend.EncodeKey(info, backend.HeadOutputs, pairs[i]), 0, 0)
		if want := max(1, len(info.Labels)); len(numbers) != want {
			return nil, fmt.Errorf("encoder: %d numbers where its labels make it %d", len(numbers), want)
		}
		if slices.ContainsFunc(numbers, func(x float32) bool { return x != x }) {
			return nil, fmt.Errorf("encoder: its number for %q is not one", metrics.Bounded(pairs[i].Text))
		}
		read[i] = reading{chance: stats.Logistic(float64(numbers[output])), text: pairs[i].Text}
		if against >= 0 {
			read[i].against, read[i].told = stats.Logistic(float64(numbers[against])), true
		}
	}
	return read, nil
}
