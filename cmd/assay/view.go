package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/internal/serve"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/internal/view"
	"github.com/assay-eval/assay/models"
)

// viewMemory is from where on Go collects its garbage harder, in bytes. SQLite and the program itself take some 50 MB beside
// it: an index over a million rows then takes 134 MB to make, and 222 MB without it.
const viewMemory = 110 << 20

// viewOptions holds the flags of assay view.
type viewOptions struct {
	labels string
	data   string
	scale  int
	listen string
	output string
}

func viewCommand(ctx context.Context, s *std, args []string) error {
	var o viewOptions
	f := s.flags("view", page("view"))
	f.StringVar(&o.labels, "labels", "", "the `FILE` of labels, JSONL: begun if it is not there")
	f.IntVar(&o.scale, "scale", 0, "labels from 1 to `N`, at most 9 (default: 0 and 1)")
	f.StringVar(&o.data, "data", "", "the dataset `FILE`, where it is not any more where the run found it")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "the `ADDRESS` on this machine to listen on; port 0 is any free one")
	f.StringVarP(&o.output, "output", "o", "", "write the address into a `FILE` instead, readable by you alone")
	if err := parse(f, args, 0, -1); err != nil {
		return err
	}
	if o.scale != 0 && (o.scale < 2 || o.scale > 9) {
		return usagef("--scale is %d: it takes a number from 2 to 9", o.scale)
	}
	if o.scale != 0 && o.labels == "" {
		return usageError{withHint(errors.New("--scale is about labels, and there is no file for them"), "--labels labels.jsonl")}
	}
	dirs := f.Args()
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	return o.run(ctx, s, dirs)
}

func (o *viewOptions) run(ctx context.Context, s *std, dirs []string) error {
	dirs, err := view.Find(dirs)
	if err != nil {
		return err
	}
	home, err := models.Home()
	if err != nil {
		return err
	}
	listener, err := serve.Listen(o.listen)
	if err != nil {
		return usageError{err}
	}
	defer listener.Close()
	store, err := stack.OpenStore(s.warn)
	if err != nil {
		return err
	}
	defer store.Close()
	debug.SetMemoryLimit(viewMemory)
	token := strings.ToLower(rand.Text())
	viewer, err := view.Open(ctx, dirs, view.Options{
		Folder: filepath.Join(home, "cache", "view"), Token: token, Data: o.data, Labels: o.labels, Scale: o.scale,
		Answers: func(ctx context.Context, key string) (*cache.Entry, error) { return store.Entry(ctx, key) },
	})
	if err != nil {
		return err
	}
	defer viewer.Close()
	if err := s.address(o.output, fmt.Sprintf("http://%s/%s/\n", listener.Addr(), token)); err != nil {
		return err
	}
	s.note("open the address in a browser; Ctrl-C ends")
	return serve.Run(ctx, listener, viewer, serveGrace, log.New(s, "", 0))
}
