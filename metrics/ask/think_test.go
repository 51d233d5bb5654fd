package ask

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// scoreOne runs a metric that asks as score says, and returns its result.
func scoreOne(t *testing.T, m metrics.Metric, models metrics.Models) metrics.Result {
	t.Helper()
	var got metrics.Result
	samples := func(yield func(*metrics.Sample, error) bool) { yield(&metrics.Sample{ID: "s"}, nil) }
	if err := metrics.Run(t.Context(), samples, []metrics.Metric{m}, models, metrics.Options{},
		func(r metrics.Result) error { got = r; return nil }); err != nil {
		t.Fatal(err)
	}
	return got
}

// chooser asks one yes/no question, writer has one number written.
func chooser(prompt *prompts.Prompt) metrics.Metric {
	return metrics.Metric{Name: "a/chooser", Max: 1, Asks: metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{prompt}, Score: func(ctx context.Context, m metrics.Models,
			_ *metrics.Sample) (metrics.Score, error) {
			yes, err := Yes(ctx, m, prompt, nil)
			return metrics.Score{Value: yes}, err
		}}
}

func writer(prompt *prompts.Prompt) metrics.Metric {
	return metrics.Metric{Name: "a/writer", Max: 1, Asks: metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: []*prompts.Prompt{prompt}, Score: func(ctx context.Context, m metrics.Models,
			_ *metrics.Sample) (metrics.Score, error) {
			v, err := Judge(ctx, m, Query{Prompt: prompt}, func(r Reply) (float64, error) {
				if strings.TrimSpace(r.Text) != "1" {
					return 0, fmt.Errorf("%q is not 1", r.Text)
				}
				return 1, nil
			})
			return metrics.Score{Value: v}, err
		}}
}

func plainPrompt(t *testing.T) *prompts.Prompt {
	t.Helper()
	p, err := prompts.Parse("p.tmpl", "version: 1\nmax_tokens: 9\n--- system\nBe brief.\n--- user\nWell?\n")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestThinking checks what is asked for, with the marks of a model and in words, before a choice and before a reply.
func TestThinking(t *testing.T) {
	prompt := plainPrompt(t)
	words, err := ThoughtPrompt.Render(thoughtData{"It is so."})
	if err != nil {
		t.Fatal(err)
	}
	for _, marks := range []bool{true, false} {
		for _, m := range []metrics.Metric{chooser(prompt), writer(prompt)} {
			var asked []string
			note := func(messages []backend.Message, thinks bool, thought string) {
				text := ""
				for _, message := range messages {
					text += string(message.Role) + ": " + message.Text + "\n"
				}
				asked = append(asked, fmt.Sprintf("%s%v %q", text, thinks, thought))
			}
			judge := &backendtest.Fake{
				Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
					note(req.Messages, req.Thinks, req.Thought)
					if req.Thinks || strings.HasSuffix(req.Messages[len(req.Messages)-1].Text, words[0].Text) {
						if req.MaxTokens != 3 || !req.Once || req.Sampling.Temperature != 0.6 || req.Sampling.Seed != 7 {
							t.Errorf("a thought is asked for with %+v", *req)
						}
						return " It is so. It really is.\n", nil
					}
					if req.Sampling.Temperature != 0 {
						t.Errorf("the reply is sampled: %+v", *req)
					}
					return "1", nil
				},
				LogProbs: func(messages []backend.Message, continuation string) []float64 {
					return []float64{math.Log(map[string]float64{"Yes": 0.6, "No": 0.2}[continuation])}
				},
				Before: func(_ context.Context, call backendtest.Call) error {
					if call.Score != nil {
						note(call.Score.Messages, false, call.Score.Thought)
					}
					return nil
				},
			}
			judge.About.Ops = judge.Info().Ops
			if !marks {
				judge.About.Ops &^= backend.CanThink
			}
			thinking, err := Thinking(m, 3)
			if err != nil {
				t.Fatal(err)
			}
			if thinking.Name != m.Name+"@think=3" || !thinking.Asks[backend.Judge].Has(backend.CanGenerate) ||
				!m.Asks[backend.Judge].Has(thinking.Asks[backend.Judge]&^backend.CanGenerate) ||
				len(thinking.Prompts) != 2 || len(m.Prompts) != 1 {
				t.Errorf("%+v", thinking)
			}
			models := metrics.Models{Roles: metrics.Roles{backend.Judge: judge}, Seed: 7}
			r := scoreOne(t, thinking, models)
			if r.Score == nil || math.Abs(r.Score.Value-0.75) > 0.25+1e-12 || len(r.Calls) != 2 || r.Cost.OutputTokens < 3 {
				t.Fatalf("%+v", r)
			}
			const question = "system: Be brief.\nuser: Well?"
			want := []string{question + "\ntrue \"\"", question + "\nfalse \"It is so\""}
			if !marks {
				cue := question + "\n\n" + words[0].Text + "\n"
				want = []string{cue + `false ""`, cue + "assistant: It is so\nuser: " + words[2].Text + "\nfalse \"\""}
			}
			if fmt.Sprint(asked) != fmt.Sprint(want) {
				t.Errorf("%s, with marks: %v: asked\n%s\nwant\n%s", m.Name, marks, asked, want)
			}
			last := r.Score.Because[len(r.Score.Because)-1]
			if last.Kind != "thought" || last.Text != "It is so" || last.Reason != "closed after 3 tokens" ||
				last.Where != "prompt p" {
				t.Errorf("the evidence is %+v", last)
			}
			asked = nil
			if r := scoreOne(t, m, models); r.Score == nil || len(asked) != 1 || len(r.Score.Because) != 0 {
				t.Errorf("without a thought %+v, asked %q", r, asked)
			}
		}
	}
}

