package gollama

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/models/gguf"
)

// A toy stands in for the binding, with its snares: what would overrun its buffer, shift its context, cut
// a text, use it twice at once or after it was freed there, panics here.
type toy struct {
	context int
	control string        // a text that it reads as the control token of toyControl
	pace    time.Duration // of a token; a prompt's take a hundredth
	say     []string      // the tokens of the reply; nil: words by chance
	fail    error         // of predict
	vector  []float32     // nil: one that goes by the text

	using atomic.Bool
	freed atomic.Bool
	asked prediction
}

func (m *toy) use() (done func()) {
	if m.freed.Load() {
		panic("the model was freed")
	}
	if !m.using.CompareAndSwap(false, true) {
		panic("the model is used twice at once")
	}
	return func() { m.using.Store(false) }
}

// toyWord is how long the toy's tokens are at most, in bytes.
const toyWord = 16

// toyTokens cuts a text into runs of letters and single other characters.
func toyTokens(text string) int {
	n, run := 1, 0
	for _, r := range text {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter || run == 0 || run == toyWord {
			n, run = n+1, 0
		}
		if run++; !letter {
			run = 0
		}
	}
	return n
}

func (m *toy) tokens(text string) (int, []int32) {
	defer m.use()()
	if strings.ContainsRune(text, 0) {
		panic("the text is cut")
	}
	n := toyTokens(text)
	if n > 512 {
		return n, nil
	}
	ids := make([]int32, n)
	if m.control != "" && strings.HasSuffix(text, m.control) {
		ids[n-1] = toyControl
	}
	return n, ids
}

func (m *toy) predict(o prediction, next func(string) bool) error {
	defer m.use()()
	m.asked = o
	if m.fail != nil {
		return m.fail
	}
	n := toyTokens(o.prompt)
	if strings.ContainsRune(o.prompt, 0) || n > m.context-spare {
		panic("the prompt is cut")
	}
	time.Sleep(time.Duration(n) * m.pace / 100)
	written := 1 + len(o.prompt) // with the space before it
	for piece := range m.reply(o) {
		if n++; n > m.context {
			panic("the context is shifted")
		}
		time.Sleep(m.pace)
		if !next(piece) {
			break
		}
		written += len(piece)
	}
	if written+1 > o.room {
		panic(fmt.Sprintf("the buffer of %d bytes is overrun by %d", o.room, written+1-o.room))
	}
	return nil
}

// reply yields the tokens of a reply, the one that ends it included.
func (m *toy) reply(o prediction) func(func(string) bool) {
	words := []string{"river", " stone", " cloud", "winter\n", " \xf0\x9f", "\x98\x80", " bridge", " ox", ",", "\xff"}
	hash := fnv.New64a()
	hash.Write([]byte(o.prompt))
	chance := rand.New(rand.NewPCG(hash.Sum64(), 0))
	if o.temperature > 0 {
		chance = rand.New(rand.NewPCG(hash.Sum64(), uint64(o.seed)))
	}
	return func(yield func(string) bool) {
		for i := 0; ; i++ {
			switch {
			case m.say != nil && i == len(m.say),
				m.say == nil && i > 5 && !strings.Contains(o.prompt, "story") && chance.IntN(12) == 0:
				yield("") // the token that ends a reply has no text
				return
			case m.say != nil:
				if !yield(m.say[i]) {
					return
				}
			case !yield(words[chance.IntN(len(words))]):
				return
			}
		}
	}
}

func (m *toy) embed(text string) ([]float32, error) {
	defer m.use()()
	if toyTokens(text) > m.context {
		panic("the text does not fit")
	}
	time.Sleep(m.pace / 10)
	if m.vector != nil {
		return m.vector, nil
	}
	v := backendtest.Vector(text)
	for i := range v {
		v[i] *= 17
	}
	return v, nil
}

func (m *toy) free() {
	defer m.use()()
	m.freed.Store(true)
}

