//go:build gollama

package gollama

import (
	"os"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// TestModel runs the conformance suite on a real model: ASSAY_TEST_GOLLAMA_MODEL names a GGUF file of version 2.
func TestModel(t *testing.T) {
	path := os.Getenv("ASSAY_TEST_GOLLAMA_MODEL")
	if path == "" {
		t.Skip("ASSAY_TEST_GOLLAMA_MODEL names no model")
	}
	for name, embed := range map[string]bool{"Writes": false, "Embeds": true} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
				e, err := Open(t.Context(), Options{Model: path, Embed: embed, Context: 512})
				if err != nil {
					t.Fatal(err)
				}
				return withoutZeros{e}
			}})
		})
	}
}
