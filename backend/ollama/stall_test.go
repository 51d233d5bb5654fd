package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/remote/remotetest"
)

// pipes is a network in memory, for a test whose clock is not the world's.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 11434} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lost takes a request, sends some of an answer and then nothing more, until the client has gone.
func lost(some string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if some != "" {
			fmt.Fprint(w, some)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
}

// slowly sends an answer line by line, with a pause before each.
func slowly(pause time.Duration, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for line := range strings.Lines(body) {
			time.Sleep(pause)
			fmt.Fprint(w, line)
			w.(http.Flusher).Flush()
		}
	}
}

// A stall is a fake server that answers the requests to one path by a script, and an engine that asks it.
type stall struct {
	*fake
	e        *Engine
	asked    atomic.Int32 // how many requests of the script were asked for
	unloads  atomic.Int32 // how many times the model was to be unloaded
	began    time.Time    // when the script was set
	released atomic.Int64 // when the model is no longer loaded, in nanoseconds of Unix time
}

// stalling runs a test with a clock of its own.
func stalling(t *testing.T, name, model string, test func(t *testing.T, s *stall)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
			s := &stall{fake: newFakeOn(t, l)}
			s.on("/api/generate", func(w http.ResponseWriter, r *http.Request) {
				var req struct {
					Model     string
					Prompt    string
					KeepAlive json.RawMessage `json:"keep_alive"`
				}
				json.NewDecoder(r.Body).Decode(&req)
				if req.Model != model+":latest" || req.Prompt != "" || string(req.KeepAlive) != `"0s"` {
					t.Errorf("asked to unload the model by %+v", req)
				}
				s.unloads.Add(1)
				fmt.Fprint(w, `{"done":true,"done_reason":"unload"}`)
			})
			s.on("/api/ps", func(w http.ResponseWriter, r *http.Request) {
				if s.asked.Load() > 0 && time.Now().UnixNano() >= s.released.Load() {
					fmt.Fprint(w, `{"models":[]}`)
					return
				}
				fmt.Fprintf(w, `{"models":[{"name":"other:latest"},{"name":"%s:latest"}]}`, model)
			})
			server := mustConnect(t, s.URL)
			server.transport.DialContext = l.dial
			s.e = newEngine(server, Options{Log: t.Logf})
			t.Cleanup(func() { s.e.Close() })
			if err := s.e.open(t.Context(), Options{Model: model, Slots: 2}); err != nil {
				t.Fatal(err)
			}
			test(t, s)
		})
	})
}

// script sets what a path answers, request by request; the last handler answers the rest.
func (s *stall) script(path string, handlers ...http.HandlerFunc) {
	s.asked.Store(0)
	s.unloads.Store(0)
	s.began = time.Now()
	s.on(path, func(w http.ResponseWriter, r *http.Request) {
		handlers[min(int(s.asked.Add(1)), len(handlers))-1](w, r)
	})
}

// release has others use the model for so long from now.
func (s *stall) release(after time.Duration) { s.released.Store(time.Now().Add(after).UnixNano()) }

// came checks what came of a script, and when.
func (s *stall) came(t *testing.T, asked, unloads int32, after time.Duration) {
	t.Helper()
	if a, u, took := s.asked.Load(), s.unloads.Load(), time.Since(s.began); a != asked || u != unloads || took != after {
		t.Errorf("%d requests, %d times unloaded, in %v; want %d, %d, %v", a, u, took, asked, unloads, after)
	}
}

// hello checks that a reply is the fake server's, whole and once.
func hello(t *testing.T, g *backend.Generation, err error) {
	t.Helper()
	if err != nil || g.Text != "Hello." || g.OutputTokens != 3 {
		t.Errorf("got %+v, %v", g, err)
	}
}

