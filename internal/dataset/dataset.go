// Package dataset reads samples from files: JSON Lines, a JSON array, CSV, TSV and TREC runs, as they are or
// compressed with gzip or zstd, Parquet, Excel's workbooks, and Inspect's logs.
//
// The path of a row:
//
//  1. The file is decompressed, hashed and cut into records, each with the line it starts on. The
//     limits are here: no record is larger than 64 MiB.
//  2. Traces, and what other evaluators' tools save, are recognised by their first record and made rows by package trace.
//  3. The columns are matched with the fields of a [metrics.Sample]: by [Options.Map], by our own
//     names, or by the names that other evaluators use. Two columns for one field are an error.
//  4. The cells are decoded into a Sample, from whatever shape their writer gave them.
//  5. Where there are judgements in a file of their own ([Options.Qrels]), the Sample gets those of its id.
//
// [Open] does this once for the whole file, to count the rows and find what is wrong before anything is
// scored; [Reader.Samples] does it again, as a stream. Memory does not grow with the file, except for
// a hash of each row's id; judgements are kept in memory.
package dataset

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/assay-eval/assay/internal/parquet"
	"github.com/assay-eval/assay/internal/trace"
	"github.com/assay-eval/assay/metrics"
)

// Options say how to read a dataset.
type Options struct {
	Map map[string]string // field to column: {"question": "query"}; it goes before any recognised name
	// "jsonl", "json", "csv", "tsv", "parquet", "xlsx", "eval" or "trec"; "": as the file's name or content says
	Format string
	Sheet  string // of a workbook; "": the first that is not hidden
	Limit  int    // read so many samples, the bad rows not counted; 0: all of them

	// Where are conditions on columns, all of which a row must fulfil: "lang=de", "metadata.score>=0.5". The others are
	// passed over. Their operators are =, !=, <, <=, > and >=.
	Where []string
	// Sample draws so many samples at random by Seed, in the order of the file; 0: all of them.
	Sample int
	Seed   uint64

	// Qrels is a file of relevance judgements, in TREC's or BEIR's form. They go to the samples with the ids
	// of their queries.
	Qrels string
	// Complete adds a sample without passages for each judged query that the dataset lacks, after all
	// others: trec_eval -c.
	Complete bool

	// Turns makes a sample of each question in a conversation that was replied to, rather than of the last one: see
	// [draft.exchanges].
	Turns bool
}

// A Summary says what a dataset holds.
type Summary struct {
	Name    string                // the file, for messages
	Format  string                // what it was read as: "jsonl", "LangSmith runs (parquet)"
	Tool    string                // that wrote the records which rows were made of: "LangSmith runs"; "": they are rows as they stand
	SHA256  string                // of the whole content, decompressed: 64 hexadecimal digits; of several files, of their hashes
	Rows    int                   // samples
	Bad     int                   // rows that are no sample
	Errors  []*RowError           // the first of them, at most 20
	Columns []Column              // in the order in which they appear
	Filled  map[metrics.Field]int // how many samples fill each field
	Qrels   string                // SHA-256 of the judgements, decompressed; "": there are none
	// what a reader of the scores should know of queries without judgements, or the other way round, and of what traces lack
	Notes []string
}

// A Column is one of the file's columns.
type Column struct {
	Name   string
	Fields []string // of a sample, that it fills: "question"; none: it is kept as extra
}

// A RowError is a row that is no sample. The rows after it can be read.
type RowError struct {
	File string
	Line int // where the row starts, from 1; in Parquet, which has no lines, the number of the row
	Err  error
}

