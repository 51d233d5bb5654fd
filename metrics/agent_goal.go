package metrics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/tokenize"
)

// goalMetrics say whether the user of an agent got what they wanted.
func goalMetrics() []Metric {
	return []Metric{{
		Name:    "goal/reached",
		Doc:     "probability that the judge says that the reference's goal was reached",
		Source:  "after Ragas' AgentGoalAccuracyWithReference, in one question",
		Formula: "probability of yes, given yes or no; the highest of several references",
		Calls:   "1 choice for each reference",
		Default: true,
		Min:     0,
		Max:     1,
		Needs:   Question | References,
		Asks:    Asks{backend.Judge: backend.CanChoose},
		Prompts: []string{"goal_reached"},
		Score:   scoreGoalReached,
	}, {
		Name:    "goal/inferred",
		Doc:     "probability that the judge says that the user's goal, which it infers itself, was reached",
		Source:  "after Ragas' AgentGoalAccuracyWithoutReference",
		Formula: "probability of yes, given yes or no; the mean over the windows of a long conversation, each with its goal",
		Calls:   "1 reply for the goal, 1 choice",
		Min:     0,
		Max:     1,
		Needs:   Question,
		Asks:    Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []string{"goal_inferred", "goal_reached"},
		Score:   scoreGoalInferred,
	}}
}

// goalPrompts are those of goalMetrics.
func goalPrompts() map[string]promptExample {
	return map[string]promptExample{
		"goal_inferred": {
			conversationData{Conversation: "<conversation>"},
			map[string]string{".Conversation": "<conversation>"},
		},
		"goal_reached": {
			goalData{Conversation: "<conversation>", Goal: "<goal>"},
			map[string]string{".Conversation": "<conversation>", ".Goal": "<goal>"},
		},
	}
}

// goalData is what goal_reached is rendered with.
type goalData struct{ Conversation, Goal string }

// scoreGoalReached takes several references for several ways to say what was to be reached.
func scoreGoalReached(ctx context.Context, m Models, s *Sample) (Score, error) {
	var goals []string
	for _, goal := range s.References {
		if !blank(goal) {
			goals = append(goals, goal)
		}
	}
	chances, findings, err := goalsReached(ctx, m, s, goals)
	if err != nil {
		return Score{}, err
	}
	score := Score{Because: findings}
	for _, p := range chances {
		score.Value = max(score.Value, p)
	}
	return score, nil
}

func scoreGoalInferred(ctx context.Context, m Models, s *Sample) (Score, error) {
	var all []item
	_, err := newPassage(transcript(conversation(s))).inWindows(false, func(part string) error {
		goal, err := ask(ctx, m, query{prompt: "goal_inferred", data: conversationData{part}}, decodeGoal)
		all = append(all, item{-1, goal})
		return err
	})
	if err != nil {
		return Score{}, err
	}
	goals, _ := distinct(all)
	chances, findings, err := goalsReached(ctx, m, s, goals)
	if err != nil {
		return Score{}, err
	}
	return Score{Value: meanChance(chances), Because: findings}, nil
}

// goalsReached asks of each goal whether it was reached in the conversation of s.
func goalsReached(ctx context.Context, m Models, s *Sample, goals []string) ([]float64, []Finding, error) {
	turns := conversation(s)
	if !slices.ContainsFunc(turns, func(t backend.Message) bool { return t.Role == backend.Assistant }) {
		return nil, nil, fmt.Errorf("%w: the assistant says nothing and calls no tool", ErrNotApplicable)
	}
	lines := transcript(turns)
	var chances []float64
	var findings []Finding
	for _, goal := range goals {
		p, windows, err := yesInWindows(ctx, m, "goal_reached", lines, func(text string) any { return goalData{text, goal} })
		if err != nil {
			return nil, nil, err
		}
		reached := p >= 0.5
		f := Finding{Kind: "goal", Text: goal, Verdict: &reached, Value: &p}
		if windows > 1 {
			f.Where = fmt.Sprintf("the likeliest of %d windows", windows)
		}
		chances = append(chances, p)
		findings = append(findings, f)
	}
	return chances, findings, nil
}

// meanChance is the mean of probabilities, of which there is at least one.
func meanChance(chances []float64) float64 {
	sum := 0.0
	for _, p := range chances {
		sum += p
	}
	return sum / float64(len(chances))
}

// errNoGoal says that a reply holds nothing that could be the goal asked for.
var errNoGoal = errors.New("no goal in the reply")

// decodeGoal finds the one sentence asked for: the first line that is no preamble, without a label.
func decodeGoal(r reply) (string, error) {
	for _, it := range copiedLines(r.text) {
		text := it.text
		if label, rest, ok := strings.Cut(text, ":"); ok && strings.EqualFold(strings.Trim(label, "*_ "), "goal") {
			text = clean(strings.TrimLeft(rest, "*_ "))
		}
		switch {
		case preamble(text):
			continue
		case refusal(text) || !tokenize.HasWords(text):
			return "", errNoGoal
		case r.cut:
			return "", errCut
		}
		return text, nil
	}
	return "", errNoGoal
}
