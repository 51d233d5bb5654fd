package metrics

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
)

// conversationMetrics judge a conversation turn by turn, or wish by wish.
func conversationMetrics() []Metric {
	replies := func(method, doc, source, formula, prompt string, score func(context.Context, Models, *Sample) (Score, error)) Metric {
		return Metric{
			Name: "conversation/" + method, Doc: doc, Source: source, Formula: formula,
			Calls: "1 choice for each reply in the conversation",
			Min:   0, Max: 1, Needs: Question | Answer | History, Asks: Asks{backend.Judge: backend.CanChoose},
			Prompts: []string{prompt}, Score: score,
		}
	}
	return []Metric{{
		Name:    "conversation/completeness",
		Doc:     "share of what the user of a conversation wanted that they got",
		Source:  "after DeepEval's ConversationCompleteness",
		Formula: "mean over the user's wishes, which the judge lists, of the probability that it says each was met",
		Calls:   "1 reply for the wishes, 1 choice for each",
		Default: true,
		Min:     0,
		Max:     1,
		Needs:   Question | Answer | History,
		Asks:    Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []string{"conversation_wishes", "goal_reached"},
		Score:   scoreCompleteness,
	},
		replies("relevance", "share of the assistant's replies that respond to what was said before",
			"after DeepEval's TurnRelevancy, over the whole conversation",
			"mean over the assistant's replies of the probability that the judge says each is relevant",
			"conversation_relevance", scoreTurnRelevance),
		replies("knowledge_retention", "share of the assistant's replies that forget nothing the user said before",
			"after DeepEval's KnowledgeRetention, in one question for each reply",
			"mean over the replies since the user's second turn of the probability that the judge does not say that it forgets something",
			"conversation_lapse", scoreRetention),
		replies("role_adherence", "share of the assistant's replies that keep to the role that the system gave it",
			"after DeepEval's RoleAdherence",
			"mean over the assistant's replies of the probability that the judge says each keeps to the role",
			"conversation_role", scoreRole),
	}
}

// conversationPrompts are those of conversationMetrics.
func conversationPrompts() map[string]promptExample {
	example := promptExample{
		replyData{Conversation: "<conversation>", Reply: "<reply>"},
		map[string]string{".Conversation": "<conversation>", ".Reply": "<reply>"},
	}
	return map[string]promptExample{
		"conversation_wishes": {
			conversationData{Conversation: "<conversation>"},
			map[string]string{".Conversation": "<conversation>"},
		},
		"conversation_relevance": example,
		"conversation_lapse":     example,
		"conversation_role": {
			roleData{Role: "<role>", Conversation: "<conversation>", Reply: "<reply>"},
			map[string]string{".Role": "<role>", ".Reply": "<reply>"},
		},
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

func scoreCompleteness(ctx context.Context, m Models, s *Sample) (Score, error) {
	wishes, err := listInConversation(ctx, m, "conversation_wishes", transcript(conversation(s)))
	if err != nil {
		return Score{}, err
	}
	if len(wishes) == 0 {
		return Score{}, fmt.Errorf("%w: the judge found no wish of the user in the conversation", ErrNotApplicable)
	}
	chances, findings, err := goalsReached(ctx, m, s, wishes)
	if err != nil {
		return Score{}, err
	}
	return Score{Value: meanChance(chances), Because: findings}, nil
}

func scoreTurnRelevance(ctx context.Context, m Models, s *Sample) (Score, error) {
	chances, findings, err := judgeReplies(ctx, m, s, replyQuestion{prompt: "conversation_relevance", after: 1})
	if err != nil {
		return Score{}, err
	}
	return Score{Value: meanChance(chances), Because: findings}, nil
}

// scoreRetention leaves out the replies to the user's first turn: there is nothing yet to forget.
func scoreRetention(ctx context.Context, m Models, s *Sample) (Score, error) {
	chances, findings, err := judgeReplies(ctx, m, s, replyQuestion{prompt: "conversation_lapse", lapse: true, after: 2})
	if err != nil {
		return Score{}, err
	}
	return Score{Value: meanChance(chances), Because: findings}, nil
}

func scoreRole(ctx context.Context, m Models, s *Sample) (Score, error) {
	var role []string
	for _, t := range s.History {
		if t.Role == backend.System && !blank(t.Text) {
			role = append(role, strings.TrimSpace(t.Text))
		}
	}
	if role == nil {
		return Score{}, fmt.Errorf("%w: the history has no system's turn that gives the assistant a role", ErrNotApplicable)
	}
	chances, findings, err := judgeReplies(ctx, m, s, replyQuestion{prompt: "conversation_role", role: strings.Join(role, "\n")})
	if err != nil {
		return Score{}, err
	}
	return Score{Value: meanChance(chances), Because: findings}, nil
}

// A replyQuestion is a question of yes or no about each of the assistant's replies.
type replyQuestion struct {
	prompt string
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
func judgeReplies(ctx context.Context, m Models, s *Sample, q replyQuestion) ([]float64, []Finding, error) {
	turns := conversation(s)
	lines := transcript(turns)
	var chances []float64
	var findings []Finding
	users := 0
	for i, t := range turns {
		if t.Role == backend.User {
			users++
			continue
		}
		reply := said(t)
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
		f := Finding{Kind: "turn", Text: reply, Verdict: &good, Value: &p, Where: fmt.Sprintf("turn %d", i+1)}
		if windows > 1 {
			f.Where += fmt.Sprintf(", after %d windows", windows)
		}
		chances = append(chances, p)
		findings = append(findings, f)
	}
	if len(chances) == 0 {
		return nil, nil, fmt.Errorf("%w: in the conversation, the assistant says nothing after %d of the user's turns", ErrNotApplicable, q.after)
	}
	return chances, findings, nil
}

// yesAfter asks about a reply after what was said before it, which may be nothing.
func yesAfter(ctx context.Context, m Models, q replyQuestion, before []string, reply string) (float64, int, error) {
	if len(before) == 0 {
		p, err := yes(ctx, m, q.prompt, q.data("", reply))
		return p, 1, err
	}
	return yesInWindows(ctx, m, q.prompt, before, func(text string) any { return q.data(text, reply) })
}
