package cache

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/backend"
)

// An operation is what the cache must know to answer requests Q with answers A, one for each. A text or pair to encode
// is a request of its own, which the engine is asked together with others.
type operation[Q, A any] struct {
	name   string // as it is stored
	engine func(context.Context, []Q) ([]A, error)
	key    func(Q) backend.Key
	own    func(Q) Q     // a copy: the caller may leave, and reuse its request, while the engine is still at work
	record func(Q) any   // the request, as it is stored
	check  func(A) error // reports an answer that is not to be stored
	encode func(A) ([]byte, error)
	decode func([]byte) (A, error)
	cloned func(A) A // callers own their answers

	tokens func(A) (prompt, output int) // that the answer took; nil: they are not counted
}

// Generate answers from the store, or from the engine.
func (b *Backend) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	return one(ctx, b, req, operation[*backend.GenerateRequest, *backend.Generation]{
		name:   opGenerate,
		engine: alone(b.engine.Generate),
		key:    func(req *backend.GenerateRequest) backend.Key { return backend.GenerateKey(b.info, req) },
		own: func(req *backend.GenerateRequest) *backend.GenerateRequest {
			own := *req
			own.Messages, own.Documents = ownMessages(req.Messages), slices.Clone(req.Documents)
			own.Tokens = slices.Clone(req.Tokens)
			own.Schema = slices.Clone(req.Schema)
			own.Stop = slices.Clone(req.Stop)
			return &own
		},
		record: func(req *backend.GenerateRequest) any { return newGenerateRecord(req) },
		check:  checkGeneration,
		encode: encodeJSON[*backend.Generation],
		decode: decodeJSON[backend.Generation],
		cloned: func(g *backend.Generation) *backend.Generation { own := *g; return &own },
		tokens: func(g *backend.Generation) (int, int) { return g.PromptTokens, g.OutputTokens },
	})
}

// ownMessages is a copy of a chat.
func ownMessages(messages []backend.Message) []backend.Message {
	own := slices.Clone(messages)
	for i := range own {
		own[i].Marks = slices.Clone(own[i].Marks)
	}
	return own
}

// Score answers from the store, or from the engine.
func (b *Backend) Score(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	return one(ctx, b, req, operation[*backend.ScoreRequest, *backend.Scores]{
		name:   opScore,
		engine: alone(b.engine.Score),
		key:    func(req *backend.ScoreRequest) backend.Key { return backend.ScoreKey(b.info, req) },
		own: func(req *backend.ScoreRequest) *backend.ScoreRequest {
			own := *req
			own.Messages, own.Documents = ownMessages(req.Messages), slices.Clone(req.Documents)
			own.Continuations, own.Tokens = slices.Clone(req.Continuations), slices.Clone(req.Tokens)
			return &own
		},
		record: func(req *backend.ScoreRequest) any { return scoreRecord{*req} },
		check:  checkScores,
		encode: encodeJSON[*backend.Scores],
		decode: decodeJSON[backend.Scores],
		cloned: func(s *backend.Scores) *backend.Scores {
			own := *s
			own.LogProbs, own.Likely = clonedLists(s.LogProbs), clonedLists(s.Likely)
			return &own
		},
		tokens: func(s *backend.Scores) (int, int) { return s.PromptTokens, 0 },
	})
}

// Encode answers each input from the store where it can, and asks the engine for the others in one call.
func (b *Backend) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	if len(req.Inputs) == 0 || req.Output.Op() == 0 {
		return b.engine.Encode(ctx, req)
	}
	output := req.Output
	form := formOf(output)
	items, err := each(ctx, b, req.Inputs, operation[backend.Pair, backend.Encoded]{
		name: opOf(output),
		engine: func(ctx context.Context, inputs []backend.Pair) ([]backend.Encoded, error) {
			return b.encode(ctx, output, inputs)
		},
		key: func(p backend.Pair) backend.Key { return backend.EncodeKey(b.info, output, p) },
		own: func(p backend.Pair) backend.Pair {
			p.Marks = slices.Clone(p.Marks)
			return p
		},
		record: func(p backend.Pair) any { return inputRecord(output, p) },
		check:  form.check,
		encode: form.encode,
		decode: form.decode,
		cloned: func(e backend.Encoded) backend.Encoded {
			return backend.Encoded{Tokens: slices.Clone(e.Tokens), Spans: slices.Clone(e.Spans),
				Vectors: clonedLists(e.Vectors)}
		},
	})
	if err != nil {
		return nil, err
	}
	return &backend.Encoding{Items: items}, nil
}

