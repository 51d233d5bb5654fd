// Package openai asks a model of any server that has OpenAI's HTTP routes: llama-server, vLLM, SGLang, LM Studio,
// LocalAI, Ollama's /v1, "assay serve". It implements [backend.Backend] on /v1/chat/completions, /v1/embeddings and
// /v1/rerank.
//
// The routes are common, what stands behind them is not. So [Open]
//
//  1. reads what the server says of itself: its program, version and model, the context, the calls served at once. Some
//     tell the digest of the weights, most only a name: see [Engine.Info];
//  2. asks some questions of a few tokens, and claims those abilities only that the answers show: a reply held to a
//     schema that no model would meet by chance, the probabilities of tokens, of a given text, embeddings.
//
// Every request says what it wants of all that servers have defaults for, as far as the server takes it. What the routes
// leave no say in:
//
//   - Servers read control tokens in messages. Where the server tells enough to find one in a text (llama-server,
//     Ollama), the message is refused ([backend.ErrInvalid]); where not, the user is told once.
//   - A server may cut a prompt that is too long. The tokens that it says it read are held against the context and the
//     length of the text; Ollama, which drops messages, is asked for the prompt as it rendered it.
//   - What runs beside a request may change the last bits of its probabilities, and so a greedy reply.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/remote"
)

const (
	// defaultSlots is for servers that do not say how many calls they serve at once: they queue the others.
	defaultSlots = 8

	// verifyEvery is how often the engine looks whether the server still has the model that Info describes.
	verifyEvery = 2 * time.Second

	// defaultPatience is how long a server may take for an answer, beside the time that its tokens take.
	defaultPatience = 5 * time.Minute

	// A server is given so much time for each byte of a prompt, which is 25 tokens a second with four bytes to a token,
	// and for each token of a reply, with all its slots busy.
	byteTime  = 10 * time.Millisecond
	tokenTime = 200 * time.Millisecond
)

// Options says which model to use, where and how.
type Options struct {
	// Address is where the server listens: "host:port", or a URL with http or https. The path /v1 may be left out.
	// Nothing else is ever connected to: no proxy is used and no redirect followed.
	Address string

	// AllowRemote permits a server on another machine. Without it, only addresses of this machine are connected to.
	AllowRemote bool

	// Key is sent to the server as "Authorization: Bearer KEY", unless it is empty. It is in no message and no answer.
	Key string

	// Model is the model's name as /v1/models has it. It may be empty if the server has only one.
	Model string

	// Context is the number of tokens of one call, prompt and reply together. 0 means what the server says. It must be
	// given where the server does not say.
	Context int

	// Slots is how many calls the server serves at once. 0 means what the server says, or 8 where it does not.
	Slots int

	// Patience is how long the server may take for an answer, beside 10 ms for each byte of the prompt and 200 ms for
	// each token of the reply, both for every slot. Then it is an error wrapping [backend.ErrUnavailable]. 0 means 5
	// minutes.
	Patience time.Duration

	// Log, if not nil, is told what the user should know about the model and the server.
	Log func(format string, args ...any)
}

// An Engine is one model of a server.
type Engine struct {
	client   *client
	said     description
	info     backend.Info
	patience time.Duration
	log      func(format string, args ...any)

	form     form             // how the server takes a schema
	stops    []string         // Ollama: the stop strings that the model is packaged with
	controls *remote.Controls // Ollama: the model's control tokens

	life context.Context // ends with Close
	end  context.CancelFunc

	verifying chan struct{} // held by whoever looks at the server; guards verified and doubtful
	verified  time.Time
	doubtful  chan struct{} // full: a call failed since
}

