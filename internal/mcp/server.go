// Package mcp lets an assistant score and look at runs by tools of the Model Context Protocol, on standard input and output.
//
//	metrics   what can be measured
//	run       a dataset scored, as assay run does it
//	runs      the run folders that are there
//	show      the rows with the worst scores, or one row with what lies behind its scores
//	compare   two runs on the same rows
//	label     the next row for a person to label, and what the person said of it
//
// What goes in and out is typed by schemas, and bounded: texts are cut with a sign that they were, lists end with a count of
// the rest. Paths are relative to the folder in which the server was started and lead nowhere else, not by links either. The
// tools write run folders and labels, and nothing else.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/assay-eval/assay/internal/runs"
)

// Options say what a server does by others.
type Options struct {
	Version string // of Assay
	// Run is assay run with flags: it writes a run folder. The error says what to do, as to someone at a terminal.
	Run func(ctx context.Context, flags []string) error
}

// Serve answers a client's requests until it goes away or ctx ends. The folder that paths are relative to is the working
// directory.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	s, err := newServer(o)
	if err != nil {
		return err
	}
	err = s.tools.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}})
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return nil // the client went away, which is how it ends
	}
	return err
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

const instructions = "Assay scores RAG and LLM outputs with models on this machine. Begin with the tool metrics, or with runs. " +
	"A run's output folder is what the other tools call run. Paths are relative to the folder of this server. " +
	"A call of run that was cut off goes on where it was when it is given again."

// A server is the tools with what they share.
type server struct {
	options Options
	root    string // the folder, without links
	tools   *sdk.Server
	running chan struct{} // holds one: models are loaded for one run at a time
	writing sync.Mutex    // of labels
}

func newServer(o Options) (*server, error) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	s := &server{options: o, root: dir, running: make(chan struct{}, 1)}
	s.tools = sdk.NewServer(&sdk.Implementation{Name: "assay", Version: o.Version},
		&sdk.ServerOptions{Instructions: instructions})
	no := false
	reads := func() *sdk.ToolAnnotations { return &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no} }
	writes := func() *sdk.ToolAnnotations {
		return &sdk.ToolAnnotations{DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no}
	}
	add(s, "metrics", "Lists the metrics by dimension, or with name describes those of a dimension, or one.", reads(), s.metrics)
	add(s, "run", "Scores every row of a dataset with metrics, by models on this machine, and writes a run folder. "+
		"Returns each metric's mean with its 95% interval, and how many rows failed. It may take minutes or hours: "+
		"limit or sample tries it on a few rows.", writes(), s.run)
	add(s, "runs", "Lists the run folders that are there.", reads(), s.runs)
	add(s, "show", "With sample: a row, and what lies behind its scores. Without: the rows with the worst scores of a run, "+
		"or of one metric.", reads(), s.show)
	add(s, "compare", "Compares a run with a baseline, row by row: the mean difference of each metric with its 95% interval "+
		"and p-value. A p-value (p_holm) above 0.05 is no proof that there is no difference.", reads(), s.compare)
	add(s, "label", "Without sample: rows for a person to label, in an order that is fair to statistics; show them to the "+
		"person one at a time, without a hint. With sample and label: writes what the person said. Labels are people's: never "+
		"make one up.", writes(), s.label)
	return s, nil
}

// add adds a tool.
func add[In, Out any](s *server, name, doc string, about *sdk.ToolAnnotations,
	do func(context.Context, In) (Out, error)) {
	tool := &sdk.Tool{Name: name, Description: doc, Annotations: about}
	sdk.AddTool(s.tools, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		out, err := do(ctx, in)
		return nil, out, advised(err)
	})
}

// advised is an error with its hint.
func advised(err error) error {
	var input *runs.InputError
	if errors.As(err, &input) && input.Hint != "" {
		return fmt.Errorf("%w: %s", err, input.Hint)
	}
	return err
}

// path holds a path that a client gave to the folder: it returns it relative to that, without its links leading elsewhere.
// What it names need not be there yet.
func (s *server) path(what, given string) (string, error) {
	if given == "" {
		return "", fmt.Errorf("%s is missing: a path relative to the folder of the server", what)
	}
	outside := fmt.Errorf("%s %q is not in the folder of the server: give a path relative to it", what, short(given, 200))
	full := given
	if !filepath.IsAbs(full) {
		full = filepath.Join(s.root, full)
	}
	full = filepath.Clean(full)
	there, rest := full, ""
	for {
		real, err := filepath.EvalSymlinks(there)
		if err == nil {
			there = real
			break
		}
		if _, lerr := os.Lstat(there); !errors.Is(err, fs.ErrNotExist) || lerr == nil {
			return "", outside // a link to nowhere, a loop, or what may not be read
		}
		rest = filepath.Join(filepath.Base(there), rest)
		there = filepath.Dir(there)
	}
	rel, err := filepath.Rel(s.root, filepath.Join(there, rest))
	if err != nil || !filepath.IsLocal(rel) {
		return "", outside
	}
	return rel, nil
}

// short cuts a text to so many bytes, and says so.
func short(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes more)", text[:end], len(text)-end)
}

// most of what an answer holds.
const (
	mostText     = 2000 // bytes of a text
	mostContexts = 20
	mostFindings = 40
	mostRows     = 50
	mostRuns     = 100
)
