package dataset

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/sheet"
	"github.com/klauspost/compress/zstd"
)

// isZip reports whether content is a ZIP archive, of which an Inspect log (.eval) is one.
func isZip(start []byte) bool { return bytes.HasPrefix(start, []byte("PK\x03\x04")) }

// openArchive tells what an archive of no telling name is, and opens it.
func openArchive(s *source, in *input) error {
	archive, err := unzip(s, in)
	if err != nil {
		return err
	}
	if sheet.Is(archive) {
		in.format = "xlsx"
		in.book, err = openBook(s, in)
	} else {
		in.format = "eval"
		in.samples, err = openEval(s, in)
	}
	return err
}

// unzip opens the archive beside the stream of its content, which is only hashed.
func unzip(s *source, in *input) (*zip.Reader, error) {
	info, err := in.file.Stat()
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(in.file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: it is damaged, or not what its name says", s.name, err)
	}
	return archive, nil
}

// openEval opens the samples of an Inspect log.
func openEval(s *source, in *input) ([]*zip.File, error) {
	archive, err := unzip(s, in)
	if err != nil {
		return nil, err
	}
	archive.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(1<<27)))
	samples := slices.DeleteFunc(archive.File, func(f *zip.File) bool {
		return !strings.HasPrefix(f.Name, "samples/") || !strings.HasSuffix(f.Name, ".json")
	})
	if len(samples) == 0 {
		return nil, fmt.Errorf("%s is an archive without samples of Inspect: of other archives, give the files in them", s.name)
	}
	slices.SortStableFunc(samples, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	return samples, nil
}

// readEval reads the samples of an Inspect log, a record for each, with its number for a line.
func readEval(samples []*zip.File) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for i, f := range samples {
			rec := record{line: i + 1}
			b, err := readEntry(f)
			if rec.err = err; err == nil {
				rec.cells, rec.err = parseObject(b)
			}
			if rec.err != nil {
				rec.err = fmt.Errorf("%.80q: %w", f.Name, rec.err)
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

func readEntry(f *zip.File) ([]byte, error) {
	if f.Flags&1 != 0 {
		return nil, errors.New("it is encrypted")
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxRecord+1))
	if err == nil && len(b) > maxRecord {
		err = errTooLong
	}
	return b, errors.Join(err, r.Close())
}
