package models

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// ONNXVersion is the ONNX Runtime release whose library is installed.
const ONNXVersion = "1.30.0"

// An ONNXLibrary is ONNX Runtime's shared library.
type ONNXLibrary struct {
	Name    string `json:"name"`    // "onnxruntime-1.30.0-linux-x64"
	Version string `json:"version"` // "1.30.0"; "" of one that the user names
	File    string `json:"file"`    // where it is
}

// An onnxPin is the place of a library in a package.
type onnxPin struct {
	pin
	entry string // of the archive
}

// onnxPinOf returns the pin of a platform.
func onnxPinOf(platform string) (p onnxPin, ok bool) {
	for line := range strings.Lines(engineList) {
		f := strings.Fields(line)
		if len(f) == 5 && f[0] == "onnxruntime" && f[1] == platform {
			return onnxPin{pin{source: f[2], sum: f[3]}, f[4]}, true
		}
	}
	return p, false
}

// FindONNX returns the ONNX Runtime library to use: the file that $ASSAY_ONNX_LIB names, else that of the home folder.
// Its error says how to get one.
func FindONNX(home string) (*ONNXLibrary, error) {
	if file := os.Getenv("ASSAY_ONNX_LIB"); file != "" {
		if fi, err := os.Stat(file); err != nil || !fi.Mode().IsRegular() {
			return nil, fmt.Errorf("ASSAY_ONNX_LIB: there is no file %s: it must name ONNX Runtime's shared library", file)
		}
		return &ONNXLibrary{Name: filepath.Base(file), File: file}, nil
	}
	l, p, err := onnxFor(home)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(l.File); err != nil {
		return nil, fmt.Errorf("no ONNX Runtime %s library in %s: fetch it (%s, 113 MB) with: assay models engine --onnx; "+
			"or set ASSAY_ONNX_LIB to the file of one", ONNXVersion, filepath.Join(home, "engines"), p.source)
	}
	return l, nil
}

// onnxFor says where the library for this machine is or would be. Its error says why there is none.
func onnxFor(home string) (*ONNXLibrary, onnxPin, error) {
	platform := platformName(runtime.GOOS, runtime.GOARCH)
	p, ok := onnxPinOf(platform)
	if !ok {
		return nil, p, fmt.Errorf("there is no ONNX Runtime package for %s: encoders in GGUF run on llama.cpp; "+
			"or build ONNX Runtime and set ASSAY_ONNX_LIB to its shared library", platform)
	}
	if runtime.GOOS == "linux" && musl("/") {
		return nil, p, errors.New("there is no ONNX Runtime package for Linux with musl: encoders in GGUF run on " +
			"llama.cpp; or build ONNX Runtime and set ASSAY_ONNX_LIB to its shared library")
	}
	name := "onnxruntime-" + ONNXVersion + "-" + platform
	file := filepath.Join(home, "engines", name, path.Base(p.entry))
	return &ONNXLibrary{Name: name, Version: ONNXVersion, File: file}, p, nil
}

// musl reports whether a system's only C library is musl.
func musl(root string) bool {
	has := func(pattern string) bool {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		return err == nil && len(found) > 0
	}
	return has("lib/ld-musl-*.so.1") && !has("lib*/ld-linux*.so.*") && !has("lib/*-linux-gnu*/ld-linux*.so.*")
}

// FetchONNX installs the ONNX Runtime library for this machine, if it is not installed. It asks npm for the package,
// unless its archive is in the home folder's downloads, and takes it only if its digest is known. Of the archive,
// which holds the libraries of all platforms, just the one is kept. It tells log what takes long.
func FetchONNX(ctx context.Context, home string, log func(format string, args ...any)) (*ONNXLibrary, error) {
	l, p, err := onnxFor(home)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(l.File); err == nil {
		return l, nil
	}
	downloads := filepath.Join(home, "downloads")
	brought := p.archive(downloads)
	_, missing := os.Stat(brought)
	archive, err := p.fetch(ctx, downloads, log)
	if err != nil {
		return nil, err
	}
	log("installing %s", archive)
	if err := p.install(ctx, archive, l.File); err != nil {
		return nil, fmt.Errorf("installing %s: %w", archive, err)
	}
	if missing != nil { // it was fetched here
		return l, os.Remove(archive)
	}
	return l, nil
}

// maxLibrary bounds the library; real ones have some 45 MB.
const maxLibrary = 1 << 30

// install takes the library out of an archive whose digest was right.
func (p onnxPin) install(ctx context.Context, archive, file string) error {
	root := filepath.Dir(filepath.Dir(file))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	sweep(root)
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	tr := tar.NewReader(zr)
	for {
		entry, err := tr.Next()
		switch {
		case err == io.EOF:
			return fmt.Errorf("it does not hold %s", p.entry)
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.Name == p.entry && entry.Typeflag == tar.TypeReg && entry.Size <= maxLibrary:
			return writeLibrary(root, file, tr)
		}
	}
}

// writeLibrary writes a file so that it is there whole or not at all.
func writeLibrary(root, file string, r io.Reader) error {
	f, err := os.CreateTemp(root, ".onnx-*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Chmod(0o755)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	err = os.Rename(f.Name(), file)
	if errors.Is(err, fs.ErrExist) { // another process was quicker
		return nil
	}
	return err
}
