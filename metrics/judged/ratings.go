package judged

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// The dual metrics are those that NVIDIA gave to Ragas: two prompts that ask for the same rating in other words,
// and the mean of both, which varies less than one rating. Where one of them cannot be had the sample has failed:
// half of a mean is another measure, for which Ragas nevertheless takes the one rating that is left.

// answerCorrectnessAccuracy has the second prompt compare the texts with their roles swapped, so that an answer
// that says more than the reference loses as one that says less.
func answerCorrectnessAccuracy() metrics.Metric {
	return metrics.Metric{
		Name:   "answer_correctness/accuracy",
		Doc:    "mean of two ratings of how far answer and reference agree, the second with their roles swapped",
		Source: "Ragas 0.4, answer accuracy (NVIDIA)",
		Formula: "(r1 / 4 + r2 / 4) / 2, where r1 rates the answer by the reference and r2 the reference by the " +
			"answer, each 0, 2 or 4",
		Calls:   "2 replies for each reference",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer | metrics.References,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: []*prompts.Prompt{answerAccuracyFirstPrompt, answerAccuracySecondPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return byReference(s, false, func(reference string) (metrics.Score, error) {
				return twoRatings(
					func() (rating, error) {
						data := accuracyData{s.Question, reference, s.Answer, s.History}
						return rate(ctx, m, answerAccuracyFirstPrompt, data, []int{0, 2, 4})
					},
					func() (rating, error) {
						data := accuracyData{s.Question, s.Answer, reference, s.History}
						return rate(ctx, m, answerAccuracySecondPrompt, data, []int{0, 2, 4})
					})
			})
		},
	}
}

// accuracyData is what answer_accuracy_first and answer_accuracy_second are rendered with.
type accuracyData struct {
	Question, Reference, Answer string
	History                     []metrics.Turn
}

// contextRelevanceDual rates all contexts together, by Ragas' levels: of use at all is 2. Where they do not fit in one
// prompt, the highest rating of any window counts for each prompt. Contexts that are a part of the question say nothing in
// reply to it: that is 0 without asking, as in Ragas.
func contextRelevanceDual() metrics.Metric {
	return metrics.Metric{
		Name:   "context_relevance/dual",
		Doc:    "mean of two ratings of how relevant the contexts are to the question",
		Source: "Ragas 0.4, context relevance (NVIDIA)",
		Formula: "(r1 / 2 + r2 / 2) / 2, where r1 and r2 are the ratings by two prompts: 0 nothing is " +
			"relevant, 1 it is in part, 2 any information is; 0 where the contexts are a part of the question",
		Calls:   "2 replies for each window of the contexts",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Contexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: []*prompts.Prompt{contextRelevanceFirstPrompt, contextRelevanceSecondPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			if strings.Contains(s.Question, strings.TrimSpace(strings.Join(s.Contexts, "\n"))) {
				return metrics.Score{Because: []metrics.Finding{{Kind: "note",
					Text: "the contexts are a part of the question: 0 without asking"}}}, nil
			}
			data := func(text string) any { return relevanceData{s.Question, text, s.History} }
			return twoRatings(
				func() (rating, error) { return rateContexts(ctx, m, contextRelevanceFirstPrompt, s, data) },
				func() (rating, error) { return rateContexts(ctx, m, contextRelevanceSecondPrompt, s, data) })
		},
	}
}

// relevanceData is what context_relevance_first and context_relevance_second are rendered with.
type relevanceData struct {
	Question, Context string
	History           []metrics.Turn
}

