package tokenizer

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestLocate has tokens stand where they were cut from, through all that is done to a text before.
func TestLocate(t *testing.T) {
	check := func(name, text string, want ...string) {
		t.Helper()
		spans, err := load(t, name).Locate(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range spans {
			got = append(got, text[s[0]:s[1]])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q is cut at %q, want %q", name, text, got, want)
		}
	}
	check("wordpiece-uncased", "  The Café,\t東京 fe\u0301e\u00ad.", "The", "Café", ",", "東", "京", "f", "e\u0301e", ".")
	check("bpe-roberta", " The  \ncat\n", " ", "The", " ", " ", "\n", "c", "at", "\n")
	check("unigram-t5", "ﬁne  ½ the cat", "", "ﬁ", "ﬁ", "ﬁ", "ne", " ", " ", "½", "½", "the", "ca", "t")
}

// TestLocateAll covers every character of a text that is no white space, whatever the tokenizer.
func TestLocateAll(t *testing.T) {
	texts := []string{"The retrieval step found  two passages about Zürich, and one about the river.\n\nWhy?",
		"Модель отвечает на вопросы; 東京は日本の首都です。", "naïve café — ŒUVRE 🙂👍🏽 ½ ﬁne", " x ", "don't 'tis 1,234.5"}
	for _, name := range names(t) {
		if strings.HasPrefix(name, "split-") { // these drop what their vocabulary has not
			continue
		}
		k := load(t, name)
		for _, text := range texts {
			spans, err := k.Locate(text)
			if err != nil {
				t.Fatal(err)
			}
			covered := make([]bool, len(text))
			for _, s := range spans {
				for i := s[0]; i < s[1]; i++ {
					covered[i] = true
				}
			}
			for i, r := range text {
				if !covered[i] && !unicode.IsSpace(r) {
					t.Errorf("%s: %q is in no token of %q: %v", name, r, text, spans)
				}
			}
		}
	}
	if _, err := load(t, names(t)[0]).Locate("\xff"); err == nil {
		t.Error("a text that is not UTF-8 is located")
	}
}

// TestWordLevel has whole words as tokens, and pieces of a fixed length.
func TestWordLevel(t *testing.T) {
	check := func(splitter, unknown, text, want string) {
		t.Helper()
		k, err := Parse([]byte(`{"pre_tokenizer": {"type": ` + splitter + `},
			"model": {"type": "WordLevel", "vocab": {"a": 0, "é🙂": 1, "[UNK]": 2, "b c": 3}` + unknown + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		e, err := k.Single(text)
		if got := strings.Join(e.Tokens, "|"); err != nil || got != want {
			t.Errorf("%s: %q became %q (%v), want %q", splitter, text, got, err, want)
		}
	}
	const unknown = `, "unk_token": "[UNK]"`
	check(`"WhitespaceSplit"`, unknown, "a é🙂 ab a", "a|é🙂|[UNK]|a")
	check(`"WhitespaceSplit"`, "", "a é🙂 ab a", "a|é🙂|a")
	check(`"FixedLength", "length": 2`, unknown, "é🙂a é🙂a", "é🙂|[UNK]|é🙂|a")
	check(`"FixedLength", "length": 3`, unknown, "b c", "b c")
	check(`"FixedLength"`, unknown, "b c  b c", "[UNK]|b c")
}
