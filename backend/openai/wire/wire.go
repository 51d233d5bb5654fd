// Package wire has the requests and answers of the HTTP routes that OpenAI's API has made common, as evaluators and
// local servers use them: chat completions, completions with echo and log-probabilities, embeddings, models and
// errors; and beside them /v1/rerank in the form of Jina and Cohere, and vLLM's /tokenize. A client encodes the requests
// and decodes the answers, a server the other way round.
//
// Only what the two sides of this project need is here. Where leaving a field out means something else than its zero
// value (no temperature is 1), the field is a pointer. Decoding is lenient about fields that it does not know; a server
// that must not ignore one decodes by [DecodeStrict].
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// A TooLargeError is a body of more bytes than the reader wants.
type TooLargeError struct{ Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the body has more than %d bytes", e.Limit)
}

// An UnknownFieldError is a field of a request that the server does not know, and so cannot honour.
type UnknownFieldError struct{ Field string }

func (e *UnknownFieldError) Error() string { return fmt.Sprintf("unknown field %q", e.Field) }

// Read reads a body of at most limit bytes. A longer one is a [TooLargeError].
func Read(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > limit {
		return nil, &TooLargeError{limit}
	}
	return body, nil
}

// Decode reads a body of one JSON value of at most limit bytes into v.
func Decode(r io.Reader, limit int64, v any) error {
	body, err := Read(r, limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

// DecodeStrict is Decode of an object into a struct that has every field of it, or else an [UnknownFieldError]. A field
// that is null is as if it were not there.
func DecodeStrict(r io.Reader, limit int64, v any) error {
	body, err := Read(r, limit)
	if err != nil {
		return err
	}
	var there map[string]json.RawMessage
	if err := json.Unmarshal(body, &there); err != nil {
		return err
	}
	known := fields(reflect.TypeOf(v).Elem())
	for _, name := range sortedKeys(there) {
		if !slices.Contains(known, name) && string(there[name]) != "null" {
			return &UnknownFieldError{name}
		}
	}
	return json.Unmarshal(body, v)
}

// fields lists the names that a struct's fields have in JSON.
func fields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			names = append(names, fields(f.Type)...)
		} else {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Strings are one string or a list of them in JSON.
type Strings []string

// UnmarshalJSON reads either form.
func (s *Strings) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil && !isNull(b) {
		*s = Strings{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(b, &list); err != nil {
		return errors.New("want a string or a list of strings")
	}
	*s = list
	return nil
}

func isNull(b []byte) bool { return bytes.Equal(bytes.TrimSpace(b), []byte("null")) }

// An ErrorBody is the answer to a request that failed: with a status of 400 or above, or in the place of a chunk.
type ErrorBody struct {
	Error *Error `json:"error"`
}

// An Error says what was wrong with a request.
type Error struct {
	Message string `json:"message"`
	Type    string `json:"type"`            // "invalid_request_error", "server_error", ...
	Param   string `json:"param,omitempty"` // the field that it is about
	Code    any    `json:"code,omitempty"`  // a word, or of some servers a number
}

func (e *Error) Error() string { return e.Message }

// ParseError reads the body of an answer with an error status, in OpenAI's form or in vLLM's and FastAPI's older ones. It
// returns nil if it is in none of them.
func ParseError(body []byte) *Error {
	var known struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
		Type    string          `json:"type"`
	}
	if json.Unmarshal(body, &known) != nil {
		return nil
	}
	var e Error
	switch {
	case json.Unmarshal(known.Error, &e) == nil && e.Message != "":
		return &e
	case json.Unmarshal(known.Error, &e.Message) == nil && e.Message != "":
		return &e
	case known.Message != "":
		return &Error{Message: known.Message, Type: known.Type}
	case known.Detail != "":
		return &Error{Message: known.Detail}
	}
	return nil
}

// Usage counts the tokens of a request and its answer.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// Models is the answer of /v1/models.
type Models struct {
	Object string  `json:"object"` // "list"
	Data   []Model `json:"data"`
}

// A Model is one that a server offers.
type Model struct {
	ID          string `json:"id"`
	Object      string `json:"object"` // "model"
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len,omitempty"` // vLLM: tokens of prompt and reply together
	Digest      string `json:"digest,omitempty"`        // Assay: of the weights, see backend.Info
	Engine      string `json:"engine,omitempty"`        // Assay: what runs it
	Slots       int    `json:"slots,omitempty"`         // Assay: calls that it usefully serves at once
}
