package cache

import (
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/backend"
)

// Embed answers each text from the store where it can, and asks the engine for the others in one call.
func (b *Backend) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return each(ctx, b, listing[string, []float32]{
		op:     opEmbed,
		engine: b.engine.Embed,
		key:    backend.EmbedKey,
		record: func(text string) any { return embedRecord{text} },
		check:  checkVector,
		clone:  slices.Clone[[]float32],
		encode: func(vector []float32) any { return vector },
		decode: bytesVector,
	}, texts)
}

// EmbedTokens answers each text from the store where it can, and asks the engine for the others in one call.
func (b *Backend) EmbedTokens(ctx context.Context, texts []string) ([]backend.TokenVectors, error) {
	return each(ctx, b, listing[string, backend.TokenVectors]{
		op:     opEmbedTokens,
		engine: b.engine.EmbedTokens,
		key:    backend.EmbedTokensKey,
		record: func(text string) any { return embedRecord{text} },
		check:  checkTokens,
		clone:  cloneTokens,
		encode: func(v backend.TokenVectors) any { return v },
		decode: bytesTokens,
	}, texts)
}

// Rerank answers each pair from the store where it can, and asks the engine about the others in one call.
func (b *Backend) Rerank(ctx context.Context, pairs []backend.Pair) ([][]float32, error) {
	return each(ctx, b, listing[backend.Pair, []float32]{
		op:     opRerank,
		engine: b.engine.Rerank,
		key:    backend.RerankKey,
		record: func(p backend.Pair) any { return p },
		check:  checkOutputs,
		clone:  slices.Clone[[]float32],
		encode: func(numbers []float32) any { return outputs(numbers) },
		decode: decodeOutputs,
	}, pairs)
}

// A listing describes an operation on a list of items T, each of which has an answer A and a key of its own.
type listing[T, A any] struct {
	op     string
	engine func(context.Context, []T) ([]A, error)
	key    func(backend.Info, T) backend.Key
	record func(T) any // the item, as it is stored

	check  func(A) error // reports an answer that is not to be stored
	clone  func(A) A     // callers own their answers
	encode func(A) any   // what keep takes
	decode func([]byte) (A, error)
}

// each answers each item from the store where it can, and asks the engine for the others in one call.
func each[T, A any](ctx context.Context, b *Backend, l listing[T, A], items []T) ([]A, error) {
	if b.mode == Off || len(items) == 0 {
		return l.compute(ctx, b, items)
	}
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	answer := make([]A, len(items))
	keys := make([]backend.Key, len(items))
	missing := map[backend.Key]T{}
	var order []backend.Key // of missing
	for i, item := range items {
		keys[i] = l.key(b.info, item)
		if _, again := missing[keys[i]]; again {
			b.cached.Add(1) // computed once
			continue
		}
		v, ok := lookup(b, keys[i], l.decode)
		if !ok {
			missing[keys[i]] = item
			order = append(order, keys[i])
		}
		answer[i] = v
	}
	if len(order) == 0 {
		return answer, nil
	}
	fresh, err := l.missing(ctx, b, order, missing)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		if v, ok := fresh[key]; ok {
			answer[i] = l.clone(v)
		}
	}
	return answer, nil
}

// missing gets the answers to items that the store does not have: those that are on their way from the
// flights that bring them, and the others in one call. Keys lists the keys of items.
func (l listing[T, A]) missing(ctx context.Context, b *Backend, keys []backend.Key, items map[backend.Key]T) (map[backend.Key]A, error) {
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
		f := b.start(ctx, own, func(ctx context.Context) (any, error) { return l.ask(ctx, b, own, items) })
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
		case ctx.Err() == nil:
			// It may have failed over an item that is not ours.
			value, err = l.ask(ctx, b, bring[f], items)
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

// ask asks the engine about some items, and stores its answers.
func (l listing[T, A]) ask(ctx context.Context, b *Backend, keys []backend.Key, items map[backend.Key]T) (map[backend.Key]A, error) {
	got := map[backend.Key]A{}
	var rest []backend.Key
	var batch []T
	for _, key := range keys {
		if payload, ok := b.again(key); ok {
			if v, err := l.decode(payload); err == nil {
				got[key] = v
				continue
			}
		}
		rest, batch = append(rest, key), append(batch, items[key])
	}
	if len(batch) == 0 {
		return got, nil
	}
	answer, err := l.compute(ctx, b, batch)
	if err != nil {
		return nil, err
	}
	for i, key := range rest {
		got[key] = answer[i]
		if l.check(answer[i]) == nil {
			b.keep(key, l.op, l.record(batch[i]), l.encode(answer[i]))
		}
	}
	return got, nil
}

// compute asks the engine, and counts its answers.
func (l listing[T, A]) compute(ctx context.Context, b *Backend, items []T) ([]A, error) {
	answer, err := l.engine(ctx, items)
	if err == nil && len(answer) != len(items) {
		err = fmt.Errorf("%s was asked to %s %d items and gave %d answers", b.info.Engine, l.op, len(items), len(answer))
	}
	if err != nil {
		return nil, err
	}
	b.computed.Add(int64(len(items)))
	return answer, nil
}
