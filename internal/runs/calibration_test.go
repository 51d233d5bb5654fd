package runs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/stats"
)

func TestLoadCalibration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map.json")
	load := func(content string) error {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := LoadCalibration(path)
		return err
	}
	b, err := json.Marshal(Calibration{Metric: "a/x", Map: stats.Map{Method: "platt", Slope: 2, Floor: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := load(string(b)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "[]", "{}", `{"map": {"method": "platt", "floor": 0.7}}`,
		`{"map": {"method": "isotonic", "x": [1]}}`} {
		if err := load(bad); err == nil || !strings.Contains(err.Error(), "is no calibration") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
