package llama

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// read scores tokens: each but the first, given those before it.
//
// What was found out at a place holds for every text that begins with the same tokens. So texts with a beginning in
// common, like the questions of a benchmark behind their worked examples, or the choices of one question, have that
// beginning scored once: see [forecasts].
func (e *Engine) read(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	tokens, tiles, err := e.tokens(req.Tokens)
	if err != nil {
		return nil, err
	}
	if n := len(tokens); n > e.info.Context {
		return nil, &backend.TooLongError{Tokens: n, Limit: e.info.Context}
	}
	own := &forecast{tokens: tokens, tiles: tiles, likely: req.Likely, done: make(chan struct{})}
	from, err := e.forecasts.begin(ctx, e, own)
	if err != nil {
		return nil, err
	}
	f := &follower{forecast: own, at: from, ended: make(chan error, 1)}
	j := newJob(ctx, tokens, len(tokens), tiles, f)
	j.from = from
	err = hand(ctx, e, e.jobs, j)
	if err == nil {
		var failed error
		failed, err = await(ctx, e, f.ended)
		err = cmp.Or(err, failed)
	}
	e.forecasts.finish(own, err == nil)
	if err != nil {
		return nil, err
	}
	scores := &backend.Scores{LogProbs: [][]float64{slices.Clone(own.logProbs)}, PromptTokens: len(tokens)}
	if req.Likely > 0 {
		for _, list := range own.tops {
			scores.Likely = append(scores.Likely, slices.Clone(list))
		}
	}
	return scores, nil
}

// tokens checks a prompt of tokens, at least one, and says how it is tiled.
func (e *Engine) tokens(ids []int32) ([]llama.Token, tiling, error) {
	tokens, err := e.known(ids)
	if err != nil {
		return nil, tiling{}, err
	}
	return tokens, newTiling(0, min(len(tokens)-1, e.info.Context-block)), nil
}

// A follower is the task of teacher forcing a whole text: it notes how probable each token was, and which would have
// been likelier.
type follower struct {
	*forecast
	at    int        // the token whose logits come next
	ended chan error // takes one
}

func (f *follower) next(logits []float32) []llama.Token {
	norm := logSum(logits)
	logProb := func(t llama.Token) float64 { return min(0, float64(logits[t])-norm) }
	if f.at++; f.at < len(f.tokens) {
		f.logProbs = append(f.logProbs, logProb(f.tokens[f.at]))
	}
	if f.likely > 0 {
		var top []backend.LikelyToken
		for _, t := range likeliest(logits, f.likely) {
			top = append(top, backend.LikelyToken{ID: int32(t), LogProb: logProb(t)})
		}
		f.tops = append(f.tops, top)
	}
	return nil
}

func (f *follower) end(err error) { f.ended <- err }

// likeliest returns the k tokens with the greatest logits, the greatest first; k is at least 1.
func likeliest(logits []float32, k int) []llama.Token {
	top := make([]llama.Token, 0, k+1)
	for t, l := range logits {
		if len(top) == k && l <= logits[top[k-1]] {
			continue
		}
		at := len(top)
		for at > 0 && l > logits[top[at-1]] {
			at--
		}
		top = slices.Insert(top, at, llama.Token(t))
		top = top[:min(k, len(top))]
	}
	return top
}

// A forecast is what is found out about a text in tokens.
type forecast struct {
	tokens   []llama.Token
	tiles    tiling
	likely   int
	logProbs []float64 // of all tokens but the first
	tops     [][]backend.LikelyToken
	done     chan struct{} // closed when it is over
}

// covers returns for how many of another's first tokens a forecast tells what comes behind each: those after which both
// go on alike, and which both compute in the same way.
func (f *forecast) covers(o *forecast) int {
	if f.likely < o.likely {
		return 0
	}
	n := common(f.tokens, o.tokens)
	return max(0, min(n-1, f.tiles.shares(n, o.tiles)))
}

// forecasts are those of late, and those under way.
type forecasts struct {
	mu   sync.Mutex
	late []*forecast // the latest last
	busy []*forecast
}

const (
	remembered = 32 // forecasts: of 4,096 tokens and one likely token each, they take 6 MB, of twenty 50
	worthwhile = 64 // tokens for which a forecast waits for another that is under way
)

// begin puts into a forecast what is known of it, and returns how many tokens that covers. While a forecast is under way
// that covers notably more, it waits for that. The caller calls finish afterwards.
func (r *forecasts) begin(ctx context.Context, e *Engine, own *forecast) (from int, err error) {
	for {
		r.mu.Lock()
		best, n := mostCovering(r.late, own)
		ahead, soon := mostCovering(r.busy, own)
		if soon < n+worthwhile {
			if n > 0 {
				own.logProbs = slices.Clone(best.logProbs[:n])
				if own.likely > 0 {
					for _, list := range best.tops[:n] {
						own.tops = append(own.tops, list[:min(len(list), own.likely)])
					}
				}
			}
			r.busy = append(r.busy, own)
			r.mu.Unlock()
			return n, nil
		}
		r.mu.Unlock()
		if _, err := await(ctx, e, ahead.done); err != nil {
			return 0, err
		}
	}
}

// finish ends a forecast, and remembers it if it succeeded.
func (r *forecasts) finish(own *forecast, succeeded bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = slices.DeleteFunc(r.busy, func(o *forecast) bool { return o == own })
	if succeeded {
		if len(r.late) == remembered {
			r.late = slices.Delete(r.late, 0, 1)
		}
		r.late = append(r.late, own)
	}
	close(own.done)
}

// mostCovering returns the forecast that covers most of another's tokens.
func mostCovering(list []*forecast, own *forecast) (best *forecast, most int) {
	for _, o := range list {
		if n := o.covers(own); n > most {
			best, most = o, n
		}
	}
	return best, most
}
