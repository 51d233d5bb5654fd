package pool

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/assay-eval/assay/backend"
)

const (
	markBytes  = 256  // of a prompt, between two marks
	marksKept  = 8192 // two megabytes of prompts: about what the slots of some servers hold
	markLimit  = 1024 // of one prompt
	partMarker = 0xff // stands between messages: it is in no text that is UTF-8
)

// prefixes remember which servers read the beginnings of prompts lately. A mark stands for all of a prompt up to some
// place; marks stand at the same distances in all prompts. Its owner's lock guards it.
type prefixes struct {
	seed   maphash.Seed
	who    map[uint64]uint64 // mark to the bits of servers
	oldest []uint64          // the marks in who, in a ring
	next   int               // where in it the oldest is
}

func newPrefixes() prefixes {
	return prefixes{seed: maphash.MakeSeed(), who: make(map[uint64]uint64)}
}

// marks are those of a prompt. It needs no lock.
func (p *prefixes) marks(messages []backend.Message, documents []string, tokens []int32) []uint64 {
	m := marker{}
	m.hash.SetSeed(p.seed)
	var word [4]byte
	for _, id := range tokens {
		binary.LittleEndian.PutUint32(word[:], uint32(id))
		m.write(string(word[:]))
	}
	for _, document := range documents {
		m.part(document)
	}
	for _, message := range messages {
		m.part(string(message.Role))
		m.part(message.Text)
	}
	return m.marks
}

// A marker makes the marks of a text.
type marker struct {
	hash  maphash.Hash
	have  int // bytes since the last mark
	marks []uint64
}

// part takes in a message, and that it ends.
func (m *marker) part(text string) {
	m.write(text)
	m.write(string([]byte{partMarker}))
}

func (m *marker) write(text string) {
	for len(m.marks) < markLimit {
		n := min(markBytes-m.have, len(text))
		m.hash.WriteString(text[:n])
		m.have += n
		if m.have < markBytes {
			return
		}
		m.marks, m.have, text = append(m.marks, m.hash.Sum64()), 0, text[n:]
	}
}

// known is how many of the marks, from the first on, each of n servers has read.
func (p *prefixes) known(marks []uint64, n int) []int {
	known := make([]int, n)
	for at, mark := range marks {
		who := p.who[mark]
		if who == 0 {
			break
		}
		for i := range known {
			if known[i] == at && who&(1<<i) != 0 {
				known[i]++
			}
		}
	}
	return known
}

// add notes that a server reads a prompt, and forgets the oldest where there are too many.
func (p *prefixes) add(marks []uint64, bit uint64) {
	for _, mark := range marks {
		if p.who[mark] == 0 {
			if len(p.oldest) < marksKept {
				p.oldest = append(p.oldest, mark)
			} else {
				delete(p.who, p.oldest[p.next])
				p.oldest[p.next] = mark
				p.next = (p.next + 1) % marksKept
			}
		}
		p.who[mark] |= bit
	}
}

// forget has a server have read nothing, as one that was started again.
func (p *prefixes) forget(bit uint64) {
	for mark := range p.who {
		p.who[mark] &^= bit
	}
}
