package judged

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// contextPrecisionReference is average precision over a verdict on each context: was it useful for arriving at
// the reference? Useful contexts at high ranks are worth more. It is 0 where no context is useful.
func contextPrecisionReference() metrics.Metric {
	m := contextPrecision("reference", "the reference")
	m.Default = true
	m.Source = "Ragas 0.4, context precision with reference"
	m.Calls = "1 reply for each context and reference, more for a context that does not fit in one prompt"
	m.Needs = metrics.Question | metrics.Contexts | metrics.References
	m.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		return byReference(s, false, func(reference string) (metrics.Score, error) {
			return averagePrecision(ctx, m, s, reference)
		})
	}
	return m
}

// contextPrecisionAnswer is what Ragas calls context utilisation.
func contextPrecisionAnswer() metrics.Metric {
	m := contextPrecision("answer", "the answer")
	m.Source = "Ragas 0.4, context utilization (context precision without reference)"
	m.Calls = "1 reply for each context, more for one that does not fit in one prompt"
	m.Needs = metrics.Question | metrics.Answer | metrics.Contexts
	m.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		return averagePrecision(ctx, m, s, s.Answer)
	}
	return m
}

func contextPrecision(method, target string) metrics.Metric {
	return metrics.Metric{
		Name: "context_precision/" + method,
		Doc: "average precision of the ranked contexts, with a verdict on each: was it useful for arriving at " +
			target,
		Formula: "sum of precision@k over the ranks k of useful contexts / useful contexts; 0 without any",
		Min:     0,
		Max:     1,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: []*prompts.Prompt{contextUsefulnessPrompt},
	}
}

func averagePrecision(ctx context.Context, m metrics.Models, s *metrics.Sample, answer string) (metrics.Score, error) {
	var score metrics.Score
	useful, sum := 0, 0.0
	for i, text := range s.Contexts {
		v, err := usefulness(ctx, m, s, answer, text)
		if err != nil {
			return metrics.Score{}, fmt.Errorf("context %d: %w", i+1, err)
		}
		if v.Yes {
			useful++
			sum += float64(useful) / float64(i+1)
		}
		score.Because = append(score.Because,
			metrics.Finding{Kind: "passage", Text: metrics.Bounded(text), Verdict: &v.Yes, Reason: v.Reason,
				Where: fmt.Sprintf("context %d", i+1)})
	}
	if useful > 0 {
		score.Value = sum / float64(useful)
	}
	return score, nil
}

// usefulnessData is what context_usefulness is rendered with.
type usefulnessData struct {
	Question, Answer, Context string
	History                   []metrics.Turn
}

// usefulness asks whether a text was useful for arriving at an answer. One that is read in windows is if any of
// them is, and a blank one is not.
func usefulness(ctx context.Context, m metrics.Models, s *metrics.Sample, answer, text string) (ask.Verdict, error) {
	p := m.Prompts.For(contextUsefulnessPrompt)
	var v ask.Verdict
	if metrics.Blank(text) {
		return v, nil
	}
	_, err := metrics.NewPassage([]string{text}).InWindows(true, func(part string) error {
		if v.Yes {
			return nil
		}
		q := ask.Query{
			Prompt: p,
			Data:   usefulnessData{s.Question, answer, part, s.History},
			Schema: json.RawMessage(reasonedVerdict),
		}
		var err error
		v, err = ask.Judge(ctx, m, q, func(r ask.Reply) (ask.Verdict, error) {
			verdicts, err := ask.DecodeVerdicts(r, []string{""}, ask.VerdictWordsOf(p))
			if err != nil {
				return ask.Verdict{}, err
			}
			return verdicts[0], nil
		})
		return err
	})
	return v, err
}

// contextRecallClaims extracts the reference's statements as it would an answer's, and asks for verdicts on them
// by the contexts as faithfulness/claims does. Ragas has the judge do both in one reply, and counts only the
// statements that come back.
func contextRecallClaims() metrics.Metric {
	return metrics.Metric{
		Name:    "context_recall/claims",
		Doc:     "share of the reference's statements that are supported by the contexts",
		Source:  "Ragas 0.4, context recall",
		Formula: "statements of the reference that the contexts support / statements of the reference",
		Calls:   "1 reply for each reference's statements, 1 for every 8 verdicts by the contexts",
		Default: true,
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Contexts | metrics.References,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: claimTablePrompts,
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return byReference(s, false, func(reference string) (metrics.Score, error) {
				return scoreContextRecall(ctx, m, s, reference)
			})
		},
	}
}