// faithfulnessDual rates the answer as a whole. Where the contexts do not fit in one prompt, the highest rating
// of any window counts for each prompt: an answer whose parts stand far apart may be rated too low then.
func faithfulnessDual() metrics.Metric {
	return metrics.Metric{
		Name:   "faithfulness/dual",
		Doc:    "mean of two ratings of how far the contexts support the answer",
		Source: "Ragas 0.4, response groundedness (NVIDIA)",
		Formula: "(r1 / 2 + r2 / 2) / 2, where r1 and r2 are the ratings by two prompts: 0 not supported, 1 partly, " +
			"2 fully",
		Calls:   "2 replies for each window of the contexts",
		Min:     0,
		Max:     1,
		Needs:   metrics.Answer | metrics.Contexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: []*prompts.Prompt{groundednessFirstPrompt, groundednessSecondPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			data := func(text string) any { return groundednessData{s.Question, s.Answer, text, s.History} }
			return twoRatings(
				func() (rating, error) { return rateContexts(ctx, m, groundednessFirstPrompt, s, data) },
				func() (rating, error) { return rateContexts(ctx, m, groundednessSecondPrompt, s, data) })
		},
	}
}

// groundednessData is what groundedness_first and groundedness_second are rendered with.
type groundednessData struct {
	Question, Answer, Context string // there may be no question
	History                   []metrics.Turn
}

// A rating is a level on an ordinal (Likert) scale from 0 to most.
type rating struct {
	level, most int
	where       string // the window it is from, if there are several
}

// twoRatings is the mean of two ratings, both of which must be had.
func twoRatings(first, second func() (rating, error)) (metrics.Score, error) {
	var score metrics.Score
	for i, have := range []func() (rating, error){first, second} {
		r, err := have()
		if err != nil {
			return metrics.Score{}, fmt.Errorf("judge %d of 2: %w", i+1, err)
		}
		value := float64(r.level) / float64(r.most)
		score.Value += value / 2
		score.Because = append(score.Because,
			metrics.Finding{Kind: "rating", Text: fmt.Sprintf("judge %d: %d of %d", i+1, r.level, r.most),
				Value: &value, Where: r.where})
	}
	return score, nil
}

// rateContexts rates the contexts from 0 to 2, or windows of them, of which the highest counts.
func rateContexts(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, s *metrics.Sample,
	data func(text string) any) (rating, error) {
	all, err := metrics.EachWindow(s.Contexts, func(text string) (rating, error) {
		return rate(ctx, m, prompt, data(text), []int{0, 1, 2})
	})
	if err != nil {
		return rating{}, err
	}
	at := metrics.Best(all, func(a, b rating) bool { return a.level > b.level })
	all[at].where = metrics.WindowName(at, len(all))
	return all[at], nil
}

// rate asks for one of several levels, which ascend from 0.
func rate(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any, levels []int) (rating, error) {
	q := ask.Query{Prompt: prompt, Data: data, Schema: levelSchema(levels)}
	level, err := ask.Judge(ctx, m, q, func(r ask.Reply) (int, error) { return decodeLevel(r, levels) })
	return rating{level: level, most: levels[len(levels)-1]}, err
}

func levelSchema(levels []int) json.RawMessage {
	var list []string
	for _, l := range levels {
		list = append(list, strconv.Itoa(l))
	}
	return json.RawMessage(`{"type":"integer","enum":[` + strings.Join(list, ",") + `]}`)
}

var (
	// numeral is a number with all that belongs to it: "2", "1.5", "-1", "2-4".
	numeral = regexp.MustCompile(`[-−+]?\p{Nd}+(?:[.,–-]\p{Nd}+)*`)
	// ratingOutOf is what may follow a rating: "2/4", "2 out of 4".
	ratingOutOf = regexp.MustCompile(`^\s*(?:/|out of|of)\s*\p{Nd}+`)
)

// errNoLevel says that a reply is not, or not clearly, one of the ratings asked for.
var errNoLevel = errors.New("no rating in the reply, or not one alone of those asked for")

// decodeLevel finds the one of levels that a reply gives: the number after a label such as "Rating:"; else
// the number that it begins with, if no other line begins with another. A number elsewhere may count anything
// and is none, nor is a part of a longer number. Two ratings that disagree are none either.
func decodeLevel(r ask.Reply, levels []int) (int, error) {
	all := writtenNumbers(r, levels)
	var labelled, leading []writtenNumber
	for _, n := range all {
		if n.labelled {
			labelled = append(labelled, n)
		}
		if n.leads {
			leading = append(leading, n)
		}
	}
	chosen := labelled
	if labelled == nil && len(all) > 0 && all[0].first {
		chosen = leading
	}
	switch {
	case r.Cut && chosen == nil:
		return 0, metrics.ErrCut
	case chosen == nil:
		return 0, errNoLevel
	}
	for _, n := range chosen {
		if n.level < 0 || n.level != chosen[0].level {
			return 0, errNoLevel
		}
	}
	return chosen[0].level, nil
}