// TestThoughtsOfDraws checks that draws, and replies to be had again, have thoughts of their own.
func TestThoughtsOfDraws(t *testing.T) {
	seen := map[int]bool{}
	judge := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		if !req.Thinks {
			return "no", nil
		}
		if seen[req.Draw] {
			t.Errorf("the thought of draw %d is asked for twice", req.Draw)
		}
		seen[req.Draw] = true
		return fmt.Sprint(req.Draw), nil
	}}
	prompt := plainPrompt(t)
	models := metrics.Models{Roles: metrics.Roles{backend.Judge: judge}, Thought: 5}
	for i := range 2 {
		_, err := Judge(t.Context(), models.Drawing(i, 2), Query{Prompt: prompt}, func(Reply) (int, error) {
			return 0, errors.New("no")
		})
		if !errors.Is(err, metrics.ErrBadReply) {
			t.Errorf("got %v", err)
		}
		if _, err := Yes(t.Context(), models.Drawing(i+10, 20), prompt, nil); err != nil {
			t.Error(err)
		}
	}
	if len(seen) != 2*MaxDraws+2 {
		t.Errorf("%d thoughts, want %d", len(seen), 2*MaxDraws+2)
	}
	if m, err := Thinking(chooser(prompt), 5); err != nil || scoreOne(t, metrics.Metric{Name: "x", Max: 1,
		Score: func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return m.Score(ctx, models.Drawing(20, 30), s)
		}}, metrics.Models{Roles: metrics.Roles{backend.Judge: judge}}).Score.Because[0].Where != "draw 21, prompt p" {
		t.Error("a thought does not say of which draw it is")
	}
}

