package models

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestONNXPins(t *testing.T) {
	for _, platform := range []string{"linux-x64", "linux-arm64", "mac-arm64", "win-x64", "win-arm64"} {
		p, ok := onnxPinOf(platform)
		sum, err := hex.DecodeString(p.sum)
		if !ok || err != nil || len(sum) != 64 || p.source != "onnxruntime-node@"+ONNXVersion ||
			!strings.HasPrefix(p.entry, "package/bin/") {
			t.Errorf("%s has the pin %+v", platform, p)
		}
	}
	for _, platform := range []string{"mac-x64", "linux-riscv64", ""} {
		if p, ok := onnxPinOf(platform); ok {
			t.Errorf("%q has the pin %+v", platform, p)
		}
	}
}

func TestMusl(t *testing.T) {
	root := t.TempDir()
	check := func(want bool) {
		t.Helper()
		if musl(root) != want {
			t.Errorf("musl: %v, want %v", !want, want)
		}
	}
	add := func(name string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFileForTest(t, path, nil)
	}
	check(false)
	add("lib/ld-musl-x86_64.so.1")
	check(true)
	add("lib64/ld-linux-x86-64.so.2")
	check(false)
}

// TestInstallONNX takes the one library out of an archive of many.
func TestInstallONNX(t *testing.T) {
	p := onnxPin{entry: "package/bin/a/libx.so.1"}
	good := archive(t, entry{name: "package/bin/b/libx.so.1", text: "other"}, entry{name: p.entry, text: "the library"})
	file := filepath.Join(t.TempDir(), "engines", "onnxruntime-1", "libx.so.1")
	if err := p.install(t.Context(), good, file); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "the library" {
		t.Errorf("the library is %q (%v)", data, err)
	}
	bad := []string{
		archive(t, entry{name: "package/bin/b/libx.so.1", text: "other"}),
		archive(t, entry{name: p.entry, kind: '2', link: "/etc/passwd"}),
		writeFileForTest(t, filepath.Join(t.TempDir(), "x.tgz"), []byte("no archive")),
	}
	for _, name := range bad {
		other := filepath.Join(t.TempDir(), "engines", "onnxruntime-1", "libx.so.1")
		if err := p.install(t.Context(), name, other); err == nil {
			t.Errorf("%s was installed", name)
		}
		if _, err := os.Stat(other); err == nil {
			t.Errorf("%s left a library", name)
		}
	}
}

func TestFindONNX(t *testing.T) {
	home := testHome(t)
	t.Setenv("ASSAY_ONNX_LIB", "")
	_, err := FindONNX(home)
	wantError(t, err, "ONNX Runtime")
	if _, ok := onnxPinOf(platformName(runtime.GOOS, runtime.GOARCH)); !ok {
		t.Skip("there is no library for this platform")
	}
	wantError(t, err, "assay models engine --onnx")
	l, _, err := onnxFor(home)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(l.File), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFileForTest(t, l.File, []byte("a library"))
	if got, err := FindONNX(home); err != nil || got.File != l.File || got.Version != ONNXVersion {
		t.Errorf("FindONNX gave %+v, %v", got, err)
	}
	if got, err := FetchONNX(t.Context(), home, t.Logf); err != nil || got.File != l.File {
		t.Errorf("FetchONNX of what is installed gave %+v, %v", got, err)
	}
	if list, err := Engines(home); err != nil || len(list) != 0 {
		t.Errorf("it is listed among those of llama.cpp: %v, %v", list, err)
	}
	t.Setenv("ASSAY_ONNX_LIB", filepath.Join(home, "absent"))
	_, err = FindONNX(home)
	wantError(t, err, "ASSAY_ONNX_LIB: there is no file")
	own := writeFileForTest(t, filepath.Join(home, "own.so"), nil)
	t.Setenv("ASSAY_ONNX_LIB", own)
	if got, err := FindONNX(home); err != nil || got.File != own {
		t.Errorf("FindONNX gave %+v, %v", got, err)
	}
}

// TestFetchONNX refuses an archive with another digest.
func TestFetchONNX(t *testing.T) {
	home := testHome(t)
	if _, _, err := onnxFor(home); err != nil {
		t.Skip(err)
	}
	fakeNPM(t, "echo changed > x.tgz\n")
	_, err := FetchONNX(t.Context(), home, t.Logf)
	wantError(t, err, "is not the one that this program knows")
	if _, err := FindONNX(home); err == nil {
		t.Error("it was installed")
	}
}
