package llama

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/chat"
	"github.com/assay-eval/assay/backend/llama/grammar"
	"github.com/assay-eval/assay/backend/llama/library"
	"github.com/assay-eval/assay/models/head"
)

// A model is what llama.cpp has loaded: weights, vocabulary, and a context to write, to embed, or both.
type model struct {
	handle      llama.Model
	vocab       *vocab
	constrainer *grammar.Constrainer
	chat        *chat.Template
	writer      *scheduler // nil if the model cannot write
	kv          *kv        // of writer
	encdec      *encdec    // instead of writer, of an encoder-decoder model
	reader      *reader    // nil if the model neither embeds nor judges pairs
	judge       string     // the template of a pair; "" if it has none
	segmentB    int        // what the tokens of a pair's second text are raised by
	flash       bool       // flash attention is in use
	threads     int        // at most
	count       counters
}

// load loads a model as planned. On an error nothing is left behind.
func load(p *plan) (*model, error) {
	params := llama.ModelDefaultParams()
	params.NGpuLayers = int32(p.offload.layers)
	handle, err := llama.ModelLoadFromFile(p.Model, params)
	if err != nil {
		return nil, fmt.Errorf("llama.cpp cannot load the model%s", library.Complaints())
	}
	m := &model{handle: handle}
	if err := m.prepare(p); err != nil {
		m.free()
		return nil, err
	}
	return m, nil
}

func (m *model) prepare(p *plan) error {
	if llama.ModelIsDiffusion(m.handle) {
		return fmt.Errorf("models of architecture %q do not write token by token, which this engine needs: "+
			"choose another model", p.file.Architecture)
	}
	m.vocab = newVocab(m.handle)
	if m.vocab.size == 0 {
		return errors.New("the model has no vocabulary: fetch the whole model")
	}
	m.count.trie.on = p.Trie
	m.constrainer = grammar.New(m.vocab.writes())
	m.threads = p.Threads
	if m.threads == 0 {
		m.threads = library.Physical()
	}
	var err error
	m.segmentB = p.file.SegmentB
	if p.head != nil && p.head.Chat && p.file.Template != "" {
		if err := m.newChat(p); err != nil {
			return err
		}
	}
	if p.writes() {
		if err := m.newChat(p); err != nil {
			return err
		}
		if p.file.Template == "" {
			p.Log("%s has no chat template: messages are given to it as plain paragraphs", p.Model)
		}
		if p.encodes() {
			err = m.newEncdec(p)
		} else {
			err = m.newWriter(p)
		}
		if err != nil {
			return err
		}
	}
	if !p.writes() || p.file.Pooling != "" && p.file.Pooling != "none" {
		if err := m.newReader(p); err != nil {
			return err
		}
	}
	return nil
}

// newChat compiles the model's chat template.
func (m *model) newChat(p *plan) (err error) {
	eos := m.vocab.spelling(llama.VocabEOS(m.vocab.handle))
	bos := m.vocab.spelling(llama.VocabBOS(m.vocab.handle))
	m.chat, err = chat.New(p.file.Template, bos, eos)
	return err
}

// newWriter makes the context that generates.
func (m *model) newWriter(p *plan) error {
	n := p.streams(p.slots)
	c := llama.ContextDefaultParams()
	c.NCtx = uint32(streamRoom(p.context) * n)
	c.NSeqMax = uint32(n)
	c.NBatch, c.NUbatch = ubatch, ubatch
	outputs := max(p.columns*n, 2*block)
	c.NOutputsMax = uint32(outputs)
	c.KVUnified = 0
	c.PoolingType = llama.PoolingTypeNone
	ctx, err := m.newContext(c)
	if err != nil {
		return err
	}
	if m.kv, err = newKV(ctx, newPacer(m.threads, p.Threads > 0), m.vocab.size, p.columns, &m.count); err != nil {
		llama.Free(ctx)
		return err
	}
	m.writer = &scheduler{
		cache:   m.kv,
		count:   &m.count,
		outputs: outputs,
		slots:   p.slots,
		columns: p.columns,
		room:    int(llama.NCtxSeq(ctx)),
		sharing: !llama.ModelIsRecurrent(m.handle) && !llama.ModelIsHybrid(m.handle),
	}
	m.writer.exact = m.writer.sharing && !p.Fast
	for i := range n {
		m.writer.streams = append(m.writer.streams, &stream{id: llama.SeqId(i)})
	}
	return nil
}

