package labels

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// A Book is a file of labels. Lines that it does not know stay as they are.
type Book struct {
	path  string
	lines []line
}

// A line is one line of the file.
type line struct {
	raw     []byte
	sample  string
	label   json.RawMessage // absent or null: it was skipped
	skipped bool
}

// OpenBook reads the file, if it is there.
func OpenBook(path string) (*Book, error) {
	b := &Book{path: path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		b.path = real // a link stays one
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat(filepath.Dir(path)) // now, and not after the first label
		return b, err
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var row struct {
			Sample json.RawMessage `json:"sample"`
			Label  json.RawMessage `json:"label"`
		}
		err := json.Unmarshal(lines.Bytes(), &row)
		sample, ok := textOf(row.Sample)
		if err != nil || !ok || sample == "" {
			return nil, fmt.Errorf("%s, line %d: it is no label: {\"sample\": ID, \"label\": NUMBER}", path, n)
		}
		skipped := len(row.Label) == 0 || string(row.Label) == "null"
		b.lines = append(b.lines, line{slices.Clone(lines.Bytes()), sample, row.Label, skipped})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// Labelled counts the samples that have a label.
func (b *Book) Labelled(samples []string) int {
	of := map[string]bool{}
	for _, l := range b.lines {
		if !l.skipped {
			of[l.sample] = true
		}
	}
	n := 0
	for _, id := range samples {
		if of[id] {
			n++
		}
	}
	return n
}

// Samples lists those that were labelled or skipped.
func (b *Book) Samples() []string {
	var list []string
	for _, l := range b.lines {
		list = append(list, l.sample)
	}
	return list
}

// Seen reports whether a sample was labelled or skipped.
func (b *Book) Seen(sample string) bool {
	return slices.ContainsFunc(b.lines, func(l line) bool { return l.sample == sample })
}

// Label returns a sample's label; shown reports whether it has been looked at, and labelled whether it has a label.
func (b *Book) Label(sample string) (label float64, shown, labelled bool) {
	i := slices.IndexFunc(b.lines, func(l line) bool { return l.sample == sample })
	if i < 0 {
		return 0, false, false
	}
	list, err := parseRatings(b.lines[i].label, 0)
	if err != nil || len(list) == 0 {
		return 0, true, false
	}
	return Mean(list), true, true
}

// Labels are the labels by sample, the mean where several people gave one.
func (b *Book) Labels() map[string]float64 {
	of := map[string]float64{}
	for _, l := range b.lines {
		if list, err := parseRatings(l.label, 0); err == nil && len(list) > 0 {
			of[l.sample] = Mean(list)
		}
	}
	return of
}

// Chosen says what labels of rows that were browsed are not, after a count of them.
const Chosen = "they are no random sample of the run, so what follows from them for the whole run is biased, by how much cannot " +
	"be told; labels of rows that assay label draws at random, or with known chances (--pick active), are valid"

// A Pick says how a sample was picked. The zero Pick is that each was as likely.
type Pick struct {
	How string // "uncertain", "active", or "browsed": someone came upon it while reading
	Stratum
}

// Put sets the label of a sample, nil if it was skipped, and has it on disk.
func (b *Book) Put(sample string, label *int, pick Pick) error {
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	var stratum []float64
	if pick.By != "" {
		stratum = []float64{pick.Low, pick.High}
	}
	err := e.Encode(struct {
		Sample  string    `json:"sample"`
		Label   *int      `json:"label"`
		Pick    string    `json:"pick,omitempty"`
		By      string    `json:"by,omitempty"`
		Stratum []float64 `json:"stratum,omitempty"`
	}{sample, label, pick.How, pick.By, stratum})
	if err != nil {
		return err
	}
	now, err := OpenBook(b.path)
	if err != nil {
		return err
	}
	if now.lines != nil {
		b.lines = now.lines // with what someone else labelled meanwhile
	}
	l := line{raw: bytes.TrimSpace(raw.Bytes()), sample: sample, skipped: label == nil}
	if label != nil {
		l.label = json.RawMessage(strconv.Itoa(*label))
	}
	if i := slices.IndexFunc(b.lines, func(l line) bool { return l.sample == sample }); i >= 0 {
		b.lines[i] = l
	} else {
		b.lines = append(b.lines, l)
	}
	return b.write()
}

// write puts a new file in the place of the old one: whatever happens, one of them is there and whole.
func (b *Book) write() error {
	f, err := os.CreateTemp(filepath.Dir(b.path), filepath.Base(b.path)+".*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // not there any more once it has its name
	var text bytes.Buffer
	for _, l := range b.lines {
		text.Write(l.raw)
		text.WriteByte('\n')
	}
	mode := fs.FileMode(0o644)
	if old, err := os.Stat(b.path); err == nil {
		mode = old.Mode().Perm()
	}
	_, err = io.Copy(f, &text)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), b.path)
}
