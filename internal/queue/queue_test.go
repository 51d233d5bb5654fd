package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/remote"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/internal/shard"
	"github.com/assay-eval/assay/metrics"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestMain(m *testing.M) {
	switch os.Getenv(partVariable) {
	case "worker":
		workerProcess()
	case "fake":
		fakeProcess()
	case "server":
		serverProcess()
	default:
		os.Exit(m.Run())
	}
}

// serve starts a NATS server with file storage in a folder; port -1 is any.
func serve(dir string, port int, change ...func(*server.Options)) (*server.Server, error) {
	o := &server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true}
	for _, c := range change {
		c(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		return nil, errors.New("the server does not start")
	}
	return s, nil
}

// start serves for as long as the test runs, and returns the address.
func start(t *testing.T, change ...func(*server.Options)) (*server.Server, string) {
	t.Helper()
	s, err := serve(t.TempDir(), -1, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s, s.ClientURL()
}

func dial(t *testing.T, address string) *Broker {
	t.Helper()
	b, err := Dial(t.Context(), Options{Address: address, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// testJob is a run of so many rows.
func testJob(rows, unit int) *Job {
	m := runstest.Manifest("length/words", "test/other")
	m.Config.Dataset.Rows = rows
	return &Job{Tool: "assay test", Config: m.Config, Unit: unit, Lease: 2 * time.Second, Began: runs.Now()}
}

func testSamples(n int) func(skip int) iter.Seq2[*metrics.Sample, error] {
	return func(skip int) iter.Seq2[*metrics.Sample, error] {
		return func(yield func(*metrics.Sample, error) bool) {
			for i := skip; i < n; i++ {
				s := &metrics.Sample{ID: fmt.Sprintf("row <%d>", i), Question: strings.Repeat("why ", i%7),
					Contexts: []string{fmt.Sprint("text ", i)}}
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// testMetrics score by a hash of the sample, after a delay; the second fails for some.
func testMetrics(delay time.Duration) []metrics.Metric {
	score := func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		if err := sleep(ctx, delay); err != nil {
			return metrics.Score{}, err
		}
		sum := sha256.Sum256([]byte(s.ID + s.Question + s.Contexts[0]))
		return metrics.Score{Value: float64(sum[0]) / 255, Because: []metrics.Finding{{Kind: "note", Text: s.Contexts[0]}}}, nil
	}
	fails := func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		if s.Question == "" {
			return metrics.Score{}, metrics.ErrBadReply
		}
		return score(ctx, m, s)
	}
	return []metrics.Metric{{Name: "length/words", Max: 1, Score: score}, {Name: "test/other", Max: 1, Score: fails}}
}

// testWorker scores with testMetrics.
func testWorker(name string, job *Job, delay time.Duration) *Worker {
	var calls atomic.Int64
	return &Worker{Name: name, Job: job,
		Score: func(ctx context.Context, rows iter.Seq2[shard.Row, error], ready func(), emit func(shard.Block) error) error {
			o := metrics.Options{Ready: func(metrics.Result) { calls.Add(1); ready() }}
			return shard.Score(ctx, rows, testMetrics(delay), metrics.Models{}, o, emit)
		},
		Calls: func() runs.Calls { return runs.Calls{Computed: calls.Load()} },
	}
}

// alone is what one run writes.
func alone(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	rows := func(yield func(shard.Row, error) bool) {
		for s, err := range testSamples(n)(0) {
			if !yield(shard.Row{Number: 1, Sample: s}, err) {
				return
			}
		}
	}
	err := shard.Score(t.Context(), rows, testMetrics(0), metrics.Models{}, metrics.Options{}, func(block shard.Block) error {
		b.Write(block.Lines)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A book takes what a coordinator writes.
type book struct {
	bytes.Buffer
	rows int
}

func (b *book) write(lines []byte) error {
	b.rows++
	b.Write(lines)
	return nil
}

// hire has workers work until the job is done.
func hire(t *testing.T, address string, job *Job, n int, delay time.Duration) {
	t.Helper()
	hireWith(t, Options{Address: address, Say: t.Logf}, job, n, delay)
}

func hireWith(t *testing.T, o Options, job *Job, n int, delay time.Duration) {
	t.Helper()
	var work sync.WaitGroup
	t.Cleanup(work.Wait)
	for i := range n {
		work.Go(func() {
			b, err := Dial(context.Background(), o)
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Close()
			found, err := b.Find(context.Background(), job.ID(), 0)
			if err == nil {
				_, err = b.Work(context.Background(), testWorker(fmt.Sprint("worker ", i), found, delay))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestManyWorkers(t *testing.T) {
	_, address := start(t)
	const n = 137
	job := testJob(n, 10)
	hire(t, address, job, 3, time.Millisecond)
	var got book
	ready := 0
	b := dial(t, address)
	calls, err := b.Coordinate(t.Context(), &Coordinator{Job: job, Samples: testSamples(n), Write: got.write,
		Ready: func(more int) { ready += more }})
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != alone(t, n) {
		t.Errorf("%d rows are not as one run writes them", got.rows)
	}
	if ready != 2*n {
		t.Errorf("%d results were said to be there", ready)
	}
	if calls.Computed < 2*n {
		t.Errorf("%d calls", calls.Computed)
	}
	if job, err := b.look(t.Context(), job.ID()); err != nil || job != nil {
		t.Errorf("the job is left: %v, %v", job, err)
	}
	for name := range b.js.StreamNames(t.Context()).Name() {
		if name != "KV_"+jobBucket {
			t.Errorf("%s is left on the server", name)
		}
	}
}

// A coordinator that was stopped goes on, wherever it was: in the middle of a unit, too.
func TestCoordinatorGoesOn(t *testing.T) {
	_, address := start(t)
	const n = 100
	hire(t, address, testJob(n, 10), 2, time.Millisecond)
	var got book
	stopped := errors.New("stopped")
	for attempt := 0; ; attempt++ {
		limit := got.rows + 17
		_, err := dial(t, address).Coordinate(t.Context(), &Coordinator{Job: testJob(n, 10+attempt), Kept: got.rows,
			Samples: testSamples(n), Write: func(lines []byte) error {
				if got.rows == limit {
					return stopped
				}
				return got.write(lines)
			}})
		if err == nil {
			break
		}
		if !errors.Is(err, stopped) {
			t.Fatal(err)
		}
	}
	if got.String() != alone(t, n) {
		t.Errorf("%d rows are not as one run writes them", got.rows)
	}
}

// What is damaged or lost on the server is made again.
func TestLostAndDamaged(t *testing.T) {
	_, address := start(t)
	const n = 80
	b := dial(t, address)
	job := testJob(n, 10)
	ctx, stop := context.WithCancel(t.Context())
	c := func(got *book) *Coordinator { return &Coordinator{Job: job, Samples: testSamples(n), Write: got.write} }
	begun := make(chan error)
	go func() {
		_, err := b.Coordinate(ctx, c(&book{}))
		begun <- err
	}()
	for there := false; !there; {
		var err error
		if there, err = b.has(t.Context(), job.rows(), 8); err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-begun; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	rows := func(first, last int) []byte { // as a worker stores results, of other rows
		var text []byte
		for i := first; i <= last; i++ {
			text = fmt.Appendf(text, `{"row":%d,"sample":"x","metric":"length/words","error":"none"}`+"\n", i)
			text = fmt.Appendf(text, `{"row":%d,"sample":"x","metric":"test/other","error":"none"}`+"\n", i)
		}
		return text
	}
	other, err := packRows(nil)
	if err != nil {
		t.Fatal(err)
	}
	short, err := pack(func(w io.Writer) error { _, err := w.Write(rows(11, 19)); return err })
	if err != nil {
		t.Fatal(err)
	}
	shifted, err := pack(func(w io.Writer) error { _, err := w.Write(rows(22, 31)); return err })
	if err != nil {
		t.Fatal(err)
	}
	stream, err := b.js.Stream(t.Context(), job.stream())
	if err != nil {
		t.Fatal(err)
	}
	twice := func(bucket string, unit int) error { // a part of what is stored of a unit comes twice
		store, err := b.store(t.Context(), bucket)
		if err != nil {
			return err
		}
		info, err := store.GetInfo(t.Context(), fmt.Sprint(unit))
		if err != nil {
			return err
		}
		data, err := store.GetBytes(t.Context(), fmt.Sprint(unit))
		if err != nil {
			return err
		}
		_, err = b.js.Publish(t.Context(), "$O."+bucket+".C."+info.NUID, data)
		return err
	}
	for _, err := range []error{
		b.put(t.Context(), job.results(), 1, object{data: []byte("no zstd")}),
		b.put(t.Context(), job.results(), 2, object{data: short}),
		b.put(t.Context(), job.results(), 3, object{data: shifted}),
		b.put(t.Context(), job.rows(), 4, object{data: other[:3]}),
		b.remove(t.Context(), job.rows(), 5),
		stream.Purge(t.Context(), jetstream.WithPurgeSubject(job.unitSubject(6))),
		b.put(t.Context(), job.results(), 7, object{data: short}),
		twice(job.results(), 7),
		stream.Purge(t.Context(), jetstream.WithPurgeSubject(job.unitSubject(7))), // as a worker leaves it that stored them
		twice(job.rows(), 8),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	hire(t, address, job, 2, 0)
	var got book
	if _, err := b.Coordinate(t.Context(), c(&got)); err != nil {
		t.Fatal(err)
	}
	if got.String() != alone(t, n) {
		t.Errorf("%d rows are not as one run writes them:\n%s", got.rows, got.String())
	}
}

// A unit that the server holds back, and no worker speaks of, is given to workers that wait.
func TestHeldBack(t *testing.T) {
	_, address := start(t)
	job := testJob(20, 10)
	job.Lease = time.Second
	b := dial(t, address)
	go func() {
		var cons jetstream.Consumer
		err := b.try(t.Context(), "finding the queue", func(ctx context.Context) (err error) {
			if cons, err = b.js.Consumer(ctx, job.stream(), consumer); err != nil {
				err = errors.New("not yet")
			}
			return err
		})
		var msg jetstream.Msg
		if err == nil {
			msg, err = cons.Next()
		}
		if err != nil {
			t.Error(err)
			return
		}
		hire(t, address, job, 1, 0)
		for sleep(t.Context(), job.Lease/4) == nil {
			msg.InProgress()
		}
	}()
	var got book
	if _, err := dial(t, address).Coordinate(t.Context(), &Coordinator{Job: job, Samples: testSamples(20),
		Write: got.write}); err != nil {
		t.Fatal(err)
	}
	if got.String() != alone(t, 20) {
		t.Errorf("%d rows are not as one run writes them", got.rows)
	}
}

// A worker ends when its job is removed while it scores.
func TestRemoved(t *testing.T) {
	_, address := start(t)
	job := testJob(20, 10)
	b := dial(t, address)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := b.Coordinate(ctx, &Coordinator{Job: job, Samples: testSamples(20), Write: new(book).write})
		ended <- err
	}()
	other := dial(t, address)
	found, err := other.Find(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	w := testWorker("worker", found, 0)
	score := w.Score
	w.Score = func(ctx context.Context, rows iter.Seq2[shard.Row, error], ready func(), emit func(shard.Block) error) error {
		stop()
		<-ended
		if err := other.Discard(ctx, job); err != nil {
			return err
		}
		ended <- nil
		return score(ctx, rows, ready, emit)
	}
	if units, err := other.Work(t.Context(), w); units != 0 || err != nil {
		t.Errorf("the worker ended after %d units with %v", units, err)
	}
}

// A failing worker gives its unit back at once.
func TestFailingWorker(t *testing.T) {
	_, address := start(t)
	job := testJob(20, 10)
	job.Lease = time.Hour
	b := dial(t, address)
	failed := make(chan error, 1)
	go func() {
		found, err := b.Find(t.Context(), "", 0)
		if err == nil {
			w := testWorker("failing", found, 0)
			w.Score = func(context.Context, iter.Seq2[shard.Row, error], func(), func(shard.Block) error) error {
				return backend.ErrUnavailable
			}
			_, err = b.Work(t.Context(), w)
		}
		failed <- err
		hire(t, address, job, 1, 0)
	}()
	var got book
	if _, err := dial(t, address).Coordinate(t.Context(), &Coordinator{Job: job, Samples: testSamples(20),
		Write: got.write}); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("the worker ended with %v", err)
	}
	if got.String() != alone(t, 20) {
		t.Error("the rows are not as one run writes them")
	}
}

func TestIdle(t *testing.T) {
	_, address := start(t)
	b := dial(t, address)
	if job, err := b.Find(t.Context(), "", time.Millisecond); job != nil || err != nil {
		t.Errorf("found %v, %v", job, err)
	}
	job := testJob(10, 10)
	if _, err := b.announce(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	w := testWorker("idle", job, 0)
	w.Idle = time.Millisecond
	if n, err := b.Work(t.Context(), w); n != 0 || err != nil {
		t.Errorf("%d units, %v", n, err)
	}
}

// Everything that can change a result is compared, and what differs is named.
func TestRefuse(t *testing.T) {
	job := testJob(10, 10)
	runstest.Fill(&job.Config)
	own := func() runs.Config {
		c := testJob(10, 10).Config
		runstest.Fill(&c)
		return c
	}
	if err := job.Refuse(job.Tool, own()); err != nil {
		t.Errorf("the same configuration: %v", err)
	}
	if err := job.Refuse("assay v9", own()); err == nil || !strings.Contains(err.Error(), "assay v9") {
		t.Errorf("another version: %v", err)
	}
	refused := 0
	c := own()
	runstest.EachField(&c, func(path string, set func(int)) {
		set(2)
		err := job.Refuse(job.Tool, c)
		set(1)
		name := strings.HasSuffix(path, ".Name") && !strings.Contains(path, "Metrics") && !strings.Contains(path, "Prompts")
		if strings.Contains(path, "Dataset") || name {
			return
		}
		if err == nil {
			t.Errorf("another %s is not refused", path)
		}
		refused++
	})
	if refused < 20 {
		t.Errorf("only %d fields were tried", refused)
	}
	c = own()
	c.Judge.Digest = "sha256:other"
	if err := job.Refuse(job.Tool, c); err == nil || !strings.Contains(err.Error(), "judge differs in its weights") ||
		!strings.Contains(err.Error(), "sha256:other") {
		t.Errorf("another judge: %v", err)
	}
}

// A row comes out of a unit as it went in.
func TestRows(t *testing.T) {
	no := false
	full := &metrics.Sample{ID: "a\x00<&>\u2028\"", Answerable: &no, ContextIDs: []string{}, ToolCalls: []metrics.ToolCall{},
		Relevance: map[string]int{"p": 0}, Nuggets: []metrics.Nugget{{Text: "n"}}, OtherContexts: [][]string{{"x"}, {}}}
	rows := []shard.Row{{Number: 1, Sample: full}, {Number: 7, Sample: &metrics.Sample{ID: "b"}}}
	for s := range testSamples(20)(0) {
		rows = append(rows, shard.Row{Number: len(rows), Sample: s})
	}
	data, err := packRows(rows)
	if err != nil {
		t.Fatal(err)
	}
	back, err := unpackRows(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(rows, back) {
		t.Errorf("%+v\ncame back as\n%+v", rows[0].Sample, back[0].Sample)
	}
}

func FuzzRows(f *testing.F) {
	data, err := packRows([]shard.Row{{Number: 1, Sample: &metrics.Sample{ID: "a"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := unpackRows(data)
		if err != nil {
			return
		}
		for _, row := range rows {
			if row.Sample == nil || row.Number < 1 {
				t.Errorf("%+v", row)
			}
		}
	})
}

func TestAddress(t *testing.T) {
	for _, bad := range []string{"", "127.0.0.1:4222", "http://127.0.0.1", "nats://user:secret@127.0.0.1", "nats://", "nats://h/p"} {
		_, err := Dial(t.Context(), Options{Address: bad, Say: t.Logf})
		if err == nil || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	// Addresses that documentation is given: nobody has them.
	if _, err := Dial(t.Context(), Options{Address: "nats://192.0.2.1:4222", Say: t.Logf}); !errors.Is(err, remote.ErrElsewhere) {
		t.Errorf("another machine: %v", err)
	}
}

func TestNoJetStream(t *testing.T) {
	_, address := start(t, func(o *server.Options) { o.JetStream = false })
	if _, err := Dial(t.Context(), Options{Address: address, Say: t.Logf}); err == nil || !strings.Contains(err.Error(), "nats-server -js") {
		t.Error(err)
	}
}

// A model goes to the server under its digest and comes back as it was.
func TestModels(t *testing.T) {
	_, address := start(t)
	b := dial(t, address)
	var got bytes.Buffer
	if err := b.fetchModel(t.Context(), "sha256:1", &got); !errors.Is(err, errNoModel) {
		t.Errorf("no models: %v", err)
	}
	content := bytes.Repeat([]byte("weights "), 100_000)
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.publishModel(t.Context(), "sha256:1", path); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.fetchModel(t.Context(), "sha256:1", &got); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("%d bytes came back, %v", got.Len(), err)
	}
	if err := b.fetchModel(t.Context(), "sha256:2", &got); !errors.Is(err, errNoModel) {
		t.Errorf("another model: %v", err)
	}
}

// The memory of the server does not hold on to what is done.
func TestNothingIsLeft(t *testing.T) {
	_, address := start(t)
	b := dial(t, address)
	job := testJob(10, 10)
	if _, err := b.announce(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 20; i++ {
		if err := b.put(t.Context(), job.rows(), i, object{data: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		if err := b.remove(t.Context(), job.rows(), i); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := b.js.Stream(t.Context(), "OBJ_"+job.rows())
	if err != nil {
		t.Fatal(err)
	}
	if state := stream.CachedInfo().State; state.Msgs != 0 || state.NumSubjects != 0 {
		t.Errorf("%d messages of %d subjects are left", state.Msgs, state.NumSubjects)
	}
}

// A wrong password is said to be wrong, and not shown.
func TestPassword(t *testing.T) {
	_, address := start(t, func(o *server.Options) { o.Username, o.Password = "assay", "hush" })
	_, err := Dial(t.Context(), Options{Address: address, User: "assay", Password: "wrong-one", Say: t.Logf})
	if !errors.Is(err, nats.ErrAuthorization) || strings.Contains(err.Error(), "wrong-one") {
		t.Error(err)
	}
	b, err := Dial(t.Context(), Options{Address: address, User: "assay", Password: "hush", Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
}
