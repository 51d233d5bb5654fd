package tune

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/models/gguf"
)

func TestCandidates(t *testing.T) {
	check := func(kind string, bits float64, want, without string) {
		t.Helper()
		info := &gguf.Info{Quantisation: kind, Parameters: 1e9, Size: int64(bits * 1e9 / 8)}
		list, left := candidates(info)
		var names []string
		for _, c := range list {
			names = append(names, c.name)
		}
		if got := strings.Join(names, " "); got != want || !strings.Contains(strings.Join(left, "; "), without) {
			t.Errorf("%s: %q without %q, want %q without %q", kind, got, left, want, without)
		}
	}
	check("F16", 16, "q8_0 q4_0", "")
	check("Q8_0", 8.5, "q4_0", "")
	check("Q4_0", 4.6, "q8_0", "")
	check("Q4_K", 4.8, "q8_0 q4_0", "")
	check("IQ2_XXS", 2.35, "q8_0 q4_0", "") // TinyLlama as shipped: 323 MB
	check("IQ1_S", 1.6, "q4_0", "q8_0 is left out: it would take 1.1 GB for the 200 MB")
}

// TestTuneDocs checks the facts that docs/models.md states.
func TestTuneDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(data)), " ")
	for _, fact := range []string{
		fmt.Sprintf("decoding of %d sequences in parallel", tuneSlots),
		fmt.Sprintf("calls of %d prompt tokens and %d completion tokens", callReads, callWrites),
		fmt.Sprintf("over %d times the file's size", mostGrowth),
		"by a tenth. `" + weightsTypes[0].name + "` is tried first",
	} {
		if !strings.Contains(text, fact) {
			t.Errorf("docs/models.md does not say %q", fact)
		}
	}
}

// What cannot be requantised is refused, and nothing is left behind.
func TestRefused(t *testing.T) {
	home := t.TempDir()
	if _, err := Open(home, "nobody", t.Logf, t.Logf); !errors.As(err, new(*runs.InputError)) {
		t.Errorf("%v is not the user's to mend", err)
	}
	file := filepath.Join(home, "no.gguf")
	if err := os.WriteFile(file, []byte("no model"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(home, file, t.Logf, t.Logf); err == nil {
		t.Error("a file that is no model is taken")
	}
	if left, err := os.ReadDir(filepath.Join(home, "models")); err == nil && len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
	if _, err := new(Tuner).Make(t.Context(), "q5_1"); !errors.As(err, new(*runs.InputError)) {
		t.Errorf("%v is not the user's to mend", err)
	}
}
