// Package backendtest holds what tests of engines and of their users share: [Run], the conformance
// suite that every engine passes, and [Fake], a scripted engine.
package backendtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
)

// A Fake is an engine that follows a script. The zero value is a complete one: it babbles repeatable
// nonsense, encodes, scores, refuses what does not fit, and passes [Run]. Set its fields before
// its first use; its methods are safe for concurrent use.
//
// Its tokens are words and single punctuation marks: see [Tokens].
type Fake struct {
	// About is what Info returns, once zero fields are filled: Context 4096, Slots 4, an Ops of everything
	// but constrain, and constant names.
	About backend.Info

	// Reply writes the reply to a request, before Stop and MaxTokens cut it. An error from it is
	// returned as it is. Nil means [Babble].
	Reply func(ctx context.Context, req *backend.GenerateRequest) (string, error)

	// LogProbs scores one continuation. Nil means that words of the greedy reply have probability 0.9,
	// and all others 0.01.
	LogProbs func(messages []backend.Message, continuation string) []float64

	// Outputs is what the classification head says about a pair. Nil means one number: the cosine of the
	// texts' vectors.
	Outputs func(p backend.Pair) []float32

	// Labels is what the token classification head says about a token of a pair's text. Nil means two numbers: the
	// share of the query's and the text's tokens that are this one, and what is left to 1.
	Labels func(p backend.Pair, token backend.Span) []float32

	// Before runs at the start of every call that is well formed, in the caller's goroutine. It may
	// block (to hold a call in flight) and its error becomes the call's error (to script a fault).
	Before func(ctx context.Context, call Call) error

	// PerToken is how long each token of a reply, each text and each pair takes. Cancelling the
	// context or closing the Fake cuts it short. Under testing/synctest it costs no time.
	PerToken time.Duration

	mu     sync.Mutex
	closed chan struct{} // made by the first use, closed by Close
	done   bool          // Close was called
	stats  Stats
}

// A Call describes one call to [Fake.Before]. One of its pointers is set, according to Op.
type Call struct {
	N        int         // 1 for the first call of any kind, and so on
	Op       backend.Ops // CanGenerate, CanScore, or what the output of Encode takes
	Generate *backend.GenerateRequest
	Score    *backend.ScoreRequest
	Encode   *backend.EncodeRequest
}

// Texts are those that an Encode asks about, of pairs without their queries; none of another call.
func (c Call) Texts() []string {
	var texts []string
	if c.Encode != nil {
		for _, p := range c.Encode.Inputs {
			texts = append(texts, p.Text)
		}
	}
	return texts
}

// Stats counts what a Fake was asked. Calls refused before they began (malformed, unsupported, too
// long, cancelled, closed) are not counted.
type Stats struct {
	Generates   int
	Scores      int
	Encodes     int
	Inputs      int // texts and pairs over all Encodes
	InFlight    int // calls that have begun and not ended
	MaxInFlight int // the most there ever were
}

// Calls is the number of calls of all kinds.
func (s Stats) Calls() int { return s.Generates + s.Scores + s.Encodes }

// Stats returns the counts so far.
func (f *Fake) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// Info returns About with its zero fields filled.
func (f *Fake) Info() backend.Info {
	info := f.About
	if info.Engine == "" {
		info.Engine = "fake 1"
	}
	if info.Model == "" {
		info.Model = "fake"
	}
	if info.Digest == "" {
		info.Digest = "sha256:" + strings.Repeat("0", 64)
	}
	if info.Context == 0 {
		info.Context = 4096
	}
	if info.Slots == 0 {
		info.Slots = 4
	}
	if info.Ops == 0 {
		info.Ops = backend.CanGenerate | backend.CanEmbed | backend.CanScore | backend.CanChoose | backend.CanClassify |
			backend.CanEmbedTokens | backend.CanLabelTokens | backend.CanMark | backend.CanReadDocuments |
			backend.CanReadTokens
	}
	return info
}