// newEncdec makes the context of an encoder-decoder model.
func (m *model) newEncdec(p *plan) error {
	c := llama.ContextDefaultParams()
	c.NCtx = uint32(streamRoom(p.context))
	c.NBatch, c.NUbatch = c.NCtx, c.NCtx // a prompt is encoded in one pass
	c.NSeqMax = 1
	c.PoolingType = llama.PoolingTypeNone
	// T5 does not scale what attention compares, so that rounding it to 16 bits would show in the third
	// decimal of a log-probability. Flash attention adds up in an order that depends on the threads.
	c.TypeK, c.TypeV = llama.GGMLTypeF32, llama.GGMLTypeF32
	ctx, err := m.plainContext(c)
	if err != nil {
		return err
	}
	t := &encdec{
		runner: runner{ctx, newPacer(m.threads, p.Threads > 0)},
		batch:  llama.BatchInit(int32(c.NBatch), 0, 1),
		vocab:  m.vocab,
		start:  llama.ModelDecoderStartToken(m.handle),
		count:  &m.count,
	}
	m.encdec = t
	if t.mem, err = llama.GetMemory(ctx); err != nil {
		return err
	}
	if t.start == llama.TokenNull {
		t.start = llama.VocabBOS(m.vocab.handle)
	}
	if t.mem == 0 || t.start < 0 || int(t.start) >= m.vocab.size {
		return errors.New("the model's header names no token that replies start from: convert the model again, " +
			"or choose another")
	}
	return nil
}

// newReader makes the context that embeds, or runs the classification head.
func (m *model) newReader(p *plan) error {
	c := readerParams(p)
	if p.head != nil {
		c.PoolingType = headPooling(p.head)
	}
	ctx, err := m.newContext(c)
	if err != nil {
		return err
	}
	m.reader = &reader{
		runner:  runner{ctx, newPacer(m.threads, p.Threads > 0)},
		newEach: func() (*runner, error) { return m.newEach(p) },
		batch:   llama.BatchInit(int32(c.NBatch), 0, 1),
		width:   int(llama.ModelNEmbdOut(m.handle)),
		causal:  p.file.Causal && !strings.HasPrefix(p.file.Architecture, "t5"), // of which only the encoder is used
		head:    p.head,
		count:   &m.count,
	}
	if p.head != nil {
		m.reader.ranks = true
		return nil
	}
	if llama.GetPoolingType(ctx) == llama.PoolingTypeNone {
		return errors.New("the model's header names no way to pool the vectors of a text's tokens into one: " +
			"convert the model again, or choose another")
	}
	if p.file.Pooling == "rank" {
		m.reader.ranks = true
		m.reader.width = int(llama.ModelNClsOut(m.handle))
		m.judge = llama.ModelChatTemplate(m.handle, "rerank")
	}
	return nil
}

// headPooling is how llama.cpp pools what a head reads.
func headPooling(h *head.Head) llama.PoolingType {
	switch h.Pooling {
	case head.First:
		return llama.PoolingTypeCLS
	case head.Last:
		return llama.PoolingTypeLast
	case head.Mean:
		return llama.PoolingTypeMean
	}
	return llama.PoolingTypeNone
}

