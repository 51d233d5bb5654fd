package pool

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/remote"
	"github.com/assay-eval/assay/backend/sched"
)

// A machine is a scripted server: it works on so many calls at once, each for so long, and can be away.
type machine struct {
	backendtest.Fake
	name string
	each time.Duration
	busy chan struct{}
	away atomic.Pointer[error] // nil: it is there

	mu   sync.Mutex
	seen map[string]bool // the last lines of the prompts that it was asked
	lost map[string]bool // those that it was away for
}

func newMachine(name string, slots int, each time.Duration) *machine {
	m := &machine{name: name, each: each, busy: make(chan struct{}, slots), seen: map[string]bool{}, lost: map[string]bool{}}
	m.About.Slots = slots
	m.Before = func(ctx context.Context, call backendtest.Call) error {
		m.busy <- struct{}{}
		defer func() { <-m.busy }()
		text := ""
		if call.Generate != nil {
			text = call.Generate.Messages[0].Text
		}
		if err := m.gone(); err != nil {
			m.mu.Lock()
			m.lost[text] = true
			m.mu.Unlock()
			return err
		}
		select {
		case <-time.After(m.each):
		case <-ctx.Done():
			return ctx.Err()
		}
		m.mu.Lock()
		m.seen[text] = true
		m.mu.Unlock()
		return m.gone()
	}
	return m
}

func (m *machine) gone() error {
	if err := m.away.Load(); err != nil {
		return *err
	}
	return nil
}

func (m *machine) leave(err error) { m.away.Store(&err) }
func (m *machine) comeBack()       { m.away.Store(nil) }

func (m *machine) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.seen)
}

func (m *machine) server() Server {
	return Server{Name: m.name, Engine: &m.Fake, Probe: func(context.Context) error { return m.gone() }}
}

func newPool(t testing.TB, log func(string, ...any), machines ...*machine) *Pool {
	t.Helper()
	var servers []Server
	for _, m := range machines {
		servers = append(servers, m.server())
	}
	p, err := New(servers, log)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// calls asks so many questions as a run does, through a scheduler, and returns how long it took.
func calls(t testing.TB, p *Pool, n int) time.Duration {
	t.Helper()
	s := sched.New(p, sched.Options{Ahead: len(p.servers)})
	began := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { ask(t, s, fmt.Sprint("question ", i)) })
	}
	all.Wait()
	return time.Since(began)
}

// ask asks one question, to which every machine must answer the same.
func ask(t testing.TB, b backend.Backend, text string) {
	req := &backend.GenerateRequest{Messages: []backend.Message{{Role: backend.User, Text: text}}, MaxTokens: 8}
	g, err := b.Generate(t.Context(), req)
	if err != nil {
		t.Errorf("%.40s: %v", text, err)
		return
	}
	if want, _ := (&backendtest.Fake{}).Generate(t.Context(), req); !reflect.DeepEqual(g, want) {
		t.Errorf("%.40s: %+v, want %+v", text, g, want)
	}
}

func TestConformance(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			backendtest.Run(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
				var servers []Server
				for i := range n {
					f := &backendtest.Fake{PerToken: 200 * time.Microsecond}
					servers = append(servers, Server{fmt.Sprint("server ", i), f, func(context.Context) error { return nil }})
				}
				p, err := New(servers, nil)
				if err != nil {
					t.Fatal(err)
				}
				return p
			}})
		})
	}
}