// Generate answers with Reply's text, cut at the first Stop string or after MaxTokens tokens.
func (f *Fake) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	info := f.Info()
	if !info.Ops.Has(backend.CanGenerate) {
		return nil, backend.Unsupported(info, backend.CanGenerate)
	}
	if req.Schema != nil && !info.Ops.Has(backend.CanConstrain) {
		return nil, backend.Unsupported(info, backend.CanConstrain)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	if needs := req.Needs(); !info.Ops.Has(needs) {
		return nil, backend.Unsupported(info, needs)
	}
	if err := knownIDs(info, req.Tokens); err != nil {
		return nil, err
	}
	prompt := promptTokens(req.Messages, req.Documents) + len(req.Tokens)
	if prompt+req.MaxTokens > info.Context {
		return nil, &backend.TooLongError{Tokens: prompt + req.MaxTokens, Limit: info.Context}
	}
	if err := f.begin(ctx, Call{Op: backend.CanGenerate, Generate: req}); err != nil {
		return nil, err
	}
	defer f.end()
	reply := f.Reply
	if reply == nil {
		reply = func(_ context.Context, req *backend.GenerateRequest) (string, error) { return Babble(req), nil }
	}
	text, err := reply(ctx, req)
	if err != nil {
		return nil, err
	}
	g := cut(text, req)
	g.PromptTokens = prompt
	if err := f.work(ctx, g.OutputTokens); err != nil {
		return nil, err
	}
	return g, nil
}

// Encode answers with [Vector] or [TokenVectors] of each text, or with Outputs or Labels of each pair.
func (f *Fake) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	info := f.Info()
	if op := req.Output.Op(); !info.Ops.Has(op) {
		return nil, backend.Unsupported(info, op)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	if needs := req.Needs(); !info.Ops.Has(needs) {
		return nil, backend.Unsupported(info, needs)
	}
	for _, p := range req.Inputs {
		for _, m := range p.Marks {
			if !slices.Contains(backend.NamedTokens(), m.Token) && !strings.HasPrefix(m.Token, "<") {
				return nil, backend.UnknownToken(info, m.Token)
			}
		}
		if n := Tokens(p.Query) + Tokens(p.Text); n > info.Context {
			return nil, &backend.TooLongError{Tokens: n, Limit: info.Context}
		}
	}
	if err := f.begin(ctx, Call{Op: req.Output.Op(), Encode: req}); err != nil {
		return nil, err
	}
	defer f.end()
	if err := f.work(ctx, len(req.Inputs)); err != nil {
		return nil, err
	}
	answer := &backend.Encoding{Items: make([]backend.Encoded, len(req.Inputs))}
	for i, p := range req.Inputs {
		answer.Items[i] = f.encoded(req.Output, p)
	}
	return answer, nil
}

// encoded is the output of one input.
func (f *Fake) encoded(output backend.Output, p backend.Pair) backend.Encoded {
	switch {
	case output == backend.TokenEmbeddings:
		return TokenVectors(p.Text)
	case output == backend.TokenOutputs:
		return f.labelled(p)
	case output == backend.Embedding:
		return backend.Encoded{Vectors: [][]float32{Vector(p.Text)}}
	case f.Outputs != nil:
		return backend.Encoded{Vectors: [][]float32{f.Outputs(p)}}
	}
	cosine := dot(Vector(p.Query), Vector(p.Text))
	for _, m := range p.Marks {
		cosine += float64(len(m.Token)) / float64(100+m.At)
	}
	return backend.Encoded{Vectors: [][]float32{{float32(cosine)}}}
}

// labelled is what the token classification head says about a pair.
func (f *Fake) labelled(p backend.Pair) backend.Encoded {
	var e backend.Encoded
	for at := 0; ; {
		size := nextToken(p.Text[at:])
		if size == 0 {
			return e
		}
		token := strings.TrimLeftFunc(p.Text[at:at+size], unicode.IsSpace)
		if at += size; token == "" {
			continue
		}
		span := backend.Span{Low: at - len(token), High: at}
		e.Spans = append(e.Spans, span)
		if f.Labels != nil {
			e.Vectors = append(e.Vectors, f.Labels(p, span))
			continue
		}
		own := strings.Count(p.Query, token) + strings.Count(p.Text, token)
		share := float32(own) / float32(Tokens(p.Query)+Tokens(p.Text))
		e.Vectors = append(e.Vectors, []float32{share, 1 - share})
	}
}

// Score answers with LogProbs of each continuation.
func (f *Fake) Score(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	info := f.Info()
	if !info.Ops.Has(backend.CanScore) {
		return nil, backend.Unsupported(info, backend.CanScore)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	if needs := req.Needs(); !info.Ops.Has(needs) {
		return nil, backend.Unsupported(info, needs)
	}
	if err := knownIDs(info, req.Tokens); err != nil {
		return nil, err
	}
	prompt := promptTokens(req.Messages, req.Documents) + len(req.Tokens)
	if prompt > info.Context {
		return nil, &backend.TooLongError{Tokens: prompt, Limit: info.Context}
	}
	for _, c := range req.Continuations {
		if n := prompt + Tokens(c); n > info.Context {
			return nil, &backend.TooLongError{Tokens: n, Limit: info.Context}
		}
	}
	if err := f.begin(ctx, Call{Op: backend.CanScore, Score: req}); err != nil {
		return nil, err
	}
	defer f.end()
	if err := f.work(ctx, len(req.Continuations)); err != nil {
		return nil, err
	}
	logProbs := f.LogProbs
	if logProbs == nil {
		logProbs = babbleLogProbs
	}
	if len(req.Tokens) > 0 {
		return babbleTokens(req), nil
	}
	s := &backend.Scores{PromptTokens: prompt}
	for _, c := range req.Continuations {
		s.LogProbs = append(s.LogProbs, logProbs(req.Messages, c))
	}
	return s, nil
}

// Close makes calls in flight return ErrClosed, those that wait for PerToken at least, and all later ones.
func (f *Fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		f.done = true
		close(f.closing())
	}
	return nil
}

