// Package project reads and writes assay.yaml: the flags that a project's commands have when they are not given. A key of
// the file is a command, and below it each key is one of its flags, by the same name, so that there is nothing else to
// learn:
//
//	run:
//	  data: eval/qa.jsonl
//	  metrics: [faithfulness/encoder, answer_correctness/token_recall]
//	  output: results
//	report:
//	  arguments: [results]
//	  fail-under: ["faithfulness=0.8:lower"]
package project

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"github.com/assay-eval/assay/tokenize"
)

// Name is the file's name, in the folder in which commands are given.
const Name = "assay.yaml"

// Arguments is the key of what stands beside the flags of a command.
const Arguments = "arguments"

// largest is how many bytes a file may have.
const largest = 1 << 20

// A File is what a project sets.
type File struct {
	Commands []string // in their order
	settings map[string][]setting
	lines    map[string]int // of the commands
}

type setting struct {
	key    string
	values []string
	line   int
}

// Parse reads a file. What is no mapping of commands to mappings of flags is an error with its line.
func Parse(text []byte) (*File, error) {
	if len(text) > largest {
		return nil, fmt.Errorf("%s: %d bytes are too many", Name, len(text))
	}
	var documents []yaml.Node
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments()); err != nil {
		return nil, fmt.Errorf("%s: %v", Name, err)
	}
	f := &File{settings: map[string][]setting{}, lines: map[string]int{}}
	if len(documents) == 0 {
		return f, nil
	}
	if len(documents) != 1 || len(documents[0].Content) != 1 {
		return nil, fmt.Errorf("%s: want one document", Name)
	}
	top := documents[0].Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return f, nil
	}
	var errs []error
	wrong := func(n *yaml.Node, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s:%d: %s", Name, n.Line, fmt.Sprintf(format, args...)))
	}
	pairs(top, wrong, "commands, such as run and report", func(key, value *yaml.Node) {
		if _, twice := f.lines[key.Value]; twice {
			wrong(key, "%q is there twice", key.Value)
			return
		}
		f.Commands, f.lines[key.Value] = append(f.Commands, key.Value), key.Line
		seen := map[string]bool{}
		pairs(value, wrong, "the flags of "+key.Value, func(flag, given *yaml.Node) {
			if seen[flag.Value] {
				wrong(flag, "%q is there twice", flag.Value)
			}
			seen[flag.Value] = true
			values, err := valuesOf(given)
			if err != nil {
				wrong(given, "%s: %v", flag.Value, err)
			}
			f.settings[key.Value] = append(f.settings[key.Value], setting{flag.Value, values, flag.Line})
		})
	})
	return f, errors.Join(errs...)
}

// pairs visits the keys and values of a mapping; an empty one has none.
func pairs(n *yaml.Node, wrong func(*yaml.Node, string, ...any), of string, visit func(key, value *yaml.Node)) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
	case n.Kind != yaml.MappingNode:
		wrong(n, "want a mapping of %s", of)
	default:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Kind != yaml.ScalarNode {
				wrong(n.Content[i], "want a name among %s", of)
				continue
			}
			visit(n.Content[i], n.Content[i+1])
		}
	}
}

// valuesOf are what a flag is given: one value, several, or NAME=VALUE of each pair of a mapping.
func valuesOf(n *yaml.Node) ([]string, error) {
	scalar := func(n *yaml.Node) (string, error) {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			return "", errors.New("want a word, a number, or a list of these; an alias is to be written out")
		}
		return n.Value, nil
	}
	var values []string
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			v, err := scalar(item)
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, errKey := scalar(n.Content[i])
			v, err := scalar(n.Content[i+1])
			if err := errors.Join(errKey, err); err != nil {
				return nil, err
			}
			values = append(values, key+"="+v)
		}
	default:
		v, err := scalar(n)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// Read reads the file of the folder that the program is in; nil if there is none.
