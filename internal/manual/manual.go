// Package manual makes what a shell and man know of a program out of the help that it prints: completion for bash, zsh
// and fish ([Bash], [Zsh], [Fish]), and man pages ([Page]).
package manual

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A Program is a program whose first words choose what it does.
type Program struct {
	Name, Version string
	Help          string // of the program itself
	Commands      []Command
	Values        map[string][]string // what a flag may be given, by the flag's name; other flags take files
}

// A Command is one of them.
type Command struct {
	Name  string // "run", or "models list" for a verb of a command
	Doc   string // a line; "" for a verb
	Help  string // what stands above the flags
	Flags *pflag.FlagSet
}

// words are a command's name and verb.
func (c *Command) words() (name, verb string) {
	name, verb, _ = strings.Cut(c.Name, " ")
	return name, verb
}

// verbs lists the commands that begin with a name and have a verb.
func (p *Program) verbs(name string) []string {
	var list []string
	for i := range p.Commands {
		if n, verb := p.Commands[i].words(); n == name && verb != "" {
			list = append(list, verb)
		}
	}
	return list
}

// firsts are the commands with a line of their own.
func (p *Program) firsts() []Command {
	return slices.DeleteFunc(slices.Clone(p.Commands), func(c Command) bool { return strings.Contains(c.Name, " ") })
}

// flagsOf are a command's flags in their order.
func (c *Command) flagsOf() []*pflag.Flag {
	var list []*pflag.Flag
	c.Flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			list = append(list, f)
		}
	})
	return list
}

// usageOf is what a flag's help says, in a line, and the word for its value, "" for a switch.
func usageOf(f *pflag.Flag) (value, usage string) {
	value, usage = pflag.UnquoteUsage(f)
	return value, strings.Join(strings.Fields(usage), " ")
}

// quoted is a word for any of the shells.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Bash writes a script that completes commands, verbs, flags and what flags take; what else there is are files.
func Bash(w io.Writer, p *Program) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# bash completion for %s: source it, or put it into /etc/bash_completion.d\n_%s() {\n", p.Name, p.Name)
	b.WriteString("\tlocal cur=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} words=\n\tCOMPREPLY=()\n\tcase $last in\n")
	for _, name := range sortedKeys(p.Values) {
		fmt.Fprintf(&b, "\t--%s) words=%s ;;\n", name, quoted(strings.Join(p.Values[name], " ")))
	}
	b.WriteString("\tesac\n\tif [ -n \"$words\" ]; then\n\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n\t\treturn\n\tfi\n")
	var names []string
	for _, c := range p.firsts() {
		names = append(names, c.Name)
	}
	fmt.Fprintf(&b, "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\tCOMPREPLY=($(compgen -W %s -- \"$cur\"))\n\t\treturn\n\tfi\n",
		quoted(strings.Join(names, " ")))
	b.WriteString("\tcase ${COMP_WORDS[1]} in\n")
	for _, name := range names {
		if verbs := p.verbs(name); verbs != nil {
			fmt.Fprintf(&b, "\t%s)\n\t\tif [ \"$COMP_CWORD\" = 2 ]; then\n\t\t\tCOMPREPLY=($(compgen -W %s -- \"$cur\"))\n\t\t\treturn\n\t\tfi ;;\n",
				name, quoted(strings.Join(verbs, " ")))
		}
	}
	b.WriteString("\tesac\n\tcase \"${COMP_WORDS[1]} ${COMP_WORDS[2]-}\" in\n")
	for pattern, c := range p.patterns() {
		words := []string{"--help"}
		for _, f := range c.flagsOf() {
			words = append(words, "--"+f.Name)
		}
		fmt.Fprintf(&b, "\t%s) words=%s ;;\n", pattern, quoted(strings.Join(words, " ")))
	}
	b.WriteString("\tesac\n\tcase $cur in\n\t-*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n\tesac\n}\n")
	fmt.Fprintf(&b, "complete -o default -F _%s %s\n", p.Name, p.Name)
	_, err := io.WriteString(w, b.String())
	return err
}

// patterns yields the shell patterns of the words that name a command, the longer names first, each with its command.
func (p *Program) patterns() iter.Seq2[string, *Command] {
	return func(yield func(string, *Command) bool) {
		for _, verb := range []bool{true, false} {
			for i := range p.Commands {
				c := &p.Commands[i]
				if strings.Contains(c.Name, " ") != verb {
					continue
				}
				pattern := quoted(c.Name)
				if !verb {
					pattern = quoted(c.Name+" ") + "*"
				}
				if !yield(pattern, c) {
					return
				}
			}
		}
	}
}

