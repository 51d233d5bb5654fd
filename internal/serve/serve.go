// Package serve offers models over HTTP by the routes that evaluators ask: OpenAI's chat completions, completions and
// embeddings, Jina's and Cohere's rerank, and vLLM's tokenizer.
//
//  1. [Listen] binds to this machine's own addresses only.
//  2. [Server] admits who knows its token, be it in the address or as a bearer's.
//  3. A request is decoded with bounds. Each of its fields is honoured or refused by name: none is ignored that could
//     change an answer.
//  4. It becomes a request to a [backend.Backend], which may have a cache before it; the answer's id is its key there.
//  5. [Run] serves until its context ends, and lets requests under way finish.
//
// What is offered beside generated text is the probability of given text: completions with echo and logprobs.
package serve

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/openai/wire"
)

const (
	maxBody    = 32 << 20 // bytes of a request
	maxPrompts = 2048     // texts, prompts or documents in a request
	maxReplies = 128      // to one prompt
)

// Models are what a server offers, each in its role. One that is nil is not offered.
type Models struct {
	Judge    backend.Backend // generates and scores
	Embedder backend.Backend
	Encoder  backend.Backend // reranks

	// Vocabulary is the judge's. Without it, prompts of completions cannot be cut into tokens.
	Vocabulary backend.Vocabulary
}

// A Server answers requests about models. Make one with [New].
type Server struct {
	models Models
	token  string
	routes *http.ServeMux
	now    func() time.Time
}

// New returns a server for those who know its token.
func New(models Models, token string) *Server {
	s := &Server{models: models, token: token, routes: http.NewServeMux(), now: time.Now}
	s.routes.HandleFunc("GET /v1/models", s.list)
	s.routes.HandleFunc("POST /v1/chat/completions", answering(s.chat))
	s.routes.HandleFunc("POST /v1/completions", answering(s.complete))
	s.routes.HandleFunc("POST /v1/embeddings", answering(s.embed))
	s.routes.HandleFunc("POST /v1/rerank", answering(s.rerank))
	s.routes.HandleFunc("POST /tokenize", answering(s.tokenize))
	s.routes.HandleFunc("POST /detokenize", answering(s.detokenize))
	s.routes.HandleFunc("GET /tokenizer_info", s.tokenizerInfo)
	return s
}

// ServeHTTP answers a request. The token is the first part of the path, or the bearer's.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	bearer, borne := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case s.knows(first):
		r = r.Clone(r.Context())
		r.URL.Path, r.URL.RawPath = "/"+rest, ""
	case !borne || !s.knows(bearer):
		fail(w, http.StatusUnauthorized, &wire.Error{Message: "the address lacks the token that assay serve printed with it",
			Type: "invalid_request_error", Code: "invalid_api_key"})
		return
	}
	if _, pattern := s.routes.Handler(r); pattern == "" {
		fail(w, http.StatusNotFound, &wire.Error{Message: fmt.Sprintf("there is no %s %.100s", r.Method, r.URL.Path),
			Type: "invalid_request_error", Code: "not_found"})
		return
	}
	s.routes.ServeHTTP(w, r)
}

func (s *Server) knows(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
}

// answering decodes requests, and encodes what f answers.
func answering[Q any](f func(context.Context, *Q) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req := new(Q)
		err := wire.DecodeStrict(r.Body, maxBody, req)
		if err != nil {
			fail(w, statusOf(err, http.StatusBadRequest), errorOf(err))
			return
		}
		answer, err := f(r.Context(), req)
		if err != nil {
			fail(w, statusOf(err, http.StatusInternalServerError), errorOf(err))
			return
		}
		if s, ok := answer.(stream); ok {
			s.send(w)
			return
		}
		send(w, http.StatusOK, answer)
	}
}

// send writes an answer. A client that has left misses it.
func send(w http.ResponseWriter, status int, answer any) {
	body, err := marshal(answer)
	if err != nil {
		status = http.StatusInternalServerError
		body, _ = marshal(wire.ErrorBody{Error: &wire.Error{Message: err.Error(), Type: "server_error"}})
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

// marshal is json.Marshal, but leaves text as it reads. It fails where an answer has a number that JSON cannot hold.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func fail(w http.ResponseWriter, status int, e *wire.Error) {
	send(w, status, wire.ErrorBody{Error: e})
}

// A refusal is a field of a request with a value that cannot be honoured.
type refusal struct {
	param, reason string
	code          string
}

func (r *refusal) Error() string { return r.param + ": " + r.reason }

func refuse(param, format string, args ...any) error {
	return &refusal{param, fmt.Sprintf(format, args...), "unsupported_value"}
}

// statusOf is the status for an error, or other if nothing is known of it.
func statusOf(err error, other int) int {
	var refused *refusal
	var unknown *wire.UnknownFieldError
	var large *wire.TooLargeError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &refused) && refused.code == "model_not_found":
		return http.StatusNotFound
	case errors.As(err, &refused), errors.As(err, &unknown), errors.Is(err, backend.ErrInvalid),
		errors.Is(err, backend.ErrPromptTooLong), errors.Is(err, errors.ErrUnsupported):
		return http.StatusBadRequest
	case errors.Is(err, backend.ErrUnavailable), errors.Is(err, backend.ErrClosed), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	}
	return other
}

// errorOf is an error as clients know it.
func errorOf(err error) *wire.Error {
	e := &wire.Error{Message: err.Error(), Type: "invalid_request_error"}
	var refused *refusal
	var unknown *wire.UnknownFieldError
	switch {
	case errors.As(err, &refused):
		e.Param, e.Code = refused.param, refused.code
	case errors.As(err, &unknown):
		e.Message += ", which may change the answer: this server cannot honour it, so leave it out"
		e.Param, e.Code = unknown.Field, "unknown_parameter"
	case errors.Is(err, backend.ErrPromptTooLong):
		e.Code = "context_length_exceeded"
	case statusOf(err, http.StatusInternalServerError) >= http.StatusInternalServerError:
		e.Type = "server_error"
	}
	return e
}

// list tells the models.
func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	answer := wire.Models{Object: "list", Data: []wire.Model{}}
	for _, b := range []backend.Backend{s.models.Judge, s.models.Embedder, s.models.Encoder} {
		if b == nil {
			continue
		}
		info := b.Info()
		answer.Data = append(answer.Data, wire.Model{ID: info.Model, Object: "model", OwnedBy: "assay",
			MaxModelLen: info.Context, Digest: info.Digest, Engine: info.Engine, Slots: info.Slots})
	}
	send(w, http.StatusOK, answer)
}

// offered checks that there is a model for a route, and that it is the one that the request names; "" names any.
func offered(b backend.Backend, name, flag string) error {
	if b == nil {
		return &refusal{"model", fmt.Sprintf("no model for this route is served: assay serve --%s REF names one", flag),
			"model_not_found"}
	}
	if own := b.Info().Model; name != "" && name != own {
		return &refusal{"model", fmt.Sprintf("%.100q is not served here: %s is", name, own), "model_not_found"}
	}
	return nil
}

// each calls f for 0 to n-1 at once, and returns the first error, at which the others are cancelled.
func each(ctx context.Context, n int, f func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := f(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
