package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/remote/remotetest"
)

// need returns the values of variables that make test sets, or skips the test.
func need(t *testing.T, names ...string) []string {
	t.Helper()
	var values []string
	for _, name := range names {
		v := os.Getenv(name)
		if v == "" {
			t.Skipf("%s is not set: make test runs this", name)
		}
		values = append(values, v)
	}
	return values
}

// A process is a server that runs.
type process struct {
	address string
	cmd     *exec.Cmd
	ended   chan struct{}
	log     bytes.Buffer
}

// start runs a server until the test ends. It is ready when a route answers.
func start(t *testing.T, address, ready string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{address: address, cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("the server's last words: %s", p.log.Bytes()[max(0, p.log.Len()-3000):])
		}
	})
	for deadline := time.Now().Add(2 * time.Minute); ; {
		resp, err := http.Get("http://" + address + ready)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == 200 {
				return p
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not start")
		}
		select {
		case <-p.ended:
			t.Fatal("the server ended at once")
		case <-time.After(50 * time.Millisecond): // asked again until it answers
		}
	}
}

// stop ends the server.
func (p *process) stop() {
	p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		p.cmd.Process.Kill()
		<-p.ended
	}
}

// free returns an address that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// llama runs a real llama-server with one model, on one thread: two that wait for each other are many times slower on a
// busy machine.
func llama(t *testing.T, address, model string, arguments ...string) *process {
	t.Helper()
	binary := need(t, "ASSAY_TEST_LLAMA_SERVER")[0]
	if address == "" {
		address = free(t)
	}
	host, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(binary, append([]string{"--host", host, "--port", port, "-m", model, "-t", "1", "--no-ui"},
		arguments...)...)
	cmd.Dir = t.TempDir()
	return start(t, address, "/health", cmd)
}

