package backend

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// full are requests with every field set.
func full() (Info, *GenerateRequest, *ScoreRequest) {
	info := Info{
		Engine: "engine 1.2", Model: "model", Digest: "sha256:ab", Context: 2048, Slots: 4, Ops: CanGenerate,
		Labels: []string{"good", "bad"},
	}
	messages := []Message{{Role: System, Text: "Be brief."}, {Role: User, Text: "Why? 🙂"}}
	generate := &GenerateRequest{
		Messages:  messages,
		Schema:    json.RawMessage(`{"type": "object"}`),
		MaxTokens: 100,
		Stop:      []string{"\n\n", "END"},
		Sampling:  Sampling{Temperature: 0.7, TopP: 0.9, TopK: 40, Seed: 12345},
		Draw:      2,
	}
	return info, generate, &ScoreRequest{Messages: messages, Continuations: []string{" yes", " no"}}
}

func text(s string) Pair { return Pair{Text: s} }

// TestKeyGolden fixes the bytes of keys: if they change, every cache is void, and keyVersion must change.
func TestKeyGolden(t *testing.T) {
	info, generate, score := full()
	got := fmt.Sprintf("%s\ngenerate %v\ngenerate, least %v\nembed %v\nembed, empty %v\nscore %v\nrerank %v\n"+
		"embed tokens %v\nlabel tokens %v\n",
		keyVersion,
		GenerateKey(info, generate),
		GenerateKey(Info{}, &GenerateRequest{Messages: []Message{{Role: User, Text: "hi"}}, MaxTokens: 1}),
		EncodeKey(info, Embedding, text("a text")), EncodeKey(info, Embedding, text("")),
		ScoreKey(info, score),
		EncodeKey(info, HeadOutputs, Pair{Query: "a query", Text: "a text"}),
		EncodeKey(info, TokenEmbeddings, text("a text")),
		EncodeKey(info, TokenOutputs, Pair{Query: "a query", Text: "a text"}))
	path := filepath.Join("testdata", "keys.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("keys are\n%swant\n%s", got, want)
	}
}

// TestKeyFields changes each field of Info and of the requests, found by reflection, and checks that the
// key changes, or for the fields listed that it does not.
func TestKeyFields(t *testing.T) {
	info, generate, score := full()
	same := map[string]bool{
		"Info.Model": true, // a name that the user may change
		"Info.Slots": true, // how many at once, which does not matter to an answer
		"Info.Ops":   true,

		"Info.Activation": true, // what is put over an answer later
	}
	pair := Pair{Query: "query", Text: "text", Marks: []Mark{{2, "eos"}}}
	marked := []Mark{{1, "sep"}}
	generate.Documents, score.Documents = []string{"a document"}, []string{"a document"}
	generate.Tokens, score.Tokens, score.Likely = []int32{1, 15043}, []int32{1, 15043}, 1
	for i := range generate.Messages { // score has the same
		generate.Messages[i].Marks = marked
	}
	keys := func(i Info, g *GenerateRequest, s *ScoreRequest) [6]Key {
		return [6]Key{GenerateKey(i, g), ScoreKey(i, s),
			EncodeKey(i, Embedding, pair), EncodeKey(i, TokenEmbeddings, pair), EncodeKey(i, HeadOutputs, pair),
			EncodeKey(i, TokenOutputs, pair)}
	}
	before := keys(info, generate, score)
	n := 0
	changeEach(reflect.ValueOf(&info).Elem(), "Info", func(field string) {
		n++
		after := keys(info, generate, score)
		for op, key := range after {
			// Labels say what the numbers are called; they lie in the file, which Digest covers.
			same := same[field] || strings.HasPrefix(field, "Info.Labels")
			if (key == before[op]) != same {
				t.Errorf("%s changed, operation %d: key changed is %v, want %v", field, op, key != before[op], !same)
			}
		}
	})
	changeEach(reflect.ValueOf(generate).Elem(), "GenerateRequest", func(field string) {
		n++
		if GenerateKey(info, generate) == before[0] {
			t.Errorf("%s changed, and the key did not", field)
		}
	})
	changeEach(reflect.ValueOf(score).Elem(), "ScoreRequest", func(field string) {
		n++
		if ScoreKey(info, score) == before[1] {
			t.Errorf("%s changed, and the key did not", field)
		}
	})
	changeEach(reflect.ValueOf(&pair).Elem(), "Pair", func(field string) {
		n++
		for i, output := range Outputs() {
			if EncodeKey(info, output, pair) == before[2+i] {
				t.Errorf("%s of %s changed, and the key did not", field, output)
			}
		}
	})
	if want := 9 + 17 + 8 + 2 + 13 + 4 + 5; n < want {
		t.Errorf("%d changes were tried, want at least %d", n, want)
	}
	if after := keys(info, generate, score); after != before {
		t.Error("the changes were not taken back")
	}
}

