package cache

import (
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/backend"
)

// vectors are embeddings by the keys of their texts.
type vectors map[backend.Key][]float32

// Embed answers each text from the store where it can, and asks the engine for the others in one call.
func (b *Backend) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if b.mode == Off || len(texts) == 0 {
		return b.embed(ctx, texts)
	}
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	answer := make([][]float32, len(texts))
	keys := make([]backend.Key, len(texts))
	missing := map[backend.Key]string{}
	var order []backend.Key // of missing
	for i, text := range texts {
		keys[i] = backend.EmbedKey(b.info, text)
		if _, again := missing[keys[i]]; again {
			b.cached.Add(1) // computed once
			continue
		}
		v, ok := lookup(b, keys[i], bytesVector)
		if !ok {
			missing[keys[i]] = text
			order = append(order, keys[i])
		}
		answer[i] = v
	}
	if len(missing) == 0 {
		return answer, nil
	}
	fresh, err := b.embedMissing(ctx, order, missing)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		if answer[i] == nil {
			answer[i] = slices.Clone(fresh[key])
		}
	}
	return answer, nil
}

// embedMissing gets the vectors of texts that the store does not have: those that are on their way from
// the flights that bring them, and the others in one call. Keys lists the keys of texts.
func (b *Backend) embedMissing(ctx context.Context, keys []backend.Key, texts map[backend.Key]string) (vectors, error) {
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
		f := b.start(ctx, own, func(ctx context.Context) (any, error) { return b.ask(ctx, own, texts) })
		aboard, bring[f] = append(aboard, f), own
	}
	b.mu.Unlock()

	got := vectors{}
	for i, f := range aboard {
		value, err := b.wait(ctx, f)
		switch {
		case i == others: // our own
		case err == nil:
			b.cached.Add(int64(len(bring[f])))
		case ctx.Err() == nil:
			// It may have failed over a text that is not ours.
			value, err = b.ask(ctx, bring[f], texts)
		}
		if err != nil {
			for _, f := range aboard[i+1:] {
				b.leave(f)
			}
			return nil, err
		}
		for _, key := range bring[f] {
			got[key] = value.(vectors)[key]
		}
	}
	return got, nil
}

// ask asks the engine for the vectors of some texts, and stores them.
func (b *Backend) ask(ctx context.Context, keys []backend.Key, texts map[backend.Key]string) (vectors, error) {
	got := vectors{}
	var rest []backend.Key
	var batch []string
	for _, key := range keys {
		if payload, ok := b.again(key); ok {
			if v, err := bytesVector(payload); err == nil {
				got[key] = v
				continue
			}
		}
		rest, batch = append(rest, key), append(batch, texts[key])
	}
	if len(batch) == 0 {
		return got, nil
	}
	answer, err := b.embed(ctx, batch)
	if err != nil {
		return nil, err
	}
	for i, key := range rest {
		got[key] = answer[i]
		if checkVector(answer[i]) == nil {
			b.keep(key, opEmbed, embedRecord{batch[i]}, answer[i])
		}
	}
	return got, nil
}

// embed asks the engine, and counts its answers.
func (b *Backend) embed(ctx context.Context, texts []string) ([][]float32, error) {
	answer, err := b.engine.Embed(ctx, texts)
	if err == nil && len(answer) != len(texts) {
		err = fmt.Errorf("%s gave %d vectors for %d texts", b.info.Engine, len(answer), len(texts))
	}
	if err != nil {
		return nil, err
	}
	b.computed.Add(int64(len(texts)))
	return answer, nil
}
