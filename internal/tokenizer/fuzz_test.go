package tokenizer

import (
	"os"
	"path/filepath"
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
	return e
}

// names are the spellings of all ids.
func (p *pipeline) names() []string {
	switch m := p.model.(type) {
	case *wordPiece:
		return m.names
	case *bytePair:
		return m.names
	}
	return p.model.(*unigram).names
}

func FuzzParse(f *testing.F) {
	for _, name := range names(f) {
		data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAAH///8AYQA="},
		"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"},
		"added_tokens": [{"id": 3, "content": " x", "lstrip": true, "rstrip": true, "normalized": true}],
		"model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1], ["_a", -1e308]]}}`))
	f.Add([]byte(`{"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\w|\\s+(?!\\S)|\\s+"}, "behavior": "MergedWithNext"},
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
	for _, text := range []string{"", "Hello, world!", " it's  <s> [SEP]\n", "東京 é\u0301 👨‍👩‍👧", "a\xffb\x00", "<extra> \t<extra>"} {
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
