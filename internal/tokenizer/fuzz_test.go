package tokenizer

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkEncoded holds what is true of any text and any tokenizer.
func checkEncoded(t *testing.T, k Tokenizer, text string) Encoded {
	t.Helper()
	e, err := k.Pair(text, "b "+text)
	if err != nil {
		return e
	}
	names := k.(*pipeline).names()
	n := len(e.IDs)
	if len(e.Types) != n || len(e.Tokens) != n || len(e.Special) != n || len(e.Pairs) != n {
		t.Fatalf("%q: slices of different lengths", text)
	}
	for i, id := range e.IDs {
		if id < 0 || int(id) >= len(names) {
			t.Fatalf("%q: the id %d of %q is not in the vocabulary", text, id, e.Tokens[i])
		}
		if e.Special[i] != (e.Pairs[i] < 0) {
			t.Fatalf("%q: token %d is of text %d", text, i, e.Pairs[i])
		}
	}
	spans, err := k.Locate(text)
	if err != nil {
		return e
	}
	own := slices.DeleteFunc(slices.Clone(e.Pairs), func(pair int) bool { return pair != 0 })
	if len(spans) != len(own) {
		t.Fatalf("%q: %d tokens, %d of them located", text, len(own), len(spans))
	}
	last := 0
	for i, s := range spans {
		if s[0] < last || s[1] < s[0] || s[1] > len(text) || !utf8.ValidString(text[s[0]:s[1]]) {
			t.Fatalf("%q: token %d, %q, is said to stand at %v", text, i, e.Tokens, s)
		}
		last = s[0]
	}
	return e
}

// names are the spellings of all ids.
func (p *pipeline) names() []string {
	switch m := p.model.(type) {
	case *wordPiece:
		return m.names
	case *bytePair:
		return m.names
	case *wordLevel:
		return m.names
	}
	return p.model.(*unigram).names
}

// small cuts the model of a file to its first entries, so that a fuzzer finds its way in it.
func small(t testing.TB, data []byte) []byte {
	var file, model map[string]json.RawMessage
	var list []json.RawMessage
	var ids map[string]int
	if err := errors.Join(json.Unmarshal(data, &file), json.Unmarshal(file["model"], &model)); err != nil {
		t.Fatal(err)
	}
	put := func(to map[string]json.RawMessage, key string, v any) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		to[key] = data
	}
	if json.Unmarshal(model["vocab"], &list) == nil {
		put(model, "vocab", list[:30])
	} else if err := json.Unmarshal(model["vocab"], &ids); err == nil {
		maps.DeleteFunc(ids, func(_ string, id int) bool { return id >= 30 })
		put(model, "vocab", ids)
	}
	if model["merges"] != nil {
		model["merges"] = json.RawMessage("[]")
	}
	put(file, "model", model)
	put(file, "decoder", nil)
	put(file, "version", "1.0")
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func FuzzParse(f *testing.F) {
	for _, name := range names(f) {
		data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		data = small(f, data)
		if _, err := Parse(data); err != nil {
			f.Fatal(name, err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAAH///8AYQA="},
		"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"},
		"added_tokens": [{"id": 3, "content": " x", "lstrip": true, "rstrip": true, "normalized": true}],
		"model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1], ["_a", -1e308]]}}`))
	f.Add([]byte(`{"pre_tokenizer": {"type": "Split", "behavior": "MergedWithNext",
			"pattern": {"Regex": "\\w|\\s+(?!\\S)|\\s+"}},
		"model": {"type": "BPE", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2, "ab": 3}, "merges": [["a", "b"]]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := Parse(data)
		if err != nil {
			return
		}
		for _, text := range []string{"", "a", " x  ab\n\tÉ字 ﬁ<s>", "\xff a", "   "} {
			checkEncoded(t, k, text)
		}
	})
}

func FuzzSingle(f *testing.F) {
	all := map[string]Tokenizer{}
	for _, name := range names(f) {
		all[name] = load(f, name)
	}
	for _, text := range []string{"", "Hello, world!", " it's  <s> [SEP]\n", "東京 é\u0301 👨‍👩‍👧",
		"a\xffb\x00", "<extra> \t<extra>"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, k := range all {
			e := checkEncoded(t, k, text)
			if name != "bpe-roberta" && name != "bpe-llama3" {
				continue
			}
			var first strings.Builder
			for i, token := range e.Tokens {
				if e.Pairs[i] == 0 {
					first.WriteString(token)
				}
			}
			if got, want := decodeBytes(t, first.String()), strings.ToValidUTF8(text, "\uFFFD"); got != want {
				t.Errorf("%s: %q decodes to %q", name, want, got)
			}
		}
	})
}

// decodeBytes takes a byte-level text back to what it was.
func decodeBytes(t *testing.T, text string) string {
	bytes := map[rune]byte{}
	for b := range 256 {
		bytes[byteRune(byte(b))] = byte(b)
	}
	if len(bytes) != 256 {
		t.Fatal("two bytes have the same character")
	}
	var out []byte
	for _, r := range text {
		out = append(out, bytes[r])
	}
	if !utf8.Valid(out) {
		t.Errorf("%q decodes to %q, which is not UTF-8", text, out)
	}
	return string(out)
}
