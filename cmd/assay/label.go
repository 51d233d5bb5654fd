package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/metrics"
)

const labelCommandHelp = `
Usage: assay label RUN --labels FILE [--metric M] [-n 50] [flags]

Shows rows of a run one at a time and writes what you say of them to a labels file, which agree, ppi, calibrate and
judge read. Each label is on disk before the next row is shown; the same command goes on where it was left. The
metric's scores are not shown, since they would sway you.

  assay label results --labels labels.jsonl --metric faithfulness
  assay ppi results --labels labels.jsonl --metric faithfulness

Rows are picked all along the metric's range, each with the same chance, which is what assay ppi must have, and after
any number of labels you can stop. With --pick uncertain
the rows come first whose scores are nearest to the middle: they teach a judge most (assay judge train), but
are no fair sample, so keep them from assay ppi.

One key labels: 1 or 0, or with --scale 5 a digit from 1 to 5. Others: b back, s skip, m the whole texts, page by page, q quit.
Where standard input is no terminal, each line is a key.
`

// A labelCommandOptions holds the flags of assay label.
type labelCommandOptions struct {
	file     string
	data     string
	metric   string
	n        int
	scale    int
	pick     string
	question string
	seed     uint64
}

func labelCommand(ctx context.Context, s *std, args []string) error {
	var o labelCommandOptions
	f := s.flags("label", labelCommandHelp)
	f.StringVar(&o.file, "labels", "", "the `FILE` of labels, JSONL: begun if it is not there")
	f.StringVar(&o.data, "data", "", "the dataset `FILE`, where it is not any more where the run found it")
	f.StringVarP(&o.metric, "metric", "m", "", "the metric whose scores rows are picked by, where the run has several")
	f.IntVarP(&o.n, "count", "n", 50, "rows to label, those labelled earlier included")
	f.IntVar(&o.scale, "scale", 0, "labels from 1 to `N`, at most 9 (default: 0 and 1)")
	f.StringVar(&o.pick, "pick", "spread", "which rows: spread (fair) or uncertain (for training)")
	f.StringVar(&o.question, "ask", "", "what to ask of each row, in your `WORDS`")
	f.Uint64Var(&o.seed, "seed", 0, "seed of what is drawn at random")
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	run, err := loadScores(ctx, f.Arg(0))
	if err != nil {
		return err
	}
	book, err := openLabelBook(o.file)
	if err != nil {
		return usageError{err}
	}
	plan, err := o.plan(run, book)
	if err != nil {
		return err
	}
	if len(plan) == 0 {
		s.note("%s holds %d labels of %s: -n asks for more", o.file, book.labelled(run.samples), run.Dir)
		return nil
	}
	samples, err := o.samples(ctx, s, run, plan)
	if err != nil {
		return err
	}
	desk := &labelDesk{book: book, samples: samples, scale: o.scale, question: o.question}
	if o.pick != "spread" {
		desk.pick = o.pick
	}
	err = desk.work(ctx, s)
	s.note("%d labels of %s are in %s", book.labelled(run.samples), base(run.Dir), o.file)
	return err
}

func (o *labelCommandOptions) check() error {
	switch {
	case o.file == "":
		return usageError{withHint(errors.New("no labels file"), "--labels labels.jsonl: it need not be there yet")}
	case strings.HasSuffix(o.file, ".csv") || strings.HasSuffix(o.file, ".tsv") || strings.HasSuffix(o.file, ".gz") || strings.HasSuffix(o.file, ".zst"):
		return usagef("--labels %s: labels are written as JSONL: name the file .jsonl", o.file)
	case o.n < 1:
		return usagef("-n is %d: it takes a positive number of rows", o.n)
	case o.scale != 0 && (o.scale < 2 || o.scale > 9):
		return usagef("--scale is %d: it takes a number from 2 to 9", o.scale)
	case o.pick != "spread" && o.pick != "uncertain":
		return usagef("--pick %q: spread or uncertain", o.pick)
	}
	return nil
}

// plan lists the samples to show, in order: as many as are still wanted.
func (o *labelCommandOptions) plan(run *scores, book *labelBook) ([]string, error) {
	m, err := run.one(o.metric)
	if err != nil {
		return nil, err
	}
	of := run.of[m.Name]
	var scored []string
	for _, id := range run.samples {
		if _, ok := of[id]; ok {
			scored = append(scored, id)
		}
	}
	if len(scored) == 0 {
		return nil, usagef("%s has no scores of %s", run.Dir, m.Name)
	}
	order := spread(scored, of, o.seed)
	if o.pick == "uncertain" {
		order = uncertain(order, of, (m.Min+m.Max)/2)
	}
	wanted := o.n - book.labelled(run.samples)
	var plan []string
	for _, id := range order {
		if len(plan) >= wanted {
			break
		}
		if !book.seen(id) {
			plan = append(plan, id)
		}
	}
	return plan, nil
}

