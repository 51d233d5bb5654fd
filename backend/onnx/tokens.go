package onnx

// Encoded is a text or a pair of texts as tokens, special ones included. All lists have the same length.
type Encoded struct {
	IDs, Types []int64
	Tokens     []string
	Special    []bool // put there by the tokenizer
}

// A Tokenizer turns texts into token ids. It can be used concurrently.
type Tokenizer interface {
	Single(text string) (Encoded, error)
	Pair(first, second string) (Encoded, error)
}
