package bench

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/evaluation"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/shirou/gopsutil/v4/cpu"
)

// A Job is what is to be measured.
type Job struct {
	Tool  string        // that measures: "assay v0.1.0"
	Stack stack.Options // the models, in this process, without a cache

	Sequences []int  // how many at once, measured one after the other; none: the engine alone is not measured
	Rounds    int    // of each, of which the fastest counts
	Shape     Shape  // of each sequence
	Batched   string // what llama-batched-bench wrote, to compare with; "": nothing

	Data   string // the dataset whose rows are scored; "": none is
	Limit  int    // of its rows; 0: all
	Preset string // the metrics that they are scored with
	Layout string // of the prompts: see prompts.ParseLayout
	Ollama Ollama // scores them again

	Say func(format string, args ...any) // is told how it goes
	// Meter is told how many results are to come. Of what it returns, ready is called for each, and stop at the end.
	Meter func(results int) (ready func(metrics.Result), stop func())
}

// An Ollama is a running server with the same models.
type Ollama struct {
	Address         string // "": its usual one
	Judge, Embedder string // their names there; without a judge it is not asked
}

// Measure measures the engine alone, then rows. Wrong input is a [runs.InputError].
func (j *Job) Measure(ctx context.Context) (*Report, error) {
	b := &Report{Tool: j.Tool, Machine: machine()}
	batched, err := ReadBatched(j.Batched)
	if err != nil {
		return nil, &runs.InputError{Err: err}
	}
	for _, n := range j.Sequences {
		if n < 1 {
			return nil, runs.Inputf("--sequences %d is to be positive", n)
		}
		speed, err := j.speed(ctx, n, b)
		if err != nil {
			return nil, err
		}
		b.Compare(speed, batched)
	}
	if j.Data == "" {
		return b, nil
	}
	if b.Rows, err = j.rows(ctx, b); err != nil {
		return nil, err
	}
	if j.Ollama.Judge != "" {
		peer, err := j.peer(ctx)
		if err != nil {
			return nil, fmt.Errorf("ollama: %w", err)
		}
		b.Peers = map[string]Peer{"ollama": peer}
	}
	return b, nil
}

// machine describes the processor.
func machine() string {
	name := runtime.GOARCH
	if infos, err := cpu.Info(); err == nil && len(infos) > 0 && infos[0].ModelName != "" {
		name = infos[0].ModelName
	}
	return fmt.Sprintf("%s, %d cores, %s", name, runtime.GOMAXPROCS(0), runtime.GOOS)
}

// speed measures the engine alone, with n sequences at once and just their slots.
func (j *Job) speed(ctx context.Context, n int, b *Report) (Speed, error) {
	o := j.Stack
	o.Slots, o.Context = n, j.Shape.Prompt+j.Shape.Reply+1
	e, err := stack.OpenJudge(ctx, o)
	if err != nil {
		return Speed{}, err
	}
	defer e.Close()
	b.of(e.Info())
	shape := j.Shape
	shape.Sequences = n
	warm := llama.Shape{Sequences: 1, Prompt: min(16, shape.Prompt), Reply: 2}
	if _, err := e.Bench(ctx, warm); err != nil {
		return Speed{}, err
	}
	best := Speed{Shape: shape}
	for range j.Rounds {
		speed, err := e.Bench(ctx, llama.Shape(shape))
		if err != nil {
			return Speed{}, err
		}
		j.Say("%d sequences: %.1f tokens/s of prompt, %.1f of reply", n, speed.PromptRate(), speed.ReplyRate())
		best.PromptRate, best.ReplyRate = max(best.PromptRate, speed.PromptRate()), max(best.ReplyRate, speed.ReplyRate())
		best.Rate = max(best.Rate, speed.Rate())
	}
	return best, nil
}

// of says which model was measured.
func (b *Report) of(info backend.Info) {
	b.Engine, b.Model, b.Digest = info.Engine, info.Model, info.Digest
}