// changeEach changes v and what it is made of, one thing at a time, and calls changed after each.
func changeEach(v reflect.Value, name string, changed func(name string)) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	try := func(what string, value reflect.Value) {
		v.Set(value)
		changed(name + what)
		v.Set(old)
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			changeEach(v.Field(i), name+"."+v.Type().Field(i).Name, changed)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			panic(name + " is empty: full must fill it")
		}
		for i := range v.Len() {
			changeEach(v.Index(i), fmt.Sprintf("%s[%d]", name, i), changed)
		}
		try("[:n-1]", v.Slice(0, v.Len()-1))
		longer := reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()+1), v)
		try("+zero", reflect.Append(longer, reflect.Zero(v.Type().Elem())))
	case reflect.String:
		try("", reflect.ValueOf(v.String()+"x").Convert(v.Type()))
	case reflect.Bool:
		try("", reflect.ValueOf(!v.Bool()))
	case reflect.Int, reflect.Int32:
		try("", reflect.ValueOf(v.Int()+1).Convert(v.Type()))
	case reflect.Uint, reflect.Uint64:
		try("", reflect.ValueOf(v.Uint()+1).Convert(v.Type()))
	case reflect.Uint8: // of a schema
		try("", reflect.ValueOf(uint8(v.Uint())^1))
	case reflect.Float64:
		try("", reflect.ValueOf(v.Float()+1e-12))
	default:
		panic(fmt.Sprintf("%s is a %v, which this test cannot change", name, v.Kind()))
	}
}

