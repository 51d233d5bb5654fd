//go:build gollama

package gollama

import (
	"fmt"

	llama "github.com/go-skynet/go-llama.cpp"
)

// load loads a model with go-llama.cpp.
func load(s setup) (binding, error) {
	options := []llama.ModelOption{
		llama.SetContext(s.context),
		llama.EnableF16Memory,
		llama.SetMMap(true),
		llama.WithRopeFreqBase(float32(s.ropeBase)), // without these two it would not go by the header
		llama.WithRopeFreqScale(float32(s.ropeScale)),
	}
	if s.embeds {
		// A text is computed in one piece, and one that is longer than a batch would end the process.
		options = append(options, llama.EnableEmbeddings, llama.SetNBatch(s.context))
	}
	model, err := llama.New(s.path, options...)
	if err != nil {
		return nil, fmt.Errorf("go-llama.cpp cannot load it (what llama.cpp says of it is on standard error): %w", err)
	}
	return &bound{model, s}, nil
}

// bound is a model of go-llama.cpp.
type bound struct {
	model *llama.LLama
	setup
}

// inquiry is a number of tokens larger than the 512 for which the binding gives out which they are. It makes a
// buffer of that size, and does not say to llama.cpp how large it is.
const inquiry = 4096

func (b *bound) tokens(text string) (int, []int32) {
	n, ids, err := b.model.TokenizeString(text, llama.SetTokens(inquiry))
	if err != nil { // more than it has room for: n is their number, negative
		return -int(n), nil
	}
	return int(n), ids
}

// predict asks for tokens without a limit but for that of the buffer: SetTokens is both the number of tokens
// to write and the size in bytes of a buffer into which prompt and reply are copied, unchecked. The text that
// Predict returns from it is not used, since it strips more than the prompt from it.
func (b *bound) predict(o prediction, next func(string) bool) error {
	_, err := b.model.Predict(o.prompt,
		llama.SetTokens(o.room),
		llama.SetTokenCallback(next),
		llama.SetThreads(b.threads),
		llama.SetBatch(batch),
		llama.SetNKeep(0),
		llama.SetSeed(o.seed),
		llama.SetTemperature(float32(o.temperature)),
		llama.SetTopP(float32(o.topP)),
		llama.SetTopK(o.topK),
		llama.SetPenalty(1), // none, where the binding's default is 1.1
		llama.SetRepeat(0),
	)
	b.model.SetTokenCallback(nil) // Predict leaves it there when it fails
	return err
}

// batch is how many tokens of a prompt are computed at once: the binding's default for a model's buffers.
const batch = 512

func (b *bound) embed(text string) ([]float32, error) {
	return b.model.Embeddings(text, llama.SetTokens(b.width), llama.SetThreads(b.threads))
}

func (b *bound) free() { b.model.Free() }
