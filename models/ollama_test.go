package models

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testStore is an empty store of Ollama's.
func testStore(t *testing.T) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "st[o]re")
	t.Setenv("OLLAMA_MODELS", store)
	return store
}

// layer is a layer of a manifest.
func layer(kind string, data []byte) string {
	return fmt.Sprintf(`{"mediaType":"application/vnd.ollama.image.%s","digest":%q,"size":%d}`,
		kind, digestOf(data), len(data))
}

func writeManifest(t *testing.T, store, name string, layers ...string) string {
	t.Helper()
	text := `{"schemaVersion":2,"config":{"mediaType":"x","digest":"y","size":1},"layers":[` +
		strings.Join(layers, ",") + `]}`
	return writeFileForTest(t, filepath.Join(store, "manifests", filepath.FromSlash(name)), []byte(text))
}

func writeBlob(t *testing.T, store string, data []byte) string {
	t.Helper()
	return writeFileForTest(t, filepath.Join(store, "blobs", strings.Replace(digestOf(data), ":", "-", 1)), data)
}

func TestFindOllama(t *testing.T) {
	home, store := testHome(t), testStore(t)
	_, err := Find(home, "ollama:tiny")
	wantError(t, err, "nothing is in "+store)

	data := tinyModel(t)
	blob := writeBlob(t, store, data)
	writeManifest(t, store, "first.example/library/tiny/latest", layer("license", nil), layer("model", data))
	writeManifest(t, store, "first.example/library/Tiny2/1b-q4_0", layer("model", data), layer("template", nil))
	writeManifest(t, store, "first.example/someone/tiny/latest", layer("model", data))
	writeManifest(t, store, "other.example:5000/someone/tiny/latest", layer("model", data))
	writeManifest(t, store, "other.example:5000/someone/only/v1", layer("model", data))
	writeManifest(t, store, "first.example/library/.hidden/latest", layer("model", data))

	for _, name := range []string{
		"tiny", "tiny:latest", "library/tiny", "first.example/library/tiny",
		"first.example/library/tiny:latest", "TINY", "tiny2:1b-q4_0", "someone/only:v1",
		"other.example:5000/someone/tiny",
	} {
		m, err := Find(home, "ollama:"+name)
		if err != nil || m.Path != blob || m.Store != "ollama" || m.Record.Digest != digestOf(data) ||
			m.Name != "ollama:"+name {
			t.Errorf("%s is %+v, %v; want the file %s", name, m, err, blob)
		} else if warned := m.Warning != ""; warned != (name == "tiny2:1b-q4_0") {
			t.Errorf("%s: warning is %q", name, m.Warning)
		}
	}
	check := func(name, want string) {
		t.Helper()
		_, err := Find(home, "ollama:"+name)
		wantError(t, err, want)
	}
	check("tiny:1b", "have ollama:Tiny2:1b-q4_0, ollama:someone/only:v1, ollama:someone/tiny:latest, ")
	check("someone/tiny",
		"name ollama:first.example/someone/tiny:latest or ollama:other.example:5000/someone/tiny:latest")
	check("only:v1", "there is no model")

	list, err := ListOllama()
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
		if m.Err != nil || m.Path != blob {
			t.Errorf("listed %+v", m)
		}
		if _, err := Find(home, m.Name); err != nil {
			t.Errorf("what is listed is not found: %v", err)
		}
	}
	want := "ollama:Tiny2:1b-q4_0 ollama:first.example/someone/tiny:latest " +
		"ollama:other.example:5000/someone/tiny:latest ollama:someone/only:v1 ollama:tiny:latest"
	if got := strings.Join(names, " "); err != nil || got != want {
		t.Errorf("listed %s, %v\nwant %s", got, err, want)
	}

	if err := Verify(home, "ollama:tiny"); err != nil {
		t.Error(err)
	}
	wantError(t, Remove(home, "ollama:tiny"), "ollama rm tiny")
	if _, err := os.Stat(blob); err != nil {
		t.Error(err)
	}
	data[len(data)-1] ^= 1
	writeFileForTest(t, blob, data)
	wantError(t, Verify(home, "ollama:tiny"), "damaged")
	writeFileForTest(t, blob, data[:len(data)-1])
	check("tiny", "bytes instead of")
	if err := os.Remove(blob); err != nil {
		t.Fatal(err)
	}
	check("tiny", "are not there: run ollama pull")
}

