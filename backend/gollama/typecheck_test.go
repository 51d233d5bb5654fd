package gollama

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const bindingPath = "github.com/go-skynet/go-llama.cpp"

// TestTypes type-checks what only a build with the tag gollama compiles, against the binding's own Go source,
// in place of its C++ which no test machine has.
func TestTypes(t *testing.T) {
	c := newChecker(t)
	files := c.parse(t, ".", nil)
	if err := c.check("gollama", files); err != nil {
		t.Error(err)
	}

	// A check that finds no mistake could be one that looks at nothing.
	for _, mistake := range []struct{ right, wrong, want string }{
		{"llama.SetTokens(o.room)", "llama.SetTokenz(o.room)", "SetTokenz"},
		{"llama.SetSeed(o.seed)", "llama.SetSeed(o.prompt)", "o.prompt"},
		{"return &bound{model, s}, nil", "return model, nil", "binding"},
		{"b.model.Free()", "b.model.Release()", "Release"},
	} {
		files := c.parse(t, ".", func(source string) string {
			return strings.ReplaceAll(source, mistake.right, mistake.wrong)
		})
		if err := c.check("gollama", files); err == nil || !strings.Contains(err.Error(), mistake.want) {
			t.Errorf("with %s for %s: error %v", mistake.wrong, mistake.right, err)
		}
	}
}

// TestProgramTypes is TestTypes of the program that the documentation shows.
func TestProgramTypes(t *testing.T) {
	const document = "../../docs/gollama.md"
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "\n```go\n")
	program, _, whole := strings.Cut(rest, "\n```\n")
	if !whole {
		t.Fatalf("%s shows no program", document)
	}
	c := newChecker(t)
	f, err := parser.ParseFile(c.fset, document, program, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.check("main", []*ast.File{f}); err != nil {
		t.Error(err)
	}
}

// A checker type-checks packages as if the tag gollama were set and C were there.
type checker struct {
	fset    *token.FileSet
	context build.Context
	binding *types.Package
	others  types.Importer
}

func newChecker(t *testing.T) *checker {
	dir, err := goList("-m", "-f", "{{.Dir}}", bindingPath)
	if err != nil || dir == "" {
		t.Skipf("the source of %s is not in the module cache: run go mod download %[1]s (%v)", bindingPath, err)
	}
	c := &checker{fset: token.NewFileSet(), context: build.Default}
	c.context.BuildTags = []string{"gollama"}
	c.context.CgoEnabled = true
	lookup, err := exported()
	if err != nil {
		t.Fatal(err)
	}
	c.others = importer.ForCompiler(c.fset, "gc", lookup)

	config := types.Config{FakeImportC: true, IgnoreFuncBodies: true, Importer: c.others}
	if c.binding, err = config.Check(bindingPath, c.fset, c.parse(t, dir, nil), nil); err != nil {
		t.Fatalf("the binding itself: %v", err)
	}
	return c
}

// parse reads the files of a package that are not tests, each edited if there is an edit.
func (c *checker) parse(t *testing.T, dir string, edit func(string) string) []*ast.File {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		match, err := c.context.MatchFile(dir, filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		if !match || strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if edit != nil {
			source = []byte(edit(string(source)))
		}
		f, err := parser.ParseFile(c.fset, name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

func (c *checker) check(path string, files []*ast.File) error {
	config := types.Config{Importer: c}
	_, err := config.Check(path, c.fset, files, nil)
	return err
}

// Import implements [types.Importer].
func (c *checker) Import(path string) (*types.Package, error) {
	if path == bindingPath {
		return c.binding, nil
	}
	return c.others.Import(path)
}

// exported returns a function that opens the export data of what the checked packages import, but for the binding.
func exported() (func(path string) (io.ReadCloser, error), error) {
	imports, err := goList("-e", "-tags", "gollama", "-f", `{{join .Imports "\n"}}`, ".")
	if err != nil {
		return nil, err
	}
	args := []string{"-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}",
		"os", "strings", "sync", // the binding's own
		".", "log", "github.com/assay-eval/assay/backend/sched", // the documentation's program's
	}
	for _, path := range strings.Fields(imports) {
		if path != bindingPath {
			args = append(args, path)
		}
	}
	list, err := goList(args...)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for line := range strings.Lines(list) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(files[path])
	}, nil
}

// goList runs go list without the network.
func goList(args ...string) (string, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly")
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(problem.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
