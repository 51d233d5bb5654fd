package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/mcp"
)

func mcpCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("mcp", page("mcp"))
	folder := f.String("folder", ".", "the `DIR` that the assistant's paths are in")
	if err := parse(f, args, 0, -1); err != nil {
		return err
	}
	given := f.Args()
	if dash := f.ArgsLenAtDash(); len(given) > 0 && dash != 0 {
		return usageError{withHint(fmt.Errorf("unexpected %q", given[0]), "flags of assay run stand behind --")}
	}
	if err := os.Chdir(*folder); err != nil {
		return usageError{err}
	}
	in := until(ctx, s.in)
	return mcp.Serve(ctx, in, s.out, mcp.Options{Version: buildVersion(), Run: func(ctx context.Context, flags []string) error {
		quiet := &std{in: strings.NewReader(""), out: io.Discard, err: s.err}
		err := runCommand(ctx, quiet, slices.Concat(given, flags))
		var hint hintError
		if errors.As(err, &hint) {
			return fmt.Errorf("%w: %s", err, hint.hint)
		}
		return err
	}})
}
