package models

import (
	"errors"
	"fmt"

	"github.com/assay-eval/assay/models/gguf"
	"github.com/assay-eval/assay/models/head"
)

// Check is [gguf.Check], for the model as Assay would use it: with the classification head that lies in a file beside it,
// if there is one, which it returns. The info then tells of that head. It refuses a classifier whose numbers would
// not be the model's own, and says what to do.
func Check(path string) (*gguf.Info, *head.Head, error) {
	info, err := gguf.Check(path)
	if err != nil {
		return nil, nil, err
	}
	h, err := withHead(path, info)
	if err != nil {
		return nil, nil, err
	}
	if info.Misread != "" {
		return nil, nil, fmt.Errorf("%s: %s", path, info.Misread)
	}
	return info, h, nil
}

// Inspect is [gguf.Inspect] with what [Check] knows of the head. Where that cannot be read, the info is of the file alone.
func Inspect(path string) (*gguf.Info, error) {
	info, err := gguf.Inspect(path)
	if err == nil {
		_, err = withHead(path, info)
	}
	return info, err
}

// withHead finds a model's head of its own file and puts it into the model's info.
func withHead(path string, info *gguf.Info) (*head.Head, error) {
	h, err := head.Find(path)
	if h == nil || err != nil {
		return nil, err
	}
	if err := fits(h, info); err != nil {
		return nil, fmt.Errorf("%s: %w", head.Path(path), err)
	}
	describe(h, info)
	return h, nil
}

// fits reports a head that is of another model than a GGUF file.
func fits(h *head.Head, info *gguf.Info) error {
	switch {
	case h.Inputs() != info.Width:
		return fmt.Errorf("the classification head reads %d numbers and the model gives %d: it is of another model",
			h.Inputs(), info.Width)
	case info.SegmentB != 0:
		return errors.New("the model has its own classification head: import it without another")
	}
	return nil
}

// describe tells of a head in a model's info.
func describe(h *head.Head, info *gguf.Info) {
	info.Pooling, info.Head, info.Labels, info.Activation = "rank", h.Outputs(), h.Labels, h.Activation
	info.Misread, info.Doubt = "", ""
}
