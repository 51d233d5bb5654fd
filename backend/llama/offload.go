package llama

import (
	"fmt"
	"strings"
)

const (
	// cardSlots is how many replies are written at once on a graphics card, if memory allows: it has
	// computing power to spare where a processor has none.
	cardSlots = 64

	// cardSpare is the memory to leave on a card, for llama.cpp's working buffers and the screen.
	cardSpare = 768 << 20
)

// An offload says how much of a model is computed on graphics cards.
type offload struct {
	layers int    // on the cards: those of the model and one more, its output; 0: none
	whole  bool   // all of it
	where  string // the cards' names
}

// String names what the bits of answers depend on: "" for a model that is wholly in one place.
func (o offload) String() string {
	if o.whole || o.layers == 0 {
		return ""
	}
	return fmt.Sprintf(" %d layers there", o.layers)
}

// onCards plans what goes to the cards: all, with fewer slots if need be and if that was left to us, or else as
// many layers as have room, with their share of the cache. What does not go there stays with the processor.
func (p *plan) onCards(cards []Device) {
	var free uint64
	var names []string
	for _, c := range cards {
		if c.Free > cardSpare {
			free += c.Free - cardSpare
			names = append(names, c.Name)
		}
	}
	p.offload = offload{where: strings.Join(names, " and ")}
	if free == 0 || p.file.Layers == 0 {
		p.Log("no room on the graphics cards: the processor computes")
		return
	}
	most := p.slots
	if p.Slots == 0 && p.writes() && !p.encodes() {
		most = cardSlots
	}
	for slots := most; slots >= 4 || slots == most; slots /= 2 {
		if p.need(slots) <= free {
			p.slots, p.offload.layers, p.offload.whole = slots, p.file.Layers+1, true
			p.Log("all of %s computes on %s, %d calls at once: it needs %s of %s free",
				p.file.Path, p.offload.where, slots, gib(p.need(slots)), gib(free))
			return
		}
		if p.Slots != 0 {
			break
		}
	}
	layer := p.need(p.slots) / uint64(p.file.Layers+1)
	p.offload.layers = int(free / layer)
	p.Log("%d of %d layers of %s compute on %s, the rest on the processor: all would need %s, and %s are free",
		p.offload.layers, p.file.Layers+1, p.file.Path, p.offload.where, gib(p.need(p.slots)), gib(free))
}

// rest is how much of the memory that the model needs is not on cards.
func (p *plan) rest() uint64 {
	if p.offload.whole {
		return 0
	}
	need := p.need(p.slots)
	return need - need/uint64(p.file.Layers+1)*uint64(p.offload.layers)
}

// need is the memory that the weights take with a cache for so many calls.
func (p *plan) need(slots int) uint64 {
	return uint64(p.file.Size) + uint64(p.file.KVBytes)*uint64(streamRoom(p.context)*p.streams(slots)) + p.logits()
}
