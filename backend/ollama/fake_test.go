package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assay-eval/assay/backend"
)

// A fake is a scripted Ollama server with two models, chat and embed. A test replaces the handlers of the
// paths that it spoils.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
}

const (
	fakeDigest  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	fakeContext = 512
	fakeReply   = `{"message":{"role":"assistant","content":"Hel"},"done":false}
{"message":{"role":"assistant","content":"lo."},"done":false}
{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":12,"eval_count":3}
`
)

func newFake(t *testing.T) *fake {
	t.Helper()
	return newFakeOn(t, nil)
}

// newFakeOn is newFake on a listener; nil means one of this machine's ports.
func newFakeOn(t *testing.T, l net.Listener) *fake {
	t.Helper()
	f := &fake{handlers: map[string]http.HandlerFunc{
		"/api/version": answer(200, `{"version":"0.17.4"}`),
		"/api/tags": answer(200, fmt.Sprintf(`{"models":[{"name":"chat:latest","digest":%q,"size":7},`+
			`{"name":"embed:latest","digest":%[1]q}]}`, fakeDigest)),
		"/api/ps":    answer(200, `{"models":[]}`),
		"/api/chat":  answer(200, fakeReply),
		"/api/embed": answer(200, `{"embeddings":[[3,4]]}`),
	}}
	f.handlers["/api/show"] = func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Model string }
		json.NewDecoder(r.Body).Decode(&req)
		capability := map[string]string{"chat:latest": "completion", "embed:latest": "embedding"}[req.Model]
		fmt.Fprintf(w, `{"capabilities":[%q],"parameters":"stop   \"<|end|>\"\nnum_ctx 99","model_info":{`+
			`"general.architecture":"llama","llama.context_length":%d,`+
			`"tokenizer.ggml.tokens":["<s>","a","</s>"],"tokenizer.ggml.token_type":[3,1,3]}}`, capability, fakeContext)
	}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		handler := f.handlers[r.URL.Path]
		f.mu.Unlock()
		if handler == nil {
			http.NotFound(w, r)
			return
		}
		handler(w, r)
	}))
	if l != nil {
		f.Listener.Close()
		f.Listener = l
	}
	f.Start()
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

// dropped sends the beginning of a body, then closes the connection.
func dropped(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, body)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func (f *fake) open(t *testing.T, model string) *Engine {
	t.Helper()
	e, err := Open(t.Context(), Options{Address: f.URL, Model: model, Slots: 1})
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
		backend.ErrClosed,
		context.Canceled, context.DeadlineExceeded, errors.ErrUnsupported} {
		if errors.Is(err, sentinel) != (sentinel == w.is) {
			t.Errorf("%s: error %v: wraps %q is %v", what, err, sentinel, sentinel != w.is)
		}
	}
	if len(err.Error()) > 1000 {
		t.Errorf("%s: an error of %d bytes", what, len(err.Error()))
	}
}