// TestThoughtFaults checks that a thought that fails is the sample's error, and that chats do not think.
func TestThoughtFaults(t *testing.T) {
	judge := &backendtest.Fake{About: backend.Info{Context: 60}}
	prompt := plainPrompt(t)
	models := metrics.Models{Roles: metrics.Roles{backend.Judge: judge}, Thought: 1000}
	if _, err := Yes(t.Context(), models, prompt, nil); !errors.Is(err, backend.ErrPromptTooLong) ||
		!strings.Contains(err.Error(), "prompt p, the thought") {
		t.Errorf("no room for a thought: %v", err)
	}
	chat := Chat{Name: "c", Messages: []backend.Message{{Role: backend.User, Text: "Well?"}}, MaxTokens: 5}
	if _, err := WeighChat(t.Context(), models, chat, []string{"amber", "basil"}); err != nil {
		t.Error(err)
	}
	judge.Reply = func(context.Context, *backend.GenerateRequest) (string, error) { return "<think>a</think>b", nil }
	said, err := JudgeChat(t.Context(), models, chat, func(r Reply) (string, error) { return r.Text, nil })
	if err != nil || !strings.HasPrefix(said, "<think>") {
		t.Errorf("a chat reads %q, %v: what a judge of a profile thinks is for the profile to read", said, err)
	}
	models.Thought = 0
	for _, aloud := range []string{"<think>1</think>\n1", "2\n</think>\n1"} {
		judge.Reply = func(context.Context, *backend.GenerateRequest) (string, error) { return aloud, nil }
		if r := scoreOne(t, writer(prompt), models); r.Score == nil || r.Score.Value != 1 {
			t.Errorf("%q: %+v", aloud, r)
		}
	}
	judge.Reply = func(context.Context, *backend.GenerateRequest) (string, error) { return "<think>1", nil }
	if r := scoreOne(t, writer(prompt), models); r.Kind != metrics.BadReply || !strings.Contains(r.Error, "thought aloud") {
		t.Errorf("%+v", r)
	}
}

func TestThinkingRefuses(t *testing.T) {
	prompt := plainPrompt(t)
	check := func(want string, m metrics.Metric, tokens int) {
		t.Helper()
		if _, err := Thinking(m, tokens); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	m := chooser(prompt)
	check("from 1 to 65536 tokens, as in a/chooser@think=512", m, 0)
	check("from 1 to 65536 tokens", m, MostThought+1)
	thinking, err := Thinking(m, MostThought)
	if err != nil {
		t.Fatal(err)
	}
	check("it thinks already", thinking, 5)
	m.Prompts = nil
	check("no prompt of it asks a judge", m, 5)
	m.Prompts, m.Asks = []*prompts.Prompt{prompt}, metrics.Asks{backend.Judge: backend.CanScore, backend.Embedder: backend.CanEmbed}
	check("no prompt of it asks a judge", m, 5)
}

// TestReply checks what is read of a reply in which the judge thought aloud.
func TestReply(t *testing.T) {
	for text, want := range map[string]string{
		"Yes":                                  "Yes",
		"":                                     "",
		"<think>No.</think>\n\nYes":            "\n\nYes",
		" \n<think>\n</think>\nYes":            "\nYes",
		"<thought>No.</thought>Yes":            "Yes",
		"No.\n</think>\nYes":                   "Yes",
		"No.\n</think>":                        "",
		"It ends thoughts with </think>. Yes":  "It ends thoughts with </think>. Yes",
		`{"quote": "a <think> b </think> c"}`:  `{"quote": "a <think> b </think> c"}`,
		"1. It says <think>.\n2. No.":          "1. It says <think>.\n2. No.",
		"<think>No.</think>A.\n</think>\nMore": "A.\n</think>\nMore",
	} {
		if got, err := reply(text); got != want || err != nil {
			t.Errorf("reply(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"<think>", "<think>Yes", "  <thought>\nYes\n"} {
		if got, err := reply(text); !errors.Is(err, errOnlyThought) || got != "" {
			t.Errorf("reply(%q) = %q, %v", text, got, err)
		}
	}
}

func FuzzReply(f *testing.F) {
	for _, s := range []string{"Yes", "<think>a</think>b", "a\n</think>\nb", "<thought></think>", "</think>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := reply(text)
		if !strings.HasSuffix(text, got) || err != nil && got != "" {
			t.Errorf("reply(%q) = %q, %v: that was not said last", text, got, err)
		}
		if !strings.Contains(text, "<th") && !strings.Contains(text, "</th") && got != text {
			t.Errorf("reply(%q) = %q, where nothing was thought", text, got)
		}
	})
}
