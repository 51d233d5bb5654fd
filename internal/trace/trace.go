// Package trace makes rows of what tracing and other evaluators' tools save: a trace has a span for each step of an
// application, and the row wants the question, the answer and the passages between them.
//
// [Recognise] tells the format of a file by its first record's members, never by its name. Some formats have a record for
// each row: those are rewritten one by one. The others have a record for each span, or for many, and the spans of a
// trace may lie apart: a [Reader] counts them first ([Reader.Count]), and then makes the row of a trace as soon as
// the last of its spans has been read ([Reader.Rows]), so that memory holds the traces that are open and no others.
//
// What is made of a trace, in every format:
//
//   - the question and what was said before it are the input of the root span, the answer is its output;
//   - the contexts are the documents of the last reranker, or else of all retrievers that are not inside another
//     one, in order of time, each document once;
//   - the calls of tools are those of the tool spans, or else those that the models' replies ask for;
//   - the id is the trace's, the group its session.
//
// What a trace lacks is not made up: the row lacks it too, and [Reader.Notes] says how many do.
package trace

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// A Record is one record of a file: an object as encoding/json decodes it, with numbers as json.Number. In a
// table every value is a string.
type Record map[string]any

// A Column is a named value of a row.
type Column struct {
	Name  string
	Value any
}

// A Row is what a record or a trace says, by our own names for columns.
type Row struct {
	File    int // the file of its first record, as Located has it
	Line    int // where its first record starts
	Columns []Column
}

// put adds a column, unless its value is nothing.
func (r *Row) put(name string, value any) {
	switch v := value.(type) {
	case nil:
		return
	case string:
		if v == "" {
			return
		}
	case []any:
		if len(v) == 0 {
			return
		}
	case map[string]any:
		if len(v) == 0 {
			return
		}
	}
	r.Columns = append(r.Columns, Column{name, value})
}

// A Format is a way in which a tool saves rows or spans. Its columns are known as they stand if both functions are nil.
type Format struct {
	Name  string // for messages: "LangSmith runs"
	is    func(Record) bool
	spans func(Record) []span      // of a record
	row   func(Record, *notes) Row // of a record
}

// Plain reports whether the records are rows as they stand.
func (f *Format) Plain() bool { return f.spans == nil && f.row == nil }

// formats are tried in this order.
func formats() []Format {
	return []Format{
		{Name: "OTLP spans", is: isOTLP, spans: otlpSpans},
		{Name: "OpenInference spans (Phoenix)", is: isPhoenixSpan, spans: phoenixSpan},
		{Name: "Phoenix retrieved documents", is: isPhoenixDocument, spans: phoenixDocument},
		{Name: "Phoenix questions with contexts", is: isPhoenixQA, row: phoenixQA},
		{Name: "LangSmith runs", is: isLangSmith, spans: langSmithSpan},
		{Name: "Langfuse observations", is: isLangfuse, spans: langfuseSpan},
		{Name: "MLflow traces", is: isMLflow, spans: mlflowSpans},
		{Name: "lm-evaluation-harness samples", is: isHarness, row: harnessRow},
		{Name: "Inspect log", is: isInspect, row: inspectRow},
		{Name: "promptfoo results", is: isPromptfoo, row: promptfooRow},
		{Name: "LlamaIndex responses", is: isLlamaIndex, row: llamaIndexRow},
		{Name: "Haystack results", is: isHaystack, row: haystackRow},
		{Name: "LangChain chain results", is: isLangChain},
		{Name: "DeepEval test run", is: isDeepEval},
		{Name: "RAGChecker results", is: isRAGChecker},
		{Name: "Ragas samples", is: isRagas},
	}
}

// Recognise returns the format that a file's first record is of; nil: none of ours.
func Recognise(first Record) *Format {
	for _, f := range formats() {
		if f.is(first) {
			return &f
		}
	}
	return nil
}

// notes count what the rows of one pass lack, and how many rows there were.
type notes struct {
	rows  int
	left  int            // traces without anything to score
	lacks map[string]int // sentence to rows
	kinds map[string]int // conventions of attributes to spans
}

func (n *notes) say(sentence string) { n.lacks[sentence]++ }

// A Reader reads the records of one format. It is made anew for each file, or each set of files with common traces.
type Reader struct {
	Format
	records map[string]int // trace to the records that have spans of it
	notes   notes
}

// NewReader returns a Reader of a format that is not Plain.
func NewReader(f *Format) *Reader { return &Reader{Format: *f, records: map[string]int{}} }

// Count takes note of a record's traces. Every record is counted once before Rows is called.
func (r *Reader) Count(rec Record) {
	if r.spans == nil {
		return
	}
	for id := range tracesOf(r.spans(rec)) {
		r.records[id]++
	}
}

func tracesOf(spans []span) map[string]bool {
	ids := map[string]bool{}
	for _, s := range spans {
		ids[s.trace] = true
	}
	return ids
}

// A Located is a record with its place: a file, by the caller's count, and the line on which it starts.
type Located struct {
	File   int
	Line   int
	Record Record
}

// Rows makes rows of all records, which are those that were counted, in the same order. A row stands where its last record
// stood. The sequence can be read once.
func (r *Reader) Rows(records iter.Seq[Located]) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		r.notes = notes{lacks: map[string]int{}, kinds: map[string]int{}}
		open := map[string]*gathered{}
		left := maps.Clone(r.records)
		for rec := range records {
			if r.row != nil {
				r.notes.rows++
				row := r.row(rec.Record, &r.notes)
				row.File, row.Line = rec.File, rec.Line
				if !yield(row) {
					return
				}
				continue
			}
			spans := r.spans(rec.Record)
			var order []string // the record's traces, as they come
			for _, s := range spans {
				g := open[s.trace]
				if g == nil {
					g = &gathered{file: rec.File, line: rec.Line}
					open[s.trace] = g
				}
				g.spans = append(g.spans, s)
				if !slices.Contains(order, s.trace) {
					order = append(order, s.trace)
				}
				r.notes.kinds[s.convention]++
			}
			for _, id := range order {
				if left[id]--; left[id] > 0 {
					continue
				}
				row, ok := open[id].row(id, &r.notes)
				delete(open, id)
				if !ok {
					r.notes.left++
					continue
				}
				r.notes.rows++
				if !yield(row) {
					return
				}
			}
		}
	}
}

// Notes say what the rows that were last made lack, in sentences, the most frequent first.
func (r *Reader) Notes() []string {
	var list []string
	keys := slices.SortedFunc(maps.Keys(r.notes.lacks), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.notes.lacks[b], r.notes.lacks[a]), cmp.Compare(a, b))
	})
	for _, sentence := range keys {
		list = append(list, fmt.Sprintf("%d of %d rows: %s", r.notes.lacks[sentence], r.notes.rows, sentence))
	}
	if r.notes.left > 0 {
		list = append(list, fmt.Sprintf("traces left out, as no span of theirs has an input, an output or documents: %d",
			r.notes.left))
	}
	return list
}

// Conventions names the conventions of attributes that the spans follow, the most frequent first.
func (r *Reader) Conventions() []string {
	delete(r.notes.kinds, "")
	return slices.SortedFunc(maps.Keys(r.notes.kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.notes.kinds[b], r.notes.kinds[a]), cmp.Compare(a, b))
	})
}