// closing returns the channel that Close closes. The caller holds f.mu.
func (f *Fake) closing() chan struct{} {
	if f.closed == nil {
		f.closed = make(chan struct{})
	}
	return f.closed
}

// begin counts a call and runs Before. After an error from it, the call is over and end must not be called.
func (f *Fake) begin(ctx context.Context, call Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	if f.done {
		f.mu.Unlock()
		return backend.ErrClosed
	}
	switch {
	case call.Generate != nil:
		f.stats.Generates++
	case call.Score != nil:
		f.stats.Scores++
	case call.Encode != nil:
		f.stats.Encodes++
		f.stats.Inputs += len(call.Encode.Inputs)
	}
	f.stats.InFlight++
	f.stats.MaxInFlight = max(f.stats.MaxInFlight, f.stats.InFlight)
	call.N = f.stats.Calls()
	f.mu.Unlock()

	if f.Before != nil {
		if err := f.Before(ctx, call); err != nil {
			f.end()
			return err
		}
	}
	return nil
}

func (f *Fake) end() {
	f.mu.Lock()
	f.stats.InFlight--
	f.mu.Unlock()
}

// work takes the time of n tokens, or until the call must end.
func (f *Fake) work(ctx context.Context, n int) error {
	f.mu.Lock()
	closed := f.closing()
	f.mu.Unlock()
	if f.PerToken > 0 {
		timer := time.NewTimer(time.Duration(n) * f.PerToken)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-closed:
		}
	}
	select {
	case <-closed:
		return backend.ErrClosed
	default:
		return ctx.Err()
	}
}

// cut ends text before the first Stop string, and after MaxTokens tokens.
func cut(text string, req *backend.GenerateRequest) *backend.Generation {
	for _, stop := range req.Stop {
		if i := strings.Index(text, stop); i >= 0 {
			text = text[:i]
		}
	}
	for n, end := 0, 0; ; n++ {
		size := nextToken(text[end:])
		switch {
		case size == 0:
			return &backend.Generation{Text: text, Stop: backend.StopEnd, OutputTokens: n}
		case n == req.MaxTokens:
			return &backend.Generation{Text: text[:end], Stop: backend.StopLength, OutputTokens: n}
		}
		end += size
	}
}

