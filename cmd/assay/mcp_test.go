package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptMCP starts assay mcp in the script's folder, calls tools of it one after the other and writes what each returned to a
// file: mcp FILE TOOL ARGUMENTS [TOOL ARGUMENTS]... The flags of assay mcp are in $MCPFLAGS.
func scriptMCP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args)%2 == 0 {
		ts.Fatalf("usage: mcp FILE TOOL ARGUMENTS...")
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	var flags []string
	if text := ts.Getenv("MCPFLAGS"); text != "" {
		ts.Check(json.Unmarshal([]byte(text), &flags))
	}
	program := exec.Command("assay", append([]string{"mcp"}, flags...)...)
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, filepath.Base(program.Path)); filepath.Base(path) == "assay" {
			if _, err := os.Stat(path); err == nil {
				program.Path, program.Err = path, nil
				break
			}
		}
	}
	program.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "ASSAY_HOME", "OLLAMA_HOST", "ASSAY_LLAMA_LIB", "HOME", "WORK"} {
		program.Env = append(program.Env, name+"="+ts.Getenv(name))
	}
	stderr, err := os.Create(ts.MkAbs("mcp.log"))
	ts.Check(err)
	defer stderr.Close()
	program.Stderr = stderr
	client, err := mcp.NewClient(&mcp.Implementation{Name: "script"}, nil).Connect(ctx,
		&mcp.CommandTransport{Command: program}, nil)
	ts.Check(err)
	var said []byte
	for i := 1; i < len(args); i += 2 {
		r, err := client.CallTool(ctx, &mcp.CallToolParams{Name: args[i], Arguments: json.RawMessage(args[i+1])})
		ts.Check(err)
		if r.IsError {
			said = append(said, "error: "...)
		}
		for _, c := range r.Content {
			said = append(append(said, c.(*mcp.TextContent).Text...), '\n')
		}
	}
	ts.Check(client.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), said, 0o666))
}