// A writtenNumber is a number in a reply.
type writtenNumber struct {
	level    int  // -1 if it is none of the levels
	labelled bool // what stands before it says that it is a rating
	leads    bool // its line begins with it
	first    bool // the reply begins with it
}

// writtenNumbers finds the numbers in a reply, without those that a rating is out of. A number at the end of a
// reply that was cut may go on, and is none.
func writtenNumbers(r ask.Reply, levels []int) []writtenNumber {
	text := strings.TrimSpace(r.Text)
	var list []writtenNumber
	for from := 0; from < len(text); {
		found := numeral.FindStringIndex(text[from:])
		if found == nil {
			break
		}
		start, end := from+found[0], from+found[1]
		from = end + len(ratingOutOf.FindString(text[end:]))
		if r.Cut && from == len(text) {
			break
		}
		line := text[strings.LastIndexByte(text[:start], '\n')+1 : start]
		rest, _, _ := strings.Cut(text[from:], "\n")
		list = append(list, writtenNumber{
			level:    levelOf(text[start:end], levels),
			labelled: namesRating(text[:start]) || fieldName(line) && !tokenize.HasWords(rest),
			leads:    !tokenize.HasWords(line),
			first:    !tokenize.HasWords(text[:start]),
		})
	}
	return list
}

// namesRating reports whether text leads up to a rating, as in "I rate this answer", with no number after it.
func namesRating(text string) bool {
	names := []string{"rating", "rate", "rated", "score", "level", "verdict"}
	words := strings.Fields(tokenize.Normalize(text))
	for i, word := range slices.Backward(words) {
		switch {
		case slices.Contains(names, word):
			return true
		case len(words)-i == 5, strings.ContainsFunc(word, unicode.IsNumber):
			return false
		}
	}
	return false
}

// fieldName reports whether the beginning of a line is a label in any language: a few words and a colon.
func fieldName(line string) bool {
	line = strings.TrimRight(line, "*_`\"' ")
	return strings.HasSuffix(line, ":") && tokenize.HasWords(line) && len(strings.Fields(line)) <= 3
}

// levelOf is the level that a number stands for, -1 if it is none of them.
func levelOf(digits string, levels []int) int {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(digits, "+"), ".")
	if strings.Trim(fraction, "0") != "" || strings.ContainsAny(whole, "-−–,") || len(whole) > 8 {
		return -1
	}
	if n := ask.Number(whole); slices.Contains(levels, n) {
		return n
	}
	return -1
}

var accuracyExample = prompts.Example{
	Data:  accuracyData{Question: "<question>", Reference: "<reference>", Answer: "<answer>", History: history},
	Shown: map[string]string{".Reference": "<reference>", ".Answer": "<answer>"},
}

var answerAccuracyFirstPrompt = prompts.Builtin("answer_accuracy_first", accuracyExample)

var answerAccuracySecondPrompt = prompts.Builtin("answer_accuracy_second", accuracyExample)

var relevanceExample = prompts.Example{
	Data:  relevanceData{Question: "<question>", Context: "<context>", History: history},
	Shown: map[string]string{".Question": "<question>", ".Context": "<context>"},
}

var contextRelevanceFirstPrompt = prompts.Builtin("context_relevance_first", relevanceExample)

var contextRelevanceSecondPrompt = prompts.Builtin("context_relevance_second", relevanceExample)

var groundednessExample = prompts.Example{
	Data:  groundednessData{Question: "<question>", Answer: "<answer>", Context: "<context>", History: history},
	Shown: map[string]string{".Answer": "<answer>", ".Context": "<context>"},
}

var groundednessFirstPrompt = prompts.Builtin("groundedness_first", groundednessExample)

var groundednessSecondPrompt = prompts.Builtin("groundedness_second", groundednessExample)