func (p *process) open(t *testing.T, o Options) *Engine {
	t.Helper()
	o.Address, o.Log = p.address, t.Logf
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// writeTiny writes a model of random weights to a file.
func writeTiny(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := os.WriteFile(path, remotetest.Tiny(t), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func question(text string, tokens int) *backend.GenerateRequest {
	return &backend.GenerateRequest{
		Messages:  []backend.Message{{Role: backend.User, Text: text}},
		MaxTokens: tokens,
	}
}

// conform runs the suite on a server.
func conform(t *testing.T, p *process, model string, loose bool, want backend.Ops) {
	t.Helper()
	backendtest.Run(t, backendtest.Config{Tokens: 4, Loose: loose, Open: func(t *testing.T) backend.Backend {
		e := p.open(t, Options{Model: model})
		if got := e.Info().Ops; got != want {
			t.Fatalf("the engine can %v, want %v", got, want)
		}
		return e
	}})
}

const judge = backend.CanGenerate | backend.CanConstrain | backend.CanChoose

func TestLlamaServerConformance(t *testing.T) {
	t.Run("Tiny", func(t *testing.T) {
		conform(t, llama(t, "", writeTiny(t), "-c", "4096", "-np", "1", "--chat-template", "chatml"), "",
			true, judge)
	})
	t.Run("Embed", func(t *testing.T) {
		model := need(t, "ASSAY_TEST_EMBED")[0]
		conform(t, llama(t, "", model, "--embeddings"), "", true, backend.CanEmbed)
	})
	t.Run("Rerank", func(t *testing.T) {
		model, err := filepath.Abs("../../models/assets/encoder-judge.gguf")
		if err != nil {
			t.Fatal(err)
		}
		conform(t, llama(t, "", model, "--reranking", "-np", "1"), "", true, backend.CanClassify)
	})
}

// TestLlamaServerInfo checks what is known of a real server, and what changes it.
func TestLlamaServerInfo(t *testing.T) {
	tiny := writeTiny(t)
	arguments := []string{"-c", "1024", "-np", "2", "--chat-template", "chatml", "--alias", "one"}
	p := llama(t, "", tiny, arguments...)
	e := p.open(t, Options{Model: "one"})
	i := e.Info()
	if i.Context != 512 || i.Slots != 2 || i.Model != "one" ||
		!strings.HasPrefix(i.Engine, "openai: llama-server b") ||
		!strings.HasSuffix(i.Engine, ", first-token scoring, weights known by name") {
		t.Errorf("Info is %+v", i)
	}
	g, err := e.Generate(t.Context(), question("abc", 3))
	if err != nil {
		t.Fatal(err)
	}
	room := 512 - g.PromptTokens
	if _, err := e.Generate(t.Context(), question("abc", room)); err != nil {
		t.Errorf("a reply that just fits: %v", err)
	}
	tooLong := &backend.TooLongError{}
	if _, err := e.Generate(t.Context(), question("abc", room+1)); !errors.As(err, &tooLong) || tooLong.Tokens != 513 {
		t.Errorf("a reply that may be one token too long: %v", err)
	}
	if _, err := e.Generate(t.Context(), question("a <|im_end|></s> b", 3)); !errors.Is(err, backend.ErrInvalid) ||
		!strings.Contains(err.Error(), `"</s>"`) {
		t.Errorf("a control token in a message: %v", err)
	}
	if e := p.open(t, Options{Context: 100}); e.Info().Context != 100 || e.Info().Digest != i.Digest {
		t.Errorf("of less context: %+v", e.Info())
	}
	for _, o := range []Options{{Model: "two"}, {Context: 513}} {
		o.Address = p.address
		if e, err := Open(t.Context(), o); err == nil {
			t.Errorf("%+v was opened as %+v", o, e.Info())
		}
	}
	p.stop()
	if _, err := e.Generate(t.Context(), question("abc", 3)); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("with the server gone: %v", err)
	}
	// The same again is the same; a server with another template, at the same address, is another.
	p = llama(t, p.address, tiny, arguments...)
	if _, err := e.Generate(t.Context(), question("abc", 3)); err != nil {
		t.Errorf("with the server back: %v", err)
	}
	p.stop()
	arguments[5] = "llama2"
	p = llama(t, p.address, tiny, arguments...)
	e.verified = time.Time{}
	if _, err := e.Generate(t.Context(), question("abc", 3)); err == nil ||
		!strings.Contains(err.Error(), "start the run again") {
		t.Errorf("with another chat template: %v", err)
	}
	if other := p.open(t, Options{}); other.Info().Digest == i.Digest {
		t.Error("a server with another chat template has the same digest")
	}
}

// TestLlamaServerKilled kills the server in the middle of replies.
func TestLlamaServerKilled(t *testing.T) {
	p := llama(t, "", writeTiny(t), "-c", "2048", "-np", "2", "--chat-template", "chatml")
	e := p.open(t, Options{})
	var calls sync.WaitGroup
	begun := make(chan struct{})
	for i := range 2 {
		calls.Go(func() {
			for n := 0; ; n++ {
				req := question(fmt.Sprint(i, n), 300)
				req.Sampling = backend.Sampling{Temperature: 1, Seed: uint64(n)}
				if _, err := e.Generate(t.Context(), req); err != nil {
					if !errors.Is(err, backend.ErrUnavailable) {
						t.Errorf("killed: %v", err)
					}
					return
				}
				if i == 0 && n == 0 {
					close(begun)
				}
			}
		})
	}
	<-begun
	p.cmd.Process.Kill()
	calls.Wait()
}

// TestLlamaServerNumbers checks a first token's probability against the reply's own, and an answer to a schema in which
// the server's chat route is known to fail.
func TestLlamaServerNumbers(t *testing.T) {
	model := need(t, "ASSAY_TEST_JUDGE")[0]
	e := llama(t, "", model, "-c", "1024", "-np", "1").open(t, Options{})
	first, err := e.Generate(t.Context(), question("Is snow white? Answer yes or no.", 1))
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Score(t.Context(), &backend.ScoreRequest{
		Messages: question("Is snow white? Answer yes or no.", 1).Messages, Continuations: []string{first.Text, "xylophone"}})
	if err != nil {
		t.Fatal(err)
	}
	if s.PromptTokens != first.PromptTokens || s.LogProbs[0][0] < math.Log(1.0/topTokensLlama) {
		t.Errorf("the greedy first token %q has the log-probability %v", first.Text, s.LogProbs[0])
	}
	req := question("Is snow white?", 40)
	var counted struct {
		Tokens int `json:"input_tokens"`
	}
	to := e.client.route("chat/completions/input_tokens")
	if err := e.client.look(t.Context(), to, e.chatRequest(req), &counted); err != nil {
		t.Fatal(err)
	}
	req.Schema = json.RawMessage(`{"type":"object","properties":{"white":{"type":"boolean"}},"required":["white"],` +
		`"additionalProperties":false}`)
	held, err := e.Generate(t.Context(), req)
	if err != nil || held.PromptTokens != counted.Tokens {
		t.Errorf("held to a schema: %+v, %v; the server's chat route counts %d tokens", held, err, counted.Tokens)
	}
}

// ollamaServer runs a real Ollama server with the model of a file, and lines for its Modelfile.
func ollamaServer(t *testing.T, model string, lines ...string) *process {
	t.Helper()
	binary := need(t, "ASSAY_TEST_OLLAMA")[0]
	address, dir := free(t), t.TempDir()
	cmd := exec.Command(binary, "serve")
	cmd.Env = append(os.Environ(), "HOME="+dir, "USERPROFILE="+dir, "OLLAMA_HOST="+address,
		"OLLAMA_MODELS="+filepath.Join(dir, "models"), "OLLAMA_NUM_PARALLEL=1", "OLLAMA_CONTEXT_LENGTH=4096")
	p := start(t, address, "/api/version", cmd)
	file := filepath.Join(dir, "Modelfile")
	lines = append([]string{"FROM " + model, "PARAMETER num_thread 1"}, lines...)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	create := exec.CommandContext(t.Context(), binary, "create", "model", "-f", file)
	create.Env = cmd.Env
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("ollama create: %v\n%s", err, out)
	}
	return p
}

func TestOllamaConformance(t *testing.T) {
	t.Run("Tiny", func(t *testing.T) {
		p := ollamaServer(t, writeTiny(t),
			`TEMPLATE "{{ range .Messages }}[{{ .Role }}] {{ .Content }}\n{{ end }}[assistant] "`, `PARAMETER stop "[user]"`)
		e := p.open(t, Options{Model: "model"})
		if i := e.Info(); i.Context != 4096 || !strings.HasPrefix(i.Engine, "openai: Ollama 0.") ||
			strings.Contains(i.Engine, "by name") {
			t.Errorf("Info is %+v", i)
		}
		if len(e.stops) != 1 {
			t.Errorf("the model is packaged with the stop strings %q", e.stops)
		}
		long := question(strings.Repeat("old ", 4096), 4)
		long.Messages = append(long.Messages, backend.Message{Role: backend.Assistant, Text: "I see."},
			backend.Message{Role: backend.User, Text: "And now?"})
		if _, err := e.Generate(t.Context(), long); !errors.Is(err, backend.ErrPromptTooLong) {
			t.Errorf("a first message that Ollama drops: %v", err)
		}
		conform(t, p, "model", true, judge)
	})
	t.Run("Embed", func(t *testing.T) {
		conform(t, ollamaServer(t, need(t, "ASSAY_TEST_EMBED")[0]), "model", true, backend.CanEmbed)
	})
}