func TestOllamaNames(t *testing.T) {
	home, store := testHome(t), testStore(t)
	data := tinyModel(t)
	writeBlob(t, store, data)
	writeManifest(t, store, "h/library/tiny/latest", layer("model", data))
	writeManifest(t, store, "../outside/library/tiny/latest", layer("model", data))
	for _, name := range []string{
		"", ":", "tiny:", ":latest", "/tiny", "//tiny", "a//tiny", "/library/tiny", "h/library/tiny/latest", "../tiny",
		"..", "../../outside/library/tiny", "../library/tiny", "h/../tiny", "tiny:../latest", `..\tiny`, "tiny:..",
		"tiny\x00", "*", "library/*", "ti?y", "tiny:[l]atest", "tiny@sha256:00",
		strings.Repeat("a", 81), "https://h/library/tiny", "h/library/tiny:a:b", " tiny", "~/tiny",
	} {
		if m, err := Find(home, "ollama:"+name); err == nil {
			t.Errorf("%q is %+v", name, m)
		} else if !strings.Contains(err.Error(), "is not the name of") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestOllamaManifests(t *testing.T) {
	home, store := testHome(t), testStore(t)
	data := tinyModel(t)
	writeBlob(t, store, data)
	check := func(want string, layers ...string) {
		t.Helper()
		path := writeManifest(t, store, "h/library/m/latest", layers...)
		_, err := Find(home, "ollama:m")
		wantError(t, err, want)
		list, err := ListOllama()
		if err != nil || len(list) != 1 || list[0].Err == nil {
			t.Errorf("%s: listed %+v, %v", want, list, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	model := layer("model", data)
	check("in the cloud")
	check("in the cloud", layer("template", nil))
	check("LoRA", model, layer("adapter", nil))
	check("several files", model, model)
	check("not stored as a GGUF", layer("tensor", data))
	check("damaged", "{")
	check("damaged", `{"mediaType":7}`)
	check("no digest or size", strings.Replace(model, `"sha256:`, `"sha256:../../`, 1))
	check("no digest or size", strings.Replace(model, `"sha256:`, `"md5:`, 1))
	check("no digest or size", strings.Replace(model, fmt.Sprint(len(data)), "-1", 1))
	check("1001 layers",
		append(make([]string, 0), strings.Split(strings.Repeat(layer("license", nil)+"|", 1000)+model, "|")...)...)
	check("sensible size", `"`+strings.Repeat("x", maxManifest)+`"`)
	text := []byte("not a model")
	writeBlob(t, store, text)
	check("not a GGUF file", layer("model", text))
	check("are not there", layer("model", []byte("absent")))

	if err := os.MkdirAll(filepath.Join(store, "manifests/h/library/m/latest"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Find(home, "ollama:m")
	wantError(t, err, "is no file")
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"layers":[` + layer("model", nil) + `]}`))
	f.Add([]byte(`{"layers":[` + layer("model", []byte("x")) + `,` + layer("template", nil) + `]}`))
	f.Add([]byte(`{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:..","size":1e99}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		weights, _, err := parseManifest(data)
		if err == nil && (checkDigest(weights.Digest) != nil || weights.Size <= 0) {
			t.Errorf("accepted %+v", weights)
		}
	})
}

func FuzzOllamaName(f *testing.F) {
	for _, s := range []string{"tiny", "a/b:c", "h:1/a/b:c", "../x", "a:b/c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := parseOllamaName(s)
		if err != nil {
			return
		}
		for _, part := range []string{n.space, n.model, n.tag} {
			if !filepath.IsLocal(part) || strings.ContainsAny(part, `/\:`) {
				t.Errorf("%q has the part %q", s, part)
			}
		}
		if again, err := parseOllamaName(n.String()); n.host == "" && (err != nil || again != n) {
			t.Errorf("%q became %v, %v by way of %q", s, again, err, n.String())
		}
	})
}
