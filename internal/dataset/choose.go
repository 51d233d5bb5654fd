package dataset

import (
	"bytes"
	"cmp"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/metrics"
)

// A condition is what --where asks of a row: that a column, or a value inside one, compares so with a value.
type condition struct {
	asked  string // as the user wrote it
	path   string
	op     string
	value  string
	number float64 // of value, where the comparison is one of order
	seen   bool    // a row had the column
}

// parseWhere reads conditions such as "lang=de", "metadata.score>=0.5" or "split!=train".
func parseWhere(list []string) ([]*condition, error) {
	var conditions []*condition
	for _, text := range list {
		i := strings.IndexAny(text, "=!<>")
		if i <= 0 {
			return nil, fmt.Errorf("--where %q is no condition: want COLUMN=VALUE, or one of != < <= > >=", text)
		}
		c := &condition{asked: text, path: strings.TrimSpace(text[:i]), op: text[i : i+1]}
		rest := text[i+1:]
		if c.op != "=" && strings.HasPrefix(rest, "=") {
			c.op, rest = c.op+"=", rest[1:]
		}
		c.value = strings.TrimSpace(rest)
		if c.op == "!" {
			return nil, fmt.Errorf("--where %q is no condition: want COLUMN!=VALUE", text)
		}
		if c.op[0] == '<' || c.op[0] == '>' {
			var err error
			if c.number, err = strconv.ParseFloat(c.value, 64); err != nil {
				return nil, fmt.Errorf("--where %q: %q is no number, and %s compares numbers", text, c.value, c.op)
			}
		}
		conditions = append(conditions, c)
	}
	return conditions, nil
}

// holds reports whether the condition is true of a record. A row without the column, or with null in it, fulfils != alone.
func (c *condition) holds(rec record) bool {
	value, ok := rec.at(c.path)
	if ok {
		c.seen = true
	}
	text, none := "", !ok || value.none
	if !none {
		if v := bytes.TrimSpace(value.value); value.text {
			text = string(v)
		} else if kindOf(v) == "null" {
			none = true
		} else if s, err := decodeString(v); err == nil {
			text = s
		} else {
			text = string(v)
		}
	}
	switch c.op {
	case "=":
		return !none && text == c.value
	case "!=":
		return none || text != c.value
	}
	n, err := strconv.ParseFloat(text, 64)
	if none || err != nil {
		return false
	}
	switch c.op {
	case "<":
		return n < c.number
	case "<=":
		return n <= c.number
	case ">":
		return n > c.number
	}
	return n >= c.number
}

// fulfils reports whether all conditions hold. It asks every one, so that each sees its column.
func (r *Reader) fulfils(rec record) bool {
	all := true
	for _, c := range r.where {
		all = c.holds(rec) && all
	}
	return all
}

// at returns the column of a name, or what a path of names leads to inside one.
func (rec record) at(path string) (cell, bool) {
	for _, c := range rec.cells {
		if c.column == path {
			return c, true
		}
	}
	for _, c := range rec.cells {
		if rest, below := strings.CutPrefix(path, c.column+"."); below && !c.none {
			if inner, ok := c.inside(strings.Split(rest, ".")); ok {
				return inner, true
			}
		}
	}
	return cell{}, false
}

// A choice draws samples at random: those with the lowest hashes of seed and id, so that a row is drawn or not
// whatever stands beside it or before it.
type choice struct {
	want  int
	seed  uint64
	drawn []drawn // a heap, the highest hash on top
}

type drawn struct {
	hash   [16]byte
	row    int
	fields metrics.Field
}

func (c *choice) Len() int { return len(c.drawn) }
func (c *choice) Less(i, j int) bool {
	return bytes.Compare(c.drawn[i].hash[:], c.drawn[j].hash[:]) > 0
}
func (c *choice) Swap(i, j int) { c.drawn[i], c.drawn[j] = c.drawn[j], c.drawn[i] }
func (c *choice) Push(x any)    { c.drawn = append(c.drawn, x.(drawn)) }
func (c *choice) Pop() any {
	last := len(c.drawn) - 1
	x := c.drawn[last]
	c.drawn = c.drawn[:last]
	return x
}

// see offers a sample, the row-th of the dataset.
func (c *choice) see(row int, s *metrics.Sample) {
	sum := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, c.seed), s.ID...))
	d := drawn{hash: [16]byte(sum[:16]), row: row, fields: s.Fields()}
	if len(c.drawn) == c.want && bytes.Compare(d.hash[:], c.drawn[0].hash[:]) > 0 {
		return
	}
	heap.Push(c, d)
	if len(c.drawn) > c.want {
		heap.Pop(c)
	}
}

// settle ends the drawing.
func (c *choice) settle() {
	slices.SortFunc(c.drawn, func(a, b drawn) int { return cmp.Compare(a.row, b.row) })
}

// has reports whether the row-th sample was drawn, after settle.
func (c *choice) has(row int) bool {
	_, found := slices.BinarySearchFunc(c.drawn, row, func(d drawn, row int) int { return cmp.Compare(d.row, row) })
	return found
}
