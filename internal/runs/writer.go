package runs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/assay-eval/assay/metrics"
	"github.com/gofrs/flock"
)

// A Writer adds results to a run folder. One process at a time can hold it.
type Writer struct {
	dir      string
	suffix   string
	manifest Manifest
	kept     int
	lock     *flock.Flock
	file     *os.File
	buf      *bufio.Writer
	began    time.Time
}

// Create opens dir for the run that m describes, making the folder if need be. If it holds an
// unfinished run of the same [Config], that run is continued: [Writer.Kept] says how many samples it
// has. A finished one stays readable until the new pass finishes. A run of another Config is an
// error, unless overwrite is set.
func Create(dir string, m Manifest, overwrite bool) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	w := &Writer{dir: dir, manifest: m, began: time.Now(), lock: flock.New(filepath.Join(dir, lockFile))}
	locked, err := w.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %v", dir, err)
	}
	if !locked {
		return nil, fmt.Errorf("another assay is writing to %s: wait for it, or choose another folder with -o", dir)
	}
	if err := w.begin(overwrite); err != nil {
		w.lock.Unlock()
		return nil, err
	}
	return w, nil
}

func (w *Writer) begin(overwrite bool) error {
	old, err := readManifest(w.path(manifestFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(w.path(resultsFile)); err == nil && !overwrite {
			return fmt.Errorf("%s holds a %s without a %s: choose another folder with -o, or give --overwrite",
				w.dir, resultsFile, manifestFile)
		}
		return w.start()
	case overwrite:
		if err := w.discard(); err != nil {
			return err
		}
		return w.start()
	case err != nil:
		return err
	}
	if what := w.manifest.Config.Differs(old.Config); what != "" {
		return fmt.Errorf("%s holds another run (its %s differs): choose another folder with -o, or give --overwrite",
			w.dir, what)
	}
	if old.Finished == nil {
		return w.resume(old)
	}
	w.suffix = newSuffix
	old, err = readManifest(w.path(manifestFile))
	if err == nil && old.Finished == nil && w.manifest.Config.Differs(old.Config) == "" {
		return w.resume(old)
	}
	return w.start()
}

func (w *Writer) path(name string) string { return filepath.Join(w.dir, name+w.suffix) }

func (w *Writer) discard() error {
	for _, name := range []string{manifestFile, resultsFile, draftFile} {
		if err := errors.Join(w.remove(name), w.remove(name+newSuffix)); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file of the folder, if it is there.
func (w *Writer) remove(name string) error {
	if err := os.Remove(filepath.Join(w.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// start begins an empty results file. The manifest is written last, so that it never describes
// results of another run.
func (w *Writer) start() error {
	if err := w.remove(draftFile + w.suffix); err != nil {
		return err
	}
	f, err := os.Create(w.path(resultsFile))
	if err != nil {
		return err
	}
	w.open(f)
	return w.writeManifest()
}

// resume keeps the leading samples that have a result for every metric and cuts off what follows.
func (w *Writer) resume(old *Manifest) error {
	w.manifest.Started, w.manifest.Seconds, w.manifest.Calls = old.Started, old.Seconds, old.Calls
	f, err := os.OpenFile(w.path(resultsFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	end, err := w.keep(f)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return err
	}
	w.open(f)
	return w.writeManifest()
}

func (w *Writer) keep(f io.Reader) (end int64, err error) {
	names := w.manifest.Config.Metrics
	var sample string
	have := 0
	for l, err := range readResults(f) {
		if err != nil {
			// A full disk can leave a damaged line behind: what stands before it is whole.
			return end, nil
		}
		if have == 0 {
			sample = l.Sample
		}
		if l.Sample != sample || l.Metric != names[have].Name {
			return end, nil
		}
		if have++; have == len(names) {
			w.kept++
			have, end = 0, l.end
		}
	}
	return end, nil
}

func (w *Writer) open(f *os.File) {
	w.file = f
	w.buf = bufio.NewWriterSize(f, 1<<16)
}

// Kept returns how many leading samples an earlier attempt finished: the caller skips them.
func (w *Writer) Kept() int { return w.kept }

// Write adds a result. The results of a sample come together, in the order of Config.Metrics; with
// the last of them everything is handed to the operating system, so that a killed process loses
// nothing that was finished.
func (w *Writer) Write(r metrics.Result) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	w.buf.Write(append(b, '\n')) // an error sticks to the buffer and is returned by Flush
	if names := w.manifest.Config.Metrics; r.Metric != names[len(names)-1].Name {
		return nil
	}
	return w.buf.Flush()
}

// WriteLines adds all results of a sample as they are to stand in the file: a line for each metric, in the order of
// Config.Metrics.
func (w *Writer) WriteLines(lines []byte) error {
	w.buf.Write(lines) // an error sticks to the buffer and is returned by Flush
	return w.buf.Flush()
}

// Close ends this attempt. With finished, the run is complete and takes the place of an earlier one.
// The calls made in this attempt are added to the manifest's.
func (w *Writer) Close(calls Calls, finished bool) error {
	defer w.lock.Unlock()
	w.manifest.Calls.Cached += calls.Cached
	w.manifest.Calls.Computed += calls.Computed
	w.manifest.Seconds += time.Since(w.began).Seconds()
	if finished {
		now := Now()
		w.manifest.Finished = &now
	}
	if err := errors.Join(w.buf.Flush(), w.file.Sync(), w.file.Close(), w.writeManifest()); err != nil {
		return err
	}
	if !finished {
		return nil
	}
	if err := w.remove(draftFile + w.suffix); err != nil || w.suffix == "" {
		return err
	}
	// Both passes have one Config, so a crash between the renames leaves a consistent folder.
	for _, name := range []string{resultsFile, manifestFile} {
		if err := os.Rename(w.path(name), filepath.Join(w.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeManifest() error {
	b, err := json.MarshalIndent(w.manifest, "", "  ")
	if err != nil {
		return err
	}
	tmp := w.path(manifestFile) + ".tmp"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o666); err != nil {
		return err
	}
	return os.Rename(tmp, w.path(manifestFile))
}
