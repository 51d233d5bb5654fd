package cache

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocs checks the facts that docs/cache.md states.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/cache.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(data)), " ")
	for _, fact := range []string{
		fmt.Sprintf("every %d milliseconds or %d entries", batchDelay.Milliseconds(), batchEntries),
		fmt.Sprintf("up to %d MiB", maxPending>>20),
		fmt.Sprintf("tried again every %.0f seconds", retryDelay.Seconds()),
		fmt.Sprintf("last used, to within a %s", map[float64]string{7: "week"}[touchAge.Hours()/24]),
		fmt.Sprintf(`{"format":%q,"version":%d}`, transferFormat, transferVersion),
	} {
		if !strings.Contains(text, fact) {
			t.Errorf("docs/cache.md does not say %q", fact)
		}
	}
	for _, name := range modeNames {
		if !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("docs/cache.md does not tell of the mode %s", name)
		}
	}
}
