//go:build !gollama

package gollama

import (
	"strings"
	"testing"
)

func TestUnbound(t *testing.T) {
	t.Setenv("ASSAY_HOME", t.TempDir())
	_, err := Open(t.Context(), Options{Model: toyFile(t, nil)})
	if err == nil || !strings.Contains(err.Error(), "tag gollama") {
		t.Errorf("Open without the binding: error %v", err)
	}
}
