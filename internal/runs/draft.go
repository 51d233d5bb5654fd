package runs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/assay-eval/assay/metrics"
)

// A Draft holds results in the order in which they come, where that is not the one in which they are to be written. It
// stands beside the results file until the run is finished, so that a killed process loses nothing here either.
type Draft struct {
	path string
	file *os.File
	buf  *bufio.Writer
}

// Draft opens the run's draft, with what an earlier attempt left in it.
func (w *Writer) Draft() (*Draft, error) {
	d := &Draft{path: w.path(draftFile)}
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	d.file, d.buf = f, bufio.NewWriterSize(f, 1<<16)
	return d, nil
}

// Results yields what the draft holds, as far as it is whole.
func (d *Draft) Results() iter.Seq2[metrics.Result, error] {
	return func(yield func(metrics.Result, error) bool) {
		f, err := os.Open(d.path)
		if err != nil {
			yield(metrics.Result{}, err)
			return
		}
		defer f.Close()
		for l, err := range readResults(f) {
			if err != nil {
				return // damaged, as a full disk can leave it: what stands before it is whole
			}
			if !yield(l.Result, nil) {
				return
			}
		}
	}
}

// Keep cuts off all but the first n results; what is added then follows them.
func (d *Draft) Keep(n int) error {
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	have, end := 0, int64(0)
	if n > 0 {
		for l, err := range readResults(d.file) {
			if err != nil {
				break
			}
			have, end = have+1, l.end
			if have == n {
				break
			}
		}
	}
	if have < n {
		return fmt.Errorf("%s holds %d results, not %d", d.path, have, n)
	}
	if err := d.file.Truncate(end); err != nil {
		return err
	}
	_, err := d.file.Seek(end, io.SeekStart)
	return err
}

// Add adds a result and, unless more of the same sample follow, hands everything to the operating system.
func (d *Draft) Add(r metrics.Result, more bool) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	d.buf.Write(append(b, '\n')) // an error sticks to the buffer and is returned by Flush
	if more {
		return nil
	}
	return d.buf.Flush()
}

// Close lets go of the file.
func (d *Draft) Close() error { return errors.Join(d.buf.Flush(), d.file.Close()) }
