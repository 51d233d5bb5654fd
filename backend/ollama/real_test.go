package ollama

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ollama/ollama/api"
	psutil "github.com/shirou/gopsutil/v4/process"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/pool"
	"github.com/assay-eval/assay/backend/remote/remotetest"
)

// A home is what the servers of one test share: the models.
type home struct {
	binary, dir string
}

// newHome skips the test unless there is a server to run.
func newHome(t *testing.T) *home {
	binary := os.Getenv("ASSAY_TEST_OLLAMA")
	if binary == "" {
		t.Skip("ASSAY_TEST_OLLAMA does not name an Ollama server: scripts/ollama.sh builds one")
	}
	return &home{binary, t.TempDir()}
}

// A process is a server that runs.
type process struct {
	address string
	cmd     *exec.Cmd
	ended   chan struct{}
	log     string
}

// start runs a server that serves so many requests at once, until the test ends.
func (h *home) start(t *testing.T, address string, parallel int) *process {
	t.Helper()
	if address == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address = l.Addr().String()
		l.Close()
	}
	p := &process{address: address, ended: make(chan struct{}), log: filepath.Join(t.TempDir(), "log")}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(h.binary, "serve")
	p.cmd.Env = append(os.Environ(), "HOME="+h.dir, "USERPROFILE="+h.dir, "OLLAMA_HOST="+address,
		"OLLAMA_MODELS="+filepath.Join(h.dir, "models"), fmt.Sprintf("OLLAMA_NUM_PARALLEL=%d", parallel))
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.stop(os.Interrupt)
		if t.Failed() {
			t.Logf("the server's last words: %s", p.tail(3000))
		}
	})
	s := mustConnect(t, address)
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err := s.version(t.Context()); err == nil {
			return p
		} else if time.Now().After(deadline) {
			t.Fatalf("the server does not start: %v\n%s", err, p.tail(3000))
		}
		select {
		case <-p.ended:
			t.Fatalf("the server ended at once:\n%s", p.tail(3000))
		case <-time.After(50 * time.Millisecond): // asked again until it answers
		}
	}
}

// runners returns the processes in which the server runs models. They outlive a server that is killed.
func (p *process) runners() []*psutil.Process {
	server, err := psutil.NewProcess(int32(p.cmd.Process.Pid))
	if err != nil {
		return nil // it has ended
	}
	children, _ := server.Children() // an error means none
	return children
}

// stop signals the server and waits for its end.
func (p *process) stop(signal os.Signal) {
	for _, r := range p.runners() {
		defer r.Kill()
	}
	p.cmd.Process.Signal(signal)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		p.cmd.Process.Kill()
		<-p.ended
	}
}

// tail returns the end of the server's log.
func (p *process) tail(n int) string {
	log, _ := os.ReadFile(p.log)
	return string(log[max(0, len(log)-n):])
}

func mustConnect(t *testing.T, address string) *server {
	t.Helper()
	s, err := connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.transport.CloseIdleConnections)
	return s
}

// create makes a model of a GGUF file. Without a template Ollama looks for the file's own. One thread
// computes it: two that wait for each other are many times slower on a busy machine.
func (p *process) create(t *testing.T, name string, gguf io.ReadSeeker, template string) {
	t.Helper()
	hash := sha256.New()
	if _, err := io.Copy(hash, gguf); err != nil {
		t.Fatal(err)
	}
	if _, err := gguf.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("sha256:%x", hash.Sum(nil))
	c := mustConnect(t, p.address).exchange().client()
	if err := c.CreateBlob(t.Context(), digest, gguf); err != nil {
		t.Fatal(err)
	}
	req := &api.CreateRequest{Model: name, Files: map[string]string{name + ".gguf": digest}, Template: template,
		Parameters: map[string]any{"num_thread": 1}}
	if err := c.Create(t.Context(), req, func(api.ProgressResponse) error { return nil }); err != nil {
		t.Fatalf("creating %s: %v", name, err)
	}
}

const tinyTemplate = "{{ range .Messages }}[{{ .Role }}] {{ .Content }}\n{{ end }}[assistant] "

