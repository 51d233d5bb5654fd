package manual

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Every command is asked once, and so is every verb of those that have any.
func TestAsk(t *testing.T) {
	help := map[string]string{"run": "Usage: tool run FILE\n", "store": "Usage: tool store [list]   all\n  tool store add FILE\n" +
		"  tool store add OTHER\n"}
	p := &Program{Name: "tool", Help: "Commands\n  run    does it\n  store  keeps it\n\nStart:\n  tool run x\n"}
	var asked []string
	about := func(words ...string) (Command, error) {
		name := strings.Join(words, " ")
		asked = append(asked, name)
		return Command{Name: name, Help: help[name], Flags: pflag.NewFlagSet(name, pflag.ContinueOnError)}, nil
	}
	if err := p.Ask([]string{"store"}, about); err != nil {
		t.Fatal(err)
	}
	if want := []string{"run", "store", "store list", "store add"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if p.Commands[0].Doc != "does it" || p.Commands[2].Doc != "" || len(p.Flags()) != 2 || p.Flags()["store"] == nil {
		t.Errorf("%+v", p.Commands)
	}
	broken := errors.New("broken")
	if err := p.Ask(nil, func(...string) (Command, error) { return Command{}, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