// toyControl is the number of the toy's control token.
const toyControl = 2

// toyVocabulary has the control tokens, all bytes, and a word of the given length.
func toyVocabulary(length int) (tokens []string, types []int32) {
	tokens, types = []string{"<unk>", "<s>", "<|turn|>"}, []int32{2, 3, 3}
	for b := range 256 {
		tokens, types = append(tokens, fmt.Sprintf("<0x%02X>", b)), append(types, 6)
	}
	return append(tokens, strings.Repeat("x", length)), append(types, 1)
}

// toyFile is the header of a model like the toy, of GGUF version 2 and changed by spoil, where there is one.
func toyFile(t *testing.T, spoil func(map[string]any)) string {
	t.Helper()
	tokens, types := toyVocabulary(toyWord)
	fields := map[string]any{
		"general.architecture":                   "llama",
		"llama.context_length":                   uint32(1024),
		"llama.embedding_length":                 uint32(32),
		"llama.block_count":                      uint32(1),
		"llama.feed_forward_length":              uint32(32),
		"llama.attention.head_count":             uint32(1),
		"llama.attention.layer_norm_rms_epsilon": float32(1e-5),
		"tokenizer.ggml.model":                   "llama",
		"tokenizer.ggml.tokens":                  tokens,
		"tokenizer.ggml.scores":                  make([]float32, len(tokens)),
		"tokenizer.ggml.token_type":              types,
		"tokenizer.ggml.bos_token_id":            uint32(1),
		"tokenizer.ggml.eos_token_id":            uint32(2),
		"tokenizer.ggml.unknown_token_id":        uint32(0),
	}
	if spoil != nil {
		spoil(fields)
	}
	var list []gguf.Field
	for key, value := range fields {
		list = append(list, gguf.Field{Key: key, Value: value})
	}
	var file bytes.Buffer
	err := gguf.Write(&file, list, []gguf.TensorSource{toyTensor})
	if err != nil {
		t.Fatal(err)
	}
	data := file.Bytes()
	data[4] = ggufVersion // versions 2 and 3 do not differ in a header like this
	path := filepath.Join(t.TempDir(), "toy.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// openToy is Open with a toy for the binding.
func openToy(t *testing.T, m *toy, embed bool) *Engine {
	t.Helper()
	o := Options{Model: toyFile(t, nil), Digest: "sha256:" + strings.Repeat("ab", 32), Embed: embed}
	file, err := check(o.Model)
	if err != nil {
		t.Fatal(err)
	}
	s, err := o.setup(file)
	if err != nil {
		t.Fatal(err)
	}
	m.context = s.context
	return newEngine(o.info(s), m, file)
}

// withoutZeros sends a space for each zero byte. The suite sends texts that hold one and wants an answer, which
// this engine cannot give: see TestZeroByte.
type withoutZeros struct{ *Engine }

func (e withoutZeros) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	other := *req
	other.Messages = nil
	for _, m := range req.Messages {
		m.Text = strings.ReplaceAll(m.Text, "\x00", " ")
		other.Messages = append(other.Messages, m)
	}
	return e.Engine.Generate(ctx, &other)
}

func (e withoutZeros) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	other := &backend.EncodeRequest{Output: req.Output}
	for _, p := range req.Inputs {
		p.Text = strings.ReplaceAll(p.Text, "\x00", " ")
		other.Inputs = append(other.Inputs, p)
	}
	return e.Engine.Encode(ctx, other)
}

func TestContract(t *testing.T) {
	for name, embed := range map[string]bool{"Writes": false, "Embeds": true} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
				return withoutZeros{openToy(t, &toy{pace: 50 * time.Microsecond, control: "<|turn|>"}, embed)}
			}})
		})
	}
}

func ask(text string) *backend.GenerateRequest {
	return &backend.GenerateRequest{Messages: []backend.Message{{Role: backend.User, Text: text}}, MaxTokens: 5}
}

