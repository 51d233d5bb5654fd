package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/klauspost/compress/zstd"
)

func TestEntry(t *testing.T) {
	s := open(t)
	half := func(backend.Pair) []float32 { return []float32{0.5} }
	b := Wrap(&backendtest.Fake{
		Outputs: half,
		About: backend.Info{
			Ops: backend.CanGenerate | backend.CanEmbed | backend.CanScore | backend.CanClassify | backend.CanConstrain,
		},
	}, s, Use, nil)
	req := ask("is 1 < 2 & 3?")
	req.Schema = json.RawMessage(`{ "type": "object" }`)
	req.Stop = []string{"."}
	if _, err := b.Generate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if _, err := backend.Embed(t.Context(), b, []string{"a text"}); err != nil {
		t.Fatal(err)
	}
	key := backend.GenerateKey(b.Info(), req)
	e, err := s.Entry(t.Context(), key.String()[:10])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"messages":[{"role":"user","text":"is 1 < 2 & 3?"}],"max_tokens":8,"stop":["."],"sampling":{"temperature":0},"schema":"{ \"type\": \"object\" }"}`
	if string(e.Request) != want || e.Key != key || e.Op != "generate" || e.Model != "fake" ||
		e.Context != 4096 || e.Size < 50 {
		t.Errorf("entry is %+v, with request\n%s, want\n%s", e, e.Request, want)
	}
	var g backend.Generation
	if err := json.Unmarshal(e.Answer, &g); err != nil || g.OutputTokens != 8 {
		t.Errorf("answer is %s, %v", e.Answer, err)
	}
	e, err = s.Entry(t.Context(), backend.EncodeKey(b.Info(), backend.Embedding, backend.Pair{Text: "a text"}).String())
	if err != nil || string(e.Request) != `{"text":"a text"}` ||
		!strings.HasPrefix(string(e.Answer), `{"dimensions":256,"vector":"`) {
		t.Errorf("entry is %+v, %v", e, err)
	}
	if _, err := backend.Classify(t.Context(), b, []backend.Pair{{Query: "a query", Text: "a text"}}); err != nil {
		t.Fatal(err)
	}
	e, err = s.Entry(t.Context(),
		backend.EncodeKey(b.Info(), backend.HeadOutputs, backend.Pair{Query: "a query", Text: "a text"}).String())
	if err != nil || string(e.Request) != `{"query":"a query","text":"a text"}` || string(e.Answer) != `[0.5]` ||
		e.Op != "rerank" {
		t.Errorf("entry is %+v, %v", e, err)
	}
	check := func(prefix, want string) {
		t.Helper()
		if _, err := s.Entry(t.Context(), prefix); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Entry(%q): %v, want %q", prefix, err, want)
		}
	}
	check("", "not the beginning of a key")
	check("xyz", "not the beginning of a key")
	check(strings.Repeat("0", 65), "not the beginning of a key")
	check(strings.Repeat("0", 64), "no answer")
	fill(t, s, 40)
	check(key.String()[:1], "more than one")
}

