package manual

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Ask has every command that the program's help lists say what it is. Of those with verbs, the verbs are in their own
// help, and asked too. about asks one, by its name and verb.
func (p *Program) Ask(withVerbs []string, about func(words ...string) (Command, error)) error {
	for _, line := range regexp.MustCompile(`(?m)^  ([a-z]+) +([^ ].*)$`).FindAllStringSubmatch(p.Help, -1) {
		name, doc := line[1], line[2]
		if name == p.Name { // an example
			continue
		}
		c, err := about(name)
		if err != nil {
			return err
		}
		c.Doc = doc
		p.Commands = append(p.Commands, c)
		if !slices.Contains(withVerbs, name) {
			continue
		}
		for _, verb := range verbsIn(p.Name+" "+name, c.Help) {
			v, err := about(name, verb)
			if err != nil {
				return err
			}
			p.Commands = append(p.Commands, v)
		}
	}
	return nil
}

// verbsIn are the words that follow a command in its help, each once.
func verbsIn(command, help string) []string {
	var verbs []string
	for _, found := range regexp.MustCompile(command+` \[?([a-z]+)\]?(?: |\n|$)`).FindAllStringSubmatch(help, -1) {
		if !slices.Contains(verbs, found[1]) {
			verbs = append(verbs, found[1])
		}
	}
	return verbs
}

// Flags are those of each command, without those of its verbs.
func (p *Program) Flags() map[string]*pflag.FlagSet {
	flags := map[string]*pflag.FlagSet{}
	for _, c := range p.Commands {
		if !strings.Contains(c.Name, " ") {
			flags[c.Name] = c.Flags
		}
	}
	return flags
}