func scoreContextRecall(ctx context.Context, m metrics.Models, s *metrics.Sample,
	reference string) (metrics.Score, error) {
	claims, err := statementsOf(ctx, m, s, reference)
	if err != nil {
		return metrics.Score{}, err
	}
	if len(claims) == 0 {
		return metrics.Score{}, noReferenceClaims()
	}
	verdicts, windows, err := judgeInWindows(ctx, m, s, claims)
	if err != nil {
		return metrics.Score{}, err
	}
	var list []metrics.Finding
	for i, v := range verdicts {
		f := metrics.Finding{Kind: "reference", Text: claims[i], Verdict: &v.Yes, Reason: v.Reason}
		if windows > 1 && v.Yes {
			f.Where = metrics.WindowName(v.window-1, windows)
		}
		list = append(list, f)
	}
	return shareOf(list), nil
}

// contextRecallEntities compares the named entities of reference and contexts. Names are equal when they are in
// normal form: without regard to case, punctuation and markup. Ragas asks for the very same characters, so that
// "Eiffel tower" is not "Eiffel Tower". A reference that names nothing is not applicable, where Ragas gives 0.
func contextRecallEntities() metrics.Metric {
	return metrics.Metric{
		Name:    "context_recall/entities",
		Doc:     "share of the entities named in the reference that the contexts name too",
		Source:  "Ragas 0.4, context entities recall",
		Formula: "entities of both the reference and the contexts / entities of the reference, compared in normal form",
		Calls:   "1 reply for each reference, 1 for each window of the contexts",
		Min:     0,
		Max:     1,
		Needs:   metrics.Contexts | metrics.References,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: []*prompts.Prompt{contextEntitiesPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return byReference(s, false, func(reference string) (metrics.Score, error) {
				return scoreEntityRecall(ctx, m, s, reference)
			})
		},
	}
}

func scoreEntityRecall(ctx context.Context, m metrics.Models, s *metrics.Sample,
	reference string) (metrics.Score, error) {
	wanted, err := entities(ctx, m, []string{reference})
	if err != nil {
		return metrics.Score{}, fmt.Errorf("the reference: %w", err)
	}
	if len(wanted) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the judge found no entity in the reference", metrics.ErrNotApplicable)
	}
	named, err := entities(ctx, m, s.Contexts)
	if err != nil {
		return metrics.Score{}, fmt.Errorf("the contexts: %w", err)
	}
	there := make(map[string]bool)
	for _, name := range named {
		there[tokenize.Normalize(name)] = true
	}
	var list []metrics.Finding
	for _, name := range wanted {
		found := there[tokenize.Normalize(name)]
		list = append(list, metrics.Finding{Kind: "entity", Text: name, Verdict: &found})
	}
	score := shareOf(list)
	score.Because = append(score.Because, metrics.Finding{Kind: "note",
		Text: metrics.Bounded("in the contexts: " + strings.Join(named, "; "))})
	return score, nil
}

// entitiesData is what context_entities is rendered with.
type entitiesData struct {
	Text string
}

// entities has the judge list the named entities of texts, each once.
func entities(ctx context.Context, m metrics.Models, texts []string) ([]string, error) {
	p := m.Prompts.For(contextEntitiesPrompt)
	return ask.ListInWindows(ctx, m, texts, func(part string) ask.Query {
		return ask.Query{Prompt: p, Data: entitiesData{part}, Room: len(part) / 3}
	}, func(r ask.Reply) ([]string, error) { return decodeEntities(r, p.Nothing) })
}

// decodeEntities is [ask.DecodeList], but a reply that is one line without a marker is cut at its commas and
// semicolons: so many a judge lists names. A comma without a space after it is part of a number.
func decodeEntities(r ask.Reply, nothing []string) ([]string, error) {
	line := strings.TrimSpace(r.Text)
	commas := strings.NewReplacer(";", ", ", "，", ", ", "、", ", ").Replace(line)
	_, marked := ask.ParseItem(line)
	if r.Cut || marked || ask.JsonStart(line) >= 0 || strings.Contains(line, "\n") || !strings.Contains(commas, ", ") ||
		ask.Refusal(line) || ask.SaysNothing(line, nothing) {
		return ask.DecodeList(r, nothing)
	}
	if label, rest, ok := strings.Cut(commas, ":"); ok && !strings.Contains(label, ", ") {
		commas = rest // "Entities: Mara Lind, Cape Arden"
	}
	var items []ask.Item
	for name := range strings.SplitSeq(commas, ", ") {
		items = append(items, ask.Item{Number: -1, Text: strings.TrimSuffix(ask.Clean(name), ".")})
	}
	names, _ := ask.Distinct(items)
	if len(names) == 0 {
		return nil, ask.ErrNoList
	}
	return names, nil
}

var contextUsefulnessPrompt = prompts.Builtin("context_usefulness", prompts.Example{
	Data:  usefulnessData{Question: "<question>", Answer: "<answer>", Context: "<context>", History: history},
	Shown: map[string]string{".Question": "<question>", ".Answer": "<answer>", ".Context": "<context>"},
})

var contextEntitiesPrompt = prompts.Builtin("context_entities",
	prompts.Example{Data: entitiesData{Text: "<text>"}, Shown: map[string]string{".Text": "<text>"}})
