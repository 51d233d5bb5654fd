package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/internal/units"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/pflag"
)

func cacheCommand(ctx context.Context, s *std, args []string) error {
	verb := "stats"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	run, ok := map[string]func(context.Context, *std, *pflag.FlagSet, []string) error{
		"stats": cacheStats, "prune": cachePrune, "export": cacheExport, "import": cacheImport,
	}[verb]
	if !ok {
		return usagef("unknown verb %q: stats, prune, export or import", verb)
	}
	return run(ctx, s, s.flags("cache "+verb, page("cache")), args)
}

// withStore runs do on the answer cache.
func withStore(s *std, do func(*cache.Store) error) error {
	store, err := stack.OpenStore(s.warn)
	if err != nil {
		return err
	}
	return errors.Join(do(store), store.Close())
}

func cacheStats(ctx context.Context, s *std, f *pflag.FlagSet, args []string) error {
	format := f.String("format", "table", "table or json")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if *format != "table" && *format != "json" {
		return usagef("unknown format %q: table or json", *format)
	}
	return withStore(s, func(store *cache.Store) error {
		st, err := store.Stats(ctx)
		if err != nil {
			return err
		}
		if *format == "json" {
			return s.json(st)
		}
		fmt.Fprintf(s.out, "%s\n%d answers in %s", st.Path, st.Entries, units.Size(st.Bytes))
		if asked := st.TotalHits + st.TotalMisses; asked > 0 {
			fmt.Fprintf(s.out, "; %.1f%% of %d questions were answered from it",
				100*float64(st.TotalHits)/float64(asked), asked)
		}
		fmt.Fprint(s.out, "\n\n")
		if len(st.Groups) == 0 {
			return nil
		}
		t := s.table("model", "engine", "answers to", "entries", "size")
		for _, g := range st.Groups {
			t.AppendRow(table.Row{g.Model, g.Engine, g.Op, g.Entries, units.Size(g.Bytes)})
		}
		t.Render()
		return nil
	})
}

func cachePrune(ctx context.Context, s *std, f *pflag.FlagSet, args []string) error {
	age := f.String("older-than", "", "remove answers not used for this `AGE`: 30d, 12h")
	most := f.String("max-size", "", "remove the least recently used until the file has this `SIZE`: 2GB, 500MB")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	olderThan, err := units.ParseAge(*age)
	if err != nil {
		return usagef("--older-than %v", err)
	}
	maxBytes, err := units.ParseSize(*most)
	if err != nil {
		return usagef("--max-size %v", err)
	}
	if olderThan == 0 && maxBytes == 0 {
		return usageError{withHint(errors.New("nothing to prune by"), "--older-than 30d, --max-size 2GB, or both")}
	}
	return withStore(s, func(store *cache.Store) error {
		p, err := store.Prune(ctx, olderThan, maxBytes)
		if err == nil {
			s.note("removed %d answers, %s", p.Entries, units.Size(p.Bytes))
		}
		return err
	})
}

func cacheExport(ctx context.Context, s *std, f *pflag.FlagSet, args []string) error {
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	return withStore(s, func(store *cache.Store) error {
		return s.output(f.Arg(0), func(w io.Writer) error {
			n, err := store.Export(ctx, w)
			if err == nil {
				s.note("exported %d answers", n)
			}
			return err
		})
	})
}

func cacheImport(ctx context.Context, s *std, f *pflag.FlagSet, args []string) error {
	if err := parse(f, args, 1, -1); err != nil {
		return err
	}
	for _, path := range f.Args() {
		if _, err := os.Stat(path); path != "-" && err != nil {
			return usageError{err}
		}
	}
	return withStore(s, func(store *cache.Store) error {
		var all cache.Imported
		for _, path := range f.Args() {
			n, err := importFile(ctx, s, store, path)
			all.Added += n.Added
			all.Present += n.Present
			if err != nil {
				s.note("added %d answers, %d were there already", all.Added, all.Present)
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		s.note("added %d answers, %d were there already", all.Added, all.Present)
		return nil
	})
}

// importFile adds the answers of an export, which may come by standard input, or of another cache.
func importFile(ctx context.Context, s *std, store *cache.Store, path string) (cache.Imported, error) {
	if path == "-" {
		return store.Import(ctx, until(ctx, s.in))
	}
	file, err := os.Open(path)
	if err != nil {
		return cache.Imported{}, err
	}
	defer file.Close()
	in := bufio.NewReader(file)
	if head, _ := in.Peek(100); cache.IsStore(head) {
		return store.Merge(ctx, path)
	}
	return store.Import(ctx, until(ctx, in))
}
