// Package nugget has the measures of how many of the facts that an answer should state it does: nugget recall.
//
// They are those of the TREC tracks of question answering (Voorhees 2003) and of retrieval-augmented generation as
// AutoNuggetizer automates them (Pradeep et al. 2024, arXiv 2411.09607):
//
//  1. The facts (nuggets) are the sample's [metrics.Sample] Nuggets. Where it has none, the judge lists those of the
//     reference answers, and says of each whether a good answer must state it (vital) or may (okay).
//  2. The judge says of each how much of it the answer states, by first-token scoring: all (support), a part, or nothing.
//  3. Support counts 1; a part counts 1/2, or nothing in the strict measures. The measures are means: over the vital
//     facts, over all, or over all with half the weight on those that are not vital.
package nugget

import (
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Metrics are the six measures of AutoNuggetizer. All ask the same.
func Metrics() []metrics.Metric {
	return []metrics.Metric{
		measure("vital_strict", "share of the vital facts that the answer states in full",
			"vital facts stated in full / vital facts", weights{1, 0, 0}),
		measure("vital", "share of the vital facts that the answer states, a part counting half",
			"(vital facts stated in full + stated in part / 2) / vital facts", weights{1, 0, 0.5}),
		measure("all_strict", "share of the facts that the answer states in full, vital or not",
			"facts stated in full / facts", weights{1, 1, 0}),
		measure("all", "share of the facts that the answer states, a part counting half",
			"(facts stated in full + stated in part / 2) / facts", weights{1, 1, 0.5}),
		measure("weighted_strict", "share of the facts that the answer states in full, those that are not vital weighing "+
			"half", "(vital facts stated in full + others / 2) / (vital facts + others / 2)", weights{1, 0.5, 0}),
		measure("weighted", "share of the facts that the answer states, a part counting half and those that are not vital "+
			"weighing half", "as weighted_strict, and a fact stated in part counts 1/2", weights{1, 0.5, 0.5}),
	}
}

// weights say what a measure counts.
type weights struct {
	vital, okay float64 // of a fact
	part        float64 // what it counts if it is stated in part
}

func measure(name, doc, formula string, w weights) metrics.Metric {
	return metrics.Metric{
		Name:    "nuggets/" + name,
		Doc:     doc,
		Source:  "AutoNuggetizer (Pradeep et al. 2024, arXiv 2411.09607), section 3; TREC 2024 RAG",
		Formula: formula,
		Calls: "1 first-token scoring for each fact; without the column nuggets, 1 reply for each reference and 1 " +
			"first-token scoring for each fact besides",
		Default: name == "vital_strict",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []*prompts.Prompt{factsPrompt, vitalPrompt, assignPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return score(ctx, m, s, w)
		},
	}
}

func score(ctx context.Context, m metrics.Models, s *metrics.Sample, w weights) (metrics.Score, error) {
	nuggets, err := nuggetsOf(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	have, could := 0.0, 0.0
	for _, n := range nuggets {
		weight, importance := w.okay, "okay"
		if n.Vital {
			weight, importance = w.vital, "vital"
		}
		if weight == 0 {
			continue
		}
		got, chance, err := assign(ctx, m, s, n.Text)
		if err != nil {
			return metrics.Score{}, fmt.Errorf("fact %q: %w", metrics.Bounded(n.Text), err)
		}
		could += weight
		switch got {
		case support:
			have += weight
		case partial:
			have += weight * w.part
		}
		yes := got == support
		score.Because = append(score.Because, metrics.Finding{Kind: "nugget", Text: n.Text, Verdict: &yes,
			Value: &chance, Reason: importance + ", " + string(got)})
	}
	if could == 0 {
		return metrics.Score{}, fmt.Errorf("%w: none of the %d facts is vital", metrics.ErrNotApplicable, len(nuggets))
	}
	score.Value = metrics.Clamp(have/could, 0, 1)
	return score, nil
}

// An assignment is how much of a fact an answer states.
type assignment string

// The assignments, in AutoNuggetizer's words.
const (
	support assignment = "support"
	partial assignment = "partial_support"
	none    assignment = "not_support"
)

// assignData is what nugget_assign is rendered with.
type assignData struct {
	Row                    metrics.Row
	Question, Answer, Fact string
	History                []metrics.Turn
}

// assign says how much of a fact the answer states, and with what probability that is so.
func assign(ctx context.Context, m metrics.Models, s *metrics.Sample, fact string) (assignment, float64, error) {
	var c ask.Choice
	err := metrics.View{Sample: s}.First(ask.InRow(m, assignPrompt), func(e metrics.Excerpt) (err error) {
		c, err = ask.Weigh(ctx, m, assignPrompt, assignData{e.Row, s.Question, s.Answer, fact, s.History},
			[]string{"Full", "Partial", "None"})
		return err
	})
	if err != nil {
		return none, 0, err
	}
	best := slices.Index(c.Chances, slices.Max(c.Chances))
	return []assignment{support, partial, none}[best], c.Chances[best], nil
}

// nuggetsOf are the facts of a sample: its own, or those that the judge finds in its references.
func nuggetsOf(ctx context.Context, m metrics.Models, s *metrics.Sample) ([]metrics.Nugget, error) {
	if len(s.Nuggets) > 0 {
		return s.Nuggets, nil
	}
	references := metrics.NonBlank(s.References)
	if len(references) == 0 {
		return nil, fmt.Errorf("%w: the sample has neither %v nor %v", metrics.ErrNotApplicable, metrics.Nuggets,
			metrics.References)
	}
	var items []ask.Item
	p := m.Prompts.For(factsPrompt)
	for _, r := range references {
		facts, err := ask.ListInWindows(ctx, m, []string{r.Text}, func(part string) ask.Query {
			return ask.Query{Prompt: p, Data: factsData{s.Question, part, s.History}, Room: len(part) / 2}
		}, func(got ask.Reply) ([]string, error) { return ask.DecodeList(got, p.Nothing) })
		if err != nil {
			return nil, fmt.Errorf("the facts of reference %d: %w", r.Number, err)
		}
		for _, text := range facts {
			items = append(items, ask.Item{Number: -1, Text: text})
		}
	}
	texts, _ := ask.Distinct(items)
	if len(texts) == 0 {
		return nil, fmt.Errorf("%w: the judge found no fact in the references", metrics.ErrNotApplicable)
	}
	list := make([]metrics.Nugget, len(texts))
	for i, text := range texts {
		yes, err := ask.Yes(ctx, m, vitalPrompt, vitalData{s.Question, text, s.History})
		if err != nil {
			return nil, fmt.Errorf("fact %q: %w", metrics.Bounded(text), err)
		}
		list[i] = metrics.Nugget{Text: text, Vital: yes >= 0.5}
	}
	return list, nil
}

// factsData is what nugget_facts is rendered with.
type factsData struct {
	Question, Reference string
	History             []metrics.Turn
}

// vitalData is what nugget_vital_yes is rendered with.
type vitalData struct {
	Question, Fact string
	History        []metrics.Turn
}

var history = []metrics.Turn{{Role: backend.User, Said: "<history>"}, {Role: backend.Assistant, Said: "<reply>"}}

var factsPrompt = prompts.Builtin("nugget_facts", prompts.Example{
	Data:  factsData{Question: "<question>", Reference: "<reference>", History: history},
	Shown: map[string]string{".Reference": "<reference>"},
})

var vitalPrompt = prompts.Builtin("nugget_vital_yes", prompts.Example{
	Data:  vitalData{Question: "<question>", Fact: "<fact>", History: history},
	Shown: map[string]string{".Question": "<question>", ".Fact": "<fact>"},
})

var assignPrompt = prompts.Builtin("nugget_assign", prompts.Example{
	Data:  assignData{Question: "<question>", Answer: "<answer>", Fact: "<fact>", History: history},
	Shown: map[string]string{".Answer": "<answer>", ".Fact": "<fact>"},
})
