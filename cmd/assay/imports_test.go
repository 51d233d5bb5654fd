package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImports holds the packages to the one direction in which imports may fall.
func TestImports(t *testing.T) {
	const module = "github.com/assay-eval/assay/"
	may := map[string][]string{
		"tokenize":               {},
		"internal/stats":         {},
		"models":                 {"tokenize"},
		"backend":                {"tokenize"},
		"backend/backendtest":    {"backend", "tokenize"},
		"backend/sched":          {"backend", "tokenize", "models"},
		"backend/cache":          {"backend", "tokenize", "models"},
		"backend/gollama":        {"backend", "tokenize", "models"},
		"backend/llama":          {"backend", "tokenize", "models"},
		"backend/ollama":         {"backend", "tokenize", "models"},
		"metrics":                {"backend", "tokenize", "internal/stats"},
		"internal/parquet":       {},
		"internal/dataset":       {"backend", "metrics", "internal/parquet"},
		"internal/judge":         {"metrics", "internal/stats"},
		"internal/corpus":        {"backend", "tokenize", "internal/parquet"},
		"internal/testset":       {"backend", "tokenize", "metrics", "internal/corpus"},
		"internal/runs":          {"backend", "metrics", "internal/stats", "internal/parquet"}, // stats: a manifest holds calibration maps
		"internal/runs/runstest": {"metrics", "internal/runs"},
		"internal/study":         {"backend", "metrics", "internal/dataset", "internal/judge", "internal/runs", "internal/stats", "internal/study/labels"},
		"internal/study/labels":  {"metrics", "internal/dataset", "internal/runs"},
		"internal/desk":          {"metrics", "internal/report", "internal/study/labels"},
		"internal/report":        {"backend", "metrics", "internal/stats", "internal/runs", "internal/study"},
		"cmd/assay":              nil, // anything but internal/stats
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
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