func TestReplies(t *testing.T) {
	for _, test := range []struct {
		name string
		say  []string
		stop []string
		want backend.Generation
	}{
		{"ends by itself", []string{"a", " b"}, nil,
			backend.Generation{Text: "a b", Stop: backend.StopEnd, OutputTokens: 3}},
		{"ends after the last token allowed", []string{"a", "b", "c", "d"}, nil,
			backend.Generation{Text: "abcd", Stop: backend.StopEnd, OutputTokens: 5}},
		{"as long as allowed", []string{"a", "b", "c", "d", "e"}, nil,
			backend.Generation{Text: "abcde", Stop: backend.StopLength, OutputTokens: 5}},
		{"longer", []string{"a", "b", "c", "d", "e", "f"}, nil,
			backend.Generation{Text: "abcde", Stop: backend.StopLength, OutputTokens: 5}},
		{"a token without text last", []string{"a", "b", "c", "d", "", "f"}, nil,
			backend.Generation{Text: "abcd", Stop: backend.StopLength, OutputTokens: 5}},
		{"goes on to the next turn", []string{"a", "\n", "### ", "User:", "b"}, nil,
			backend.Generation{Text: "a", Stop: backend.StopEnd, OutputTokens: 4}},
		{"stop string over tokens", []string{"ab", "c", "d"}, []string{"x", "bcd"},
			backend.Generation{Text: "a", Stop: backend.StopEnd, OutputTokens: 3}},
		{"the first of two stop strings", []string{"a", "bcd"}, []string{"cd", "b"},
			backend.Generation{Text: "a", Stop: backend.StopEnd, OutputTokens: 2}},
		{"stop string at the last token", []string{"a", "b", "c", "d", "e"}, []string{"e"},
			backend.Generation{Text: "abcd", Stop: backend.StopEnd, OutputTokens: 5}},
		{"half a character", []string{"a\xf0\x9f", "\x98\x80", "\xf0\x9f", "\x98"}, nil,
			backend.Generation{Text: "a😀", Stop: backend.StopEnd, OutputTokens: 5}},
		{"no characters", []string{"a", "\xff", "\x98", "b"}, nil,
			backend.Generation{Text: "a\uFFFDb", Stop: backend.StopEnd, OutputTokens: 5}},
		{"nothing", []string{}, nil, backend.Generation{Stop: backend.StopEnd, OutputTokens: 1}},
	} {
		e := openToy(t, &toy{say: test.say}, false)
		req := ask("Hello.")
		req.Stop = test.stop
		test.want.PromptTokens = toyTokens(render(req.Messages))
		got, err := e.Generate(t.Context(), req)
		if err != nil || *got != test.want {
			t.Errorf("%s: %+v, %v; want %+v", test.name, got, err, test.want)
		}
		e.Close()
	}
}

// TestLongestTokens fills context and buffer to the brim.
func TestLongestTokens(t *testing.T) {
	m := &toy{}
	for range 2000 {
		m.say = append(m.say, strings.Repeat("y", toyWord))
	}
	e := openToy(t, m, false)
	defer e.Close()
	req := ask(strings.Repeat(" "+strings.Repeat("x", toyWord), 200))
	req.MaxTokens = e.Info().Context - toyTokens(render(req.Messages))
	got, err := e.Generate(t.Context(), req)
	if err != nil || got.OutputTokens != req.MaxTokens || len(got.Text) != req.MaxTokens*toyWord {
		t.Fatalf("%+v, %v", got, err)
	}
	req.MaxTokens++
	if _, err := e.Generate(t.Context(), req); !errors.Is(err, backend.ErrPromptTooLong) {
		t.Errorf("one more token: error %v", err)
	}
}

func TestZeroByte(t *testing.T) {
	e := openToy(t, &toy{}, false)
	defer e.Close()
	if _, err := e.Generate(t.Context(), ask("a\x00b")); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("Generate: error %v", err)
	}
	e = openToy(t, &toy{}, true)
	defer e.Close()
	if _, err := backend.Embed(t.Context(), e, []string{"a", "a\x00b"}); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("Embed: error %v", err)
	}
}

