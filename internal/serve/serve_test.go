package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/openai/wire"
)

// letters is a vocabulary in which each byte is a token, its id 3 more. Texts begin with the token 1, and with a space;
// 2 ends them. Ids above the bytes are words.
type letters struct{}

func (letters) Tokenize(_ context.Context, text string, start, special bool) ([]int32, error) {
	tokens := []int32{}
	if start {
		tokens = append(tokens, 1)
	}
	for special && strings.HasPrefix(text, "</s>") {
		tokens, text = append(tokens, 2), text[4:]
	}
	if text != "" {
		text = " " + text
	}
	for _, b := range []byte(text) {
		tokens = append(tokens, int32(b)+3)
	}
	return tokens, nil
}

func (letters) Pieces(_ context.Context, tokens []int32) ([]backend.Piece, error) {
	pieces := make([]backend.Piece, len(tokens))
	for i, id := range tokens {
		switch {
		case id < 0 || id >= backendtest.FakeVocabulary:
			return nil, fmt.Errorf("%w: there is no token %d", backend.ErrInvalid, id)
		case id < 3:
			pieces[i] = backend.Piece{Text: []byte([]string{"<pad>", "<s>", "</s>"}[id]), Special: true}
		case id < 259:
			pieces[i].Text = []byte{byte(id - 3)}
		default:
			pieces[i].Text = fmt.Appendf(nil, " w%d", id)
		}
	}
	return pieces, nil
}

func (letters) Specials(context.Context) (begin, end, template string, err error) {
	return "<s>", "</s>", "", nil
}

// A client asks a server that has fake models.
type client struct {
	t    *testing.T
	fake *backendtest.Fake
	url  string
}

func newClient(t *testing.T, change func(*Models, *backendtest.Fake)) *client {
	fake := &backendtest.Fake{}
	models := Models{Judge: fake, Embedder: fake, Encoder: fake, Vocabulary: letters{}}
	if change != nil {
		change(&models, fake)
	}
	server := httptest.NewServer(New(models, "secret"))
	t.Cleanup(server.Close)
	return &client{t, fake, server.URL}
}

// ask sends a request and reads the answer into v, if it is not nil. It returns the status and, of an error, that.
func (c *client) ask(method, path, body string, v any) (int, *wire.Error) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		return res.StatusCode, wire.ParseError(text)
	}
	if v != nil {
		if err := json.Unmarshal(text, v); err != nil {
			c.t.Fatalf("%s: %v", text, err)
		}
	}
	return res.StatusCode, nil
}

// post asks for an answer that must come.
func (c *client) post(path, body string, v any) {
	c.t.Helper()
	if status, e := c.ask("POST", "/secret"+path, body, v); e != nil || status != http.StatusOK {
		c.t.Fatalf("%s %s: %d, %+v", path, body, status, e)
	}
}

// refused asks for what must be refused, and returns the error.
func (c *client) refused(path, body string, status int, code any) *wire.Error {
	c.t.Helper()
	got, e := c.ask("POST", "/secret"+path, body, nil)
	if got != status || e == nil || e.Code != code || e.Message == "" {
		c.t.Errorf("%s %.200s: status %d, %+v, want %d and %v", path, body, got, e, status, code)
		return &wire.Error{}
	}
	return e
}

func TestToken(t *testing.T) {
	c := newClient(t, nil)
	check := func(path, bearer string, want int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", c.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if bearer != "" {
			req.Header.Set("Authorization", bearer)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s with %q: status %d, want %d", path, bearer, res.StatusCode, want)
		}
	}
	check("/secret/v1/models", "", 200)
	check("/secret/v1/models", "Bearer ", 200) // as a client sends that has no key
	check("/v1/models", "Bearer secret", 200)
	check("/v1/models", "", 401)
	check("/v1/models", "Bearer ", 401)
	check("/v1/models", "Bearer wrong", 401)
	check("/v1/models", "secret", 401)
	check("/wrong/v1/models", "", 401)
	check("/secretx/v1/models", "", 401)
	check("/", "", 401)
	check("/secret/v1/nothing", "", 404)
	check("/secret/v1/completions", "", 404) // it is not to be got
}

