package llama

import (
	"fmt"
	"strings"

	"github.com/assay-eval/assay/models/gguf"
	"github.com/assay-eval/assay/models/head"
)

// Options says which model to open and how.
type Options struct {
	Lib     string // folder that holds the llama.cpp libraries
	Model   string // path of the model's GGUF file
	Name    string // Info.Model; "" means the file's name without .gguf
	Digest  string // Info.Digest, where it is known; "" means that the file is read to compute it
	Context int    // tokens a call, prompt and reply together; 0: what the model was trained on, at most 4096
	Slots   int    // replies decoded at once; 0: 16, or as many as memory allows
	Fast    bool   // give up batch invariance for speed: see the package comment
	Trie    bool   // count Stats.TrieNodes, in memory that grows with them
	Threads int    // 0: as many as there are cores, or one fewer where that is faster, measured all along

	// Log is told what was chosen and why. It may be nil.
	Log func(format string, args ...any)
}

const (
	defaultContext = 4096
	defaultSlots   = 16
)

// A plan says how a model will be loaded.
type plan struct {
	Options
	file    *gguf.Info
	head    *head.Head // that lies beside the file; nil if none does
	context int        // tokens a call
	slots   int
	columns int // see scheduler
	offload offload
}

// newPlan checks the options against what the file's header says, and its head.
func newPlan(o Options, file *gguf.Info, head *head.Head) (*plan, error) {
	p := &plan{Options: o, file: file, head: head, context: o.Context, slots: o.Slots, columns: columnsOf(file)}
	if o.Fast {
		p.columns = 1
	}
	switch {
	case o.Context < 0 || o.Slots < 0 || o.Threads < 0:
		return nil, fmt.Errorf("context %d, slots %d and threads %d are to be positive, or 0 for a good choice",
			o.Context, o.Slots, o.Threads)
	case file.Context > 0 && o.Context > file.Context:
		return nil, fmt.Errorf("%s was trained on %d tokens of context and cannot be given %d: ask for no more",
			o.Model, file.Context, o.Context)
	case o.Slots > maxSlots:
		return nil, fmt.Errorf("%d slots are more than llama.cpp's %d: ask for fewer", o.Slots, maxSlots)
	case head == nil && file.Pooling == "rank" && file.Head != max(1, len(file.Labels)):
		return nil, fmt.Errorf("%s is said to rank, and its classification head gives %d numbers where its header "+
			"names %d: convert the model again, or choose another", o.Model, file.Head, max(1, len(file.Labels)))
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

// encodes reports whether the model is an encoder-decoder.
func (p *plan) encodes() bool { return p.file.Architecture == "t5" && p.head == nil }

// logits is the memory that llama.cpp takes for logits beyond what it has to spare: for an encoder-decoder it makes
// room for those of every token of the prompt.
func (p *plan) logits() uint64 {
	if !p.encodes() {
		return 0
	}
	return 4 * uint64(p.context) * uint64(p.file.Vocabulary)
}

// writes reports whether the model is to generate: a decoder does, unless it was made a classifier of texts.
func (p *plan) writes() bool { return p.file.Causal && p.file.Pooling != "rank" }

// maxSlots is llama.cpp's limit for sequences (its LLAMA_MAX_SEQ).
const maxSlots = 256

// streamRoom is how many tokens llama.cpp gives a stream that is to hold n.
func streamRoom(n int) int { return roundUp(n, 256) }

// streams is how many streams so many slots need, for whole passes of replies.
func (p *plan) streams(slots int) int { return roundUp(slots, p.columns) }

// columnsOf returns the width of the tiles in which llama.cpp multiplies a model's weights with tokens
// (its ggml-cpu/repack.cpp; iqp.cpp for the weights of types IQ, which takes eight tokens at least).
func columnsOf(file *gguf.Info) int {
	if strings.HasPrefix(file.Quantisation, "IQ") {
		return 8
	}
	return 4
}

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }
