package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/spf13/pflag"
)

// stackOptions are the flags that say which models answer, and through what.
type stackOptions struct {
	backend string
	address string
	remote  bool                        // whether the server may be on another machine
	models  map[backend.Role]*modelRefs // as the user named them
	several bool                        // whether models may have names, so that there can be more than one of a kind
	cache   string

	encoders string // what runs encoders in GGUF: a key of encoderEngines; "" is llama
	context  int
	slots    int
	threads  int
	fast     bool          // see llama.Options
	trie     bool          // count the beginnings of prompts: see llama.Options
	grace    time.Duration // of calls in flight when the command is interrupted
}

func (o *stackOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.backend, "backend", "b", "llama",
		"the `ENGINE` that runs the models: llama (in this process), ollama, or openai (any server with OpenAI's routes)")
	o.addModel(f, backend.Judge)
	o.addModel(f, backend.Embedder)
	f.StringVar(&o.address, "address", "",
		"the `URL` of the server: with ollama the default is $OLLAMA_HOST, or its usual address on this machine")
	f.BoolVar(&o.remote, "allow-remote", false,
		"with openai: the server may be on another machine, to which texts, and the key in $ASSAY_API_KEY, are sent")
	f.StringVar(&o.cache, "cache", "use",
		"answers from earlier runs: use, refresh (ask anew), verify (ask anew and compare) or off")
	f.IntVar(&o.context, "context", 0,
		"`TOKENS` of prompt and reply together (default what the model was trained for, at most 4096)")
	f.IntVar(&o.slots, "slots", 0, "calls served at once (default 16; with a server, what it allows)")
	f.StringVar(&o.encoders, "encoder-engine", "auto",
		"what runs BERT models in GGUF, that embed or judge: llama, onnx (ONNX Runtime, in the kind of numbers that "+
			"the file is for), onnx-fp32, onnx-int8, or auto: onnx where its library is installed")
	f.IntVar(&o.threads, "threads", 0, "threads of the llama engine (default chosen by measurement)")
	f.BoolVar(&o.fast, "fast", false, fastUsage)
}

const fastUsage = "let an answer's last digits depend on what else is asked at the time, for speed (the llama engine)"

// addEncoder is for commands that score and serve: others ask no encoder.
func (o *stackOptions) addEncoder(f *pflag.FlagSet) { o.addModel(f, backend.Encoder) }

// addSampler is for commands that score.
func (o *stackOptions) addSampler(f *pflag.FlagSet) { o.addModel(f, backend.Sampler) }

func (o *stackOptions) addModel(f *pflag.FlagSet, role backend.Role) {
	o.addModelAs(f, role, roleFlags[role])
}

func (o *stackOptions) addModelAs(f *pflag.FlagSet, role backend.Role, flag roleFlag) {
	if o.models == nil {
		o.models = make(map[backend.Role]*modelRefs)
	}
	o.models[role] = &modelRefs{several: o.several}
	usage := flag.usage
	if o.several {
		usage += "; NAME=`REF` is one that metrics ask as METRIC@NAME, repeatable"
	}
	f.Var(o.models[role], flag.name, usage)
}

// named is the user's name for the model of a role, "" if there is none.
func (o *stackOptions) named(role backend.Role) string {
	if refs := o.models[role.Kind()]; refs != nil {
		return refs.of[role.Name()]
	}
	return ""
}

// names lists the roles with names that the user gave models for.
func (o *stackOptions) names() []backend.Role {
	all := backend.Identities{}
	for kind, refs := range o.models {
		for name := range refs.of {
			all[kind.Named(name)] = backend.Identity{}
		}
	}
	return all.Named()
}

// checkNames refuses metrics that ask a model without a name where all that are given have one, and trained judges that
// ask one by a name that none has.
func (o *stackOptions) checkNames(ms []metrics.Metric) error {
	there := o.names()
	for _, m := range ms {
		for _, kind := range backend.SortRoles(m.Asks) {
			if o.named(kind) != "" {
				continue
			}
			if name := kind.Name(); name != "" {
				return withHint(fmt.Errorf("%s asks the %s, and there is none", m.Name, kind.Title()),
					"--%s %s=REF names it", roleFlags[kind.Kind()].name, name)
			}
			for _, role := range m.Askable(there) {
				if role.Kind() == kind {
					return withHint(fmt.Errorf("%s does not say which %s it asks: each has a name", m.Name, kind.Title()),
						"%s@%s says so", m.Name, role.Name())
				}
			}
		}
	}
	return nil
}

// modelRefs are the models of one kind as a flag gives them: REF, or NAME=REF where there are several.
type modelRefs struct {
	several bool
	of      map[string]string // by name; "" without one
}

// Set takes one more model; "" is none. What stands before the first = is a name if it could be one: a path can begin
// with ./
func (m *modelRefs) Set(text string) error {
	if text == "" {
		return nil
	}
	name, ref, named := strings.Cut(text, "=")
	if err := backend.CheckRoleName(name); !named || strings.ContainsAny(name, `/\:`) {
		name, ref = "", text
	} else if err != nil {
		return err
	}
	before, twice := m.of[name]
	switch {
	case ref == "":
		return errors.New("it names no model")
	case name != "" && !m.several:
		return errors.New("this command asks one model of the kind, so it needs no name")
	case twice && name != "":
		return fmt.Errorf("%s is %s already", name, before)
	case twice && m.several:
		return fmt.Errorf("%s is named already: of several models, each needs a name, NAME=REF", before)
	case twice:
		return fmt.Errorf("%s is named already, and this command asks one model of the kind", before)
	}
	if m.of == nil {
		m.of = make(map[string]string)
	}
	m.of[name] = ref
	return nil
}

// String is for pflag, which shows defaults: there are none.
func (m *modelRefs) String() string { return "" }

// Type is for pflag, too.
func (m *modelRefs) Type() string { return "string" }

// A roleFlag is how the user names the model of a role.
type roleFlag struct{ name, usage string }

var roleFlags = map[backend.Role]roleFlag{
	backend.Judge:    {"model", "the judge: a name from assay models, or a GGUF file; with a server, its name there"},
	backend.Embedder: {"embed-model", "the embedding model, likewise, or a folder or file in ONNX"},
	backend.Encoder: {"encoder-model", "the encoder judge, or a reranker: a name from assay models, a GGUF file, or a " +
		"folder or file in ONNX; with openai, its name there"},
	backend.Sampler: {"sample-model", "the model that the evaluated system runs on, named as the judge is: metrics with " +
		"@drawn have it answer again"},
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
