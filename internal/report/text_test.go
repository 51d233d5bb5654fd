package report

import (
	"strings"
	"testing"
)

// TestPrintable keeps text from datasets and models from driving the terminal.
func TestPrintable(t *testing.T) {
	if got := Printable("a\x1b[2Jb\nc\u202ed\u0085\u061c"); strings.ContainsAny(got, "\x1b\u202e\u0085\u061c") ||
		!strings.Contains(got, "b\nc") {
		t.Errorf("printable left %q", got)
	}
}