// The answers of several machines go into one cache, those that it has already staying as they are.
func TestMerge(t *testing.T) {
	s := open(t)
	fill(t, s, 100)
	path := filepath.Join(t.TempDir(), "answers.db")
	other, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, other, 350) // of which the first are the same
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []Imported{{500, 200}, {0, 700}} {
		if done, err := s.Merge(t.Context(), path); err != nil || done != want {
			t.Errorf("%+v, %v; want %+v", done, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t).Merge(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no cache at all, but a text that is longer than a head of one hundred bytes, "+
		"as SQLite's files have it"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Merge(t.Context(), text); err == nil || !strings.Contains(err.Error(), "not a cache of assay") {
		t.Errorf("a text: %v", err)
	}
}

func TestPrune(t *testing.T) {
	s := open(t)
	fill(t, s, 2000)
	if err := s.shrink(t.Context()); err != nil { // so that the file is measured, and not its journal
		t.Fatal(err)
	}
	before, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The newer half by last use must be what stays.
	if _, err := s.db.Exec("UPDATE answers SET used = rowid"); err != nil {
		t.Fatal(err)
	}
	p, err := s.Prune(t.Context(), 0, before.Bytes/2)
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after.Bytes > before.Bytes/2 || after.Entries < 1000 || after.Entries+p.Entries != before.Entries ||
		p.Bytes < before.Bytes/3 {
		t.Errorf("pruned %+v; before %d entries in %d bytes, after %d in %d",
			p, before.Entries, before.Bytes, after.Entries, after.Bytes)
	}
	var oldestKept int64
	if err := s.db.QueryRow("SELECT min(used) FROM answers").Scan(&oldestKept); err != nil ||
		oldestKept != p.Entries+1 {
		t.Errorf("the oldest entry kept is number %d, %v, want %d", oldestKept, err, p.Entries+1)
	}
	if p, err := s.Prune(t.Context(), 0, 1); err != nil || p.Entries != after.Entries {
		t.Errorf("pruned %+v, %v, want all", p, err)
	}
	if p, err := s.Prune(t.Context(), 0, 0); err != nil || p != (Pruned{}) {
		t.Errorf("pruned %+v, %v, want nothing", p, err)
	}
}

// exported returns a store's export, and its lines.
func exported(t testing.TB, s *Store) (data []byte, lines []string) {
	t.Helper()
	var b bytes.Buffer
	if _, err := s.Export(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
}

// compressed turns lines into an export.
func compressed(lines ...string) io.Reader {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return bytes.NewReader(enc.EncodeAll([]byte(strings.Join(lines, "")), nil))
}

func TestTransfer(t *testing.T) {
	from, to := open(t), open(t)
	rng := rand.New(rand.NewPCG(5, 6))
	engine := &constant{}
	b := Wrap(engine, from, Use, nil)
	var all []answers
	get := func(b backend.Backend, i int) answers {
		t.Helper()
		req := ask(fmt.Sprint("question ", i))
		req.Sampling = backend.Sampling{Temperature: 1.0 / float64(i+1), TopP: 0.1, TopK: i, Seed: 1<<63 + uint64(i)}
		req.Draw = i
		req.Schema = json.RawMessage("{ \"type\":\t\"object\" }")
		g, err := b.Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		s, err := b.Score(t.Context(), &backend.ScoreRequest{
			Messages: req.Messages, Continuations: []string{"<y>", "\u2028"},
		})
		if err != nil {
			t.Fatal(err)
		}
		v, err := backend.Embed(t.Context(), b, []string{fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("c", i)})
		if err != nil {
			t.Fatal(err)
		}
		o, err := backend.Classify(t.Context(), b,
			[]backend.Pair{{Query: "a", Text: fmt.Sprint(i)}, {Query: fmt.Sprint(i)}})
		if err != nil {
			t.Fatal(err)
		}
		return answers{*g, *s, v, o}
	}
	for i := range 100 {
		all = append(all, randomAnswers(rng))
		engine.set(all[i])
		get(b, i)
	}
	data, lines := exported(t, from)
	if len(lines) != 702 {
		t.Fatalf("%d lines, want a head, 700 entries and a tail", len(lines))
	}
	for i, want := range []Imported{{Added: 700}, {Present: 700}} {
		if got, err := to.Import(t.Context(), bytes.NewReader(data)); err != nil || got != want {
			t.Fatalf("import %d: %+v, %v, want %+v", i, got, err, want)
		}
	}
	engine.set(answers{})
	for i, want := range all {
		if got := get(Wrap(engine, to, Use, nil), i); !reflect.DeepEqual(got, want) {
			t.Errorf("imported answers %d are\n%+v, want\n%+v", i, got, want)
		}
	}
	if again, _ := exported(t, to); !bytes.Equal(again, data) {
		t.Error("an export of what was imported differs")
	}
}

func TestImportRefuses(t *testing.T) {
	from := open(t)
	b := fill(t, from, 3)
	if _, err := b.Score(t.Context(), &backend.ScoreRequest{
		Messages: ask("x").Messages, Continuations: []string{"yes"},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := backend.Classify(t.Context(), b, []backend.Pair{{Query: "a query", Text: "a text"}}); err != nil {
		t.Fatal(err)
	}
	data, lines := exported(t, from)
	var generate, score, embed, rerank string
	for _, line := range lines {
		switch {
		case strings.Contains(line, `"op":"generate"`):
			generate = line
		case strings.Contains(line, `"op":"score"`):
			score = line
		case strings.Contains(line, `"op":"embed"`):
			embed = line
		case strings.Contains(line, `"op":"rerank"`):
			rerank = line
		}
	}
	to := open(t)
	check := func(want string, r io.Reader) {
		t.Helper()
		if got, err := to.Import(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("imported %+v, %v, want %q", got, err, want)
		}
	}
	replace := func(line, old, new string) io.Reader {
		t.Helper()
		if !strings.Contains(line, old) {
			t.Fatalf("no %q in %s", old, line)
		}
		return compressed(lines[0], strings.Replace(line, old, new, 1), `{"entries":1}`+"\n")
	}
	check("no export", strings.NewReader(""))
	check("no export", strings.NewReader("plain text, and no zstd stream at all"))
	check("no export", compressed("hello\n"))
	check("version 2", compressed(strings.Replace(lines[0], "1", "2", 1)))
	check("ends in the middle", compressed(lines[:3]...))
	check("ends in the middle", compressed(lines[0], generate[:40]))
	check("claims 5", compressed(lines[0], generate, `{"entries":5}`+"\n"))
	check("line 2", compressed(lines[0], "{}\n"))
	check("key of this request", replace(generate, "question", "Question"))
	check("key of this request", replace(generate, "sha256:0", "sha256:1"))
	check("key of this request", replace(generate, "fake 1", "fake 2"))
	check("key of this request", replace(generate, `"max_tokens":8`, `"max_tokens":9`))
	check("unknown field", replace(generate, `"max_tokens":8`, `"max_tokens":8,"extra":1`))
	check("unknown operation", replace(generate, `"op":"generate"`, `"op":"guess"`))
	check("reason", replace(generate, `"stop":"length"`, `"stop":"tired"`))
	check("negative", replace(generate, `"output_tokens":`, `"output_tokens":-`))
	check("logarithm", replace(score, `"logprobs":[[`, `"logprobs":[[7,`))
	_, numbers, _ := strings.Cut(strings.TrimSuffix(rerank, "}\n"), `"answer":`)
	check("no numbers", replace(rerank, numbers, `[]`))
	check("1e50", replace(rerank, numbers, `[1e50]`))
	check("key of this request", replace(rerank, "a query", "another query"))
	check("dimensions", replace(embed, `"dimensions":256`, `"dimensions":255`))
	var line transferLine
	var long vectorRecord
	if json.Unmarshal([]byte(embed), &line) != nil || json.Unmarshal(line.Answer, &long) != nil {
		t.Fatalf("cannot read %s", embed)
	}
	before, _ := json.Marshal(long.Vector)
	copy(long.Vector, vectorBytes([]float32{1, 1, 1}))
	after, _ := json.Marshal(long.Vector)
	check("length", replace(embed, string(before), string(after)))
	half := data[:len(data)/2]
	if _, err := to.Import(t.Context(), bytes.NewReader(half)); err == nil {
		t.Error("half a file was imported without an error")
	}
}

func FuzzReadExport(f *testing.F) {
	from := open(f)
	fill(f, from, 2)
	_, lines := exported(f, from)
	f.Add([]byte(strings.Join(lines, "")), true)
	f.Add([]byte(strings.Join(lines[:3], "")), true)
	f.Add([]byte(lines[0]+"{}\n"), true)
	f.Add([]byte("not zstd"), false)
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	p := from.packer
	f.Fuzz(func(t *testing.T, data []byte, compress bool) {
		if compress {
			data = enc.EncodeAll(data, nil)
		}
		p.readExport(bytes.NewReader(data), func(batch []*entry) error {
			for _, e := range batch {
				checkEntry(t, p, e)
			}
			return nil
		})
	})
}

// checkEntry checks what must hold for an entry, wherever it comes from.
func checkEntry(t *testing.T, p *packer, e *entry) {
	t.Helper()
	request, err := p.unpack(e.key, partRequest, e.request)
	if err != nil {
		t.Fatal(err)
	}
	if key, err := recordKey(e.info, e.op, request); err != nil || key != e.key {
		t.Fatalf("the key of %s is %v (%v), not %v", request, key, err, e.key)
	}
	value, err := p.unpack(e.key, partAnswer, e.answer)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := readable(e.op, value)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := payload(e.op, answer); err != nil || !bytes.Equal(again, value) {
		t.Fatalf("%s gave %q, %v, and was %q", answer, again, err, value)
	}
}

func FuzzUnpack(f *testing.F) {
	p, err := newPacker()
	if err != nil {
		f.Fatal(err)
	}
	key := backend.EncodeKey(backend.Info{}, backend.Embedding, backend.Pair{Text: "x"})
	f.Add([]byte("payload"), []byte("value"))
	f.Add([]byte(strings.Repeat("a", 500)), p.pack(key, partAnswer, []byte("other")))
	f.Fuzz(func(t *testing.T, payload, value []byte) {
		if got, err := p.unpack(key, partAnswer, p.pack(key, partAnswer, payload)); err != nil ||
			!bytes.Equal(got, payload) {
			t.Fatalf("round trip of %q: %q, %v", payload, got, err)
		}
		p.unpack(key, partAnswer, value) // must not panic
		if len(value) >= headerSize {
			sum := p.sum(key, partAnswer, value)
			copy(value[1:], []byte{byte(sum), byte(sum >> 8), byte(sum >> 16), byte(sum >> 24)})
			if got, err := p.unpack(key, partAnswer, value); err == nil && len(got) > maxPayload {
				t.Fatalf("unpacked %d bytes", len(got))
			}
		}
	})
}
