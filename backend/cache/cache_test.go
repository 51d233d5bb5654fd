package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// open returns a Store on a new file, closed at the end of the test. Any warning fails the test.
func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "cache", "answers.db"))
}

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, func(err error) { t.Errorf("warning: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func ask(text string) *backend.GenerateRequest {
	return &backend.GenerateRequest{
		Messages:  []backend.Message{{Role: backend.User, Text: text}},
		MaxTokens: 8,
	}
}

func TestConformance(t *testing.T) {
	for _, mode := range []Mode{Use, Refresh, Verify, Off} {
		t.Run(mode.String(), func(t *testing.T) {
			store := open(t)
			backendtest.Run(t, backendtest.Config{Open: func(*testing.T) backend.Backend {
				return Wrap(&backendtest.Fake{PerToken: 200 * time.Microsecond}, store, mode, func(d Drift) {
					t.Errorf("drift: %+v", d)
				})
			}})
		})
	}
}

// constant is an engine that gives the answers it is told to.
type constant struct {
	backendtest.Fake
	mu     sync.Mutex
	answer answers
}

type answers struct {
	generation backend.Generation
	scores     backend.Scores
	vectors    [][]float32
	outputs    [][]float32 // of a classification head
}

func (c *constant) get() answers { c.mu.Lock(); defer c.mu.Unlock(); return c.answer }

func (c *constant) set(a answers) { c.mu.Lock(); defer c.mu.Unlock(); c.answer = a }

func (c *constant) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	g := c.get().generation
	return &g, nil
}

func (c *constant) Score(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	s := c.get().scores
	return &s, nil
}

func (c *constant) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	list := c.get().vectors
	if req.Output == backend.HeadOutputs {
		list = c.get().outputs
	}
	answer := &backend.Encoding{}
	for i := range req.Inputs {
		answer.Items = append(answer.Items, backend.Encoded{Vectors: [][]float32{list[i]}})
	}
	return answer, nil
}

// randomAnswers are answers that any engine may give, odd ones among them.
func randomAnswers(rng *rand.Rand) answers {
	text := func() string {
		runes := make([]rune, rng.IntN(300))
		for i := range runes {
			runes[i] = rune(rng.IntN(0x300))
			if rng.IntN(10) == 0 {
				runes[i] = []rune{'\u2028', '<', '\x00', '😀', '"', '\\', '\ufffd', '\n'}[rng.IntN(8)]
			}
		}
		return string(runes)
	}
	var a answers
	a.generation = backend.Generation{
		Text: text(), Stop: backend.StopLength, PromptTokens: rng.IntN(4000), OutputTokens: rng.IntN(100),
	}
	a.scores.PromptTokens = rng.IntN(1000)
	for range 1 + rng.IntN(3) {
		var list []float64
		for range 1 + rng.IntN(5) {
			list = append(list, -rng.ExpFloat64()*math.Pow(10, float64(rng.IntN(10)-5)))
		}
		a.scores.LogProbs = append(a.scores.LogProbs, list)
	}
	for range 3 {
		v := make([]float32, 1+rng.IntN(400))
		sum := 0.0
		for i := range v {
			v[i] = float32(rng.NormFloat64())
			sum += float64(v[i]) * float64(v[i])
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(sum))
		}
		a.vectors = append(a.vectors, v)
	}
	for range 2 {
		var o []float32
		for range 3 {
			o = append(o, float32(rng.NormFloat64()*math.Pow(10, float64(rng.IntN(80)-45))))
		}
		a.outputs = append(a.outputs,
			append(o, float32(math.Copysign(0, -1)), math.MaxFloat32, math.SmallestNonzeroFloat32))
	}
	return a
}

