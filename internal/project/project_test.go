package project

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func flagsOf(command string) *pflag.FlagSet {
	f := pflag.NewFlagSet(command, pflag.ContinueOnError)
	switch command {
	case "run":
		f.String("data", "", "")
		f.StringSlice("metrics", nil, "")
		f.StringToString("map", nil, "")
		f.Int("limit", 0, "")
		f.Bool("overwrite", false, "")
	case "report":
		f.StringArray("fail-under", nil, "")
	default:
		return nil
	}
	return f
}

const good = `
run:
  data: "a b.jsonl"
  metrics: [a/x, b/y]
  map:
    question: inputs.text
    answer: out
  limit: 5
  overwrite: true
report:
  arguments: [results]
  fail-under:
    - a=0.5:lower
    - b=0.1
`

func TestArgs(t *testing.T) {
	f, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check([]string{"run", "report"}, flagsOf); err != nil {
		t.Fatal(err)
	}
	flags, arguments, keys := f.Args("run", func(name string) bool { return name == "metrics" })
	want := []string{"--data=a b.jsonl", "--map=question=inputs.text", "--map=answer=out", "--limit=5", "--overwrite=true"}
	if !slices.Equal(flags, want) || arguments != nil || !slices.Equal(keys, []string{"data", "map", "limit", "overwrite"}) {
		t.Errorf("%q, %q, %q", flags, arguments, keys)
	}
	flags, arguments, _ = f.Args("report", func(string) bool { return false })
	if !slices.Equal(flags, []string{"--fail-under=a=0.5:lower", "--fail-under=b=0.1"}) || !slices.Equal(arguments, []string{"results"}) {
		t.Errorf("%q, %q", flags, arguments)
	}
	if flags, _, _ := f.Args("show", func(string) bool { return false }); flags != nil {
		t.Errorf("of a command that is not there: %q", flags)
	}
}

func TestWrong(t *testing.T) {
	check := func(text string, want ...string) {
		t.Helper()
		f, err := Parse([]byte(text))
		if err == nil {
			err = f.Check([]string{"run", "report"}, flagsOf)
		}
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v, want %q", text, err, w)
			}
		}
	}
	check("rum:\n  data: a\nrun:\n  dta: b\n  metric: x\n  zzzzzz: 1\n", `assay.yaml:1: there is no command "rum": did you mean "run"?`,
		`assay.yaml:4: assay run has no flag "dta": did you mean "data"?`, `no flag "metric": did you mean "metrics"?`,
		`no flag "zzzzzz"`)
	check("- run\n", "assay.yaml:1: want a mapping of commands")
	check("run: yes\n", "want a mapping of the flags of run")
	check("run:\n  metrics: [a, [b]]\n", "assay.yaml:2: metrics: want a word")
	check("run:\n  data: {a: [b]}\n", "want a word")
	check("run:\n  data:\n", "want a word")
	check("run:\n  data: &x a\nreport:\n  arguments: *x\n", "written out")
	check("a: b: c", "assay.yaml")
	check("---\nrun: {}\n---\nrun: {}\n", "one document")
	for _, empty := range []string{"", "# nothing\n", "run:\n", "---\n"} {
		if f, err := Parse([]byte(empty)); err != nil || f.Check(nil, flagsOf) != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// What is written is read as what it says, whatever the names hold.
func TestWrite(t *testing.T) {
	for _, name := range []string{"qa.jsonl", "a b: #c.jsonl", "null", "1", "\"\n", "ü/ø.csv", "yes"} {
		text := Write(&Draft{Data: name, Metrics: []string{"a/x@draws=5", name}, Output: "out-" + name, By: name})
		f, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		flags, _, _ := f.Args("run", func(string) bool { return false })
		if want := []string{"--data=" + name, "--metrics=a/x@draws=5", "--metrics=" + name, "--output=out-" + name}; !slices.Equal(flags, want) {
			t.Errorf("%q, want %q", flags, want)
		}
		if _, arguments, _ := f.Args("report", func(string) bool { return false }); !slices.Equal(arguments, []string{"out-" + name}) {
			t.Errorf("%q", arguments)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("run: {data: &a [*a]}"))
	f.Add([]byte("? [a]\n: b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse(text)
		if err != nil {
			return
		}
		if err := file.Check([]string{"run"}, flagsOf); err != nil {
			return
		}
		for _, command := range file.Commands {
			flags, _, keys := file.Args(command, func(string) bool { return false })
			if len(flags) > 0 && len(keys) == 0 {
				t.Errorf("%q of no key", flags)
			}
		}
	})
}
