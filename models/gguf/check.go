package gguf

import (
	"errors"
	"fmt"
	"slices"
)

// Check reads a model file's header and says whether llama.cpp would load it. What can be foreseen is
// refused here, in words, before any C code sees the file: what is no GGUF file or not a whole one, an
// architecture that llama.cpp does not know, a missing part of a split model, tensors laid out in a way
// that it does not read, numbers and vocabularies that would make it abort the process. Each error says what to do.
func Check(path string) (*Info, error) {
	h, info, err := inspect(path)
	if err != nil {
		return nil, err
	}
	if err := h.checkLoadable(path, info); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return info, nil
}

func (h *Header) checkLoadable(path string, info *Info) error {
	switch {
	case info.Architecture == "":
		return errors.New("the header names no architecture: this is no model; fetch its model file instead")
	case info.Architecture == "clip":
		return errors.New("this is the vision encoder (mmproj) of a model: name the language model's own file")
	case !slices.Contains(architectures, info.Architecture):
		return fmt.Errorf("architecture %q is not one that llama.cpp %s knows (it knows %s): "+
			"choose another model, or install engine libraries that know it",
			info.Architecture, LlamaVersion, nearest(info.Architecture))
	case len(h.Tensors) == 0:
		return errors.New("the file has a header and no weights (a vocabulary only): fetch the whole model")
	case info.Splits > 1:
		if err := h.checkSplits(path, info); err != nil {
			return err
		}
	}
	if err := h.checkOrder(); err != nil {
		return err
	}
	return h.checkAsserted()
}

// checkOrder checks that the tensors' data lies end to end in the tensors' order, as ggml demands.
func (h *Header) checkOrder() error {
	end := int64(0)
	for i := range h.Tensors {
		t := &h.Tensors[i]
		if t.Offset != end {
			return fmt.Errorf("the data of tensor %q starts at %d and llama.cpp expects it at %d: "+
				"the file is damaged or was written by a faulty converter; fetch it again", t.Name, t.Offset, end)
		}
		end = align(t.Offset+t.Bytes(), h.Alignment)
	}
	return nil
}
