package view

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/internal/runs"
)

type (
	call struct {
		Key, Model, Engine, Op, Asked string
		Messages                      []said
		Reply                         string
		Likely                        []likely
	}
	likely struct{ Text, LogProb, Probability, Width string }
)

// call looks an answer of a model up.
func (v *Viewer) call(ctx context.Context, s *shown, key string) error {
	if v.options.Answers == nil {
		return runs.Inputf("the answer cache cannot be read")
	}
	e, err := v.options.Answers(ctx, key)
	if err != nil {
		return &runs.InputError{Err: err}
	}
	s.Call = callOf(e)
	return nil
}

// callOf reads an entry of the cache: what was asked, what was said, and how likely that was.
func callOf(e *cache.Entry) *call {
	c := &call{Key: fmt.Sprint(e.Key), Model: e.Model, Engine: e.Engine, Op: e.Op}
	var req struct {
		Messages  []backend.Message `json:"messages"`
		Documents []string          `json:"documents"`
		Query     string            `json:"query"`
		Text      string            `json:"text"`
		Next      []string          `json:"continuations"`
	}
	if json.Unmarshal(e.Request, &req) != nil {
		c.Messages = []said{{"request", clip(string(e.Request))}}
	}
	for _, d := range req.Documents {
		c.Messages = append(c.Messages, said{"document", clip(d)})
	}
	for _, m := range req.Messages {
		c.Messages = append(c.Messages, said{string(m.Role), clip(backend.Pair{Text: m.Text, Marks: m.Marks}.String())})
	}
	for _, part := range []said{{"query", req.Query}, {"text", req.Text}} {
		if part.Value != "" {
			c.Messages = append(c.Messages, said{part.Name, clip(part.Value)})
		}
	}
	switch e.Op {
	case "generate":
		var g backend.Generation
		if json.Unmarshal(e.Answer, &g) == nil {
			c.Reply = clip(g.Text)
			c.Asked = fmt.Sprintf("%d tokens of prompt, %d of reply", g.PromptTokens, g.OutputTokens)
		}
	case "score":
		var scores backend.Scores
		if json.Unmarshal(e.Answer, &scores) == nil && len(scores.LogProbs) == len(req.Next) {
			c.Asked = fmt.Sprintf("%d tokens of prompt", scores.PromptTokens)
			for i, list := range scores.LogProbs {
				sum := 0.0
				for _, p := range list {
					sum += p
				}
				c.Likely = append(c.Likely, likely{clip(req.Next[i]), fmt.Sprintf("%.3f", sum),
					fmt.Sprintf("%.4f", math.Exp(sum)), fmt.Sprintf("%.1f", 100*math.Exp(sum))})
			}
		}
	default:
		c.Reply = clip(string(e.Answer))
	}
	return c
}

// clip bounds a text of a call.
func clip(text string) string {
	const most = 100_000
	if len(text) <= most {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ToValidUTF8(text[:most], "\ufffd") + fmt.Sprintf(" … (%d more bytes)", len(text)-most)
}
