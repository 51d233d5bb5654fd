package llama

import "github.com/assay-eval/assay/backend"

// plainTemplate is a chat template with the habits that most have.
const plainTemplate = `{% for m in messages %}<|{{ m.role }}|>
{{ m.content }}{{ eos_token }}
{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% endif %}`

// say makes messages of roles and texts in turn.
func say(pairs ...string) (messages []backend.Message) {
	for i := 0; i < len(pairs); i += 2 {
		messages = append(messages, backend.Message{Role: backend.Speaker(pairs[i]), Text: pairs[i+1]})
	}
	return messages
}
