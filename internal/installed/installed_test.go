package installed

import (
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx"
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
