package queue

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-eval/assay/metrics"
)

// partVariable says that the test's program is to be a worker or a server, addressVariable which server to use.
const (
	partVariable    = "ASSAY_TEST_QUEUE_PART"
	addressVariable = "ASSAY_TEST_QUEUE_ADDRESS"
	folderVariable  = "ASSAY_TEST_QUEUE_FOLDER"
	killsVariable   = "ASSAY_TEST_KILLS" // how many workers TestKills kills, if not 6; 200 is the long form
)

// workerProcess works until there is nothing to do any more, as a process of its own.
func workerProcess() {
	ctx := context.Background()
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	b, err := Dial(ctx, Options{Address: os.Getenv(addressVariable), Say: say})
	if err == nil {
		var job *Job
		if job, err = b.Find(ctx, "", 0); err == nil {
			_, err = b.Work(ctx, testWorker(fmt.Sprint("process ", os.Getpid()), job, 3*time.Millisecond))
		}
	}
	if err != nil {
		say("worker: %v", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serverProcess is a NATS server with file storage.
func serverProcess() {
	_, port, _ := net.SplitHostPort(os.Getenv(addressVariable))
	n, err := strconv.Atoi(port)
	if err == nil {
		_, err = serve(os.Getenv(folderVariable), n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
	select {}
}

// A process can be killed at any time, and begun again.
type process struct {
	t    *testing.T
	env  []string
	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
}

func (p *process) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), p.env...)
	if testing.Verbose() {
		p.cmd.Stderr = os.Stderr
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Error(err)
		return
	}
	cmd, done := p.cmd, make(chan struct{})
	p.done = done
	go func() {
		cmd.Wait()
		close(done)
	}()
}

// ended reports whether the process is not running any more.
func (p *process) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process as SIGKILL does, and reports whether it was running.
func (p *process) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		return false
	default:
	}
	p.cmd.Process.Kill()
	<-p.done
	return true
}

// Workers and the server are killed at random, the network is cut, one message of a hundred comes twice, and the
// coordinator is stopped now and then: no row is lost, none doubled, and the result is that of one run.
func TestKills(t *testing.T) {
	kills := 6
	if text := os.Getenv(killsVariable); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	serverKills := max(kills/10, 1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broker := listener.Addr().String()
	listener.Close()
	server := &process{t: t, env: []string{partVariable + "=server", addressVariable + "=" + broker, folderVariable + "=" + t.TempDir()}}
	server.begin()
	defer func() { server.kill() }()
	line := newProxy(t, broker)

	n := 100*kills + 200
	job := testJob(n, 20)
	var workers []*process
	for range 3 {
		p := &process{t: t, env: []string{partVariable + "=worker", addressVariable + "=nats://" + line.address}}
		p.begin()
		workers = append(workers, p)
		defer func() { p.kill() }()
	}

	ctx, over := context.WithCancel(t.Context())
	var villain sync.WaitGroup
	var killed, restarted, cuts atomic.Int64
	enough := make(chan struct{})
	villain.Go(func() {
		close := sync.OnceFunc(func() { close(enough) })
		for ctx.Err() == nil {
			sleep(ctx, time.Duration(50+rand.IntN(400))*time.Millisecond)
			p := workers[rand.IntN(len(workers))]
			if killed.Load() >= int64(kills) && restarted.Load() >= int64(serverKills) {
				close()
				// It is enough; those that found no server when they began are begun again, as a supervisor does.
				for _, p := range workers {
					if p.ended() {
						p.begin()
					}
				}
				continue
			}
			if p.kill() {
				killed.Add(1)
			}
			p.begin()
			if restarted.Load() < int64(serverKills) && restarted.Load()*int64(kills) <= killed.Load()*int64(serverKills) {
				server.kill()
				restarted.Add(1)
				sleep(ctx, time.Duration(rand.IntN(300))*time.Millisecond)
				server.begin()
			}
			if rand.IntN(10) == 0 {
				line.cut(ctx, time.Duration(rand.IntN(1500))*time.Millisecond)
				cuts.Add(1)
			}
		}
	})

	samples := func(ctx context.Context) func(skip int) iter.Seq2[*metrics.Sample, error] { // the last come after the kills
		return func(skip int) iter.Seq2[*metrics.Sample, error] {
			return func(yield func(*metrics.Sample, error) bool) {
				i := skip
				for s, err := range testSamples(n)(skip) {
					if i++; i == n-job.Unit {
						select {
						case <-enough:
						case <-ctx.Done():
							yield(nil, ctx.Err())
							return
						}
					}
					if !yield(s, err) {
						return
					}
				}
			}
		}
	}
	var got book
	stops := 0
	for {
		attempt, stop := context.WithCancel(t.Context())
		if killed.Load() < int64(kills) {
			attempt, stop = context.WithTimeout(t.Context(), time.Duration(2000+rand.IntN(8000))*time.Millisecond)
		}
		b, err := Dial(attempt, Options{Address: "nats://" + line.address, Say: t.Logf})
		if err == nil {
			_, err = b.Coordinate(attempt, &Coordinator{Job: job, Samples: samples(attempt), Kept: got.rows, Write: got.write})
			b.Close()
		}
		ended := attempt.Err() != nil
		stop()
		if err == nil {
			break
		}
		if !ended {
			t.Logf("the coordinator ended with: %v", err)
			sleep(t.Context(), shortWait)
		}
		if stops++; stops > 100*kills {
			t.Fatal("the run does not end")
		}
	}
	over()
	villain.Wait()
	t.Logf("%d rows; killed %d workers, %d times the server; %d cuts; %d messages twice; %d coordinators", n, killed.Load(),
		restarted.Load(), cuts.Load(), line.doubled.Load(), stops+1)
	if got.String() != alone(t, n) {
		t.Errorf("%d rows of %d are not as one run writes them", got.rows, n)
	}
}

// A proxy stands between the server and its clients. It speaks NATS enough to send one message of a hundred twice.
type proxy struct {
	address string
	broker  string
	doubled atomic.Int64

	mu    sync.Mutex
	away  bool
	conns map[net.Conn]bool
}

func newProxy(t *testing.T, broker string) *proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: listener.Addr().String(), broker: broker, conns: map[net.Conn]bool{}}
	t.Cleanup(func() { listener.Close(); p.drop() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

// cut takes the network away for a while. Half of the time nobody is told.
func (p *proxy) cut(ctx context.Context, d time.Duration) {
	p.mu.Lock()
	p.away = true
	p.mu.Unlock()
	if rand.IntN(2) == 0 {
		p.drop()
	}
	sleep(ctx, d)
	p.drop()
	p.mu.Lock()
	p.away = false
	p.mu.Unlock()
}

func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

func (p *proxy) isAway() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.away
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	if p.isAway() {
		return
	}
	broker, err := net.Dial("tcp", p.broker)
	if err != nil {
		return
	}
	defer broker.Close()
	p.mu.Lock()
	p.conns[client], p.conns[broker] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.pass(broker, client); broker.Close() })
	both.Go(func() { p.pass(client, broker); client.Close() })
	both.Wait()
}

// pass hands on what is read, message by message. While the network is away, what is sent is lost.
func (p *proxy) pass(to io.Writer, from io.Reader) error {
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		verb, _, _ := strings.Cut(string(line), " ")
		times := 1
		switch verb {
		case "PUB", "HPUB", "MSG", "HMSG":
			words := strings.Fields(string(line))
			size, err := strconv.Atoi(words[len(words)-1])
			if err != nil {
				return errors.New("not NATS")
			}
			body := make([]byte, size+2)
			if _, err := io.ReadFull(in, body); err != nil {
				return err
			}
			line = append(line, body...)
			if rand.IntN(100) == 0 {
				times = 2
				p.doubled.Add(1)
			}
		}
		if p.isAway() {
			continue
		}
		if _, err := to.Write(bytes.Repeat(line, times)); err != nil {
			return err
		}
	}
}
