package gguf

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// maxSplits is as many files as five digits can number.
const maxSplits = 99999

// splitSuffix ends the name of one file of a split model, as llama.cpp's gguf-split names it, numbered from 1.
func splitSuffix(number, count int) string { return fmt.Sprintf("-%05d-of-%05d.gguf", number, count) }

// SplitFiles returns the paths of all files of the model whose first one is path, going by its name:
// NAME-00001-of-00003.gguf has two others beside it. Any other name is that of a model in one file.
func SplitFiles(path string) []string {
	at := len(path) - len(splitSuffix(1, 2))
	if at <= 0 {
		return []string{path}
	}
	stem, suffix := path[:at], path[at:]
	count, err := strconv.Atoi(suffix[10:15])
	if err != nil || count < 2 || suffix != splitSuffix(1, count) {
		return []string{path}
	}
	files := make([]string, count)
	for i := range files {
		files[i] = stem + splitSuffix(i+1, count)
	}
	return files
}

// checkSplits checks that this is the first part of a split model and that the others lie beside it, and
// adds them to the model's size.
func (h *Header) checkSplits(path string, info *Info) error {
	count := info.Splits
	no, ok := h.Int("split.no")
	stem, named := strings.CutSuffix(path, splitSuffix(int(min(no, maxSplits))+1, count))
	switch {
	case !ok || !named || count > maxSplits:
		return fmt.Errorf("this is part of a model split over %d files, which llama.cpp finds by names that end in "+
			"%s and so on: give the parts their names back", count, splitSuffix(1, count))
	case no != 0:
		return fmt.Errorf("this is part %d of a model split over %d files: name the first, %s",
			no+1, count, filepath.Base(stem)+splitSuffix(1, count))
	}
	for i := 2; i <= count; i++ {
		part := stem + splitSuffix(i, count)
		_, more, err := inspect(part)
		if err != nil {
			return fmt.Errorf("part %d of %d of this model: %w", i, count, err)
		}
		info.Size += more.Size
		info.Parameters += more.Parameters
	}
	return nil
}
