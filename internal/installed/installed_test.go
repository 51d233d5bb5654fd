package installed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/models/gguf"
)

// TestKindOfONNX tells what a model in ONNX is for by what it can do.
func TestKindOfONNX(t *testing.T) {
	check := func(want string, ops backend.Ops, labels ...string) {
		t.Helper()
		d := &onnx.Description{Ops: ops, Labels: labels, Pooling: "mean"}
		if got := Kind(Describe("path", d)); got != want {
			t.Errorf("one that can %v, with labels %q, is of kind %s, want %s", ops, labels, got, want)
		}
	}
	check("encoder", backend.CanClassify|backend.CanEmbed, "faithfulness", "answer_relevance")
	check("reranker", backend.CanClassify)
	check("reranker", backend.CanClassify, "entailment", "contradiction")
	check("token classifier", backend.CanLabelTokens, "supported", "hallucinated")
	check("embedding", backend.CanEmbed|backend.CanEmbedTokens)
}

// A file that is no model is listed, with the reason, and is of no kind that a role takes.
func TestListUnusable(t *testing.T) {
	home := t.TempDir()
	t.Setenv("OLLAMA_MODELS", t.TempDir())
	folder := filepath.Join(home, "models")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "broken.gguf"), []byte("no model"), 0o666); err != nil {
		t.Fatal(err)
	}
	rows, err := List(t.Context(), home, "", t.Errorf)
	if err != nil || len(rows) != 1 || rows[0].Kind() != "unusable" || !strings.Contains(rows[0].Error, "broken.gguf") {
		t.Errorf("%+v, %v", rows, err)
	}
	for _, kind := range []string{"judge", "embedding", "encoder"} {
		if names, err := OfKind(home, kind); err != nil || len(names) != 0 {
			t.Errorf("%s: %v, %v", kind, names, err)
		}
	}
}

// Of what a server lists the kind is not known.
func TestKindOfServed(t *testing.T) {
	r := Row{Backend: "ollama", Info: &gguf.Info{}}
	if kind := r.Kind(); kind != "" {
		t.Errorf("the kind is %q", kind)
	}
}