// encode asks the engine, and checks the shape of its answer.
func (b *Backend) encode(ctx context.Context, output backend.Output, inputs []backend.Pair) ([]backend.Encoded, error) {
	req := &backend.EncodeRequest{Output: output, Inputs: inputs}
	answer, err := b.engine.Encode(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := req.CheckAnswer(answer); err != nil {
		return nil, fmt.Errorf("%s: %w", b.info.Engine, err)
	}
	return answer.Items, nil
}

// alone makes an operation on one request one on a list of it alone.
func alone[Q, A any](ask func(context.Context, Q) (A, error)) func(context.Context, []Q) ([]A, error) {
	return func(ctx context.Context, reqs []Q) ([]A, error) {
		a, err := ask(ctx, reqs[0])
		return []A{a}, err
	}
}

// one is each of one request.
func one[Q, A any](ctx context.Context, b *Backend, req Q, o operation[Q, A]) (A, error) {
	answers, err := each(ctx, b, []Q{req}, o)
	if err != nil {
		var none A
		return none, err
	}
	return answers[0], nil
}

// each answers each request from the store where it can, and asks the engine for the others in one call.
func each[Q, A any](ctx context.Context, b *Backend, reqs []Q, o operation[Q, A]) ([]A, error) {
	if b.mode == Off {
		return o.compute(ctx, b, reqs)
	}
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	answers := make([]A, len(reqs))
	keys := make([]backend.Key, len(reqs))
	var order []backend.Key // of missing
	var missing map[backend.Key]Q
	for i, req := range reqs {
		keys[i] = o.key(req)
		if _, again := missing[keys[i]]; again {
			b.cached.Add(1) // computed once
			continue
		}
		a, ok := lookup(b, keys[i], o.decode)
		if !ok {
			if missing == nil {
				missing = map[backend.Key]Q{}
			}
			missing[keys[i]] = o.own(req)
			order = append(order, keys[i])
		}
		answers[i] = a
	}
	if len(order) == 0 {
		return answers, nil
	}
	fresh, err := o.fetch(ctx, b, order, missing)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		if a, ok := fresh[key]; ok {
			answers[i] = o.cloned(a)
		}
	}
	return answers, nil
}

// fetch gets answers that the store does not have: those that are on their way from the flights that bring them, and
// the others in one call. Keys lists the keys of reqs.
func (o operation[Q, A]) fetch(ctx context.Context, b *Backend, keys []backend.Key, reqs map[backend.Key]Q) (
	map[backend.Key]A, error,
) {
	var own []backend.Key
	var aboard []*flight                 // others' and then our own
	bring := map[*flight][]backend.Key{} // what each of them brings us
	b.mu.Lock()
	for _, key := range keys {
		f := b.flights[key]
		if f == nil {
			own = append(own, key)
			continue
		}
		if bring[f] == nil {
			aboard = append(aboard, f)
			f.waiting++
		}
		bring[f] = append(bring[f], key)
		b.store.joined.Add(1)
	}
	others := len(aboard)
	if len(own) > 0 {
		f := b.start(ctx, own, func(ctx context.Context) (any, error) { return o.ask(ctx, b, own, reqs) })
		aboard, bring[f] = append(aboard, f), own
	}
	b.mu.Unlock()

	got := map[backend.Key]A{}
	for i, f := range aboard {
		value, err := b.wait(ctx, f)
		switch {
		case i == others: // our own
		case err == nil:
			b.cached.Add(int64(len(bring[f])))
		case ctx.Err() == nil && len(f.keys) > 1:
			// It may have failed over a request that is not ours.
			value, err = o.ask(ctx, b, bring[f], reqs)
		}
		if err != nil {
			for _, f := range aboard[i+1:] {
				b.leave(f)
			}
			return nil, err
		}
		for _, key := range bring[f] {
			got[key] = value.(map[backend.Key]A)[key]
		}
	}
	return got, nil
}

// ask asks the engine, and stores its answers.
func (o operation[Q, A]) ask(ctx context.Context, b *Backend, keys []backend.Key, reqs map[backend.Key]Q) (
	map[backend.Key]A, error,
) {
	got := map[backend.Key]A{}
	var rest []backend.Key
	var batch []Q
	for _, key := range keys {
		if payload, ok := b.again(key); ok {
			if a, err := o.decode(payload); err == nil {
				got[key] = a
				continue
			}
		}
		rest, batch = append(rest, key), append(batch, reqs[key])
	}
	if len(batch) == 0 {
		return got, nil
	}
	answers, err := o.compute(ctx, b, batch)
	if err != nil {
		return nil, err
	}
	for i, key := range rest {
		got[key] = answers[i]
		if o.check(answers[i]) != nil {
			continue
		}
		if payload, err := o.encode(answers[i]); err == nil {
			b.keep(key, o.name, o.record(batch[i]), payload)
		}
	}
	return got, nil
}

// compute asks the engine, and counts its answers.
func (o operation[Q, A]) compute(ctx context.Context, b *Backend, reqs []Q) ([]A, error) {
	answers, err := o.engine(ctx, reqs)
	if err != nil {
		if ctx.Err() == nil {
			b.failed.Add(int64(len(reqs)))
		}
		return nil, err
	}
	b.computed.Add(int64(len(reqs)))
	if o.tokens != nil {
		for _, a := range answers {
			prompt, output := o.tokens(a)
			b.promptTokens.Add(int64(prompt))
			b.outputTokens.Add(int64(output))
		}
	}
	return answers, nil
}

func encodeJSON[A any](answer A) ([]byte, error) { return marshal(answer) }

func decodeJSON[A any](payload []byte) (*A, error) {
	answer := new(A)
	return answer, json.Unmarshal(payload, answer)
}

// clonedLists is a copy of lists that shares no memory with them.
func clonedLists[T any](lists [][]T) [][]T {
	own := slices.Clone(lists)
	for i, list := range own {
		own[i] = slices.Clone(list)
	}
	return own
}
