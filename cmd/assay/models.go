package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/backend/ollama"
	"github.com/assay-eval/assay/models"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

const modelsHelp = `
Usage: assay models [list]                         the models on this machine
       assay models inspect MODEL                  what a model file says of itself
       assay models import --name NAME FILE...     add a GGUF file, its parts in order, or a folder
                                                   with a MiniLM-like model in safetensors
       assay models verify [MODEL...]              read models whole and compare their digests
       assay models tune MODEL --type q4_0|q8_0    requantise a model: a 2-bit file is small, but slow
       assay models remove MODEL
       assay models engine [--install FILE]        the llama.cpp libraries; install an archive of them

MODEL is a name from the list or a path. Models live in $ASSAY_HOME, or else in your data folder.
`

func modelsCommand(ctx context.Context, s *std, args []string) error {
	verb := "list"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	home, err := models.Home()
	if err != nil {
		return err
	}
	switch verb {
	case "list":
		return listModels(ctx, s, home, args)
	case "inspect":
		return inspectModel(s, home, args)
	case "import":
		return importModel(ctx, s, home, args)
	case "verify":
		return verifyModels(s, home, args)
	case "tune":
		return tuneModel(s, home, args)
	case "remove":
		return removeModel(s, home, args)
	case "engine":
		return engineCommand(ctx, s, home, args)
	}
	return usagef("unknown verb %q: assay models --help lists them", verb)
}

// A modelRow is a line of assay models list.
type modelRow struct {
	Name    string `json:"name"`
	Backend string `json:"backend"`
	*models.Info
	Digest string `json:"digest,omitempty"`
	Source string `json:"source,omitempty"`
	Error  string `json:"error,omitempty"`
}

func listModels(ctx context.Context, s *std, home string, args []string) error {
	f := s.flags("models list", modelsHelp)
	format := f.String("format", "table", "table or json")
	address := f.String("address", "", "the `URL` of an Ollama server, whose models are listed too")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	list, err := models.List(home)
	if err != nil {
		return err
	}
	rows := []modelRow{}
	for _, m := range list {
		row := modelRow{Name: m.Name, Backend: "llama"}
		if m.Record != nil {
			row.Digest, row.Source = m.Record.Digest, m.Record.Source
		}
		if row.Info, err = models.Check(m.Path); err != nil {
			row.Info, row.Error = &models.Info{Path: m.Path}, err.Error()
		}
		row.Template = "" // long, and inspect shows it
		rows = append(rows, row)
	}
	if *address != "" {
		list, err := ollama.Models(ctx, *address)
		if err != nil {
			return err
		}
		for _, m := range list {
			rows = append(rows, modelRow{Name: m.Name, Backend: "ollama", Digest: m.Digest, Info: &models.Info{
				Size: m.Size, Quantisation: m.Quantization, Context: m.Context,
			}})
		}
	}
	if *format == "json" {
		return s.json(map[string]any{"models": rows})
	}
	if *format != "table" {
		return usagef("unknown format %q: table or json", *format)
	}
	if len(rows) == 0 {
		s.note("no models in %s", filepath.Join(home, "models"))
		s.note("hint: make demo fetches two small ones; assay models import --name NAME FILE adds a GGUF file")
		return nil
	}
	t := s.table("name", "kind", "size", "weights", "context", "backend")
	for _, r := range rows {
		kind := modelKind(r.Info)
		if r.Backend == "ollama" {
			kind = ""
		}
		if r.Error != "" {
			kind = "damaged"
			s.warn("%s: %s", r.Name, r.Error)
		}
		t.AppendRow(table.Row{r.Name, kind, size(r.Size), r.Quantisation, r.Context, r.Backend})
	}
	t.Render()
	return nil
}

// modelKind says in a word what a model is for.
func modelKind(info *models.Info) string {
	switch {
	case info.Pooling == "rank":
		return "reranker"
	case info.Causal && info.Pooling == "":
		return "judge"
	default:
		return "embedding"
	}
}

func inspectModel(s *std, home string, args []string) error {
	f := s.flags("models inspect", modelsHelp)
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	m, err := models.Find(home, f.Arg(0))
	if err != nil {
		return usageError{err}
	}
	info, err := models.Check(m.Path)
	if err != nil {
		return err
	}
	digest, err := models.Digest(m.Path)
	if err != nil {
		return err
	}
	return s.json(struct {
		*models.Info
		Digest string         `json:"digest"`
		Record *models.Record `json:"record,omitempty"`
	}{info, digest, m.Record})
}