// Babble is nonsense without end: it fills MaxTokens. It depends on the messages or tokens and, at a temperature
// above 0, on the seed and the draw.
func Babble(req *backend.GenerateRequest) string {
	h := fnv.New64a()
	for _, m := range req.Messages {
		fmt.Fprintf(h, "%d %s %d %s", len(m.Role), m.Role, len(m.Text), m.Text)
		for _, mark := range m.Marks {
			fmt.Fprintf(h, "%d %s", mark.At, mark.Token)
		}
	}
	for _, d := range req.Documents {
		fmt.Fprintf(h, "document %d %s", len(d), d)
	}
	for _, id := range req.Tokens {
		fmt.Fprintf(h, "token %d", id)
	}
	seed := uint64(0)
	if req.Sampling.Temperature > 0 {
		seed = req.DrawSeed()
	}
	words := strings.Fields("amber basil cedar dune ember fern gorge heron iris jade kelp lark moss nectar onyx pine")
	rng := rand.New(rand.NewPCG(h.Sum64(), seed))
	var b strings.Builder
	for range req.MaxTokens + 1 {
		b.WriteString(words[rng.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}

func babbleLogProbs(messages []backend.Message, continuation string) []float64 {
	n := Tokens(continuation)
	greedy := strings.Fields(Babble(&backend.GenerateRequest{Messages: messages, MaxTokens: n}))
	probs := make([]float64, n)
	for i := range probs {
		size := nextToken(continuation)
		probs[i] = math.Log(0.01)
		if strings.TrimSpace(continuation[:size]) == greedy[i] {
			probs[i] = math.Log(0.9)
		}
		continuation = continuation[size:]
	}
	return probs
}

// FakeVocabulary is how many tokens a Fake knows by their ids.
const FakeVocabulary = 1000

func knownIDs(info backend.Info, tokens []int32) error {
	for _, id := range tokens {
		if id >= FakeVocabulary {
			return backend.UnknownID(info, id, FakeVocabulary)
		}
	}
	return nil
}

// babbleTokens finds the tokens that follow a certain one, which hangs on all that came before, each half as likely as the
// one before it, and all but twenty of them next to impossible.
func babbleTokens(req *backend.ScoreRequest) *backend.Scores {
	s := &backend.Scores{LogProbs: [][]float64{{}}, PromptTokens: len(req.Tokens)}
	h := fnv.New32a()
	for i, id := range req.Tokens {
		fmt.Fprintf(h, "%d ", id)
		first := int32(h.Sum32() % FakeVocabulary)
		logProb := func(id int32) float64 {
			if place := (id - first + FakeVocabulary) % FakeVocabulary; place < backend.MaxLikely {
				return math.Log(0.5) * float64(place+1)
			}
			return -100
		}
		if i+1 < len(req.Tokens) {
			s.LogProbs[0] = append(s.LogProbs[0], logProb(req.Tokens[i+1]))
		}
		if req.Likely == 0 {
			continue
		}
		var list []backend.LikelyToken
		for k := range int32(req.Likely) {
			id := (first + k) % FakeVocabulary
			list = append(list, backend.LikelyToken{ID: id, LogProb: logProb(id)})
		}
		s.Likely = append(s.Likely, list)
	}
	return s
}

// Vector embeds a text as the hashed counts of its words, scaled to length 1: the more words two texts
// share, the nearer their cosine is to 1, and texts that share none have a cosine near 0.
func Vector(text string) []float32 {
	counts := make([]float64, 256)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !wordRune(r) })
	for _, w := range words {
		h := fnv.New32a()
		h.Write([]byte(w))
		counts[h.Sum32()%uint32(len(counts))]++
	}
	if len(words) == 0 {
		counts[0] = 1
	}
	sum := 0.0
	for _, c := range counts {
		sum += c * c
	}
	vector := make([]float32, len(counts))
	for i, c := range counts {
		vector[i] = float32(c / math.Sqrt(sum))
	}
	return vector
}

// TokenVectors embeds each token of a text: its own hashed place counts 4, and those of the tokens beside it 1
// each, before the vector is scaled to length 1. So one word keeps a cosine of about 0.8 or more with itself in
// other company, and words that have no company in common have one near 0.
func TokenVectors(text string) backend.Encoded {
	var tokens []string
	for size := nextToken(text); size > 0; size = nextToken(text) {
		token := strings.ToLower(strings.TrimLeftFunc(text[:size], unicode.IsSpace))
		if len(tokens) > 0 && len(token) < size {
			token = " " + token
		}
		tokens = append(tokens, token)
		text = text[size:]
	}
	answer := backend.Encoded{Tokens: tokens}
	for i := range tokens {
		vector := make([]float32, 256)
		sum := 0.0
		for j := max(0, i-1); j <= min(i+1, len(tokens)-1); j++ {
			h := fnv.New32a()
			h.Write([]byte(strings.TrimPrefix(tokens[j], " ")))
			share := float32(1)
			if j == i {
				share = 4
			}
			vector[h.Sum32()%uint32(len(vector))] += share
		}
		for _, x := range vector {
			sum += float64(x) * float64(x)
		}
		for k := range vector {
			vector[k] /= float32(math.Sqrt(sum))
		}
		answer.Vectors = append(answer.Vectors, vector)
	}
	return answer
}

// Tokens counts the tokens of a text as a Fake does: runs of letters and digits, and every other mark
// that is not white space.
func Tokens(text string) int {
	n := 0
	for size := nextToken(text); size > 0; size = nextToken(text) {
		text = text[size:]
		n++
	}
	return n
}

// nextToken is the length in bytes of text's first token, with the white space before it; 0 if there is none.
func nextToken(text string) int {
	start := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	rest := text[start:]
	if rest == "" {
		return 0
	}
	if n := strings.IndexFunc(rest, func(r rune) bool { return !wordRune(r) }); n > 0 {
		return start + n
	} else if n < 0 {
		return len(text)
	}
	_, n := utf8.DecodeRuneInString(rest)
	return start + n
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// promptTokens counts what a chat costs: its words, and four tokens of template a message.
func promptTokens(messages []backend.Message, documents []string) int {
	n := 0
	for _, d := range documents {
		n += Tokens(d) + 4
	}
	for _, m := range messages {
		n += Tokens(m.Text) + len(m.Marks) + 4
	}
	return n
}
