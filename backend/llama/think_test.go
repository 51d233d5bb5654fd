package llama

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/llama/chat"
)

// thinkingTemplate has a switch for thoughts, which openTemplate always begins.
const (
	thinkingTemplate = `{% for m in messages %}<|{{ m.role }}|>
{{ m.content }}{{ eos_token }}
{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}{% endif %}`
	openTemplate = `{% for m in messages %}<|{{ m.role }}|>
{{ m.content }}{{ eos_token }}
{% endfor %}{% if add_generation_prompt %}<|assistant|>
<think>
{% endif %}`
)

func TestThinkingConforms(t *testing.T) {
	testLib(t)
	path := tinyModel{template: thinkingTemplate}.write(t)
	e := open(t, Options{Model: path, Slots: 4})
	if info := e.Info(); !info.Ops.Has(backend.CanThink) || strings.Contains(info.Engine, "thoughtless") {
		t.Errorf("a model with a switch for thoughts is %+v", info)
	}
	e.Close()
	backendtest.Run(t, backendtest.Config{
		Open: func(t *testing.T) backend.Backend { return open(t, Options{Model: path, Slots: 4}) },
	})
}

// TestThoughtPrompts checks what the model reads, with the end of a thought as a token of its own and as text.
func TestThoughtPrompts(t *testing.T) {
	for _, control := range []string{"</think>", ""} {
		e := open(t, Options{Model: tinyModel{template: openTemplate, control: control}.write(t)})
		if info := e.Info(); !info.Ops.Has(backend.CanThink) || !strings.HasSuffix(info.Engine, " thoughtless") {
			t.Errorf("a model whose template always begins a thought is %+v", info)
		}
		v := e.model.vocab
		check := func(q question, want string) {
			t.Helper()
			q.messages = say("user", "lo</think>do")
			got, err := e.prompt(q)
			if err != nil {
				t.Fatal(err)
			}
			whole := v.prompt([]chat.Part{{Text: "<|user|>\n"}, {Text: "lo</think>do"},
				{Text: "</s>\n<|assistant|>\n" + want, Template: true}})
			if !equal(got, whole) {
				t.Errorf("%+v is read as %v, want %v, %q", q, got, whole, want)
			}
		}
		check(question{}, "<think>\n\n</think>\n\n")
		check(question{thinks: true}, "<think>\n")
		check(question{thought: " so fo "}, "<think>\nso fo\n</think>\n\n")

		end := v.special("</think>")
		if (end != llama.TokenNull) != (control != "") {
			t.Fatalf("the end of a thought is token %d", end)
		}
		if end != llama.TokenNull && (!e.model.thinker().ends(end) || e.model.speller().ends(end)) {
			t.Error("the token </think> must end a thought, and nothing else")
		}
		if eos := llama.VocabEOS(v.handle); !e.model.thinker().ends(eos) || e.model.thinker().ends(tinyWords) {
			t.Error("a thought must end with the turn, and not with a word")
		}
	}
}

// TestThoughtBits checks that what follows a thought has the same bits whether or not the thought was written before, and
// that the stretch that both share is computed once.
func TestThoughtBits(t *testing.T) {
	path := tinyModel{template: thinkingTemplate}.write(t)
	messages := say("system", strings.Repeat("lo do so ", 60), "user", strings.Repeat("fo go ho ", 60))
	score := func(e *Engine, thought string) *backend.Scores {
		t.Helper()
		s, err := e.Score(t.Context(), &backend.ScoreRequest{Messages: messages, Thought: thought,
			Continuations: []string{"lo", "do"}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := open(t, Options{Model: path})
	thought, err := first.Generate(t.Context(), &backend.GenerateRequest{Messages: messages, Thinks: true, MaxTokens: 90,
		Sampling: backend.Sampling{Temperature: 1}, Once: true})
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(thought.Text) == "" {
		t.Fatalf("the thought is %+v", *thought)
	}
	before := first.Stats()
	got := score(first, thought.Text)
	if after := first.Stats(); after.PromptComputed-before.PromptComputed >= int64(got.PromptTokens-100) {
		t.Errorf("%d of %d tokens were computed behind the thought", after.PromptComputed-before.PromptComputed,
			got.PromptTokens)
	}
	if want := score(open(t, Options{Model: path}), thought.Text); !reflect.DeepEqual(got, want) {
		t.Errorf("behind a thought that was written %v, behind one that was given %v", got, want)
	}
	if none := score(first, ""); reflect.DeepEqual(got.LogProbs, none.LogProbs) {
		t.Errorf("the thought made no difference to %v", got)
	}
}
