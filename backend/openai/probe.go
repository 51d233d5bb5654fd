package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/remote"
)

// probe finds out what the model can do by asking for it, a few tokens each. What a server refuses it cannot do; a
// server that is away, or busy, is an error.
func (e *Engine) probe(ctx context.Context) error {
	var refusals []string
	for _, try := range []struct {
		what string
		ask  func(context.Context) (backend.Ops, error)
	}{
		{"chat", e.probeChat},
		{"schema", e.probeSchema},
		{"probabilities of a text", e.probeScore},
		{"rerank", e.probeRerank},
		{"embeddings", e.probeEmbed},
	} {
		ops, err := try.ask(ctx)
		switch {
		case errors.Is(err, backend.ErrUnavailable) || ctx.Err() != nil:
			return err
		case err != nil:
			refusals = append(refusals, fmt.Sprintf("%s: %v", try.what, err))
		}
		e.info.Ops |= ops
	}
	if e.info.Ops == 0 {
		return fmt.Errorf("model %s can neither generate nor embed text on this server (%s)", e.said.model,
			strings.Join(refusals, "; "))
	}
	return nil
}

// hello is a short question.
func hello(tokens int) *backend.GenerateRequest {
	return &backend.GenerateRequest{MaxTokens: tokens,
		Messages: []backend.Message{{Role: backend.User, Text: "Name a bird."}}}
}

// probeChat asks for one token with probabilities, and if that is refused for one without.
func (e *Engine) probeChat(ctx context.Context) (backend.Ops, error) {
	r, err := e.ask(ctx, hello(1), e.top())
	if err == nil && len(r.top) > 1 {
		return backend.CanGenerate | backend.CanChoose, nil
	}
	if err == nil || errors.Is(err, backend.ErrUnavailable) {
		return backend.CanGenerate, err
	}
	if _, err := e.ask(ctx, hello(1), 0); err != nil {
		return 0, err
	}
	return backend.CanGenerate, nil
}

// probeSchema tries the forms in which a server may take a schema, with one that only a held reply meets.
func (e *Engine) probeSchema(ctx context.Context) (backend.Ops, error) {
	if !e.info.Ops.Has(backend.CanGenerate) {
		return 0, nil
	}
	const bird = "kestrel-7"
	req := hello(48)
	req.Schema = json.RawMessage(`{"type":"object","properties":{"bird":{"type":"string","enum":["` + bird + `"]}},` +
		`"required":["bird"],"additionalProperties":false}`)
	forms := []form{formResponse}
	switch e.said.kind {
	case llamaServer:
		forms = []form{formPlain}
	case vllm:
		forms = []form{formResponse, formGuided}
	}
	for _, e.form = range forms {
		r, err := e.ask(ctx, req, 0)
		if errors.Is(err, backend.ErrUnavailable) {
			return 0, err
		}
		var held struct{ Bird string }
		if err == nil && json.Unmarshal([]byte(r.text), &held) == nil && held.Bird == bird {
			return backend.CanConstrain, nil
		}
	}
	e.form = noForm
	return 0, nil
}

// probeScore asks servers that may tell them for the probabilities of a text.
func (e *Engine) probeScore(ctx context.Context) (backend.Ops, error) {
	if !e.info.Ops.Has(backend.CanGenerate) || e.said.kind != vllm && e.said.kind != assay {
		return 0, nil
	}
	s, err := e.teach(ctx, hello(1), []string{"Wren"})
	if err != nil || len(s.LogProbs[0]) == 0 {
		return 0, err
	}
	return backend.CanScore | backend.CanChoose, nil
}

// probeEmbed asks for a vector, but not where one is sent that means nothing: of a reranker llama-server sends what
// happens to lie in its memory, and of a model that writes Ollama sends what no one trained.
func (e *Engine) probeEmbed(ctx context.Context) (backend.Ops, error) {
	if e.said.kind == llamaServer && e.info.Ops.Has(backend.CanClassify) ||
		e.said.kind == ollama && e.info.Ops.Has(backend.CanGenerate) {
		return 0, nil
	}
	if _, err := e.embed(ctx, backend.Texts("a bird")); err != nil {
		return 0, err
	}
	return backend.CanEmbed, nil
}

// probeRerank asks those servers whose numbers are known to be the head's own: others put a function over them. So does
// vLLM, unless it is told not to, which older versions do not heed: then the two answers to a pair are not a number and its
// sigmoid.
func (e *Engine) probeRerank(ctx context.Context) (backend.Ops, error) {
	if e.said.kind != llamaServer && e.said.kind != vllm && e.said.kind != assay {
		return 0, nil
	}
	pairs := []backend.Pair{{Query: "a bird", Text: "a wren"}, {Query: "a bird", Text: "the price of coal"}}
	own, err := e.rerank(ctx, pairs, false)
	if err != nil {
		return 0, err
	}
	if e.said.kind == vllm {
		activated, err := e.rerank(ctx, pairs, true)
		if err != nil {
			return 0, err
		}
		const near = 0.01 // as numbers of 16 bits are rounded
		for i := range pairs {
			number, share := float64(own[i][0]), float64(activated[i][0])
			if number == share || math.Abs(1/(1+math.Exp(-number))-share) > near {
				return 0, nil
			}
		}
	}
	return backend.CanClassify, nil
}

// unpack asks Ollama what the model is packaged with: its stop strings, which those of a request would displace, and its
// vocabulary.
func (e *Engine) unpack(ctx context.Context) error {
	if e.said.kind != ollama {
		return nil
	}
	var show struct {
		Parameters string
		Fields     map[string]any `json:"model_info"`
	}
	_, err := e.client.optional(ctx, e.client.side("api/show"),
		map[string]any{"model": e.said.model, "verbose": true}, &show)
	e.stops, e.controls = remote.PackagedStops(show.Parameters), remote.NewControls(show.Fields)
	return err
}
