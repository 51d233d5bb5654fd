// Package shard scores parts of a run on several machines and puts them together again.
//
// Every row of a run has a number, from 1 on, in the order in which one run would score it. A part of a run is rows in
// that order; its results are those that one run would write, each line with the row's number at its beginning.
//
//  1. A [Shard] chooses its rows by a hash ([Shard.Rows]); who cuts a run otherwise, numbers the rows himself.
//  2. [Score] scores rows and gives a [Block] for each: the bytes that one run writes for it. [Block.Numbered] is what a
//     part keeps.
//  3. [Blocks] reads a part's results, and [Join] puts parts into one sequence by the numbers of the rows, holding one
//     block of each in memory.
//  4. [Gather] looks at the folders of shards, refuses what does not belong together, and merges them into a run folder.
package shard

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/metrics"
)

// A Shard is one of several parts into which the rows of a run are divided.
type Shard struct {
	Index int // from 1 to Of
	Of    int
}

const most = 1_000_000 // shards of a run

// Parse reads "3/8", the third of eight shards.
func Parse(text string) (Shard, error) {
	index, of, cut := strings.Cut(text, "/")
	if !cut {
		return Shard{}, fmt.Errorf("%q: write 3/8, the third of eight shards", text)
	}
	k, errK := strconv.Atoi(index)
	n, errN := strconv.Atoi(of)
	if errK != nil || errN != nil {
		return Shard{}, fmt.Errorf("%q: write 3/8, the third of eight shards", text)
	}
	s := Shard{k, n}
	return s, s.check()
}

func (s Shard) check() error {
	switch {
	case s.Of < 1 || s.Of > most:
		return fmt.Errorf("%v: the number of shards is from 1 to %d", s, most)
	case s.Index < 1 || s.Index > s.Of:
		return fmt.Errorf("%v: shards are numbered from 1 to %d", s, s.Of)
	}
	return nil
}

// String is the form that [Parse] reads.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Of is the number, from 1 to n, of the shard of n that a sample is in: the first eight bytes of the SHA-256 of its
// group, or of its id where it is in none, as a big-endian number, modulo n, plus 1. The rows of a group are in one shard.
func Of(s *metrics.Sample, n int) int { return of(s.Group, s.ID, n) }

func of(group, id string, n int) int {
	sum := sha256.Sum256([]byte(cmp.Or(group, id)))
	return int(binary.BigEndian.Uint64(sum[:8])%uint64(n)) + 1
}

// A Row is a sample with its number in the run.
type Row struct {
	Number int // from 1 on
	Sample *metrics.Sample
}

// Rows yields the rows of the shard, in the order of the run's samples, of which samples are all.
func (s Shard) Rows(samples iter.Seq2[*metrics.Sample, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		number := 0
		for sample, err := range samples {
			if err != nil {
				if !yield(Row{}, err) {
					return
				}
				continue
			}
			number++
			if Of(sample, s.Of) == s.Index && !yield(Row{number, sample}, nil) {
				return
			}
		}
	}
}
