package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Inspect reads what a model file says of itself. It refuses what is no GGUF file, or not a whole one;
// whether llama.cpp would load it is what [Check] says.
func Inspect(path string) (*Info, error) {
	_, info, err := inspect(path)
	return info, err
}

func inspect(path string) (*Header, *Info, error) {
	h, err := ReadFile(path)
	if err != nil {
		return nil, nil, explain(path, err)
	}
	info := h.Info()
	info.Path = path
	return h, info, nil
}

// explain says what a file that could not be read as GGUF looks like, or gives the reader's own reason.
func explain(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s", path)
	}
	f, openErr := os.Open(path)
	if openErr != nil {
		return openErr
	}
	defer f.Close()
	if fi, statErr := f.Stat(); statErr == nil && fi.IsDir() {
		return fmt.Errorf("%s is a folder, not a model file: name the .gguf file, or import the folder "+
			"if it holds safetensors", path)
	}
	start := make([]byte, 512)
	n, _ := io.ReadFull(f, start)
	if what := looksLike(start[:n]); what != "" {
		return fmt.Errorf("%s is not a GGUF file: %s", path, what)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// looksLike says what a file that starts like this is, "" if it is GGUF.
func looksLike(start []byte) string {
	text := strings.ToLower(strings.TrimSpace(string(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")))))
	switch {
	case len(start) == 0:
		return "it is empty; fetch it again"
	case bytes.HasPrefix(start, []byte("GGUF")):
		return ""
	case bytes.HasPrefix([]byte("GGUF"), start):
		return "it is truncated after a byte or three; fetch it again"
	case bytes.HasPrefix(start, []byte("version https://git-lfs")):
		return "it is a git-lfs pointer that stands for the file; run git lfs pull in its repository"
	case strings.HasPrefix(text, "<!doctype") || strings.HasPrefix(text, "<html") || strings.HasPrefix(text, "<?xml"):
		return "it is a web page, perhaps an error or a login form saved under the model's name; fetch the file itself"
	case len(start) > 9 && bytes.HasPrefix(start[8:], []byte("{\"")):
		return "it is a safetensors file; import the folder that holds it with its config.json and tokenizer.json"
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return "it is a zip archive or a PyTorch checkpoint; unpack it, or convert it to GGUF"
	case bytes.HasPrefix(start, []byte("\x1f\x8b")) || bytes.HasPrefix(start, []byte("\x28\xb5\x2f\xfd")):
		return "it is compressed; unpack it first"
	case bytes.HasPrefix(start, []byte("lmgg")) || bytes.HasPrefix(start, []byte("tjgg")) ||
		bytes.HasPrefix(start, []byte("fmgg")):
		return "it has the older GGML format, which llama.cpp no longer reads; fetch a GGUF file of the model"
	case bytes.HasPrefix(start, []byte("\x80\x02")) || bytes.HasPrefix(start, []byte("\x80\x04")):
		return "it is a Python pickle; convert the model to GGUF"
	case strings.HasPrefix(text, "{"):
		return "it is JSON, perhaps an error message saved under the model's name; fetch the file itself"
	case len(bytes.Trim(start, "\x00")) == 0:
		return "it is all zeros, a download that was never filled in; fetch it again"
	}
	return fmt.Sprintf("it starts with %.12q where a model file has GGUF; fetch it again", start)
}
