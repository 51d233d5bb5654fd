package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/internal/stack"
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
		fmt.Fprintf(s.out, "%s\n%d answers in %s", st.Path, st.Entries, size(st.Bytes))
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
			t.AppendRow(table.Row{g.Model, g.Engine, g.Op, g.Entries, size(g.Bytes)})
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
	olderThan, err := parseAge(*age)
	if err != nil {
		return usageError{err}
	}
	maxBytes, err := parseSize(*most)
	if err != nil {
		return usageError{err}
	}
	if olderThan == 0 && maxBytes == 0 {
		return usageError{withHint(errors.New("nothing to prune by"), "--older-than 30d, --max-size 2GB, or both")}
	}
	return withStore(s, func(store *cache.Store) error {
		p, err := store.Prune(ctx, olderThan, maxBytes)
		if err == nil {
			s.note("removed %d answers, %s", p.Entries, size(p.Bytes))
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

// parseAge reads a duration that may be in days: "30d".
func parseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 36500 {
			return time.Duration(n * 24 * float64(time.Hour)), nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("--older-than %q: write 30d, 12h or the like", text)
}

// parseSize reads a number of bytes with a unit: "2GB".
func parseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	number := strings.TrimRight(strings.ToUpper(text), "KMGTB")
	units := map[string]float64{"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "K": 1e3, "M": 1e6,
		"G": 1e9, "T": 1e12}
	unit, known := units[strings.ToUpper(text)[len(number):]]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !known || !(n > 0) || n*unit > 1e18 {
		return 0, fmt.Errorf("--max-size %q: write 2GB, 500MB or the like", text)
	}
	return int64(n * unit), nil
}
