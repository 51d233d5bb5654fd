package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/manual"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/spf13/pflag"
)

const completionHelp = `
Usage: assay completion bash|zsh|fish   print a script that completes commands, flags, metrics and presets
       assay completion man [-o DIR]    write the man pages, one a command, to a folder (default .)

  source <(assay completion bash)
  assay completion zsh > "${fpath[1]}/_assay"
  assay completion fish > ~/.config/fish/completions/assay.fish
  assay completion man -o ~/.local/share/man/man1

All of it is made from the help that each command prints.
`

func completionCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("completion", completionHelp)
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
	p := &manual.Program{Name: "assay", Version: buildVersion(), Help: usage, Values: map[string][]string{
		"metrics": nil, "format": report.Formats(), "preset": nil}}
	for _, m := range all.All() {
		p.Values["metrics"] = append(p.Values["metrics"], m.Name)
	}
	p.Values["metric"] = p.Values["metrics"]
	for _, preset := range all.Presets() {
		p.Values["preset"] = append(p.Values["preset"], preset.Name)
	}
	for _, line := range regexp.MustCompile(`(?m)^  ([a-z]+) +([^ ].*)$`).FindAllStringSubmatch(usage, -1) {
		name, doc := line[1], line[2]
		if name == "assay" {
			continue
		}
		c, err := helpOf(ctx, name)
		if err != nil {
			return nil, err
		}
		c.Doc = doc
		p.Commands = append(p.Commands, c)
		var verbs []string
		for _, found := range regexp.MustCompile(`assay `+name+` \[?([a-z]+)\]?(?: |\n|$)`).FindAllStringSubmatch(c.Help, -1) {
			if verb := found[1]; !slices.Contains(verbs, verb) && slices.Contains([]string{"models", "cache", "judge"}, name) {
				verbs = append(verbs, verb)
				v, err := helpOf(ctx, name, verb)
				if err != nil {
					return nil, err
				}
				p.Commands = append(p.Commands, v)
			}
		}
	}
	return p, nil
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