// Servers that are not alike are refused, by the names of two and what differs; what they have together is their slots.
func TestAlike(t *testing.T) {
	check := func(want string, change func(*backend.Info)) {
		t.Helper()
		a, b, c := newMachine("a", 2, 0), newMachine("b", 3, 0), newMachine("c", 4, 0)
		c.About = c.Info()
		change(&c.About)
		p, err := New([]Server{a.server(), b.server(), c.server()}, nil)
		if want == "" {
			if err != nil || p.Info().Slots != 9 {
				t.Errorf("%+v, %v", p, err)
			}
			return
		}
		if err == nil || err.Error() != want+"; one run takes servers that are alike" {
			t.Errorf("%v, want %s", err, want)
		}
	}
	zeros := "sha256:" + strings.Repeat("0", 64)
	check("", func(*backend.Info) {})
	check("a and c have another digest of fake: "+zeros+" and sha256:1", func(i *backend.Info) { i.Digest = "sha256:1" })
	check("a and c have another engine of fake: fake 1 and fake 2", func(i *backend.Info) { i.Engine = "fake 2" })
	check("a and c have another context size of fake: 4096 and 2048", func(i *backend.Info) { i.Context = 2048 })
	check("a and c have another head of fake:  and yes no", func(i *backend.Info) { i.Labels = []string{"yes", "no"} })
	for _, n := range []int{0, Most + 1} {
		if _, err := New(make([]Server, n), nil); err == nil {
			t.Errorf("a pool of %d", n)
		}
	}
	if _, err := New([]Server{newMachine("a", 1, 0).server(), newMachine("a", 1, 0).server()}, nil); err == nil {
		t.Error("two servers of one name")
	}
}

// Two servers take half as long as one, and a slow one beside a fast one gets what it can do. The clock is synctest's.
func TestCapacity(t *testing.T) {
	check := func(n int, want time.Duration, machines func() []*machine, share ...int) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			list := machines()
			p := newPool(t, nil, list...)
			defer p.Close()
			if took := calls(t, p, n); took > want {
				t.Errorf("%d servers took %v, want %v at most", len(list), took, want)
			}
			for i, low := range share {
				if got := list[i].asked(); got < low {
					t.Errorf("%s answered %d of %d, want %d at least", list[i].name, got, n, low)
				}
			}
		})
	}
	check(800, 200*time.Second, func() []*machine { return []*machine{newMachine("a", 4, time.Second)} })
	check(800, 101*time.Second, func() []*machine {
		return []*machine{newMachine("a", 4, time.Second), newMachine("b", 4, time.Second)}
	}, 390, 390)
	check(800, 102*time.Second, func() []*machine { // as fast, by fewer slots
		return []*machine{newMachine("a", 2, time.Second), newMachine("b", 6, time.Second)}
	}, 190, 590)
	check(800, 190*time.Second, func() []*machine { // 4 and 0.4 a second: 182 s
		return []*machine{newMachine("slow", 4, 10*time.Second), newMachine("fast", 4, time.Second)}
	}, 60, 700)
}

// Calls of one prompt's beginning go to the server that has read it, as long as that has a slot free.
func TestPrefixesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newMachine("a", 8, time.Second), newMachine("b", 8, time.Second)
		p := newPool(t, nil, a, b)
		defer p.Close()
		common := strings.Repeat("what is asked of all rows ", 40)
		for round := range 4 {
			var all sync.WaitGroup
			for row := range 6 {
				all.Go(func() {
					time.Sleep(time.Duration((row+round)%6) * time.Millisecond) // another order each time
					ask(t, p, common+strings.Repeat(fmt.Sprint("row ", row, " "), 200)+fmt.Sprint("question ", round))
				})
			}
			all.Wait()
		}
		for row := range 6 {
			at := map[string]int{}
			for _, m := range []*machine{a, b} {
				for text := range m.seen {
					if strings.Contains(text, fmt.Sprint("row ", row, " ")) {
						at[m.name]++
					}
				}
			}
			if len(at) != 1 {
				t.Errorf("row %d was read by two servers: %v", row, at)
			}
		}
		// A burst that one server cannot take goes to both.
		p.mu.Lock()
		p.read.forget(3)
		p.mu.Unlock()
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() { ask(t, p, common+"burst "+fmt.Sprint(i)) })
		}
		all.Wait()
		for _, m := range []*machine{a, b} {
			if n := m.Stats().MaxInFlight; n != 8 {
				t.Errorf("%s worked on %d calls at once, want 8", m.name, n)
			}
		}
	})
}

