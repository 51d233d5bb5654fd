package dataset

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/parquet"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A source is a file that can be read any number of times.
type source struct {
	name  string // what messages call it
	path  string
	temp  bool   // path is a copy of our own, removed by Close
	sheet string // of a workbook: see [Options.Sheet]
}

// openSource finds the file. Standard input and pipes, which can be read once only, are copied first.
func openSource(ctx context.Context, path string) (*source, error) {
	if path == "-" {
		return spool(ctx, "standard input", os.Stdin)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no such dataset: %s", path)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder", path)
	case info.Mode().IsRegular():
		return &source{name: path, path: path}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return spool(ctx, path, f)
}

func spool(ctx context.Context, name string, r io.Reader) (*source, error) {
	f, err := os.CreateTemp("", "assay-dataset-*")
	if err != nil {
		return nil, err
	}
	s := &source{name: name, path: f.Name(), temp: true}
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(f, r, 1<<20)
		}
	}
	if err == io.EOF {
		err = nil
	}
	if err := errors.Join(err, f.Close()); err != nil {
		s.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// Close removes the copy, if there is one.
func (s *source) Close() error {
	if s.temp {
		return os.Remove(s.path)
	}
	return nil
}

// open starts reading, in the given format or, if that is "", in the one that name or content say.
func (s *source) open(format string) (*input, error) {
	in, start, err := s.openText()
	if err != nil {
		return nil, err
	}
	if in.format, err = formatOf(s.name, format, start); err == nil {
		switch in.format {
		case "parquet":
			in.rows, err = openParquet(s, in)
		case "zip":
			err = openArchive(s, in)
		case "eval":
			in.samples, err = openEval(s, in)
		case "xlsx":
			in.book, err = openBook(s, in)
		}
	}
	if err == nil && s.sheet != "" && in.format != "xlsx" {
		err = fmt.Errorf("%s has no sheets, being %s: --sheet %s is for workbooks of Excel", s.name, in.format, s.sheet)
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// openText starts reading whatever text the file holds. It returns what the text starts with, too.
func (s *source) openText() (*input, []byte, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, nil, err
	}
	in := &input{file: f, closers: []io.Closer{f}, hash: sha256.New()}
	plain, err := in.decompress(f)
	if err != nil {
		in.Close()
		return nil, nil, fileError(s.name, 0, err)
	}
	r := bufio.NewReaderSize(io.TeeReader(plain, in.hash), sniffed)
	in.Reader = r
	start, err := r.Peek(sniffed)
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		in.Close()
		return nil, nil, fileError(s.name, 0, err)
	}
	if bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")) {
		in.Close()
		return nil, nil, fmt.Errorf("%s is UTF-16: save it as UTF-8", s.name)
	}
	if bom := []byte("\xef\xbb\xbf"); bytes.HasPrefix(start, bom) {
		start = start[len(bom):]
		r.Discard(len(bom))
	}
	return in, start, nil
}

// sniffed is how many bytes of content are looked at to tell its format.
const sniffed = 1 << 16

func isGzip(magic []byte) bool { return bytes.HasPrefix(magic, []byte{0x1f, 0x8b}) }

func isZstd(magic []byte) bool { return bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) }

func isCompressed(magic []byte) bool { return isGzip(magic) || isZstd(magic) }

// decompress looks at the content, not at the name: files get renamed.
func (f *input) decompress(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, sniffed)
	magic, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case isGzip(magic):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		f.closers = append(f.closers, z)
		return z, nil
	case isZstd(magic):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(1<<27))
		if err != nil {
			return nil, err
		}
		f.closers = append(f.closers, z.IOReadCloser())
		return z, nil
	}
	return b, nil
}

// formatOf tells the format: as asked for, by the file's name, or by how its content starts.
func formatOf(name, format string, start []byte) (string, error) {
	known := []string{"jsonl", "json", "csv", "tsv", "parquet", "eval", "trec", "xlsx"}
	if format != "" && !slices.Contains(known, format) {
		return "", fmt.Errorf("unknown dataset format %q: it is one of %s", format, strings.Join(known, ", "))
	}
	if format == "" {
		base := strings.ToLower(filepath.Base(name))
		base = strings.TrimSuffix(strings.TrimSuffix(base, ".gz"), ".zst")
		format = strings.TrimPrefix(filepath.Ext(base), ".")
	}
	switch format {
	case "jsonl", "csv", "tsv", "trec", "parquet", "eval", "xlsx":
		return format, nil
	case "xlsm":
		return "xlsx", nil
	case "pq":
		return "parquet", nil
	case "ndjson":
		return "jsonl", nil
	case "run":
		return "trec", nil
	}
	start = bytes.TrimLeft(start, " \t\r\n")
	switch {
	case len(start) == 0:
		return "jsonl", nil // empty in any format
	case parquet.Is(start):
		return "parquet", nil
	case isZip(start):
		return "zip", nil
	case bytes.HasPrefix(start, []byte("\xd0\xcf\x11\xe0")):
		return "", fmt.Errorf("%s is a workbook with a password, or of the format before .xlsx: save it as .xlsx without one", name)
	case start[0] == '[':
		return "json", nil
	case start[0] == '{' && holdsLines(start):
		return "jsonl", nil // many tools write JSON Lines to files called .json
	case start[0] == '{' || format == "json":
		return "json", nil
	case looksTREC(start):
		return "trec", nil
	}
	return "", fmt.Errorf("cannot tell the format of %s: end its name in .jsonl, .json, .csv, .tsv, .parquet, .xlsx or .trec",
		name)
}

// holdsLines reports whether content that starts with an object is JSON Lines, rather than one object
// around an array of rows.
func holdsLines(start []byte) bool {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	var object map[string]json.RawMessage
	if json.Unmarshal(line, &object) != nil {
		return false
	}
	for key, value := range object {
		if holdsRows(key) && value[0] == '[' {
			return false
		}
		var inner map[string]json.RawMessage
		if nestsRows(key) && json.Unmarshal(value, &inner) == nil {
			for key, value := range inner {
				if holdsRows(key) && value[0] == '[' {
					return false
				}
			}
		}
	}
	return true
}

// A record is one row as its format has it.
type record struct {
	line  int // where it starts, from 1; in Parquet, which has no lines, the number of the row
	cells []cell
	err   error // why there are no cells; the records after it can be read
	file  int   // its place in the bundle
	lone  bool  // the file is one object, which is a row only in a format of package trace
}

// A cell is the value of one column in one row.
type cell struct {
	column string
	value  []byte // JSON; or, if text is set, the text itself
	text   bool
	none   bool // the column has nothing in this row
	bytes  bool // of Parquet: value is the base64 of bytes that are no text
}

// records yields the rows. An error ends them; its record says the line.
func (f *input) records() iter.Seq2[record, error] {
	r := f.Reader.(*bufio.Reader)
	switch f.format {
	case "csv":
		return readTable(r, ',')
	case "tsv":
		return readTable(r, '\t')
	case "json":
		return readArray(r)
	case "trec":
		return readTREC(r)
	case "parquet":
		return readParquet(f.rows)
	case "eval":
		return readEval(f.samples)
	case "xlsx":
		return readBook(f.book)
	}
	return readLines(r)
}

// maxRecord is the largest row that is read, in bytes.
const maxRecord = 64 << 20

var errTooLong = fmt.Errorf("the row is longer than %d MiB", maxRecord>>20)
