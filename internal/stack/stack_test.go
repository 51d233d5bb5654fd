package stack

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// What the user is to mend is said before anything is loaded, and once for all that was asked.
func TestRefused(t *testing.T) {
	t.Setenv("ASSAY_HOME", t.TempDir())
	judge := metrics.Asks{backend.Judge: backend.CanGenerate}
	named := map[backend.Role]string{backend.Judge: "m"}
	check := func(o Options, asks metrics.Asks, want string) {
		t.Helper()
		o.Say, o.Warn = t.Logf, t.Logf
		st, err := Open(t.Context(), o, asks)
		if err == nil {
			st.Close()
			t.Fatalf("%+v is taken, want %q", o, want)
		}
		var input *runs.InputError
		if !errors.As(err, &input) {
			t.Fatalf("%v is not the user's to mend", err)
		}
		if got := fmt.Sprint(err, "; ", input.Hint); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check(Options{Cache: "sometimes"}, nil, "sometimes")
	check(Options{Cache: "off", Backend: "other"}, judge, `judge: unknown backend "other"`)
	check(Options{Cache: "off", Backend: "gollama"}, judge, "docs/gollama.md")
	check(Options{Cache: "off", Backend: "ollama"}, judge, "--model is missing; ollama list")
	check(Options{Cache: "off", Backend: "ollama", Models: named, Threads: 2}, judge, "--threads is for --backend llama")
	check(Options{Cache: "off", Backend: "ollama", Models: named, Fast: true}, judge, "--fast is for --backend llama")
	check(Options{Cache: "off", Backend: "openai"}, judge, "--address is missing")
	check(Options{Cache: "off", Backend: "openai", Address: "http://192.0.2.1/v1", Models: named}, judge,
		"--allow-remote permits it")
	check(Options{Cache: "off", Backend: "llama"}, metrics.Asks{backend.Sampler: backend.CanGenerate},
		"sample model: --sample-model is missing")
}

// Nothing asked is nothing opened, whatever the engine.
func TestNothingAsked(t *testing.T) {
	st, err := Open(t.Context(), Options{Cache: "off", Backend: "llama"}, metrics.Asks{backend.Judge: 0})
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Roles) != 0 || len(st.Infos()) != 0 || st.Calls() != (runs.Calls{}) {
		t.Errorf("%+v", st)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// A metric must say which of several models it asks, and may ask none that is not there.
func TestCheck(t *testing.T) {
	one := backend.Judge.Named("small")
	o := &Options{Models: map[backend.Role]string{one: "small.gguf"}}
	if names := o.Names(); len(names) != 1 || names[0] != one {
		t.Errorf("the names are %v", names)
	}
	asking := func(role backend.Role) []metrics.Metric {
		return []metrics.Metric{{Name: "m", Asks: metrics.Asks{role: backend.CanGenerate}}}
	}
	check := func(role backend.Role, want, hint string) {
		t.Helper()
		err := o.Check(asking(role))
		var input *runs.InputError
		switch {
		case want == "":
			if err != nil {
				t.Errorf("%s: %v", role, err)
			}
		case !errors.As(err, &input) || !strings.Contains(err.Error(), want) || input.Hint != hint:
			t.Errorf("%s: %v, want %q with %q", role, err, want, hint)
		}
	}
	check(one, "", "")
	check(backend.Judge, "m does not say which judge it asks", "m@small says so")
	check(backend.Judge.Named("large"), "m asks the judge large, and there is none", "--model large=REF names it")
	check(backend.Encoder, "", "") // the only one that is installed may be meant
}

// Each role that metrics ask has a flag.
func TestFlag(t *testing.T) {
	seen := map[string]bool{"": true}
	for _, role := range backend.Roles() {
		if flag := Flag(role.Named("x")); seen[flag] {
			t.Errorf("the flag of %s is %q", role, flag)
		} else {
			seen[flag] = true
		}
	}
}

// A model is taken by its name among several, by its path whatever that holds, and never twice.
func TestName(t *testing.T) {
	o := new(Options)
	check := func(text string, several bool, want string) {
		t.Helper()
		switch err := o.Name(backend.Judge, text, several); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	check("", false, "")
	check("small=a.gguf", true, "")
	check("small=b.gguf", true, "small is a.gguf already")
	check("large=", true, "it names no model")
	check("1=b.gguf", true, "is no name for a model")
	check("other=b.gguf", false, "it needs no name")
	check("./a=b.gguf", false, "")
	check("c.gguf", false, "./a=b.gguf is named already, and this command asks one")
	check("c.gguf", true, "./a=b.gguf is named already: of several models")
	if len(o.Models) != 2 || o.Models[backend.Judge.Named("small")] != "a.gguf" || o.Models[backend.Judge] != "./a=b.gguf" {
		t.Errorf("%v", o.Models)
	}
}
