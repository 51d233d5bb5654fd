package onnx

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/tokenizer"
)

// TestArchitectures writes small models as Hugging Face's exporter does, and holds the engine's answers to those of
// testdata/reference.py.
func TestArchitectures(t *testing.T) {
	library(t)
	data, err := os.ReadFile(filepath.Join("testdata", "reference.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		First, Second []int64
		Answers       map[string][]float64
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatal("reference.json has no cases: ", err)
	}
	for name, a := range architectures() {
		t.Run(name, func(t *testing.T) {
			dir := files(t, map[string]string{"onnx/model.onnx": string(a.file), "config.json": a.config})
			o := Options{Lib: os.Getenv("ASSAY_TEST_ORT"), Model: dir, cutter: spelled{}}
			e, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if got := e.Info().Ops &^ backend.CanMark; got != a.ops {
				t.Errorf("it can %v, want %v", got, a.ops)
			}
			if i := e.Info(); !slices.Equal(i.Labels, a.labels) || i.Activation != a.activation {
				t.Errorf("labels %q by %q, want %q by %q", i.Labels, i.Activation, a.labels, a.activation)
			}
			d, err := Describe(dir)
			if err != nil {
				t.Fatal(err)
			}
			if i := e.Info(); d.Ops != i.Ops || d.Context != i.Context || !slices.Equal(d.Labels, i.Labels) ||
				d.Activation != i.Activation || !reflect.DeepEqual(d.Inputs, e.session.Inputs) {
				t.Errorf("its files are described as %+v", d)
			}
			for _, c := range cases {
				want, ok := c.Answers[name]
				if !ok {
					t.Fatal("the reference does not know it")
				}
				near(t, fmt.Sprint(c.First, c.Second), answer(t, e, c.First, c.Second), chosen(a, want, c.First, c.Second))
			}
		})
	}
}

// answer is what the engine says of a pair, all its numbers in a row.
func answer(t *testing.T, e *Engine, first, second []int64) []float32 {
	t.Helper()
	p := backend.Pair{Query: spell(first), Text: spell(second)}
	if len(second) == 0 {
		p = backend.Pair{Text: spell(first)}
	}
	var list [][]float32
	var err error
	switch ops := e.Info().Ops; {
	case ops.Has(backend.CanClassify):
		list, err = backend.Classify(t.Context(), e, []backend.Pair{p})
	case ops.Has(backend.CanLabelTokens):
		var items []backend.Encoded
		if items, err = backend.LabelTokens(t.Context(), e, []backend.Pair{p}); err == nil {
			list = items[0].Vectors
			for i, s := range items[0].Spans {
				if id := own(strings.Fields(p.Text))[i]; p.Text[s.Low:s.High] != id {
					t.Errorf("token %d, %s, is said to stand at %q", i, id, p.Text[s.Low:s.High])
				}
			}
		}
	default:
		list, err = backend.Embed(t.Context(), e, []string{strings.TrimSpace(p.Query + " " + p.Text)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(list...)
}

// chosen are the numbers of the reference that the engine gives: of tokens, those of the text's own.
func chosen(a architecture, want []float64, first, second []int64) []float64 {
	if a.ops != backend.CanLabelTokens {
		return want
	}
	var list []float64
	text := second
	if len(second) == 0 {
		text = first
	}
	skipped := len(first) + len(second) - len(text)
	for i, id := range text {
		if id >= 5 {
			list = append(list, want[2*(skipped+i):2*(skipped+i)+2]...)
		}
	}
	return list
}

// spelled is a tokenizer of texts that are lists of ids, special ones included: those below 5.
type spelled struct{}

func (spelled) Single(text string) (tokenizer.Encoded, error) { return encodeSpelled(text) }

func (spelled) Pair(first, second string) (tokenizer.Encoded, error) {
	return encodeSpelled(first, second)
}

func (spelled) Marked(string, []string, []string) (tokenizer.Encoded, error) {
	return tokenizer.Encoded{}, errors.New("not asked for")
}

func (spelled) Locate(text string) ([][2]int, error) {
	spans, err := words{}.Locate(text)
	return slices.DeleteFunc(spans, func(s [2]int) bool { return special(text[s[0]:s[1]]) }), err
}

func special(id string) bool { return len(id) == 1 && id < "5" }

// own are the ids that are not special.
func own(ids []string) []string { return slices.DeleteFunc(ids, special) }

func spell(ids []int64) string { return strings.Trim(fmt.Sprint(ids), "[]") }

func encodeSpelled(texts ...string) (e tokenizer.Encoded, err error) {
	for pair, text := range texts {
		for _, word := range strings.Fields(text) {
			id, err := strconv.Atoi(word)
			if err != nil {
				id = 7 // the word that an engine is tried with
			}
			e.IDs = append(e.IDs, int64(id))
			e.Types = append(e.Types, int64(pair))
			e.Tokens = append(e.Tokens, word)
			e.Special = append(e.Special, special(word))
			of := pair
			if special(word) {
				of = -1
			}
			e.Pairs = append(e.Pairs, of)
		}
	}
	return e, nil
}
