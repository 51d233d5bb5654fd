package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// goalMetrics say whether the user of an agent got what they wanted.
func goalMetrics() []metrics.Metric {
	return []metrics.Metric{{
		Name:    "goal/reached",
		Doc:     "probability that the judge says that the reference's goal was reached",
		Source:  "after Ragas' AgentGoalAccuracyWithReference, in one question",
		Formula: "probability of yes, given yes or no; the highest of several references",
		Calls:   "1 first-token scoring for each reference",
		Default: true,
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.References,
		Turns:   metrics.TurnsAll,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{goalReachedPrompt},
		Score:   scoreGoalReached,
	}, {
		Name:   "goal/inferred",
		Doc:    "probability that the judge says that the user's goal, which it infers itself, was reached",
		Source: "after Ragas' AgentGoalAccuracyWithoutReference",
		Formula: "probability of yes, given yes or no; the mean over the windows of a long conversation, each with " +
			"its goal",
		Calls:   "1 reply for the goal, 1 first-token scoring",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question,
		Turns:   metrics.TurnsAll,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []*prompts.Prompt{goalInferredPrompt, goalReachedPrompt},
		Score:   scoreGoalInferred,
	}}
}

// goalData is what goal_reached is rendered with.
type goalData struct{ Conversation, Goal string }

// scoreGoalReached takes several references for several ways to say what was to be reached.
func scoreGoalReached(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	var goals []string
	for _, goal := range s.References {
		if !metrics.Blank(goal) {
			goals = append(goals, goal)
		}
	}
	chances, findings, err := goalsReached(ctx, m, s, goals)
	if err != nil {
		return metrics.Score{}, err
	}
	score := metrics.Score{Because: findings}
	for _, p := range chances {
		score.Value = max(score.Value, p)
	}
	return score, nil
}

func scoreGoalInferred(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	var all []ask.Item
	_, err := metrics.NewPassage(transcript(conversation(s))).InWindows(false, func(part string) error {
		goal, err := ask.Judge(ctx, m, ask.Query{Prompt: goalInferredPrompt, Data: conversationData{part}}, decodeGoal)
		all = append(all, ask.Item{Number: -1, Text: goal})
		return err
	})
	if err != nil {
		return metrics.Score{}, err
	}
	goals, _ := ask.Distinct(all)
	chances, findings, err := goalsReached(ctx, m, s, goals)
	if err != nil {
		return metrics.Score{}, err
	}
	return metrics.Score{Value: meanChance(chances), Because: findings}, nil
}

// goalsReached asks of each goal whether it was reached in the conversation of s.
func goalsReached(ctx context.Context, m metrics.Models, s *metrics.Sample,
	goals []string) ([]float64, []metrics.Finding, error) {
	turns := conversation(s)
	if !slices.ContainsFunc(turns, func(t metrics.Turn) bool { return t.Role == backend.Assistant }) {
		return nil, nil, fmt.Errorf("%w: the assistant says nothing and calls no tool", metrics.ErrNotApplicable)
	}
	lines := transcript(turns)
	var chances []float64
	var findings []metrics.Finding
	for _, goal := range goals {
		p, windows, err := ask.YesInWindows(ctx, m, goalReachedPrompt, lines, func(text string) any {
			return goalData{text, goal}
		})
		if err != nil {
			return nil, nil, err
		}
		reached := p >= 0.5
		f := metrics.Finding{Kind: "goal", Text: goal, Verdict: &reached, Value: &p}
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
func decodeGoal(r ask.Reply) (string, error) {
	for _, it := range ask.CopiedLines(r.Text) {
		text := it.Text
		if label, rest, ok := strings.Cut(text, ":"); ok && strings.EqualFold(strings.Trim(label, "*_ "), "goal") {
			text = ask.Clean(strings.TrimLeft(rest, "*_ "))
		}
		switch {
		case ask.Preamble(text):
			continue
		case ask.Refusal(text) || !tokenize.HasWords(text):
			return "", errNoGoal
		case r.Cut:
			return "", metrics.ErrCut
		}
		return text, nil
	}
	return "", errNoGoal
}

var goalReachedPrompt = prompts.Builtin("goal_reached", prompts.Example{
	Data:  goalData{Conversation: "<conversation>", Goal: "<goal>"},
	Shown: map[string]string{".Conversation": "<conversation>", ".Goal": "<goal>"},
})

var goalInferredPrompt = prompts.Builtin("goal_inferred", prompts.Example{
	Data:  conversationData{Conversation: "<conversation>"},
	Shown: map[string]string{".Conversation": "<conversation>"},
})
