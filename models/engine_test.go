package models

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// An entry of an archive that a test makes.
type entry struct {
	name, text string
	kind       byte // of tar; 0 for a regular file
	link       string
}

func archive(t *testing.T, entries ...entry) string {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: 0o644, Size: int64(len(e.text))}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return writeFileForTest(t, filepath.Join(t.TempDir(), "engine.tgz"), b.Bytes())
}

// enginePackage is a package for a platform, its libraries named as llama.cpp's are there.
func enginePackage(platform, version string) []entry {
	dir := "package/bins/" + platform + "/"
	goos := systemOf(platform)
	name := func(stem string) string { return dir + libraryName(goos, stem) }
	infix := ""
	if parts := strings.Split(platform, "-"); len(parts) > 2 {
		infix = "." + parts[2]
	}
	return []entry{
		{name: "package/package.json", text: `{"name":"@x/` + platform + `","version":"1.2.3"}`},
		{name: name("ggml-base"), text: "base"},
		{name: name("ggml" + infix + "." + version), text: "ggml"},
		{name: name("llama" + infix + "." + version), text: "llama"},
		{name: dir + "llama-addon.node", text: "not a library"},
	}
}

func TestInstallEngine(t *testing.T) {
	for _, platform := range []string{"linux-x64", "linux-x64-cuda", "mac-arm64-metal", "win-arm64"} {
		home := testHome(t)
		path := archive(t, enginePackage(platform, EngineVersion)...)
		e, err := InstallEngine(t.Context(), home, path)
		if err != nil {
			t.Errorf("%s: %v", platform, err)
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha512.Sum512(data)
		if e.Platform != platform || e.Version != EngineVersion || e.Source != "@x/"+platform+"@1.2.3" ||
			e.Name != "llama.cpp-"+EngineVersion+"-"+platform || e.SHA512 != hex.EncodeToString(sum[:]) {
			t.Errorf("installed %+v", e)
		}
		for stem, want := range map[string]string{"llama": "llama", "ggml": "ggml", "ggml-base": "base"} {
			got, err := os.ReadFile(filepath.Join(e.Dir, libraryName(systemOf(platform), stem)))
			if err != nil || string(got) != want {
				t.Errorf("%s: library %s holds %q, %v", platform, stem, got, err)
			}
		}
		if _, err := os.Stat(filepath.Join(e.Dir, "llama-addon.node")); err == nil {
			t.Errorf("%s: took llama-addon.node", platform)
		}
		if _, err := InstallEngine(t.Context(), home, path); err != nil { // replaces it
			t.Errorf("%s again: %v", platform, err)
		}
		list, err := Engines(home)
		if err != nil || len(list) != 1 || list[0].Dir != e.Dir || list[0].SHA512 != e.SHA512 {
			t.Errorf("%s: engines are %+v, %v", platform, list, err)
		}
		left, err := os.ReadDir(filepath.Join(home, "engines"))
		if err != nil || len(left) != 1 {
			t.Errorf("%s: the engines folder holds %v, %v", platform, left, err)
		}
	}
}

func TestInstallEngineRefuses(t *testing.T) {
	home := testHome(t)
	good := enginePackage("linux-x64", EngineVersion)
	check := func(want string, entries ...entry) {
		t.Helper()
		_, err := InstallEngine(t.Context(), home, archive(t, entries...))
		wantError(t, err, want)
		if left, err := os.ReadDir(filepath.Join(home, "engines")); err != nil || len(left) != 0 {
			t.Errorf("%s: left %v, %v", want, left, err)
		}
	}
	check("no bins/PLATFORM", entry{name: "package/index.js", text: "x"})
	check(`"v0.3.9"`, enginePackage("linux-x64", "v0.3.9")...)
	check("lacks libggml-base.so", append(good[:1:1], good[2:]...)...)
	check("libggml-base.so twice", append(good[:len(good):len(good)], good[1])...)
	check("two platforms", append(good[:len(good):len(good)], entry{name: "package/bins/mac-x64/x.so"})...)
	check("no bins/PLATFORM", enginePackage("..", EngineVersion)...)

	// Paths that lead elsewhere, links and devices: none is followed, made or taken.
	outside := filepath.Join(t.TempDir(), "outside.so")
	check("lacks libggml-base.so",
		good[2], good[3],
		entry{name: "../../../../../../../../../.." + outside, text: "x"},
		entry{name: outside, text: "x"},
		entry{name: "package/bins/linux-x64/../../../../x.so", text: "x"},
		entry{name: "package/bins/linux-x64/libggml-base.so", kind: tar.TypeSymlink, link: outside},
		entry{name: "package/bins/linux-x64/libggml-base.so", kind: tar.TypeLink, link: "/etc/passwd"},
		entry{name: "package/bins/linux-x64/libggml-base.so", kind: tar.TypeFifo},
	)
	if _, err := os.Lstat(outside); err == nil {
		t.Error("a file was written outside the engines folder")
	}

	path := archive(t, good...)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 5, len(data) / 2, len(data) - 1} {
		_, err := InstallEngine(t.Context(), home, writeFileForTest(t, path, data[:n]))
		if err == nil {
			t.Errorf("the first %d of %d bytes of an archive were installed", n, len(data))
		}
	}
	data[len(data)-6] ^= 1 // in gzip's checksum
	_, err = InstallEngine(t.Context(), home, writeFileForTest(t, path, data))
	wantError(t, err, "damaged")
	_, err = InstallEngine(t.Context(), home, path+"x")
	wantError(t, err, "no such file")
}

