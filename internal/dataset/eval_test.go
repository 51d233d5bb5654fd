package dataset

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const evalSample = `{"id": "ID", "epoch": 1, "input": "When?", "target": "At six.", "messages": [{"role": "user", "content": "When?"}],` +
	` "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "At six."}}], "completion": "At six."}, "scores": {}}`

// evalOf is an Inspect log with samples, each a name and a content.
func evalOf(t *testing.T, method uint16, samples ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(samples); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: samples[i], Method: method})
		if err == nil {
			_, err = w.Write([]byte(samples[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func sampleOf(id string) string { return strings.Replace(evalSample, "ID", id, 1) }

// A sample of an Inspect log that is damaged is a bad row with its reason and its file's name; the others are read.
func TestDamagedEvalSamples(t *testing.T) {
	good := sampleOf("a")
	stored := evalOf(t, zip.Store, "header.json", "{}", "samples/1_epoch_1.json", good, "samples/2_epoch_1.json", sampleOf("b"),
		"samples/3_epoch_1.json", sampleOf("c"))
	change := func(old, with string) []byte {
		if !bytes.Contains(stored, []byte(old)) {
			t.Fatalf("no %q", old)
		}
		return bytes.Replace(bytes.Clone(stored), []byte(old), []byte(with), 1)
	}
	long := `{"id": "b", "input": "` + strings.Repeat("x", maxRecord) + `"}`
	encrypted := bytes.Clone(stored)
	entry := bytes.LastIndex(encrypted, []byte("samples/2_epoch_1.json")) - 46 // in the directory
	encrypted[entry+8] |= 1
	unknown := bytes.Clone(stored)
	unknown[entry+10] = 12 // bzip2
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"checksum":  {change(`"id": "b", "epoch": 1, "input": "When?"`, `"id": "b", "epoch": 1, "input": "Where"`), "checksum error"},
		"encrypted": {encrypted, "encrypted"},
		"method":    {unknown, "unsupported compression"},
		"no JSON":   {evalOf(t, zip.Store, "samples/1_epoch_1.json", good, "samples/2_epoch_1.json", "{", "samples/3_epoch_1.json", sampleOf("c")), "end"},
		"a list":    {evalOf(t, zip.Store, "samples/1_epoch_1.json", good, "samples/2_epoch_1.json", "[1]", "samples/3_epoch_1.json", sampleOf("c")), "object"},
		"empty":     {evalOf(t, zip.Store, "samples/1_epoch_1.json", good, "samples/2_epoch_1.json", "", "samples/3_epoch_1.json", sampleOf("c")), ""},
		"a bomb":    {evalOf(t, zip.Deflate, "samples/1_epoch_1.json", good, "samples/2_epoch_1.json", long, "samples/3_epoch_1.json", sampleOf("c")), "longer than 64 MiB"},
		"same id":   {evalOf(t, zip.Store, "samples/1_epoch_1.json", good, "samples/2_epoch_1.json", good, "samples/3_epoch_1.json", sampleOf("c")), "used twice"},
	} {
		path := filepath.Join(t.TempDir(), "log.eval")
		if err := os.WriteFile(path, c.content, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s := r.Summary()
		if s.Rows != 2 || s.Bad != 1 || len(s.Errors) != 1 || s.Errors[0].Line != 2 || !strings.Contains(s.Errors[0].Error(), c.want) {
			t.Errorf("%s: %d rows, %d bad: %v", name, s.Rows, s.Bad, s.Errors)
		}
		if name != "same id" && len(s.Errors) == 1 && !strings.Contains(s.Errors[0].Error(), "samples/2_epoch_1.json") {
			t.Errorf("%s: %v does not name the file in the archive", name, s.Errors[0])
		}
		r.Close()
	}
}

// An archive that is damaged as a whole, or is none, is an error that names it.
func TestDamagedEval(t *testing.T) {
	whole := evalOf(t, zip.Deflate, "samples/1_epoch_1.json", sampleOf("a"))
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"cut off":      {whole[:len(whole)/2], "not a valid zip file"},
		"no archive":   {[]byte(sampleOf("a")), "not a valid zip file"},
		"empty":        {nil, "not a valid zip file"},
		"no samples":   {evalOf(t, zip.Store, "header.json", "{}", "journal/start.json", "{}"), "an archive without samples of Inspect"},
		"empty inside": {evalOf(t, zip.Store), "an archive without samples of Inspect"},
	} {
		path := filepath.Join(t.TempDir(), "log.eval")
		if err := os.WriteFile(path, c.content, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever bytes an archive has, reading it ends, and each of its samples is a row or an error.
func FuzzArchive(f *testing.F) {
	content, err := os.ReadFile("testdata/traces/inspect.eval")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(dir, "log.eval")
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := Open(t.Context(), path, Options{})
		if err != nil {
			return
		}
		defer r.Close()
		rows, bad := 0, 0
		for s, err := range r.Samples(t.Context()) {
			if (s == nil) == (err == nil) {
				t.Fatal("neither a row nor an error, or both")
			}
			if err != nil {
				bad++
			} else {
				rows++
			}
		}
		if s := r.Summary(); s.Rows != rows || s.Bad != bad {
			t.Errorf("%d rows and %d bad, then %d and %d", s.Rows, s.Bad, rows, bad)
		}
	})
}
