package agent

import (
	"github.com/assay-eval/assay/metrics/prompts"
)

// The prompts of this family, each with an example of what it is rendered with.
var (
	conversationWishesPrompt = prompts.Builtin("conversation_wishes", prompts.Example{
		Data:  conversationData{Conversation: "<conversation>"},
		Shown: map[string]string{".Conversation": "<conversation>"},
	})
	conversationRelevancePrompt = prompts.Builtin("conversation_relevance", replyExample)
	conversationLapsePrompt     = prompts.Builtin("conversation_lapse", replyExample)
	conversationRolePrompt      = prompts.Builtin("conversation_role", prompts.Example{
		Data:  roleData{Role: "<role>", Conversation: "<conversation>", Reply: "<reply>"},
		Shown: map[string]string{".Role": "<role>", ".Reply": "<reply>"},
	})
	goalInferredPrompt = prompts.Builtin("goal_inferred", prompts.Example{
		Data:  conversationData{Conversation: "<conversation>"},
		Shown: map[string]string{".Conversation": "<conversation>"},
	})
	goalReachedPrompt = prompts.Builtin("goal_reached", prompts.Example{
		Data:  goalData{Conversation: "<conversation>", Goal: "<goal>"},
		Shown: map[string]string{".Conversation": "<conversation>", ".Goal": "<goal>"},
	})
	topicListPrompt = prompts.Builtin("topic_list", prompts.Example{
		Data:  conversationData{Conversation: "<conversation>"},
		Shown: map[string]string{".Conversation": "<conversation>"},
	})
	topicAnsweredPrompt = prompts.Builtin("topic_answered", prompts.Example{
		Data:  topicAnsweredData{Conversation: "<conversation>", Topic: "<topic>"},
		Shown: map[string]string{".Conversation": "<conversation>", ".Topic": "<topic>"},
	})
	topicAllowedPrompt = prompts.Builtin("topic_allowed", prompts.Example{
		Data:  topicAllowedData{Topics: []string{"<first>", "<second>"}, Topic: "<topic>"},
		Shown: map[string]string{".Topics": "<first>", "every one of .Topics": "<second>", ".Topic": "<topic>"},
	})
)

var replyExample = prompts.Example{
	Data:  replyData{Conversation: "<conversation>", Reply: "<reply>"},
	Shown: map[string]string{".Conversation": "<conversation>", ".Reply": "<reply>"},
}
