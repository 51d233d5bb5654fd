// Package ollama asks a model that a local Ollama server runs. It implements [backend.Backend] on the
// server's own API (/api/chat and /api/embed).
//
// Ollama is made for conversation, and left alone it does things that an evaluator must not: it drops
// the oldest messages of a prompt that is too long, shifts the context while it generates, applies
// penalties and limits from its defaults and from the model's file, and cuts texts before it embeds
// them. Every request of this package says what it wants of all these, and the answers are checked;
// servers too old to listen are refused. What the API leaves no say in is documented here:
//
//   - A model keeps the chat template, the system prompt, the opening messages and the stop strings
//     that it was packaged with. They are part of its digest. A system message in a request takes the
//     place of the packaged one; stop strings in a request are added to the packaged ones.
//   - Models that can think aloud are told not to. If one does all the same and Ollama tells its thoughts
//     from its answer, the answer is the reply; the thoughts count as its tokens. Where Ollama does not
//     tell them apart, nor does this package: they stay in the text. No thought can be closed, nor a reply begun
//     behind one, so that the abilities of a model do not include backend.CanThink.
//   - Ollama reads control tokens in messages, and cannot be told not to. A message that holds the text of
//     one of the model's control tokens is refused ([backend.ErrInvalid]) rather than misread.
//   - Ollama breaks a reply off when the model repeats one piece of text more than thirty times. Such a
//     reply ends there, with [backend.StopLength].
//   - What runs beside a request may change the last bits of its probabilities, so that a greedy reply can
//     come out otherwise, now and then, when the server works on several requests at once.
//   - A request that asks for another context size than the last one makes the server load the model again:
//     other programs that use the same model meanwhile make both slow.
package ollama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/remote"
)

const (
	// defaultContext is the context size where neither the user nor a smaller model says otherwise.
	defaultContext = 4096

	// keepAlive is how long the server keeps the model loaded after a request: long enough for the pauses of
	// a run, in which another model works.
	keepAlive = 15 * time.Minute

	// lookTimeout bounds the questions that take no inference.
	lookTimeout = 30 * time.Second

	// verifyEvery is how often the engine looks whether the server still has the model that Info describes.
	verifyEvery = 2 * time.Second
)

// Options says which model to use, where and how.
type Options struct {
	// Address is where the server listens: "host", "host:port" or a URL with http or https. Empty means
	// OLLAMA_HOST from the environment, read as Ollama's own client reads it, and else 127.0.0.1:11434.
	// Nothing else is ever connected to: no proxy is used and no redirect followed.
	Address string

	// Model is the model's name as "ollama list" shows it; the tag "latest" may be left out.
	Model string

	// Context is the number of tokens of one call, prompt and reply together. 0 means as many as the model
	// allows, up to 4096. The server needs memory for it, once for every request that it serves at a time.
	Context int

	// Slots is how many requests the server serves at once. 0 means to find out by asking it a few very
	// short questions, which takes a second or two.
	Slots int

	// Stall is how long the server may send nothing, of any answer to this engine, until a request counts as lost.
	// The time to read the request's texts comes on top: 10 ms a byte for each slot. A lost request is taken back,
	// the model unloaded, as that is what makes Ollama work again, and the request sent once more; when that is lost
	// too, it is an error wrapping [backend.ErrUnavailable]. The load of the model by Open may take six times as
	// long, and is not asked for again. 0 means 5 minutes.
	Stall time.Duration

	// Log, if not nil, is told what the user should know about the model and the server.
	Log func(format string, args ...any)
}

// An Engine is one model of an Ollama server.
type Engine struct {
	server   *server
	info     backend.Info
	name     string   // the model's full name in the server's list
	stops    []string // the stop strings that the model is packaged with
	controls *remote.Controls
	think    *api.ThinkValue
	served   int // requests served at once, as measured; 0 if not
	log      func(format string, args ...any)

	stall time.Duration
	born  time.Time
	heard atomic.Int64 // when something last came of an answer, in nanoseconds since born

	life context.Context // ends with Close
	end  context.CancelFunc

	verifying chan struct{} // held by whoever looks at the server; guards verified
	verified  time.Time
	doubtful  atomic.Bool // a call failed since
}

// Open connects to the server and has it load the model. The error wraps [backend.ErrUnavailable] if
// the server cannot be reached or is too busy; it names the models that are there if this one is not.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.Context < 0 || o.Slots < 0 || o.Stall < 0 {
		return nil, fmt.Errorf("context is %d tokens, slots %d and the stall limit %v: none can be negative",
			o.Context, o.Slots, o.Stall)
	}
	s, err := connect(o.Address)
	if err != nil {
		return nil, err
	}
	e := newEngine(s, o)
	if err := e.open(ctx, o); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func newEngine(s *server, o Options) *Engine {
	e := &Engine{server: s, stall: cmp.Or(o.Stall, defaultStall), born: time.Now(), log: o.Log,
		verifying: make(chan struct{}, 1)}
	if e.log == nil {
		e.log = func(string, ...any) {}
	}
	e.life, e.end = context.WithCancel(context.Background())
	return e
}

func (e *Engine) open(ctx context.Context, o Options) error {
	version, err := e.server.version(ctx)
	if err != nil {
		return err
	}
	known, old := olderThan(version, 12, 6)
	if old {
		return fmt.Errorf("the Ollama server at %s is version %s, which cuts long prompts without a word: "+
			"update it to 0.12.6 or newer", e.server, version)
	}
	if !known {
		e.log("the Ollama server at %s says that its version is %q: it is not known whether it heeds every request",
			e.server, version)
	}
	m, show, err := e.server.find(ctx, o.Model)
	if err != nil {
		return err
	}
	if err := e.adopt(m, show, o); err != nil {
		return err
	}
	e.info.Engine = "ollama " + version
	if _, old := olderThan(version, 12, 11); !old && m.Ops.Has(backend.CanGenerate) {
		e.info.Ops |= backend.CanChoose // the version that began to tell probabilities
	}
	if err := e.load(ctx); err != nil {
		return err
	}
	e.verified = time.Now()
	e.info.Slots = max(o.Slots, 1)
	if o.Slots == 0 && m.Ops.Has(backend.CanGenerate) {
		e.served, err = e.measure(ctx)
		e.info.Slots = max(e.served, 1)
	}
	return err
}

// adopt takes over what the server says about the model.
func (e *Engine) adopt(m *Model, show *api.ShowResponse, o Options) error {
	switch {
	case m.Remote != "":
		return fmt.Errorf("model %s does not run on this server but at %s: use one that does", m.Name, m.Remote)
	case m.Ops == 0:
		return fmt.Errorf("model %s can neither generate nor embed text", m.Name)
	case m.Context > 0 && o.Context > m.Context:
		return fmt.Errorf("model %s takes at most %d tokens: a context of %d is too large",
			m.Name, m.Context, o.Context)
	case !digestForm.MatchString(m.Digest):
		return fmt.Errorf("the Ollama server at %s gives model %s no digest but %.80q", e.server, m.Name, m.Digest)
	}
	context := o.Context
	if context == 0 {
		context = defaultContext
		if m.Context > 0 {
			context = min(context, m.Context)
		}
	}
	e.name = m.Name
	e.info = backend.Info{Model: o.Model, Digest: m.Digest, Context: context, Ops: m.Ops}
	e.stops = remote.PackagedStops(show.Parameters)
	e.controls = remote.NewControls(show.ModelInfo)
	if hasCapability(show, "thinking") {
		e.think = &api.ThinkValue{Value: false}
	}
	e.remark(show)
	return nil
}

// remark tells the user what a packaged model brings along that shows in its answers.
func (e *Engine) remark(show *api.ShowResponse) {
	if !e.info.Ops.Has(backend.CanGenerate) {
		return
	}
	if show.System != "" {
		e.log("model %s brings its own system prompt, used where a request has none: %.200q", e.name, show.System)
	}
	if n := len(show.Messages); n > 0 {
		e.log("model %s brings %d messages of its own, which open every conversation", e.name, n)
	}
	if show.Template == "{{ .Prompt }}" {
		e.log("model %s has no chat template in Ollama: it sees bare text, without turns", e.name)
	}
	if !e.info.Ops.Has(backend.CanConstrain) {
		e.log("Ollama ignores schemas for model %s: its replies are not constrained", e.name)
	}
	if e.controls == nil {
		e.log("the control tokens of model %s are not known: texts that contain one are read as if it were meant",
			e.name)
	}
}

