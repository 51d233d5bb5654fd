package onnx

import (
	"slices"
	"strings"
	"testing"
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

	var g graph
	g.message = g.bytes(5, tensor("w", Float16, 40, 40))
	check("half", g.model(), "fp16")
	g.node("DynamicQuantizeLinear", "y", nil)
	check("dynamic", g.model(), "int8")
	g.domain = "com.microsoft"
	g.node("MatMulNBits", "z", nil, intAttribute("bits", 4))
	check("four bits", g.model(), "int4")

	check("external", externalGraph("model.onnx_data"), "fp32", "model.onnx_data")
	check("external, below", externalGraph("weights/1"), "fp32", "weights/1")

	own := graph{domain: "mine"}
	own.node("Mine", "y", nil)
	defined := message(own.model()).bytes(25, message{}.text(1, "Mine").text(10, "mine"))
	check("an operator that the file defines", defined, "fp32")
}

// externalGraph has an initializer whose numbers lie in another file.
func externalGraph(location string) []byte {
	var g graph
	entry := message{}.text(1, "location").text(2, location)
	g.message = g.bytes(5, tensor("w", Float32, 1, 2).bytes(13, entry).number(14, 1))
	g.node("MatMul", "logits", []string{"input", "w"})
	return g.model()
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
	custom := graph{domain: "ai.onnx.contrib"}
	custom.node("BertTokenizer", "y", nil)
	check("a custom operator", custom.model(), "BertTokenizer")
	var inner graph
	inner.message = message(nil).bytes(1, message{}.text(4, "X").text(7, "evil"))
	var outer graph
	outer.node("If", "y", nil, message{}.text(1, "then_branch").bytes(6, inner.message).number(20, 5))
	check("a custom operator in a branch", outer.model(), "evil")
	two := graph{message: message{}.bytes(1, message{}.text(4, "X").text(4, "Y"))}
	check("two operators in a node", two.model(), "names no operator, or several")
	var deep message
	for range 1000 {
		deep = message{}.bytes(1, message{}.text(4, "If").bytes(5, message{}.bytes(6, deep)))
	}
	check("graphs within graphs", (&graph{message: deep}).model(), "too deep")
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
