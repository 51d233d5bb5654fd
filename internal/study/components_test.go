package study

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
)

// By hand, after RAGET: of single questions 4 of 8 are right, of distracting ones 6 of 6, of conversational ones 0 of 2 and
// of those outside 3 of 4, under RAGET's names and ours. The generator's score is the mean over types, (0.5 + 1) / 2; the
// topics a (7 of 10) and b (6 of 10) span 0.1.
func TestComponents(t *testing.T) {
	run := &runs.Scores{Run: &runs.Run{Dir: "a"}, Group: map[string]string{}, Of: map[string]map[string]float64{"hand/made": {}}}
	m := runs.Metric{Name: "hand/made", Max: 1}
	run.Manifest.Config.Metrics = []runs.Metric{m}
	var text strings.Builder
	n := 0
	add := func(columns string, values ...float64) {
		for _, v := range values {
			id := fmt.Sprint("s", n)
			n++
			fmt.Fprintf(&text, "{\"id\": %q, \"question\": \"?\", %s}\n", id, columns)
			run.Samples = append(run.Samples, id)
			run.Of["hand/made"][id] = v
		}
	}
	add(`"type": "single", "reference_context_ids": ["a#1"]`, 1, 1, 1, 1)
	add(`"metadata": {"question_type": "simple", "topic": "b"}`, 0, 0, 0, 0)
	add(`"type": "distracting element", "topic": "b"`, 1, 1, 1, 1, 1, 1)
	add(`"type": "conversational", "reference_context_ids": ["a#2", "b#1"]`, 0, 0)
	add(`"type": "out of scope", "topic": "a"`, 1, 1, 1, 0)
	add(`"topic": "c"`, 1)
	path := filepath.Join(t.TempDir(), "data.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text.String()))
	run.Manifest.Config.Dataset = runs.Dataset{Path: path, SHA256: hex.EncodeToString(sum[:])}
	c, err := Components(t.Context(), run, m, &labels.Source{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"generator": 0.75, "retriever": 0.75, "rewriter": 0.5, "router": 0.75, "knowledge_base": 0.9}
	for _, got := range c.Components {
		if !is(got.Value, want[got.Name]) {
			t.Errorf("%s: %+v, want %v", got.Name, got.Value, want[got.Name])
		}
		if v := got.Value; got.Name != "knowledge_base" && (v.Lo == nil || *v.Lo < 0 || *v.Hi > 1 || *v.Lo > v.Value) {
			t.Errorf("%s: interval %+v", got.Name, v)
		}
	}
	if len(c.Components) != 5 || len(c.Types) != 4 || len(c.Topics) != 2 || c.Topics[0].Name != "b" ||
		!strings.Contains(c.Warnings[0], "1 rows have no type") {
		t.Errorf("%+v", c)
	}
	if _, err := Components(t.Context(), run, runs.Metric{Name: "other"}, &labels.Source{}); err == nil {
		t.Error("a metric without scores has components")
	}
}
