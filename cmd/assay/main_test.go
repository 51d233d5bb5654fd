package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"assay": main})
}

// TestScripts runs testdata/script over the real program, with a scripted Ollama server as its backend:
// what is tested is the program, and no model is needed. The tests in real_test.go use real models.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			server := newWordServer("d")
			env.Defer(server.Close)
			env.Setenv("OLLAMA_HOST", server.URL)
			other := newWordServer("f") // has another model by the name moody
			env.Defer(other.Close)
			env.Setenv("OTHER_OLLAMA", other.URL)
			env.Setenv("ASSAY_LLAMA_LIB", "")
			return home(env)
		},
		Cmds: scriptCommands(),
	})
}

// home gives a script an empty home folder, the example datasets, the example corpus and the folder of a tiny encoder in
// ONNX.
func home(env *testscript.Env) error {
	env.Setenv("ASSAY_HOME", env.WorkDir+"/home")
	sample, err := filepath.Abs("../../backend/onnx/testdata/sample")
	if err != nil {
		return err
	}
	env.Setenv("SAMPLE", sample)
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	env.Setenv("REPO", root)
	for _, name := range []string{"qa.jsonl", "conversations.jsonl", "questions.jsonl"} {
		example, err := os.ReadFile("../../examples/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(env.WorkDir+"/"+name, example, 0o666); err != nil {
			return err
		}
	}
	return os.CopyFS(env.WorkDir+"/corpus", os.DirFS("../../examples/corpus"))
}

func scriptCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"lines":      scriptLines,
		"nats":       scriptNATS(),
		"tinymodel":  scriptTinyModel,
		"tinyranker": scriptTinyRanker,
		"tinyhead":   scriptTinyHead,
		"waitlines":  scriptWaitLines,
		"sortlines":  scriptSortLines,
		"http":       scriptHTTP,
		"mcp":        scriptMCP,
	}
}
