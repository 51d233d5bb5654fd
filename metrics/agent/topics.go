package agent

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// topicMetrics say whether an agent kept to its topics: went into those that it is there for, and into no
// others. They ask the same and count differently.
func topicMetrics() []metrics.Metric {
	metric := func(method, doc, formula string, count func(topicCounts) (float64, error)) metrics.Metric {
		return metrics.Metric{
			Name:    "topic_adherence/" + method,
			Doc:     doc,
			Source:  "after Ragas' TopicAdherence",
			Formula: formula,
			Calls:   "1 reply for the topics, 2 first-token scorings for each",
			Default: method == "f1",
			Min:     0,
			Max:     1,
			Needs:   metrics.Question | metrics.Answer | metrics.ReferenceTopics,
			Turns:   metrics.TurnsAll,
			Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
			Prompts: []*prompts.Prompt{topicListPrompt, topicAnsweredPrompt, topicAllowedPrompt},
			Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				counts, findings, err := countTopics(ctx, m, s)
				if err != nil {
					return metrics.Score{}, err
				}
				value, err := count(counts)
				return metrics.Score{Value: value, Because: findings}, err
			},
		}
	}
	return []metrics.Metric{
		metric("f1", "harmonic mean of topic_adherence/precision and topic_adherence/recall",
			"2 x kept / (2 x kept + strayed + denied), 1 if all are 0; kept: topics answered that the reference has; "+
				"strayed: answered that it does not have; denied: not answered that it has", topicCounts.f1),
		metric("precision", "share of the topics answered that the reference has",
			"topics answered that the reference has / topics answered", topicCounts.precision),
		metric("recall", "share of the topics that the reference has, of those raised, that were answered",
			"topics answered that the reference has / topics raised that the reference has", topicCounts.recall),
	}
}

// What topic_list, topic_answered and topic_allowed are rendered with.
type (
	conversationData  struct{ Conversation string }
	topicAnsweredData struct{ Conversation, Topic string }
	topicAllowedData  struct {
		Topics []string // of the reference
		Topic  string
	}
)

// topicCounts counts the topics of a conversation. One that is not allowed and was not answered is in none.
type topicCounts struct {
	kept    int // allowed and answered
	strayed int // answered though not allowed
	denied  int // allowed and not answered
}

// f1 is 1 where nothing went wrong and nothing could be kept: an agent that turns down the one thing it
// is asked, which is not its business, keeps to its topics. Ragas has 0 there.
func (n topicCounts) f1() (float64, error) {
	if n.kept+n.strayed+n.denied == 0 {
		return 1, nil
	}
	return 2 * float64(n.kept) / float64(2*n.kept+n.strayed+n.denied), nil
}

func (n topicCounts) precision() (float64, error) {
	if n.kept+n.strayed == 0 {
		return 0, fmt.Errorf("%w: no topic was answered", metrics.ErrNotApplicable)
	}
	return float64(n.kept) / float64(n.kept+n.strayed), nil
}

func (n topicCounts) recall() (float64, error) {
	if n.kept+n.denied == 0 {
		return 0, fmt.Errorf("%w: none of the conversation's topics is among the reference's", metrics.ErrNotApplicable)
	}
	return float64(n.kept) / float64(n.kept+n.denied), nil
}

func countTopics(ctx context.Context, m metrics.Models, s *metrics.Sample) (topicCounts, []metrics.Finding, error) {
	lines := transcript(conversation(s))
	topics, err := listInConversation(ctx, m, topicListPrompt, lines)
	if err != nil {
		return topicCounts{}, nil, err
	}
	if len(topics) == 0 {
		return topicCounts{}, nil, fmt.Errorf("%w: the judge found no topic in the conversation",
			metrics.ErrNotApplicable)
	}
	var n topicCounts
	var findings []metrics.Finding
	for _, topic := range topics {
		answered, _, err := ask.YesInWindows(ctx, m, topicAnsweredPrompt, lines, func(text string) any {
			return topicAnsweredData{text, topic}
		})
		if err != nil {
			return topicCounts{}, nil, err
		}
		allowed, err := ask.Yes(ctx, m, topicAllowedPrompt, topicAllowedData{s.ReferenceTopics, topic})
		if err != nil {
			return topicCounts{}, nil, err
		}
		right := n.count(allowed >= 0.5, answered >= 0.5)
		findings = append(findings, metrics.Finding{Kind: "topic", Text: topic, Verdict: &right,
			Reason: fmt.Sprintf("among the reference topics: %.2f; answered: %.2f", allowed, answered)})
	}
	return n, findings, nil
}

// count counts one topic and reports whether it was dealt with as it should be.
func (n *topicCounts) count(allowed, answered bool) bool {
	switch {
	case allowed && answered:
		n.kept++
	case answered:
		n.strayed++
	case allowed:
		n.denied++
	}
	return allowed == answered
}

// listInConversation has the judge list something about a conversation, by a prompt that is given it: each
// once. One that is too long is read in parts.
func listInConversation(ctx context.Context, m metrics.Models, prompt *prompts.Prompt,
	lines []string) ([]string, error) {
	p := m.Prompts.For(prompt)
	return ask.ListInWindows(ctx, m, lines, func(part string) ask.Query {
		return ask.Query{Prompt: p, Data: conversationData{part}, Room: len(part) / 16}
	}, func(r ask.Reply) ([]string, error) { return ask.DecodeList(r, p.Nothing) })
}

var topicAllowedPrompt = prompts.Builtin("topic_allowed", prompts.Example{
	Data:  topicAllowedData{Topics: []string{"<first>", "<second>"}, Topic: "<topic>"},
	Shown: map[string]string{".Topics": "<first>", "every one of .Topics": "<second>", ".Topic": "<topic>"},
})

var topicListPrompt = prompts.Builtin("topic_list", prompts.Example{
	Data:  conversationData{Conversation: "<conversation>"},
	Shown: map[string]string{".Conversation": "<conversation>"},
})

var topicAnsweredPrompt = prompts.Builtin("topic_answered", prompts.Example{
	Data:  topicAnsweredData{Conversation: "<conversation>", Topic: "<topic>"},
	Shown: map[string]string{".Conversation": "<conversation>", ".Topic": "<topic>"},
})
