package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/ollama"
	"github.com/assay-eval/assay/backend/openai"
	"github.com/assay-eval/assay/backend/pool"
	"github.com/assay-eval/assay/internal/runs"
)

// Addresses are those of the servers that an address names, which may be several between commas. There is always one:
// "" is the usual one.
func Addresses(text string) []string {
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// Hosts names the servers of an address for messages and manifests: without paths, which may hold secrets. No two have
// one name.
func Hosts(text string) []string {
	list := Addresses(text)
	for i, address := range list {
		if list[i] = openai.Host(address); slices.Contains(list[:i], list[i]) {
			list[i] = fmt.Sprintf("%s (server %d)", list[i], i+1)
		}
	}
	return list
}

// opened is a model on a server, and what would make the server better.
type opened struct {
	pool.Server
	hint string
}

// openServers opens a model on each of the servers, at once, and makes one engine of them; ahead is how many calls are to
// wait in it. open opens it on one, and tells the user something of it by say.
func (o *Options) openServers(ctx context.Context, want wanted,
	open func(ctx context.Context, address string, say func(format string, args ...any)) (opened, error)) (
	e backend.Backend, ahead int, err error) {
	say, addresses, hosts := o.about(want.role), Addresses(o.Address), Hosts(o.Address)
	if len(addresses) == 1 {
		one, err := open(ctx, addresses[0], say)
		if err != nil {
			return nil, 0, err
		}
		say("%s", Describe(one.Engine.Info()))
		if one.hint != "" {
			o.Say("hint: %s", one.hint)
		}
		return one.Engine, 1, nil
	}
	for i, address := range addresses {
		if address == "" || slices.Contains(addresses[:i], address) {
			return nil, 0, runs.Inputf("--address %s: each server is named once", strings.Join(hosts, ","))
		}
	}
	servers := make([]pool.Server, len(addresses))
	defer func() {
		for _, s := range servers {
			if err != nil && s.Engine != nil {
				s.Engine.Close()
			}
		}
	}()
	opening, within := errgroup.WithContext(ctx)
	for i, address := range addresses {
		opening.Go(func() error {
			one, err := open(within, address, func(format string, args ...any) {
				say("%s: %s", hosts[i], fmt.Sprintf(format, args...))
			})
			if err != nil {
				return err
			}
			servers[i] = one.Server
			servers[i].Name = hosts[i]
			say("%s: %s", hosts[i], Describe(one.Engine.Info()))
			if one.hint != "" {
				o.Say("hint: %s: %s", hosts[i], one.hint)
			}
			return nil
		})
	}
	if err := opening.Wait(); err != nil {
		return nil, 0, err
	}
	p, err := pool.New(servers, say)
	if err != nil {
		return nil, 0, &runs.InputError{Err: err}
	}
	return p, len(servers), nil
}

// openOllama opens a model of running Ollama servers.
func (o *Options) openOllama(ctx context.Context, want wanted) (backend.Backend, int, error) {
	switch {
	case want.ref == "":
		return nil, 0, runs.Inputf("--%s is missing", Flag(want.role)).WithHint("ollama list shows the models that the server has")
	case o.Threads != 0:
		return nil, 0, runs.Inputf("--threads is for --backend llama: Ollama chooses its own")
	case o.Fast:
		return nil, 0, runs.Inputf("--fast is for --backend llama: Ollama promises no exact answers to give up")
	}
	return o.openServers(ctx, want, func(ctx context.Context, address string, say func(string, ...any)) (opened, error) {
		e, err := ollama.Open(ctx, ollama.Options{
			Address: address, Model: want.ref, Context: o.Context, Slots: o.Slots, Log: say,
		})
		if err != nil {
			return opened{}, err
		}
		one := opened{Server: pool.Server{Engine: e, Probe: e.Probe}}
		if want.ops.Has(backend.CanGenerate) {
			_, one.hint = e.Parallel()
		}
		return one, nil
	})
}

// openOpenAI opens a model of running servers that have OpenAI's routes.
func (o *Options) openOpenAI(ctx context.Context, want wanted) (backend.Backend, int, error) {
	switch {
	case o.Address == "":
		return nil, 0, runs.Inputf("--address is missing").WithHint("it names the server, such as http://127.0.0.1:8080/v1")
	case o.Threads != 0:
		return nil, 0, runs.Inputf("--threads is for --backend llama: the server chooses its own")
	}
	return o.openServers(ctx, want, func(ctx context.Context, address string, say func(string, ...any)) (opened, error) {
		e, err := openai.Open(ctx, openai.Options{
			Address: address, AllowRemote: o.Remote, Key: o.Key, Model: want.ref, Context: o.Context,
			Slots: o.Slots, Log: say,
		})
		switch {
		case errors.Is(err, openai.ErrRemote):
			return opened{}, &runs.InputError{Err: err, Hint: "--allow-remote permits it"}
		case err != nil:
			return opened{}, err
		}
		return opened{Server: pool.Server{Engine: e, Probe: e.Probe}}, nil
	})
}