// A server that goes away in the middle costs no call, gets none while it is away, and is taken back.
func TestServerLeavesAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newMachine("a", 4, time.Second), newMachine("b", 4, time.Second)
		var log []string
		p := newPool(t, func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }, a, b)
		defer p.Close()
		away := fmt.Errorf("%w: connection refused", backend.ErrUnavailable)
		time.AfterFunc(10500*time.Millisecond, func() { a.leave(away) })
		time.AfterFunc(60*time.Second, a.comeBack)
		calls(t, p, 800)
		if n := len(a.lost); n > 8 {
			t.Errorf("a was asked %d times while it was away", n)
		}
		if len(a.seen) < 100 || len(b.seen) < 400 {
			t.Errorf("a answered %d, b %d", len(a.seen), len(b.seen))
		}
		want := []string{"a is left out, 1 of 2 servers go on: model unavailable: connection refused", "a is there again"}
		if !reflect.DeepEqual(log, want) {
			t.Errorf("%q, want %q", log, want)
		}
	})
}

// A server that comes back with another model is not asked again; when none is left, callers see why.
func TestServerReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newMachine("a", 4, time.Second), newMachine("b", 4, time.Second)
		var log []string
		p := newPool(t, func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }, a, b)
		defer p.Close()
		a.leave(fmt.Errorf("%w: connection refused", backend.ErrUnavailable))
		ask(t, p, "one")
		ask(t, p, "two")
		a.leave(fmt.Errorf("another model: %w", remote.ErrReplaced))
		time.Sleep(time.Minute)
		a.comeBack()
		time.Sleep(time.Hour)
		ask(t, p, "three")
		if len(a.seen) != 0 || len(b.seen) != 3 {
			t.Errorf("a answered %d, b %d", len(a.seen), len(b.seen))
		}
		if last := log[len(log)-1]; last != "a is not asked again: another model: start the run again" {
			t.Errorf("%q", log)
		}
		// The other too: one that answers with another model fails no call of its own kind, but all of them.
		b.leave(fmt.Errorf("another version: %w", remote.ErrReplaced))
		req := &backend.GenerateRequest{Messages: []backend.Message{{Role: backend.User, Text: "four"}}, MaxTokens: 8}
		for range 2 {
			_, err := p.Generate(t.Context(), req)
			if !errors.Is(err, remote.ErrReplaced) || errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "b: another version") {
				t.Errorf("all are replaced: %v", err)
			}
		}
	})
}

// While all are away, callers are told so, with each server's reason, and the pool goes on when one is back.
func TestAllAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newMachine("a", 4, time.Second), newMachine("b", 4, time.Second)
		p := newPool(t, nil, a, b)
		defer p.Close()
		a.leave(fmt.Errorf("%w: no route", backend.ErrUnavailable))
		b.leave(fmt.Errorf("%w: refused", backend.ErrUnavailable))
		req := &backend.EncodeRequest{Output: backend.Embedding, Inputs: backend.Texts("a text")}
		_, err := p.Encode(t.Context(), req)
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "a: model unavailable: no route") ||
			!strings.Contains(err.Error(), "b: model unavailable: refused") {
			t.Errorf("all are away: %v", err)
		}
		b.comeBack()
		time.Sleep(time.Minute)
		if _, err := p.Encode(t.Context(), req); err != nil {
			t.Errorf("b is back: %v", err)
		}
		// What is the request's own fault keeps no server out.
		if _, err := p.Encode(t.Context(), &backend.EncodeRequest{Output: "nothing"}); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := p.Encode(ctx, req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		ask(t, p, "still there")
	})
}

// BenchmarkServers measures calls a second through one server and through two, of four slots each, whose latency is
// scripted. scripts/bench/servers.sh compares them.
func BenchmarkServers(b *testing.B) {
	for n := 1; n <= 2; n++ {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var machines []*machine
			for i := range n {
				machines = append(machines, newMachine(fmt.Sprint(i), 4, 20*time.Millisecond))
			}
			p := newPool(b, nil, machines...)
			defer p.Close()
			calls(b, p, b.N)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}
