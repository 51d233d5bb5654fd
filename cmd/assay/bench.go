package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/internal/bench"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/evaluation"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/shirou/gopsutil/v4/cpu"
)

const benchHelp = `
Usage: assay bench [--model MODEL] [--data FILE --embed-model MODEL] [flags]

Measures how fast this machine evaluates with a model. First the engine alone: tokens a second of prompt
and of reply, with 1, 4, 16 and 32 sequences at once; of several rounds the fastest counts. Then, with --data,
whole rows: the three metrics of the RAGAS paper, with the cache off. No other program should be busy meanwhile.

  assay bench --model tinyllama-q4_0
  assay bench --model tinyllama-q4_0 --embed-model minilm --data examples/qa.jsonl --limit 8

With --preset, rows are scored by its metrics, and rows alone are measured, if --sequences is not given too. Reading
efficiency is how many tokens of prompts were computed for each token of the rows' own text: contexts, question,
history, answer, and the references where a metric needs them. It does not depend on the machine.

  assay bench --model tinyllama-q4_0 --data examples/qa.jsonl --preset logit --format json

Compared with others, in the same run (scripts/bench/engine.sh prepares the first):

  --batched FILE    what llama.cpp's own llama-batched-bench measured at the same shapes, as JSONL; of several lines
                    for a shape, the fastest count
  --ollama MODEL    the same model in a running Ollama server (--ollama-embed, --address): the same rows again
`

type benchOptions struct {
	stack       stackOptions
	sequences   []int
	rounds      int
	shape       llama.Shape
	data        string
	preset      string
	layout      string
	limit       int
	batched     string
	ollama      string
	ollamaEmbed string
	from        string
	format      string
}

func benchCommand(ctx context.Context, s *std, args []string) error {
	o := benchOptions{stack: stackOptions{Options: stack.Options{Backend: "llama", Cache: "off"}}}
	f := s.flags("bench", benchHelp)
	o.stack.addModelAs(f, backend.Judge, "the judge: a name from assay models, or a GGUF file")
	o.stack.addModelAs(f, backend.Embedder, "the embedding model, for --data")
	f.IntVar(&o.stack.Context, "context", 0, "`TOKENS` of prompt and reply together")
	f.IntVar(&o.stack.Slots, "slots", 0, "calls served at once, for --data (default 16)")
	f.IntVar(&o.stack.Threads, "threads", 0, "threads (default chosen by measurement)")
	f.IntSliceVar(&o.sequences, "sequences", []int{1, 4, 16, 32}, "how many sequences to compute at once")
	f.IntVar(&o.rounds, "rounds", 1, "how often to measure each of these")
	f.BoolVar(&o.stack.Fast, "fast", false, fastUsage)
	f.IntVar(&o.shape.Prompt, "prompt", 128, "tokens of each sequence's prompt")
	f.IntVar(&o.shape.Reply, "reply", 64, "tokens of each sequence's reply")
	f.StringVarP(&o.data, "data", "d", "", "a dataset `FILE` whose rows to score")
	f.StringVar(&o.preset, "preset", all.Presets()[0].Name, "the list of metrics to score rows with")
	f.StringVar(&o.layout, "layout", string(prompts.Row), layoutHelp)
	f.IntVar(&o.limit, "limit", 0, "score only the first `N` rows")
	f.StringVar(&o.batched, "batched", "", "the output of llama-batched-bench, a `FILE` of JSONL, to compare with")
	f.StringVar(&o.ollama, "ollama", "", "the judge's `NAME` in Ollama, to compare with")
	f.StringVar(&o.ollamaEmbed, "ollama-embed", "", "the embedding model's `NAME` there")
	f.StringVar(&o.stack.Address, "address", "", "the `URL` of the Ollama server")
	f.StringVar(&o.from, "from", "", "measure nothing, and print what --format json left in a `FILE`")
	f.StringVar(&o.format, "format", "table", "how the figures are printed: table, json or md")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if f.Changed("preset") && !f.Changed("sequences") {
		o.sequences = nil
	}
	switch {
	case !slices.Contains(bench.Formats(), o.format):
		return usagef("unknown format %q: table, json or md", o.format)
	case len(o.sequences) == 0 && o.data == "":
		return usagef("nothing to measure: give --sequences or --data")
	case o.rounds < 1:
		return usagef("--rounds %d is to be positive", o.rounds)
	case o.ollama != "" && o.data == "":
		return usageError{withHint(errors.New("--ollama compares rows"), "name a dataset with --data")}
	}
	if o.from != "" {
		b, err := bench.Read(o.from)
		if err != nil {
			return usageError{err}
		}
		return b.Write(s.out, o.format)
	}
	b, err := o.measure(ctx, s)
	if err != nil {
		return err
	}
	return b.Write(s.out, o.format)
}