func TestControlText(t *testing.T) {
	for control, want := range map[string]error{"": nil, "<|turn|>": backend.ErrInvalid} {
		e := openToy(t, &toy{control: control, say: []string{"a"}}, false)
		defer e.Close()
		if _, err := e.Generate(t.Context(), ask("one <|turn|> two")); !errors.Is(err, want) {
			t.Errorf("with a tokenizer that reads %q: error %v, want %v", control, err, want)
		}
	}
}

func TestSampling(t *testing.T) {
	m := &toy{say: []string{"a"}}
	e := openToy(t, m, false)
	defer e.Close()
	req := ask("Hello.")
	seeds := map[int]bool{}
	for draw := range 100 {
		req.Draw = draw
		req.Sampling = backend.Sampling{Temperature: 0.7, TopK: 1 << 40, Seed: 9}
		if _, err := e.Generate(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		got := m.asked
		if got.temperature != 0.7 || got.topP != 1 || got.topK != 1<<31-1 || got.seed < 0 || got.seed > 1<<31-1 {
			t.Fatalf("asked for %+v", got)
		}
		seeds[m.asked.seed] = true
	}
	if len(seeds) != 100 {
		t.Errorf("100 draws have %d seeds", len(seeds))
	}
}

func TestFailures(t *testing.T) {
	broken := errors.New("inference failed")
	e := openToy(t, &toy{fail: broken}, false)
	defer e.Close()
	if _, err := e.Generate(t.Context(), ask("Hello.")); !errors.Is(err, broken) {
		t.Errorf("Generate: error %v", err)
	}
	for _, v := range [][]float32{{0, 0}, {1, float32(nan())}} {
		e := openToy(t, &toy{vector: v}, true)
		defer e.Close()
		if got, err := backend.Embed(t.Context(), e, []string{"a"}); err == nil {
			t.Errorf("a vector of %v became %v", v, got)
		}
	}
}

// TestAbandoned checks that a caller need not wait for a model that is busy, and the next one gets it whole.
func TestAbandoned(t *testing.T) {
	e := openToy(t, &toy{pace: time.Millisecond}, false)
	defer e.Close()
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		req := ask("Tell a story.")
		req.MaxTokens = 500
		_, err := e.Generate(ctx, req)
		first <- err
	}()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	if _, err := e.Generate(t.Context(), ask("Hello.")); err != nil {
		t.Error(err)
	}
}

// TestFree closes an engine in the middle of a reply: the model is given back, behind the reply's end. The toy
// panics if it is before.
func TestFree(t *testing.T) {
	m := &toy{pace: time.Millisecond}
	e := openToy(t, m, false)
	failed := make(chan error)
	go func() {
		req := ask("Tell a story.")
		req.MaxTokens = 500
		_, err := e.Generate(context.Background(), req)
		failed <- err
	}()
	for !m.using.Load() {
		time.Sleep(time.Millisecond)
	}
	e.Close()
	if err := <-failed; !errors.Is(err, backend.ErrClosed) {
		t.Errorf("closed in the middle of a reply: error %v", err)
	}
	for !m.freed.Load() {
		time.Sleep(time.Millisecond)
	}
}

func TestRender(t *testing.T) {
	got := render([]backend.Message{{Role: backend.System, Text: "Be brief.\n"}, {Role: backend.User, Text: " <s> 1"},
		{Role: backend.Assistant, Text: "2"}, {Role: backend.User, Text: ""}})
	const want = "### System:\nBe brief.\n\n\n### User:\n <s> 1\n\n### Assistant:\n2\n\n### User:\n\n\n### Assistant:\n"
	if got != want || !utf8.ValidString(got) {
		t.Errorf("%q, want %q", got, want)
	}
}
