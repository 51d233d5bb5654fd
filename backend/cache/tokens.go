package cache

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
)

// The payload of a text's tokens is a line of JSON, the list of the tokens, and then the vectors: the first
// bytes of all their float32 values, then the second bytes of all, the third and the fourth. Bytes that are
// alike then stand together (exponents, or the last ones of values that an engine rounded) and take up little
// once compressed.

// tokensBytes returns the payload of a text's tokens.
func tokensBytes(v backend.TokenVectors) ([]byte, error) {
	head, err := marshal(v.Tokens)
	if err != nil {
		return nil, err
	}
	flat := vectorBytes(slices.Concat(v.Vectors...))
	payload := slices.Grow(append(head, '\n'), len(flat))
	for part := range 4 {
		for i := part; i < len(flat); i += 4 {
			payload = append(payload, flat[i])
		}
	}
	return payload, nil
}

// bytesTokens is the inverse of tokensBytes.
func bytesTokens(payload []byte) (backend.TokenVectors, error) {
	head, planes, ok := bytes.Cut(payload, []byte("\n"))
	var v backend.TokenVectors
	if !ok || unmarshal(head, &v.Tokens) != nil {
		return backend.TokenVectors{}, errDamaged
	}
	flat := make([]byte, len(planes))
	if n := len(planes) / 4; 4*n == len(planes) {
		for i := range n {
			for part := range 4 {
				flat[4*i+part] = planes[part*n+i]
			}
		}
	}
	return tokensRecord{Tokens: v.Tokens, Dimensions: len(flat) / 4 / max(1, len(v.Tokens)), Vectors: flat}.vectors()
}

// A tokensRecord is how a text's tokens are shown and exported.
type tokensRecord struct {
	Tokens     []string `json:"tokens"`
	Dimensions int      `json:"dimensions"`
	Vectors    []byte   `json:"vectors"` // one after the other; float32, little endian; base64 in JSON
}

func newTokensRecord(v backend.TokenVectors) tokensRecord {
	r := tokensRecord{Tokens: v.Tokens, Vectors: vectorBytes(slices.Concat(v.Vectors...))}
	if len(v.Vectors) > 0 {
		r.Dimensions = len(v.Vectors[0])
	}
	return r
}

// vectors is the inverse of newTokensRecord.
func (r tokensRecord) vectors() (backend.TokenVectors, error) {
	v := backend.TokenVectors{Tokens: r.Tokens}
	if r.Dimensions < 0 || r.Dimensions > maxPayload || len(r.Vectors) != 4*r.Dimensions*len(r.Tokens) {
		return backend.TokenVectors{}, fmt.Errorf("%d bytes are not %d vectors of %d dimensions", len(r.Vectors), len(r.Tokens), r.Dimensions)
	}
	for i := range r.Tokens {
		size := 4 * r.Dimensions
		vector, err := bytesVector(r.Vectors[i*size : (i+1)*size])
		if err != nil {
			return backend.TokenVectors{}, err
		}
		v.Vectors = append(v.Vectors, vector)
	}
	return v, nil
}

// checkTokens reports what no engine may answer.
func checkTokens(v backend.TokenVectors) error {
	if len(v.Tokens) != len(v.Vectors) {
		return fmt.Errorf("there are %d tokens and %d vectors", len(v.Tokens), len(v.Vectors))
	}
	for i, vector := range v.Vectors {
		if len(vector) != len(v.Vectors[0]) || !utf8.ValidString(v.Tokens[i]) {
			return fmt.Errorf("token %d, %q, has %d dimensions, the first has %d", i, v.Tokens[i], len(vector), len(v.Vectors[0]))
		}
		if err := checkVector(vector); err != nil {
			return err
		}
	}
	return nil
}

func cloneTokens(v backend.TokenVectors) backend.TokenVectors {
	own := backend.TokenVectors{Tokens: slices.Clone(v.Tokens), Vectors: slices.Clone(v.Vectors)}
	for i, vector := range own.Vectors {
		own.Vectors[i] = slices.Clone(vector)
	}
	return own
}
