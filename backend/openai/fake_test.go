package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/remote"
)

// A fake is a scripted server, for the faults that no real one can be brought to. A test replaces the handlers of the
// paths that it spoils.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
	sent     map[string]any // the last body
	key      string         // the last Authorization
}

const (
	fakeKey   = "sk-not-to-be-seen"
	fakeReply = `{"choices":[{"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop",` +
		`"logprobs":{"content":[{"token":"Yes","logprob":-0.5,"top_logprobs":[{"token":"Yes","logprob":-0.5},` +
		`{"token":"No","logprob":-1}]}]}}],"usage":{"prompt_tokens":12,"completion_tokens":3}}`
	fakeHeld   = `{"choices":[{"message":{"content":"{\"bird\":\"kestrel-7\"}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9}}`
	fakeModels = `{"data":[{"id":"m","owned_by":"someone","max_model_len":512}]}`
)

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{handlers: map[string]http.HandlerFunc{"/v1/models": answer(200, fakeModels)}}
	f.handlers["/v1/chat/completions"] = func(w http.ResponseWriter, r *http.Request) {
		if _, held := f.sent["response_format"]; held {
			io.WriteString(w, fakeHeld)
			return
		}
		io.WriteString(w, fakeReply)
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		handler := f.handlers[r.URL.Path]
		f.key = r.Header.Get("Authorization")
		if r.Method == http.MethodPost {
			f.sent = nil
			json.NewDecoder(r.Body).Decode(&f.sent)
		}
		f.mu.Unlock()
		if handler == nil {
			http.NotFound(w, r)
			return
		}
		handler(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// on replaces the handler of a path.
func (f *fake) on(path string, handler http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handlers[path] = handler
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func (f *fake) open(t *testing.T) *Engine {
	t.Helper()
	e, err := Open(t.Context(), Options{Address: f.URL, Key: fakeKey, Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// want is what an error must be and say.
type want struct {
	is   error // nil: none of the sentinels
	says string
}

func (w want) check(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), w.says) {
		t.Errorf("%s: error %v, want one that says %q", what, err, w.says)
		return
	}
	for _, sentinel := range []error{backend.ErrUnavailable, backend.ErrPromptTooLong, backend.ErrInvalid,
		backend.ErrClosed, context.Canceled, context.DeadlineExceeded, errors.ErrUnsupported, ErrRemote} {
		if errors.Is(err, sentinel) != (sentinel == w.is) {
			t.Errorf("%s: error %v: wraps %q is %v", what, err, sentinel, sentinel != w.is)
		}
	}
	if len(err.Error()) > 1000 || strings.Contains(err.Error(), fakeKey) {
		t.Errorf("%s: an error of %d bytes, or with the key: %.300v", what, len(err.Error()), err)
	}
}

func TestParseAddress(t *testing.T) {
	check := func(address, want string) {
		t.Helper()
		u, err := parseAddress(address)
		if got := fmt.Sprint(u); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q is %s, %v; want %s", address, got, err, want)
		}
	}
	check("127.0.0.1:8080", "http://127.0.0.1:8080/v1")
	check(" localhost:8080/ ", "http://localhost:8080/v1")
	check("http://[::1]:1234/v1/", "http://[::1]:1234/v1")
	check("https://gpu.example/token/v1", "https://gpu.example/token/v1")
	check("https://gpu.example/token", "https://gpu.example/token/v1")
	for _, bad := range []string{"", "http://", "ftp://a", "http://user:pass@a", "http://a/?x=1", "http://a/#x", "::", "a b"} {
		check(bad, "")
	}
}

// TestRemote checks that nothing but this machine is connected to unless that is permitted, by whatever name.
func TestRemote(t *testing.T) {
	for _, address := range []string{"192.0.2.1:80", "[2001:db8::1]:80", "0.0.0.0:80"} {
		_, err := Open(t.Context(), Options{Address: address})
		want{ErrRemote, "not on this machine"}.check(t, address, err)
	}
	if e := newFake(t).open(t); e.Info().Context != 512 {
		t.Errorf("on this machine: %+v", e.Info())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, Options{Address: "192.0.2.1:80", AllowRemote: true}); errors.Is(err, ErrRemote) || err == nil {
		t.Errorf("permitted: %v", err)
	}
}

func TestInfo(t *testing.T) {
	f := newFake(t)
	e := f.open(t)
	if want := (backend.Info{
		Engine: "openai: a server, first-token scoring, weights known by name", Model: "m", Digest: e.said.identity(),
		Context: 512, Slots: 1, Ops: judge,
	}); !reflect.DeepEqual(e.Info(), want) {
		t.Errorf("Info is %+v, want %+v", e.Info(), want)
	}
	if f.key != "Bearer "+fakeKey {
		t.Errorf("the server was shown the key %q", f.key)
	}
	refuse := func(models, says string) {
		t.Helper()
		f.on("/v1/models", answer(200, models))
		_, err := Open(t.Context(), Options{Address: f.URL})
		want{nil, says}.check(t, models, err)
	}
	refuse(`{"data":[{"id":"m"}]}`, "--context")
	refuse(`{"data":[]}`, "which has none")
	refuse(`{"data":[{"id":"m","max_model_len":9},{"id":"n","max_model_len":9}]}`, "name a model of the server, which has m, n")
	f.on("/v1/models", nil)
	_, err := Open(t.Context(), Options{Address: f.URL})
	want{nil, "check the address"}.check(t, "another program", err)
}

// TestIdentity changes each thing that a server says, and sees the digest change.
func TestIdentity(t *testing.T) {
	base := description{kind: llamaServer, version: "b1", model: "m", words: "w"}
	seen := map[string]bool{base.identity(): true}
	for _, change := range []func(*description){
		func(d *description) { d.kind = vllm }, func(d *description) { d.version = "b2" },
		func(d *description) { d.model = "n" }, func(d *description) { d.words = "x" },
		func(d *description) { d.model, d.words = "mw", "" },
	} {
		d := base
		change(&d)
		if seen[d.identity()] {
			t.Errorf("%+v has the digest of another", d)
		}
		seen[d.identity()] = true
		if base.differs(d) == "" {
			t.Errorf("%+v is taken for %+v", d, base)
		}
	}
	d := base
	d.context = 512
	if base.differs(d) != "" {
		t.Error("a context that is told later is another model")
	}
}

func TestGenerateFaults(t *testing.T) {
	f := newFake(t)
	e := f.open(t)
	check := func(what string, handler http.HandlerFunc, w want) {
		t.Helper()
		f.on("/v1/chat/completions", handler)
		_, err := e.Generate(t.Context(), question("Hi", 20))
		w.check(t, what, err)
	}
	dropped := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, body)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	unavailable := backend.ErrUnavailable
	check("busy", answer(429, `{"error":{"message":"slow down"}}`), want{unavailable, "slow down"})
	check("loading", answer(503, `{"error":{"code":503,"message":"Loading model"}}`), want{unavailable, "Loading"})
	check("gateway", answer(502, `<html>Bad gateway</html>`), want{unavailable, "Bad gateway"})
	check("runner gone", answer(500, `{"error":{"message":"model runner has unexpectedly stopped"}}`),
		want{unavailable, "unexpectedly"})
	check("failed", answer(500, `{"error":{"message":"something else"}}`), want{nil, "something else"})
	check("bad request", answer(400, `{"error":{"message":"no such field"}}`), want{backend.ErrInvalid, "no such field"})
	check("gone", answer(404, `{"error":{"message":"no model m"}}`), want{nil, "no model m"})
	check("the key comes back", answer(401, `{"error":{"message":"wrong key `+fakeKey+`"}}`),
		want{nil, "set ASSAY_API_KEY"})
	for _, message := range []string{ // as llama-server, vLLM (two), SGLang, LM Studio and OpenAI put it
		`request (1118 tokens) exceeds the available context size (1024 tokens), try increasing it`,
		`This model's maximum context length is 512 tokens. However, you requested 600 tokens`,
		`The decoder prompt (length 600) is longer than the maximum model length of 512.`,
		`The input (600 tokens) is longer than the model's context length (512 tokens).`,
		`the model is loaded with context length of only 512 tokens, which is not enough`,
		`context_length_exceeded`,
	} {
		body, _ := json.Marshal(map[string]any{"error": map[string]string{"message": message}})
		check(message, answer(400, string(body)), want{backend.ErrPromptTooLong, "512"})
	}
	check("dropped at once", dropped(""), want{unavailable, "no answer"})
	check("half", dropped(fakeReply[:70]), want{unavailable, "no answer"})
	check("half, said to be whole", answer(200, fakeReply[:70]), want{unavailable, "what is no answer"})
	check("empty", answer(200, ""), want{unavailable, "what is no answer"})
	check("a page", answer(200, "<html>"+strings.Repeat("Hello ", 1000)), want{unavailable, "<html>"})
	check("other JSON", answer(200, `[1,2]`), want{nil, "cannot be read"})
	check("no replies", answer(200, `{"choices":[],"usage":{}}`), want{unavailable, "0 replies"})
	check("no count", answer(200, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`),
		want{unavailable, "no count"})
	check("filtered", answer(200, strings.Replace(fakeReply, `"stop"`, `"content_filter"`, 1)), want{nil, "content_filter"})
	check("context passed", answer(200, strings.Replace(fakeReply, `tokens":12`, `tokens":493`, 1)),
		want{backend.ErrPromptTooLong, "513 of 512"})
	check("redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/v1/models", http.StatusTemporaryRedirect)
	}, want{nil, "redirects"})
	check("an endless error", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		for range 1 << 10 {
			fmt.Fprint(w, strings.Repeat("x", 1<<10))
		}
	}, want{nil, "the server says: nothing"})

	f.on("/v1/chat/completions", answer(200, fakeReply))
	_, err := e.Generate(t.Context(), question(strings.Repeat("x", 12*remote.BytesPerToken+1), 20))
	want{backend.ErrPromptTooLong, "read 12 tokens of a prompt of 769 bytes"}.check(t, "cut without a word", err)
	req := question("Hi", 20)
	req.Schema = json.RawMessage(`{"type":"object"}`)
	_, err = e.Generate(t.Context(), req)
	want{nil, "ignored the schema"}.check(t, "schema ignored", err)
	g, err := e.Generate(t.Context(), question("Hi", 20))
	if want := (backend.Generation{Text: "Hello.", Stop: backend.StopEnd, PromptTokens: 12, OutputTokens: 3}); err != nil || *g != want {
		t.Errorf("after all that: %+v, %v", g, err)
	}
}

// TestSent checks what a server is asked that nobody knows: the fields that all take, and no others.
func TestSent(t *testing.T) {
	f := newFake(t)
	e := f.open(t)
	req := question("Hi", 20)
	req.Sampling = backend.Sampling{Temperature: 0.7, TopP: 0.9, Seed: 5}
	req.Stop = []string{"\n"}
	if _, err := e.Generate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if want := map[string]any{"model": "m", "messages": []any{map[string]any{"role": "user", "content": "Hi"}},
		"max_tokens": 20.0, "temperature": 0.7, "top_p": 0.9, "seed": float64(req.DrawSeed() >> 33), "stop": []any{"\n"},
	}; !reflect.DeepEqual(f.sent, want) {
		t.Errorf("sent\n%v, want\n%v", f.sent, want)
	}
	req.Sampling.Temperature = 0
	if _, err := e.Generate(t.Context(), req); err != nil || f.sent["seed"] != 0.0 || f.sent["top_p"] != 1.0 {
		t.Errorf("greedy: sent %v, %v", f.sent, err)
	}
}

// TestAbilities checks that nothing is claimed that a server does not show.
func TestAbilities(t *testing.T) {
	check := func(what string, want backend.Ops, spoil func(f *fake)) {
		t.Helper()
		f := newFake(t)
		spoil(f)
		if got := f.open(t).Info().Ops; got != want {
			t.Errorf("%s: it can %v, want %v", what, got, want)
		}
	}
	chat := func(reply string) func(*fake) {
		return func(f *fake) { f.on("/v1/chat/completions", answer(200, reply)) }
	}
	check("schemas ignored", judge&^backend.CanConstrain, chat(fakeReply))
	check("no probabilities", backend.CanGenerate, chat(`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":3,"completion_tokens":1}}`))
	check("probabilities refused", backend.CanGenerate, func(f *fake) {
		f.on("/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
			if f.sent["logprobs"] == true {
				answer(400, `{"error":{"message":"no logprobs here"}}`)(w, r)
				return
			}
			io.WriteString(w, fakeReply)
		})
	})
	check("embeddings only", backend.CanEmbed, func(f *fake) {
		f.on("/v1/chat/completions", nil)
		f.on("/v1/embeddings", answer(200, `{"data":[{"index":0,"embedding":[3,4]}],"usage":{"prompt_tokens":2}}`))
	})
	f := newFake(t)
	f.on("/v1/chat/completions", answer(500, `{"error":{"message":"broken"}}`))
	_, err := Open(t.Context(), Options{Address: f.URL})
	want{nil, "can neither generate nor embed"}.check(t, "nothing", err)
	f.on("/v1/chat/completions", answer(503, `{"error":{"message":"loading"}}`))
	_, err = Open(t.Context(), Options{Address: f.URL})
	want{backend.ErrUnavailable, "loading"}.check(t, "not up yet", err)
}

// TestPromptLogProbs plays vLLM: /tokenize of a chat, and probabilities of the prompt's own tokens.
func TestPromptLogProbs(t *testing.T) {
	f := newFake(t)
	f.on("/v1/models", answer(200, `{"data":[{"id":"m","owned_by":"vllm","root":"org/m","max_model_len":512}]}`))
	f.on("/version", answer(200, `{"version":"0.15.0"}`))
	f.on("/tokenize", func(w http.ResponseWriter, r *http.Request) {
		if f.sent["continue_final_message"] == true {
			io.WriteString(w, `{"tokens":[1,5,6,70,71]}`)
			return
		}
		io.WriteString(w, `{"tokens":[1,5,6]}`)
	})
	const scored = `{"choices":[{"message":{"content":"x"},"finish_reason":"length"}],"usage":{"prompt_tokens":5},` +
		`"prompt_logprobs":[null,{"5":{"logprob":-9,"rank":1}},{"6":{"logprob":-8}},{"70":{"logprob":-0.25},"3":{"logprob":-2}},` +
		`{"71":{"logprob":-1.5}}]}`
	chat := func(scored string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if f.sent["prompt_logprobs"] != nil {
				io.WriteString(w, scored)
				return
			}
			io.WriteString(w, fakeReply)
		}
	}
	f.on("/v1/chat/completions", chat(scored))
	e := f.open(t)
	if i := e.Info(); i.Ops != backend.CanGenerate|backend.CanScore|backend.CanChoose ||
		i.Engine != "openai: vLLM 0.15.0, prompt log-probabilities, weights known by name" {
		t.Errorf("Info is %+v", i)
	}
	req := &backend.ScoreRequest{Messages: question("Well?", 1).Messages, Continuations: []string{"It is."}}
	s, err := e.Score(t.Context(), req)
	if want := (backend.Scores{LogProbs: [][]float64{{-0.25, -1.5}}, PromptTokens: 3}); err != nil || !reflect.DeepEqual(*s, want) {
		t.Errorf("scores %+v, %v", s, err)
	}
	if last := f.sent["messages"]; f.sent["add_generation_prompt"] != false && last == nil {
		t.Errorf("sent %v", f.sent)
	}
	for what, spoilt := range map[string]string{
		"no entry":     strings.Replace(scored, `"71"`, `"72"`, 1),
		"not finite":   strings.Replace(scored, `-1.5`, `3`, 1),
		"other length": strings.Replace(scored, `[null,`, `[null,null,`, 1),
	} {
		f.on("/v1/chat/completions", chat(spoilt))
		if s, err := e.Score(t.Context(), req); err == nil {
			t.Errorf("%s: scores %+v", what, s)
		}
	}
	f.on("/v1/chat/completions", chat(fakeReply))
	_, err = e.Score(t.Context(), req)
	want{backend.ErrUnavailable, "no probabilities"}.check(t, "left out", err)
}

func TestEmbed(t *testing.T) {
	f := newFake(t)
	f.on("/v1/chat/completions", nil)
	f.on("/v1/embeddings", func(w http.ResponseWriter, r *http.Request) { // the last first
		inputs, ok := f.sent["input"].([]any)
		if !ok {
			inputs = []any{f.sent["input"]}
		}
		var items []string
		for i := range slices.Backward(inputs) {
			n := len(inputs[i].(string))
			items = append(items, fmt.Sprintf(`{"index":%d,"embedding":[%d,0,%d]}`, i, n, -n))
		}
		fmt.Fprintf(w, `{"data":[%s],"usage":{"prompt_tokens":%d}}`, strings.Join(items, ","), len(inputs))
	})
	e := f.open(t)
	texts := make([]string, 150)
	for i := range texts {
		texts[i] = strings.Repeat("x", i+1)
	}
	vectors, err := backend.Embed(t.Context(), e, texts)
	if err != nil || len(vectors) != 150 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		if math.Abs(float64(v[0])-math.Sqrt(0.5)) > 1e-6 || v[2] != -v[0] {
			t.Fatalf("a vector is %v", v)
		}
	}
	check := func(body string, w want) {
		t.Helper()
		f.on("/v1/embeddings", answer(200, body))
		_, err := backend.Embed(t.Context(), e, []string{"a", "b"})
		w.check(t, body, err)
	}
	check(`{"data":[{"index":0,"embedding":[1]}]}`, want{nil, "1 vectors for 2"})
	check(`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, want{nil, "or two"})
	check(`{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`, want{nil, "text 2 of 2"})
	check(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[0]}]}`, want{nil, "length 0"})
	check(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`, want{nil, "of 1, then of 2"})
	// A text that could be longer than the context is sent alone, and its tokens tell that it was cut.
	f.on("/v1/embeddings", answer(200, `{"data":[{"index":0,"embedding":[1]}],"usage":{"prompt_tokens":512}}`))
	_, err = backend.Embed(t.Context(), e, []string{strings.Repeat("x", 600)})
	want{backend.ErrPromptTooLong, "512"}.check(t, "a text that was cut", err)
}

// TestPatience has a server take a request and never answer, and one that wants to be left alone.
func TestPatience(t *testing.T) {
	f := newFake(t)
	e := f.open(t)
	done := make(chan struct{})
	defer close(done)
	f.on("/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	})
	e.patience = 20*time.Millisecond - e.limit(2, 20) + e.patience
	_, err := e.Generate(t.Context(), question("Hi", 20))
	want{backend.ErrUnavailable, "gave no answer within 20ms"}.check(t, "hanging", err)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*time.Millisecond, cancel)
	e.patience = time.Minute
	_, err = e.Generate(ctx, question("Hi", 20))
	want{context.Canceled, ""}.check(t, "cancelled", err)
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{}
		header := func(value string) time.Duration {
			resp := &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {value}}, Body: http.NoBody}
			c.rest.Store(0)
			if err := c.refused(resp); !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("429 is %v", err)
			}
			start := time.Now()
			if err := c.pause(t.Context()); err != nil {
				t.Error(err)
			}
			return time.Since(start)
		}
		for value, want := range map[string]time.Duration{"3": 3 * time.Second, "": 0, "-1": 0, "soon": 0,
			"999999999999": maxRest, "7200": maxRest, "99999999999999999999": 0} {
			if got := header(value); got != want {
				t.Errorf("Retry-After %q: paused for %v, want %v", value, got, want)
			}
		}
	})
}

// FuzzAnswer reads what a server may send: no panic, no answer that is not whole.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{fakeReply, fakeHeld, fakeModels, `{"choices":null}`, `{"prompt_logprobs":[{}]}`, `[]`, ``} {
		f.Add([]byte(seed))
	}
	e := &Engine{client: &client{}, info: backend.Info{Context: 512}}
	f.Fuzz(func(t *testing.T, body []byte) {
		var answer chatAnswer
		if json.Unmarshal(body, &answer) != nil {
			return
		}
		for _, from := range []int{0, len(answer.PromptLogProbs)} {
			list, err := e.given(&answer, from, nil)
			for _, v := range list {
				if err == nil && !(v <= 0) {
					t.Errorf("%q gives the log-probability %v", body, v)
				}
			}
		}
	})
}

// vLLM puts a sigmoid over the numbers of a reranker, unless it is told not to and heeds it: only then are they taken.
func TestRerankWithoutActivation(t *testing.T) {
	check := func(name string, heeds bool, want backend.Ops) {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("/v1/models", answer(200, `{"data":[{"id":"m","owned_by":"vllm","root":"org/m","max_model_len":512}]}`))
			f.on("/v1/chat/completions", answer(400, `{"error":{"message":"no chat"}}`))
			f.on("/v1/embeddings", answer(200, `{"data":[{"index":0,"embedding":[3,4]}],"usage":{"prompt_tokens":3}}`))
			f.on("/v1/rerank", func(w http.ResponseWriter, r *http.Request) {
				var results []string
				for i, document := range f.sent["documents"].([]any) {
					number := float64(len(document.(string))) / 10
					if asked, told := f.sent["use_activation"].(bool); !heeds || !told || asked {
						number = 1 / (1 + math.Exp(-number))
					}
					results = append(results, fmt.Sprintf(`{"index":%d,"relevance_score":%v}`, i, number))
				}
				fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(results, ","))
			})
			e := f.open(t)
			if got := e.Info().Ops; got != want {
				t.Fatalf("abilities %v, want %v", got, want)
			}
			if !heeds {
				return
			}
			got, err := backend.Classify(t.Context(), e, []backend.Pair{{Query: "q", Text: strings.Repeat("a", 30)}, {Query: "q", Text: "b"}})
			if err != nil || !reflect.DeepEqual(got, [][]float32{{3}, {0.1}}) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	check("heeded", true, backend.CanEmbed|backend.CanClassify)
	check("not heeded", false, backend.CanEmbed)
}
