//go:build !gollama

package gollama

import "errors"

// load says what is missing from this program.
func load(setup) (binding, error) {
	return nil, errors.New("this program was built without go-llama.cpp: use package backend/llama, which needs " +
		"no C++, or build with the tag gollama as docs/gollama.md says")
}
