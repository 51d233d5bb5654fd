package ollama

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/assay-eval/assay/backend"
)

// A Model is a model that a server has.
type Model struct {
	Name         string      `json:"name"`         // with its tag
	Digest       string      `json:"digest"`       // "sha256:" and 64 hex digits, of the manifest
	Size         int64       `json:"size"`         // in bytes, on disk
	Parameters   string      `json:"parameters"`   // as the server puts it, such as "1.1B"
	Quantization string      `json:"quantization"` // such as "Q4_0"; "unknown" where the server does not know
	Context      int         `json:"context"`      // the most tokens that the model was made for; 0 if it does not say
	Ops          backend.Ops `json:"ops"`
	Remote       string      `json:"remote,omitempty"`  // where it runs, if not on the server
	Problem      string      `json:"problem,omitempty"` // why the server cannot describe it, if so
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Models lists the models that the server at an address has, as [Options] takes it, in the server's order.
// The error wraps [backend.ErrUnavailable] if the server cannot be reached.
func Models(ctx context.Context, address string) ([]Model, error) {
	s, err := connect(address)
	if err != nil {
		return nil, err
	}
	defer s.transport.CloseIdleConnections()
	if _, err := s.version(ctx); err != nil {
		return nil, err
	}
	list, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	models := []Model{}
	for i := range list {
		show, err := s.show(ctx, list[i].Name, false)
		m := describe(&list[i], show)
		if r := (*refusal)(nil); errors.As(err, &r) {
			m.Problem = r.message
		} else if err != nil {
			return nil, err
		}
		models = append(models, *m)
	}
	return models, nil
}

// list returns what "ollama list" shows.
func (s *server) list(ctx context.Context) ([]api.ListModelResponse, error) {
	var list *api.ListResponse
	err := s.look(ctx, func(ctx context.Context, c *api.Client) (err error) {
		list, err = c.List(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list.Models, nil
}

// show returns what the server says about one model; verbose includes the vocabulary.
func (s *server) show(ctx context.Context, name string, verbose bool) (*api.ShowResponse, error) {
	var show *api.ShowResponse
	err := s.look(ctx, func(ctx context.Context, c *api.Client) (err error) {
		show, err = c.Show(ctx, &api.ShowRequest{Model: name, Verbose: verbose})
		return err
	})
	if err != nil {
		return nil, err
	}
	return show, nil
}

// find returns the model of a name, and all that the server says about it.
func (s *server) find(ctx context.Context, name string) (*Model, *api.ShowResponse, error) {
	list, err := s.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	entry := named(list, name)
	if entry == nil {
		return nil, nil, notPulled(name, list)
	}
	show, err := s.show(ctx, entry.Name, true)
	if err != nil {
		return nil, nil, fmt.Errorf("model %s: %w", entry.Name, err)
	}
	return describe(entry, show), show, nil
}

// named returns the entry of a model, nil if there is none. As in Ollama the case of letters does not matter,
// the tag is "latest" unless given, and the host and the namespace of Ollama's own library go without saying.
func named(list []api.ListModelResponse, name string) *api.ListModelResponse {
	full := func(name string) string {
		name = strings.TrimPrefix(strings.TrimPrefix(name, "registry.ollama.ai/"), "library/")
		if !strings.Contains(name[strings.LastIndex(name, "/")+1:], ":") {
			name += ":latest"
		}
		return name
	}
	for i := range list {
		if strings.EqualFold(full(list[i].Name), full(name)) {
			return &list[i]
		}
	}
	return nil
}

// notPulled is the error for a model that the server does not have.
func notPulled(name string, list []api.ListModelResponse) error {
	if name == "" {
		name = "an empty name"
	} else if len(list) == 0 {
		return fmt.Errorf("model %.100s is not on the Ollama server, which has none: run \"ollama pull %[1]s\"", name)
	}
	const most = 20
	var names []string
	for _, m := range list[:min(len(list), most)] {
		names = append(names, shorten(m.Name))
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("and %d more", len(list)-most))
	}
	return fmt.Errorf("model %.100s is not on the Ollama server: run \"ollama pull %[1]s\", or use one of %s",
		name, strings.Join(names, ", "))
}

// describe puts together what the server says about a model; show may be nil.
func describe(entry *api.ListModelResponse, show *api.ShowResponse) *Model {
	m := &Model{
		Name:         entry.Name,
		Digest:       "sha256:" + entry.Digest,
		Size:         entry.Size,
		Parameters:   entry.Details.ParameterSize,
		Quantization: entry.Details.QuantizationLevel,
		Remote:       entry.RemoteHost,
	}
	if show == nil {
		return m
	}
	if m.Remote == "" {
		m.Remote = show.RemoteHost
	}
	architecture, _ := show.ModelInfo["general.architecture"].(string)
	if n, ok := show.ModelInfo[architecture+".context_length"].(float64); ok && n >= 1 && n <= 1<<30 {
		m.Context = int(n)
	}
	if hasCapability(show, "embedding") {
		m.Ops |= backend.CanEmbed
	}
	if hasCapability(show, "completion") {
		m.Ops |= backend.CanGenerate
		if !schemaIgnored(show) {
			m.Ops |= backend.CanConstrain
		}
	}
	return m
}

func hasCapability(show *api.ShowResponse, name string) bool {
	for _, c := range show.Capabilities {
		if string(c) == name {
			return true
		}
	}
	return false
}

// schemaIgnored reports whether Ollama ignores the schema of a request that asks not to think. It does so, as
// of 0.17.4, for thinking models whose replies a parser of its own takes apart: the schema is to apply from
// the end of the thoughts on, and that end never comes.
func schemaIgnored(show *api.ShowResponse) bool {
	parsed := show.Parser != "" || show.Details.Family == "gptoss" || show.Details.Family == "gpt-oss"
	return parsed && hasCapability(show, "thinking")
}