// TestStalls has a server lose requests, as Ollama does.
func TestStalls(t *testing.T) {
	good := answer(200, fakeReply)
	part := fakeReply[:strings.Index(fakeReply, "\n")+1]
	const limit = defaultStall + 2*2*stallByte // for "Hi", with two slots
	stalling(t, "Once", "chat", func(t *testing.T, s *stall) {
		for _, some := range []string{"", part} {
			s.script("/api/chat", lost(some), good)
			g, err := s.e.Generate(t.Context(), question("Hi", 20))
			hello(t, g, err)
			s.came(t, 2, 1, limit)
		}
	})
	stalling(t, "Always", "chat", func(t *testing.T, s *stall) {
		s.script("/api/chat", lost(""))
		_, err := s.e.Generate(t.Context(), question("Hi", 20))
		want{backend.ErrUnavailable, "restart it"}.check(t, "lost twice", err)
		s.came(t, 2, 1, 2*limit)

		s.script("/api/chat", good)
		g, err := s.e.Generate(t.Context(), question("Hi", 20))
		hello(t, g, err)
	})
	stalling(t, "Slow", "chat", func(t *testing.T, s *stall) {
		s.script("/api/chat", slowly(limit-time.Second, fakeReply))
		g, err := s.e.Generate(t.Context(), question("Hi", 20))
		hello(t, g, err)
		s.came(t, 1, 0, 3*(limit-time.Second))
	})
	stalling(t, "Queued", "chat", func(t *testing.T, s *stall) { // one waits until the other one's long reply is done
		free := make(chan struct{})
		s.script("/api/chat", func(w http.ResponseWriter, r *http.Request) {
			slowly(limit-time.Second, fakeReply)(w, r)
			close(free)
		}, func(w http.ResponseWriter, r *http.Request) {
			<-free
			good(w, r)
		})
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() {
				g, err := s.e.Generate(t.Context(), question("Hi", 20))
				hello(t, g, err)
			})
		}
		calls.Wait()
		s.came(t, 2, 0, 3*(limit-time.Second))
	})
	stalling(t, "LongPrompt", "chat", func(t *testing.T, s *stall) {
		const slow = defaultStall + 1000*2*stallByte
		s.script("/api/chat", slowly(slow-time.Second, fakeReply))
		g, err := s.e.Generate(t.Context(), question(strings.Repeat("x", 1000), 20))
		hello(t, g, err)
		s.came(t, 1, 0, 3*(slow-time.Second))
	})
	// Other requests keep the model loaded, for a while or for ever.
	stalling(t, "Shared", "chat", func(t *testing.T, s *stall) {
		s.release(limit + 2*unloadEvery)
		s.script("/api/chat", lost(""), good)
		g, err := s.e.Generate(t.Context(), question("Hi", 20))
		hello(t, g, err)
		s.came(t, 2, 3, limit+2*unloadEvery)

		s.release(time.Hour)
		s.script("/api/chat", lost(""), good)
		g, err = s.e.Generate(t.Context(), question("Hi", 20))
		hello(t, g, err)
		if a, took := s.asked.Load(), time.Since(s.began); a != 2 || took != 2*limit {
			t.Errorf("%d requests in %v", a, took)
		}
	})
	stalling(t, "Cancelled", "chat", func(t *testing.T, s *stall) {
		s.release(time.Hour)
		for _, after := range []time.Duration{time.Millisecond, limit + unloadEvery/2} { // while it waits, and unloads
			s.script("/api/chat", lost(""))
			ctx, cancel := context.WithTimeout(t.Context(), after)
			_, err := s.e.Generate(ctx, question("Hi", 20))
			cancel()
			want{context.DeadlineExceeded, ""}.check(t, "cancelled", err)
			if took := time.Since(s.began); took != after {
				t.Errorf("a call that was cancelled after %v took %v", after, took)
			}
		}
	})
	stalling(t, "Refused", "chat", func(t *testing.T, s *stall) {
		s.script("/api/chat", lost(""), answer(400, `{"error":"the input length exceeds the context length"}`))
		_, err := s.e.Generate(t.Context(), question("Hi", 20))
		want{backend.ErrPromptTooLong, "512"}.check(t, "lost, then refused", err)
		s.came(t, 2, 1, limit)
	})
	stalling(t, "Score", "chat", func(t *testing.T, s *stall) {
		s.script("/api/chat", lost(""), answer(200, `{"message":{"content":"yes"},"logprobs":[{"token":"yes",`+
			`"logprob":-0.1,"top_logprobs":[{"token":"yes","logprob":-0.1},{"token":"no","logprob":-3}]}]}
{"message":{"content":""},"done":true,"done_reason":"length","prompt_eval_count":12,"eval_count":1}
`))
		r, err := s.e.Score(t.Context(), &backend.ScoreRequest{
			Messages: question("Hi", 1).Messages, Continuations: []string{"yes", "no"}})
		if err != nil || len(r.LogProbs) != 2 {
			t.Errorf("got %+v, %v", r, err)
		}
		s.came(t, 2, 1, limit)
	})
	stalling(t, "Embed", "embed", func(t *testing.T, s *stall) {
		s.script("/api/embed", lost(""), answer(200, `{"embeddings":[[3,4]]}`))
		v, err := backend.Embed(t.Context(), s.e, []string{"Hi"})
		if err != nil || len(v) != 1 || v[0][0] != 0.6 {
			t.Errorf("got %v, %v", v, err)
		}
		s.came(t, 2, 1, limit)
		s.script("/api/embed", lost(`{"embeddings":`))
		_, err = backend.Embed(t.Context(), s.e, []string{"Hi"})
		want{backend.ErrUnavailable, "restart it"}.check(t, "lost twice", err)
		s.came(t, 2, 1, 2*limit)
	})
	stalling(t, "Load", "chat", func(t *testing.T, s *stall) {
		s.script("/api/chat", lost(""))
		err := s.e.load(t.Context())
		want{backend.ErrUnavailable, "loading model chat:latest"}.check(t, "lost", err)
		s.came(t, 1, 0, loadStalls*defaultStall)
	})
}

// TestServerLoses leaves a real server in the middle of replies until it answers no more, and checks that an
// engine makes it answer. A server that cannot be brought to that has nothing to mend.
func TestServerLoses(t *testing.T) {
	h := newHome(t)
	for _, slots := range []int{1, 2} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			p := h.start(t, "", slots)
			p.create(t, "tiny", bytes.NewReader(remotetest.Tiny(t)), tinyTemplate)
			const limit = 10 * time.Second
			e := p.open(t, Options{Model: "tiny", Slots: slots, Stall: limit})
			long := question("Tell a very long story.", 400)
			for left := 1; left <= 6000; left++ {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(2+left%5)*time.Millisecond)
				e.Generate(ctx, long)
				cancel()
				if left%20 != 0 {
					continue
				}
				start := time.Now()
				var calls sync.WaitGroup
				for range slots {
					calls.Go(func() {
						if _, err := e.Generate(t.Context(), question("abc", 4)); err != nil {
							t.Error(err)
						}
					})
				}
				calls.Wait()
				if took := time.Since(start); took > limit || t.Failed() {
					t.Logf("left %d times, the server answered no more; that was mended after %v", left, took)
					return
				}
			}
			t.Skip("this server answers all requests, however often it is left in the middle of a reply")
		})
	}
}
