package llama

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/models"
)

// Options says which model to open and how.
type Options struct {
	Lib     string // folder that holds the llama.cpp libraries
	Model   string // path of the model's GGUF file
	Name    string // Info.Model; "" means the file's name without .gguf
	Digest  string // Info.Digest, where it is known; "" means that the file is read to compute it
	Context int    // tokens a call, prompt and reply together; 0: what the model was trained on, at most 4096
	Slots   int    // replies written at once; 0: 16, or as many as memory allows
	Trie    bool   // count Stats.TrieNodes, in memory that grows with them
	Threads int    // 0: as many as there are cores, or one fewer where that is faster, measured all along

	// Log is told what was chosen and why. It may be nil.
	Log func(format string, args ...any)
}

const (
	defaultContext = 4096
	defaultSlots   = 16

	// spare is the memory to leave beside weights and cache: for llama.cpp's working buffers and for us.
	spare = 384 << 20
)

// Open loads a model. What is wrong with the libraries, the file or the options is found, as far as it
// can be foreseen, before llama.cpp sees the file.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	file, err := models.Check(o.Model)
	if err != nil {
		return nil, err
	}
	p, err := newPlan(o, file)
	if err != nil {
		return nil, err
	}
	lib, err := Load(o.Lib)
	if err != nil {
		return nil, err
	}
	if err := p.fit(GPUs(), availableMemory); err != nil {
		return nil, err
	}
	if o.Digest == "" {
		if o.Digest, err = models.Digest(o.Model); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = strings.TrimSuffix(filepath.Base(o.Model), ".gguf")
	}
	m, err := load(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Model, err)
	}
	e := &Engine{
		info: backend.Info{
			Engine:  lib.String() + p.offload.String() + m.attention(),
			Model:   o.Name,
			Digest:  o.Digest,
			Context: p.context,
			Slots:   p.slots,
			Ops:     m.ops(),
			Labels:  file.Labels,
		},
		model: m,
		jobs:  make(chan *job),
		texts: make(chan *textJob),
		quit:  make(chan struct{}),
		gone:  make(chan struct{}),
	}
	o.Log("%s: %s on %s, %d tokens of context, %d slots, up to %d threads",
		o.Name, file.Summary(), e.info.Engine, p.context, p.slots, m.threads)
	go e.own()
	return e, nil
}

// A plan says how a model will be loaded.
type plan struct {
	Options
	file    *models.Info
	context int // tokens a call
	slots   int
	columns int // see scheduler
	offload offload
}

// newPlan checks the options against what the file's header says.
func newPlan(o Options, file *models.Info) (*plan, error) {
	p := &plan{Options: o, file: file, context: o.Context, slots: o.Slots, columns: columnsOf(file)}
	switch {
	case o.Context < 0 || o.Slots < 0 || o.Threads < 0:
		return nil, fmt.Errorf("context %d, slots %d and threads %d are to be positive, or 0 for a good choice",
			o.Context, o.Slots, o.Threads)
	case file.Context > 0 && o.Context > file.Context:
		return nil, fmt.Errorf("%s was trained on %d tokens of context and cannot be given %d: ask for no more",
			o.Model, file.Context, o.Context)
	case o.Slots > maxSlots:
		return nil, fmt.Errorf("%d slots are more than llama.cpp's %d: ask for fewer", o.Slots, maxSlots)
	case file.Pooling == "rank" && file.Head != max(1, len(file.Labels)):
		return nil, fmt.Errorf("%s is said to rank, and its classification head gives %d numbers where its header names %d: "+
			"convert the model again, or choose another", o.Model, file.Head, max(1, len(file.Labels)))
	}
	if p.context == 0 {
		p.context = defaultContext
		if file.Context > 0 {
			p.context = min(p.context, file.Context)
		}
	}
	if p.slots == 0 {
		p.slots = defaultSlots
	}
	return p, nil
}

// encodes reports whether the model reads with one half and writes with the other.
func (p *plan) encodes() bool { return p.file.Architecture == "t5" }

// logits is the memory that llama.cpp takes for logits beyond what it has to spare: for such a model it makes room
// for those of every token that is read.
func (p *plan) logits() uint64 {
	if !p.encodes() {
		return 0
	}
	return 4 * uint64(p.context) * uint64(p.file.Vocabulary)
}

// writes reports whether the model is to write: a decoder does, unless it was made a judge of texts.
func (p *plan) writes() bool { return p.file.Causal && p.file.Pooling != "rank" }

// maxSlots is llama.cpp's limit for sequences (its LLAMA_MAX_SEQ).
const maxSlots = 256

func availableMemory() (uint64, error) {
	m, err := mem.VirtualMemory()
	if err != nil {
		return 0, err
	}
	return m.Available, nil
}

// fit lowers the number of slots, where that was left to us, until model and cache fit in memory, and
// refuses a model that does not fit at all.
func (p *plan) fit(cards []Device, available func() (uint64, error)) error {
	if !p.writes() || p.encodes() {
		p.slots = 2 // one call is computed at a time; the next can be on its way
	}
	if len(cards) > 0 {
		p.onCards(cards)
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

func gib(n uint64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }

// streamRoom is how many tokens llama.cpp gives a stream that is to hold n.
func streamRoom(n int) int { return roundUp(n, 256) }

// streams is how many streams so many slots need, for whole passes of replies.
func (p *plan) streams(slots int) int { return roundUp(slots, p.columns) }

// columnsOf returns the width of the tiles in which llama.cpp multiplies a model's weights with tokens
// (its ggml-cpu/repack.cpp; iqp.cpp for the weights of types IQ, which takes eight tokens at least).
func columnsOf(file *models.Info) int {
	if strings.HasPrefix(file.Quantisation, "IQ") {
		return 8
	}
	return 4
}

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }
