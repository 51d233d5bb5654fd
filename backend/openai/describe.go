package openai

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend/openai/wire"
)

// A kind is a server program, where that matters to what it is asked.
type kind string

const (
	llamaServer kind = "llama-server"
	vllm        kind = "vLLM"
	sglang      kind = "SGLang"
	lmStudio    kind = "LM Studio"
	ollama      kind = "Ollama"
	assay       kind = "assay"
	other       kind = "a server"
)

// A description is what a server says of itself and of a model. Two that are equal are of one server and one model, as
// far as the server tells.
type description struct {
	kind    kind
	version string // of the program; "" if it does not tell
	model   string // the name to ask for it by
	digest  string // of the weights, where the server tells it: "sha256:" and 64 hex digits
	words   string // all else that the server says of the model
	context int    // tokens of a call; 0 if it does not tell
	slots   int    // calls served at once; 0 if it does not tell
}

// engine names the server and its version.
func (d *description) engine() string { return strings.TrimSpace(string(d.kind) + " " + d.version) }

// identity is the digest that the server tells, or else one of its own words.
func (d *description) identity() string {
	if d.digest != "" {
		return d.digest
	}
	h := sha256.New()
	for _, text := range []string{d.engine(), d.model, d.words} {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// differs names the first thing in which a later description of the same model is not the same; "" if none is. A
// server that has not loaded the model may not tell the context.
func (d description) differs(now description) string {
	switch {
	case d.engine() != now.engine():
		return fmt.Sprintf("the server was %s and now is %s", d.engine(), now.engine())
	case d.model != now.model || d.digest != now.digest || d.words != now.words:
		return fmt.Sprintf("the server has another model now under the name %s", d.model)
	case d.context != now.context && d.context > 0 && now.context > 0:
		return fmt.Sprintf("model %s had %d tokens of context and now has %d", d.model, d.context, now.context)
	}
	return ""
}

// An entry is what /v1/models says of a model: what is common, and what one or the other server adds.
type entry struct {
	wire.Model
	Root    string          `json:"root"`    // vLLM, SGLang: where its files are
	Aliases []string        `json:"aliases"` // llama-server
	Meta    json.RawMessage `json:"meta"`    // llama-server: sizes
}

var (
	digestForm  = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	engineForm  = regexp.MustCompile(`^[A-Za-z0-9.,:+_ -]{1,200}$`)
	versionForm = regexp.MustCompile(`^[A-Za-z0-9.+_-]{1,64}$`)
)

// describe asks the server for what it says of a model. Without a name, the only model of a server is meant.
func (c *client) describe(ctx context.Context, name string) (description, error) {
	list, err := c.models(ctx)
	if err != nil {
		return description{}, err
	}
	m, err := find(list, name)
	if err != nil {
		return description{}, err
	}
	d := description{kind: other, model: m.ID, context: m.MaxModelLen, words: m.Root + "\n" + string(m.Meta)}
	switch m.OwnedBy {
	case "llamacpp":
		d.kind = llamaServer
		err = c.describeLlama(ctx, &d)
	case "vllm":
		d.kind = vllm
		d.version, err = c.version(ctx, "version")
	case "sglang":
		d.kind = sglang
	case "assay":
		d.kind, d.slots = assay, max(m.Slots, 0)
		if engineForm.MatchString(m.Engine) {
			d.version = m.Engine
		}
		if digestForm.MatchString(m.Digest) {
			d.digest = m.Digest
		}
	default:
		err = c.describeOther(ctx, &d)
	}
	return d, err
}

// Models lists the names of the models that a server has, in its order, which are never none. The error wraps
// [backend.ErrUnavailable] if the server cannot be reached.
func Models(ctx context.Context, o Options) ([]string, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	defer c.http.CloseIdleConnections()
	list, err := c.models(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list {
		names = append(names, c.quote(m.ID))
	}
	if names == nil {
		return nil, fmt.Errorf("the server at %s has no model", c)
	}
	return names, nil
}

// models asks for what /v1/models says.
func (c *client) models(ctx context.Context) ([]entry, error) {
	var list struct{ Data []entry }
	err := c.look(ctx, c.route("models"), nil, &list)
	if r := (*refusal)(nil); errors.As(err, &r) && r.status == 404 {
		return nil, fmt.Errorf("what answers at %s has no /v1/models: check the address", c)
	}
	return list.Data, err
}

// find returns the model of a name. As in Ollama, the tag "latest" may be left out.
func find(list []entry, name string) (*entry, error) {
	if name == "" && len(list) == 1 {
		return &list[0], nil
	}
	for i, m := range list {
		if name != "" && (m.ID == name || m.ID == name+":latest" || slices.Contains(m.Aliases, name)) {
			return &list[i], nil
		}
	}
	const most = 20
	var names []string
	for _, m := range list[:min(len(list), most)] {
		names = append(names, fmt.Sprintf("%.100s", m.ID))
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("and %d more", len(list)-most))
	}
	has := "which has none"
	if names != nil {
		has = "which has " + strings.Join(names, ", ")
	}
	if name == "" {
		return nil, fmt.Errorf("name a model of the server, %s", has)
	}
	return nil, fmt.Errorf("model %.100s is not on the server, %s", name, has)
}

// optional asks for something that not every server has; there tells whether this one does.
func (c *client) optional(ctx context.Context, to *url.URL, in, out any) (there bool, err error) {
	err = c.look(ctx, to, in, out)
	if r := (*refusal)(nil); errors.As(err, &r) && r.Unwrap() == nil {
		return false, nil
	}
	return err == nil, err
}

// version asks for the program's version; "" if it tells none.
func (c *client) version(ctx context.Context, route string) (string, error) {
	var answer struct{ Version string }
	if _, err := c.optional(ctx, c.side(route), nil, &answer); err != nil || !versionForm.MatchString(answer.Version) {
		return "", err
	}
	return answer.Version, nil
}

// describeLlama adds what llama-server says: its build, the file, the chat template, and adapters with their scales.
func (c *client) describeLlama(ctx context.Context, d *description) error {
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Slots    int    `json:"total_slots"`
		Path     string `json:"model_path"`
		Type     string `json:"model_ftype"`
		Template string `json:"chat_template"`
		Build    string `json:"build_info"`
	}
	to := c.side("props")
	to.RawQuery = url.Values{"model": {d.model}}.Encode() // for a server of several models
	there, err := c.optional(ctx, to, nil, &props)
	if err != nil {
		return err
	}
	if there && versionForm.MatchString(props.Build) {
		d.version = props.Build
	}
	d.context, d.slots = max(props.Settings.Context, 0), max(props.Slots, 0)
	var adapters json.RawMessage
	if _, err := c.optional(ctx, c.side("lora-adapters"), nil, &adapters); err != nil {
		return err
	}
	d.words = strings.Join([]string{d.words, props.Path, props.Type, props.Template, string(adapters)}, "\n")
	return nil
}

// describeOther finds out whether a server is Ollama or LM Studio, and adds what those say.
func (c *client) describeOther(ctx context.Context, d *description) error {
	version, err := c.version(ctx, "api/version")
	if err != nil {
		return err
	}
	if version != "" {
		d.version = version
		return c.describeOllama(ctx, d)
	}
	var m struct {
		Publisher, Arch, Quantization string
		Format                        string `json:"compatibility_type"`
		Loaded                        int    `json:"loaded_context_length"`
	}
	there, err := c.optional(ctx, c.side("api/v0/models").JoinPath(d.model), nil, &m)
	if there && m.Arch != "" {
		d.kind, d.context = lmStudio, max(m.Loaded, 0)
		d.words = strings.Join([]string{d.words, m.Publisher, m.Arch, m.Quantization, m.Format}, "\n")
	}
	return err
}

// describeOllama adds the digest and, once the model is loaded, the context.
func (c *client) describeOllama(ctx context.Context, d *description) error {
	type model struct {
		Name    string
		Digest  string
		Context int `json:"context_length"`
	}
	var tags, running struct{ Models []model }
	there, err := c.optional(ctx, c.side("api/tags"), nil, &tags)
	if err != nil || !there {
		return err
	}
	named := func(m model) bool { return m.Name == d.model }
	if i := slices.IndexFunc(tags.Models, named); i >= 0 && digestForm.MatchString("sha256:"+tags.Models[i].Digest) {
		d.kind, d.digest = ollama, "sha256:"+tags.Models[i].Digest
	}
	if _, err := c.optional(ctx, c.side("api/ps"), nil, &running); err != nil {
		return err
	}
	if i := slices.IndexFunc(running.Models, named); i >= 0 {
		d.context = max(running.Models[i].Context, 0)
	}
	return nil
}

// contextOf is the context to use: the server's, or the smaller one that the user wants.
func contextOf(server, wanted int, model string) (int, error) {
	switch {
	case server == 0 && wanted == 0:
		return 0, fmt.Errorf("the server does not say how many tokens model %s reads at a time: say it with --context", model)
	case server > 0 && wanted > server:
		return 0, fmt.Errorf("the server gives model %s %d tokens: a context of %d is too large", model, server, wanted)
	}
	return cmp.Or(wanted, server), nil
}
