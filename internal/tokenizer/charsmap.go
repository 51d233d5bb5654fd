package tokenizer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// charsmap is the table by which SentencePiece normalises: a double-array trie whose values are places in a list of
// texts that end with a NUL.
type charsmap struct {
	units []uint32
	texts []byte
}

func newCharsmap(data []byte) (*charsmap, error) {
	if len(data) < 4 {
		return nil, errors.New("precompiled_charsmap is too short")
	}
	size, data := binary.LittleEndian.Uint32(data), data[4:]
	if size%4 != 0 || uint64(size) > uint64(len(data)) {
		return nil, errors.New("precompiled_charsmap: its trie goes beyond its end")
	}
	c := &charsmap{units: make([]uint32, size/4), texts: data[size:]}
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return c, nil
}

// normalize replaces grapheme clusters that the table has, and else the characters that it has. A cluster is replaced
// by what the shortest entry at its beginning says, and only one of less than six bytes: so does the library that the
// files are written for, and the models were trained on that.
func (c *charsmap) normalize(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	clusters := graphemes.FromString(text)
	for clusters.Next() {
		cluster := clusters.Value()
		if len(cluster) < 6 {
			if to, found := c.lookup(cluster); found {
				out.Write(to)
				continue
			}
		}
		for _, r := range cluster {
			if to, found := c.lookup(string(r)); found {
				out.Write(to)
			} else {
				out.WriteRune(r)
			}
		}
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD") // a hostile table may point into the middle of a character
}

// cluster is the length of a text's first grapheme cluster.
func cluster(text string) int {
	clusters := graphemes.FromString(text)
	clusters.Next()
	return len(clusters.Value())
}

// lookup gives what the shortest entry that a text begins with is replaced by.
func (c *charsmap) lookup(text string) ([]byte, bool) {
	if len(c.units) == 0 {
		return nil, false
	}
	at := offset(c.units[0])
	for i := range len(text) {
		b := uint32(text[i])
		at ^= b
		if b == 0 || at >= uint32(len(c.units)) || c.units[at]&(1<<31|0xFF) != b {
			return nil, false
		}
		unit := c.units[at]
		at ^= offset(unit)
		if unit>>8&1 == 1 {
			if at >= uint32(len(c.units)) {
				return nil, false
			}
			return c.text(c.units[at] & (1<<31 - 1))
		}
	}
	return nil, false
}

// text reads up to the NUL. Real replacements have a few characters; a bound keeps hostile tables from swelling texts.
func (c *charsmap) text(at uint32) ([]byte, bool) {
	if at >= uint32(len(c.texts)) {
		return nil, false
	}
	rest := c.texts[at:min(len(c.texts), int(at)+maxReplacement)]
	end := bytes.IndexByte(rest, 0)
	if end < 0 {
		return nil, false
	}
	return rest[:end], true
}

// offset is where the children of a unit of a double-array trie begin.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
