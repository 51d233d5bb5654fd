package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func load(t testing.TB, name string) Tokenizer {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// names are the tokenizers of testdata.
func names(t testing.TB) []string {
	files, err := filepath.Glob("testdata/*-*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no tokenizers in testdata: ", err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".json")
	}
	return files
}

// TestSpelled holds that a text cannot spell a special token, however the text around it is cut.
func TestSpelled(t *testing.T) {
	spellings := []string{"[SEP]", "[CLS]", "[MASK]", "[PAD]", "[UNK]", "<s>", "</s>", "<pad>", "<unk>", "<mask>"}
	for _, name := range names(t) {
		k := load(t, name).(*pipeline)
		special := map[int64]bool{}
		for _, s := range k.pair {
			for _, token := range s.tokens {
				special[int64(token.id)] = true
			}
		}
		for _, s := range spellings {
			for _, text := range []string{s, " " + s, "a" + s + "b", "a " + s + " b", s + s} {
				e, err := k.Pair(text, text)
				if err != nil {
					t.Fatal(err)
				}
				for i, id := range e.IDs {
					if special[id] != e.Special[i] {
						t.Errorf("%s: %q became %q: token %d is %q", name, text, e.Tokens, i, e.Tokens[i])
					}
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	const vocabulary = `"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "[X]": 3}, "merges": ["a b"]}`
	check := func(part, want string) {
		t.Helper()
		_, err := Parse([]byte("{" + part + "}"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: error %v, want %q", part, err, want)
		}
	}
	with := func(part, want string) {
		t.Helper()
		check(part+", "+vocabulary, want)
	}
	if _, err := Parse([]byte("{" + vocabulary + "}")); err != nil {
		t.Fatal(err)
	}
	check("", "model: there is none")
	check(`"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "u"}`, "unk_token")
	check(`"model": {"type": "Letters", "vocab": {"a": 0}}`, "Letters")
	check(`"model": {"type": "BPE", "vocab": {}}`, "empty")
	check(`"model": {"type": "BPE", "vocab": {"a": -1}}`, "outside")
	check(`"model": {"type": "BPE", "vocab": {"a": 2000000000}}`, "outside")
	check(`"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}}`, "same id")
	check(`"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}`, "merge 0")
	check(`"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["ab"]}`, "1 symbols")
	check(`"model": {"type": "BPE", "vocab": {"a": 0}, "dropout": 0.1}`, "dropout")
	check(`"model": {"type": "BPE", "vocab": {"a": 0}, "unk_token": "u"}`, "unk_token")
	check(`"model": {"type": "WordPiece", "vocab": {"a": 0}}`, "unk_token")
	check(`"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1}`, "unk_id")
	check(`"model": {"type": "Unigram", "vocab": [["a"]], "unk_id": 0}`, "1 values")
	check(`"model": {"type": "Unigram", "vocab": [["`+strings.Repeat("a", 2000)+`", 0]], "unk_id": 0}`, "too long")
	with(`"normalizer": {"type": "Magic"}`, "Magic")
	with(`"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Magic"}]}`, "Magic")
	with(`"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA/w=="}`, "charsmap")
	with(`"normalizer": {"type": "Replace", "pattern": {"Regex": "a*"}, "content": ""}`, "matches nothing")
	with(`"normalizer": {"type": "Replace", "pattern": {"Regex": "^a"}, "content": ""}`, "anchor")
	with(`"pre_tokenizer": {"type": "UnicodeScripts"}`, "UnicodeScripts")
	with(`"pre_tokenizer": {"type": "FixedLength", "length": 0}`, "not positive")
	with(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a(?=b)"}, "behavior": "Isolated"}`, "a(?=b)")
	with(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a{900}b{900}"}, "behavior": "Isolated"}`, "steps")
	with(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a++"}, "behavior": "Isolated"}`, "a++")
	with(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\bab"}, "behavior": "Isolated"}`, `\b`)
	with(`"pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Odd"}`, "Odd")
	with(`"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "ByteLevel"}]}`, "twice")
	with(`"pre_tokenizer": {"type": "Metaspace", "replacement": "ab"}`, "one character")
	with(`"post_processor": {"type": "Magic"}`, "Magic")
	with(`"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 9], "cls": ["[X]", 3]}`, "no id 9")
	with(`"post_processor": {"type": "TemplateProcessing", "single": [], "pair": []}`, "each text once")
	with(`"added_tokens": [{"id": 7, "content": "a"}]`, "has id 7 here and 0")
	with(`"added_tokens": [{"id": 1, "content": "c"}]`, "same id")
	deep := strings.Repeat(`{"type": "Sequence", "normalizers": [`, 20) + strings.Repeat("]}", 20)
	with(`"normalizer": `+deep, "too deep")
}

// TestGrowth holds that a file cannot make much of little.
func TestGrowth(t *testing.T) {
	twice := strings.Repeat(`{"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaa"},`, 40)
	k, err := Parse([]byte(`{"normalizer": {"type": "Sequence", "normalizers": [` + strings.TrimSuffix(twice, ",") + `]},
		"model": {"type": "BPE", "vocab": {"a": 0}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Single("a"); err == nil || !strings.Contains(err.Error(), "makes more than") {
		t.Errorf("error %v", err)
	}
	if _, err := k.Single(strings.Repeat("b", maxText+1)); err == nil {
		t.Error("a text of any size is read")
	}
}

// TestLong reads a quarter of a megabyte without a space, which a quadratic algorithm would not do in this time.
func TestLong(t *testing.T) {
	for _, name := range names(t) {
		k := load(t, name)
		for _, of := range []string{"a", " ", "é\u0301"} {
			start := time.Now()
			if _, err := k.Single(strings.Repeat(of, 1<<18/len(of))); err != nil {
				t.Errorf("%s, %q: %v", name, of, err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%s, %q: %v", name, of, took)
			}
		}
	}
}

// TestVocabulary opens BERT's older form: it reads what tokenizer.json would.
func TestVocabulary(t *testing.T) {
	data, err := os.ReadFile("testdata/wordpiece-uncased.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Model struct{ Vocab map[string]int }
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(f.Model.Vocab))
	for text, id := range f.Model.Vocab {
		lines[id] = text
	}
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(folder); err == nil {
		t.Error("an empty folder has a tokenizer")
	}
	write("vocab.txt", strings.Join(lines, "\n")+"\n")
	want := load(t, "wordpiece-uncased")
	check := func(text string, same bool) {
		t.Helper()
		k, err := Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.Pair(text, "the élève")
		if err != nil {
			t.Fatal(err)
		}
		other, err := want.Pair(text, "the élève")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(got.IDs, other.IDs) != same || same && !slices.Equal(got.Types, other.Types) {
			t.Errorf("%q: got %q, tokenizer.json gives %q", text, got.Tokens, other.Tokens)
		}
	}
	check("The Café [SEP] 東京 unbelievable", true)
	write("tokenizer_config.json",
		`{"do_lower_case": false, "sep_token": {"content": "[SEP]"}, "tokenizer_class": "BertTokenizer"}`)
	check("The Café", false)
	write("tokenizer_config.json", `{"tokenizer_class": "BertJapaneseTokenizer"}`)
	if _, err := Open(folder); err == nil || !strings.Contains(err.Error(), "BertJapaneseTokenizer") {
		t.Errorf("error %v", err)
	}
	write("tokenizer.json", string(data))
	check("The Café", true)
	write("tokenizer_config.json", `{"do_lower_case": false, "tokenizer_class": "PreTrainedTokenizerFast"}`)
	check("The Café", true) // only BERT's classes rewrite their tokenizer.json
	for class, same := range map[string]bool{`"do_lower_case": false`: false, `"strip_accents": false`: false,
		`"do_lower_case": true, "strip_accents": null, "tokenize_chinese_chars": true`: true} {
		write("tokenizer_config.json", `{"tokenizer_class": "BertTokenizerFast", `+class+`}`)
		check("The Café", same)
	}
	write("tokenizer_config.json", "{")
	if _, err := Open(folder); err == nil || !strings.Contains(err.Error(), "tokenizer_config.json") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkSingle(b *testing.B) {
	text := strings.Repeat("The retrieval step found two passages about Zürich and one about the river Limmat. ", 20)
	run := func(name string, k Tokenizer) {
		b.Run(name, func(b *testing.B) {
			tokens := 0
			for b.Loop() {
				e, err := k.Single(text)
				if err != nil {
					b.Fatal(err)
				}
				tokens += len(e.IDs)
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
	for _, name := range names(b) {
		run(name, load(b, name))
	}
	k, err := Parse(minilm(b))
	if err != nil {
		b.Fatal(err)
	}
	run("minilm", k)
}
