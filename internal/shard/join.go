package shard

import (
	"container/heap"
	"fmt"
	"iter"
	"slices"
)

// A Source is the blocks of a part, and what a message calls it.
type Source struct {
	Name   string
	Blocks iter.Seq2[Block, error]
}

// Join yields the blocks of all sources in the order of their rows, each source being in that order. One block of each is
// held in memory. A row that is in two sources, and an error of one, end the sequence with an error that names them.
// Parts that follow one another are best given as one source, which opens each when the one before it has ended.
func Join(sources ...Source) iter.Seq2[Block, error] {
	return func(yield func(Block, error) bool) {
		var q queue
		for _, s := range sources {
			next, stop := iter.Pull2(s.Blocks)
			defer stop()
			h := &head{name: s.Name, pull: next}
			if more, err := h.next(); err != nil {
				yield(Block{}, err)
				return
			} else if more {
				q = append(q, h)
			}
		}
		heap.Init(&q)
		for lastRow, lastName := 0, ""; len(q) > 0; {
			h := q[0]
			if h.block.Row == lastRow {
				yield(Block{}, fmt.Errorf("row %d is in %s and in %s", lastRow, lastName, h.name))
				return
			}
			lastRow, lastName = h.block.Row, h.name
			if !yield(h.block, nil) {
				return
			}
			more, err := h.next()
			switch {
			case err != nil:
				yield(Block{}, err)
				return
			case more:
				heap.Fix(&q, 0)
			default:
				heap.Pop(&q)
			}
		}
	}
}

// A head is the next block of a source.
type head struct {
	name  string
	pull  func() (Block, error, bool)
	block Block
}

// next takes the source's next block, if there is one more.
func (h *head) next() (more bool, err error) {
	h.block, err, more = h.pull()
	if err != nil {
		err = fmt.Errorf("%s: %w", h.name, err)
	}
	return more, err
}

// A queue is a heap of heads, the one with the lowest row first; of one row, that of the source whose name comes first.
type queue []*head

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(h any)   { *q = append(*q, h.(*head)) }

func (q queue) Less(i, j int) bool {
	if q[i].block.Row != q[j].block.Row {
		return q[i].block.Row < q[j].block.Row
	}
	return q[i].name < q[j].name
}

func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = slices.Delete(*q, len(*q)-1, len(*q))
	return last
}
