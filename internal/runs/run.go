// Package runs keeps what a run was and what it found.
//
// A run is a folder: run.json, its [Manifest], says everything that the results depend on; results.jsonl holds one
// result a line. [Create] begins one or resumes it where it was interrupted, under a lock; [Open] reads one as a
// stream, and [LoadScores] reads the scores alone, by metric and sample. A [Journal] does for a file that is made row
// by row what a run folder does for results.
package runs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/assay-eval/assay/metrics"
)

// The files of a run folder. A finished run that is run again writes beside the old files, with the
// suffix, and takes their place when it finishes.
const (
	manifestFile = "run.json"
	resultsFile  = "results.jsonl"
	lockFile     = "run.lock"
	draftFile    = "draft.jsonl"
	newSuffix    = ".new"
)

// A Run is a run folder, opened for reading.
type Run struct {
	Dir      string
	Manifest Manifest
}

// Open reads the manifest of a run folder.
func Open(dir string) (*Run, error) {
	m, err := readManifest(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no run folder: it holds no %s", dir, manifestFile)
	}
	if err != nil {
		return nil, err
	}
	return &Run{Dir: dir, Manifest: *m}, nil
}

func readManifest(path string) (*Manifest, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%s: %v", path, err)
	}
	return &m, nil
}

// Text opens the results file, to be read as it stands.
func (r *Run) Text() (io.ReadCloser, error) { return os.Open(filepath.Join(r.Dir, resultsFile)) }

// Results yields the run's results in input order. A torn last line, such as a killed process leaves,
// ends the sequence; any other damage is an error, and so is that ctx ends.
func (r *Run) Results(ctx context.Context) iter.Seq2[metrics.Result, error] {
	path := filepath.Join(r.Dir, resultsFile)
	return func(yield func(metrics.Result, error) bool) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(metrics.Result{}, err)
			return
		}
		defer f.Close()
		for res, err := range readResults(f) {
			if err != nil {
				err = fmt.Errorf("%s: %v", path, err)
			} else if err = ctx.Err(); err != nil {
				yield(metrics.Result{}, err)
				return
			}
			if !yield(res.Result, err) {
				return
			}
		}
	}
}

// Rows yields the results that stand from an offset of the results file on, those of a sample together with the
// stretch of the file that they take. What a run that goes on has not finished writing comes last, with Whole false.
func (r *Run) Rows(ctx context.Context, from int64) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		f, err := os.Open(filepath.Join(r.Dir, resultsFile))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err == nil {
			defer f.Close()
			_, err = f.Seek(from, io.SeekStart)
		}
		if err != nil {
			yield(Row{}, err)
			return
		}
		row := Row{Start: from, End: from}
		for l, err := range readResults(f) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Row{}, err)
				return
			}
			if len(row.Results) > 0 && row.Results[0].Sample != l.Sample {
				row.Whole = true
				if !yield(row, nil) {
					return
				}
				row = Row{Start: row.End}
			}
			row.Results, row.End = append(row.Results, l.Result), from+l.end
		}
		if len(row.Results) > 0 {
			row.Whole = r.Manifest.Finished != nil || len(row.Results) >= len(r.Manifest.Config.Metrics)
			yield(row, nil)
		}
	}
}

// A Row is the results of one sample, and where they stand in the results file.
type Row struct {
	Results    []metrics.Result
	Start, End int64 // bytes of the file
	Whole      bool  // no more results of the sample will come
}

// Row reads the results of a sample again, from where [Run.Rows] found them.
func (r *Run) Row(ctx context.Context, start int64) (Row, error) {
	for row, err := range r.Rows(ctx, start) {
		return row, err
	}
	return Row{}, fmt.Errorf("%s changed: nothing is at byte %d of its results", r.Dir, start)
}

// A line is a Result and the offset of the byte after it.
type line struct {
	metrics.Result
	end int64
}

func readResults(rd io.Reader) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		r := bufio.NewReaderSize(rd, 1<<16)
		var l line
		for n := 1; ; n++ {
			b, err := r.ReadBytes('\n')
			if err == io.EOF {
				return // a line without its end was torn: what it said is not known
			}
			if err == nil {
				l.Result = metrics.Result{}
				l.end += int64(len(b))
				if err = json.Unmarshal(b, &l.Result); err != nil {
					err = fmt.Errorf("line %d: %v", n, err)
				}
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}
