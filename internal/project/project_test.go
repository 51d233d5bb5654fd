package project

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// flags are those of two commands.
func flags() map[string]*pflag.FlagSet {
	run := pflag.NewFlagSet("run", pflag.ContinueOnError)
	run.String("data", "", "")
	run.StringSlice("metrics", nil, "")
	run.StringToString("map", nil, "")
	run.Int("limit", 0, "")
	run.Bool("overwrite", false, "")
	report := pflag.NewFlagSet("report", pflag.ContinueOnError)
	report.StringArray("fail-under", nil, "")
	return map[string]*pflag.FlagSet{"run": run, "report": report}
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
	if err := f.check(flags()); err != nil {
		t.Fatal(err)
	}
	added, arguments, keys := f.args("run", func(name string) bool { return name == "metrics" })
	want := []string{"--data=a b.jsonl", "--map=question=inputs.text", "--map=answer=out", "--limit=5", "--overwrite=true"}
	if !slices.Equal(added, want) || arguments != nil || !slices.Equal(keys, []string{"data", "map", "limit", "overwrite"}) {
		t.Errorf("%q, %q, %q", added, arguments, keys)
	}
	added, arguments, _ = f.args("report", func(string) bool { return false })
	if !slices.Equal(added, []string{"--fail-under=a=0.5:lower", "--fail-under=b=0.1"}) || !slices.Equal(arguments, []string{"results"}) {
		t.Errorf("%q, %q", added, arguments)
	}
	if added, _, _ := f.args("show", func(string) bool { return false }); added != nil {
		t.Errorf("of a command that is not there: %q", added)
	}
}

// What the file says is added where the words say nothing, and said.
func TestApply(t *testing.T) {
	f, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	check := func(command string, args, want, from string) {
		t.Helper()
		words, added, err := f.Apply(command, strings.Fields(args), flags())
		if got := strings.Join(words, " "); err != nil || got != want || strings.Join(added, " ") != from {
			t.Errorf("%s %s: %q from %q, %v; want %q from %q", command, args, got, added, err, want, from)
		}
	}
	check("report", "", "--fail-under=a=0.5:lower --fail-under=b=0.1 results", "--fail-under results")
	check("report", "other --fail-under c=1", "other --fail-under c=1", "")
	check("report", "--unknown", "--unknown", "") // the command says what is wrong
	f, err = Parse([]byte("rum:\n  data: a\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Apply("run", nil, flags()); err == nil {
		t.Error("a command that there is none of is taken")
	}
	t.Chdir(t.TempDir())
	if f, err := Read(); f != nil || err != nil {
		t.Errorf("of no file: %+v, %v", f, err)
	}
}

func TestWrong(t *testing.T) {
	check := func(text string, want ...string) {
		t.Helper()
		f, err := Parse([]byte(text))
		if err == nil {
			err = f.check(flags())
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
		if f, err := Parse([]byte(empty)); err != nil || f.check(flags()) != nil {
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
		added, _, _ := f.args("run", func(string) bool { return false })
		if want := []string{"--data=" + name, "--metrics=a/x@draws=5", "--metrics=" + name, "--output=out-" + name}; !slices.Equal(added, want) {
			t.Errorf("%q, want %q", added, want)
		}
		if _, arguments, _ := f.args("report", func(string) bool { return false }); !slices.Equal(arguments, []string{"out-" + name}) {
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
		if err := file.check(flags()); err != nil {
			return
		}
		for _, command := range file.Commands {
			added, _, keys := file.args(command, func(string) bool { return false })
			if len(added) > 0 && len(keys) == 0 {
				t.Errorf("%q of no key", added)
			}
		}
	})
}
