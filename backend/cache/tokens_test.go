package cache

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// tokenEngine gives random tokens and vectors, which depend on the text alone.
type tokenEngine struct {
	backendtest.Fake
	rounded bool
	asked   [][]string
}

func (e *tokenEngine) EmbedTokens(_ context.Context, texts []string) ([]backend.TokenVectors, error) {
	e.asked = append(e.asked, texts)
	var answer []backend.TokenVectors
	for _, text := range texts {
		answer = append(answer, e.tokens(text))
	}
	return answer, nil
}

func (e *tokenEngine) tokens(text string) backend.TokenVectors {
	seed := uint64(0)
	for _, r := range text {
		seed = 31*seed + uint64(r)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	var v backend.TokenVectors
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
		got, err := b.EmbedTokens(t.Context(), texts)
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
		_, err := open(t).Import(t.Context(), compressed(lines[0], strings.Replace(line, old, new, 1), `{"entries":1}`+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s for %s: %v, want %q", new, old, err, want)
		}
	}
	refuse(`"dimensions":96`, `"dimensions":95`, "dimensions")
	refuse(`"dimensions":96`, `"dimensions":2305843009213693952`, "dimensions")
	refuse(`"tokens":["`, `"tokens":["more","`, "vectors")
	refuse(`"op":"embed_tokens"`, `"op":"embed"`, "key of this request")
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