// Zsh writes a script for zsh's completion system.
func Zsh(w io.Writer, p *Program) error {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# zsh completion: put it as _%s into a folder of $fpath\n_%s() {\n", p.Name, p.Name, p.Name)
	b.WriteString("\tlocal -a list\n\tif (( CURRENT == 2 )); then\n\t\tlist=(\n")
	spec := strings.NewReplacer(`\`, `\\`, ":", `\:`, "[", `\[`, "]", `\]`)
	for _, c := range p.firsts() {
		fmt.Fprintf(&b, "\t\t\t%s\n", quoted(c.Name+":"+spec.Replace(c.Doc)))
	}
	b.WriteString("\t\t)\n\t\t_describe command list\n\t\treturn\n\tfi\n\tcase $words[2] in\n")
	for _, c := range p.firsts() {
		if verbs := p.verbs(c.Name); verbs != nil {
			fmt.Fprintf(&b, "\t%s)\n\t\tif (( CURRENT == 3 )); then\n\t\t\tlist=(%s)\n\t\t\t_describe verb list\n\t\t\treturn\n\t\tfi ;;\n",
				c.Name, strings.Join(verbs, " "))
		}
	}
	b.WriteString("\tesac\n\tcase \"$words[2] $words[3]\" in\n")
	for pattern, c := range p.patterns() {
		fmt.Fprintf(&b, "\t%s)\n\t\tlist=(\n\t\t\t'--help[say what it does]'\n", pattern)
		for _, f := range c.flagsOf() {
			value, usage := usageOf(f)
			entry := "*--" + f.Name + "[" + spec.Replace(usage) + "]"
			switch values := p.Values[f.Name]; {
			case values != nil:
				entry += ":" + spec.Replace(value) + ":(" + strings.Join(values, " ") + ")"
			case f.NoOptDefVal == "":
				entry += ":" + spec.Replace(value) + ":_files"
			}
			fmt.Fprintf(&b, "\t\t\t%s\n", quoted(entry))
		}
		b.WriteString("\t\t) ;;\n")
	}
	b.WriteString("\tesac\n\t_arguments $list '*:file:_files'\n}\n")
	fmt.Fprintf(&b, "if [ \"$funcstack[1]\" = _%s ]; then _%s \"$@\"; else compdef _%s %s; fi\n", p.Name, p.Name, p.Name, p.Name)
	_, err := io.WriteString(w, b.String())
	return err
}

// Fish writes a script of fish's complete.
func Fish(w io.Writer, p *Program) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion: put it as %s.fish into ~/.config/fish/completions\n", p.Name)
	q := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	for _, c := range p.firsts() {
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -f -a %s -d %s\n", p.Name, q(c.Name), q(c.Doc))
		for _, verb := range p.verbs(c.Name) {
			fmt.Fprintf(&b, "complete -c %s -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from %s' -f -a %s\n",
				p.Name, c.Name, strings.Join(p.verbs(c.Name), " "), q(verb))
		}
	}
	for i := range p.Commands {
		c := &p.Commands[i]
		name, verb := c.words()
		on := "__fish_seen_subcommand_from " + name
		if verb != "" {
			on += "; and __fish_seen_subcommand_from " + verb
		}
		for _, f := range c.flagsOf() {
			value, usage := usageOf(f)
			fmt.Fprintf(&b, "complete -c %s -n %s -l %s", p.Name, q(on), f.Name)
			if f.Shorthand != "" {
				fmt.Fprintf(&b, " -s %s", f.Shorthand)
			}
			if values := p.Values[f.Name]; values != nil {
				fmt.Fprintf(&b, " -x -a %s", q(strings.Join(values, " ")))
			} else if value != "" && f.NoOptDefVal == "" {
				b.WriteString(" -r")
			}
			fmt.Fprintf(&b, " -d %s\n", q(usage))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func sortedKeys(m map[string][]string) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// Page writes the man page of a command, in section 1, or of the program itself where c is nil.
func Page(w io.Writer, p *Program, c *Command) error {
	title, doc, help := p.Name, "", p.Help
	if c != nil {
		title, doc, help = p.Name+"-"+strings.ReplaceAll(c.Name, " ", "-"), c.Doc, c.Help
	}
	if doc == "" {
		doc, _, _ = strings.Cut(strings.TrimSpace(p.Help), "\n")
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n", roff(strings.ToUpper(title)),
		roff(`"`+p.Name+" "+p.Version+`"`), roff(title), roff(strings.TrimSuffix(doc, ".")))
	for line := range strings.Lines(strings.Trim(help, "\n")) {
		b.WriteString(roff(strings.TrimRight(line, " \n")) + "\n")
	}
	b.WriteString(".fi\n")
	if c != nil && c.Flags.HasFlags() {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range c.flagsOf() {
			value, usage := usageOf(f)
			b.WriteString(".TP\n")
			if f.Shorthand != "" {
				fmt.Fprintf(&b, "\\fB\\-%s\\fR, ", f.Shorthand)
			}
			fmt.Fprintf(&b, "\\fB\\-\\-%s\\fR", roff(f.Name))
			if value != "" && f.NoOptDefVal == "" {
				fmt.Fprintf(&b, " \\fI%s\\fR", roff(value))
			}
			b.WriteString("\n" + roff(usage) + "\n")
		}
	}
	b.WriteString(".SH SEE ALSO\n")
	var others []string
	for _, other := range p.firsts() {
		if c == nil || other.Name != c.Name {
			others = append(others, fmt.Sprintf("\\fB%s\\fR(1)", roff(p.Name+"-"+other.Name)))
		}
	}
	b.WriteString(strings.Join(others, ",\n") + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// roff makes text mean itself to man.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\(ga", "^", `\(ha`, "~", `\(ti`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
