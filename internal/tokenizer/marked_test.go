package tokenizer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMarked checks where special tokens stand, by the names of a folder and by their spelling, and that a text which
// spells one stays text.
func TestMarked(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"vocab.txt": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\nsleeps\n[\n]\nse\n##p\n",
		"tokenizer_config.json": `{"tokenizer_class": "BertTokenizer", "sep_token": "[SEP]", ` +
			`"eos_token": {"content": "[MASK]"}, "do_lower_case": true}`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tok, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	check := func(before string, specials, after []string, want ...string) {
		t.Helper()
		e, err := tok.Marked(before, specials, after)
		if err != nil || !slices.Equal(e.Tokens, want) {
			t.Errorf("%q %q %q: %q, %v, want %q", before, specials, after, e.Tokens, err, want)
			return
		}
		for i, of := range e.Pairs {
			if around := i == 0 || i == len(want)-1; (of < 0) != around || e.Types[i] != 0 {
				t.Errorf("token %d is of text %d, with the type %d", i, of, e.Types[i])
			}
		}
	}
	check("the cat", []string{"sep"}, []string{"sleeps"}, "[CLS]", "the", "cat", "[SEP]", "sleeps", "[SEP]")
	check("the cat", []string{"eos"}, []string{"sleeps"}, "[CLS]", "the", "cat", "[MASK]", "sleeps", "[SEP]")
	check("", []string{"pad", "[UNK]"}, []string{"the", ""}, "[CLS]", "[PAD]", "the", "[UNK]", "[SEP]")
	check("[SEP]", []string{"cls"}, []string{"the"}, "[CLS]", "[", "se", "##p", "]", "[CLS]", "the", "[SEP]")
	check("the", nil, nil, "[CLS]", "the", "[SEP]")
	unknown := (*UnknownError)(nil)
	if _, err := tok.Marked("the", []string{"cat"}, []string{""}); !errors.As(err, &unknown) || unknown.Name != "cat" {
		t.Errorf("a token that is not special: %v", err)
	}
	if _, err := tok.Marked("the", []string{"sep"}, nil); err == nil {
		t.Error("a special token without a text after it")
	}
}
