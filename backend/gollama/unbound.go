//go:build !gollama

package gollama

import "errors"

// load says what is missing from this binary.
func load(setup) (binding, error) {
	return nil, errors.New("this assay was built without go-llama.cpp: use --backend llama, which needs no build, " +
		"or build it with the tag gollama as docs/gollama.md says")
}
