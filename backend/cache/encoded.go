package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
)

// opOf is the operation of an output, as it is stored: "embed", "embed_tokens", "rerank" or "label_tokens".
func opOf(output backend.Output) string { return strings.ReplaceAll(string(output), " ", "_") }

// outputOf is the inverse of opOf.
func outputOf(op string) (backend.Output, bool) {
	for _, output := range backend.Outputs() {
		if opOf(output) == op {
			return output, true
		}
	}
	return "", false
}

// A textRecord is how a text is stored; a pair is stored as itself.
type textRecord struct {
	Text string `json:"text"`
}

// inputRecord is what is stored of an input, as JSON.
func inputRecord(output backend.Output, input backend.Pair) any {
	if output.OfPairs() {
		return input
	}
	return textRecord{input.Text}
}

// recordInput is the inverse of inputRecord.
func recordInput(output backend.Output, record []byte) (input backend.Pair, err error) {
	if output.OfPairs() {
		return input, unmarshal(record, &input)
	}
	var r textRecord
	err = unmarshal(record, &r)
	return backend.Pair{Text: r.Text}, err
}

// A form is how answers of one output are stored and shown.
type form struct {
	check  func(backend.Encoded) error           // reports what no engine may answer
	encode func(backend.Encoded) ([]byte, error) // the payload that is stored
	decode func([]byte) (backend.Encoded, error)
	record func(backend.Encoded) any // what is shown and exported, as JSON
	parse  func([]byte) (backend.Encoded, error)
}

// formOf is the form of a known output.
func formOf(output backend.Output) form {
	switch output {
	case backend.Embedding: // its float32 values, little endian
		return form{
			check:  func(e backend.Encoded) error { return checkVector(e.Vectors[0]) },
			encode: func(e backend.Encoded) ([]byte, error) { return vectorBytes(e.Vectors[0]), nil },
			decode: single(bytesVector),
			record: func(e backend.Encoded) any { return vectorRecord{len(e.Vectors[0]), vectorBytes(e.Vectors[0])} },
			parse:  single(parseVector),
		}
	case backend.TokenEmbeddings:
		return form{checkTokens, tokensBytes, bytesTokens, newTokensRecord, parseTokens}
	case backend.TokenOutputs: // JSON, as of a head's numbers
		return form{
			check:  checkLabelled,
			encode: func(e backend.Encoded) ([]byte, error) { return marshal(newLabelledRecord(e)) },
			decode: parseLabelled,
			record: func(e backend.Encoded) any { return newLabelledRecord(e) },
			parse:  parseLabelled,
		}
	}
	numbers := single(decodeOutputs)
	return form{ // JSON, which keeps every bit of a float32 that is finite
		check:  func(e backend.Encoded) error { return checkOutputs(e.Vectors[0]) },
		encode: func(e backend.Encoded) ([]byte, error) { return marshal(e.Vectors[0]) },
		decode: numbers,
		record: func(e backend.Encoded) any { return e.Vectors[0] },
		parse:  numbers,
	}
}

// single makes a reader of one vector one of an Encoded.
func single(read func([]byte) ([]float32, error)) func([]byte) (backend.Encoded, error) {
	return func(data []byte) (backend.Encoded, error) {
		v, err := read(data)
		if err != nil {
			return backend.Encoded{}, err
		}
		return backend.Encoded{Vectors: [][]float32{v}}, nil
	}
}

// A vectorRecord is how an embedding is shown and exported.
type vectorRecord struct {
	Dimensions int    `json:"dimensions"`
	Vector     []byte `json:"vector"` // float32, little endian; base64 in JSON
}

func parseVector(data []byte) ([]float32, error) {
	var r vectorRecord
	if err := unmarshal(data, &r); err != nil {
		return nil, err
	}
	vector, err := bytesVector(r.Vector)
	if err != nil || len(vector) != r.Dimensions {
		return nil, fmt.Errorf("%d bytes are not %d dimensions", len(r.Vector), r.Dimensions)
	}
	return vector, nil
}

func vectorBytes(vector []float32) []byte {
	b := make([]byte, 0, 4*len(vector))
	for _, v := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func bytesVector(b []byte) ([]float32, error) {
	if len(b) == 0 || len(b)%4 != 0 {
		return nil, errDamaged
	}
	vector := make([]float32, len(b)/4)
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return vector, nil
}

func checkVector(vector []float32) error {
	sum := 0.0
	for _, v := range vector {
		sum += float64(v) * float64(v)
	}
	if !(math.Abs(math.Sqrt(sum)-1) < 0.01) {
		return fmt.Errorf("the vector has length %v, not 1", math.Sqrt(sum))
	}
	return nil
}

func decodeOutputs(payload []byte) ([]float32, error) {
	var numbers []float32
	if err := unmarshal(payload, &numbers); err != nil {
		return nil, err
	}
	return numbers, checkOutputs(numbers)
}

func checkOutputs(numbers []float32) error {
	if len(numbers) == 0 {
		return errors.New("there are no numbers")
	}
	for _, v := range numbers {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("%v is not a finite number", v)
		}
	}
	return nil
}