// createFile is create for the file that an environment variable names; it skips the test if none does.
func (p *process) createFile(t *testing.T, name, variable string) {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skipf("%s does not name a model file", variable)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p.create(t, name, f, "")
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

func question(text string, tokens int) *backend.GenerateRequest {
	return &backend.GenerateRequest{
		Messages:  []backend.Message{{Role: backend.User, Text: text}},
		MaxTokens: tokens,
	}
}

func TestServerConformance(t *testing.T) {
	h := newHome(t)
	check := func(name string, parallel int, loose bool, make func(*testing.T, *process)) {
		t.Run(name, func(t *testing.T) {
			p := h.start(t, "", parallel)
			make(t, p)
			backendtest.Run(t, backendtest.Config{
				Open: func(t *testing.T) backend.Backend {
					return p.open(t, Options{Model: "model", Slots: parallel, Stall: time.Minute})
				},
				Tokens: 4,
				Loose:  loose,
			})
		})
	}
	tiny := func(t *testing.T, p *process) {
		p.create(t, "model", bytes.NewReader(remotetest.Tiny(t)), tinyTemplate)
	}
	check("Tiny", 1, false, tiny)
	// What a server computes beside a prompt, or has computed before it, moves the last bits of its
	// probabilities. The tiny model has room for that, if nothing runs beside.
	check("TinyParallel", 4, true, tiny)
	check("Judge", 1, true, func(t *testing.T, p *process) { p.createFile(t, "model", "ASSAY_TEST_JUDGE") })
	check("Embed", 1, true, func(t *testing.T, p *process) { p.createFile(t, "model", "ASSAY_TEST_EMBED") })
}

// TestServerPool has two servers answer as one, one of which is killed in the middle, and comes back.
func TestServerPool(t *testing.T) {
	h := newHome(t)
	a := h.start(t, "", 1)
	a.create(t, "model", bytes.NewReader(remotetest.Tiny(t)), tinyTemplate)
	b := h.start(t, "", 1)
	open := func(t *testing.T, log func(string, ...any)) backend.Backend {
		var servers []pool.Server
		for name, p := range map[string]*process{"a": a, "b": b} {
			e := p.open(t, Options{Model: "model", Slots: 1, Stall: time.Minute})
			servers = append(servers, pool.Server{Name: name, Engine: e, Probe: e.Probe})
		}
		p, err := pool.New(servers, log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	backendtest.Run(t, backendtest.Config{Tokens: 4, Loose: true,
		Open: func(t *testing.T) backend.Backend { return open(t, t.Logf) }})

	back := make(chan struct{}, 10)
	p := open(t, func(format string, args ...any) {
		t.Logf(format, args...)
		if strings.Contains(format, "there again") {
			back <- struct{}{}
		}
	})
	want, err := p.Generate(t.Context(), question("abc", 8))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(n int) {
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				if g, err := p.Generate(t.Context(), question("abc", 8)); err != nil || g.PromptTokens != want.PromptTokens {
					t.Errorf("%+v, %v; before %+v", g, err, *want)
				}
			})
		}
		all.Wait()
	}
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		a.stop(os.Kill)
	}()
	for ended := false; !ended; {
		ask(4)
		select {
		case <-killed:
			ended = true
		default:
		}
	}
	ask(4)
	a = h.start(t, a.address, 1)
	<-back
	ask(8)
}

// TestServerParallel checks that the requests served at once are counted right. On a busy machine they may not all
// run at the same moment, so that too few are counted: then they are counted again.
func TestServerParallel(t *testing.T) {
	h := newHome(t)
	for _, want := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			p := h.start(t, "", want)
			p.create(t, "tiny", bytes.NewReader(remotetest.Tiny(t)), tinyTemplate)
			start := time.Now()
			e := p.open(t, Options{Model: "tiny", Context: 1024})
			t.Logf("opened in %v", time.Since(start))
			for again := 0; again < 4 && e.served < want; again++ {
				t.Logf("%d were counted instead of %d", e.served, want)
				var err error
				if e.served, err = e.measure(t.Context()); err != nil {
					t.Fatal(err)
				}
				e.info.Slots = e.served
			}
			got, hint := e.Parallel()
			if got != want || e.Info().Slots != want {
				t.Errorf("a server of %d at once was measured at %d, %d slots", want, got, e.Info().Slots)
			}
			if strings.Contains(hint, "OLLAMA_NUM_PARALLEL") != (want <= 2) {
				t.Errorf("hint for %d at once: %q", want, hint)
			}
		})
	}
}