func TestInstallEngineFromFolder(t *testing.T) {
	home, dir := testHome(t), t.TempDir()
	for _, e := range enginePackage("linux-arm64", EngineVersion) {
		writeFileForTest(t, filepath.Join(dir, filepath.FromSlash(e.name)), []byte(e.text))
	}
	e, err := InstallEngine(t.Context(), home, dir)
	if err != nil || e.Platform != "linux-arm64" || e.SHA512 != "" {
		t.Errorf("installed %+v, %v", e, err)
	}
}

func TestFindEngine(t *testing.T) {
	home := testHome(t)
	t.Setenv("ASSAY_LLAMA_LIB", "")
	platform := platformName(runtime.GOOS, runtime.GOARCH)
	install := func(platform string) {
		t.Helper()
		if _, err := InstallEngine(t.Context(), home,
			archive(t, enginePackage(platform, EngineVersion)...)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string) {
		t.Helper()
		e, err := FindEngine(home)
		if err != nil || e.Platform != want {
			t.Errorf("found %+v, %v; want one for %s", e, err, want)
		}
	}
	_, err := FindEngine(home)
	wantError(t, err, "scripts/setup.sh")
	other := "linux-arm64"
	if platform == other {
		other = "linux-x64"
	}
	install(other)
	_, err = FindEngine(home)
	wantError(t, err, "which does not fit")
	install(platform)
	check(platform)
	install(platform + "-vulkan")
	check(platform + "-vulkan")

	// A folder that the user names comes first, if it has what is opened.
	dir := t.TempDir()
	t.Setenv("ASSAY_LLAMA_LIB", dir)
	_, err = FindEngine(home)
	wantError(t, err, "lacks "+libraryName(runtime.GOOS, "llama"))
	for _, stem := range opened {
		writeFileForTest(t, filepath.Join(dir, libraryName(runtime.GOOS, stem)), nil)
	}
	e, err := FindEngine(home)
	if err != nil || e.Dir != dir || e.Version != "" {
		t.Errorf("found %+v, %v", e, err)
	}
	writeFileForTest(t, filepath.Join(dir, libraryName(runtime.GOOS, "llama.v0.1.0")), nil)
	_, err = FindEngine(home)
	wantError(t, err, "v0.1.0")
}