// tokensBytes returns the payload of a text's tokens: a line of JSON, the list of the tokens, and then the vectors,
// first the first bytes of all their float32 values, then the second bytes of all, the third and the fourth. Bytes that
// are alike then stand together (exponents, or the last ones of values that an engine rounded) and take up little once
// compressed.
func tokensBytes(v backend.Encoded) ([]byte, error) {
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
func bytesTokens(payload []byte) (backend.Encoded, error) {
	head, planes, ok := bytes.Cut(payload, []byte("\n"))
	var tokens []string
	if !ok || unmarshal(head, &tokens) != nil {
		return backend.Encoded{}, errDamaged
	}
	flat := make([]byte, len(planes))
	if n := len(planes) / 4; 4*n == len(planes) {
		for i := range n {
			for part := range 4 {
				flat[4*i+part] = planes[part*n+i]
			}
		}
	}
	return tokensRecord{Tokens: tokens, Dimensions: len(flat) / 4 / max(1, len(tokens)), Vectors: flat}.encoded()
}

// A tokensRecord is how a text's tokens are shown and exported.
type tokensRecord struct {
	Tokens     []string `json:"tokens"`
	Dimensions int      `json:"dimensions"`
	Vectors    []byte   `json:"vectors"` // one after the other; float32, little endian; base64 in JSON
}

func newTokensRecord(e backend.Encoded) any {
	r := tokensRecord{Tokens: e.Tokens, Vectors: vectorBytes(slices.Concat(e.Vectors...))}
	if len(e.Vectors) > 0 {
		r.Dimensions = len(e.Vectors[0])
	}
	return r
}

// parseTokens reads the JSON of a tokensRecord.
func parseTokens(data []byte) (backend.Encoded, error) {
	var r tokensRecord
	if err := unmarshal(data, &r); err != nil {
		return backend.Encoded{}, err
	}
	return r.encoded()
}

// encoded is the inverse of newTokensRecord.
func (r tokensRecord) encoded() (backend.Encoded, error) {
	e := backend.Encoded{Tokens: r.Tokens}
	if r.Dimensions < 0 || r.Dimensions > maxPayload || len(r.Vectors) != 4*r.Dimensions*len(r.Tokens) {
		return backend.Encoded{}, fmt.Errorf("%d bytes are not %d vectors of %d dimensions",
			len(r.Vectors), len(r.Tokens), r.Dimensions)
	}
	for i := range r.Tokens {
		size := 4 * r.Dimensions
		vector, err := bytesVector(r.Vectors[i*size : (i+1)*size])
		if err != nil {
			return backend.Encoded{}, err
		}
		e.Vectors = append(e.Vectors, vector)
	}
	return e, nil
}

// checkTokens reports what no engine may answer.
func checkTokens(e backend.Encoded) error {
	if len(e.Tokens) != len(e.Vectors) {
		return fmt.Errorf("there are %d tokens and %d vectors", len(e.Tokens), len(e.Vectors))
	}
	for i, vector := range e.Vectors {
		if len(vector) != len(e.Vectors[0]) || !utf8.ValidString(e.Tokens[i]) {
			return fmt.Errorf("token %d, %q, has %d dimensions, the first has %d",
				i, e.Tokens[i], len(vector), len(e.Vectors[0]))
		}
		if err := checkVector(vector); err != nil {
			return err
		}
	}
	return nil
}

// A labelledRecord is how what a head says of a text's tokens is stored, shown and exported.
type labelledRecord struct {
	Spans  [][2]int    `json:"spans"`  // in bytes of the text: from, and up to
	Labels [][]float32 `json:"labels"` // a number for each label
}

func newLabelledRecord(e backend.Encoded) labelledRecord {
	r := labelledRecord{Labels: e.Vectors}
	for _, s := range e.Spans {
		r.Spans = append(r.Spans, [2]int{s.Low, s.High})
	}
	return r
}

// parseLabelled is the inverse of newLabelledRecord.
func parseLabelled(data []byte) (backend.Encoded, error) {
	var r labelledRecord
	if err := unmarshal(data, &r); err != nil {
		return backend.Encoded{}, err
	}
	e := backend.Encoded{Vectors: r.Labels}
	for _, s := range r.Spans {
		e.Spans = append(e.Spans, backend.Span{Low: s[0], High: s[1]})
	}
	return e, checkLabelled(e)
}

// checkLabelled reports what no engine may answer. Whether the spans are of the text, it cannot know.
func checkLabelled(e backend.Encoded) error {
	if len(e.Spans) != len(e.Vectors) {
		return fmt.Errorf("there are %d spans and %d lists of numbers", len(e.Spans), len(e.Vectors))
	}
	for i, numbers := range e.Vectors {
		if s := e.Spans[i]; s.Low < 0 || s.High < s.Low || i > 0 && s.Low < e.Spans[i-1].Low {
			return fmt.Errorf("token %d has the span %d to %d", i, s.Low, s.High)
		}
		if len(numbers) != len(e.Vectors[0]) {
			return fmt.Errorf("token %d has %d numbers, the first has %d", i, len(numbers), len(e.Vectors[0]))
		}
		if err := checkOutputs(numbers); err != nil {
			return err
		}
	}
	return nil
}