func (e *RowError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns what is wrong, without the place.
func (e *RowError) Unwrap() error { return e.Err }

// A Reader is a dataset that has been read through once.
type Reader struct {
	source  *bundle
	where   []*condition
	choice  *choice // nil: nothing is drawn
	options Options
	columns *columns
	repeats map[int]place // row number to where its id was first used
	qrels   *qrels        // nil: none
	added   []string      // judged queries that the file lacks and that get a sample of their own
	tool    string        // the format of package trace that the records are of; "": none
	traces  *trace.Reader // nil: the file's records are rows
	format  string        // of the first file
	passed  int           // rows that do not fulfil the conditions
	summary Summary
}

// Open reads through the dataset at path (a file; a folder, or a pattern such as "logs/*.jsonl", with several; "-": standard
// input) and returns it ready to be read again.
// Bad rows are no error of Open unless there is nothing else: see [Summary.Bad].
func Open(ctx context.Context, path string, o Options) (*Reader, error) {
	cols, err := newColumns(o.Map)
	if err != nil {
		return nil, err
	}
	if o.Complete && o.Qrels == "" {
		return nil, errors.New("--complete adds judged queries: it needs --qrels FILE")
	}
	var judgements *qrels
	if o.Qrels != "" {
		if judgements, err = readQrels(ctx, o.Qrels); err != nil {
			return nil, err
		}
	}
	where, err := parseWhere(o.Where)
	if err != nil {
		return nil, err
	}
	if o.Sample > 0 && (o.Limit > 0 || o.Complete) {
		return nil, errors.New("--sample draws from all rows: it excludes --limit and --complete")
	}
	src, err := openBundle(ctx, path)
	if err != nil {
		return nil, err
	}
	for _, f := range src.files {
		f.sheet = o.Sheet
	}
	r := &Reader{source: src, options: o, where: where, columns: cols, repeats: map[int]place{}, qrels: judgements}
	if err := r.recognise(ctx); err != nil {
		src.Close()
		return nil, err
	}
	if err := r.scan(ctx); err != nil {
		src.Close()
		return nil, err
	}
	return r, nil
}

// Close releases what the Reader holds.
func (r *Reader) Close() error { return r.source.Close() }

// Summary describes the samples that Samples yields.
func (r *Reader) Summary() Summary { return r.summary }

// scan is the first pass.
func (r *Reader) scan(ctx context.Context) error {
	s := &r.summary
	s.Name, s.Filled = r.source.name, map[metrics.Field]int{}
	ids := map[[16]byte]place{}
	more := true
	count := func(filled metrics.Field) {
		s.Rows++
		for f := metrics.Question; f.String() != ""; f <<= 1 {
			if filled.Has(f) {
				s.Filled[f]++
			}
		}
		more = r.options.Limit == 0 || s.Rows < r.options.Limit
	}
	judged := newJudgedCount(r.qrels)
	var drawing *choice
	if r.options.Sample > 0 {
		drawing = &choice{want: r.options.Sample, seed: r.options.Seed}
	}
	err := r.read(ctx, func(row int, rec record, sample *metrics.Sample, err error) bool {
		if err == nil {
			id := idHash(sample.ID)
			if first, repeated := ids[id]; repeated {
				r.repeats[row] = first
				err = r.repeatedID(sample.ID, first, rec)
			} else {
				ids[id] = place{rec.file, rec.line}
			}
		}
		if err != nil {
			s.note(&RowError{r.source.fileOf(rec), rec.line, err})
			return true
		}
		judged.see(sample)
		if drawing != nil {
			drawing.see(row, sample)
			return true
		}
		count(sample.Fields())
		return more
	})
	if err != nil {
		return err
	}
	if drawing != nil {
		drawing.settle()
		for _, d := range drawing.drawn {
			count(d.fields)
		}
		r.choice = drawing
	}
	if r.qrels != nil {
		s.Qrels = r.qrels.sum
		if r.added, s.Notes, err = judged.compare(s.Name, r.options.Complete, more); err != nil {
			return err
		}
		for i, id := range r.added {
			if count(r.qrels.nothingFound(id).Fields()); !more {
				r.added = r.added[:i+1]
				break
			}
		}
	}
	s.Columns = r.columns.list()
	if r.traces != nil {
		s.Notes = append(s.Notes, r.traces.Notes()...)
		if list := r.traces.Conventions(); len(list) > 0 && strings.HasPrefix(s.Format, "OTLP") {
			s.Format = strings.Join(list, " and ") + ": " + s.Format
		}
	}
	return r.usable(more)
}

// note takes a bad row into account.
func (s *Summary) note(bad *RowError) {
	const shown = 20
	if s.Bad++; len(s.Errors) < shown {
		s.Errors = append(s.Errors, bad)
	}
}

// usable says after the first pass why the dataset cannot be used, if it cannot. With more, all of it was read.
func (r *Reader) usable(more bool) error {
	s := &r.summary
	if err := r.columns.check(s.Name); err != nil {
		return err
	}
	for _, c := range r.where {
		if !c.seen && more {
			return fmt.Errorf("no row of %s has the column of --where %s; its columns: %s", s.Name, c.asked, describe(s.Columns))
		}
	}
	switch {
	case s.Rows == 0 && s.Bad == 0 && r.passed > 0:
		return fmt.Errorf("no row of %s fulfils --where %s", s.Name, strings.Join(r.options.Where, " and "))
	case s.Rows == 0 && s.Bad == 0:
		return fmt.Errorf("%s is empty: it has no rows", s.Name)
	case s.Rows == 0:
		return fmt.Errorf("%s has no usable row (%d bad): %w", s.Name, s.Bad, s.Errors[0])
	}
	return nil
}

// Samples yields the dataset's samples in order, each time from the start. A bad row is yielded as a
// [*RowError], and the sequence goes on; any other error ends it.
func (r *Reader) Samples(ctx context.Context) iter.Seq2[*metrics.Sample, error] {
	return func(yield func(*metrics.Sample, error) bool) {
		rows := 0
		stopped := false
		err := r.read(ctx, func(row int, rec record, sample *metrics.Sample, err error) bool {
			if first, repeated := r.repeats[row]; repeated && err == nil {
				err = r.repeatedID(sample.ID, first, rec)
			}
			if err != nil {
				stopped = !yield(nil, &RowError{r.source.fileOf(rec), rec.line, err})
				return !stopped
			}
			if r.choice != nil && !r.choice.has(row) {
				return true
			}
			rows++
			stopped = !yield(sample, nil)
			return !stopped && (r.options.Limit == 0 || rows < r.options.Limit)
		})
		if err != nil && !stopped {
			stopped = true
			yield(nil, err)
		}
		for _, id := range r.added {
			if stopped || !yield(r.qrels.nothingFound(id), nil) {
				return
			}
		}
	}
}

// samples are those of a record: one, or with the option Turns those of a conversation's turns. The list is never empty.
func (r *Reader) samples(rec record, row int) ([]*metrics.Sample, error) {
	if !r.options.Turns {
		sample, err := r.columns.decode(rec, row)
		return []*metrics.Sample{sample}, err
	}
	d, err := r.columns.draft(rec, row)
	if err != nil {
		return []*metrics.Sample{nil}, err
	}
	return d.exchanges(), nil
}

// read passes every sample of the file to visit, numbered from 1, or the reason why a record has none, until visit
// returns false. The first time it notes the hash of the whole content, and
// later it compares.
func (r *Reader) read(ctx context.Context, visit func(row int, rec record, s *metrics.Sample, err error) bool) error {
	sums := make([]string, len(r.source.files))
	r.passed = 0
	row, number, ended := 0, 0, true
	for rec, err := range r.records(r.source.records(ctx, r.options.Format, sums)) {
		if err == nil && row%256 == 0 {
			err = ctx.Err()
		}
		if err == nil && rec.err == nil {
			r.columns.reach(&rec)
		}
		if err == nil {
			err = r.columns.see(rec)
		}
		if err != nil {
			return fileError(r.source.fileOf(rec), rec.line, err)
		}
		row++
		if rec.err == nil && !r.fulfils(rec) {
			r.passed++
			continue
		}
		samples := []*metrics.Sample{nil} // an error takes the place of one
		if err = rec.err; err == nil {
			samples, err = r.samples(rec, row)
		}
		for _, sample := range samples {
			if err == nil && r.qrels != nil {
				err = r.qrels.judge(sample)
			}
			number++
			if ended = visit(number, rec, sample, err); !ended {
				break
			}
		}
		if !ended {
			break
		}
	}
	if !ended && r.summary.SHA256 != "" {
		return nil
	}
	sum, err := r.source.sum(ctx, sums)
	if err != nil {
		return err
	}
	switch r.summary.SHA256 {
	case "":
		r.summary.SHA256 = sum
	case sum:
	default:
		return fmt.Errorf("%s changed while it was being read: run again when it is complete", r.source.name)
	}
	return nil
}

// fileError says where in the file reading stopped; line 0: nowhere in particular.
func fileError(name string, line int, err error) error {
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s ends too soon: it seems to have been cut off", name)
	case line > 0:
		return fmt.Errorf("%s:%d: %w", name, line, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// A place is a line of one of the files.
type place struct{ file, line int }

func (r *Reader) repeatedID(id string, at place, rec record) error {
	first := at.line
	if at.file != rec.file {
		return fmt.Errorf("the id %q is used twice: first in %s:%d", id, r.source.files[at.file].name, first)
	}
	if r.format == "trec" {
		return fmt.Errorf("the lines of query %.60q do not stand together: others began on line %d; sort the run by "+
			"query", id, first)
	}
	if r.format == "parquet" || r.format == "xlsx" {
		return fmt.Errorf("the id %q is used twice: first in row %d", id, first)
	}
	return fmt.Errorf("the id %q is used twice: first on line %d", id, first)
}

// idHash stands for an id among those already seen: 16 bytes of SHA-256, so that no one can make two
// ids collide.
func idHash(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

// Fields are those that some sample fills.
func (s *Summary) Fields() metrics.Field {
	var f metrics.Field
	for field, n := range s.Filled {
		if n > 0 {
			f |= field
		}
	}
	return f
}

// Need returns an error that says which of the wanted fields no sample fills, what the file has
// instead, and what to do about it; nil if there is no such field.
func (s *Summary) Need(want metrics.Field) error {
	for f := metrics.Question; f.String() != ""; f <<= 1 {
		if !want.Has(f) || s.Filled[f] > 0 {
			continue
		}
		for _, c := range s.Columns {
			if c.fills(f.String()) {
				return fmt.Errorf("the column %q of %s, which holds the %s, is empty in every row", c.Name, s.Name, f)
			}
		}
		return fmt.Errorf("%s has no column for the %s; its columns: %s; name one with --map %s=COLUMN",
			s.Name, f, describe(s.Columns), f)
	}
	return nil
}

// An input is an open file: its records, and the hash of what has been read so far.
type input struct {
	io.Reader // the content, decompressed and hashed
	file      *os.File
	rows      *parquet.File // if that is the format
	samples   []*zip.File   // if it is an Inspect log
	book      *workbook     // if it is one of Excel
	format    string
	hash      hash.Hash
	closers   []io.Closer
}

// sum reads to the end and returns the hash of it all.
func (f *input) sum(ctx context.Context) (string, error) {
	for {
		_, err := io.CopyN(io.Discard, f.Reader, 1<<20)
		if err == io.EOF {
			return hex.EncodeToString(f.hash.Sum(nil)), nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return "", err
		}
	}
}

// Close closes the file and its decompressor.
func (f *input) Close() error {
	var err error
	for i := len(f.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, f.closers[i].Close())
	}
	return err
}