// TestKeyBoundaries moves bytes across the boundaries between fields: the keys must differ.
func TestKeyBoundaries(t *testing.T) {
	seen := map[Key]string{}
	check := func(what string, key Key) {
		t.Helper()
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have one key", what, other)
		}
		seen[key] = what
	}
	info, _, _ := full()
	gen := func(what string, messages []Message, change func(*GenerateRequest)) {
		t.Helper()
		req := &GenerateRequest{Messages: messages, MaxTokens: 5}
		if change != nil {
			change(req)
		}
		check(what, GenerateKey(info, req))
	}
	gen("ab", []Message{{Role: User, Text: "ab"}}, nil)
	gen("a, b", []Message{{Role: User, Text: "a"}, {Role: User, Text: "b"}}, nil)
	gen("b, a", []Message{{Role: User, Text: "b"}, {Role: User, Text: "a"}}, nil)
	gen("ab and nothing", []Message{{Role: User, Text: "ab"}, {Role: User, Text: ""}}, nil)
	gen("role and text", []Message{{Role: "user", Text: "user"}}, nil)
	gen("longer role", []Message{{Role: "useruser", Text: ""}}, nil)
	gen("stop ab", []Message{{Role: User, Text: "x"}}, func(r *GenerateRequest) { r.Stop = []string{"ab"} })
	gen("stop a, b", []Message{{Role: User, Text: "x"}}, func(r *GenerateRequest) { r.Stop = []string{"a", "b"} })
	gen("schema ab", []Message{{Role: User, Text: "x"}}, func(r *GenerateRequest) { r.Schema = json.RawMessage("ab") })
	gen("text xab", []Message{{Role: User, Text: "xab"}}, nil)
	gen("top-k for top-p", []Message{{Role: User, Text: "x"}}, func(r *GenerateRequest) { r.Sampling.TopK = 1 })
	gen("seed", []Message{{Role: User, Text: "x"}}, func(r *GenerateRequest) { r.Sampling.Seed = 1 })
	gen("once", []Message{{Role: User, Text: "x"}}, func(r *GenerateRequest) { r.Once = true })
	gen("draw", []Message{{Role: User, Text: "x"}}, func(r *GenerateRequest) { r.Draw = 1 })

	score := func(what string, text string, continuations ...string) {
		t.Helper()
		check(what, ScoreKey(info, &ScoreRequest{Messages: []Message{{Role: User, Text: text}}, Continuations: continuations}))
	}
	score("score ab", "x", "ab")
	score("score a, b", "x", "a", "b")
	score("score xab", "xab", "")
	check("embed", EncodeKey(info, Embedding, text("ab")))
	check("embed tokens", EncodeKey(info, TokenEmbeddings, text("ab")))
	check("embed, engine and digest", EncodeKey(Info{Engine: "ab", Digest: "c"}, Embedding, text("d")))
	check("embed, the same moved", EncodeKey(Info{Engine: "a", Digest: "bc"}, Embedding, text("d")))
	check("embed, moved on", EncodeKey(Info{Engine: "ab", Digest: ""}, Embedding, text("cd")))

	check("rerank a, b", EncodeKey(info, HeadOutputs, Pair{Query: "a", Text: "b"}))
	check("rerank b, a", EncodeKey(info, HeadOutputs, Pair{Query: "b", Text: "a"}))
	check("label tokens a, b", EncodeKey(info, TokenOutputs, Pair{Query: "a", Text: "b"}))
	check("rerank ab", EncodeKey(info, HeadOutputs, Pair{Query: "ab", Text: ""}))
	check("embed, query a, text b", EncodeKey(info, Embedding, Pair{Query: "a", Text: "b"})) // invalid, and no other's
	mark := func(token string) []Mark { return []Mark{{1, token}} }
	check("rerank ab, marked", EncodeKey(info, HeadOutputs, Pair{Text: "ab", Marks: mark("eos")}))
	check("rerank ab, marked otherwise", EncodeKey(info, HeadOutputs, Pair{Text: "ab", Marks: mark("sep")}))
	gen("ab, marked", []Message{{Role: User, Text: "ab", Marks: mark("eos")}}, nil)
	gen("marked ab, then b", []Message{{Role: User, Text: "ab", Marks: mark("eos")}, {Role: User, Text: "b"}}, nil)
	gen("ab, then marked b", []Message{{Role: User, Text: "ab"}, {Role: User, Text: "b", Marks: mark("eos")}}, nil)
	gen("x and a document", []Message{{Role: User, Text: "x"}}, func(r *GenerateRequest) { r.Documents = []string{"ab"} })
	gen("x and two", []Message{{Role: User, Text: "x"}}, func(r *GenerateRequest) { r.Documents = []string{"a", "b"} })
	gen("x and a token", []Message{{Role: User, Text: "x"}}, func(r *GenerateRequest) { r.Tokens = []int32{1} })
	gen("no message and a token", nil, func(r *GenerateRequest) { r.Tokens = []int32{1} })
	gen("no message and two", nil, func(r *GenerateRequest) { r.Tokens = []int32{1, 1} })
	check("score tokens", ScoreKey(info, &ScoreRequest{Tokens: []int32{1, 2}}))
	check("score tokens, likely ones", ScoreKey(info, &ScoreRequest{Tokens: []int32{1, 2}, Likely: 1}))
	check("score one token more", ScoreKey(info, &ScoreRequest{Tokens: []int32{1, 2, 0}}))
	check("rerank, the text ab", EncodeKey(info, HeadOutputs, Pair{Query: "", Text: "ab"}))

	// And at random: what differs in any way has another key.
	rng := rand.New(rand.NewPCG(1, 1))
	described := map[Key]string{}
	for range 20000 {
		word := func() string { return strings.Repeat("a", rng.IntN(3)) + strings.Repeat("b", rng.IntN(2)) }
		i := Info{Engine: word(), Digest: word(), Context: rng.IntN(2)}
		req := &GenerateRequest{MaxTokens: rng.IntN(2), Schema: json.RawMessage(word())}
		for range rng.IntN(3) {
			req.Messages = append(req.Messages, Message{Role: Speaker(word()), Text: word()})
			req.Stop = append(req.Stop, word())
		}
		what := fmt.Sprintf("%#v %#v", i, *req)
		key := GenerateKey(i, req)
		if other, ok := described[key]; ok && other != what {
			t.Fatalf("%s and %s have one key", what, other)
		}
		described[key] = what
	}
}

func TestParseKey(t *testing.T) {
	key := EncodeKey(Info{}, Embedding, text("x"))
	if got, err := ParseKey(key.String()); err != nil || got != key {
		t.Errorf("ParseKey(%v) = %v, %v", key, got, err)
	}
	for _, bad := range []string{"", "ab", key.String()[1:], key.String() + "00", strings.Repeat("g", 64)} {
		if got, err := ParseKey(bad); err == nil {
			t.Errorf("ParseKey(%q) = %v, want an error", bad, got)
		}
	}
}
