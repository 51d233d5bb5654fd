package mcp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect starts a server in a folder of its own, and a client of it.
func connect(t *testing.T, o Options) *sdk.ClientSession {
	t.Helper()
	t.Chdir(t.TempDir())
	s, err := newServer(o)
	if err != nil {
		t.Fatal(err)
	}
	in, out := sdk.NewInMemoryTransports()
	if _, err := s.tools.Connect(t.Context(), in, nil); err != nil {
		t.Fatal(err)
	}
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), out, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// call returns what a tool said, and whether it was an error.
func call(t *testing.T, client *sdk.ClientSession, tool string, in map[string]any) (string, bool) {
	t.Helper()
	r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

// Each tool says what it does, takes and returns.
func TestTools(t *testing.T) {
	list, err := connect(t, Options{}).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" || tool.InputSchema == nil || tool.OutputSchema == nil || tool.Annotations == nil {
			t.Errorf("%s does not say what it does", tool.Name)
		}
		if writes := tool.Name == "run" || tool.Name == "label"; tool.Annotations.ReadOnlyHint == writes {
			t.Errorf("%s says that it only reads: %v", tool.Name, tool.Annotations.ReadOnlyHint)
		}
	}
	if got := strings.Join(names, " "); got != "compare label metrics run runs show" {
		t.Errorf("the tools are %s", got)
	}
}

// No path leads out of the folder, whichever tool it is given to.
func TestPathsStayInTheFolder(t *testing.T) {
	ran := 0
	client := connect(t, Options{Run: func(context.Context, []string) error { ran++; return errors.New("it ran") }})
	outside := t.TempDir()
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outside, "secret.jsonl"), "{}\n")
	write(filepath.Join(outside, "run.json"), "{}\n")
	write("data.jsonl", "{}\n")
	for link, to := range map[string]string{"link": outside, "file.jsonl": filepath.Join(outside, "secret.jsonl"),
		"nowhere": filepath.Join(outside, "absent"), "loop": "loop"} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	for _, path := range []string{"..", "../x", outside, filepath.Join(outside, "secret.jsonl"), "link/secret.jsonl", "file.jsonl",
		"a/../../x", "nowhere", "nowhere/x", "loop", "link"} {
		for tool, in := range map[string]map[string]any{
			"run":     {"data": path, "output": "out"},
			"show":    {"run": path},
			"compare": {"baseline": path, "run": path},
			"label":   {"run": path, "labels": "l.jsonl"},
		} {
			if said, failed := call(t, client, tool, in); !failed || !strings.Contains(said, "is not in the folder of the server") {
				t.Errorf("%s of %s: %s", tool, path, said)
			}
		}
		if said, failed := call(t, client, "run", map[string]any{"data": "data.jsonl", "output": path}); !failed ||
			!strings.Contains(said, "is not in the folder") {
			t.Errorf("run into %s: %s", path, said)
		}
	}
	if ran != 0 {
		t.Fatal("something ran outside")
	}
	said, failed := call(t, client, "run", map[string]any{"data": "./data.jsonl", "output": "new/out"})
	if !failed || said != "it ran" || ran != 1 {
		t.Errorf("inside: %s", said)
	}
}

// Flags cannot be smuggled in: each value is behind the name of its flag.
func TestFlags(t *testing.T) {
	var got []string
	client := connect(t, Options{Run: func(_ context.Context, flags []string) error { got = flags; return errors.New("no") }})
	if err := os.WriteFile("--backend", []byte("{}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	call(t, client, "run", map[string]any{"data": "--backend", "output": "--o", "metrics": []string{"--x"}, "preset": "-p",
		"where": []string{"--y"}, "map": map[string]string{"--q": "--z"}, "limit": -1, "sample": 2, "sheet": "-s"})
	want := "--data=--backend --output=--o --metrics=--x --map=--q=--z --where=--y --sheet=-s --preset=-p --limit=-1 --sample=2"
	if strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
	if err := os.WriteFile("-", []byte("{}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if said, failed := call(t, client, "run", map[string]any{"data": "-", "output": "out"}); !failed || said != "there is no file - in the folder of the server" {
		t.Errorf("standard input as a dataset: %s", said)
	}
}

// What does not fit the schema is refused with a reason.
func TestInputs(t *testing.T) {
	client := connect(t, Options{})
	for tool, in := range map[string]map[string]any{
		"run":     {"data": 7, "output": "x"},
		"show":    {"sample": "a"},
		"label":   {"run": "r", "labels": "l", "label": "yes"},
		"compare": {"baseline": "a", "run": "b", "more": true},
	} {
		if said, failed := call(t, client, tool, in); !failed || !strings.Contains(said, "validating") {
			t.Errorf("%s of %v: %s", tool, in, said)
		}
	}
	if said, failed := call(t, client, "show", map[string]any{"run": "absent"}); !failed || !strings.Contains(said, "the tool runs lists") {
		t.Errorf("a run that is not there: %s", said)
	}
	if said, failed := call(t, client, "metrics", map[string]any{"name": "faithfulnes"}); !failed || !strings.Contains(said, "faithfulness") {
		t.Errorf("a metric that is not there: %s", said)
	}
}

func FuzzShort(f *testing.F) {
	f.Add("aä\xff", 2)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = min(max(most, 0), 1000)
		s := short(text, most)
		if !utf8.ValidString(s) || len(s) > max(most, 3)+40 {
			t.Errorf("%q", s)
		}
	})
}
