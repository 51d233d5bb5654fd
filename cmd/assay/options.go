package main

import (
	"fmt"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/spf13/pflag"
)

// stackOptions are the flags that say which models answer, and through what.
type stackOptions struct {
	backend string
	address string
	models  map[backend.Role]*string // as the user named them
	cache   string
	context int
	slots   int
	threads int
	trie    bool          // count the beginnings of prompts: see llama.Options
	grace   time.Duration // of calls in flight when the command is interrupted
}

func (o *stackOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.backend, "backend", "b", "llama",
		"the `ENGINE` that runs the models: llama (in this process) or ollama")
	o.addModel(f, backend.Judge)
	o.addModel(f, backend.Embedder)
	f.StringVar(&o.address, "address", "",
		"the `URL` of the Ollama server (default $OLLAMA_HOST, or its usual address on this machine)")
	f.StringVar(&o.cache, "cache", "use",
		"answers from earlier runs: use, refresh (ask anew), verify (ask anew and compare) or off")
	f.IntVar(&o.context, "context", 0,
		"`TOKENS` of prompt and reply together (default what the model was trained for, at most 4096)")
	f.IntVar(&o.slots, "slots", 0, "calls served at once (default 16; with ollama, what the server allows)")
	f.IntVar(&o.threads, "threads", 0, "threads of the llama engine (default chosen by measurement)")
}

// addEncoder is for commands that score: others ask no encoder.
func (o *stackOptions) addEncoder(f *pflag.FlagSet) { o.addModel(f, backend.Encoder) }

func (o *stackOptions) addModel(f *pflag.FlagSet, role backend.Role) {
	o.addModelAs(f, role, roleFlags[role])
}

func (o *stackOptions) addModelAs(f *pflag.FlagSet, role backend.Role, flag roleFlag) {
	if o.models == nil {
		o.models = make(map[backend.Role]*string)
	}
	o.models[role] = f.String(flag.name, "", flag.usage)
}

// named is the user's name for the model of a role, "" if there is none.
func (o *stackOptions) named(role backend.Role) string {
	if ref := o.models[role]; ref != nil {
		return *ref
	}
	return ""
}

// A roleFlag is how the user names the model of a role.
type roleFlag struct{ name, usage string }

var roleFlags = map[backend.Role]roleFlag{
	backend.Judge:    {"model", "the judge: a name from assay models, or a GGUF file; with ollama, its name there"},
	backend.Embedder: {"embed-model", "the embedding model, likewise, or a folder or file in ONNX"},
	backend.Encoder: {"encoder-model", "the encoder judge, or a reranker: a name from assay models, a GGUF file, or a " +
		"folder or file in ONNX; not with ollama"},
}

// A wanted model: what for, as the user named it ("" if not), and what it must be able to do.
type wanted struct {
	role backend.Role
	ref  string
	ops  backend.Ops
}

// describe names the models for the user: "judge tinyllama-q4_0 on llama.cpp v0.4.0, 2048 tokens".
func describe(info backend.Info) string {
	return fmt.Sprintf("%s on %s, %d tokens, %d at once", info.Model, info.Engine, info.Context, info.Slots)
}
