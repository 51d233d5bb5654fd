package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// conversationMetrics judge a conversation turn by turn, or wish by wish.
func conversationMetrics() []metrics.Metric {
	replies := func(method, doc, source, formula string, prompt *prompts.Prompt,
		score func(context.Context, metrics.Models, *metrics.Sample) (metrics.Score, error)) metrics.Metric {
		return metrics.Metric{
			Name: "conversation/" + method, Doc: doc, Source: source, Formula: formula,
			Calls: "1 first-token scoring for each reply in the conversation",
			Min:   0, Max: 1, Needs: metrics.Question | metrics.Answer | metrics.History,
			Turns: metrics.TurnsAll,
			Asks:  metrics.Asks{backend.Judge: backend.CanChoose}, Prompts: []*prompts.Prompt{prompt}, Score: score,
		}
	}
	return []metrics.Metric{{
		Name:    "conversation/completeness",
		Doc:     "share of what the user of a conversation wanted that they got",
		Source:  "after DeepEval's ConversationCompleteness",
		Formula: "mean over the user's wishes, which the judge lists, of the probability that it says each was met",
		Calls:   "1 reply for the wishes, 1 first-token scoring for each",
		Default: true,
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer | metrics.History,
		Turns:   metrics.TurnsAll,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []*prompts.Prompt{conversationWishesPrompt, goalReachedPrompt},
		Score:   scoreCompleteness,
	},
		replies("relevance", "share of the assistant's replies that respond to what was said before",
			"after DeepEval's TurnRelevancy, over the whole conversation",
			"mean over the assistant's replies of the probability that the judge says each is relevant",
			conversationRelevancePrompt, scoreTurnRelevance),
		replies("knowledge_retention", "share of the assistant's replies that forget nothing the user said before",
			"after DeepEval's KnowledgeRetention, in one question for each reply",
			"mean over the replies since the user's second turn of the probability that the judge does not say that "+
				"it forgets something",
			conversationLapsePrompt, scoreRetention),
		replies("role_adherence", "share of the assistant's replies that keep to the role that the system gave it",
			"after DeepEval's RoleAdherence",
			"mean over the assistant's replies of the probability that the judge says each keeps to the role",
			conversationRolePrompt, scoreRole),
	}
}

// What conversation_relevance and conversation_lapse are rendered with, and conversation_role.
type (
	replyData struct {
		Conversation string // before the reply
		Reply        string
	}
	roleData struct{ Role, Conversation, Reply string }
)

func scoreCompleteness(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	wishes, err := listInConversation(ctx, m, conversationWishesPrompt, transcript(conversation(s)))
	if err != nil {
		return metrics.Score{}, err
	}
	if len(wishes) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the judge found no wish of the user in the conversation",
			metrics.ErrNotApplicable)
	}
	chances, findings, err := goalsReached(ctx, m, s, wishes)
	if err != nil {
		return metrics.Score{}, err
	}
	return metrics.Score{Value: meanChance(chances), Because: findings}, nil
}

func scoreTurnRelevance(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	chances, findings, err := judgeReplies(ctx, m, s, replyQuestion{prompt: conversationRelevancePrompt, after: 1})
	if err != nil {
		return metrics.Score{}, err
	}
	return metrics.Score{Value: meanChance(chances), Because: findings}, nil
}

// scoreRetention leaves out the replies to the user's first turn: there is nothing yet to forget.
func scoreRetention(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	chances, findings, err := judgeReplies(ctx, m, s, replyQuestion{
		prompt: conversationLapsePrompt, lapse: true, after: 2,
	})
	if err != nil {
		return metrics.Score{}, err
	}
	return metrics.Score{Value: meanChance(chances), Because: findings}, nil
}

func scoreRole(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	var role []string
	for _, t := range s.History {
		if t.Role == backend.System && !metrics.Blank(t.Said) {
			role = append(role, strings.TrimSpace(t.Said))
		}
	}
	if role == nil {
		return metrics.Score{}, fmt.Errorf("%w: the history has no system's turn that gives the assistant a role",
			metrics.ErrNotApplicable)
	}
	chances, findings, err := judgeReplies(ctx, m, s, replyQuestion{
		prompt: conversationRolePrompt, role: strings.Join(role, "\n"),
	})
	if err != nil {
		return metrics.Score{}, err
	}
	return metrics.Score{Value: meanChance(chances), Because: findings}, nil
}

// A replyQuestion is a question of yes or no about each of the assistant's replies.
type replyQuestion struct {
	prompt *prompts.Prompt
	role   string // that the system gave the assistant; "": the question is about none
	lapse  bool   // yes is bad
	after  int    // the user's turns that must stand before a reply
}

func (q replyQuestion) data(conversation, reply string) any {
	if q.role != "" {
		return roleData{q.role, conversation, reply}
	}
	return replyData{conversation, reply}
}

// judgeReplies asks about what the assistant said in each of its turns. It returns the probabilities that
// each reply is good. Where the conversation before a reply is too long, the judge is asked in windows of
// it, and is believed where it says yes in any.
func judgeReplies(ctx context.Context, m metrics.Models, s *metrics.Sample,
	q replyQuestion) ([]float64, []metrics.Finding, error) {
	turns := conversation(s)
	lines := transcript(turns)
	var chances []float64
	var findings []metrics.Finding
	users := 0
	for i, t := range turns {
		if t.Role == backend.User {
			users++
			continue
		}
		reply := strings.TrimSpace(t.Said)
		if reply == "" || users < q.after {
			continue
		}
		p, windows, err := yesAfter(ctx, m, q, lines[:i], reply)
		if err != nil {
			return nil, nil, err
		}
		if q.lapse {
			p = 1 - p
		}
		good := p >= 0.5
		f := metrics.Finding{Kind: "turn", Text: reply, Verdict: &good, Value: &p, Where: fmt.Sprintf("turn %d", i+1)}
		if windows > 1 {
			f.Where += fmt.Sprintf(", after %d windows", windows)
		}
		chances = append(chances, p)
		findings = append(findings, f)
	}
	if len(chances) == 0 {
		return nil, nil, fmt.Errorf("%w: in the conversation, the assistant says nothing after %d of the user's turns",
			metrics.ErrNotApplicable, q.after)
	}
	return chances, findings, nil
}

// yesAfter asks about a reply after what was said before it, which may be nothing.
func yesAfter(ctx context.Context, m metrics.Models, q replyQuestion, before []string,
	reply string) (float64, int, error) {
	if len(before) == 0 {
		p, err := ask.Yes(ctx, m, q.prompt, q.data("", reply))
		return p, 1, err
	}
	return ask.YesInWindows(ctx, m, q.prompt, before, func(text string) any { return q.data(text, reply) })
}

var replyExample = prompts.Example{
	Data:  replyData{Conversation: "<conversation>", Reply: "<reply>"},
	Shown: map[string]string{".Conversation": "<conversation>", ".Reply": "<reply>"},
}

var conversationRelevancePrompt = prompts.Builtin("conversation_relevance", replyExample)

var conversationLapsePrompt = prompts.Builtin("conversation_lapse", replyExample)

var conversationWishesPrompt = prompts.Builtin("conversation_wishes", prompts.Example{
	Data:  conversationData{Conversation: "<conversation>"},
	Shown: map[string]string{".Conversation": "<conversation>"},
})

var conversationRolePrompt = prompts.Builtin("conversation_role", prompts.Example{
	Data:  roleData{Role: "<role>", Conversation: "<conversation>", Reply: "<reply>"},
	Shown: map[string]string{".Role": "<role>", ".Reply": "<reply>"},
})
