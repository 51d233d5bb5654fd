package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImports holds the packages to the one direction in which imports may fall.
func TestImports(t *testing.T) {
	const module = "github.com/assay-eval/assay/"
	families := []string{"metrics/judged", "metrics/likelihood", "metrics/vector", "metrics/text", "metrics/form",
		"metrics/retrieval", "metrics/agent", "metrics/answerability", "metrics/citation", "metrics/criteria", "metrics/nugget",
		"metrics/profile", "metrics/relevance", "metrics/selfcheck"}
	// never each other, never an engine
	family := []string{"backend", "tokenize", "internal/stats", "metrics", "metrics/ask", "metrics/pairs", "metrics/prompts"}
	may := map[string][]string{
		"tokenize":            {},
		"internal/stats":      {},
		"models":              {"models/gguf", "models/head", "tokenize"},
		"models/gguf":         {"models/head"},
		"models/head":         {},
		"backend":             {"tokenize"},
		"backend/backendtest": {"backend", "tokenize"},
		"backend/sched":       {"backend", "tokenize", "models"},
		"backend/cache":       {"backend", "tokenize", "models"},
		"backend/gollama":     {"backend", "tokenize", "models", "models/gguf"}, // a module of its own
		"backend/linger":      {"backend"},
		"backend/llama":       {"backend", "tokenize", "models", "models/gguf", "models/head", "backend/llama/grammar", "backend/llama/chat", "backend/llama/library"},
		"backend/ollama":      {"backend", "backend/remote"},
		"backend/openai":      {"backend", "backend/remote", "backend/openai/wire"},
		"backend/remote":      {"backend"},
		"backend/pool":        {"backend", "backend/remote"},

		"backend/remote/remotetest": {"models/gguf"},
		"backend/openai/wire":       {},
		"backend/onnx":              {"backend", "backend/onnx/bert", "backend/onnx/graph", "internal/tokenizer"},
		"backend/onnx/graph":        {},
		"backend/onnx/bert":         {"backend/onnx/graph", "models/gguf", "internal/tokenizer"},
		"metrics":                   {"backend", "metrics/prompts", "tokenize"},
		"metrics/prompts":           {"backend", "tokenize"},
		"metrics/ask":               {"backend", "metrics", "metrics/prompts", "tokenize"},
		"metrics/metrictest":        {"backend", "backend/backendtest", "metrics"},
		"metrics/pairs":             {"backend", "internal/stats", "metrics", "tokenize"},
		"metrics/judged":            family,
		"metrics/likelihood":        family,
		"metrics/vector":            family,
		"metrics/text":              family,
		"metrics/form":              family,
		"metrics/retrieval":         family,
		"metrics/agent":             family,
		"metrics/answerability":     family,
		"metrics/citation":          family,
		"metrics/criteria":          family,
		"metrics/nugget":            family,
		"metrics/profile":           family,
		"metrics/relevance":         family,
		"metrics/selfcheck":         family,
		"metrics/jury":              {"backend", "metrics"},
		"metrics/assaytest": {"backend", "metrics", "metrics/all", "metrics/prompts", "internal/report", "internal/runs",
			"internal/stack", "internal/stats"},
		"metrics/all":           append(append(families, family...), "metrics/jury"),
		"internal/parquet":      {"internal/parquet/bounds"},
		"internal/dataset":      {"backend", "metrics", "internal/parquet", "internal/sheet", "internal/trace"},
		"internal/trace":        {},
		"internal/sheet":        {},
		"internal/preview":      {"backend", "metrics", "metrics/all", "internal/dataset", "tokenize"},
		"internal/judge":        {"metrics", "metrics/all", "internal/stats"},
		"internal/corpus":       {"backend", "tokenize", "internal/parquet", "internal/document", "internal/document/pdf"},
		"internal/document":     {},
		"internal/document/pdf": {"internal/document"},
		"internal/fewshot":      {"backend", "metrics", "metrics/ask", "metrics/prompts", "internal/dataset", "internal/runs"},
		"internal/testset": {"backend", "tokenize", "metrics", "metrics/ask", "metrics/prompts", "internal/corpus",
			"internal/dataset", "internal/runs", "internal/study/labels"},
		"internal/report": {"backend", "internal/preview", "metrics", "metrics/all", "metrics/prompts", "internal/slicing", "internal/stats",
			"internal/runs", "internal/study", "internal/exhibit"},
		"internal/slicing": {"metrics", "internal/dataset", "internal/runs", "internal/stats", "internal/study/labels"},
		"internal/project": {"tokenize"},
		"internal/meter":   {},
		"internal/manual":  {},
		"internal/export":  {"metrics", "internal/runs", "internal/slicing"},
		"internal/mcp": {"backend", "metrics", "metrics/all", "internal/report", "internal/runs", "internal/study",
			"internal/study/labels"},
		"internal/gate": {"metrics", "internal/report", "internal/runs", "internal/slicing", "internal/study"},
		"cmd/assay":     nil, // anything but internal/stats

		"internal/parquet/bounds": {},
		"backend/llama/grammar":   {},
		"backend/llama/chat":      {"backend"},
		"backend/llama/library":   {"models"},
		// stats: a manifest holds calibration maps
		"internal/runs": {"backend", "metrics", "metrics/prompts", "internal/stats", "internal/parquet"},
		"internal/bench": {"backend", "backend/llama", "internal/dataset", "internal/evaluation", "internal/runs",
			"internal/stack", "metrics", "metrics/all"},
		"internal/installed": {"backend", "backend/ollama", "backend/onnx", "metrics/all", "models", "models/gguf"},
		"internal/doctor": {"backend", "backend/cache", "backend/llama/library", "backend/ollama", "backend/onnx", "backend/openai",
			"internal/installed", "internal/units", "models", "models/gguf"},
		"internal/units": {},
		"internal/show":  {"backend", "backend/cache", "internal/report", "internal/runs", "internal/units", "metrics"},
		"internal/stack": {"backend", "backend/cache", "backend/linger", "backend/llama", "backend/ollama", "backend/onnx",
			"backend/openai", "backend/pool", "backend/sched", "internal/installed", "internal/runs", "metrics", "models"},
		"internal/catalogue": {"backend", "internal/report", "metrics", "metrics/all", "metrics/prompts"},
		"internal/tune":      {"backend/llama", "backend/onnx", "internal/installed", "internal/runs", "internal/units", "models", "models/gguf"},
		"internal/evaluation": {"backend", "backend/onnx", "internal/budget", "internal/corpus", "internal/dataset",
			"internal/fewshot", "internal/runs", "internal/shard", "internal/stack", "internal/study", "metrics", "metrics/all",
			"metrics/profile", "metrics/prompts", "models", "models/gguf", "tokenize"},
		"internal/budget": {"backend", "metrics", "internal/runs", "internal/stats"},
		"internal/shard":  {"metrics", "internal/runs"},
		"internal/queue": {"backend", "backend/remote", "internal/installed", "internal/runs", "internal/shard", "metrics", "models",
			"models/gguf", "models/head"},
		"internal/runs/runstest": {"metrics", "internal/runs"},
		"internal/study": {"backend", "metrics", "metrics/all", "metrics/prompts", "internal/dataset",
			"internal/judge", "internal/runs", "internal/stats", "internal/study/labels"},
		"internal/study/labels": {"metrics", "internal/dataset", "internal/runs", "internal/stats"},
		"internal/desk":         {"metrics", "internal/dataset", "internal/report", "internal/runs", "internal/study/labels"},
		"internal/exhibit":      {"metrics", "internal/runs", "tokenize"},
		"scripts/bench/cut":     {"models/gguf"},
		"internal/view": {"backend", "backend/cache", "tokenize", "metrics", "internal/dataset", "internal/exhibit", "internal/report",
			"internal/runs", "internal/slicing", "internal/stats", "internal/study", "internal/study/labels", "internal/view/index"},
		"internal/view/index": {"metrics", "internal/dataset", "internal/runs", "internal/slicing", "internal/stats"},
		"internal/tokenizer":  {},
		"internal/serve":      {"backend", "backend/openai/wire"},
	}
	lines := append(imports(t, ".", module+"..."), imports(t, "../../backend/gollama", "./...")...)
	seen := 0
	for _, words := range lines {
		pkg := strings.TrimPrefix(words[0], module)
		allowed, known := may[pkg]
		if !known {
			t.Errorf("%s is new: say here what it may import", pkg)
		}
		seen++
		if pkg == "cmd/assay" {
			if slices.Contains(words, module+"internal/stats") {
				t.Error("cmd/assay computes statistics: they belong to internal/study")
			}
			continue
		}
		for _, path := range words[1:] {
			if ours, ok := strings.CutPrefix(path, module); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s, which it may not", pkg, ours)
			}
		}
	}
	if seen != len(may) {
		t.Errorf("go list found %d packages, the table has %d", seen, len(may))
	}
}

// imports lists packages of the module that a folder is in: the path of each, then those of what it imports.
func imports(t *testing.T, dir, packages string) [][]string {
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, packages)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v", dir, err)
	}
	var list [][]string
	for line := range strings.Lines(string(out)) {
		list = append(list, strings.Fields(line))
	}
	return list
}

// TestDeadDependency keeps what only backend/gollama needs out of Assay's build list, and so out of that of every
// program that imports Assay.
func TestDeadDependency(t *testing.T) {
	for _, name := range []string{"../../go.mod", "../../go.sum"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "go-llama.cpp") {
			t.Errorf("%s names go-llama.cpp, which only the module backend/gollama may need", name)
		}
	}
}
