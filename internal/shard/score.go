package shard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"sync"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// A Block is all results of one row.
type Block struct {
	Row   int    // its number in the run, from 1 on
	Lines []byte // as a results file holds them: a line of JSON for each metric
}

// Score scores rows by every metric of ms, as [metrics.Run] does, and hands a Block for each to emit, in the order of the
// rows. The block is valid until emit returns. All that [metrics.Run] says of errors and memory holds here.
func Score(ctx context.Context, rows iter.Seq2[Row, error], ms []metrics.Metric, m metrics.Models, o metrics.Options,
	emit func(Block) error) error {
	var mu sync.Mutex
	var open []int // the numbers of the rows that were begun, in their order
	samples := func(yield func(*metrics.Sample, error) bool) {
		for row, err := range rows {
			if err == nil {
				mu.Lock()
				open = append(open, row.Number)
				mu.Unlock()
			}
			if !yield(row.Sample, err) {
				return
			}
		}
	}
	var block Block
	have := 0
	return metrics.Run(ctx, samples, ms, m, o, func(r metrics.Result) error {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		block.Lines = append(append(block.Lines, line...), '\n')
		if have++; have < len(ms) {
			return nil
		}
		mu.Lock()
		block.Row, open = open[0], open[1:]
		mu.Unlock()
		err = emit(block)
		have, block.Lines = 0, block.Lines[:0]
		return err
	})
}

// Score scores the rows of the shard that w does not have yet into w, numbered. The samples are those of the whole run.
func (s Shard) Score(ctx context.Context, samples iter.Seq2[*metrics.Sample, error], ms []metrics.Metric,
	m metrics.Models, o metrics.Options, w *runs.Writer) error {
	rows := func(yield func(Row, error) bool) {
		kept := w.Kept()
		for row, err := range s.Rows(samples) {
			if err == nil && kept > 0 {
				kept--
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
	var text []byte
	return Score(ctx, rows, ms, m, o, func(b Block) error {
		text = b.Numbered(text[:0])
		return w.WriteLines(text)
	})
}

const numberMark = `{"row":`

// Numbered appends the lines of b to text in the form of a part: each begins with the number of the row.
func (b Block) Numbered(text []byte) []byte {
	for line := range bytes.Lines(b.Lines) {
		text = strconv.AppendInt(append(text, numberMark...), int64(b.Row), 10)
		text = append(append(text, ','), line[1:]...)
	}
	return text
}

// Blocks reads the results of a part, numbered, which have a line for each of the metrics, in their order. The rows must
// come in the order of their numbers, and none may be cut off. A block is valid until the next is asked for.
func Blocks(r io.Reader, names []string) iter.Seq2[Block, error] {
	return func(yield func(Block, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		var b, before Block
		sample, have := "", 0
		for n := 1; ; n++ {
			line, err := in.ReadBytes('\n')
			if err == io.EOF {
				if have > 0 || len(line) > 0 {
					yield(Block{}, fmt.Errorf("line %d: the results end in the middle of a row", n))
				}
				return
			}
			var l numbered
			if err == nil {
				l, err = readLine(line)
			}
			if err == nil && have == 0 {
				b.Row, sample = l.row, l.Sample
			}
			switch {
			case err != nil:
			case l.row != b.Row || l.Sample != sample:
				err = fmt.Errorf("row %d has no result of %s", b.Row, names[have])
			case l.Metric != names[have]:
				err = fmt.Errorf("row %d has a result of %q where that of %q belongs", b.Row, l.Metric, names[have])
			case l.row <= before.Row:
				err = fmt.Errorf("row %d comes after row %d", l.row, before.Row)
			}
			if err != nil {
				yield(Block{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			b.Lines = append(b.Lines, l.text...)
			if have++; have < len(names) {
				continue
			}
			if !yield(b, nil) {
				return
			}
			before.Row, have, b.Lines = b.Row, 0, b.Lines[:0]
		}
	}
}

// A numbered line of results.
type numbered struct {
	row            int
	text           []byte // the line as one run writes it
	Sample, Metric string
}

var errUnnumbered = errors.New("it has no row number: these are no results of a part")

func readLine(line []byte) (l numbered, err error) {
	digits, ok := bytes.CutPrefix(line, []byte(numberMark))
	end := bytes.IndexByte(digits, ',')
	if !ok || end < 1 || digits[0] < '1' || digits[0] > '9' {
		return l, errUnnumbered
	}
	if l.row, err = strconv.Atoi(string(digits[:end])); err != nil {
		return l, errUnnumbered
	}
	l.text = digits[end:]
	l.text[0] = '{'
	return l, json.Unmarshal(l.text, &l)
}
