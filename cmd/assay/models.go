package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/internal/installed"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/units"
	"github.com/assay-eval/assay/models"
	"github.com/jedib0t/go-pretty/v6/table"
)

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
		return tuneModel(ctx, s, home, args)
	case "remove":
		return removeModel(s, home, args)
	case "engine":
		return engineCommand(ctx, s, home, args)
	}
	return usagef("unknown verb %q: assay models --help lists them", verb)
}

func listModels(ctx context.Context, s *std, home string, args []string) error {
	f := s.flags("models list", page("models"))
	format := f.String("format", "table", "table or json")
	address := f.String("address", "", "the `URL` of an Ollama server, whose models are listed too")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	rows, err := installed.List(ctx, home, *address, s.warn)
	if err != nil {
		return err
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
		if r.Error != "" {
			s.warn("%s: %s", r.Name, r.Error)
		}
		t.AppendRow(table.Row{r.Name, r.Kind(), units.Size(r.Size), r.Quantisation, r.Context, r.Backend})
	}
	t.Render()
	return nil
}

func inspectModel(s *std, home string, args []string) error {
	f := s.flags("models inspect", page("models"))
	format := f.String("format", "table", "table or json")
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if *format != "table" && *format != "json" {
		return usagef("unknown format %q: table or json", *format)
	}
	m, err := installed.Find(home, f.Arg(0))
	if err != nil {
		return usageError{err}
	}
	r, err := installed.Examine(m)
	if err != nil {
		return err
	}
	if *format == "json" {
		return s.json(r)
	}
	printModel(s, m, r)
	return nil
}

// printModel prints what is known of a model, a line each.
func printModel(s *std, m *models.Model, r *installed.Report) {
	info := r.Info
	line := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" && text != "0" {
			fmt.Fprintf(s.out, "%-12s  %s\n", name, report.Printable(text))
		}
	}
	line("file", "%s, %s", info.Path, units.Size(info.Size))
	line("digest", "%s", r.Digest)
	line("kind", "%s", installed.Kind(info))
	line("model", "%s", info.Summary())
	line("calls itself", "%s", info.Name)
	licence := info.Licence
	if m.Record != nil && m.Record.Licence != "" {
		licence = m.Record.Licence
	}
	line("licence", "%s", licence)
	line("layers", "%d", info.Layers)
	line("vocabulary", "%d", info.Vocabulary)
	if info.KVBytes > 0 {
		line("cache", "%s a token", units.Size(info.KVBytes))
	}
	if installed.Kind(info) == "judge" {
		template := "none: messages are given as plain paragraphs"
		if info.Template != "" {
			template = fmt.Sprintf("%d characters (--format json has it)", len(info.Template))
		}
		line("template", "%s", template)
	}
	if m.Record != nil {
		line("source", "%s", m.Record.Source)
		line("note", "%s", m.Record.Note)
		line("tuned from", "%s", m.Record.Tuned)
		if len(m.Record.Measured) > 0 {
			printSpeeds(s, m.Record.Measured, "")
		}
	}
	line("labels", "%s", strings.Join(info.Labels, ", "))
	line("activation", "%s", info.Activation)
	for _, warning := range []string{m.Warning, info.Doubt} {
		if warning != "" {
			s.warn("%s", warning)
		}
	}
	if r.Graph != "" {
		fmt.Fprintf(s.out, "%-12s  %s: %s\n", "inputs", report.Printable(r.Graph), report.Printable(strings.Join(r.Inputs, ", ")))
	}
	if r.Choice != "" {
		s.note("%s", r.Choice)
	}
}

func importModel(ctx context.Context, s *std, home string, args []string) error {
	f := s.flags("models import", page("models"))
	var rec models.Record
	f.StringVar(&rec.Name, "name", "", "the `NAME` it gets (required)")
	f.StringVar(&rec.Source, "source", "", "where it came from, for the record")
	f.StringVar(&rec.Licence, "licence", "", "its licence, for the record")
	convert := f.Bool("convert", false, "turn the safetensors of a folder into a GGUF file even where it has a graph in ONNX")
	folder := f.String("head", "", "give a GGUF file the classification head of the Hugging Face `FOLDER` that it was made of")
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
	if f.NArg() == 1 && onnx.Is(f.Arg(0)) && !*convert && *folder != "" {
		return usagef("--head is for a GGUF file: a model in ONNX has its head in its graph")
	}
	m, err := installed.Import(ctx, home, rec, installed.How{Convert: *convert, Head: *folder, Say: s.note}, f.Args()...)
	if err != nil {
		return err
	}
	s.note("imported %s (%s)", m.Name, m.Record.Digest)
	return nil
}

