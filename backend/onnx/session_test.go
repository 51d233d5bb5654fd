package onnx

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend/onnx/graph"
)

// library loads ONNX Runtime, or skips the test where there is none.
func library(t testing.TB) *Library {
	t.Helper()
	file := os.Getenv("ASSAY_TEST_ORT")
	if file == "" {
		t.Skip("ASSAY_TEST_ORT names no ONNX Runtime library: run make test")
	}
	lib, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lib.Close)
	return lib
}

func TestLoadRefuses(t *testing.T) {
	file := t.TempDir() + "/libonnxruntime.so.1"
	if err := os.WriteFile(file, []byte("no library"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + ".missing"} {
		if _, err := Load(name); err == nil || !strings.Contains(err.Error(), "assay models engine --onnx") {
			t.Errorf("Load(%s): error %v, want one that says what to do", name, err)
		}
	}
}

// TestSessionReference holds a graph's outputs to those of plain loops.
func TestSessionReference(t *testing.T) {
	lib := library(t)
	w := newTinyEncoder()
	s, err := lib.NewSession(w.file("last_hidden_state", "logits"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.Inputs) != 3 || s.Inputs[2].Name != "token_type_ids" || s.Inputs[0].Type != graph.Int64 ||
		len(s.Inputs[0].Shape) != 2 || s.Inputs[0].Shape[0] != -1 {
		t.Errorf("the inputs are %+v", s.Inputs)
	}
	if len(s.Outputs) != 2 || s.Outputs[1].Name != "logits" || s.Outputs[1].Shape[1] != int64(tinySizes.labels) {
		t.Errorf("the outputs are %+v", s.Outputs)
	}
	ids, types := []int64{1, 17, 400, 2, 33, 511, 2}, []int64{0, 0, 0, 0, 1, 1, 1}
	got, err := s.Run(t.Context(), [][]int64{ids, {1, 1, 1, 1, 1, 1, 1}, types}, "logits", "last_hidden_state")
	if err != nil {
		t.Fatal(err)
	}
	near(t, "logits", got[0].Values, w.logits(ids, types))
	var hidden []float64
	for _, row := range w.hidden(ids, types) {
		hidden = append(hidden, row...)
	}
	near(t, "last_hidden_state", got[1].Values, hidden)
	if shape := got[1].Shape; len(shape) != 3 || shape[1] != 7 || shape[2] != int64(tinySizes.width) {
		t.Errorf("the hidden states have the shape %v", shape)
	}
}

// near checks numbers against their reference.
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Abs(float64(got[i])-want[i]) > 2e-5 {
			t.Errorf("%s: number %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

func TestSessionRefuses(t *testing.T) {
	lib := library(t)
	for _, file := range [][]byte{nil, []byte("no graph"), newTinyEncoder().file("nowhere")} {
		if _, err := lib.NewSession(file, t.TempDir()); err == nil {
			t.Errorf("a session was made of %.20q", file)
		}
	}
	s, err := lib.NewSession(newTinyEncoder().file("logits"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	one := []int64{1}
	beyond := []int64{int64(tinySizes.words)}
	for _, rows := range [][][]int64{nil, {one}, {nil, nil, nil}, {beyond, one, one}, {{1, 1}, one, one}} {
		if _, err := s.Run(t.Context(), rows, "logits"); err == nil {
			t.Errorf("rows %v were computed", rows)
		}
	}
	if _, err := s.Run(t.Context(), [][]int64{one, one, one}, "nothing"); err == nil {
		t.Error("an output that is not there was computed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Run(ctx, [][]int64{one, one, one}, "logits"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// TestSessionCancel ends a computation that would never end by itself.
func TestSessionCancel(t *testing.T) {
	lib := library(t)
	s, err := lib.NewSession(endless(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Run(ctx, [][]int64{{1}}, "logits"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the computation ended with %v", err)
	}
}

// TestSessionConcurrent has one computation end while another of the same session goes on.
func TestSessionConcurrent(t *testing.T) {
	lib := library(t)
	s, err := lib.NewSession(endless(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	long, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Run(long, [][]int64{{1}}, "logits")
		done <- err
	}()
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := s.Run(short, [][]int64{{1}}, "logits"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the short computation ended with %v", err)
	}
	select {
	case err := <-done:
		t.Errorf("the long computation ended with the short one: %v", err)
	default:
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the long computation ended with %v", err)
	}
}

// endless is a graph with a loop whose condition is always true.
func endless() []byte {
	var body graph.Graph
	body.Node("Identity", "again", []string{"go on"})
	body.Node("Add", "next", []string{"state", "state"})
	body.Input("i", graph.Int64)
	body.Input("go on", graph.Bool)
	body.Input("state", graph.Int64, "batch", "tokens")
	body.Output("again", graph.Bool)
	body.Output("next", graph.Int64, "batch", "tokens")
	var g graph.Graph
	g.Input("input_ids", graph.Int64, "batch", "tokens")
	g.Initializer(graph.Tensor("true", graph.Bool).Bytes(9, []byte{1}))
	g.Node("Loop", "looped", []string{"", "true", "input_ids"},
		graph.Body("body", &body))
	g.Node("Cast", "logits", []string{"looped"}, graph.Int("to", int64(graph.Float32)))
	g.Output("logits", graph.Float32, "batch", "tokens")
	return g.Model("tiny")
}