// TestRoundTrip checks that answers come back bit for bit: from memory, from the file, and in another run.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	rng := rand.New(rand.NewPCG(1, 2))
	var all []answers
	check := func(b backend.Backend, i int, when string) {
		t.Helper()
		var got answers
		g, err := b.Generate(t.Context(), ask(fmt.Sprint("question ", i)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := b.Score(t.Context(), &backend.ScoreRequest{
			Messages: ask(fmt.Sprint(i)).Messages, Continuations: []string{"y"},
		})
		if err != nil {
			t.Fatal(err)
		}
		got.generation, got.scores = *g, *s
		if got.vectors, err = backend.Embed(t.Context(), b,
			[]string{fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("c", i)}); err != nil {
			t.Fatal(err)
		}
		if got.outputs, err = backend.Classify(t.Context(), b,
			[]backend.Pair{{Query: "a", Text: fmt.Sprint(i)}, {Query: fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, all[i]) || !math.Signbit(float64(got.outputs[1][3])) {
			t.Errorf("%s, answers %d are\n%+v, want\n%+v", when, i, got, all[i])
		}
	}
	engine := &constant{}
	store := openAt(t, path)
	b := Wrap(engine, store, Use, nil)
	for i := range 50 {
		all = append(all, randomAnswers(rng))
		engine.set(all[i])
		check(b, i, "fresh")
		engine.set(answers{})
		check(b, i, "from memory")
	}
	if err := store.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		check(b, i, "from the file")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store = openAt(t, path)
	b = Wrap(engine, store, Use, nil)
	for i := range all {
		check(b, i, "in another run")
	}
	st, err := store.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st.Entries != 350 || st.Hits != 350 || st.Misses != 0 || st.TotalHits != 1050 || st.TotalMisses != 350 ||
		len(st.Groups) != 4 {
		t.Errorf("stats are %+v", st)
	}
}

func TestModes(t *testing.T) {
	store := open(t)
	reply := "first"
	fake := &backendtest.Fake{
		Reply: func(context.Context, *backend.GenerateRequest) (string, error) { return reply, nil },
	}
	check := func(b backend.Backend, want string, calls int) {
		t.Helper()
		before := fake.Stats().Calls()
		g, err := b.Generate(t.Context(), ask("question"))
		if err != nil || g.Text != want {
			t.Errorf("got %+v, %v, want %q", g, err, want)
		}
		if n := fake.Stats().Calls() - before; n != calls {
			t.Errorf("%d calls, want %d", n, calls)
		}
	}
	var drifts []Drift
	drift := func(d Drift) { drifts = append(drifts, d) }
	check(Wrap(fake, store, Use, nil), "first", 1)
	check(Wrap(fake, store, Use, nil), "first", 0)
	if err := store.Flush(); err != nil {
		t.Fatal(err)
	}
	reply = "second"
	if _, err := store.db.Exec("UPDATE answers SET created = created - 1000"); err != nil { // as if a second ago
		t.Fatal(err)
	}
	check(Wrap(fake, store, Off, nil), "second", 1)
	check(Wrap(fake, nil, Off, nil), "second", 1)
	verify := Wrap(fake, store, Verify, drift)
	check(verify, "second", 1)
	if len(drifts) != 1 || !strings.Contains(drifts[0].Stored, "first") ||
		!strings.Contains(drifts[0].Fresh, "second") {
		t.Errorf("drifts are %+v", drifts)
	}
	check(Wrap(fake, store, Use, nil), "first", 0) // verifying changes nothing
	refresh := Wrap(fake, store, Refresh, nil)
	check(refresh, "second", 1)
	check(refresh, "second", 0) // once a run
	check(Wrap(fake, store, Use, nil), "second", 0)
	check(verify, "second", 1)
	if len(drifts) != 1 {
		t.Errorf("drifts are %+v", drifts)
	}
	for _, name := range modeNames {
		if m, err := ParseMode(name); err != nil || m.String() != name {
			t.Errorf("ParseMode(%q) = %v, %v", name, m, err)
		}
	}
	if _, err := ParseMode("on"); err == nil || !strings.Contains(err.Error(), "use, refresh, verify, off") {
		t.Errorf("ParseMode of an unknown mode: %v", err)
	}
}

// TestErrors checks that errors are not kept.
func TestErrors(t *testing.T) {
	fault := errors.New("scripted")
	fake := &backendtest.Fake{Before: func(_ context.Context, call backendtest.Call) error {
		if call.N <= 4 {
			return fault
		}
		return nil
	}}
	b := Wrap(fake, open(t), Use, nil)
	for i, want := range []error{fault, nil} {
		_, err := b.Generate(t.Context(), ask("hello"))
		_, serr := b.Score(t.Context(), &backend.ScoreRequest{
			Messages: ask("hello").Messages, Continuations: []string{"yes"},
		})
		_, eerr := backend.Embed(t.Context(), b, []string{"hello"})
		_, rerr := backend.Classify(t.Context(), b, []backend.Pair{{Text: "hello"}})
		if err != want || serr != want || eerr != want || rerr != want {
			t.Errorf("round %d: %v, %v, %v, %v, want %v", i, err, serr, eerr, rerr, want)
		}
	}
}

// TestEmbedMisses checks that only what is missing is asked for, once, in one call and in order.
func TestEmbedMisses(t *testing.T) {
	var asked [][]string
	fake := &backendtest.Fake{Before: func(_ context.Context, call backendtest.Call) error {
		asked = append(asked, call.Texts())
		return nil
	}}
	b := Wrap(fake, open(t), Use, nil)
	for _, texts := range [][]string{{"a", "b"}, {"c", "a", "d", "c", "b"}, {"d", "c", "d"}, {"e", "e", "e"}} {
		vectors, err := backend.Embed(t.Context(), b, texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range vectors {
			if !slices.Equal(v, backendtest.Vector(texts[i])) {
				t.Errorf("wrong vector for %q of %q", texts[i], texts)
			}
			v[0] = -1 // callers own their answers
		}
	}
	if cached, computed := b.Calls(); cached != 8 || computed != 5 {
		t.Errorf("%d cached and %d computed, want 8 and 5", cached, computed)
	}
	if want := [][]string{{"a", "b"}, {"c", "d"}, {"e"}}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// TestClassifyPairs checks that each pair has an answer of its own: only those missing are asked for, only
// finite numbers are kept, and Verify tells which pair drifted.
func TestClassifyPairs(t *testing.T) {
	const bad = "not a number"
	var asked [][]backend.Pair
	bias := float32(0)
	fake := &backendtest.Fake{
		Before: func(_ context.Context, call backendtest.Call) error {
			asked = append(asked, call.Encode.Inputs)
			return nil
		},
		Outputs: func(p backend.Pair) []float32 {
			if p.Text == bad {
				return []float32{float32(math.NaN())}
			}
			return []float32{float32(len(p.Query)), float32(len(p.Text)) + bias}
		},
	}
	store := open(t)
	check := func(b *Backend, second float32, pairs ...backend.Pair) {
		t.Helper()
		got, err := backend.Classify(t.Context(), b, pairs)
		if err != nil || len(got) != len(pairs) {
			t.Fatalf("Classify: %v, %v", got, err)
		}
		for i, p := range pairs {
			if want := []float32{float32(len(p.Query)), float32(len(p.Text)) + second}; p.Text != bad &&
				!slices.Equal(got[i], want) {
				t.Errorf("%q: %v, want %v", p, got[i], want)
			}
		}
	}
	a, b := backend.Pair{Query: "a", Text: "aa"}, backend.Pair{Query: "aa", Text: "a"}
	c, n := backend.Pair{Text: "c"}, backend.Pair{Text: bad}
	wrapped := Wrap(fake, store, Use, nil)
	check(wrapped, 0, a, b)
	check(wrapped, 0, c, b, n, a, c)
	check(wrapped, 0, n, c)
	if want := [][]backend.Pair{{a, b}, {c, n}, {n}}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	if err := store.Flush(); err != nil {
		t.Fatal(err)
	}
	bias = 0.5
	var drifts []Drift
	check(Wrap(fake, store, Verify, func(d Drift) { drifts = append(drifts, d) }), 0.5, a, backend.Pair{Query: "new"})
	if len(drifts) != 1 ||
		drifts[0] != (Drift{backend.EncodeKey(fake.Info(), backend.HeadOutputs, a), "rerank", "[1,2]", "[1,2.5]"}) {
		t.Errorf("drifts are %+v", drifts)
	}
	check(Wrap(fake, store, Use, nil), 0, a)
}