// spread puts samples into an order whose every beginning lies evenly along their scores, and in which each sample
// has the same chance to be early. The samples, sorted by score and closed to a ring, are visited in steps of the golden
// ratio from a random place (a Kronecker sequence: Niederreiter 1992, section 3.1); one that was visited gives way to
// the next that was not. The random place makes the chances equal, as any rotation of the ring is as likely.
func spread(samples []string, of map[string]float64, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, 0x6c6162656c))
	sorted := slices.Clone(samples)
	rng.Shuffle(len(sorted), func(i, j int) { sorted[i], sorted[j] = sorted[j], sorted[i] }) // among equal scores
	slices.SortStableFunc(sorted, func(a, b string) int {
		switch {
		case of[a] < of[b]:
			return -1
		case of[a] > of[b]:
			return 1
		}
		return 0
	})
	n := len(sorted)
	next := make([]int, n) // where to look from a place that was taken
	for i := range next {
		next[i] = i
	}
	free := func(i int) int {
		for next[i] != i {
			next[i] = next[next[i]]
			i = next[i]
		}
		return i
	}
	const golden = 0.6180339887498949
	at := rng.Float64()
	order := make([]string, 0, n)
	for range n {
		i := free(min(int(at*float64(n)), n-1))
		order = append(order, sorted[i])
		if len(order) < n {
			next[i] = free((i + 1) % n)
		}
		at = math.Mod(at+golden, 1)
	}
	return order
}

// uncertain puts those first whose scores are nearest to the middle of the range, in the order given where two are as near.
func uncertain(samples []string, of map[string]float64, middle float64) []string {
	order := slices.Clone(samples)
	slices.SortStableFunc(order, func(a, b string) int {
		switch x, y := math.Abs(of[a]-middle), math.Abs(of[b]-middle); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return order
}

// samples reads the samples of a plan from the dataset, in the plan's order.
func (o *labelCommandOptions) samples(ctx context.Context, s *std, run *scores, plan []string) ([]*metrics.Sample, error) {
	l := labelOptions{data: o.data}
	data, err := l.open(ctx, s, run)
	if err != nil {
		return nil, usageError{err}
	}
	defer data.Close()
	place := map[string]int{}
	for i, id := range plan {
		place[id] = i
	}
	list := make([]*metrics.Sample, len(plan))
	for sample, err := range data.Samples(ctx) {
		switch {
		case errors.As(err, new(*dataset.RowError)):
			continue // the run left it out, too
		case err != nil:
			return nil, usageError{err}
		}
		if i, ok := place[sample.ID]; ok {
			list[i] = sample
		}
	}
	if i := slices.Index(list, nil); i >= 0 {
		return nil, usagef("%s has no sample %q, which the run scored", data.Summary().Name, plan[i])
	}
	return list, ctx.Err()
}

// A labelBook is a file of labels. Lines that it does not know stay as they are.
type labelBook struct {
	path  string
	lines []labelLine
}

// A labelLine is a line of the file.
type labelLine struct {
	raw     []byte
	sample  string
	skipped bool
}

// openLabelBook reads the file, if it is there.
func openLabelBook(path string) (*labelBook, error) {
	b := &labelBook{path: path}
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
		b.lines = append(b.lines, labelLine{slices.Clone(lines.Bytes()), sample, skipped})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// labelled counts the samples that have a label.
func (b *labelBook) labelled(samples []string) int {
	of := map[string]bool{}
	for _, line := range b.lines {
		if !line.skipped {
			of[line.sample] = true
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

// seen reports whether a sample was labelled or skipped.
func (b *labelBook) seen(sample string) bool {
	return slices.ContainsFunc(b.lines, func(l labelLine) bool { return l.sample == sample })
}

// put sets the label of a sample, nil if it was skipped, and has it on disk. Pick says how the sample was picked, ""
// for fairly.
func (b *labelBook) put(sample string, label *int, pick string) error {
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	err := e.Encode(struct {
		Sample string `json:"sample"`
		Label  *int   `json:"label"`
		Pick   string `json:"pick,omitempty"`
	}{sample, label, pick})
	if err != nil {
		return err
	}
	now, err := openLabelBook(b.path)
	if err != nil {
		return err
	}
	if now.lines != nil {
		b.lines = now.lines // with what someone else labelled meanwhile
	}
	line := labelLine{bytes.TrimSpace(raw.Bytes()), sample, label == nil}
	if i := slices.IndexFunc(b.lines, func(l labelLine) bool { return l.sample == sample }); i >= 0 {
		b.lines[i] = line
	} else {
		b.lines = append(b.lines, line)
	}
	return b.write()
}

// write puts a new file in the place of the old one: whatever happens, one of them is there and whole.
func (b *labelBook) write() error {
	f, err := os.CreateTemp(filepath.Dir(b.path), filepath.Base(b.path)+".*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // not there any more once it has its name
	var text bytes.Buffer
	for _, line := range b.lines {
		text.Write(line.raw)
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