func importModel(ctx context.Context, s *std, home string, args []string) error {
	f := s.flags("models import", modelsHelp)
	var rec models.Record
	f.StringVar(&rec.Name, "name", "", "the `NAME` it gets (required)")
	f.StringVar(&rec.Source, "source", "", "where it came from, for the record")
	f.StringVar(&rec.Licence, "licence", "", "its licence, for the record")
	sum := f.String("sha256", "", "the digest that the result must have, in hexadecimal `DIGITS`")
	if err := parse(f, args, 1, -1); err != nil {
		return err
	}
	if rec.Name == "" {
		return usageError{withHint(errors.New("the model needs a name"), "assay models import --name NAME FILE...")}
	}
	if *sum != "" {
		rec.Digest = "sha256:" + strings.TrimPrefix(*sum, "sha256:")
	}
	m, err := models.Import(ctx, home, rec, f.Args()...)
	if err != nil {
		return err
	}
	s.note("imported %s (%s)", m.Name, m.Record.Digest)
	return nil
}

func verifyModels(s *std, home string, args []string) error {
	f := s.flags("models verify", modelsHelp)
	if err := parse(f, args, 0, -1); err != nil {
		return err
	}
	names := f.Args()
	if len(names) == 0 {
		list, err := models.List(home)
		if err != nil {
			return err
		}
		for _, m := range list {
			names = append(names, m.Name)
		}
	}
	var errs []error
	for _, name := range names {
		err := models.Verify(home, name)
		if err == nil {
			s.note("%s is what was imported", name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func removeModel(s *std, home string, args []string) error {
	f := s.flags("models remove", modelsHelp)
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if err := models.Remove(home, f.Arg(0)); err != nil {
		return err
	}
	s.note("removed %s", f.Arg(0))
	return nil
}

func tuneModel(s *std, home string, args []string) error {
	f := s.flags("models tune", modelsHelp)
	kind := f.String("type", "", "the `TYPE` of the weights: q4_0 (smaller) or q8_0 (closer to the original)")
	name := f.String("name", "", "the `NAME` of the result (default MODEL-TYPE)")
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if *kind != "q4_0" && *kind != "q8_0" {
		return usageError{withHint(fmt.Errorf("unknown type %q", *kind), "--type q4_0 or --type q8_0")}
	}
	m, err := models.Find(home, f.Arg(0))
	if err != nil {
		return usageError{err}
	}
	engine, err := models.FindEngine(home)
	if err != nil {
		return err
	}
	digest, err := models.Digest(m.Path)
	if err != nil {
		return err
	}
	rec := models.Record{Name: *name, Source: m.Path, Note: "requantised to " + *kind, Tuned: digest}
	if m.Record != nil {
		rec.Source, rec.Licence = m.Record.Source, m.Record.Licence
	}
	if rec.Name == "" {
		rec.Name = m.Name + "-" + *kind
	}
	tuned, err := models.Create(home, rec, func(path string, _ *models.Record) error {
		return llama.Quantize(engine.Dir, m.Path, path, *kind)
	})
	if err != nil {
		return err
	}
	s.note("made %s, %s (%s)", tuned.Name, size(tuned.Record.Size), tuned.Record.Digest)
	return nil
}

func engineCommand(ctx context.Context, s *std, home string, args []string) error {
	f := s.flags("models engine", modelsHelp)
	archive := f.String("install", "", "an archive `FILE` or a folder of llama.cpp "+models.EngineVersion+" libraries")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if *archive != "" {
		e, err := models.InstallEngine(ctx, home, *archive)
		if err != nil {
			return err
		}
		s.note("installed %s", e.Name)
		return nil
	}
	e, err := models.FindEngine(home)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s\t%s\t%s\n", e.Name, e.Version, e.Dir)
	return nil
}

// json prints v, indented, on standard output.
func (s *std) json(v any) error {
	enc := json.NewEncoder(s.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table starts a table on standard output.
func (s *std) table(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(s.out)
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.Options{SeparateColumns: true}
	t.Style().Format.Header = text.FormatDefault
	t.Style().Box.MiddleVertical = "  "
	t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = "", ""
	t.AppendHeader(header)
	return t
}
