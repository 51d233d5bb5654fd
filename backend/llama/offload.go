package llama

import (
	"fmt"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/assay-eval/assay/backend/llama/library"
)

const (
	// gpuSlots is how many replies are decoded at once on a GPU, if memory allows: it has computing power to spare
	// where a CPU has none.
	gpuSlots = 64

	// gpuSpare is the memory to leave on a GPU, for llama.cpp's working buffers and the screen.
	gpuSpare = 768 << 20

	// spare is the memory to leave beside weights and cache: for llama.cpp's working buffers and for us.
	spare = 384 << 20
)

// An offload says how much of a model is offloaded to GPUs.
type offload struct {
	layers int    // on GPUs: those of the model and one more, its output; 0: none
	whole  bool   // all of it
	where  string // the GPUs' names
}

// String names what the bits of answers depend on: "" for a model that is wholly in one place.
func (o offload) String() string {
	if o.whole || o.layers == 0 {
		return ""
	}
	return fmt.Sprintf(" %d layers there", o.layers)
}

// fit lowers the number of slots, where that was left to us, until model and cache fit in memory, and
// refuses a model that does not fit at all.
func (p *plan) fit(gpus []library.Device, available func() (uint64, error)) error {
	if !p.writes() || p.encodes() {
		p.slots = 2 // one call is computed at a time; the next can be on its way
	}
	if len(gpus) > 0 {
		p.onGPUs(gpus)
	}
	have, err := available()
	if err != nil {
		return fmt.Errorf("cannot tell how much memory is free: %w", err)
	}
	for p.Slots == 0 && p.slots > 1 && p.rest()+spare > have {
		p.slots /= 2
	}
	if p.rest()+spare <= have {
		return nil
	}
	return fmt.Errorf("%s needs %s of memory (%s of weights, the rest for %d slots of %d tokens) and %s are free: "+
		"close other programs, give it less context or fewer slots, or choose a smaller model",
		p.Model, gib(p.rest()+spare), gib(uint64(p.file.Size)), p.slots, p.context, gib(have))
}

// onGPUs plans what is offloaded to GPUs: all, with fewer slots if need be and if that was left to us, or else as
// many layers as have room, with their share of the cache. What does not go there stays with the CPU.
func (p *plan) onGPUs(gpus []library.Device) {
	var free uint64
	var names []string
	for _, c := range gpus {
		if c.Free > gpuSpare {
			free += c.Free - gpuSpare
			names = append(names, c.Name)
		}
	}
	p.offload = offload{where: strings.Join(names, " and ")}
	if free == 0 || p.file.Layers == 0 {
		p.Log("no room on the GPUs: the CPU computes")
		return
	}
	most := p.slots
	if p.Slots == 0 && p.writes() && !p.encodes() {
		most = gpuSlots
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
	p.Log("%d of %d layers of %s compute on %s, the rest on the CPU: all would need %s, and %s are free",
		p.offload.layers, p.file.Layers+1, p.file.Path, p.offload.where, gib(p.need(p.slots)), gib(free))
}

// rest is how much of the memory that the model needs is not on GPUs.
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

// availableMemory is how much memory is free, in bytes.
func availableMemory() (uint64, error) {
	m, err := mem.VirtualMemory()
	if err != nil {
		return 0, err
	}
	return m.Available, nil
}

func gib(n uint64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }
