package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptHTTP asks a server whose address is in the file url, and writes the answer to a file: http METHOD PATH OUT [BODY].
// With ! the answer is to be an error.
func scriptHTTP(ts *testscript.TestScript, neg bool, args []string) {
	url := strings.TrimSpace(ts.ReadFile("url"))
	var body io.Reader
	if len(args) > 3 {
		body = strings.NewReader(ts.ReadFile(args[3]))
	}
	req, err := http.NewRequest(args[0], url+args[1], body)
	ts.Check(err)
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), append(text, '\n'), 0o666))
	if failed := res.StatusCode >= 400; failed != neg {
		ts.Fatalf("status %d: %s", res.StatusCode, text)
	}
}

// TestServe runs testdata/real/serve.txtar with llama.cpp and real models.
func TestServe(t *testing.T) {
	env := real(t, "ASSAY_TEST_LIB", "ASSAY_TEST_JUDGE", "ASSAY_TEST_EMBED")
	realScript(t, "serve.txtar", map[string]string{
		"ASSAY_LLAMA_LIB": env[0], "JUDGE": env[1], "EMBED": env[2], "OLLAMA_HOST": "http://127.0.0.1:9",
	})
}

// TestOpenAIClient has OpenAI's own client for Node ask assay serve.
func TestOpenAIClient(t *testing.T) {
	env := real(t, "ASSAY_TEST_LIB", "ASSAY_TEST_JUDGE", "ASSAY_TEST_EMBED")
	for _, program := range []string{"npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	install := exec.Command("npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
		"openai@7.57.0")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm has no client: %v\n%s", err, bytes.TrimSpace(out))
	}
	script, err := os.ReadFile(filepath.Join("testdata", "real", "openai_client.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	client := filepath.Join(dir, "client.mjs") // beside the modules that it imports
	if err := os.WriteFile(client, script, 0o666); err != nil {
		t.Fatal(err)
	}
	realScript(t, "openai_client.txtar", map[string]string{"CLIENT": client, "PATH": os.Getenv("PATH"),
		"ASSAY_LLAMA_LIB": env[0], "JUDGE": env[1], "EMBED": env[2], "OLLAMA_HOST": "http://127.0.0.1:9",
	})
}
