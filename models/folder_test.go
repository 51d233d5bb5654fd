package models

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImportFolder copies the files that are named, checks the copy, and takes the place of what had the name before.
func TestImportFolder(t *testing.T) {
	home, from := testHome(t), t.TempDir()
	for name, text := range map[string]string{"config.json": "{}", "onnx/model.onnx": "graph", "onnx/other.onnx": "no"} {
		writeFileForTest(t, filepath.Join(from, filepath.FromSlash(name)), []byte(text))
	}
	digest := "sha256:" + strings.Repeat("ab", 32)
	files := []string{"config.json", "onnx/model.onnx"}
	bring := func(rec Record, files []string, err error) (*Model, error) {
		return ImportFolder(t.Context(), home, rec, from, files, func(copied string) (string, error) {
			data, readErr := os.ReadFile(filepath.Join(copied, "onnx", "model.onnx"))
			if readErr != nil || string(data) != "graph" {
				t.Errorf("the copy has the graph %q (%v)", data, readErr)
			}
			return digest, err
		})
	}
	writeFileForTest(t, filepath.Join(home, "models", "m.gguf"), tinyModel(t))
	m, err := bring(Record{Name: "m", Source: "here"}, files, nil)
	if err != nil || m.Record.Digest != digest || m.Record.Size != 7 || len(m.Record.Files) != 2 {
		t.Fatalf("imported %+v (%v)", m, err)
	}
	wantNoTraces(t, home, "m", "m.json")
	list, err := List(home)
	if err != nil || len(list) != 1 || list[0].Name != "m" || list[0].Record == nil || list[0].Path != m.Path {
		t.Errorf("the list is %+v (%v)", list, err)
	}
	if found, err := Find(home, "m"); err != nil || found.Path != m.Path || found.Record.Source != "here" {
		t.Errorf("found %+v (%v)", found, err)
	}
	if err := Verify(home, "m"); err != nil {
		t.Error(err)
	}

	_, err = bring(Record{Name: "m"}, append(files, "absent"), nil)
	wantError(t, err, "absent")
	_, err = bring(Record{Name: "m"}, append(files, "../m.json"), nil)
	wantError(t, err, "not the path of a file in its folder")
	_, err = bring(Record{Name: "m"}, files, errors.New("it is bad"))
	wantError(t, err, "model m: it is bad")
	_, err = bring(Record{Name: "m", Digest: "sha256:" + strings.Repeat("cd", 32)}, files, nil)
	wantError(t, err, "should be sha256:cdcd")
	_, err = bring(Record{Name: "../m"}, files, nil)
	wantError(t, err, "cannot be a model's name")
	wantNoTraces(t, home, "m", "m.json")

	graph := filepath.Join(m.Path, "onnx", "model.onnx")
	writeFileForTest(t, filepath.Join(m.Path, "1_Pooling", "config.json"), nil)
	wantError(t, Verify(home, "m"), "1_Pooling/config.json was not there")
	writeFileForTest(t, graph, []byte("graqh"))
	wantError(t, Verify(home, "m"), "onnx/model.onnx is another")
	if err := os.Remove(graph); err != nil {
		t.Fatal(err)
	}
	wantError(t, Verify(home, "m"), "onnx/model.onnx is gone")

	path := writeFileForTest(t, filepath.Join(t.TempDir(), "m"), tinyModel(t))
	if _, err := Import(t.Context(), home, Record{Name: "m"}, path); err != nil {
		t.Fatal(err)
	}
	wantNoTraces(t, home, "m.gguf", "m.json")
	if _, err := bring(Record{Name: "m"}, files, nil); err != nil {
		t.Fatal(err)
	}
	if err := Remove(home, "m"); err != nil {
		t.Error(err)
	}
	wantNoTraces(t, home)
	wantError(t, Remove(home, "m"), "there is no model")
}
