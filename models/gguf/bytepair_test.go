package gguf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const tinyBytePair = `{"model":{"type":"BPE","unk_token":"[UNK]","vocab":{"a":0,"b":1,"ab":2,"[UNK]":3,"[CLS]":4,"[SEP]":5},` +
	`"merges":["a b"]},"added_tokens":[{"id":4,"content":"[CLS]","special":true},{"id":6,"content":"xy","special":false}],` +
	`"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},` +
	`"post_processor":{"type":"TemplateProcessing",` +
	`"single":[{"SpecialToken":{"id":"[CLS]"}},{"Sequence":{"id":"A"}},{"SpecialToken":{"id":"[SEP]"}}],` +
	`"pair":[{"SpecialToken":{"id":"[CLS]"}},{"Sequence":{"id":"A"}},{"SpecialToken":{"id":"[SEP]"}},` +
	`{"Sequence":{"id":"B"}},{"SpecialToken":{"id":"[SEP]"}}]}}`

func TestBytePair(t *testing.T) {
	v, err := readBytePair([]byte(tinyBytePair), "roberta-bpe", 8)
	if err != nil {
		t.Fatal(err)
	}
	want := &bytePair{
		tokens: []string{"a", "b", "ab", "[UNK]", "[CLS]", "[SEP]", "xy", "[PAD7]"},
		types:  []int32{1, 1, 1, 1, 3, 3, 4, 5}, merges: []string{"a b"}, pre: "roberta-bpe", cls: 4, sep: 5, unk: "[UNK]",
	}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("%+v, want %+v", v, want)
	}
	change := func(old, new string) []byte {
		t.Helper()
		if !strings.Contains(tinyBytePair, old) {
			t.Fatalf("there is no %q", old)
		}
		return []byte(strings.Replace(tinyBytePair, old, new, 1))
	}
	twice, err := readBytePair(change(`{"Sequence":{"id":"B"}}`,
		`{"SpecialToken":{"id":"[SEP]"}},{"Sequence":{"id":"B"}}`), "", 8)
	if err != nil || !twice.twice {
		t.Errorf("two separators: %+v, %v", twice, err)
	}
	merges, err := readBytePair(change(`"a b"`, `["a","b"]`), "", 8)
	if err != nil || !slices.Equal(merges.merges, want.merges) {
		t.Errorf("merges as lists: %+v, %v", merges, err)
	}
	refuse := func(old, new, want string) {
		t.Helper()
		if _, err := readBytePair(change(old, new), "", 8); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", new, err, want)
		}
	}
	refuse(`"BPE"`, `"Unigram"`, "only BPE")
	refuse(`"unk_token"`, `"byte_fallback":true,"unk_token"`, "byte-level")
	refuse(`"ByteLevel"`, `"Metaspace"`, "pre-tokenizer")
	refuse(`"add_prefix_space":false`, `"add_prefix_space":true`, "pre-tokenizer")
	refuse(`"normalizer":null`, `"normalizer":{"type":"Lowercase"}`, "normalizer")
	refuse(`"b":1`, `"b":0`, "not its own")
	refuse(`"b":1`, `"b":8`, "not its own")
	refuse(`"id":6`, `"id":2`, "not its own")
	refuse(`"a b"`, `"ab"`, "no merge")
	refuse(`"a b"`, `3`, "no merge")
	refuse(`"TemplateProcessing"`, `"BertProcessing"`, "post-processor")
	refuse(`"TemplateProcessing"`, `"RobertaProcessing"`, "no cls and sep")
	refuse(`"single":[{"SpecialToken":{"id":"[CLS]"}},`, `"single":[`, "not one token")
	refuse(`{"Sequence":{"id":"B"}}`, `{"Sequence":{"id":"A"}}`, "template for pairs")
	refuse(`"[SEP]":5`, `"[SEQ]":5`, "no token")
}

// FuzzBytePair checks that what is read can be written, and read again by Check's rules for vocabularies.
func FuzzBytePair(f *testing.F) {
	f.Add([]byte(tinyBytePair), uint16(8))
	f.Fuzz(func(t *testing.T, data []byte, rows uint16) {
		v, err := readBytePair(data, "roberta-bpe", int64(rows))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, v.fields(), nil); err != nil {
			t.Fatal(err)
		}
		h, err := decode(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if tokens, _ := h.Strings("tokenizer.ggml.tokens"); len(tokens) != int(rows) {
			t.Fatalf("%d tokens for %d rows", len(tokens), rows)
		}
	})
}

func TestConvertConfigs(t *testing.T) {
	modern := func(change string) error {
		var c map[string]any
		if err := json.Unmarshal([]byte(`{"hidden_size":8,"intermediate_size":8,"num_hidden_layers":1,`+
			`"num_attention_heads":2,"max_position_embeddings":16,"vocab_size":8`+change+`}`), &c); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		_, err = readModernConfig(data)
		return err
	}
	if err := modern(""); err != nil {
		t.Error(err)
	}
	check := func(change, want string) {
		t.Helper()
		if err := modern(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
	check(`,"hidden_activation":"silu"`, "activation")
	check(`,"mlp_bias":true`, "biases")
	check(`,"norm_eps":0`, "norm_eps")
	check(`,"global_rope_theta":-1`, "rope_theta")
	check(`,"num_attention_heads":3`, "does not divide")
	check(`,"local_attention":0`, "local_attention is 0")

	convert := func(config string) error {
		dir := t.TempDir()
		writeFileForTest(t, filepath.Join(dir, "config.json"), []byte(config))
		_, _, err := Convert(io.Discard, dir, "x")
		return err
	}
	sizes := `"hidden_act":"gelu","hidden_size":8,"intermediate_size":8,"num_hidden_layers":1,"num_attention_heads":2,` +
		`"max_position_embeddings":16,"vocab_size":8,"layer_norm_eps":1e-5`
	for config, want := range map[string]string{
		`{"model_type":"roberta","type_vocab_size":2,` + sizes + `}`:                    "type_vocab_size",
		`{"model_type":"roberta","type_vocab_size":1,"pad_token_id":15,` + sizes + `}`:  "pad_token_id",
		`{"model_type":"roberta","type_vocab_size":1,"pad_token_id":-3,` + sizes + `}`:  "pad_token_id",
		`{"model_type":"roberta","architectures":["RobertaForSequenceClassification"]}`: "safetensors",
		`{"model_type":"gpt2"}`: "only bert, roberta and modernbert",
		`{"model_type":"bert"}`: "activation",
	} {
		if err := convert(config); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %q", config, err, want)
		}
	}
}