func verifyModels(s *std, home string, args []string) error {
	f := s.flags("models verify", page("models"))
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
	f := s.flags("models remove", page("models"))
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if err := models.Remove(home, f.Arg(0)); err != nil {
		return err
	}
	s.note("removed %s", f.Arg(0))
	return nil
}

func engineCommand(ctx context.Context, s *std, home string, args []string) error {
	f := s.flags("models engine", page("models"))
	gpu := f.String("gpu", "",
		"fetch with npm, where needed, and use the libraries for this `KIND`: "+strings.Join(models.GPUKinds(), ", "))
	archives := f.StringArray("install", nil,
		"install an archive `FILE` or a folder of llama.cpp "+models.EngineVersion+
			" libraries; twice for a CUDA package and its extension")
	runtime := f.Bool("onnx", false,
		"fetch the library of ONNX Runtime "+models.ONNXVersion+" with npm, where needed, and say where it is")
	format := f.String("format", "table", "table or json")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	switch {
	case *runtime && (*gpu != "" || len(*archives) > 0):
		return usagef("--onnx is for another library than --gpu and --install: give one of them")
	case *gpu != "" && len(*archives) > 0:
		return usagef("--gpu fetches what --install has already: give one of them")
	case *format != "table" && *format != "json":
		return usagef("unknown format %q: table or json", *format)
	case *runtime:
		return fetchONNX(ctx, s, home, *format)
	case *gpu != "":
		return fetchEngine(ctx, s, home, *gpu)
	case len(*archives) > 0:
		return installEngine(ctx, s, home, *archives)
	}
	return showEngine(s, home, *format)
}

func fetchEngine(ctx context.Context, s *std, home, gpu string) error {
	if !slices.Contains(models.GPUKinds(), gpu) {
		return usagef("no package is known for %q on this machine: there is %s", gpu,
			strings.Join(models.GPUKinds(), ", "))
	}
	e, err := models.FetchEngine(ctx, home, gpu, s.note)
	if err != nil {
		return err
	}
	if dir := os.Getenv("ASSAY_LLAMA_LIB"); dir != "" {
		s.warn("ASSAY_LLAMA_LIB is set, and the libraries in %s are used all the same", dir)
	}
	s.note("using %s", e.Name)
	if gpu != "none" {
		s.note("hint: assay doctor says whether it finds a graphics card")
	}
	return nil
}

func fetchONNX(ctx context.Context, s *std, home, format string) error {
	l, err := models.FetchONNX(ctx, home, s.note)
	if err != nil {
		return err
	}
	if file := os.Getenv("ASSAY_ONNX_LIB"); file != "" {
		s.warn("ASSAY_ONNX_LIB is set, and the library %s is used all the same", file)
	}
	if format == "json" {
		return s.json(l)
	}
	fmt.Fprintf(s.out, "%s\t%s\t%s\n", l.Name, l.Version, l.File)
	return nil
}

func installEngine(ctx context.Context, s *std, home string, archives []string) error {
	e, err := models.InstallEngine(ctx, home, archives...)
	if err != nil {
		return err
	}
	s.note("installed %s", e.Name)
	if e.SHA512 != "" && !e.Pinned() {
		s.warn("this is not an archive that Assay was tested with")
	}
	if used, err := models.FindEngine(home); err == nil && used.Dir != e.Dir {
		s.note("in use: %s", used.Name)
	}
	return nil
}

func showEngine(s *std, home, format string) error {
	used, err := models.FindEngine(home)
	if err != nil {
		return err
	}
	all, err := models.Engines(home)
	if err != nil {
		return err
	}
	if format == "json" {
		type engine struct {
			models.Engine
			Dir  string `json:"dir"`
			Used bool   `json:"used"`
		}
		rows := []engine{{*used, used.Dir, true}}
		for _, e := range all {
			if e.Dir != used.Dir {
				rows = append(rows, engine{e, e.Dir, false})
			}
		}
		return s.json(map[string]any{"engines": rows})
	}
	fmt.Fprintf(s.out, "%s\t%s\t%s\n", used.Name, used.Version, used.Dir)
	for _, e := range all {
		if e.Dir != used.Dir {
			s.note("also installed: %s", e.Name)
		}
	}
	return nil
}
