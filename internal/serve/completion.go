package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/openai/wire"
)

// defaultTokens is how long a completion may be that does not say, as OpenAI has it.
const defaultTokens = 16

// complete answers /v1/completions: it generates, or it tells the probabilities of what it was given.
func (s *Server) complete(ctx context.Context, in *wire.CompletionRequest) (any, error) {
	if err := offered(s.models.Judge, in.Model, "model"); err != nil {
		return nil, err
	}
	switch {
	case s.models.Vocabulary == nil:
		return nil, fmt.Errorf("%w, and so answers no completions: chat completions it does",
			backend.Unsupported(s.models.Judge.Info(), backend.CanReadTokens))
	case in.Suffix != nil && *in.Suffix != "":
		return nil, refuse("suffix", "it cannot be honoured")
	case in.BestOf != nil && (in.N == nil && *in.BestOf != 1 || in.N != nil && *in.BestOf != *in.N):
		return nil, refuse("best_of", "it cannot be honoured: n replies are generated and answered")
	case len(in.Prompt) == 0 || len(in.Prompt) > maxPrompts:
		return nil, refuse("prompt", "there are %d, not 1 to %d", len(in.Prompt), maxPrompts)
	case in.Stream:
		return nil, refuse("stream", "completions are not streamed here")
	}
	prompts, err := s.promptsOf(ctx, in)
	if err != nil {
		return nil, err
	}
	if in.LogProbs != nil || in.MaxTokens != nil && *in.MaxTokens == 0 {
		return s.told(ctx, in, prompts)
	}
	return s.generated(ctx, in, prompts)
}

// A prompt is what a text is for a model.
type prompt struct {
	text   string // as it was given, or as tokens spell it
	tokens []int32
	pieces []backend.Piece // of tokens
}

// promptsOf cuts texts into tokens, and spells tokens.
func (s *Server) promptsOf(ctx context.Context, in *wire.CompletionRequest) ([]prompt, error) {
	start := in.AddSpecialTokens == nil || *in.AddSpecialTokens
	prompts := make([]prompt, len(in.Prompt))
	for i, given := range in.Prompt {
		p := &prompts[i]
		p.text, p.tokens = given.Text, given.Tokens
		var err error
		if given.Tokens == nil {
			if p.tokens, err = s.models.Vocabulary.Tokenize(ctx, given.Text, start, false); err != nil {
				return nil, fmt.Errorf("prompt %d: %w", i, err)
			}
		}
		if len(p.tokens) == 0 {
			return nil, refuse("prompt", "number %d has no tokens", i)
		}
		if p.pieces, err = s.models.Vocabulary.Pieces(ctx, p.tokens); err != nil {
			return nil, fmt.Errorf("prompt %d: %w", i, err)
		}
		if spelt := spell(p.pieces, false); given.Tokens != nil {
			p.text = spelt
		} else if spelt == " "+given.Text { // many vocabularies have texts begin with a space
			first := slices.IndexFunc(p.pieces, func(p backend.Piece) bool { return !p.Special && len(p.Text) > 0 })
			p.pieces[first].Text = p.pieces[first].Text[1:]
		}
	}
	return prompts, nil
}

// generated answers with how prompts go on.
func (s *Server) generated(ctx context.Context, in *wire.CompletionRequest, prompts []prompt) (any, error) {
	req, replies, err := sampled(&in.Sampling)
	if err != nil {
		return nil, err
	}
	if in.MaxTokens == nil {
		req.MaxTokens = defaultTokens
	}
	reqs := make([]*backend.GenerateRequest, len(prompts))
	for i, p := range prompts {
		own := *req
		own.Tokens = p.tokens
		reqs[i] = &own
	}
	list, err := s.generate(ctx, reqs, replies)
	if err != nil {
		return nil, err
	}
	answer := s.completion(backend.GenerateKey(s.models.Judge.Info(), reqs[0]))
	answer.Usage = usageOf(list, replies)
	for i, g := range list {
		text := g.Text
		if in.Echo {
			text = prompts[i/replies].text + text
		}
		answer.Choices = append(answer.Choices, wire.CompletionChoice{Index: i, Text: text, FinishReason: finishOf(g.Stop)})
	}
	return answer, nil
}

