package main

import (
	"context"
	"os"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/metrics"
	"github.com/spf13/pflag"
)

// stackOptions are the flags that say which models answer, and through what.
type stackOptions struct {
	stack.Options
	several bool // whether models may have names, so that there can be more than one of a kind
}

// open opens the models that are asked.
func (o *stackOptions) open(ctx context.Context, s *std, asks metrics.Asks) (*stack.Stack, error) {
	return stack.Open(ctx, o.speaking(s), asks)
}

// speaking are the options with what no flag holds: the key for a server, which is in the environment only, so that no
// shell keeps it, and where to speak.
func (o *stackOptions) speaking(s *std) stack.Options {
	with := o.Options
	with.Key, with.Say, with.Warn = os.Getenv("ASSAY_API_KEY"), s.note, s.warn
	return with
}

func (o *stackOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.Backend, "backend", "b", "llama",
		"the `ENGINE` that runs the models: llama (in this process), ollama, or openai (any server with OpenAI's routes)")
	o.addModel(f, backend.Judge)
	o.addModel(f, backend.Embedder)
	f.StringVar(&o.Address, "address", "",
		"the `URL` of the server, or of several between commas, which must have the same model: with ollama the default is "+
			"$OLLAMA_HOST, or its usual address on this machine")
	f.BoolVar(&o.Remote, "allow-remote", false,
		"with openai, or --queue: the server may be on another machine, to which texts, and with openai the key in "+
			"$ASSAY_API_KEY, are sent")
	f.StringVar(&o.Cache, "cache", "use",
		"answers from earlier runs: use, refresh (ask anew), verify (ask anew and compare) or off")
	f.IntVar(&o.Context, "context", 0,
		"`TOKENS` of prompt and reply together (default what the model was trained for, at most 4096)")
	f.IntVar(&o.Slots, "slots", 0, "calls served at once (default 16; with a server, what it allows)")
	f.StringVar(&o.Encoders, "encoder-engine", "auto",
		"what runs BERT models in GGUF, that embed or judge: llama, onnx (ONNX Runtime, in the kind of numbers that "+
			"the file is for), onnx-fp32, onnx-int8, or auto: onnx where its library is installed")
	f.IntVar(&o.Threads, "threads", 0, "threads of the llama engine (default chosen by measurement)")
	f.BoolVar(&o.Fast, "fast", false, fastUsage)
}

const fastUsage = "let an answer's last digits depend on what else is asked at the time, for speed (the llama engine)"

// addEncoder is for commands that score and serve: others ask no encoder.
func (o *stackOptions) addEncoder(f *pflag.FlagSet) { o.addModel(f, backend.Encoder) }

// addSampler is for commands that score.
func (o *stackOptions) addSampler(f *pflag.FlagSet) { o.addModel(f, backend.Sampler) }

func (o *stackOptions) addModel(f *pflag.FlagSet, role backend.Role) {
	o.addModelAs(f, role, modelUsage(role))
}

func (o *stackOptions) addModelAs(f *pflag.FlagSet, role backend.Role, usage string) {
	if o.Models == nil {
		o.Models = make(map[backend.Role]string) // a worker's queue adds to it
	}
	if o.several {
		usage += "; NAME=`REF` is one that metrics ask as METRIC@NAME, repeatable"
	}
	f.Var(&modelFlag{kind: role, several: o.several, models: &o.Options}, stack.Flag(role), usage)
}

// modelUsage says how the user names the model of a role.
func modelUsage(role backend.Role) string {
	switch role {
	case backend.Judge:
		return "the judge: a name from assay models, or a GGUF file; with a server, its name there"
	case backend.Embedder:
		return "the embedding model, likewise, or a folder or file in ONNX"
	case backend.Encoder:
		return "the encoder judge, or a reranker: a name from assay models, a GGUF file, or a folder or file in ONNX; with " +
			"openai, its name there"
	default:
		return "the model that the evaluated system runs on, named as the judge is: metrics with @drawn have it answer again"
	}
}

// A modelFlag takes the models of one kind: REF, or NAME=REF where there are several.
type modelFlag struct {
	kind    backend.Role
	several bool
	models  *stack.Options
}

// Set takes one more model.
func (m *modelFlag) Set(text string) error { return m.models.Name(m.kind, text, m.several) }

// String is for pflag, which shows defaults: there are none.
func (m *modelFlag) String() string { return "" }

// Type is for pflag, too.
func (m *modelFlag) Type() string { return "string" }
