package main

// How Assay speaks. Results go to standard output or to the file given with -o. Everything else goes
// to standard error with the prefix "assay:". Lines begin in lower case and end without a full stop.
// An error says what to do next, in its own words or in a hint line below it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assay-eval/assay/internal/meter"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitThreshold   = 3
	exitInterrupted = 130
)

// std is where a command reads and speaks.
type std struct {
	in       io.Reader
	out, err io.Writer
	outTerm  bool // out is a terminal: colours are welcome
	errTerm  bool // err is a terminal: progress may be redrawn

	asked func(*pflag.FlagSet, string) // is shown each command's flags and help; nil: nobody is

	mu   sync.Mutex
	line func(string) // prints a line above what is being redrawn; nil: nothing is
}

func standard() *std {
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	return &std{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		outTerm: term.IsTerminal(int(os.Stdout.Fd())) && !plain,
		errTerm: term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb",
	}
}

// note tells the user something that is no error.
func (s *std) note(format string, args ...any) {
	text := "assay: " + report.Printable(fmt.Sprintf(format, args...))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line != nil {
		s.line(text)
		return
	}
	fmt.Fprintln(s.err, text)
}

// Write notes a line that a library logs.
func (s *std) Write(line []byte) (int, error) {
	s.note("%s", strings.TrimSpace(string(line)))
	return len(line), nil
}

// through has notes printed by line, or directly again if it is nil.
func (s *std) through(line func(string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = line
}

// warn tells the user something that may be wrong.
func (s *std) warn(format string, args ...any) { s.note("warning: "+format, args...) }

// A usageError is the user's to mend: wrong flags, wrong input. It exits with 2, and so does a runs.InputError.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// A thresholdError says that a run finished but crossed a limit that the user set. It exits with 3.
type thresholdError struct{ error }

// A hintError is an error with advice, printed on a line of its own.
type hintError struct {
	error
	hint string
}

func (e hintError) Unwrap() error { return e.error }

func withHint(err error, format string, args ...any) error {
	return hintError{err, fmt.Sprintf(format, args...)}
}

// exit prints err, if there is one to print, and returns the exit status that it stands for.
func (s *std) exit(ctx context.Context, err error) int {
	var hint hintError
	var input *runs.InputError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, pflag.ErrHelp):
		return exitOK
	case errors.Is(err, errInterrupted), ctx.Err() != nil && errors.Is(err, context.Canceled):
		s.note("%v", errInterrupted)
		return exitInterrupted
	}
	s.note("%v", err)
	wrong := errors.As(err, &input)
	switch {
	case errors.As(err, &hint):
		s.note("hint: %s", hint.hint)
	case wrong && input.Hint != "":
		s.note("hint: %s", input.Hint)
	}
	switch {
	case wrong, errors.As(err, new(usageError)):
		return exitUsage
	case errors.As(err, new(thresholdError)):
		return exitThreshold
	}
	return exitFailed
}

var errInterrupted = errors.New("interrupted")

// flags makes the FlagSet of a command. help is the text before the flags in its --help.
func (s *std) flags(name, help string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	if s.asked != nil {
		s.asked(f, help)
	}
	f.SetOutput(s.out)
	f.Usage = func() {
		fmt.Fprint(s.out, strings.TrimPrefix(help, "\n"))
		if f.HasFlags() {
			fmt.Fprintf(s.out, "\nFlags:\n%s", f.FlagUsagesWrapped(100))
		}
	}
	return f
}

// parse parses args, which may hold between min and max words beside the flags (max < 0: any number).
func parse(f *pflag.FlagSet, args []string, min, max int) error {
	switch err := f.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case err != nil:
		return usageError{withHint(err, "assay %s --help explains the flags", f.Name())}
	case f.NArg() < min:
		return usageError{withHint(errors.New("something is missing"), "assay %s --help says what it takes", f.Name())}
	case max >= 0 && f.NArg() > max:
		return usageError{withHint(fmt.Errorf("unexpected %q", f.Arg(max)), "assay %s --help says what it takes",
			f.Name())}
	}
	return nil
}

// duration prints d for people: 0:07, 12:40, 3:05:10.
func duration(d time.Duration) string { return meter.Duration(d) }

// json prints v, indented, on standard output.
func (s *std) json(v any) error {
	enc := json.NewEncoder(s.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table starts a table on standard output.
func (s *std) table(header ...any) table.Writer { return report.NewTable(s.out, header...) }

// checkFormat refuses a format that is none of the list.
func checkFormat(format string, list ...string) error {
	if slices.Contains(list, format) {
		return nil
	}
	return usagef("unknown format %q: %s", format, strings.Join(list, ", "))
}

// output runs write on standard output, or on the file at path if there is one. The file takes its name
// only when it is whole.
func (s *std) output(path string, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		return write(s.out)
	}
	part := path + ".part"
	f, err := os.Create(part)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		os.Remove(part)
		return err
	}
	return os.Rename(part, path)
}

// until reads from r until ctx ends, also where nothing comes: standard input may be a terminal.
func until(ctx context.Context, r io.Reader) io.Reader {
	in, out := io.Pipe()
	go func() {
		_, err := io.Copy(out, r)
		out.CloseWithError(err) // nil is the end
	}()
	context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) })
	return in
}