// Open connects to the server and finds out what the model can do. The error wraps [backend.ErrUnavailable] if the
// server cannot be reached or is too busy; it names the models that are there if this one is not.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.Context < 0 || o.Slots < 0 || o.Patience < 0 {
		return nil, fmt.Errorf("context is %d tokens, slots %d and patience %v: none can be negative",
			o.Context, o.Slots, o.Patience)
	}
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	e := &Engine{client: c, patience: cmp.Or(o.Patience, defaultPatience), log: o.Log,
		verifying: make(chan struct{}, 1), doubtful: make(chan struct{}, 1)}
	if e.log == nil {
		e.log = func(string, ...any) {}
	}
	e.life, e.end = context.WithCancel(context.Background())
	if err := e.open(ctx, o); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) open(ctx context.Context, o Options) (err error) {
	if e.said, err = e.client.describe(ctx, o.Model); err != nil {
		return err
	}
	e.info = backend.Info{Model: cmp.Or(o.Model, e.said.model), Digest: e.said.identity(),
		Slots: cmp.Or(o.Slots, e.said.slots, defaultSlots)}
	if err := e.unpack(ctx); err != nil {
		return err
	}
	if err := e.probe(ctx); err != nil {
		return err
	}
	if e.said.context == 0 { // it may tell now, with the model loaded
		if e.said, err = e.client.describe(ctx, e.said.model); err != nil {
			return err
		}
	}
	if e.info.Context, err = contextOf(e.said.context, o.Context, e.said.model); err != nil {
		return err
	}
	e.verified = time.Now()
	e.info.Engine = "openai: " + e.said.engine() + e.manner()
	e.remark(o)
	return nil
}

// manner says in the engine's name what its numbers rest on.
func (e *Engine) manner() string {
	text := ""
	switch ops := e.info.Ops; {
	case ops.Has(backend.CanScore):
		text = ", prompt log-probabilities"
	case ops.Has(backend.CanChoose):
		text = ", first-token scoring"
	}
	if e.said.digest == "" {
		text += ", weights known by name"
	}
	return text
}

// remark tells the user what a run through this server cannot promise.
func (e *Engine) remark(o Options) {
	if e.said.digest == "" {
		e.log("the server tells no digest of model %s: another file under the same name would not be noticed, "+
			"and answers in the cache would pass for its own", e.said.model)
	}
	if !e.info.Ops.Has(backend.CanGenerate) {
		return
	}
	if e.said.kind == ollama {
		e.log("on these routes Ollama adds penalties and limits of its own to what is sampled: " +
			"--backend ollama turns them off")
	} else if e.said.kind != llamaServer && e.said.kind != assay {
		e.log("the control tokens of model %s are not known: texts that contain one are read as if it were meant",
			e.said.model)
	}
	if !e.info.Ops.Has(backend.CanConstrain) {
		e.log("the server does not hold replies of model %s to a schema", e.said.model)
	}
	if o.Key != "" && o.AllowRemote && e.client.base.Scheme == "http" {
		e.log("the key in ASSAY_API_KEY goes to %s unencrypted", e.client)
	}
}

// Info describes the model. Engine names the server with its version and says how probabilities are had. Digest is that
// of the weights where the server tells it (Ollama, "assay serve"); Engine says "weights known by name" where it does
// not, and Digest then is of all that the server says of the model: its name, file, sizes, chat template and adapters.
func (e *Engine) Info() backend.Info { return e.info }

// Close ends the calls in flight, which makes the server stop working on them.
func (e *Engine) Close() error {
	e.end()
	e.client.http.CloseIdleConnections()
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

// limit is how long an answer may take, given the bytes of what is to be read and the tokens to be written.
func (e *Engine) limit(size, tokens int) time.Duration {
	each := time.Duration(size)*byteTime + time.Duration(tokens)*tokenTime
	return e.patience + time.Duration(max(e.info.Slots, 1))*each
}

// Probe asks the server, without inference, whether it is there and still has what Info says: the error wraps
// [backend.ErrUnavailable] where it is not there, and [remote.ErrReplaced] where it has something else.
func (e *Engine) Probe(ctx context.Context) error {
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	e.doubt(backend.ErrUnavailable)
	return e.verify(ctx)
}

// verify looks, now and then and after failures, whether the server still is and has what Info says: the answers of
// another model must not pass for those of this one.
func (e *Engine) verify(ctx context.Context) error {
	select {
	case e.verifying <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx)
	}
	defer func() { <-e.verifying }()
	select {
	case <-e.doubtful:
	default:
		if time.Since(e.verified) < verifyEvery {
			return nil
		}
	}
	now, err := e.client.describe(ctx, e.said.model)
	if err != nil {
		e.doubt(err)
		return err
	}
	if what := e.said.differs(now); what != "" {
		return fmt.Errorf("%s: %w", what, remote.ErrReplaced)
	}
	e.verified = time.Now()
	return nil
}

// doubt makes the next call verify if err says that the server was away: what answers then may not be what it was.
func (e *Engine) doubt(err error) {
	if errors.Is(err, backend.ErrUnavailable) {
		select {
		case e.doubtful <- struct{}{}:
		default: // it will anyway
		}
	}
}