// load has the server load the model, and checks that it has the context asked for.
func (e *Engine) load(ctx context.Context) error {
	err := e.attempt(ctx, loadStalls*e.stall, func(ctx context.Context, x *exchange) error {
		if alive := (&api.Duration{Duration: keepAlive}); e.info.Ops.Has(backend.CanGenerate) {
			req := &api.ChatRequest{Model: e.name, Options: e.loading(), KeepAlive: alive}
			return x.client().Chat(ctx, req, func(api.ChatResponse) error { return nil })
		} else {
			req := &api.EmbedRequest{Model: e.name, Input: []string{}, Options: e.loading(), KeepAlive: alive}
			_, err := x.client().Embed(ctx, req)
			return err
		}
	})
	if err != nil {
		return fmt.Errorf("loading model %s: %w", e.name, e.explain(ctx, err))
	}
	var running *api.ProcessResponse
	if err := e.server.look(ctx, func(ctx context.Context, c *api.Client) (err error) {
		running, err = c.ListRunning(ctx)
		return err
	}); err != nil {
		return err
	}
	for _, m := range running.Models {
		if m.Name == e.name && m.ContextLength > 0 && m.ContextLength < e.info.Context {
			return fmt.Errorf("the Ollama server gives model %s a context of %d tokens instead of %d: ask for no more",
				e.name, m.ContextLength, e.info.Context)
		}
	}
	return nil
}

// loading returns the options that decide how the server loads the model: were they to differ between
// two requests, it would load the model anew.
func (e *Engine) loading() map[string]any {
	o := map[string]any{"num_ctx": e.info.Context}
	if e.info.Ops.Has(backend.CanEmbed) {
		o["num_batch"] = e.info.Context // an encoder must see a text whole
	}
	return o
}

// Info describes the model. Its digest is that of the model's manifest, which covers the weights and all
// else that the model is packaged with.
func (e *Engine) Info() backend.Info { return e.info }

// Parallel returns how many requests the server was seen to serve at once, 0 if that was not measured,
// and, where it is worth it, how the user can raise it.
func (e *Engine) Parallel() (served int, hint string) {
	if e.served == 0 || e.served > 2 {
		return e.served, ""
	}
	return e.served, fmt.Sprintf("the Ollama server answers %d at a time: start it with OLLAMA_NUM_PARALLEL=8 in its "+
		"environment for 8 (it then takes memory for 8 contexts of %d tokens; a few architectures are always "+
		"served one by one)", e.served, e.info.Context)
}

// Close ends the calls in flight, which makes the server stop working on them. The server keeps the
// model loaded for a while.
func (e *Engine) Close() error {
	e.end()
	e.server.transport.CloseIdleConnections()
	return nil
}

// begin opens a call: its context also ends when the engine is closed. It fails if either has ended.
func (e *Engine) begin(ctx context.Context) (call context.Context, done func(), err error) {
	if e.life.Err() != nil {
		return nil, nil, backend.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	call, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.life, func() { cancel(backend.ErrClosed) })
	return call, func() { stop(); cancel(nil) }, nil
}

// Probe asks the server, without inference, whether it is there and still has what Info says: the error wraps
// [backend.ErrUnavailable] where it is not there, and [remote.ErrReplaced] where it has something else.
func (e *Engine) Probe(ctx context.Context) error {
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	e.doubtful.Store(true)
	return e.verify(ctx)
}

// verify looks, now and then, whether the server still is and has what Info says. A model that was pulled
// anew or a server that was updated gives other answers, and they must not pass for those of the old one.
func (e *Engine) verify(ctx context.Context) error {
	select {
	case e.verifying <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx)
	}
	defer func() { <-e.verifying }()
	if time.Since(e.verified) < verifyEvery && !e.doubtful.Load() {
		return nil
	}
	e.doubtful.Store(false)
	version, err := e.server.version(ctx)
	if err != nil {
		return err
	}
	if now := "ollama " + version; now != e.info.Engine {
		return fmt.Errorf("the server at %s was %s and now is %s: %w", e.server, e.info.Engine, now, remote.ErrReplaced)
	}
	list, err := e.server.list(ctx)
	if err != nil {
		return err
	}
	m := named(list, e.name)
	if m == nil {
		return fmt.Errorf("%w; %w", notPulled(e.name, list), remote.ErrReplaced)
	}
	if now := "sha256:" + m.Digest; now != e.info.Digest {
		return fmt.Errorf("model %s was replaced on the server: its digest was %s and now is %s: %w", e.name, e.info.Digest,
			now, remote.ErrReplaced)
	}
	e.verified = time.Now()
	return nil
}

// doubt makes the next call verify if err says that the server was away: what answers then may not be
// what it was.
func (e *Engine) doubt(err error) {
	if errors.Is(err, backend.ErrUnavailable) {
		e.doubtful.Store(true)
	}
}
