package cache

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// tokenEngine gives random tokens and vectors, which depend on the text alone.
type tokenEngine struct {
	backendtest.Fake
	rounded bool
	asked   [][]string
}

func (e *tokenEngine) Encode(_ context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	e.asked = append(e.asked, backendtest.Call{Encode: req}.Texts())
	answer := &backend.Encoding{}
	for _, p := range req.Inputs {
		answer.Items = append(answer.Items, e.tokens(p.Text))
	}
	return answer, nil
}

func (e *tokenEngine) tokens(text string) backend.Encoded {
	seed := uint64(0)
	for _, r := range text {
		seed = 31*seed + uint64(r)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	var v backend.Encoded
	for i := range strings.Count(text, " ") {
		v.Tokens = append(v.Tokens, []string{" word", "é", "", "<0xE6>", "\n", "\u2028\"<"}[rng.IntN(6)]+fmt.Sprint(i))
		vector := make([]float32, 96)
		sum := 0.0
		for k := range vector {
			vector[k] = float32(rng.NormFloat64())
			sum += float64(vector[k]) * float64(vector[k])
		}
		for k := range vector {
			vector[k] /= float32(math.Sqrt(sum))
			if e.rounded {
				vector[k] = math.Float32frombits(math.Float32bits(vector[k]) &^ 0xffff)
			}
		}
		v.Vectors = append(v.Vectors, vector)
	}
	return v
}

// TestTokens checks that the vectors of tokens come back bit for bit from memory, from the file, in another run
// and from an export, that only texts that are missing are asked for, and that callers own their answers.
func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	engine := &tokenEngine{}
	texts := []string{"one two three", "", "a b c d e f", " ", "one two three"}
	check := func(b *Backend, when string, asked int) {
		t.Helper()
		engine.asked = nil
		got, err := backend.EmbedTokens(t.Context(), b, texts)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		for i, text := range texts {
			if !reflect.DeepEqual(got[i], engine.tokens(text)) {
				t.Errorf("%s, %q: %+v", when, text, got[i])
			}
			for _, v := range got[i].Vectors {
				v[0] = 7
			}
		}
		n := 0
		for _, list := range engine.asked {
			n += len(list)
		}
		if n != asked || len(engine.asked) > 1 {
			t.Errorf("%s: asked for %q, want %d texts in one call", when, engine.asked, asked)
		}
	}
	store := openAt(t, path)
	b := Wrap(engine, store, Use, nil)
	check(b, "fresh", 4)
	check(b, "from memory", 0)
	if err := store.Flush(); err != nil {
		t.Fatal(err)
	}
	check(b, "from the file", 0)
	check(Wrap(engine, store, Verify, func(d Drift) { t.Errorf("drift: %+v", d) }), "verified", 4)
	data, lines := exported(t, store)
	if len(lines) != 6 {
		t.Errorf("%d lines, want a head, 4 entries and a tail", len(lines))
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	check(Wrap(engine, openAt(t, path), Use, nil), "in another run", 0)
	other := open(t)
	if got, err := other.Import(t.Context(), bytes.NewReader(data)); err != nil || got.Added != 4 {
		t.Errorf("imported %+v, %v", got, err)
	}
	check(Wrap(engine, other, Use, nil), "imported", 0)

	// What Import refuses.
	refuse := func(old, new, want string) {
		t.Helper()
		line := ""
		for _, l := range lines {
			if strings.Contains(l, `"dimensions":96`) {
				line = l
			}
		}
		if !strings.Contains(line, old) {
			t.Fatalf("no %s in %s", old, line)
		}
		_, err := open(t).Import(t.Context(),
			compressed(lines[0], strings.Replace(line, old, new, 1), `{"entries":1}`+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s for %s: %v, want %q", new, old, err, want)
		}
	}
	refuse(`"dimensions":96`, `"dimensions":95`, "dimensions")
	refuse(`"dimensions":96`, `"dimensions":2305843009213693952`, "dimensions")
	refuse(`"tokens":["`, `"tokens":["more","`, "vectors")
	refuse(`"op":"embed_tokens"`, `"op":"embed"`, "key of this request")
}

// TestOldEntries reads rows that were written when embeddings, tokens' embeddings and reranking were operations of
// their own: they are hits, bit for bit, and what is written now has the same bytes.
func TestOldEntries(t *testing.T) {
	another := make([]float32, 64)
	another[3] = 1
	pairs := []backend.Pair{{Query: "a query", Text: "a text"}, {Text: "a text"}}
	requests := []*backend.EncodeRequest{
		{Output: backend.Embedding, Inputs: backend.Texts("a text", "another")},
		{Output: backend.TokenEmbeddings, Inputs: backend.Texts("a text", "")},
		{Output: backend.HeadOutputs, Inputs: pairs},
	}
	one := func(v ...float32) backend.Encoded { return backend.Encoded{Vectors: [][]float32{v}} }
	want := [][]backend.Encoded{
		{one(0.6, -0.8), one(another...)},
		{{Tokens: []string{"a", " text"}, Vectors: [][]float32{{0.6, -0.8}, {1, 0}}}, {}},
		{one(7, -1.5e-7), one(0, -1.5e-7)},
	}
	store := open(t)
	if err := store.transact(func(tx *sql.Tx) error {
		for _, row := range oldRows {
			args := []any{bytesOf(t, row[1]), row[0], 1, 1, time.Now().UnixMilli(), bytesOf(t, row[2]),
				bytesOf(t, row[3])}
			if _, err := tx.Exec(insertAnswer, args...); err != nil {
				return err
			}
		}
		_, err := tx.Exec("INSERT INTO models VALUES (1, 'fake 1', 'fake', 'sha256:', 4096)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	fake := &backendtest.Fake{}
	old := Wrap(fake, store, Use, nil)
	for i, req := range requests {
		got, err := old.Encode(t.Context(), req)
		if err != nil || !reflect.DeepEqual(got.Items, want[i]) {
			t.Errorf("%s: %+v, %v, want %+v", req.Output, got, err, want[i])
		}
	}
	if n := fake.Stats().Calls(); n != 0 {
		t.Errorf("the engine was asked %d times", n)
	}
	fresh := open(t)
	now := Wrap(scripted{fake, want}, fresh, Use, nil)
	for _, req := range requests {
		if _, err := now.Encode(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	if err := fresh.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, row := range oldRows {
		var op string
		var answer, request []byte
		found := fresh.db.QueryRow("SELECT op, answer, request FROM answers WHERE key = ?", bytesOf(t, row[1]))
		err := found.Scan(&op, &answer, &request)
		if got := [4]string{op, row[1], hex.EncodeToString(answer), hex.EncodeToString(request)}; err != nil ||
			got != row {
			t.Errorf("%q, %v, want %q", got, err, row)
		}
	}
}

// scripted gives the answers for each output, in the order of the outputs.
type scripted struct {
	*backendtest.Fake
	items [][]backend.Encoded
}

func (s scripted) Encode(_ context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	return &backend.Encoding{Items: s.items[slices.Index(backend.Outputs(), req.Output)]}, nil
}

func bytesOf(t *testing.T, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// oldRows are an operation, its key, answer and request.
var oldRows = [][4]string{
	{"embed",
		"ac218bffcdb81c132b3d79013ce5e9acac6e539e47f2fdbbc3ac330a1c1ed49b",
		"021199703528b52ffd440000007500001800803f0300e11c056272c8e1d866139f1e",
		"01ffc0d83f7b2274657874223a22616e6f74686572227d"},
	{"embed",
		"df3e39b42422d3a3e31c957cf7494e3185593fc22d0849ecdbb529e961744dbc",
		"01f8be54b39a99193fcdcc4cbf",
		"01e30870707b2274657874223a22612074657874227d"},
	{"embed_tokens",
		"4f3ab5cc7a16d0edfe920ed909ce7ae22aabe51064ae18a88846950a6eee2ba9",
		"0178b31bea5b2261222c222074657874225d0a9acd000099cc0000194c80003fbf3f00",
		"01e0d6db5d7b2274657874223a22612074657874227d"},
	{"embed_tokens",
		"e86bccdbc14f1dae0e8c9ba13c9e10bb61c85b8259b378dfd899b1265d22fb9f",
		"01464a62cd6e756c6c0a",
		"014fc00f2b7b2274657874223a22227d"},
	{"rerank",
		"1e39db45ff22f63da701bf0190f497ca426406627ed870c1eb7bf120d672c85a",
		"01c41713255b302c2d312e35652d375d",
		"01645fa0897b227175657279223a22222c2274657874223a22612074657874227d"},
	{"rerank",
		"738ce7d30ead9d07cf9b1d16a30eb3fa98900f8269805c4927f8feff0032c86e",
		"012b0affd95b372c2d312e35652d375d",
		"01a05f07a97b227175657279223a2261207175657279222c2274657874223a22612074657874227d"},
}

// TestTokensPacked checks that vectors that an engine rounded take little more than half the room.
func TestTokensPacked(t *testing.T) {
	p, err := newPacker()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("word ", 100)
	size := func(rounded bool) int {
		payload, err := tokensBytes((&tokenEngine{rounded: rounded}).tokens(text))
		if err != nil {
			t.Fatal(err)
		}
		return len(p.pack(backend.Key{}, partAnswer, payload))
	}
	whole, rounded := size(false), size(true)
	t.Logf("%d bytes of numbers: %d packed, %d if rounded", 100*96*4, whole, rounded)
	if float64(rounded) > 0.55*float64(whole) {
		t.Errorf("%d bytes, rounded %d", whole, rounded)
	}
}

func FuzzBytesTokens(f *testing.F) {
	for _, text := range []string{"", " ", "a b", "a b c d"} {
		payload, err := tokensBytes((&tokenEngine{}).tokens(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	f.Add([]byte("[\"a\"]\n123"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		v, err := bytesTokens(payload)
		if err != nil {
			return
		}
		if len(v.Tokens) != len(v.Vectors) {
			t.Fatalf("%d tokens, %d vectors", len(v.Tokens), len(v.Vectors))
		}
		again, err := tokensBytes(v)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := bytesTokens(again); err != nil || len(back.Tokens) != len(v.Tokens) {
			t.Fatalf("%q does not come back: %v", again, err)
		}
	})
}