func Read() (*File, error) {
	text, err := os.ReadFile(Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// Apply adds to the words that a command was given what the file says of it: flags that were not given, and arguments
// where there were none. flags are those of each command, by which the file is checked. from are the flags, by name, and
// the arguments that it added. Where the words are wrong themselves, they are returned as they are: the command says
// what is wrong.
func (f *File) Apply(command string, args []string, flags map[string]*pflag.FlagSet) (words, from []string, err error) {
	if err := f.check(flags); err != nil {
		return nil, nil, err
	}
	given := flags[command]
	given.SetOutput(io.Discard)
	given.Usage = func() {}
	if err := given.Parse(args); err != nil {
		return args, nil, nil
	}
	added, arguments, keys := f.args(command, given.Changed)
	if given.NArg() > 0 {
		arguments = nil
	}
	for _, key := range keys {
		from = append(from, "--"+key)
	}
	return slices.Concat(added, args, arguments), append(from, arguments...), nil
}

// check refuses commands and flags that there are none of. Flags are those of each command.
func (f *File) check(flags map[string]*pflag.FlagSet) error {
	var errs []error
	for _, command := range f.Commands {
		set := flags[command]
		if set == nil {
			errs = append(errs, fmt.Errorf("%s:%d: there is no command %q%s", Name, f.lines[command], command,
				nearest(command, slices.Sorted(maps.Keys(flags)))))
			continue
		}
		names := []string{Arguments}
		set.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		for _, s := range f.settings[command] {
			if !slices.Contains(names, s.key) {
				errs = append(errs, fmt.Errorf("%s:%d: assay %s has no flag %q%s", Name, s.line, command, s.key,
					nearest(s.key, names)))
			}
		}
	}
	return errors.Join(errs...)
}

// nearest suggests a name that may have been meant.
func nearest(word string, names []string) string {
	best, least := "", 3
	for _, name := range names {
		if d, err := tokenize.Edits([]rune(word), []rune(name)); err == nil && d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", best)
}

// args are the flags that the file sets for a command, less those that were given, and the arguments beside them. Keys
// are the names of what it sets.
func (f *File) args(command string, given func(flag string) bool) (flags, arguments, keys []string) {
	for _, s := range f.settings[command] {
		switch {
		case s.key == Arguments:
			arguments = s.values
		case !given(s.key):
			keys = append(keys, s.key)
			for _, v := range s.values {
				flags = append(flags, "--"+s.key+"="+v)
			}
		}
	}
	return flags, arguments, keys
}

// A Draft is what a new file says.
type Draft struct {
	Data    string
	Metrics []string
	Output  string
	By      string // a metadata column of few values; "": there is none
}

// Write makes a file of a draft: what it knows, and what else may be said, as comments.
func Write(d *Draft) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What the commands of assay are given in this folder when their flags do not say otherwise: each key is a\n"+
		"# command, and below it a flag of its. assay COMMAND --help lists them.\nrun:\n  data: %s\n  metrics:\n", quoted(d.Data))
	for _, m := range d.Metrics {
		fmt.Fprintf(&b, "    - %s\n", quoted(m))
	}
	fmt.Fprintf(&b, "  output: %s\n\nreport:\n  arguments: [%s]\n", quoted(d.Output), quoted(d.Output))
	if d.By != "" {
		fmt.Fprintf(&b, "  by: %s\n", quoted(d.By))
	}
	if len(d.Metrics) > 0 {
		fmt.Fprintf(&b, "  # fail-under:\n  #   - %s            # the mean\n  #   - %s      # the lower end of its interval\n",
			quoted(d.Metrics[0]+"=0.8"), quoted(d.Metrics[0]+"=0.7:lower"))
	}
	return b.String() + "  # baseline: last-results\n  # max-drop: 0.02\n"
}

// quoted is a text as YAML has it in double quotes, whatever it holds.
func quoted(s string) string {
	plain := s != ""
	for _, r := range s {
		plain = plain && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("_/.", r) || r >= '0' && r <= '9')
	}
	if plain && (s[0] >= 'a' && s[0] <= 'z') && len(s) > 5 { // no number, no true or null
		return s
	}
	return fmt.Sprintf("%q", s)
}
