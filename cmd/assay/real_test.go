package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// real returns what make test provides, or skips the test.
func real(t *testing.T, names ...string) []string {
	t.Helper()
	var values []string
	for _, name := range names {
		v := os.Getenv(name)
		if v == "" {
			t.Skipf("%s is not set: make test runs this", name)
		}
		values = append(values, v)
	}
	return values
}

// TestLlama runs testdata/real/llama.txtar with llama.cpp and real models in this process.
func TestLlama(t *testing.T) {
	env := real(t, "ASSAY_TEST_LIB", "ASSAY_TEST_JUDGE", "ASSAY_TEST_EMBED")
	realScript(t, "llama.txtar", map[string]string{
		"ASSAY_LLAMA_LIB": env[0], "JUDGE": env[1], "EMBED": env[2], "OLLAMA_HOST": "http://127.0.0.1:9",
	})
}

// TestEncoder runs testdata/real/encoder.txtar with the encoder judge that comes with Assay.
func TestEncoder(t *testing.T) {
	env := real(t, "ASSAY_TEST_LIB")
	asset, err := filepath.Abs(filepath.Join("..", "..", "models", "assets", "encoder-judge.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	realScript(t, "encoder.txtar", map[string]string{
		"ASSAY_LLAMA_LIB": env[0], "ENCODER": asset, "OLLAMA_HOST": "http://127.0.0.1:9",
	})
}

// TestTour runs testdata/real/tour.txtar: the commands of README from a trace to a picture.
func TestTour(t *testing.T) {
	env := real(t, "ASSAY_TEST_LIB")
	asset, err := filepath.Abs(filepath.Join("..", "..", "models", "assets", "encoder-judge.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	realScript(t, "tour.txtar", map[string]string{
		"ASSAY_LLAMA_LIB": env[0], "ENCODER": asset, "OLLAMA_HOST": "http://127.0.0.1:9",
	})
}

// TestTrain runs testdata/real/train.txtar: a judge of one's own, with the training script, from the judge that comes
// with Assay.
func TestTrain(t *testing.T) {
	env := real(t, "ASSAY_TEST_LIB")
	const python = "/usr/bin/python3" // Debian's, which train.sh takes
	if err := exec.Command(python, "-c", "import numpy, torch").Run(); err != nil {
		t.Skip("there is no PyTorch: apt-get install python3-torch python3-numpy libopenblas0-pthread")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	realScript(t, "train.txtar", map[string]string{
		"ASSAY_LLAMA_LIB": env[0], "ENCODER": filepath.Join(root, "models", "assets", "encoder-judge.gguf"),
		"TRAIN": filepath.Join(root, "scripts", "train-judge"), "PYTHON": python, "OLLAMA_HOST": "http://127.0.0.1:9",
	})
}

// TestONNX runs testdata/real/onnx.txtar with ONNX Runtime and a tiny encoder.
func TestONNX(t *testing.T) {
	env := real(t, "ASSAY_TEST_ORT")
	realScript(t, "onnx.txtar", map[string]string{"ASSAY_ONNX_LIB": env[0], "OLLAMA_HOST": "http://127.0.0.1:9"})
}

// TestEncoderEngine runs testdata/real/encoder_engine.txtar with one file on both engines for encoders.
func TestEncoderEngine(t *testing.T) {
	env := real(t, "ASSAY_TEST_LIB", "ASSAY_TEST_ORT")
	asset, err := filepath.Abs(filepath.Join("..", "..", "models", "assets", "encoder-judge.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	realScript(t, "encoder_engine.txtar", map[string]string{"ASSAY_LLAMA_LIB": env[0], "ASSAY_ONNX_LIB": env[1],
		"ENCODER": asset, "OLLAMA_HOST": "http://127.0.0.1:9"})
}

// TestOllama runs testdata/real/ollama.txtar with a real server and real models.
func TestOllama(t *testing.T) {
	env := real(t, "ASSAY_TEST_OLLAMA", "ASSAY_TEST_JUDGE", "ASSAY_TEST_EMBED")
	address := startOllama(t, env[0])
	for name, file := range map[string]string{"judge": env[1], "embedder": env[2]} {
		modelfile := filepath.Join(t.TempDir(), "Modelfile")
		if err := os.WriteFile(modelfile, fmt.Appendf(nil, "FROM %s\n", file), 0o666); err != nil {
			t.Fatal(err)
		}
		create := exec.Command(env[0], "create", name, "-f", modelfile)
		create.Env = append(os.Environ(), "OLLAMA_HOST="+address)
		if out, err := create.CombinedOutput(); err != nil {
			t.Fatalf("ollama create %s: %v\n%s", name, err, out)
		}
	}
	realScript(t, "ollama.txtar", map[string]string{"ASSAY_LLAMA_LIB": t.TempDir(), "OLLAMA_HOST": address})
}

func realScript(t *testing.T, script string, vars map[string]string) {
	testscript.Run(t, testscript.Params{
		Files: []string{filepath.Join("testdata", "real", script)},
		Setup: func(env *testscript.Env) error {
			for k, v := range vars {
				env.Setenv(k, v)
			}
			return home(env)
		},
		Cmds: scriptCommands(),
	})
}

// startOllama starts a server with an empty store on a free port and returns its address.
func startOllama(t *testing.T, program string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	l.Close()
	var log bytes.Buffer
	server := exec.Command(program, "serve")
	server.Env = append(os.Environ(), "OLLAMA_HOST="+address, "OLLAMA_MODELS="+t.TempDir(), "HOME="+t.TempDir())
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(os.Interrupt)
		server.Wait()
		if t.Failed() {
			t.Logf("the server's log:\n%s", &log)
		}
	})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			c.Close()
			return address
		}
	}
	t.Fatal("the Ollama server does not answer")
	return ""
}