// readerParams are what both of a reader's contexts have in common.
func readerParams(p *plan) llama.ContextParams {
	c := llama.ContextDefaultParams()
	c.NCtx = uint32(streamRoom(p.context))
	c.NBatch, c.NUbatch = c.NCtx, c.NCtx // a text is read in one pass
	c.NSeqMax = 1
	c.Embeddings = 1
	return c
}

// newContext makes a context, with flash attention where the model allows it.
func (m *model) newContext(c llama.ContextParams) (llama.Context, error) {
	ctx, err := m.flashContext(c)
	m.flash = err == nil
	if m.flash {
		return ctx, nil
	}
	return m.plainContext(c)
}

// flashContext makes a context with flash attention.
func (m *model) flashContext(c llama.ContextParams) (llama.Context, error) {
	c.FlashAttentionType = llama.FlashAttentionTypeEnabled
	return m.context(c)
}

// plainContext makes a context without flash attention.
func (m *model) plainContext(c llama.ContextParams) (llama.Context, error) {
	c.FlashAttentionType = llama.FlashAttentionTypeDisabled
	return m.context(c)
}

func (m *model) context(c llama.ContextParams) (llama.Context, error) {
	c.NThreads, c.NThreadsBatch = int32(m.threads), int32(m.threads)
	ctx, err := llama.InitFromModel(m.handle, c)
	if err != nil {
		return 0, fmt.Errorf("llama.cpp cannot prepare the model%s", library.Complaints())
	}
	return ctx, nil
}

// attention names the kind of attention, and how passes of a model that writes are cut, on which the bits of answers
// depend.
func (m *model) attention() string {
	s := ""
	if m.flash {
		s = " flash"
	}
	switch {
	case m.writer == nil:
	case m.writer.exact:
		s += " tiled"
	case m.writer.sharing:
		s += " fast"
	}
	return s
}

func (m *model) ops() backend.Ops {
	var ops backend.Ops
	switch {
	case m.writer != nil:
		ops |= backend.CanGenerate | backend.CanScore | backend.CanChoose | backend.CanConstrain |
			backend.CanMark | backend.CanReadTokens
	case m.encdec != nil: // the vocabulary of T5 has no braces
		ops |= backend.CanGenerate | backend.CanScore | backend.CanChoose | backend.CanMark
	}
	switch {
	case m.reader == nil:
	case m.reader.head != nil && m.reader.head.Pooling == head.Each:
		ops |= backend.CanLabelTokens
	case m.reader.ranks:
		ops |= backend.CanClassify | backend.CanMark
	default:
		ops |= backend.CanEmbed | backend.CanEmbedTokens
	}
	if m.writer != nil && m.chat.Documents() {
		ops |= backend.CanReadDocuments
	}
	if m.writer != nil && m.chat.Thinks() {
		ops |= backend.CanThink
	}
	return ops
}

// speller returns what spells a reply.
func (m *model) speller() speller {
	if m.encdec != nil {
		return &beginning{vocab: m.vocab}
	}
	return m.vocab
}

// thinker returns what spells a thought, which ends at its mark where that is a token of its own.
func (m *model) thinker() speller {
	return &thought{vocab: m.vocab, end: m.vocab.special(m.chat.ThoughtEnd())}
}

// silence says whether replies start otherwise than the chat template has it, so that nothing is thought before them.
func (m *model) silence() string {
	if m.writer != nil && m.chat.Silences() {
		return " thoughtless"
	}
	return ""
}

// take gives jobs to what works them off.
func (m *model) take(jobs []*job) {
	if m.encdec != nil {
		m.encdec.waiting = append(m.encdec.waiting, jobs...)
		return
	}
	m.writer.take(jobs)
}

// free gives everything back, contexts before the model that they are of.
func (m *model) free() {
	if m.kv != nil {
		m.kv.free()
		llama.Free(m.kv.ctx)
	}
	if m.encdec != nil {
		m.encdec.free()
	}
	if m.reader != nil {
		m.reader.free()
	}
	llama.ModelFree(m.handle)
}
