package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/internal/shard"
	"github.com/assay-eval/assay/metrics"
	"github.com/nats-io/nats-server/v2/server"
)

// What TestScale measures: scripts/cluster.sh sets these and prints what it logs.
const (
	scaleVariable = "ASSAY_TEST_SCALE"      // "workers", "overhead", "traffic" or "memory"
	rowsVariable  = "ASSAY_TEST_SCALE_ROWS" // of each run
	waitVariable  = "ASSAY_TEST_SCALE_WAIT" // how long the Fake engine takes for a row
)

// TestScale measures, with workers that are processes and the Fake engine. Its figures are lines of Markdown behind "| ".
func TestScale(t *testing.T) {
	what := os.Getenv(scaleVariable)
	if what == "" {
		t.Skip("set " + scaleVariable + ", as scripts/cluster.sh does")
	}
	rows := must1(strconv.Atoi(os.Getenv(rowsVariable)))
	switch what {
	case "workers":
		scaleWorkers(t, rows)
	case "overhead":
		scaleOverhead(t, rows)
	case "traffic":
		scaleTraffic(t, rows)
	case "memory":
		scaleMemory(t, rows)
	default:
		t.Fatalf("%s=%s", scaleVariable, what)
	}
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fakeMetrics ask the Fake engine once for each row, if it is to take time: what it computes itself is not measured.
func fakeMetrics() []metrics.Metric {
	asks := os.Getenv(waitVariable) != ""
	return []metrics.Metric{{Name: "test/asked", Max: 1, Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (
		metrics.Score, error) {
		if !asks {
			return metrics.Score{Value: 1}, nil
		}
		_, err := m.Role(backend.Judge).Encode(ctx, &backend.EncodeRequest{Output: backend.Embedding,
			Inputs: []backend.Pair{{Text: s.ID}}})
		return metrics.Score{Value: 1}, err
	}}}
}

func fakeModels() metrics.Models {
	wait, _ := time.ParseDuration(os.Getenv(waitVariable))
	return metrics.Models{Roles: metrics.Roles{backend.Judge: &backendtest.Fake{PerToken: wait,
		About: backend.Info{Slots: 4}}}}
}

func fakeJob(rows, unit int) *Job {
	m := runstest.Manifest("test/asked")
	m.Config.Dataset.Rows = rows
	return &Job{Tool: "assay test", Config: m.Config, Unit: unit, Lease: 30 * time.Second, Began: runs.Now()}
}

// fakeSamples are of the size that a row of question, answer and three passages has.
func fakeSamples(n int, size int) func(int) iter.Seq2[*metrics.Sample, error] {
	words := strings.Fields("the ferry to the island leaves at nine and comes back when the light on the pier is green")
	return func(skip int) iter.Seq2[*metrics.Sample, error] {
		return func(yield func(*metrics.Sample, error) bool) {
			for i := skip; i < n; i++ {
				var text strings.Builder
				for j, x := 0, uint32(i)*2654435761+1; text.Len() < size; j++ {
					x = x*1664525 + 1013904223
					fmt.Fprintf(&text, "%s%d ", words[x>>16%uint32(len(words))], x>>28)
				}
				if !yield(&metrics.Sample{ID: strconv.Itoa(i), Question: text.String()}, nil) {
					return
				}
			}
		}
	}
}

// fakeProcess is a worker with the Fake engine.
func fakeProcess() {
	ctx := context.Background()
	b, err := Dial(ctx, Options{Address: os.Getenv(addressVariable), Say: func(string, ...any) {}})
	if err == nil {
		var job *Job
		if job, err = b.Find(ctx, "", 0); err == nil {
			_, err = b.Work(ctx, fakeWorker(fmt.Sprint(os.Getpid()), job))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func fakeWorker(name string, job *Job) *Worker {
	models := fakeModels()
	return &Worker{Name: name, Job: job, Calls: func() runs.Calls { return runs.Calls{} },
		Score: func(ctx context.Context, rows iter.Seq2[shard.Row, error], ready func(), emit func(shard.Block) error) error {
			return shard.Score(ctx, rows, fakeMetrics(), models, metrics.Options{Ready: func(metrics.Result) { ready() }}, emit)
		}}
}

// A cluster is a server and workers, each a process.
type cluster struct {
	t       *testing.T
	address string
	server  *process
}

func newCluster(t *testing.T) *cluster {
	listener := must1(net.Listen("tcp", "127.0.0.1:0"))
	address := listener.Addr().String()
	listener.Close()
	c := &cluster{t: t, address: address, server: &process{t: t, env: []string{partVariable + "=server",
		addressVariable + "=" + address, folderVariable + "=" + t.TempDir()}}}
	c.server.begin()
	t.Cleanup(func() { c.server.kill() })
	return c
}

// run has workers score the rows and returns how long that took, from the moment when all of them take part. Each is told
// the number of rows that are written, now and then.
func (c *cluster) run(workers int, job *Job, samples func(int) iter.Seq2[*metrics.Sample, error], each func(rows int)) time.Duration {
	c.t.Helper()
	var b *Broker
	for err := errors.New(""); err != nil; sleep(c.t.Context(), shortWait) {
		b, err = Dial(c.t.Context(), Options{Address: "nats://" + c.address, Say: func(string, ...any) {}})
	}
	defer b.Close()
	var work sync.WaitGroup
	for range workers {
		p := &process{t: c.t, env: []string{partVariable + "=fake", addressVariable + "=nats://" + c.address}}
		p.begin()
		defer p.kill()
		work.Go(func() { <-p.done })
	}
	sleep(c.t.Context(), 2*time.Second) // until they wait for a job
	began, n := time.Now(), 0
	if _, err := b.Coordinate(c.t.Context(), &Coordinator{Job: job, Samples: samples, Write: func([]byte) error {
		if n++; n%10_000 == 0 && each != nil {
			each(n)
		}
		return nil
	}}); err != nil {
		c.t.Fatal(err)
	}
	took := time.Since(began)
	if n != job.Config.Dataset.Rows {
		c.t.Errorf("%d rows of %d", n, job.Config.Dataset.Rows)
	}
	work.Wait()
	return took
}

func scaleWorkers(t *testing.T, rows int) {
	c := newCluster(t)
	fmt.Println("| workers | rows a second | times one worker |\n|---|---|---|")
	one := 0.0
	for _, n := range []int{1, 2, 4, 8} {
		took := c.run(n, fakeJob(rows, 25), fakeSamples(rows, 4000), nil)
		rate := float64(rows) / took.Seconds()
		if n == 1 {
			one = rate
		}
		fmt.Printf("| %d | %.0f | %.2f |\n", n, rate, rate/one)
	}
}

func scaleOverhead(t *testing.T, rows int) {
	c := newCluster(t)
	through := c.run(1, fakeJob(rows, 1000), fakeSamples(rows, 4000), nil)
	began, number := time.Now(), 0
	source := func(yield func(shard.Row, error) bool) {
		for s := range fakeSamples(rows, 4000)(0) {
			if number++; !yield(shard.Row{Number: number, Sample: s}, nil) {
				return
			}
		}
	}
	if err := shard.Score(t.Context(), source, fakeMetrics(), fakeModels(), metrics.Options{},
		func(shard.Block) error { return nil }); err != nil {
		t.Fatal(err)
	}
	direct := time.Since(began)
	fmt.Println("| | microseconds a row |\n|---|---|")
	fmt.Printf("| in one process | %.1f |\n| through the queue, one worker | %.1f |\n| overhead | %.1f |\n",
		float64(direct.Microseconds())/float64(rows), float64(through.Microseconds())/float64(rows),
		float64((through-direct).Microseconds())/float64(rows))
}

func scaleTraffic(t *testing.T, rows int) {
	s, address := start(t)
	varz := func() *server.Varz { return must1(s.Varz(nil)) }
	before := varz()
	job := fakeJob(rows, 1000)
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		b := must1(Dial(context.Background(), Options{Address: address, Say: t.Logf}))
		defer b.Close()
		found := must1(b.Find(context.Background(), job.ID(), 0))
		must1(b.Work(context.Background(), fakeWorker("worker", found)))
	})
	if _, err := dial(t, address).Coordinate(t.Context(), &Coordinator{Job: job, Samples: fakeSamples(rows, 4000),
		Write: func([]byte) error { return nil }}); err != nil {
		t.Fatal(err)
	}
	after, units := varz(), float64(rows)/float64(job.Unit)
	fmt.Println("| | to the server | from it |\n|---|---|---|")
	fmt.Printf("| messages a unit | %.0f | %.0f |\n", float64(after.InMsgs-before.InMsgs)/units, float64(after.OutMsgs-before.OutMsgs)/units)
	fmt.Printf("| bytes a row | %.0f | %.0f |\n", float64(after.InBytes-before.InBytes)/float64(rows),
		float64(after.OutBytes-before.OutBytes)/float64(rows))
}

func scaleMemory(t *testing.T, rows int) {
	c := newCluster(t)
	fmt.Println("| rows | server's memory, MB | its files, MB |\n|---|---|---|")
	every := max(rows/10, 10_000) / 10_000 * 10_000
	c.run(2, fakeJob(rows, 1000), fakeSamples(rows, 40), func(n int) {
		if n%every == 0 {
			fmt.Printf("| %d | %d | %d |\n", n, resident(c.server.cmd.Process.Pid)>>20, folderSize(c.server.env)>>20)
		}
	})
}

// resident is the memory of a process in bytes, as Linux tells it; 0 elsewhere.
func resident(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			var kb int64
			fmt.Sscan(value, &kb)
			return kb << 10
		}
	}
	return 0
}

// folderSize is what the server's files take.
func folderSize(env []string) (sum int64) {
	for _, v := range env {
		if dir, ok := strings.CutPrefix(v, folderVariable+"="); ok {
			entries := os.DirFS(dir)
			sum = sizeOf(entries)
		}
	}
	return sum
}

func sizeOf(files fs.FS) (sum int64) {
	fs.WalkDir(files, ".", func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			if info, err := d.Info(); err == nil && !d.IsDir() {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
