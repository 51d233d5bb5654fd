package cache

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/backend"
)

// Encode answers each input from the store where it can, and asks the engine for the others in one call.
func (b *Backend) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	if b.mode == Off || len(req.Inputs) == 0 || req.Output.Op() == 0 {
		return b.encode(ctx, req)
	}
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	output := req.Output
	form := formOf(output)
	answer := &backend.Encoding{Items: make([]backend.Encoded, len(req.Inputs))}
	keys := make([]backend.Key, len(req.Inputs))
	m := &missing{b: b, output: output, form: form, inputs: map[backend.Key]backend.Pair{}}
	for i, input := range req.Inputs {
		keys[i] = backend.EncodeKey(b.info, output, input)
		if _, again := m.inputs[keys[i]]; again {
			b.cached.Add(1) // computed once
			continue
		}
		item, ok := lookup(b, keys[i], form.decode)
		if !ok {
			m.inputs[keys[i]] = input
			m.keys = append(m.keys, keys[i])
		}
		answer.Items[i] = item
	}
	if len(m.keys) == 0 {
		return answer, nil
	}
	fresh, err := m.get(ctx)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		if item, ok := fresh[key]; ok {
			answer.Items[i] = cloned(item) // callers own their answers
		}
	}
	return answer, nil
}

// encode asks the engine, and counts its answers.
func (b *Backend) encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	answer, err := b.engine.Encode(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := req.CheckAnswer(answer); err != nil {
		return nil, fmt.Errorf("%s: %w", b.info.Engine, err)
	}
	b.computed.Add(int64(len(req.Inputs)))
	return answer, nil
}

// missing are inputs whose answers the store does not have.
type missing struct {
	b      *Backend
	output backend.Output
	form   form
	keys   []backend.Key // of inputs, in order
	inputs map[backend.Key]backend.Pair
}

// items are answers by their keys.
type items = map[backend.Key]backend.Encoded

// get gets the answers: those that are on their way from the flights that bring them, and the others in one call.
func (m *missing) get(ctx context.Context) (items, error) {
	b := m.b
	var own []backend.Key
	var aboard []*flight                 // others' and then our own
	bring := map[*flight][]backend.Key{} // what each of them brings us
	b.mu.Lock()
	for _, key := range m.keys {
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
		f := b.start(ctx, own, func(ctx context.Context) (any, error) { return m.ask(ctx, own) })
		aboard, bring[f] = append(aboard, f), own
	}
	b.mu.Unlock()

	got := items{}
	for i, f := range aboard {
		value, err := b.wait(ctx, f)
		switch {
		case i == others: // our own
		case err == nil:
			b.cached.Add(int64(len(bring[f])))
		case ctx.Err() == nil:
			// It may have failed over an input that is not ours.
			value, err = m.ask(ctx, bring[f])
		}
		if err != nil {
			for _, f := range aboard[i+1:] {
				b.leave(f)
			}
			return nil, err
		}
		for _, key := range bring[f] {
			got[key] = value.(items)[key]
		}
	}
	return got, nil
}

// ask asks the engine about some of the inputs, and stores its answers.
func (m *missing) ask(ctx context.Context, keys []backend.Key) (items, error) {
	got := items{}
	var rest []backend.Key
	req := &backend.EncodeRequest{Output: m.output}
	for _, key := range keys {
		if payload, ok := m.b.again(key); ok {
			if item, err := m.form.decode(payload); err == nil {
				got[key] = item
				continue
			}
		}
		rest, req.Inputs = append(rest, key), append(req.Inputs, m.inputs[key])
	}
	if len(rest) == 0 {
		return got, nil
	}
	answer, err := m.b.encode(ctx, req)
	if err != nil {
		return nil, err
	}
	for i, key := range rest {
		item := answer.Items[i]
		got[key] = item
		if m.form.check(item) != nil {
			continue
		}
		if payload, err := m.form.encode(item); err == nil {
			m.b.keep(key, opOf(m.output), inputRecord(m.output, req.Inputs[i]), payload)
		}
	}
	return got, nil
}
