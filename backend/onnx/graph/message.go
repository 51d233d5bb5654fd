package graph

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Message is a protobuf message as it is being written. Its methods return it with one field more.
type Message []byte

// Number adds a field that is a whole number.
func (m Message) Number(field protowire.Number, v int64) Message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(v))
}

// Bytes adds a field of bytes: another message, or data.
func (m Message) Bytes(field protowire.Number, v []byte) Message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), v)
}

// Text adds a field that is a string.
func (m Message) Text(field protowire.Number, v string) Message { return m.Bytes(field, []byte(v)) }

// Float adds a field that is a number of float32.
func (m Message) Float(field protowire.Number, v float32) Message {
	return protowire.AppendFixed32(protowire.AppendTag(m, field, protowire.Fixed32Type), math.Float32bits(v))
}