func TestModels(t *testing.T) {
	var got wire.Models
	c := newClient(t, func(m *Models, f *backendtest.Fake) { m.Encoder = nil })
	if _, e := c.ask("GET", "/secret/v1/models", "", &got); e != nil || len(got.Data) != 2 || got.Data[0].ID != "fake" ||
		got.Data[0].MaxModelLen != 4096 || got.Data[0].Digest != c.fake.Info().Digest {
		t.Errorf("models are %+v, %+v", got, e)
	}
	c.refused("/v1/rerank", `{"query": "a", "documents": ["b"]}`, 404, "model_not_found")
	c.refused("/v1/chat/completions", `{"model": "gpt", "messages": [{"role": "user", "content": "a"}]}`, 404, "model_not_found")
}

func TestChat(t *testing.T) {
	c := newClient(t, nil)
	var reqs []backend.GenerateRequest
	c.fake.About.Ops = backend.CanGenerate | backend.CanConstrain | backend.CanScore | backend.CanChoose
	c.fake.Reply = func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		reqs = append(reqs, *req)
		return fmt.Sprintf("reply %d", req.Draw), nil
	}
	check := func(body string, want backend.GenerateRequest) *wire.ChatCompletion {
		t.Helper()
		var got wire.ChatCompletion
		reqs = nil
		c.post("/v1/chat/completions", body, &got)
		if len(reqs) == 0 || !reflect.DeepEqual(reqs[0], want) {
			t.Errorf("%s asks %+v, want %+v", body, reqs, want)
		}
		return &got
	}
	hi := []backend.Message{{Role: backend.User, Text: "hi"}}
	got := check(`{"model": "fake", "messages": [{"role": "user", "content": "hi", "type": "text"}], "max_tokens": 5,
		"temperature": 0, "seed": 1234, "stop": ["x"], "user": "me", "presence_penalty": 0, "tools": null, "logprobs": false}`,
		backend.GenerateRequest{Messages: hi, MaxTokens: 5, Stop: []string{"x"}})
	if len(got.Choices) != 1 || got.Choices[0].Message.Content != "reply 0" || got.Choices[0].FinishReason != "stop" ||
		got.Usage.CompletionTokens != 2 || got.Usage.PromptTokens < 1 || got.Model != "fake" ||
		got.ID != "chatcmpl-"+backend.GenerateKey(c.fake.Info(), &reqs[0]).String() {
		t.Errorf("the answer is %+v, usage %+v", got, got.Usage)
	}
	check(`{"messages": [{"role": "developer", "content": [{"type": "text", "text": "be"}]}, {"role": "user", "content": "hi"}],
		"max_completion_tokens": 1, "max_tokens": 7, "top_p": 0.5, "top_k": 3, "seed": 4, "stop": "y"}`,
		backend.GenerateRequest{Messages: append([]backend.Message{{Role: backend.System, Text: "be"}}, hi...), MaxTokens: 1,
			Stop: []string{"y"}, Sampling: backend.Sampling{Temperature: 1, TopP: 0.5, TopK: 3, Seed: 4}})
	check(`{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 9, "temperature": 0,
		"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "string"}}}}`,
		backend.GenerateRequest{Messages: hi, MaxTokens: 9, Schema: []byte(`{"type": "string"}`)})

	// Without a limit, a reply may fill the context.
	reqs = nil
	got = new(wire.ChatCompletion)
	c.post("/v1/chat/completions", `{"messages": [{"role": "user", "content": "hi"}]}`, got)
	if len(reqs) != 1 || reqs[0].MaxTokens+got.Usage.PromptTokens != c.fake.Info().Context {
		t.Errorf("without a limit it asks %+v with %d tokens of prompt", reqs, got.Usage.PromptTokens)
	}
	c.refused("/v1/chat/completions", `{"messages": [{"role": "user", "content": "`+strings.Repeat("a ", 5000)+`"}]}`, 400,
		"context_length_exceeded")
}

