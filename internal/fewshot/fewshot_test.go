package fewshot

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

func read(t testing.TB, name, text string) (*File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return Read(context.Background(), path)
}

func TestReadLabels(t *testing.T) {
	for _, tt := range []struct {
		name, row string
		want      map[string]bool
	}{
		{"people's", `"human": {"faithfulness": true, "naturalness": 4, "completeness": 0}`,
			map[string]bool{"faithfulness": true, "completeness": false}},
		{"a test set's", `"labels": {"answer_faithfulness": 1, "context_relevance": 0}`,
			map[string]bool{"faithfulness": true, "context_relevance": false}},
		{"ARES'", `"machine": {"Answer_Relevance_Label": "No"}`, map[string]bool{"answer_relevance": false}},
		{"a column", `"Answer_Relevance_Label": "[[Yes]]", "faithfulness": 0.3`, map[string]bool{"answer_relevance": true}},
		{"raters", `"human": {"faithfulness": [1, true, "yes", null]}`, map[string]bool{"faithfulness": true}},
		{"none", `"human": {"faithfulness": null, "completeness": "", "answer_relevance": []}`, map[string]bool{}},
		{"people before machines", `"machine": {"faithfulness": 1, "completeness": 1}, "human": {"faithfulness": 0}`,
			map[string]bool{"faithfulness": false, "completeness": true}},
		{"of another shape", `"human": "me", "labels": [1], "machine": 7`, map[string]bool{}},
	} {
		f, err := read(t, "rows.jsonl", `{"question": "q", `+tt.row+"}\n")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := f.Shots[0].Verdicts; !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for row, want := range map[string]string{
		`"human": {"faithfulness": 0.5}`:                                     "neither yes nor no",
		`"human": {"faithfulness": [1, 0]}`:                                  "do not agree",
		`"human": {"faithfulness": [[1]]}`:                                   "a list in a list",
		`"labels": {"faithfulness": {"a": 1}}`:                               "neither yes nor no",
		`"labels": {"faithfulness": 1, "answer_faithfulness": 0}`:            "says otherwise",
		`"Contradictory_Answer": 7`:                                          "not text",
		`"contexts": {"x": 1}`:                                               "want a member text",
		`"human": {"faithfulness": "` + strings.Repeat("maybe ", 999) + `"}`: "neither yes nor no",
	} {
		_, err := read(t, "rows.jsonl", `{"id": "r", "question": "q", `+row+"}\n")
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
			t.Errorf("%.60s: %v, want %q", row, err, want)
		}
	}
}

// ARES' columns are known without being named, and contexts that have a name of ours go before a Document.
func TestReadColumns(t *testing.T) {
	f, err := read(t, "few.tsv", "Query\tDocument\tAnswer\tContradictory_Answer\tContext_Relevance_Label\n"+
		"q\td\ta\tc\t[[Yes]]\n")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(f.Shots)
	if want := `[{"Name":"row-1","Question":"q","Context":"d","Answer":"a","References":null,"Wrong":"c",` +
		`"Verdicts":{"context_relevance":true}}]`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	f, err = read(t, "rows.jsonl", `{"question": "q", "contexts": ["c", "d"], "document": "e.pdf"}`)
	if err != nil || f.Shots[0].Context != "c\n\nd" {
		t.Errorf("%+v %v, want the contexts c and d", f, err)
	}
	if _, err := read(t, "rows.jsonl", strings.Repeat("{\"question\": \"q\"}\n", maxRows+1)); err == nil {
		t.Error("a file of too many rows is read")
	}
}

// Fit tells an example that fills the context from one that does not.
func TestFit(t *testing.T) {
	p, err := prompts.Parse("p.tmpl", "version: 1\nmax_tokens: 1\n--- user\n{{.Question}}\n")
	if err != nil {
		t.Fatal(err)
	}
	p.Example = prompts.Example{Data: prompts.Shot{Question: "<q>"}, Verdict: true,
		Shot: func(s *prompts.Shot) (any, string) { return s, s.Says("faithfulness") }}
	judge := &backendtest.Fake{About: backend.Info{Context: 512}, LogProbs: func([]backend.Message, string) []float64 {
		return []float64{math.Log(0.5)}
	}}
	fits := func(question string) error {
		set, taught, err := prompts.Set{}.WithShots([]prompts.Shot{
			{Question: question, Verdicts: map[string]bool{"faithfulness": true}}}, []*prompts.Prompt{p})
		if err != nil {
			t.Fatal(err)
		}
		given := Given{file: "rows.jsonl", taught: taught}
		return given.Fit(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Judge: judge}, Prompts: set},
			[]*prompts.Prompt{p})
	}
	if err := fits("short"); err != nil {
		t.Errorf("a short example: %v", err)
	}
	err = fits(strings.Repeat("long ", 3000))
	if !errors.Is(err, backend.ErrPromptTooLong) || !errors.As(err, new(*runs.InputError)) ||
		!strings.Contains(err.Error(), "--examples rows.jsonl: judge: ") {
		t.Errorf("%v, want that the prompt is too long by the file", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"question": "q", "contexts": ["c"], "answer": "a", "human": {"faithfulness": [1, 0]}}`), true)
	f.Add([]byte("Query\tDocument\tAnswer\tContext_Relevance_Label\nq\td\ta\t[[Yes]]\n"), false)
	f.Add([]byte(`{"labels": {"answer_faithfulness": 1, "faithfulness": "no"}, "Contradictory_Answer": "x"}`), true)
	f.Add([]byte("Document\thuman\n[1] a\t{\"faithfulness\": null}\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, lines bool) {
		name := "rows.tsv"
		if lines {
			name = "rows.jsonl"
		}
		file, err := read(t, name, string(text))
		if err != nil {
			return
		}
		again, err := read(t, name, string(text))
		if err != nil || len(again.Shots) != len(file.Shots) || len(file.Shots) > maxRows {
			t.Fatalf("%d shots, then %v %v", len(file.Shots), again, err)
		}
		for i, shot := range file.Shots {
			if !maps.Equal(shot.Verdicts, again.Shots[i].Verdicts) {
				t.Fatalf("%v, then %v", shot.Verdicts, again.Shots[i].Verdicts)
			}
			for dimension := range shot.Verdicts {
				if shot.Says(dimension) == "" {
					t.Fatalf("no word for a verdict on %s", dimension)
				}
			}
		}
	})
}
