package onnx

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend/onnx/graph"
)

func TestOutline(t *testing.T) {
	check := func(what string, file []byte, numbers string, external ...string) {
		t.Helper()
		o, err := readOutline(file)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if o.numbers != numbers || !slices.Equal(o.external, external) {
			t.Errorf("%s: %+v, want %s and %q", what, o, numbers, external)
		}
	}
	check("the tiny encoder", newTinyEncoder().file("logits"), "fp32")
	check("a loop", endless(), "fp32")

	var g graph.Graph
	g.Initializer(graph.Tensor("w", graph.Float16, 40, 40))
	check("half", g.Model("tiny"), "fp16")
	g.Node("DynamicQuantizeLinear", "y", nil)
	check("dynamic", g.Model("tiny"), "int8")
	g.Domain = "com.microsoft"
	g.Node("MatMulNBits", "z", nil, graph.Int("bits", 4))
	check("four bits", g.Model("tiny"), "int4")

	check("external", externalGraph("model.onnx_data"), "fp32", "model.onnx_data")
	check("external, below", externalGraph("weights/1"), "fp32", "weights/1")

	own := graph.Graph{Domain: "mine"}
	own.Node("Mine", "y", nil)
	defined := graph.Message(own.Model("tiny")).Bytes(25, graph.Message{}.Text(1, "Mine").Text(10, "mine"))
	check("an operator that the file defines", defined, "fp32")
}

// TestEnds finds inputs and outputs as ONNX Runtime does: without weights, which old files list among the inputs.
func TestEnds(t *testing.T) {
	var g graph.Graph
	g.Input("w", graph.Float32, 2, 3)
	g.Input("input_ids", graph.Int32, "batch", "tokens")
	g.Floats("w", make([]float32, 6), 2, 3)
	g.Output("logits", graph.Float16, "batch", 2)
	o, err := readOutline(g.Model("tiny"))
	if err != nil || !reflect.DeepEqual(o.inputs, []Slot{{"input_ids", graph.Int32, []int64{-1, -1}}}) ||
		!reflect.DeepEqual(o.outputs, []Slot{{"logits", graph.Float16, []int64{-1, 2}}}) {
		t.Errorf("%+v (%v)", o, err)
	}
}

// externalGraph has an initializer whose numbers lie in another file.
func externalGraph(location string) []byte {
	var g graph.Graph
	entry := graph.Message{}.Text(1, "location").Text(2, location)
	g.Initializer(graph.Tensor("w", graph.Float32, 1, 2).Bytes(13, entry).Number(14, 1))
	g.Node("MatMul", "logits", []string{"input", "w"})
	return g.Model("tiny")
}

func TestOutlineRefuses(t *testing.T) {
	check := func(what string, file []byte, want string) {
		t.Helper()
		if _, err := readOutline(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", what, err, want)
		}
	}
	check("nothing", nil, "no graph")
	check("text", []byte("<html>"), "no ONNX file")
	whole := newTinyEncoder().file("logits")
	check("truncated", whole[:len(whole)/2], "truncated")
	for _, location := range []string{"../x", "/etc/passwd", "a/../../b", "", `..\x`, "C:x", "*/_ORT_MEM_ADDR_/*", "./x"} {
		check(location, externalGraph(location), "not the path of a file")
	}
	custom := graph.Graph{Domain: "ai.onnx.contrib"}
	custom.Node("BertTokenizer", "y", nil)
	check("a custom operator", custom.Model("tiny"), "BertTokenizer")
	var inner graph.Graph
	inner.Message = graph.Message{}.Bytes(1, graph.Message{}.Text(4, "X").Text(7, "evil"))
	var outer graph.Graph
	outer.Node("If", "y", nil, graph.Message{}.Text(1, "then_branch").Bytes(6, inner.Message).Number(20, 5))
	check("a custom operator in a branch", outer.Model("tiny"), "evil")
	two := graph.Graph{Message: graph.Message{}.Bytes(1, graph.Message{}.Text(4, "X").Text(4, "Y"))}
	check("two operators in a node", two.Model("tiny"), "names no operator, or several")
	var deep graph.Message
	for range 1000 {
		deep = graph.Message{}.Bytes(1, graph.Message{}.Text(4, "If").Bytes(5, graph.Message{}.Bytes(6, deep)))
	}
	check("graphs within graphs", (&graph.Graph{Message: deep}).Model("tiny"), "too deep")
}

// FuzzOutline looks for files that make the reader fail badly, or that get past its rules.
func FuzzOutline(f *testing.F) {
	f.Add(newTinyEncoder().file("logits")[:2000])
	f.Add(endless())
	f.Add(externalGraph("model.onnx_data"))
	f.Add(externalGraph("../x"))
	f.Fuzz(func(t *testing.T, file []byte) {
		o, err := readOutline(file)
		if err != nil {
			return
		}
		for _, name := range o.external {
			if strings.Contains(name, "..") && checkLocation(name) != nil || strings.HasPrefix(name, "/") {
				t.Errorf("the location %q was let through", name)
			}
		}
	})
}
