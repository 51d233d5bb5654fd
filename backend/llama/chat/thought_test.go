package chat

import (
	"errors"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
)

// Templates with what reasoning models' templates do about thoughts.
const (
	chatted = `{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' and '</think>' in m.content %}` +
		`{{ m.content.split('</think>')[-1].lstrip('\n') }}{% else %}{{ m.content }}{% endif %}<|end_of_turn|>{% endfor %}`

	// switchedTemplate has a switch, as Qwen3's and GLM's have: without thoughts, it writes an empty one.
	switchedTemplate = chatted + `{% if add_generation_prompt %}<|assistant|>` +
		`{% if enable_thinking is defined and enable_thinking is false %}<think>

</think>

{% endif %}{% endif %}`

	// openedTemplate always begins a thought, as those of DeepSeek-R1 and QwQ do.
	openedTemplate = chatted + `{% if add_generation_prompt %}<|assistant|><think>
{% endif %}`

	// eitherTemplate begins a thought or ends it at once, as DeepSeek-V3.1's does.
	eitherTemplate = chatted + `{% if add_generation_prompt %}<|assistant|>{% if thinking %}<think>{% else %}</think>` +
		`{% endif %}{% endif %}`

	// silentTemplate leaves it to the model to begin a thought, as the first of DeepSeek-R1 did.
	silentTemplate = chatted + `{% if add_generation_prompt %}<|assistant|>{% endif %}`

	// toldTemplate says in words whether to think, as SmolLM3's does.
	toldTemplate = `<|system|>{% if enable_thinking %}Write <think> thoughts </think> first.{% else %}Do not think.` +
		`{% endif %}<|end_of_turn|>` + chatted + `{% if add_generation_prompt %}<|assistant|>` +
		`{% if not enable_thinking %}<think>

</think>
{% endif %}{% endif %}`

	// channelledTemplate has channels, as gpt-oss's has.
	channelledTemplate = `{% for m in messages %}<|start|>{{ m.role }}{% if m.role == 'assistant' %}` +
		`<|channel|>final<|message|>{% else %}<|message|>{% endif %}{{ m.content }}<|end|>{% endfor %}` +
		`{% if add_generation_prompt %}<|start|>assistant{% endif %}`

	// wordyTemplate only speaks of the marks.
	wordyTemplate = `{# </think> #}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end_of_turn|>{% endfor %}` +
		`{% if add_generation_prompt %}<|assistant|>{% endif %}`
)

// TestThoughts checks, for each habit, where a reply without a thought starts, where a thought does, and where the reply
// behind it.
func TestThoughts(t *testing.T) {
	text := func(parts []Part, err error) string {
		if err != nil {
			return err.Error()
		}
		got := ""
		for _, p := range parts {
			if p.Template {
				got += p.Text
			} else {
				got += "«" + p.Text + "»"
			}
		}
		return got
	}
	check := func(source, silent, thinking, thought string) {
		t.Helper()
		c := newTestChat(t, source)
		if got := text(c.Render(say("user", "Hi"))); got != silent {
			t.Errorf("without a thought %q, want %q", got, silent)
		}
		if !c.Thinks() {
			t.Errorf("no marks were found in %s", source)
			return
		}
		got := text(c.RenderThinking(say("user", "Hi")))
		if got != thinking {
			t.Errorf("a thought starts %q, want %q", got, thinking)
		}
		if got += text(c.Thought(" So.<|assistant|>\n")); got != thinking+thought {
			t.Errorf("behind a thought %q, want %q", got, thinking+thought)
		}
		if _, err := c.Thought("So." + c.ThoughtEnd() + "No."); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("a thought that ends within itself: %v", err)
		}
	}
	const turn, empty, thought = "<|user|>«Hi»<|end_of_turn|><|assistant|>", "<think>\n\n</think>\n\n",
		"«So.<|assistant|>»\n</think>\n\n"
	check(switchedTemplate, turn+empty, turn+"<think>\n", thought)
	check(openedTemplate, turn+empty, turn+"<think>\n", thought)
	check(eitherTemplate, turn+"</think>", turn+"<think>", thought)
	check(silentTemplate, turn+empty, turn+"<think>\n", thought)
	check(strings.ReplaceAll(openedTemplate, "think", "thought"),
		turn+"<thought>\n\n</thought>\n\n", turn+"<thought>\n", "«So.<|assistant|>»\n</thought>\n\n")
	check(toldTemplate, "<|system|>Do not think.<|end_of_turn|>"+turn+"<think>\n\n</think>\n",
		"<|system|>Write <think> thoughts </think> first.<|end_of_turn|>"+turn+"<think>\n", thought)
	check(channelledTemplate, "<|start|>user<|message|>«Hi»<|end|><|start|>assistant<|channel|>final<|message|>",
		"<|start|>user<|message|>«Hi»<|end|><|start|>assistant<|channel|>analysis<|message|>",
		"«So.<|assistant|>»<|end|><|start|>assistant<|channel|>final<|message|>")

	for source, want := range map[string]bool{switchedTemplate: false, eitherTemplate: false, toldTemplate: false,
		openedTemplate: true, silentTemplate: true, channelledTemplate: true} {
		if c := newTestChat(t, source); c.Silences() != want {
			t.Errorf("the engine keeps the thoughts out: %v, want %v: %s", c.Silences(), want, source)
		}
	}
	for _, source := range []string{plainTemplate, trimmingTemplate, strictTemplate, wordyTemplate, ""} {
		if c := newTestChat(t, source); c.Thinks() || c.Silences() {
			t.Errorf("marks were found in %q", source)
		}
	}
	// What stands before an answer that is judged is not ours to add.
	parts, err := newTestChat(t, openedTemplate).Said(backend.Pair{Query: "Hi", Text: "Hello"})
	if got := text(parts, err); strings.Contains(got, "think") {
		t.Errorf("a pair rendered as %q", got)
	}
}