// completion is an answer without its choices.
func (s *Server) completion(key backend.Key) *wire.Completion {
	info := s.models.Judge.Info()
	return &wire.Completion{ID: "cmpl-" + key.String(), Object: "text_completion", Created: s.now().Unix(), Model: info.Model,
		SystemFingerprint: info.Engine}
}

// told answers with the probabilities of the tokens of prompts, and of the one that the model would go on with.
func (s *Server) told(ctx context.Context, in *wire.CompletionRequest, prompts []prompt) (any, error) {
	reply, likely, err := toldOptions(in)
	if err != nil {
		return nil, err
	}
	reqs := make([]*backend.ScoreRequest, len(prompts))
	scores := make([]*backend.Scores, len(prompts))
	for i, p := range prompts {
		reqs[i] = &backend.ScoreRequest{Tokens: p.tokens, Likely: max(reply, likely)}
	}
	if err := each(ctx, len(prompts), func(ctx context.Context, i int) (err error) {
		scores[i], err = s.models.Judge.Score(ctx, reqs[i])
		return err
	}); err != nil {
		return nil, err
	}
	answer := s.completion(backend.ScoreKey(s.models.Judge.Info(), reqs[0]))
	answer.Usage = &wire.Usage{}
	for i := range prompts {
		choice, err := s.tell(ctx, &prompts[i], scores[i], in.Echo, reply, likely)
		if err != nil {
			return nil, fmt.Errorf("prompt %d: %w", i, err)
		}
		if in.LogProbs == nil {
			choice.LogProbs = nil
		}
		choice.Index = i
		answer.Choices = append(answer.Choices, *choice)
		answer.Usage.PromptTokens += len(prompts[i].tokens)
		answer.Usage.CompletionTokens += reply
	}
	answer.Usage.TotalTokens = answer.Usage.PromptTokens + answer.Usage.CompletionTokens
	return answer, nil
}

// toldOptions are how many tokens are to follow a prompt, none or one, and how many likely ones are told beside each.
func toldOptions(in *wire.CompletionRequest) (reply, likely int, err error) {
	reply = defaultTokens
	if in.MaxTokens != nil {
		reply = *in.MaxTokens
	}
	if in.LogProbs != nil {
		likely = *in.LogProbs
	}
	one := in.Sampling // what may be left of it is checked as if a token were generated
	one.MaxTokens = nil
	req, replies, err := sampled(&one)
	switch {
	case err != nil:
		return 0, 0, err
	case likely < 0 || likely > backend.MaxLikely:
		return 0, 0, refuse("logprobs", "it is %d, not in 0 to %d", likely, backend.MaxLikely)
	case reply < 0 || reply > 1:
		return 0, 0, refuse("logprobs", "those of generated tokens are not kept: with logprobs, max_tokens is to be 0, or 1 for "+
			"the one token that is likeliest to follow")
	case reply == 0 && !in.Echo:
		return 0, 0, refuse("max_tokens", "it is 0, and without echo there is nothing to answer")
	case reply == 1 && req.Sampling.Temperature != 0:
		return 0, 0, refuse("temperature", "with logprobs only 0 can be honoured: the token that is likeliest to follow")
	case reply == 1 && (len(req.Stop) > 0 || req.Schema != nil):
		return 0, 0, refuse("logprobs", "they go with neither stop nor response_format")
	case replies != 1:
		return 0, 0, refuse("n", "with logprobs only 1 can be honoured: nothing is drawn")
	}
	return reply, likely, nil
}