func (o *benchOptions) measure(ctx context.Context, s *std) (*bench.Report, error) {
	b := &bench.Report{Tool: "assay " + buildVersion(), Machine: machine()}
	batched, err := bench.ReadBatched(o.batched)
	if err != nil {
		return nil, usageError{err}
	}
	if len(o.sequences) > 0 {
		if err := o.speeds(ctx, s, b, batched); err != nil {
			return nil, err
		}
	}
	if o.data == "" {
		return b, nil
	}
	if b.Rows, err = o.rows(ctx, s, b); err != nil {
		return nil, err
	}
	if o.ollama != "" {
		peer, err := o.peer(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("ollama: %w", err)
		}
		b.Peers = map[string]bench.Peer{"ollama": peer}
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

// speeds measures the engine alone, each shape on an engine with just its slots.
func (o *benchOptions) speeds(ctx context.Context, s *std, b *bench.Report, batched map[bench.Shape]*bench.Rates) error {
	for _, n := range o.sequences {
		if n < 1 {
			return usagef("--sequences %d is to be positive", n)
		}
		one := o.stack.speaking(s)
		one.Slots, one.Address = n, ""
		one.Context = o.shape.Prompt + o.shape.Reply + 1
		speed, err := o.speed(ctx, s, one, b)
		if err != nil {
			return err
		}
		b.Compare(speed, batched)
	}
	return nil
}

func (o *benchOptions) speed(ctx context.Context, s *std, one stack.Options, b *bench.Report) (bench.Speed, error) {
	e, err := stack.OpenJudge(ctx, one)
	if err != nil {
		return bench.Speed{}, err
	}
	defer e.Close()
	info := e.Info()
	b.Engine, b.Model, b.Digest = info.Engine, info.Model, info.Digest
	shape := o.shape
	shape.Sequences = one.Slots
	warm := llama.Shape{Sequences: 1, Prompt: min(16, shape.Prompt), Reply: 2}
	if _, err := e.Bench(ctx, warm); err != nil {
		return bench.Speed{}, err
	}
	best := bench.Speed{Shape: bench.Shape(shape)}
	for range o.rounds {
		speed, err := e.Bench(ctx, shape)
		if err != nil {
			return bench.Speed{}, err
		}
		s.note("%d sequences: %.1f tokens/s of prompt, %.1f of reply", one.Slots, speed.PromptRate(), speed.ReplyRate())
		best.PromptRate, best.ReplyRate = max(best.PromptRate, speed.PromptRate()), max(best.ReplyRate, speed.ReplyRate())
		best.Rate = max(best.Rate, speed.Rate())
	}
	return best, nil
}

// rows scores the dataset with the engine.
func (o *benchOptions) rows(ctx context.Context, s *std, b *bench.Report) (r bench.Rows, err error) {
	ours := o.stack
	ours.Address, ours.Trie = "", true
	st, r, err := o.score(ctx, s, &ours)
	if err != nil {
		return r, err
	}
	work, info := st.Engines[backend.Judge].Stats(), st.Roles[backend.Judge].Info()
	b.Engine, b.Model, b.Digest = info.Engine, info.Model, info.Digest
	r.PrefixEfficiency, r.Packing, r.Idle = work.PrefixEfficiency(), work.Packing(), work.Idle()
	r.PromptTokens, r.PromptComputed, r.OutputTokens = work.PromptTokens, work.PromptComputed, work.OutputTokens
	r.Drafted, r.Guessed = work.Drafted, work.Accepted
	if r.RowTokens > 0 {
		r.Reading = float64(r.PromptComputed) / float64(r.RowTokens)
	}
	return r, nil
}

// peer scores the same rows through Ollama.
func (o *benchOptions) peer(ctx context.Context, s *std) (bench.Peer, error) {
	theirs := stackOptions{Options: stack.Options{Backend: "ollama", Cache: "off", Address: o.stack.Address,
		Context: o.stack.Context,
		Models:  map[backend.Role]string{backend.Judge: o.ollama, backend.Embedder: o.ollamaEmbed}}}
	st, r, err := o.score(ctx, s, &theirs)
	if err != nil {
		return bench.Peer{}, err
	}
	return bench.Peer{
		Engine: st.Roles[backend.Judge].Info().Engine, Failed: r.Failed, RowsPerMinute: r.RowsPerMinute,
	}, nil
}

// score scores the dataset with the metrics of the preset that it has the columns for, through models that it closes,
// and tells how long that took once they were loaded.
func (o *benchOptions) score(ctx context.Context, s *std, models *stackOptions) (st *stack.Stack, r bench.Rows, err error) {
	ms, err := all.Preset(o.preset)
	if err != nil {
		return nil, r, usageError{err}
	}
	asking, err := evaluation.Prompts("", o.layout)
	if err != nil {
		return nil, r, usageError{err}
	}
	data, err := dataset.Open(ctx, o.data, dataset.Options{Limit: o.limit})
	if err != nil {
		return nil, r, usageError{err}
	}
	defer data.Close()
	sum := data.Summary()
	ms, left := evaluation.Fitting(ms, sum.Fields(), func(metrics.Metric) bool { return true })
	for _, m := range left {
		s.note("%s is left out: the dataset has no %v", m.Name, m.Needs&^sum.Fields())
	}
	if st, err = models.open(ctx, s, metrics.AsksOf(ms)); err != nil {
		return nil, r, err
	}
	defer st.Close()
	r.Count, r.Preset, r.Layout = sum.Rows, o.preset, o.layout
	if judge := st.Engines[backend.Judge]; judge != nil {
		if r.RowTokens, err = rowTokens(ctx, judge, data.Samples(ctx), ms); err != nil {
			return nil, r, err
		}
	}
	shown := scoringMeter(s, r.Count, 0, ms, st)
	defer shown.Stop()
	start := time.Now()
	err = metrics.Run(ctx, data.Samples(ctx), ms, metrics.Models{Roles: st.Roles, Prompts: asking},
		metrics.Options{Ready: noted(shown)},
		func(result metrics.Result) error {
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
