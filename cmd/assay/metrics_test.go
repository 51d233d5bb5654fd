package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/assay-eval/assay/internal/catalogue"
	"github.com/assay-eval/assay/metrics/all"
)

// The page on metrics is made from the metrics themselves, and from what scripts/bench/costs.sh measured.
func TestMetricsPage(t *testing.T) {
	const path = "../../docs/metrics.md"
	var page bytes.Buffer
	if err := catalogue.Page(t.Context(), &page, all.All(), "../../docs/costs.json"); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(old, page.Bytes()) {
		t.Error("docs/metrics.md is not as assay metrics --format md writes it: go test ./cmd/assay -run MetricsPage " +
			"-update")
	}
}
