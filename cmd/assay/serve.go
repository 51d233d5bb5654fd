package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/serve"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/metrics"
)

// serveGrace is how long requests under way may go on when the command is interrupted.
const serveGrace = 10 * time.Second

// serveOptions holds the flags of assay serve.
type serveOptions struct {
	stack  stackOptions
	listen string
	output string
}

func serveCommand(ctx context.Context, s *std, args []string) error {
	var o serveOptions
	f := s.flags("serve", page("serve"))
	o.stack.add(f)
	o.stack.addEncoder(f)
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "the `ADDRESS` on this machine to listen on; port 0 is any free one")
	f.StringVarP(&o.output, "output", "o", "", "write the address into a `FILE` instead, readable by you alone")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	return o.run(ctx, s)
}

func (o *serveOptions) run(ctx context.Context, s *std) error {
	listener, err := serve.Listen(o.listen)
	if err != nil {
		return usageError{err}
	}
	defer listener.Close()
	st, err := o.stack.open(ctx, s, o.asks())
	if err != nil {
		return err
	}
	defer st.Close()
	for _, info := range st.Infos() {
		s.note("serving %s", stack.Describe(info))
	}
	token := strings.ToLower(rand.Text())
	address := fmt.Sprintf("http://%s/%s/v1\n", listener.Addr(), token)
	if err := s.address(o.output, address); err != nil {
		return err
	}
	server := serve.New(serve.Models{Judge: st.Roles[backend.Judge], Embedder: st.Roles[backend.Embedder],
		Encoder: st.Roles[backend.Encoder], Vocabulary: st.Vocabulary}, token)
	err = serve.Run(ctx, listener, server, serveGrace, log.New(s, "", 0))
	calls := st.Calls()
	s.note("answers: %d computed, %d from the cache", calls.Computed, calls.Cached)
	return err
}

// asks are the models to serve: those that the user named, or the judge.
func (o *serveOptions) asks() metrics.Asks {
	asks := metrics.Asks{}
	if o.stack.Models[backend.Embedder] != "" {
		asks[backend.Embedder] = backend.CanEmbed
	}
	if o.stack.Models[backend.Encoder] != "" {
		asks[backend.Encoder] = backend.CanClassify
	}
	if len(asks) == 0 || o.stack.Models[backend.Judge] != "" {
		asks[backend.Judge] = backend.CanGenerate
	}
	return asks
}

// address prints an address that holds a token, or writes it into a file that the user alone can read.
func (s *std) address(file, address string) error {
	if file != "" {
		return os.WriteFile(file, []byte(address), 0o600)
	}
	_, err := fmt.Fprint(s.out, address)
	return err
}
