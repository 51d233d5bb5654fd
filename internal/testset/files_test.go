package testset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// An answerer that was stopped goes on where it was, and its file is then the one that it would have written at once.
func TestAnswersGoOn(t *testing.T) {
	passages, _ := corpus.Cut([]corpus.Document{{ID: "a", Text: "The ferry leaves at nine. The pier is green."}},
		corpus.Sizes{Words: 20})
	retriever, err := corpus.NewRetriever(t.Context(), corpus.ByWords, passages, nil, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	a := &Answerer{Writer: &Writer{}, Retriever: retriever, Top: 1, RetrieveOnly: true}
	questions := []*metrics.Sample{{ID: "1", Question: "when does the ferry leave"}, {ID: "2"}, {ID: "3", Question: "what pier"}}
	for i := range 300 { // more than are answered before an interruption is heeded
		questions = append(questions, &metrics.Sample{ID: fmt.Sprint(i + 4), Question: "what pier"})
	}
	dir := t.TempDir()
	write := func(name string, stopAfter int) (AnswerReport, error) {
		j, err := runs.OpenJournal(filepath.Join(dir, name), "config", false)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return a.Write(ctx, questions, j, AnswerReport{Passages: len(passages)}, func(bool) {
			if stopAfter--; stopAfter == 0 {
				cancel()
			}
		})
	}
	whole, err := write("whole.jsonl", -1)
	if err != nil || whole.Questions != len(questions) || whole.Failed != 1 || !strings.HasPrefix(whole.First, "2: ") {
		t.Fatalf("%+v, %v", whole, err)
	}
	if _, err := write("cut.jsonl", 1); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	again, err := write("cut.jsonl", -1)
	if err != nil || again != whole {
		t.Errorf("%+v, %v, want %+v", again, err, whole)
	}
	want, err := os.ReadFile(filepath.Join(dir, "whole.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "cut.jsonl")); err != nil || string(got) != string(want) {
		t.Errorf("gone on, the file is\n%s\nwant\n%s", got, want)
	}
}

// Questions are read with what else they have, and as many drawn as are wanted.
func TestReadQuestions(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("q.jsonl", `{"question": "a", "topic": "x"}`+"\n"+`{"question": "b"}`+"\n"+`{"question": "c"}`+"\n")
	list, sum, err := ReadQuestions(t.Context(), file, dataset.Options{}, 0, 0)
	if err != nil || len(list) != 3 || len(sum.SHA256) != 64 || string(list[0].Extra["topic"]) != `"x"` {
		t.Errorf("%d questions, %v", len(list), err)
	}
	if list, _, err = ReadQuestions(t.Context(), file, dataset.Options{}, 2, 1); err != nil || len(list) != 2 {
		t.Errorf("%d questions, %v", len(list), err)
	}
	if _, _, err := ReadQuestions(t.Context(), write("no.jsonl", `{"answer": "a"}`+"\n"), dataset.Options{}, 0, 0); err == nil {
		t.Error("a file without questions is read")
	}
}

// Mock systems are files of labelled rows with as many right ones as their names say; a folder is never overwritten.
func TestMockFiles(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	for i := range 60 {
		row, err := json.Marshal(map[string]any{"id": i, "question": "q", "answer": "a", "human": map[string]any{"good": i % 2}})
		if err != nil {
			t.Fatal(err)
		}
		rows.Write(append(row, '\n'))
	}
	data := filepath.Join(dir, "rows.jsonl")
	if err := os.WriteFile(data, []byte(rows.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	m := &MockFiles{Mock: Mock{From: 0.5, To: 0.6, Step: 0.1, Gold: 10}, Data: data, Human: "good", Positive: 1,
		Folder: filepath.Join(dir, "mock")}
	systems, err := m.Make(t.Context())
	if err != nil || len(systems) != 2 {
		t.Fatalf("%+v, %v", systems, err)
	}
	for _, s := range systems {
		list, _, err := ReadQuestions(t.Context(), filepath.Join(m.Folder, s.Name+".jsonl"), dataset.Options{}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		good := 0
		for _, row := range list {
			if strings.Contains(string(row.Extra["human"]), "1") {
				good++
			}
		}
		if len(list) != len(s.Rows) || float64(good)/float64(len(list)) != s.Accuracy {
			t.Errorf("%s: %d of %d rows are right, want %v", s.Name, good, len(list), s.Accuracy)
		}
	}
	if gold, _, err := ReadQuestions(t.Context(), filepath.Join(m.Folder, "gold.jsonl"), dataset.Options{}, 0, 0); err != nil ||
		len(gold) != 10 {
		t.Errorf("%d gold rows, %v", len(gold), err)
	}
	var input *runs.InputError
	if _, err := m.Make(t.Context()); !errors.As(err, &input) || input.Hint != "name a folder that is not" {
		t.Errorf("a folder that is there: %v", err)
	}
}
