package bounds

import pq "github.com/parquet-go/parquet-go"

// A Column is what the checks need to know of a column of plain values.
type Column struct {
	Name   string
	Kind   pq.Kind
	Length int // of a value of fixed length, in bytes; 0 for others
	Rep    int // how many lists it is in
	Def    int // the definition level at which a value is there
}
