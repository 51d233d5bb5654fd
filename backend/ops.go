package backend

import "strings"

// Ops is the set of things that a model can do.
type Ops uint

const (
	CanGenerate    Ops = 1 << iota // Generate
	CanEmbed                       // Encode to an Embedding
	CanScore                       // Score, exact
	CanConstrain                   // Generate with a Schema: constrained decoding
	CanClassify                    // Encode to HeadOutputs
	CanChoose                      // Score of continuations by first-token scoring; CanScore implies it
	CanEmbedTokens                 // Encode to TokenEmbeddings
	CanLabelTokens                 // Encode to TokenOutputs

	CanMark          // Marks in messages and pairs
	CanReadDocuments // Generate and Score with Documents
	CanReadTokens    // Generate and Score with Tokens
)

// Has reports whether o includes every ability in want.
func (o Ops) Has(want Ops) bool { return o&want == want }

// String lists the abilities, comma separated, in a fixed order: "generate, embed".
func (o Ops) String() string {
	var names []string
	for i, name := range []string{"generate", "embed", "score", "constrain", "rerank", "choose", "embed tokens",
		"label tokens", "mark", "read documents", "read tokens"} {
		if o.Has(1 << i) {
			names = append(names, name)
		}
	}
	if names == nil {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// An Output is what a model gives for each text or pair that it encodes. Its value is part of keys, and of how answers
// are stored.
type Output string

// The outputs of encoders.
const (
	// Embedding is one vector of length 1 (Euclidean) for a text, pooled as the model says.
	Embedding Output = "embed"

	// TokenEmbeddings are a text's tokens with a vector for each: what the token means where it stands, of length 1
	// to within a hundredth. The special tokens that the model puts around a text ([CLS], an end mark) are left out,
	// so an empty text has no tokens and no vectors, which is no error.
	TokenEmbeddings Output = "embed tokens"

	// HeadOutputs are what the model's classification head says about a pair: one number for a reranker or a reward
	// model, one for each label for a classifier. They are the head's own, most often logits: no sigmoid or softmax
	// is put over them.
	HeadOutputs Output = "rerank"

	// TokenOutputs are what the model's token classification head says about each token of a pair's text, one number
	// for each label, and where in the text the token stands. It has read the query, but tokens of the query and special
	// tokens are left out. The numbers are the head's own, as those of HeadOutputs are.
	TokenOutputs Output = "label tokens"
)

// Outputs returns every output.
func Outputs() []Output { return []Output{Embedding, TokenEmbeddings, HeadOutputs, TokenOutputs} }

// Op is the ability that the output takes; none for an unknown output, which Check refuses.
func (o Output) Op() Ops {
	switch o {
	case Embedding:
		return CanEmbed
	case TokenEmbeddings:
		return CanEmbedTokens
	case HeadOutputs:
		return CanClassify
	case TokenOutputs:
		return CanLabelTokens
	}
	return 0
}

// OfPairs reports whether the output is of pairs rather than of single texts.
func (o Output) OfPairs() bool { return o == HeadOutputs || o == TokenOutputs }