// rows scores the dataset with the engine in this process.
func (j *Job) rows(ctx context.Context, b *Report) (Rows, error) {
	o := j.Stack
	o.Trie = true
	st, r, err := j.score(ctx, o)
	if err != nil {
		return r, err
	}
	judge := st.Engines[backend.Judge]
	if judge == nil { // the preset asks none
		return r, nil
	}
	work := judge.Stats()
	b.of(judge.Info())
	r.PrefixEfficiency, r.Packing, r.Idle = work.PrefixEfficiency(), work.Packing(), work.Idle()
	r.PromptTokens, r.PromptComputed, r.OutputTokens = work.PromptTokens, work.PromptComputed, work.OutputTokens
	r.Drafted, r.Guessed = work.Drafted, work.Accepted
	if r.RowTokens > 0 {
		r.Reading = float64(r.PromptComputed) / float64(r.RowTokens)
	}
	return r, nil
}

// peer scores the same rows through Ollama.
func (j *Job) peer(ctx context.Context) (Peer, error) {
	st, r, err := j.score(ctx, stack.Options{Backend: "ollama", Cache: j.Stack.Cache, Address: j.Ollama.Address,
		Context: j.Stack.Context, Say: j.Stack.Say, Warn: j.Stack.Warn,
		Models: map[backend.Role]string{backend.Judge: j.Ollama.Judge, backend.Embedder: j.Ollama.Embedder}})
	if err != nil {
		return Peer{}, err
	}
	return Peer{
		Engine: st.Roles[backend.Judge].Info().Engine, Failed: r.Failed, RowsPerMinute: r.RowsPerMinute,
	}, nil
}

// score scores the dataset with the metrics of the preset that it has the columns for, through models that it closes,
// and tells how long that took once they were loaded.
func (j *Job) score(ctx context.Context, o stack.Options) (st *stack.Stack, r Rows, err error) {
	ms, err := all.Preset(j.Preset)
	if err != nil {
		return nil, r, &runs.InputError{Err: err}
	}
	asking, err := evaluation.Prompts("", j.Layout)
	if err != nil {
		return nil, r, &runs.InputError{Err: err}
	}
	data, err := dataset.Open(ctx, j.Data, dataset.Options{Limit: j.Limit})
	if err != nil {
		return nil, r, &runs.InputError{Err: err}
	}
	defer data.Close()
	sum := data.Summary()
	ms, left := evaluation.Fitting(ms, sum.Fields(), func(metrics.Metric) bool { return true })
	for _, m := range left {
		j.Say("%s is left out: the dataset has no %v", m.Name, m.Needs&^sum.Fields())
	}
	if st, err = stack.Open(ctx, o, metrics.AsksOf(ms)); err != nil {
		return nil, r, err
	}
	defer st.Close()
	r.Count, r.Preset, r.Layout = sum.Rows, j.Preset, j.Layout
	if judge := st.Engines[backend.Judge]; judge != nil {
		if r.RowTokens, err = rowTokens(ctx, judge, data.Samples(ctx), ms); err != nil {
			return nil, r, err
		}
	}
	ready, stop := j.Meter(r.Count * len(ms))
	defer stop()
	start := time.Now()
	err = metrics.Run(ctx, data.Samples(ctx), ms, metrics.Models{Roles: st.Roles, Prompts: asking},
		metrics.Options{Ready: ready}, func(result metrics.Result) error {
			if result.Score == nil && result.Kind != metrics.NotApplicable {
				r.Failed++
			}
			return nil
		})
	r.RowsPerMinute = float64(r.Count) / time.Since(start).Minutes()
	return st, r, err
}

// rowTokens counts the tokens of the texts of samples, each once: contexts, question, history and answer, and the
// references where one of ms needs them.
func rowTokens(ctx context.Context, judge *llama.Engine, samples iter.Seq2[*metrics.Sample, error],
	ms []metrics.Metric) (tokens int64, err error) {
	references := slices.ContainsFunc(ms, func(m metrics.Metric) bool { return m.Needs.Has(metrics.References) })
	for s, err := range samples {
		if err != nil {
			return 0, err
		}
		texts := slices.Concat(s.Contexts, []string{s.Question, s.Answer})
		for _, t := range metrics.LastTurns(s.History, metrics.MostHistory) {
			texts = append(texts, t.Text())
		}
		if references {
			texts = append(texts, s.References...)
		}
		for _, text := range texts {
			n, err := judge.CountTokens(ctx, text)
			if err != nil {
				return 0, err
			}
			tokens += int64(n)
		}
	}
	return tokens, nil
}
