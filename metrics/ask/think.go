package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// ThoughtPrompt says how thoughts are sampled, and how a judge is asked for one whose model has no marks for thoughts.
var ThoughtPrompt = prompts.Builtin("thought", prompts.Example{Data: thoughtData{"The text gives a height of 41 metres."}})

type thoughtData struct{ Thought string }

// MostThought bounds what a judge may think before a reply, in tokens.
const MostThought = 1 << 16

// Thinking returns the metric m with a thought of the judge, of at most so many tokens, before each reply that a prompt
// asks for, and before each choice by probability. It is faithfulness/logit@think=512. Thoughts are evidence, findings
// of kind "thought", and never read as the reply. Judges that a profile shows what they were trained on do not think.
//
// A model that marks its thoughts thinks as it was trained to (backend.CanThink), and its thought is closed for it where
// the bound is reached; any other is asked in words to think step by step, and then to reply (zero-shot chain of
// thought: Kojima et al. 2022, arXiv 2205.11916).
func Thinking(m metrics.Metric, tokens int) (metrics.Metric, error) {
	name := fmt.Sprintf("%s@think=%d", m.Name, tokens)
	switch {
	case tokens < 1 || tokens > MostThought:
		return metrics.Metric{}, fmt.Errorf("%s@think: a thought has from 1 to %d tokens, as in %[1]s@think=512", m.Name,
			MostThought)
	case strings.Contains(m.Name, "@think="):
		return metrics.Metric{}, fmt.Errorf("%s: it thinks already", name)
	case !CanThink(m):
		return metrics.Metric{}, fmt.Errorf("%s: no prompt of it asks a judge to reply or to choose, so there is nothing "+
			"to think about", name)
	}
	score := m.Score
	asks := metrics.Asks{}
	for role, ops := range m.Asks {
		if replies(role, ops) {
			ops |= backend.CanGenerate
		}
		asks[role] = ops
	}
	m.Name, m.Asks = name, asks
	m.Prompts = append(slices.Clip(m.Prompts), ThoughtPrompt)
	m.Doc = fmt.Sprintf("with a thought of up to %d tokens before each reply: %s", tokens, m.Doc)
	m.Calls = "with a thought before each: " + m.Calls
	m.At, m.Settings, m.Default = nil, nil, false
	m.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		models.Thought = tokens
		return score(ctx, models, s)
	}
	return m, nil
}

// CanThink reports whether [Thinking] makes a difference to m: whether a judge is asked by a prompt, for a reply or to
// choose.
func CanThink(m metrics.Metric) bool {
	// The file of a profile stands in for a prompt, and has no version.
	if !slices.ContainsFunc(m.Prompts, func(p *prompts.Prompt) bool { return p.Version != "" }) {
		return false
	}
	for role, ops := range m.Asks {
		if replies(role, ops) {
			return true
		}
	}
	return false
}

// replies reports whether a judge is asked for a reply or to choose.
func replies(role backend.Role, ops backend.Ops) bool {
	return role.Kind() == backend.Judge && ops&(backend.CanGenerate|backend.CanChoose) != 0
}

// think has the judge think about messages, where the metric gives it room to, before reply number draw. It returns what
// the judge is to be asked then: the messages, and the thought where the model has marks for it.
func think(ctx context.Context, m metrics.Models, name string, messages []backend.Message,
	draw int) ([]backend.Message, string, error) {
	if m.Thought == 0 {
		return messages, "", nil
	}
	p := m.Prompts.For(ThoughtPrompt)
	info := m.Role(backend.Judge).Info()
	req := backend.GenerateRequest{Messages: messages, Thinks: info.Ops.Has(backend.CanThink), MaxTokens: m.Thought,
		Sampling: p.Sampling, Draw: draw, Once: true}
	if req.Sampling.Temperature > 0 {
		req.Sampling.Seed += m.Seed
	}
	if !req.Thinks {
		words, err := inWords(p, "")
		if err != nil {
			return nil, "", err
		}
		req.Messages = slices.Clone(messages)
		req.Messages[len(messages)-1].Text += "\n\n" + words[0].Text
	}
	g, err := m.Role(backend.Judge).Generate(ctx, &req)
	if err != nil {
		return nil, "", fmt.Errorf("%s, the thought: %w", name, err)
	}
	m.Note(backend.GenerateKey(info, &req), g.PromptTokens, g.OutputTokens)
	thought := strings.TrimSpace(strings.ToValidUTF8(g.Text, "\uFFFD"))
	m.Observe(thoughtFinding(name, thought, g))
	if req.Thinks || thought == "" {
		return messages, thought, nil
	}
	words, err := inWords(p, thought)
	if err != nil {
		return nil, "", err
	}
	return append(req.Messages, words[1:]...), "", nil
}

// CheckThought returns an error if the user's own [ThoughtPrompt] cannot be asked with.
func CheckThought(own prompts.Set) error {
	_, err := inWords(own.For(ThoughtPrompt), "")
	return err
}

// inWords is how a judge is asked for a thought in words: the question, the thought and how it is asked to reply then.
func inWords(p *prompts.Prompt, thought string) ([]backend.Message, error) {
	words, err := p.Render(thoughtData{thought})
	if err != nil {
		return nil, fmt.Errorf("prompt %s: %v", p.Name, err)
	}
	if len(words) != 3 || words[0].Role != backend.User || words[1].Role != backend.Assistant {
		return nil, fmt.Errorf("prompt %s: it takes three messages, of the user, the assistant and the user", p.Name)
	}
	return words, nil
}

// thoughtFinding is a thought as evidence.
func thoughtFinding(name, thought string, g *backend.Generation) metrics.Finding {
	const most = 2000 // bytes; the cache has it whole
	f := metrics.Finding{Kind: "thought", Text: thought, Where: name}
	if len(thought) > most {
		f.Text = strings.ToValidUTF8(thought[:most], "") + "…"
	}
	switch g.Stop {
	case backend.StopLength:
		f.Reason = fmt.Sprintf("closed after %d tokens", g.OutputTokens)
	case backend.StopRepeat:
		f.Reason = fmt.Sprintf("closed after %d tokens, when it repeated itself", g.OutputTokens)
	}
	return f
}

// errOnlyThought says that a reply is a thought that did not end.
var errOnlyThought = errors.New("the judge thought aloud and came to no reply (--think TOKENS gives thoughts a room of " +
	"their own)")

// reply is what a judge said in its reply, without what it thought aloud before: a model may do so that was told not to.
// Where it thought to the end, there is no reply.
func reply(text string) (said string, err error) {
	for _, name := range []string{"think", "thought"} {
		open, end := "<"+name+">", "</"+name+">"
		if inside, ok := strings.CutPrefix(strings.TrimSpace(text), open); ok {
			_, said, ended := strings.Cut(inside, end)
			if !ended {
				return "", errOnlyThought
			}
			return said, nil
		}
		// The engine's template may have begun the thought. A quoted mark is not alone on its line.
		at := 0
		for line := range strings.Lines(text) {
			at += len(line)
			if strings.TrimSpace(line) == end {
				return text[at:], nil
			}
		}
	}
	return text, nil
}