func TestGenerate(t *testing.T) {
	f := newFake(t)
	var sent map[string]any
	f.on("/api/chat", func(w http.ResponseWriter, r *http.Request) {
		sent = nil
		json.NewDecoder(r.Body).Decode(&sent)
		fmt.Fprint(w, fakeReply)
	})
	e := f.open(t, "CHAT")
	if want := (backend.Info{
		Engine: "ollama 0.17.4", Model: "CHAT", Digest: "sha256:" + fakeDigest, Context: fakeContext, Slots: 1,
		Ops: backend.CanGenerate | backend.CanConstrain | backend.CanChoose,
	}); !reflect.DeepEqual(e.Info(), want) {
		t.Errorf("Info is %+v, want %+v", e.Info(), want)
	}
	check := func(what string, req *backend.GenerateRequest, options map[string]any) {
		t.Helper()
		g, err := e.Generate(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if want := (backend.Generation{
			Text: "Hello.", Stop: backend.StopEnd, PromptTokens: 12, OutputTokens: 3,
		}); *g != want {
			t.Errorf("%s: %+v, want %+v", what, *g, want)
		}
		if sent["model"] != "chat:latest" || sent["truncate"] != false || sent["shift"] != false ||
			sent["keep_alive"] != "15m0s" ||
			sent["think"] != nil {
			t.Errorf("%s: sent %v", what, sent)
		}
		if !reflect.DeepEqual(sent["options"], options) {
			t.Errorf("%s: sent options\n%v, want\n%v", what, sent["options"], options)
		}
	}
	options := map[string]any{"num_ctx": 512.0, "num_predict": 20.0, "temperature": 0.0, "top_k": 1.0,
		"top_p": 1.0, "seed": 0.0, "min_p": 0.0, "typical_p": 1.0, "repeat_last_n": 0.0, "repeat_penalty": 1.0,
		"presence_penalty": 0.0, "frequency_penalty": 0.0}
	req := question("Hi", 20)
	req.Sampling.Seed, req.Draw = 5, 2
	check("greedy", req, options)
	req.Sampling.Temperature = 0.7
	options["temperature"], options["top_k"], options["seed"] = 0.7, 0.0, float64(req.DrawSeed()>>33)
	check("whole distribution", req, options)
	req.Sampling.TopK, req.Sampling.TopP = 50, 0.9
	options["top_k"], options["top_p"] = 50.0, 0.9
	check("part of the distribution", req, options)
	req.Stop = []string{"\n", "Q:"}
	options["stop"] = []any{"<|end|>", "\n", "Q:"}
	check("stop strings", req, options)
}

// TestSeeds checks that no seed is one that Ollama takes for "random", or cannot tell from another.
func TestSeeds(t *testing.T) {
	e := &Engine{}
	for seed := range uint64(10000) {
		req := question("Hi", 1)
		req.Sampling = backend.Sampling{Temperature: 1, Seed: seed}
		n := e.chatRequest(req, 1).Options["seed"].(int)
		if n < 0 || n > math.MaxInt32 {
			t.Fatalf("seed %d becomes %d", seed, n)
		}
	}
}

func TestGenerateFaults(t *testing.T) {
	f := newFake(t)
	e := f.open(t, "chat")
	check := func(what string, handler http.HandlerFunc, w want) {
		t.Helper()
		f.on("/api/chat", handler)
		_, err := e.Generate(t.Context(), question("Hi", 20))
		w.check(t, what, err)
	}
	unavailable := backend.ErrUnavailable
	check("not pulled", answer(404, `{"error":"model 'chat' not found"}`), want{nil, "ollama pull chat"})
	check("busy", answer(503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`),
		want{unavailable, "server busy"})
	check("too long", answer(400, `{"error":"the input length exceeds the context length"}`),
		want{backend.ErrPromptTooLong, "512"})
	check("bad request", answer(400, `{"error":"think value is not supported"}`), want{nil, "think value"})
	check("runner gone", answer(500, `{"error":"model runner has unexpectedly stopped"}`),
		want{unavailable, "unexpectedly stopped"})
	check("no memory", answer(500, `{"error":"model requires more system memory (9 GiB) than is available"}`),
		want{nil, "memory"})
	check("bad schema", answer(500, `{"error":"invalid JSON schema in format"}`), want{backend.ErrInvalid, "schema"})
	check("sign-in", answer(401, `{"error":"unauthorized"}`), want{nil, "sign-in"})
	check("gateway", answer(502, `<html>Bad gateway</html>`), want{unavailable, "Bad gateway"})
	check("dropped at once", dropped(""), want{unavailable, "no answer"})
	check("dropped in the middle", dropped(fakeReply[:70]), want{unavailable, "no answer"})
	check("dropped between lines", dropped(fakeReply[:strings.Index(fakeReply, "\n")+1]),
		want{unavailable, "no answer"})
	check("ended early", answer(200, fakeReply[:strings.Index(fakeReply, "\n")+1]), want{unavailable, "in the middle"})
	check("empty", answer(200, ""), want{unavailable, "in the middle"})
	check("error in the middle",
		answer(200, fakeReply[:strings.Index(fakeReply, "\n")+1]+
			`{"error":"an error was encountered while running the model"}`),
		want{unavailable, "while running"})
	check("not JSON", answer(200, "<html>"+strings.Repeat("Hello ", 1000)), want{unavailable, "<html>"})
	check("other JSON", answer(200, `[1,2]`), want{unavailable, "[1,2]"})
	check("endless line", func(w http.ResponseWriter, r *http.Request) {
		for range 9 << 10 {
			fmt.Fprint(w, strings.Repeat("x", 1<<10))
		}
	}, want{unavailable, "in the middle"})
	check("strange reason", answer(200, strings.Replace(fakeReply, `"stop"`, `"unload"`, 1)),
		want{unavailable, "unload"})
	check("context passed", answer(200, strings.Replace(fakeReply, `count":12`, `count":493`, 1)),
		want{backend.ErrPromptTooLong, "513 of 512"})
	check("redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/api/version", http.StatusTemporaryRedirect)
	}, want{nil, "redirects"})

	f.on("/api/chat", answer(200, fakeReply))
	req := question("Hi", 20)
	req.Schema = json.RawMessage(`{"type":"object"}`)
	_, err := e.Generate(t.Context(), req)
	want{nil, "ignored the schema"}.check(t, "schema ignored", err)
	req.Schema = json.RawMessage(`true`)
	_, err = e.Generate(t.Context(), req)
	want{backend.ErrInvalid, "object"}.check(t, "schema that Ollama cannot take", err)
	_, err = e.Generate(t.Context(), question("A </s> b", 20))
	want{backend.ErrInvalid, `"</s>"`}.check(t, "control token", err)
	_, err = e.Generate(t.Context(), question("Hi", fakeContext))
	want{backend.ErrPromptTooLong, "512"}.check(t, "no room for a prompt", err)
	if _, err := e.Generate(t.Context(), question("Hi", 20)); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

// TestBrokenOff checks that a reply that Ollama gave up on is asked for again, up to where it was given up.
func TestBrokenOff(t *testing.T) {
	f := newFake(t)
	e := f.open(t, "chat")
	var asked []float64
	f.on("/api/chat", func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Options map[string]any }
		json.NewDecoder(r.Body).Decode(&req)
		n := req.Options["num_predict"].(float64)
		asked = append(asked, n)
		for range min(int(n), repeats+1) {
			fmt.Fprintln(w, `{"message":{"content":" no"}}`)
		}
		if n <= repeats+1 {
			fmt.Fprintf(w, `{"done":true,"done_reason":"length","prompt_eval_count":9,"eval_count":%v}`, n)
		}
	})
	g, err := e.Generate(t.Context(), question("Hi", 100))
	if err != nil {
		t.Fatal(err)
	}
	if want := (backend.Generation{Text: strings.Repeat(" no", repeats+1), Stop: backend.StopLength, PromptTokens: 9,
		OutputTokens: repeats + 1}); *g != want || !reflect.DeepEqual(asked, []float64{100, repeats + 1}) {
		t.Errorf("got %+v after asking for %v tokens, want %+v", *g, asked, want)
	}
}

func TestEmbed(t *testing.T) {
	f := newFake(t)
	e := f.open(t, "embed")
	if e.Info().Ops != backend.CanEmbed {
		t.Errorf("an embedding model can %v", e.Info().Ops)
	}
	var batches []int
	f.on("/api/embed", func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Input    []string
			Truncate *bool
		}
		json.NewDecoder(r.Body).Decode(&req)
		if req.Truncate == nil || *req.Truncate {
			t.Error("Ollama may cut the texts")
		}
		batches = append(batches, len(req.Input))
		vectors := make([][]int, len(req.Input))
		for i, text := range req.Input {
			vectors[i] = []int{len(text), 0, -len(text)}
		}
		json.NewEncoder(w).Encode(map[string]any{"embeddings": vectors})
	})
	texts := make([]string, 130)
	for i := range texts {
		texts[i] = strings.Repeat("x", i+1)
	}
	texts[100] = strings.Repeat("x", batchBytes+1)
	vectors, err := backend.Embed(t.Context(), e, texts)
	if err != nil || len(vectors) != len(texts) {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for i, v := range vectors {
		if len(v) != 3 || math.Abs(float64(v[0])-math.Sqrt(0.5)) > 1e-7 || v[2] != -v[0] {
			t.Errorf("vector %d is %v", i, v)
		}
	}
	if want := []int{64, 36, 1, 29}; !reflect.DeepEqual(batches, want) {
		t.Errorf("batches of %v, want %v", batches, want)
	}
	batches = nil
	if v, err := backend.Embed(t.Context(), e, nil); err != nil || v == nil || len(v) != 0 || batches != nil {
		t.Errorf("no texts: %v, %v, after asking for %v", v, err, batches)
	}
}

func TestEmbedFaults(t *testing.T) {
	f := newFake(t)
	e := f.open(t, "embed")
	check := func(what, body string, status int, w want) {
		t.Helper()
		f.on("/api/embed", answer(status, body))
		vectors, err := backend.Embed(t.Context(), e, []string{"a", "b"})
		w.check(t, what, err)
		if vectors != nil {
			t.Errorf("%s: vectors beside an error: %v", what, vectors)
		}
	}
	check("one vector", `{"embeddings":[[1,2]]}`, 200, want{nil, "1 vectors for 2 texts"})
	check("three vectors", `{"embeddings":[[1],[2],[3]]}`, 200, want{nil, "3 vectors for 2 texts"})
	check("none", `{}`, 200, want{nil, "0 vectors for 2 texts"})
	check("null", `null`, 200, want{nil, "0 vectors for 2 texts"})
	check("empty vectors", `{"embeddings":[[],[]]}`, 200, want{nil, "dimensions"})
	check("other dimensions", `{"embeddings":[[1,2],[1]]}`, 200, want{nil, "dimensions"})
	check("zero", `{"embeddings":[[1,2],[0,0]]}`, 200, want{nil, "length 0"})
	check("NaN", `{"embeddings":[[1,2],[NaN,0]]}`, 200, want{backend.ErrUnavailable, "invalid character"})
	check("too large for a float", `{"embeddings":[[1,2],[1e39,0]]}`, 200, want{backend.ErrUnavailable, "1e39"})
	check("NaN inside", `{"error":"embedding contains NaN or Inf values"}`, 400, want{nil, "NaN"})
	check("too long", `{"error":"the input length exceeds the context length"}`, 400,
		want{backend.ErrPromptTooLong, "512"})
	check("empty text", `{"error":"failed to create new sequence: no input provided"}`, 500,
		want{backend.ErrInvalid, "empty text"})
	check("gone", `{"error":"model \"embed\" not found, try pulling it first"}`, 404, want{nil, "ollama pull embed"})
	check("cut", `{"embeddings":[[1,2],[1`, 200, want{backend.ErrUnavailable, "unexpected end"})
	_, err := e.Generate(t.Context(), question("Hi", 1))
	want{errors.ErrUnsupported, "generate"}.check(t, "chat", err)
}

func TestOpenFaults(t *testing.T) {
	check := func(what, path string, handler http.HandlerFunc, w want) {
		t.Helper()
		f := newFake(t)
		f.on(path, handler)
		_, err := Open(t.Context(), Options{Address: f.URL, Model: "chat", Slots: 1})
		w.check(t, what, err)
	}
	show := func(fields string) http.HandlerFunc { return answer(200, `{"model_info":{},`+fields+`}`) }
	check("a web server", "/api/version", answer(404, "<html>404</html>"), want{nil, "not an Ollama server"})
	check("another program", "/api/version", answer(200, `{"status":"ok"}`), want{nil, "not an Ollama server"})
	check("a page", "/api/version", answer(200, `<html>`), want{nil, "not an Ollama server"})
	check("starting", "/api/version", answer(503, `{"error":"starting"}`), want{backend.ErrUnavailable, "starting"})
	check("old", "/api/version", answer(200, `{"version":"0.12.5"}`), want{nil, "update it"})
	check("elsewhere", "/api/version", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
	}, want{nil, "redirects"})
	check("no models", "/api/tags", answer(200, `{"models":[]}`), want{nil, `which has none: run "ollama pull chat"`})
	check("others", "/api/tags", answer(200, `{"models":[{"name":"a:1b"},{"name":"b:latest"}]}`),
		want{nil, "use one of a:1b, b:latest"})
	check("bad digest", "/api/tags", answer(200, `{"models":[{"name":"chat:latest","digest":"abc"}]}`),
		want{nil, "digest"})
	check("remote", "/api/show", show(`"capabilities":["completion"],"remote_host":"https://example.org"`),
		want{nil, "https://example.org"})
	check("no ability", "/api/show", show(`"capabilities":["image"]`), want{nil, "neither generate nor embed"})
	check("no memory", "/api/chat", answer(500, `{"error":"model requires more system memory"}`), want{nil, "memory"})
	check("less context", "/api/ps", answer(200, `{"models":[{"name":"chat:latest","context_length":256}]}`),
		want{nil, "256 tokens instead of 512"})

	f := newFake(t)
	f.Close()
	_, err := Open(t.Context(), Options{Address: f.URL, Model: "chat"})
	want{backend.ErrUnavailable, "ollama serve"}.check(t, "nobody there", err)
	_, err = Models(t.Context(), f.URL)
	want{backend.ErrUnavailable, "ollama serve"}.check(t, "nobody there to list", err)
	for _, o := range []Options{{Context: -1}, {Slots: -1}, {Stall: -1}, {Address: "ftp://x"}} {
		_, err := Open(t.Context(), o)
		want{}.check(t, fmt.Sprintf("%+v", o), err)
	}
}

// TestOpenThinking opens a model that thinks and whose schema Ollama would ignore.
func TestOpenThinking(t *testing.T) {
	f := newFake(t)
	f.on("/api/show",
		answer(200, `{"model_info":{},"capabilities":["completion","thinking"],"parser":"qwen3","system":"Be brief.",`+
			`"messages":[{"role":"user","content":"x"}],"template":"{{ .Prompt }}"}`))
	var said []string
	e, err := Open(t.Context(), Options{Address: f.URL, Model: "chat", Slots: 1,
		Log: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if i := e.Info(); i.Ops != backend.CanGenerate|backend.CanChoose || i.Context != defaultContext {
		t.Errorf("Info is %+v", i)
	}
	for _, want := range []string{"Be brief.", "1 messages", "no chat template", "ignores schemas", "control tokens"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("the user is not told of %q: %q", want, said)
		}
	}
	f.on("/api/chat", func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Think *bool }
		json.NewDecoder(r.Body).Decode(&req)
		if req.Think == nil || *req.Think {
			t.Error("the model may think")
		}
		fmt.Fprint(w, fakeReply)
	})
	if _, err := e.Generate(t.Context(), question("Hi", 1)); err != nil {
		t.Error(err)
	}
}

// TestVerify changes the server under an engine.
func TestVerify(t *testing.T) {
	f := newFake(t)
	e := f.open(t, "chat")
	check := func(what, path string, handler http.HandlerFunc, w want) {
		t.Helper()
		f.mu.Lock()
		before := f.handlers[path]
		f.mu.Unlock()
		f.on(path, handler)
		e.doubtful.Store(true)
		_, err := e.Generate(t.Context(), question("Hi", 20))
		w.check(t, what, err)
		f.on(path, before)
		e.doubtful.Store(true)
		if _, err := e.Generate(t.Context(), question("Hi", 20)); err != nil {
			t.Errorf("%s, after it was as before: %v", what, err)
		}
	}
	check("updated", "/api/version", answer(200, `{"version":"0.18.0"}`), want{nil, "now is ollama 0.18.0"})
	check("replaced", "/api/tags", answer(200, `{"models":[{"name":"chat:latest","digest":"ffff"}]}`),
		want{nil, "was replaced"})
	check("deleted", "/api/tags", answer(200, `{"models":[]}`), want{nil, "ollama pull chat"})
	check("away", "/api/tags", answer(503, `{"error":"starting"}`), want{backend.ErrUnavailable, "starting"})

	// A failure makes the engine look again before it trusts another answer.
	f.on("/api/chat", dropped(""))
	if _, err := e.Generate(t.Context(), question("Hi", 20)); !errors.Is(err, backend.ErrUnavailable) {
		t.Fatal(err)
	}
	f.on("/api/chat", answer(200, fakeReply))
	f.on("/api/version", answer(200, `{"version":"0.18.0"}`))
	_, err := e.Generate(t.Context(), question("Hi", 20))
	want{nil, "now is ollama 0.18.0"}.check(t, "updated while it was away", err)
}

// TestEnds ends calls that the server is busy with, by their context and by Close.
func TestEnds(t *testing.T) {
	f := newFake(t)
	e := f.open(t, "chat")
	var begun, freed sync.WaitGroup
	var busy atomic.Int32
	hang := func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		json.NewDecoder(r.Body).Decode(&body)
		fmt.Fprintln(w, `{"message":{"content":"a"}}`)
		w.(http.Flusher).Flush()
		busy.Add(1)
		begun.Done()
		<-r.Context().Done() // the client has gone
		freed.Done()
	}
	f.on("/api/chat", hang)
	begun.Add(1)
	freed.Add(1)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		begun.Wait()
		cancel(errors.New("the user's own cause"))
	}()
	_, err := e.Generate(ctx, question("Hi", 20))
	want{context.Canceled, ""}.check(t, "cancelled", err)
	freed.Wait()

	const calls = 5
	begun.Add(calls)
	freed.Add(calls)
	go func() {
		begun.Wait()
		e.Close()
	}()
	var done sync.WaitGroup
	for range calls {
		done.Go(func() {
			_, err := e.Generate(t.Context(), question("Hi", 20))
			want{backend.ErrClosed, ""}.check(t, "closed", err)
		})
	}
	done.Wait()
	freed.Wait()
	if busy.Load() != 1+calls {
		t.Errorf("the server saw %d calls, want %d", busy.Load(), 1+calls)
	}
	_, err = e.Generate(t.Context(), question("Hi", 20))
	want{backend.ErrClosed, ""}.check(t, "after Close", err)
}

func TestModels(t *testing.T) {
	f := newFake(t)
	list, err := Models(t.Context(), strings.TrimPrefix(f.URL, "http://"))
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if want := (Model{Name: "chat:latest", Digest: "sha256:" + fakeDigest, Size: 7, Context: fakeContext,
		Ops: backend.CanGenerate | backend.CanConstrain}); list[0] != want {
		t.Errorf("got %+v, want %+v", list[0], want)
	}
	f.on("/api/show", answer(400, `{"error":"the file is damaged"}`))
	list, err = Models(t.Context(), f.URL)
	if err != nil || len(list) != 2 || list[1].Problem != "the file is damaged" || list[1].Ops != 0 {
		t.Errorf("of damaged models: %+v, %v", list, err)
	}
}
