package report

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/gofrs/flock"
)

// A Manifest says what a run was: everything that its results depend on, and how it went. It is the
// run.json of a run folder.
type Manifest struct {
	Tool     string   `json:"tool"` // "assay v0.1.0"
	Config   Config   `json:"config"`
	Started  Time     `json:"started"`
	Finished *Time    `json:"finished,omitempty"` // absent while the run is unfinished
	Seconds  float64  `json:"seconds"`            // of work, over all attempts
	Calls    Calls    `json:"calls"`
	Notes    []string `json:"notes,omitempty"` // what a reader of the numbers should know

	// Calibrations are no part of the Config: the scores are the same with and without them.
	Calibrations []GivenCalibration `json:"calibrations,omitempty"`
}

// A Config is the part of a [Manifest] that determines the results. Two runs with one Config are one run.
type Config struct {
	Dataset Dataset  `json:"dataset"`
	Metrics []Metric `json:"metrics"`
	backend.IdentityFields
	Prompts  []prompts.Identity `json:"prompts,omitempty"`
	Criteria string             `json:"criteria,omitempty"` // the digest of the user's own: "sha256:" and 64 hex digits
	Judges   string             `json:"judges,omitempty"`   // the SHA-256 of trained judges' files, joined by commas
	Seed     uint64             `json:"seed"`

	Frequencies string `json:"frequencies,omitempty"` // the digest of the counts of tokens in the references, where a metric weighs by them
}

// A Dataset is where the samples came from.
type Dataset struct {
	Path     string            `json:"path"`   // as it was given; not part of the identity
	SHA256   string            `json:"sha256"` // of its content, decompressed
	Rows     int               `json:"rows"`   // samples to score
	BadRows  int               `json:"bad_rows"`
	Limit    int               `json:"limit,omitempty"`
	Map      map[string]string `json:"map,omitempty"`
	Qrels    string            `json:"qrels,omitempty"`    // SHA-256 of the relevance judgements in a file of their own
	Complete bool              `json:"complete,omitempty"` // judged queries that the dataset lacks were added
}

// A Metric is what a report says of a metric beside its numbers.
type Metric struct {
	Name          string  `json:"name"`
	Doc           string  `json:"doc"`
	Source        string  `json:"source"`
	Min           float64 `json:"min"`
	Max           float64 `json:"max"`
	LowerIsBetter bool    `json:"lower_is_better,omitempty"`
}

// Calls counts what was asked of the models, over all attempts of a run.
type Calls struct {
	Cached   int64 `json:"cached"`   // answered by the cache
	Computed int64 `json:"computed"` // answered by a model
}

// A Time is a time in UTC with whole seconds.
type Time struct{ time.Time }

// Now is the current Time.
func Now() Time { return Time{time.Now().UTC().Truncate(time.Second)} }

// ID is a short name for the configuration: equal for equal results, whatever the dataset's path.
func (c Config) ID() string {
	c.Dataset.Path = ""
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // unreachable: a Config is plain data
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:4])
}

// differs names the first thing in which c and d are not the same, for a message; "" if they are.
func (c Config) differs(d Config) string {
	c.Dataset.Path, d.Dataset.Path = "", ""
	for _, part := range []struct {
		name string
		a, b any
	}{
		{"dataset", c.Dataset, d.Dataset},
		{"criteria", c.Criteria, d.Criteria},
		{"trained judges", c.Judges, d.Judges},
		{"metrics", c.Metrics, d.Metrics},
		{"prompts", c.Prompts, d.Prompts},
		{"seed", c.Seed, d.Seed},
		{"count of tokens in the references", c.Frequencies, d.Frequencies},
	} {
		if part.name == "prompts" {
			if models := c.Models().Differences(d.Models()); len(models) > 0 {
				return models[0].Role.Title()
			}
		}
		a, errA := json.Marshal(part.a)
		b, errB := json.Marshal(part.b)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			return part.name
		}
	}
	return ""
}

// The files of a run folder. A finished run that is run again writes beside the old files, with the
// suffix, and takes their place when it finishes.
const (
	manifestFile = "run.json"
	resultsFile  = "results.jsonl"
	lockFile     = "run.lock"
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

// Results yields the run's results in input order. A torn last line, such as a killed process leaves,
// ends the sequence; any other damage is an error.
func (r *Run) Results() iter.Seq2[metrics.Result, error] {
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
			}
			if !yield(res.Result, err) {
				return
			}
		}
	}
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
	if what := w.manifest.Config.differs(old.Config); what != "" {
		return fmt.Errorf("%s holds another run (its %s differs): choose another folder with -o, or give --overwrite",
			w.dir, what)
	}
	if old.Finished == nil {
		return w.resume(old)
	}
	w.suffix = newSuffix
	old, err = readManifest(w.path(manifestFile))
	if err == nil && old.Finished == nil && w.manifest.Config.differs(old.Config) == "" {
		return w.resume(old)
	}
	return w.start()
}

func (w *Writer) path(name string) string { return filepath.Join(w.dir, name+w.suffix) }

func (w *Writer) discard() error {
	for _, name := range []string{manifestFile, resultsFile, manifestFile + newSuffix, resultsFile + newSuffix} {
		if err := os.Remove(filepath.Join(w.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// start begins an empty results file. The manifest is written last, so that it never describes
// results of another run.
func (w *Writer) start() error {
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
	if !finished || w.suffix == "" {
		return nil
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

// Names lists the metrics of a run in their order.
func (m *Manifest) Names() []string {
	names := make([]string, len(m.Config.Metrics))
	for i, metric := range m.Config.Metrics {
		names[i] = metric.Name
	}
	return names
}

// Find returns what the manifest says of the metric with the given name.
func (m *Manifest) Find(name string) (Metric, error) {
	i := slices.IndexFunc(m.Config.Metrics, func(x Metric) bool { return x.Name == name })
	if i < 0 {
		return Metric{}, fmt.Errorf("the run has no metric %q (it has: %s)", name, strings.Join(m.Names(), ", "))
	}
	return m.Config.Metrics[i], nil
}
