package llama

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// TestEmbedTokensReference compares the vectors of tokens, and of texts, with the tests' own forward pass: a
// text's vector is the mean of its tokens', with those of the model's own tokens around it.
func TestEmbedTokensReference(t *testing.T) {
	testLib(t)
	m := newTinyBert()
	m.pooling = 1
	e := open(t, Options{Model: m.write(t, closed()...), Threads: 1})
	if want := backend.CanEmbed | backend.CanEmbedTokens; e.Info().Ops != want {
		t.Fatalf("Ops are %v, want %v", e.Info().Ops, want)
	}
	texts := []string{"the silver bridge over the river", "market", "",
		strings.Repeat("winter forest cloud ", 150), "river"}
	before, err := backend.Embed(t.Context(), e, texts)
	if err != nil {
		t.Fatal(err)
	}
	got, err := backend.EmbedTokens(t.Context(), e, texts)
	if err != nil {
		t.Fatal(err)
	}
	after, err := backend.Embed(t.Context(), e, texts)
	if err != nil {
		t.Fatal(err)
	}
	const cls, sep = 2, 3
	for i, text := range texts {
		own := m.words(text)
		want := m.layers(slices.Concat([]int{cls}, own, []int{sep}))
		if len(got[i].Tokens) != len(own) {
			t.Fatalf("text %d has the tokens %q, want %d", i, got[i].Tokens, len(own))
		}
		if spaced := strings.Join(got[i].Tokens, ""); strings.TrimSpace(spaced) != strings.TrimSpace(text) {
			t.Errorf("text %d has the tokens %q", i, got[i].Tokens)
		}
		for k, v := range got[i].Vectors {
			if far := distance(v, want[k+1]); !(far < 0.01) { // what rounding to eight bits leaves
				t.Errorf("text %d, token %d: %v away from %v", i, k, far, want[k+1])
			}
		}
		mean := make([]float64, bertWidth)
		for _, x := range want {
			mean = plus(mean, x)
		}
		if far := distance(before[i], mean); !(far < 1e-3) {
			t.Errorf("text %d: its vector is %v away from the mean", i, far)
		}
		if !slices.Equal(before[i], after[i]) {
			t.Errorf("text %d: its vector has other bits once tokens were embedded", i)
		}
	}
}

// distance is how far v lies from x, both scaled to length 1.
func distance(v []float32, x []float64) float64 {
	a := make([]float64, len(v))
	for i := range v {
		a[i] = float64(v[i])
	}
	n, m := math.Sqrt(dot(a, a)), math.Sqrt(dot(x, x))
	sum := 0.0
	for i := range a {
		sum += (a[i]/n - x[i]/m) * (a[i]/n - x[i]/m)
	}
	return math.Sqrt(sum)
}

func TestEmbedTokensConforms(t *testing.T) {
	testLib(t)
	m := newTinyBert()
	m.pooling = 1
	path := m.write(t, closed()...)
	backendtest.Run(t, backendtest.Config{
		Open: func(t *testing.T) backend.Backend { return open(t, Options{Model: path, Threads: 1}) },
	})
}

// TestEmbedderTokens checks with the real MiniLM that tokens spell the text, and that a word is nearer to its
// like than to another word.
func TestEmbedderTokens(t *testing.T) {
	e := open(t, Options{Model: fromEnv(t, "ASSAY_TEST_EMBED", "the MiniLM GGUF")})
	texts := []string{"The physician examined her patient, unhurriedly.", "A doctor saw the sick man.",
		"Bricks, mortar!"}
	got, err := backend.EmbedTokens(t.Context(), e, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		bare := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if spelt := strings.Join(got[i].Tokens, ""); bare(spelt) != strings.ToLower(bare(text)) {
			t.Errorf("%q has the tokens %q", text, got[i].Tokens)
		}
	}
	vector := func(i int, word string) []float64 {
		t.Helper()
		k := slices.IndexFunc(got[i].Tokens, func(token string) bool { return strings.TrimSpace(token) == word })
		if k < 0 {
			t.Fatalf("no %q among %q", word, got[i].Tokens)
		}
		v := make([]float64, len(got[i].Vectors[k]))
		for j, x := range got[i].Vectors[k] {
			v[j] = float64(x)
		}
		return v
	}
	like := dot(vector(0, "physician"), vector(1, "doctor"))
	unlike := dot(vector(0, "physician"), vector(2, "mortar"))
	t.Logf("physician and doctor: %.3f; physician and mortar: %.3f", like, unlike)
	if !(like > unlike+0.2) {
		t.Errorf("physician and doctor have the cosine %v, physician and mortar %v", like, unlike)
	}
}

func TestSpelt(t *testing.T) {
	check := func(piece, want string) {
		t.Helper()
		if got := spelt([]byte(piece)); got != want {
			t.Errorf("%q is spelt %q, want %q", piece, got, want)
		}
	}
	check("", "")
	check(" word", " word")
	check("日", "日")
	check("\ufffd", "\ufffd")
	check("\xe6\x97", "<0xE6><0x97>")
	check("a\xa5日", "a<0xA5>日")
}

func TestShort(t *testing.T) {
	check := func(x, want float32) {
		t.Helper()
		if got := backend.Brief(x); got != want {
			t.Errorf("backend.Brief(%v) = %v, want %v", x, got, want)
		}
	}
	check(0, 0)
	check(1, 1)
	check(-0.5, -0.5)
	check(1+1.0/128, 1+1.0/128)  // eight bits
	check(1+1.0/256, 1)          // a tie, to even
	check(1+3.0/256, 1+2.0/128)  // a tie, to even
	check(1+1.01/256, 1+1.0/128) // up
	check(-1-0.99/256, -1)       // towards zero
	check(0.999, 1)
}

// BenchmarkEmbedTokens embeds the tokens of short sentences.
func BenchmarkEmbedTokens(b *testing.B) {
	lib, path := os.Getenv("ASSAY_TEST_LIB"), os.Getenv("ASSAY_TEST_EMBED")
	if lib == "" || path == "" {
		b.Skip("ASSAY_TEST_LIB and ASSAY_TEST_EMBED do not name libraries and a model")
	}
	e, err := Open(b.Context(), Options{Lib: lib, Model: path, Digest: "sha256:", Log: b.Logf})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	texts := slices.Repeat([]string{"The tenth ship of the fleet lay in the harbour for thirty days that winter."}, 100)
	for b.Loop() {
		if _, err := backend.EmbedTokens(b.Context(), e, texts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(e.Stats().TextTokens)/b.Elapsed().Seconds(), "tok/s")
}