// TestServerContext goes to the edges of the context, where Ollama left alone would cut or shift.
func TestServerContext(t *testing.T) {
	h := newHome(t)
	p := h.start(t, "", 1)
	p.create(t, "tiny", bytes.NewReader(remotetest.Tiny(t)), tinyTemplate)
	const context = 256
	e := p.open(t, Options{Model: "tiny:latest", Context: context, Slots: 1})
	if i := e.Info(); i.Context != context || i.Model != "tiny:latest" ||
		i.Ops != backend.CanGenerate|backend.CanConstrain|backend.CanChoose {
		t.Errorf("Info is %+v", i)
	}
	g, err := e.Generate(t.Context(), question("abc", 1))
	if err != nil {
		t.Fatal(err)
	}
	room := context - g.PromptTokens
	if g, err := e.Generate(t.Context(), question("abc", room)); err != nil ||
		g.Stop == backend.StopLength && g.OutputTokens > room {
		t.Errorf("a reply that just fits: %+v, %v", g, err)
	}
	tooLong := &backend.TooLongError{}
	if _, err := e.Generate(t.Context(), question("abc", room+1)); !errors.As(err, &tooLong) ||
		tooLong.Tokens != context+1 {
		t.Errorf("a reply that may be one token too long: %v", err)
	}
	// Ollama takes a prompt as long as the context, although nothing can come after it.
	for n := room - 1; n <= room+1; n++ {
		_, err := e.Generate(t.Context(), question("abc"+strings.Repeat("d", n), 1))
		if fits := n < room; fits != (err == nil) || !fits && !errors.Is(err, backend.ErrPromptTooLong) {
			t.Errorf("a prompt that leaves room for %d tokens: %v", room-n, err)
		}
	}
	if _, err := Open(t.Context(), Options{Address: p.address, Model: "tiny", Context: 8193}); err == nil {
		t.Error("a context larger than the model's was accepted")
	}
}

// TestServerRepeats has the model say one thing for ever: Ollama breaks that off without a word.
func TestServerRepeats(t *testing.T) {
	h := newHome(t)
	p := h.start(t, "", 1)
	p.create(t, "tiny", bytes.NewReader(remotetest.Tiny(t)), tinyTemplate)
	e := p.open(t, Options{Model: "tiny", Slots: 1})
	req := question("abc", 200)
	req.Schema = json.RawMessage(`{"type":"string","pattern":"^a{150}$"}`)
	g, err := e.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if g.Stop != backend.StopLength || g.OutputTokens < repeats || g.OutputTokens > 100 ||
		!strings.HasPrefix(g.Text, `"aaaaaaaaaa`) {
		t.Errorf("a reply that repeats itself: %+v", *g)
	}
}

// TestServerKilled kills what runs the model, and then the server, in the middle of replies, and starts it
// again.
func TestServerKilled(t *testing.T) {
	h := newHome(t)
	p := h.start(t, "", 2)
	p.create(t, "tiny", bytes.NewReader(remotetest.Tiny(t)), tinyTemplate)
	e := p.open(t, Options{Model: "tiny", Slots: 2})
	want, err := e.Generate(t.Context(), question("abc", 8))
	if err != nil {
		t.Fatal(err)
	}
	checkSame := func(when string) {
		t.Helper()
		if g, err := e.Generate(t.Context(), question("abc", 8)); err != nil || g.PromptTokens != want.PromptTokens {
			t.Errorf("%s: %+v, %v; before %+v", when, g, err, *want)
		}
	}
	// interrupt keeps the server busy, does harm, and waits for a call that it hurt.
	interrupt := func(what string, harm func()) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var calls sync.WaitGroup
		begun := make(chan struct{})
		for i := range 4 {
			calls.Go(func() {
				for n := 0; ; n++ {
					req := question(fmt.Sprint(i, n), 300)
					req.Sampling = backend.Sampling{Temperature: 1, Seed: uint64(n)}
					if _, err := e.Generate(ctx, req); err != nil {
						if !errors.Is(err, context.Canceled) { // another call was hurt, and that is enough
							t.Logf("%s: %v", what, err)
							checkUnavailable(t, what, err)
						}
						cancel()
						return
					}
					if i == 0 && n == 0 {
						close(begun)
					}
				}
			})
		}
		select {
		case <-begun:
			harm()
		case <-ctx.Done():
			t.Errorf("%s: the calls ended too early", what)
		}
		calls.Wait()
	}

	// The server loads the model again by itself.
	runners := p.runners()
	if len(runners) != 1 {
		t.Fatalf("the server has %d runners", len(runners))
	}
	interrupt("the runner is killed", func() { runners[0].Kill() })
	checkSame("after the runner was killed")

	interrupt("the server is killed", func() { p.stop(os.Kill) })
	_, err = e.Generate(t.Context(), question("abc", 8))
	checkUnavailable(t, "the server is away", err)
	_, err = Open(t.Context(), Options{Address: p.address, Model: "tiny"})
	checkUnavailable(t, "Open while the server is away", err)
	h.start(t, p.address, 2)
	checkSame("after the server came back")
}

func checkUnavailable(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("%s: %v", what, err)
	}
}