// tell makes a choice of a prompt's probabilities.
func (s *Server) tell(ctx context.Context, p *prompt, scores *backend.Scores, echo bool, reply, likely int) (
	*wire.CompletionChoice, error,
) {
	pieces, err := s.likelyPieces(ctx, scores)
	if err != nil {
		return nil, err
	}
	top := func(i int) map[string]float64 { // behind token i
		if likely == 0 {
			return nil
		}
		names := map[string]float64{}
		for _, t := range scores.Likely[i][:min(likely, len(scores.Likely[i]))] {
			keep(names, name(pieces[t.ID]), t.LogProb)
		}
		return names
	}
	l := newLister(p)
	for i, piece := range p.pieces {
		if !echo {
			l.pass(piece)
			continue
		}
		if i == 0 { // nothing is before it
			l.add(piece, nil, nil)
			continue
		}
		names := top(i - 1)
		if own := scores.LogProbs[0][i-1]; names != nil {
			keep(names, name(piece), own)
		}
		l.add(piece, &scores.LogProbs[0][i-1], names)
	}
	choice := &wire.CompletionChoice{FinishReason: "length", LogProbs: &l.list}
	if echo {
		choice.Text = p.text
	}
	if reply == 1 {
		last := len(p.tokens) - 1
		next := scores.Likely[last][0]
		piece := pieces[next.ID]
		if l.add(piece, &next.LogProb, top(last)); piece.Special {
			choice.FinishReason = "stop"
		} else {
			choice.Text += strings.ToValidUTF8(string(piece.Text), "\uFFFD")
		}
	}
	for i, v := range l.list.TokenLogProbs {
		if v != nil && !wire.Finite(*v) {
			return nil, fmt.Errorf("token %d has the log-probability %v", i, *v)
		}
	}
	return choice, nil
}

// likelyPieces are what the likely tokens stand for, by their ids.
func (s *Server) likelyPieces(ctx context.Context, scores *backend.Scores) (map[int32]backend.Piece, error) {
	var ids []int32
	for _, list := range scores.Likely {
		for _, t := range list {
			ids = append(ids, t.ID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	list, err := s.models.Vocabulary.Pieces(ctx, ids)
	if err != nil {
		return nil, err
	}
	pieces := make(map[int32]backend.Piece, len(ids))
	for i, id := range ids {
		pieces[id] = list[i]
	}
	return pieces, nil
}

// keep notes a probability by name; of tokens with one name, that of the likelier.
func keep(names map[string]float64, name string, logProb float64) {
	if old, there := names[name]; !there || logProb > old {
		names[name] = logProb
	}
}

// A lister lists tokens, with where they begin.
type lister struct {
	list  wire.CompletionLogProbs
	chars int // that begin in the bytes so far
}

func newLister(p *prompt) *lister {
	n := len(p.tokens) + 1
	return &lister{list: wire.CompletionLogProbs{Tokens: make([]string, 0, n), TokenLogProbs: make([]*float64, 0, n),
		TopLogProbs: make([]map[string]float64, 0, n), TextOffset: make([]int, 0, n)}}
}

// add lists a token.
func (l *lister) add(p backend.Piece, logProb *float64, top map[string]float64) {
	at := l.chars
	if !p.Special && len(p.Text) > 0 && !utf8.RuneStart(p.Text[0]) {
		at = max(0, at-1) // within a character
	}
	l.list.Tokens = append(l.list.Tokens, name(p))
	l.list.TokenLogProbs = append(l.list.TokenLogProbs, logProb)
	l.list.TopLogProbs = append(l.list.TopLogProbs, top)
	l.list.TextOffset = append(l.list.TextOffset, at)
	l.pass(p)
}

// pass goes over a token.
func (l *lister) pass(p backend.Piece) {
	if p.Special {
		return
	}
	for _, b := range p.Text {
		if utf8.RuneStart(b) {
			l.chars++
		}
	}
}

// name is how a token is shown: as OpenAI does, byte by byte where it is no text.
func name(p backend.Piece) string {
	if utf8.Valid(p.Text) {
		return string(p.Text)
	}
	var b strings.Builder
	b.WriteString("bytes:")
	for _, c := range p.Text {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}

// spell is the text of tokens, with special ones as the vocabulary spells them or without.
func spell(pieces []backend.Piece, special bool) string {
	var b strings.Builder
	for _, p := range pieces {
		if special || !p.Special {
			b.Write(p.Text)
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}
