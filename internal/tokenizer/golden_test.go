package tokenizer

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// golden is testdata/golden.json, which testdata/golden.js writes with Hugging Face's own library.
type golden struct {
	Texts      []string `json:"texts"`
	Tokenizers map[string]struct {
		Singles [][]int64 `json:"singles"`
		Pairs   []struct {
			Texts     [2]string `json:"texts"`
			IDs       []int64   `json:"ids"`
			Types     []int64   `json:"types"`
			Tokens    []string  `json:"tokens"`
			Special   []int     `json:"special"`
			Sequences []int     `json:"sequences"`
		} `json:"pairs"`
	} `json:"tokenizers"`
}

func TestGolden(t *testing.T) {
	folder := "testdata"
	if other := os.Getenv("ASSAY_TEST_TOKENIZERS"); other != "" { // what golden.js wrote with more random texts
		folder = other
	}
	data, err := os.ReadFile(filepath.Join(folder, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	for name, want := range g.Tokenizers {
		t.Run(name, func(t *testing.T) {
			var data []byte
			if name == "minilm" {
				data = minilm(t)
			} else if data, err = os.ReadFile(filepath.Join(folder, name+".json")); err != nil {
				t.Fatal(err)
			}
			k, err := Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			different := 0
			for i, text := range g.Texts {
				e, err := k.Single(text)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(append([]int64{}, e.IDs...), want.Singles[i]) {
					if different++; different <= 10 {
						t.Errorf("%q:\n got %v\nwant %v\n%q", text, e.IDs, want.Singles[i], e.Tokens)
					}
				}
			}
			for _, pair := range want.Pairs {
				e, err := k.Pair(pair.Texts[0], pair.Texts[1])
				if err != nil {
					t.Fatal(err)
				}
				special := make([]bool, len(pair.Special))
				for i, s := range pair.Special {
					special[i] = s == 1
				}
				if w := (Encoded{pair.IDs, pair.Types, pair.Tokens, special, pair.Sequences}); !reflect.DeepEqual(e, w) {
					t.Errorf("%q:\n got %v\nwant %v", pair.Texts, e, w)
				}
			}
			t.Logf("%d texts, %d different", len(g.Texts), different)
		})
	}
}

// minilm reads the tokenizer.json of all-MiniLM-L6-v2.
func minilm(t testing.TB) []byte {
	name := os.Getenv("ASSAY_TEST_MINILM")
	if name == "" {
		t.Skip("ASSAY_TEST_MINILM does not name the MiniLM package: run make test")
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(h.Name, "/tokenizer.json") {
			data, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
}
