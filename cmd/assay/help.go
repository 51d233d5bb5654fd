package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/assay-eval/assay/internal/manual"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/spf13/pflag"
)

// pages are the commands' helps as they are printed above their flags.
//
//go:embed help/*.txt
var pages embed.FS

// page is a command's help: help/NAME.txt, and after it the parts that it shares with other commands.
func page(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		text, err := pages.ReadFile("help/" + name + ".txt")
		if err != nil {
			panic(err) // the build has no such file: every command's help is tested
		}
		fmt.Fprintf(&b, "\n%s", text)
	}
	return b.String()
}

// usage is the help of the program itself.
func usage() string { return strings.TrimPrefix(page("assay"), "\n") }

func completionCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("completion", page("completion"))
	output := f.StringP("output", "o", ".", "the `FOLDER` of the man pages")
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	p, err := manualOf(ctx)
	if err != nil {
		return err
	}
	switch f.Arg(0) {
	case "bash":
		return manual.Bash(s.out, p)
	case "zsh":
		return manual.Zsh(s.out, p)
	case "fish":
		return manual.Fish(s.out, p)
	case "man":
		return s.manPages(p, *output)
	}
	return usagef("unknown shell %q: bash, zsh or fish; or man", f.Arg(0))
}

func (s *std) manPages(p *manual.Program, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	write := func(name string, c *manual.Command) error {
		return s.output(filepath.Join(dir, name+".1"), func(w io.Writer) error { return manual.Page(w, p, c) })
	}
	if err := write(p.Name, nil); err != nil {
		return err
	}
	for i := range p.Commands {
		if err := write(p.Name+"-"+strings.ReplaceAll(p.Commands[i].Name, " ", "-"), &p.Commands[i]); err != nil {
			return err
		}
	}
	s.note("%d man pages in %s", len(p.Commands)+1, dir)
	return nil
}

// manualOf asks every command for its help. What commands there are is in the usage, and their verbs in their own.
func manualOf(ctx context.Context) (*manual.Program, error) {
	p := &manual.Program{Name: "assay", Version: buildVersion(), Help: usage(), Values: map[string][]string{
		"metrics": nil, "format": report.Formats(), "preset": nil}}
	for _, m := range all.All() {
		p.Values["metrics"] = append(p.Values["metrics"], m.Name)
	}
	p.Values["metric"] = p.Values["metrics"]
	for _, preset := range all.Presets() {
		p.Values["preset"] = append(p.Values["preset"], preset.Name)
	}
	return p, p.Ask([]string{"models", "cache", "judge"}, func(words ...string) (manual.Command, error) {
		return helpOf(ctx, words...)
	})
}

// helpOf has a command print its help, and returns what it is made of.
func helpOf(ctx context.Context, words ...string) (manual.Command, error) {
	c := manual.Command{Name: strings.Join(words, " ")}
	asked := &std{in: strings.NewReader(""), out: io.Discard, err: io.Discard, asked: func(f *pflag.FlagSet, help string) {
		c.Flags, c.Help = f, help
	}}
	if err := command(ctx, asked, append(words, "--help")); c.Flags == nil {
		return c, fmt.Errorf("assay %s --help: %w", c.Name, err)
	}
	return c, nil
}
