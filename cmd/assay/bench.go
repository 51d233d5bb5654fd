package main

import (
	"context"
	"errors"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/bench"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
)

// benchOptions holds the flags of assay bench.
type benchOptions struct {
	bench.Job
	stack  stackOptions
	from   string
	format string
}

func benchCommand(ctx context.Context, s *std, args []string) error {
	o := benchOptions{stack: stackOptions{Options: stack.Options{Backend: "llama", Cache: "off"}}}
	f := s.flags("bench", page("bench"))
	o.stack.addModelAs(f, backend.Judge, "the judge: a name from assay models, or a GGUF file")
	o.stack.addModelAs(f, backend.Embedder, "the embedding model, for --data")
	f.IntVar(&o.stack.Context, "context", 0, "`TOKENS` of prompt and reply together")
	f.IntVar(&o.stack.Slots, "slots", 0, "calls served at once, for --data (default 16)")
	f.IntVar(&o.stack.Threads, "threads", 0, "threads (default chosen by measurement)")
	f.IntSliceVar(&o.Sequences, "sequences", []int{1, 4, 16, 32}, "how many sequences to compute at once")
	f.IntVar(&o.Rounds, "rounds", 1, "how often to measure each of these")
	f.BoolVar(&o.stack.Fast, "fast", false, fastUsage)
	f.IntVar(&o.Shape.Prompt, "prompt", 128, "tokens of each sequence's prompt")
	f.IntVar(&o.Shape.Reply, "reply", 64, "tokens of each sequence's reply")
	f.StringVarP(&o.Data, "data", "d", "", "a dataset `FILE` whose rows to score")
	f.StringVar(&o.Preset, "preset", all.Presets()[0].Name, "the list of metrics to score rows with")
	f.StringVar(&o.Layout, "layout", string(prompts.Row), layoutHelp)
	f.IntVar(&o.Limit, "limit", 0, "score only the first `N` rows")
	f.StringVar(&o.Batched, "batched", "", "the output of llama-batched-bench, a `FILE` of JSONL, to compare with")
	f.StringVar(&o.Ollama.Judge, "ollama", "", "the judge's `NAME` in Ollama, to compare with")
	f.StringVar(&o.Ollama.Embedder, "ollama-embed", "", "the embedding model's `NAME` there")
	f.StringVar(&o.Ollama.Address, "address", "", "the `URL` of the Ollama server")
	f.StringVar(&o.from, "from", "", "measure nothing, and print what --format json left in a `FILE`")
	f.StringVar(&o.format, "format", "table", "how the figures are printed: table, json or md")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if f.Changed("preset") && !f.Changed("sequences") {
		o.Sequences = nil
	}
	if err := o.check(); err != nil {
		return err
	}
	if o.from != "" {
		b, err := bench.Read(o.from)
		if err != nil {
			return usageError{err}
		}
		return b.Write(s.out, o.format)
	}
	o.Tool, o.Stack, o.Say = "assay "+buildVersion(), o.stack.speaking(s), s.note
	o.Meter = func(results int) (func(metrics.Result), func()) {
		shown := newMeter(s, "results", results, 0)
		return func(metrics.Result) { shown.Done("", false) }, shown.Stop
	}
	b, err := o.Measure(ctx)
	if err != nil {
		return err
	}
	return b.Write(s.out, o.format)
}

func (o *benchOptions) check() error {
	switch {
	case !slices.Contains(bench.Formats(), o.format):
		return usagef("unknown format %q: table, json or md", o.format)
	case len(o.Sequences) == 0 && o.Data == "":
		return usagef("nothing to measure: give --sequences or --data")
	case o.Rounds < 1:
		return usagef("--rounds %d is to be positive", o.Rounds)
	case o.Ollama.Judge != "" && o.Data == "":
		return usageError{withHint(errors.New("--ollama compares rows"), "name a dataset with --data")}
	}
	return nil
}