// TestReplies checks that several replies to a prompt are several draws.
func TestReplies(t *testing.T) {
	c := newClient(t, nil)
	texts := func(body string) (list []string) {
		t.Helper()
		var got wire.ChatCompletion
		c.post("/v1/chat/completions", `{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 8, "n": 3`+body, &got)
		for i, choice := range got.Choices {
			if choice.Index != i || choice.FinishReason != "length" {
				t.Errorf("choice %d is %+v", i, choice)
			}
			list = append(list, string(choice.Message.Content))
		}
		if len(list) != 3 || got.Usage.CompletionTokens != 24 {
			t.Fatalf("the answer is %+v, usage %+v", got, got.Usage)
		}
		return list
	}
	if drawn := texts("}"); drawn[0] == drawn[1] || drawn[1] == drawn[2] || !slices.Equal(drawn, texts("}")) {
		t.Errorf("drawn replies are %q, then %q", drawn, texts("}"))
	}
	if greedy := texts(`, "temperature": 0}`); greedy[0] != greedy[1] || greedy[1] != greedy[2] {
		t.Errorf("greedy replies are %q", greedy)
	}
}

func TestStream(t *testing.T) {
	c := newClient(t, nil)
	res, err := http.Post(c.url+"/secret/v1/chat/completions", "", strings.NewReader(`{"messages": [{"role": "user",
		"content": "hi"}], "max_tokens": 4, "n": 2, "stream": true, "stream_options": {"include_usage": true}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(err, res.Header)
	}
	events := strings.Split(string(body), "\n\n")
	if n := len(events); n != 7 || events[5] != "data: [DONE]" || events[6] != "" {
		t.Fatalf("the events are %q", events)
	}
	said, ended := map[int]string{}, 0
	for _, event := range events[:5] {
		var chunk wire.ChatChunk
		if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, choice := range chunk.Choices {
			said[choice.Index] += choice.Delta.Content
			if choice.FinishReason != nil && *choice.FinishReason == "length" {
				ended++
			}
		}
		if (chunk.Usage != nil) != (len(chunk.Choices) == 0) {
			t.Errorf("%s has choices and usage", event)
		}
	}
	if ended != 2 || len(strings.Fields(said[0])) != 4 || said[0] == said[1] {
		t.Errorf("%d replies ended, they say %v", ended, said)
	}
}

// TestRefused checks that what cannot be honoured is refused, and the field named.
func TestRefused(t *testing.T) {
	c := newClient(t, nil)
	chat := func(fields, param string) {
		t.Helper()
		body := `{"messages": [{"role": "user", "content": "a"}], "max_tokens": 2, ` + fields + `}`
		code := any("unsupported_value")
		if strings.Contains(fields, "min_p") {
			code = "unknown_parameter"
		}
		if e := c.refused("/v1/chat/completions", body, 400, code); e.Param != param {
			t.Errorf("%s: the parameter is %q", fields, e.Param)
		}
	}
	chat(`"min_p": 0.1`, "min_p")
	chat(`"frequency_penalty": 0.1`, "frequency_penalty")
	chat(`"presence_penalty": -1`, "presence_penalty")
	chat(`"logit_bias": {"5": 1}`, "logit_bias")
	chat(`"tools": [{"type": "function"}]`, "tools")
	chat(`"logprobs": true`, "logprobs")
	chat(`"top_logprobs": 2`, "logprobs")
	chat(`"n": 0`, "n")
	chat(`"n": 129`, "n")
	chat(`"top_p": 0`, "top_p")
	chat(`"max_completion_tokens": 0`, "max_tokens")
	chat(`"response_format": {"type": "json_schema"}`, "response_format")
	chat(`"response_format": {"type": "grammar"}`, "response_format")
	chat(`"stream_options": {}`, "stream_options")
	chat(`"prompt_logprobs": 5`, "prompt_logprobs")
	chat(`"add_generation_prompt": true`, "prompt_logprobs")
	chat(`"messages": [{"role": "tool", "content": "a"}]`, "messages")
	chat(`"messages": [{"role": "user", "name": "Ann", "content": "a"}]`, "messages")
	chat(`"messages": [{"role": "assistant", "tool_calls": [{}], "content": "a"}]`, "messages")
	chat(`"messages": []`, "messages")

	for _, body := range []string{``, `[]`, `{"messages": "a"}`, `{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}`,
		`{"messages": [{"role": "user", "content": "a"}], "temperature": -1, "max_tokens": 1}`,
		`{"messages": [{"role": "user", "content": "a"}], "max_tokens": 1, "response_format": {"type": "json_object"}}`} {
		c.refused("/v1/chat/completions", body, 400, nil) // the fake holds replies to no schema
	}

	complete := func(fields, param string) {
		t.Helper()
		if e := c.refused("/v1/completions", `{"prompt": "a", `+fields+`}`, 400, "unsupported_value"); e.Param != param {
			t.Errorf("%s: the parameter is %q", fields, e.Param)
		}
	}
	complete(`"suffix": "b"`, "suffix")
	complete(`"best_of": 2`, "best_of")
	complete(`"stream": true`, "stream")
	complete(`"max_tokens": 0`, "max_tokens")
	complete(`"logprobs": 1`, "logprobs") // of 16 tokens
	complete(`"logprobs": 1, "max_tokens": 2, "temperature": 0`, "logprobs")
	complete(`"logprobs": 1, "max_tokens": 1`, "temperature")
	complete(`"logprobs": 1, "max_tokens": 1, "temperature": 0, "stop": "a"`, "logprobs")
	complete(`"logprobs": 21, "max_tokens": 1, "temperature": 0`, "logprobs")
	complete(`"logprobs": -1, "max_tokens": 1, "temperature": 0`, "logprobs")
	complete(`"logprobs": 1, "max_tokens": 0, "echo": true, "n": 2`, "n")
	complete(`"prompt": []`, "prompt")
	complete(`"prompt": [[]]`, "prompt")
	complete(`"prompt": ["a", ""], "add_special_tokens": false`, "prompt")
	c.refused("/v1/completions", `{"prompt": [5000], "max_tokens": 1}`, 400, nil)
	c.refused("/v1/completions", `{"prompt": [[-1]], "max_tokens": 1}`, 400, nil)
	c.refused("/v1/completions", `{"prompt": null}`, 400, nil)

	c.refused("/v1/embeddings", `{"input": []}`, 400, "unsupported_value")
	c.refused("/v1/embeddings", `{"input": [1, 2]}`, 400, "unsupported_value")
	c.refused("/v1/embeddings", `{"input": "a", "dimensions": 5}`, 400, "unsupported_value")
	c.refused("/v1/embeddings", `{"input": "a", "encoding_format": "int8"}`, 400, "unsupported_value")
	c.refused("/v1/rerank", `{"query": "a", "documents": []}`, 400, "unsupported_value")
	c.refused("/v1/rerank", `{"query": "a", "documents": ["b"], "top_n": 0}`, 400, "unsupported_value")
	c.refused("/v1/rerank", `{"query": "a", "documents": ["b"], "rank_fields": ["b"]}`, 400, "unknown_parameter")
	c.fake.Outputs = func(backend.Pair) []float32 { return []float32{1, 2} }
	c.refused("/v1/rerank", `{"query": "a", "documents": ["b"]}`, 400, "unsupported_value") // two labels
	if c.fake.Stats().Generates > 0 {
		t.Error("something was generated for a request that is refused")
	}

	c = newClient(t, func(m *Models, _ *backendtest.Fake) { m.Vocabulary = nil })
	c.refused("/v1/completions", `{"prompt": "a"}`, 400, nil)
	c.refused("/tokenize", `{"prompt": "a"}`, 400, nil)
	if status, _ := c.ask("GET", "/secret/tokenizer_info", "", nil); status != 404 {
		t.Errorf("tokenizer_info without a vocabulary: %d", status)
	}
	if status, e := c.ask("POST", "/secret/v1/embeddings", strings.Repeat(" ", maxBody+1), nil); status != 413 || e == nil {
		t.Errorf("a body too large: %d, %v", status, e)
	}
}

func TestCompletions(t *testing.T) {
	c := newClient(t, nil)
	var got wire.Completion
	c.post("/v1/completions", `{"prompt": ["so", "é"], "max_tokens": 2, "n": 2, "echo": true}`, &got)
	if len(got.Choices) != 4 || got.Usage.PromptTokens != 4+4 || got.Usage.CompletionTokens != 8 {
		t.Fatalf("the answer is %+v, usage %+v", got, got.Usage)
	}
	for i, choice := range got.Choices {
		reply, begins := strings.CutPrefix(choice.Text, []string{"so", "é"}[i/2])
		want := &backend.GenerateRequest{Tokens: []int32{1, ' ' + 3, 's' + 3, 'o' + 3}, MaxTokens: 2, Draw: i % 2,
			Sampling: backend.Sampling{Temperature: 1}}
		if i >= 2 {
			want.Tokens = []int32{1, ' ' + 3, 0xc3 + 3, 0xa9 + 3}
		}
		g, err := c.fake.Generate(t.Context(), want)
		if err != nil || choice.Index != i || !begins || reply != g.Text || choice.LogProbs != nil {
			t.Errorf("choice %d is %+v, want %q, %v", i, choice, g.Text, err)
		}
	}
	// Sixteen tokens are the limit that OpenAI has; tokens are read as they are.
	c.post("/v1/completions", `{"prompt": [7, 2, 8], "temperature": 0}`, &got)
	if got.Usage.PromptTokens != 3 || got.Usage.CompletionTokens != 16 || got.Choices[0].FinishReason != "length" {
		t.Errorf("the answer is %+v, usage %+v", got, got.Usage)
	}
}

// TestTold checks the probabilities of given texts against those of the engine.
func TestTold(t *testing.T) {
	c := newClient(t, nil)
	tell := func(body string) *wire.Completion {
		t.Helper()
		var got wire.Completion
		c.post("/v1/completions", body, &got)
		for i, choice := range got.Choices {
			l := choice.LogProbs
			if n := len(l.Tokens); choice.Index != i || len(l.TokenLogProbs) != n || len(l.TopLogProbs) != n || len(l.TextOffset) != n {
				t.Fatalf("choice %d is %+v", i, choice)
			}
		}
		return &got
	}
	value := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	tokens := []int32{1, ' ' + 3, 'a' + 3, 0xc3 + 3, 0xa9 + 3}
	scores, err := c.fake.Score(t.Context(), &backend.ScoreRequest{Tokens: tokens, Likely: 2})
	if err != nil {
		t.Fatal(err)
	}
	got := tell(`{"model": "fake", "prompt": "aé", "max_tokens": 1, "temperature": 0, "logprobs": 2, "seed": 1234, "echo": true}`)
	choice := got.Choices[0]
	l := choice.LogProbs
	if want := []string{"<s>", "", "a", `bytes:\xc3`, `bytes:\xa9`}; !slices.Equal(l.Tokens[:5], want) {
		t.Errorf("the tokens are %q, want %q", l.Tokens, want)
	}
	if want := []int{0, 0, 0, 1, 1, 2}; !slices.Equal(l.TextOffset, want) {
		t.Errorf("the tokens begin at %v, want %v", l.TextOffset, want)
	}
	if l.TokenLogProbs[0] != nil || l.TopLogProbs[0] != nil {
		t.Error("the first token has a probability, with nothing before it")
	}
	for i := 1; i < 5; i++ {
		if value(l.TokenLogProbs[i]) != scores.LogProbs[0][i-1] {
			t.Errorf("token %d has %v, want %v", i, value(l.TokenLogProbs[i]), scores.LogProbs[0][i-1])
		}
		top := l.TopLogProbs[i]
		if own, there := top[l.Tokens[i]]; !there || own != scores.LogProbs[0][i-1] || len(top) < 2 {
			t.Errorf("token %d, %q: the likeliest are %v", i, l.Tokens[i], top)
		}
	}
	next := scores.Likely[4][0]
	if value(l.TokenLogProbs[5]) != next.LogProb || !strings.HasPrefix(choice.Text, "aé") ||
		l.TopLogProbs[5][l.Tokens[5]] != next.LogProb {
		t.Errorf("the token that follows is %q with %v in %q, want %+v", l.Tokens[5], value(l.TokenLogProbs[5]), choice.Text, next)
	}

	// The same in tokens; without a token that follows; without the prompt.
	given := tell(`{"prompt": [[1, 35, 100, 198, 172], [1, 35]], "max_tokens": 0, "logprobs": 2, "echo": true}`)
	if len(given.Choices) != 2 || len(given.Choices[1].LogProbs.Tokens) != 2 || given.Choices[0].Text != " aé" {
		t.Fatalf("in tokens it is %+v", given)
	}
	if got := given.Choices[0].LogProbs; !reflect.DeepEqual(got.TokenLogProbs, l.TokenLogProbs[:5]) {
		t.Errorf("in tokens it is %+v, in text %+v", got, l)
	}
	alone := tell(`{"prompt": "aé", "max_tokens": 1, "temperature": 0, "logprobs": 0}`).Choices[0].LogProbs
	if len(alone.Tokens) != 1 || value(alone.TokenLogProbs[0]) != next.LogProb || alone.TextOffset[0] != 2 || alone.TopLogProbs[0] != nil {
		t.Errorf("without the prompt it is %+v", alone)
	}
	if got := tell(`{"prompt": "aé", "max_tokens": 0, "logprobs": 1, "echo": true, "add_special_tokens": false}`); len(
		got.Choices[0].LogProbs.Tokens) != 4 {
		t.Errorf("without the token that begins texts it is %+v", got.Choices[0])
	}
}

// TestHarness asks as lm-evaluation-harness 0.4.9 does (local-completions, with the remote tokenizer), and reads the
// answers as it does: sums from the end of the context to the last but one, and whether each token was the likeliest.
func TestHarness(t *testing.T) {
	c := newClient(t, nil)
	var info map[string]any
	if _, e := c.ask("GET", "/secret/tokenizer_info", "", &info); e != nil || info["eos_token"] != "</s>" {
		t.Fatalf("tokenizer_info is %v, %v", info, e)
	}
	encode := func(text string) []int32 {
		t.Helper()
		var got wire.Tokenized
		body, err := json.Marshal(map[string]any{"prompt": text, "add_special_tokens": false})
		if err != nil {
			t.Fatal(err)
		}
		c.post("/tokenize", string(body), &got)
		return got.Tokens
	}
	if eos := encode("</s>"); !slices.Equal(eos, []int32{2}) {
		t.Errorf("the token that ends texts is %v", eos)
	}
	var prompts [][]int32
	var ends []int // of contexts
	for _, end := range []string{" is red", " is blue", " so"} {
		ends = append(ends, len(encode("the sky")))
		prompts = append(prompts, encode("the sky"+end))
	}
	greedy := slices.Clone(prompts[0][:ends[0]]) // a continuation of the model's own
	for range 3 {
		s, err := c.fake.Score(t.Context(), &backend.ScoreRequest{Tokens: greedy, Likely: 1})
		if err != nil {
			t.Fatal(err)
		}
		greedy = append(greedy, s.Likely[len(greedy)-1][0].ID)
	}
	prompts, ends = append(prompts, greedy), append(ends, ends[0])
	body, err := json.Marshal(map[string]any{"model": "fake", "prompt": prompts, "temperature": 0, "max_tokens": 1,
		"logprobs": 1, "seed": 1234, "echo": true})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Choices []struct {
			Index    int
			LogProbs struct {
				TokenLogProbs []*float64            `json:"token_logprobs"`
				TopLogProbs   []map[string]*float64 `json:"top_logprobs"`
			}
		}
	}
	c.post("/v1/completions", string(body), &got)
	if len(got.Choices) != len(prompts) {
		t.Fatalf("%d choices for %d prompts", len(got.Choices), len(prompts))
	}
	for i, choice := range got.Choices {
		values, tops := choice.LogProbs.TokenLogProbs, choice.LogProbs.TopLogProbs
		sum, likeliest := 0.0, true
		for k := ends[i]; k < len(values)-1; k++ {
			sum += *values[k]
			best := math.Inf(-1)
			for _, v := range tops[k] {
				best = max(best, *v)
			}
			likeliest = likeliest && *values[k] == best
		}
		want := 0.0
		s, err := c.fake.Score(t.Context(), &backend.ScoreRequest{Tokens: prompts[i]})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.LogProbs[0][ends[i]-1:] {
			want += v
		}
		if math.Abs(sum-want) > 1e-9 || likeliest != (i == len(prompts)-1) || choice.Index != i {
			t.Errorf("continuation %d has %v, likeliest %v, want %v", i, sum, likeliest, want)
		}
	}
	c.post("/v1/completions", `{"prompt": [[35, 119]], "model": "fake", "max_tokens": 256, "temperature": 0,
		"stop": ["\n\n", "</s>"], "seed": 1234}`, nil)
	c.post("/v1/chat/completions", `{"messages": [{"role": "user", "content": "hi", "type": "text"}], "model": "fake",
		"max_tokens": 256, "temperature": 0, "stop": ["</s>"], "seed": 1234}`, nil)
}

func TestTokenize(t *testing.T) {
	c := newClient(t, nil)
	var tokens wire.Tokenized
	c.post("/tokenize", `{"prompt": "a"}`, &tokens)
	if want := []int32{1, 35, 100}; !slices.Equal(tokens.Tokens, want) || tokens.Count != 3 || tokens.MaxModelLen != 4096 {
		t.Errorf("a is %+v", tokens)
	}
	check := func(tokens, want string) {
		t.Helper()
		var got wire.Detokenized
		if c.post("/detokenize", `{"tokens": `+tokens+`}`, &got); got.Prompt != want {
			t.Errorf("%s spell %q, want %q", tokens, got.Prompt, want)
		}
	}
	check(`[1, 35, 100]`, "<s>a")
	check(`[35, 100, 2]`, "a</s>")
	check(`[35, 35, 100]`, " a")
	check(`[100]`, "a")
	check(`[]`, "")
	c.refused("/detokenize", `{"tokens": [5000]}`, 400, nil)
}

func TestEmbeddings(t *testing.T) {
	c := newClient(t, nil)
	want := backendtest.Vector("a cat")
	for _, format := range []string{"", "float", "base64"} {
		var got wire.Embeddings
		c.post("/v1/embeddings", `{"input": ["a cat", "a dog"], "model": "fake", "dimensions": 256, "encoding_format": "`+format+`"}`, &got)
		if len(got.Data) != 2 || got.Data[1].Index != 1 || !slices.Equal(got.Data[0].Vector.Values, want) ||
			got.Data[0].Vector.Packed != (format == "base64") {
			t.Errorf("%q: %+v", format, got)
		}
	}
}

func TestRerank(t *testing.T) {
	c := newClient(t, nil)
	var got wire.Reranked
	c.post("/v1/rerank", `{"query": "grey cat", "documents": ["a dog", {"text": "grey cat"}, "a cat"], "top_n": 2,
		"return_documents": true}`, &got)
	if len(got.Results) != 2 || got.Results[0].Index != 1 || got.Results[1].Index != 2 ||
		got.Results[0].Document.Text != "grey cat" || math.Abs(got.Results[0].Score-1) > 1e-6 {
		t.Errorf("the answer is %+v", got)
	}
	got = wire.Reranked{}
	if c.post("/v1/rerank", `{"query": "a", "documents": ["b", "a"]}`, &got); len(got.Results) != 2 || got.Results[0].Document != nil {
		t.Errorf("the answer is %+v", got)
	}
}

// TestScoreLast asks in vLLM's form for the probabilities of a last message.
func TestScoreLast(t *testing.T) {
	c := newClient(t, nil)
	const chat = `{"messages": [{"role": "user", "content": "Is it so?"}, {"role": "assistant", "content": "yes it is"}],
		"prompt_logprobs": 0, "continue_final_message": true, "add_generation_prompt": false, "max_tokens": 1`
	var got wire.ChatCompletion
	c.post("/v1/chat/completions", chat+"}", &got)
	want, err := c.fake.Score(t.Context(), &backend.ScoreRequest{
		Messages: []backend.Message{{Role: backend.User, Text: "Is it so?"}}, Continuations: []string{"yes it is"}})
	if err != nil {
		t.Fatal(err)
	}
	if n := want.PromptTokens + len(want.LogProbs[0]); len(got.PromptLogProbs) != n || got.Usage.PromptTokens != n {
		t.Fatalf("the answer is %+v for %+v", got, want)
	}
	for i, entry := range got.PromptLogProbs {
		k := i - want.PromptTokens
		if k < 0 && entry != nil || k >= 0 && (len(entry) != 1 || entry[fmt.Sprint(k)].LogProb != want.LogProbs[0][k]) {
			t.Errorf("entry %d is %v", i, entry)
		}
	}
	c.refused("/v1/chat/completions", strings.Replace(chat, `"assistant"`, `"user"`, 1)+"}", 400, "unsupported_value")
	c.refused("/v1/chat/completions", chat+`, "stream": true}`, 400, "unsupported_value")
}

// TestLeft checks that a call ends when its client has left.
func TestLeft(t *testing.T) {
	c := newClient(t, nil)
	begun, ended := make(chan bool), make(chan error, 1)
	c.fake.Before = func(ctx context.Context, _ backendtest.Call) error {
		begun <- true
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", c.url+"/secret/v1/embeddings", strings.NewReader(`{"input": "a"}`))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-begun
		leave()
	}()
	if _, err := http.DefaultClient.Do(req); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}

// TestFaults checks which statuses faults of the engine have.
func TestFaults(t *testing.T) {
	c := newClient(t, nil)
	var fault error
	c.fake.Before = func(context.Context, backendtest.Call) error { return fault }
	check := func(err error, status int, kind string) {
		t.Helper()
		fault = err
		got, e := c.ask("POST", "/secret/v1/embeddings", `{"input": "a"}`, nil)
		if got != status || e == nil || e.Type != kind || !strings.Contains(e.Message, err.Error()) {
			t.Errorf("%v: status %d, %+v", err, got, e)
		}
	}
	check(fmt.Errorf("it is away: %w", backend.ErrUnavailable), 503, "server_error")
	check(backend.ErrClosed, 503, "server_error")
	check(errors.New("out of memory"), 500, "server_error")
	check(&backend.TooLongError{Tokens: 9, Limit: 5}, 400, "invalid_request_error")
	check(fmt.Errorf("%w: no", backend.ErrInvalid), 400, "invalid_request_error")
}

func TestListen(t *testing.T) {
	for _, bad := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "[::]:0", "127.0.0.1", "nowhere.invalid:0"} {
		if l, err := Listen(bad); err == nil {
			l.Close()
			t.Errorf("%s is listened on", bad)
		}
	}
}

// TestRun checks that a server whose context ends lets a request finish within the grace, and ends one that takes longer.
func TestRun(t *testing.T) {
	check := func(grace time.Duration, wantOK bool) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		fake := &backendtest.Fake{}
		release := make(chan bool)
		fake.Before = func(ctx context.Context, _ backendtest.Call) error {
			stop()
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		l, err := Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			ended <- Run(ctx, l, New(Models{Embedder: fake}, "secret"), grace, log.New(io.Discard, "", 0))
		}()
		if wantOK {
			context.AfterFunc(ctx, func() { close(release) })
		}
		res, err := http.Post("http://"+l.Addr().String()+"/secret/v1/embeddings", "", strings.NewReader(`{"input": "a"}`))
		if ok := err == nil && res.StatusCode == 200; ok != wantOK {
			t.Errorf("with a grace of %v: %v, %v", grace, res, err)
		}
		if err == nil {
			res.Body.Close()
		}
		if err := <-ended; err != nil {
			t.Errorf("with a grace of %v Run returned %v", grace, err)
		}
	}
	check(time.Minute, true)
	check(time.Millisecond, false)
}

// FuzzRequests checks that no request brings the server down, and that every answer is JSON.
func FuzzRequests(f *testing.F) {
	for i, seed := range []string{
		`{"messages": [{"role": "user", "content": "a"}], "max_tokens": 2}`,
		`{"prompt": [[1, 35]], "max_tokens": 1, "echo": true, "logprobs": 2, "temperature": 0}`,
		`{"input": ["a"], "encoding_format": "base64"}`, `{"query": "a", "documents": ["b"]}`, `{"prompt": "a"}`,
		`{"tokens": [1, 2]}`} {
		f.Add(i, []byte(seed))
	}
	fake := &backendtest.Fake{}
	s := New(Models{Judge: fake, Embedder: fake, Encoder: fake, Vocabulary: letters{}}, "t")
	routes := []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/rerank", "/tokenize", "/detokenize"}
	f.Fuzz(func(t *testing.T, route int, body []byte) {
		path := routes[(route%len(routes)+len(routes))%len(routes)]
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/t"+path, strings.NewReader(string(body))))
		if w.Header().Get("Content-Type") != "text/event-stream" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %q: %q", path, body, w.Body)
		}
		if w.Code >= 500 {
			t.Errorf("%s %q: status %d, %s", path, body, w.Code, w.Body)
		}
	})
}