// TestServerReplaced gives the model's name to another one while an engine uses it.
func TestServerReplaced(t *testing.T) {
	h := newHome(t)
	p := h.start(t, "", 1)
	gguf := remotetest.Tiny(t)
	p.create(t, "tiny", bytes.NewReader(gguf), tinyTemplate)
	e := p.open(t, Options{Model: "tiny", Slots: 1})
	p.create(t, "tiny", bytes.NewReader(gguf), tinyTemplate+" ")
	e.doubtful.Store(true) // as if the last look had been long ago
	_, err := e.Generate(t.Context(), question("abc", 8))
	if err == nil || !strings.Contains(err.Error(), "was replaced") || errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("the model was replaced: %v", err)
	}
	if err := mustConnect(t, p.address).exchange().client().Delete(t.Context(), &api.DeleteRequest{
		Model: "tiny",
	}); err != nil {
		t.Fatal(err)
	}
	e.doubtful.Store(true)
	_, err = e.Generate(t.Context(), question("abc", 8))
	if err == nil || !strings.Contains(err.Error(), "ollama pull tiny") {
		t.Errorf("the model was deleted: %v", err)
	}
}

// TestServerFreed checks that a call that is given up frees the server at once: one that serves a single
// request at a time answers the next one long before the first would have ended. Once in many times
// Ollama 0.17.4 answers nothing at all any more after that, which is not ours to mend: then a fresh server is tried.
func TestServerFreed(t *testing.T) {
	h := newHome(t)
	for attempt := 1; ; attempt++ {
		p := h.start(t, "", 1)
		p.create(t, "tiny", bytes.NewReader(remotetest.Tiny(t)), tinyTemplate)
		e := p.open(t, Options{Model: "tiny", Slots: 1})
		err := testFreed(t, e)
		if err == nil {
			return
		}
		if attempt == 3 {
			t.Fatal(err)
		}
		t.Log(err)
	}
}

// testFreed returns an error if the server hangs.
func testFreed(t *testing.T, e *Engine) error {
	long := question("abc", 2000)
	long.Sampling = backend.Sampling{Temperature: 2}
	var start time.Time
	var whole time.Duration
	for whole < 300*time.Millisecond { // some replies end soon
		if long.Sampling.Seed++; long.Sampling.Seed > 100 {
			t.Fatalf("no reply of a hundred takes long, the last one %v", whole)
		}
		start = time.Now()
		if _, err := e.Generate(t.Context(), long); err != nil {
			t.Fatal(err)
		}
		whole = time.Since(start)
	}

	ctx, cancel := context.WithTimeout(t.Context(), whole/10)
	defer cancel()
	start = time.Now()
	if _, err := e.Generate(ctx, long); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("given up after %v of %v: %v", whole/10, whole, err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 10*whole+10*time.Second)
	defer cancel()
	_, err := e.Generate(ctx, question("abc", 2))
	took := time.Since(start)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("after a call given up, the server answers nothing for %v", took)
	}
	if err != nil {
		t.Fatal(err)
	}
	if took > whole/2 {
		t.Errorf("a call given up after %v of %v kept the server busy: the next one was done after %v",
			whole/10, whole, took)
	}
	return nil
}

func TestServerModels(t *testing.T) {
	h := newHome(t)
	p := h.start(t, "", 1)
	if list, err := Models(t.Context(), p.address); err != nil || list == nil || len(list) != 0 {
		t.Errorf("an empty server has %v, %v", list, err)
	}
	_, err := Open(t.Context(), Options{Address: p.address, Model: "tiny"})
	if err == nil || !strings.Contains(err.Error(), `run "ollama pull tiny"`) {
		t.Errorf("no model at all: %v", err)
	}
	p.create(t, "tiny", bytes.NewReader(remotetest.Tiny(t)), tinyTemplate)
	list, err := Models(t.Context(), p.address)
	if err != nil || len(list) != 1 {
		t.Fatalf("a server with one model has %v, %v", list, err)
	}
	m := list[0]
	if m.Name != "tiny:latest" || !digestForm.MatchString(m.Digest) || m.Size < 1e5 || m.Context != 8192 ||
		m.Ops != backend.CanGenerate|backend.CanConstrain || m.Quantization != "F32" && m.Quantization == "" {
		t.Errorf("the model is %+v", m)
	}
	_, err = Open(t.Context(), Options{Address: p.address, Model: "mini:7b"})
	if err == nil || !strings.Contains(err.Error(), `run "ollama pull mini:7b", or use one of tiny:latest`) {
		t.Errorf("another model: %v", err)
	}
}
