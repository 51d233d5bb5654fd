package wire

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// An EmbeddingRequest asks for a vector of each input: POST /v1/embeddings.
type EmbeddingRequest struct {
	Model          string  `json:"model"`
	Input          Prompts `json:"input"`
	EncodingFormat string  `json:"encoding_format,omitempty"` // "float", which it is without it, or "base64"
	Dimensions     *int    `json:"dimensions,omitempty"`
	User           string  `json:"user,omitempty"`
}

// Embeddings is the answer to an [EmbeddingRequest].
type Embeddings struct {
	Object string      `json:"object"` // "list"
	Data   []Embedding `json:"data"`
	Model  string      `json:"model"`
	Usage  *Usage      `json:"usage,omitempty"`
}

// An Embedding is the vector of one input.
type Embedding struct {
	Object string `json:"object"` // "embedding"
	Index  int    `json:"index"`
	Vector Vector `json:"embedding"`
}

// A Vector is a list of numbers in JSON, or packed: base64 of their bytes, each four in little-endian order.
type Vector struct {
	Values []float32
	Packed bool
}

// MarshalJSON writes the form that Packed says.
func (v Vector) MarshalJSON() ([]byte, error) {
	if !v.Packed {
		return json.Marshal(v.Values)
	}
	b := make([]byte, 0, 4*len(v.Values))
	for _, x := range v.Values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return json.Marshal(b) // base64 with padding
}

// UnmarshalJSON reads either form. Numbers that are not finite are refused.
func (v *Vector) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil || isNull(b) {
		var list []float32
		if hasNull(b) || json.Unmarshal(b, &list) != nil {
			return errors.New("embedding: want a list of numbers, or base64 of them")
		}
		*v = Vector{Values: list}
		return nil
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(packed)%4 != 0 {
		return errors.New("embedding: not base64 of numbers of four bytes")
	}
	list := make([]float32, len(packed)/4)
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:]))
		if !Finite(float64(list[i])) {
			return fmt.Errorf("embedding: number %d is not finite", i)
		}
	}
	*v = Vector{Values: list, Packed: true}
	return nil
}

// A RerankRequest asks how well documents suit a query: POST /v1/rerank, as Jina and Cohere have it.
type RerankRequest struct {
	Model           string     `json:"model"`
	Query           string     `json:"query"`
	Documents       []Document `json:"documents"`
	TopN            *int       `json:"top_n,omitempty"` // without it, all are answered
	ReturnDocuments *bool      `json:"return_documents,omitempty"`
}

// A Document is a text, in JSON either by itself or as an object's field "text".
type Document struct {
	Text string `json:"text"`
}

// UnmarshalJSON reads either form.
func (d *Document) UnmarshalJSON(b []byte) error {
	type object Document
	if isNull(b) || json.Unmarshal(b, &d.Text) != nil && json.Unmarshal(b, (*object)(d)) != nil {
		return errors.New("a document: want a text, or an object with one")
	}
	return nil
}

// Reranked is the answer to a [RerankRequest].
type Reranked struct {
	ID      string       `json:"id,omitempty"`
	Model   string       `json:"model"`
	Results []Relevance  `json:"results"` // the best first
	Usage   *RerankUsage `json:"usage,omitempty"`
}

// A Relevance is how well one document suits.
type Relevance struct {
	Index    int       `json:"index"` // of the request's documents
	Score    float64   `json:"relevance_score"`
	Document *Document `json:"document,omitempty"`
}

// RerankUsage counts the tokens that were read.
type RerankUsage struct {
	TotalTokens int `json:"total_tokens"`
}
