package backend

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
)

// A Key identifies an answer: SHA-256 over every field that can change it. Two requests with one key
// have one answer, whichever process asks, whenever.
//
// The hash covers a version tag, the operation, the engine with its version, the digest of the
// weights (never a name or tag), the context size and each field of the request, each with its
// length before it, so that no two descriptions run together.
type Key [sha256.Size]byte

// String returns the key as 64 hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// ParseKey reads what [Key.String] wrote.
func ParseKey(s string) (Key, error) {
	var k Key
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(k) {
		return Key{}, fmt.Errorf("%q is not a key: it takes %d hexadecimal digits", s, 2*len(k))
	}
	return Key(b), nil
}

// keyVersion changes whenever the same request would be answered from different bytes.
const keyVersion = "assay key 2"

// GenerateKey is the key of the answer that the model described by info gives to req.
func GenerateKey(info Info, req *GenerateRequest) Key {
	h := newHasher(info, "generate")
	h.messages(req.Messages)
	h.documents(req.Documents)
	h.text(string(req.Schema))
	h.int(req.MaxTokens)
	h.int(len(req.Stop))
	for _, s := range req.Stop {
		h.text(s)
	}
	h.float(req.Sampling.Temperature)
	h.float(req.Sampling.TopP)
	h.int(req.Sampling.TopK)
	h.uint(req.Sampling.Seed)
	h.int(req.Draw)
	if req.Once {
		h.text("once")
	}
	h.tokens(req.Tokens, 0)
	return h.sum()
}

// EncodeKey is the key of one output of one input: a request of several has no key of its own, since the inputs beside
// an input must not matter.
func EncodeKey(info Info, output Output, input Pair) Key {
	h := newHasher(info, string(output))
	if output.OfPairs() || input.Query != "" {
		h.text(input.Query)
	}
	h.text(input.Text)
	h.marks(input.Marks)
	return h.sum()
}

// ScoreKey is the key of the probabilities that the model described by info gives to req.
func ScoreKey(info Info, req *ScoreRequest) Key {
	h := newHasher(info, "score")
	h.messages(req.Messages)
	h.documents(req.Documents)
	h.int(len(req.Continuations))
	for _, c := range req.Continuations {
		h.text(c)
	}
	h.tokens(req.Tokens, req.Likely)
	return h.sum()
}

// A hasher gathers a description, which is hashed in one go: that is faster than in small pieces.
type hasher struct{ b []byte }

func newHasher(info Info, op string) *hasher {
	h := &hasher{make([]byte, 0, 4096)}
	h.text(keyVersion)
	h.text(op)
	h.text(info.Engine)
	h.text(info.Digest)
	h.int(info.Context)
	return h
}

func (h *hasher) uint(v uint64)   { h.b = binary.LittleEndian.AppendUint64(h.b, v) }
func (h *hasher) int(v int)       { h.uint(uint64(v)) }
func (h *hasher) float(v float64) { h.uint(math.Float64bits(v)) }

func (h *hasher) text(s string) {
	h.int(len(s))
	h.b = append(h.b, s...)
}

func (h *hasher) messages(messages []Message) {
	h.int(len(messages))
	for _, m := range messages {
		h.text(string(m.Role))
		h.text(m.Text)
		h.marks(m.Marks)
	}
}

// What follows was not part of requests once. A request without it has the key that it always had: the number in front
// is none that another field's length can be.

func (h *hasher) marks(marks []Mark) {
	if len(marks) == 0 {
		return
	}
	h.int(-1)
	h.int(len(marks))
	for _, m := range marks {
		h.int(m.At)
		h.text(m.Token)
	}
}

func (h *hasher) documents(documents []string) {
	if len(documents) == 0 {
		return
	}
	h.int(-2)
	h.int(len(documents))
	for _, d := range documents {
		h.text(d)
	}
}

func (h *hasher) tokens(tokens []int32, likely int) {
	if len(tokens) == 0 && likely == 0 {
		return
	}
	h.int(-5)
	h.int(likely)
	h.int(len(tokens))
	for _, id := range tokens {
		h.int(int(id))
	}
}

func (h *hasher) sum() Key { return sha256.Sum256(h.b) }
