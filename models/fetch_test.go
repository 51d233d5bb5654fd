package models

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestEnginePins(t *testing.T) {
	platforms, pins := enginePins()
	if len(platforms) < 10 {
		t.Fatalf("only %d platforms: %v", len(platforms), platforms)
	}
	source := regexp.MustCompile(`^@[a-z0-9-]+/[a-z0-9-]+@[0-9]+\.[0-9]+\.[0-9]+$`)
	for _, p := range platforms {
		if !platformRE.MatchString(p) || len(pins[p]) > 2 {
			t.Errorf("platform %s has %v", p, pins[p])
		}
		for _, pin := range pins[p] {
			if sum, err := hex.DecodeString(pin.sum); err != nil || len(sum) != 64 || !source.MatchString(pin.source) {
				t.Errorf("%s: bad pin %v", p, pin)
			}
		}
	}
	check := func(machine, want string) {
		t.Helper()
		if got := strings.Join(gpuKinds(machine), " "); got != want {
			t.Errorf("%s has %q, want %q", machine, got, want)
		}
	}
	check("linux-x64", "none cuda cuda12 vulkan")
	check("linux-arm64", "none")
	check("mac-arm64", "metal")
	check("win-x64", "none cuda cuda12 vulkan")
	check("plan9-386", "")
}

func TestFetchEngineRefuses(t *testing.T) {
	home := testHome(t)
	for _, kind := range []string{"", "abacus", "../x"} {
		_, err := FetchEngine(t.Context(), home, kind, t.Logf)
		wantError(t, err, "no llama.cpp package is known")
	}
}

// fakeNPM puts a program called npm before all others.
func fakeNPM(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripted npm is a shell script")
	}
	dir := t.TempDir()
	path := writeFileForTest(t, filepath.Join(dir, "npm"), []byte("#!/bin/sh\n"+script))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestFetch(t *testing.T) {
	good := archive(t, enginePackage("linux-x64", EngineVersion)...)
	sum, err := sum512(good)
	if err != nil {
		t.Fatal(err)
	}
	p := pin{source: "@x/y@1.2.3", sum: sum}
	dir := t.TempDir()
	path := filepath.Join(dir, "x-y-1.2.3.tgz")
	check := func(want string) {
		t.Helper()
		_, err := p.fetch(t.Context(), dir, t.Logf)
		wantError(t, err, want)
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%s: left %v, %v", want, left, err)
		}
	}
	fakeNPM(t, "echo no such package >&2; exit 1\n")
	check("no such package")
	fakeNPM(t, "exit 0\n")
	check("0 archives")
	fakeNPM(t, "echo other >y.tgz\n")
	check("is not the one that this program knows")
	fakeNPM(t, `[ "$4" = @x/y@1.2.3 ] && cp "`+good+`" y.tgz`+"\n")
	got, err := p.fetch(t.Context(), dir, t.Logf)
	if err != nil || got != path {
		t.Fatalf("fetched %s, %v; want %s", got, err, path)
	}

	// What is there is not fetched again, unless it is damaged.
	fakeNPM(t, "exit 1\n")
	if got, err := p.fetch(t.Context(), dir, t.Logf); err != nil || got != path {
		t.Errorf("fetched %s, %v", got, err)
	}
	writeFileForTest(t, path, []byte("damaged"))
	if _, err := p.fetch(t.Context(), dir, t.Logf); err == nil {
		t.Error("a damaged archive was taken")
	}
	t.Setenv("PATH", "")
	_, err = p.fetch(t.Context(), dir, t.Logf)
	wantError(t, err, "put the archive here as "+path)
}

// TestFallback installs a CUDA package with its extension.
func TestFallback(t *testing.T) {
	home := testHome(t)
	name := "package/bins/linux-x64-cuda/libggml-cuda.so"
	base := archive(t, append(enginePackage("linux-x64-cuda", EngineVersion), entry{name: name, text: "13"})...)
	ext := archive(t, entry{name: "package/package.json", text: `{"name":"@x/ext","version":"1.2.3"}`},
		entry{name: "package/bins/linux-x64-cuda/fallback/libggml-cuda.so", text: "12"})
	e, err := InstallEngine(t.Context(), home, base, ext)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(e.Dir, "libggml-cuda.so"))
	if err != nil || string(data) != "12" || e.Platform != "linux-x64-cuda12" ||
		e.Source != "@x/linux-x64-cuda@1.2.3+@x/ext@1.2.3" {
		t.Errorf("installed %+v with the library %q, %v", e, data, err)
	}
	for _, sources := range [][]string{{ext}, {ext, base}, {base, ext, ext}} {
		_, err := InstallEngine(t.Context(), home, sources...)
		wantError(t, err, "name that package first")
	}
}

// TestChoice has two engines and chooses each.
func TestChoice(t *testing.T) {
	home := testHome(t)
	t.Setenv("ASSAY_LLAMA_LIB", "")
	plain := platformName(runtime.GOOS, runtime.GOARCH)
	var names []string
	for _, platform := range []string{plain, plain + "-vulkan"} {
		e, err := InstallEngine(t.Context(), home, archive(t, enginePackage(platform, EngineVersion)...))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
	}
	check := func(want string) {
		t.Helper()
		if e, err := FindEngine(home); err != nil || e.Name != want {
			t.Errorf("found %+v, %v; want %s", e, err, want)
		}
	}
	check(names[1])
	for _, name := range slices.Concat(names, names) {
		if err := chooseEngine(home, name); err != nil {
			t.Fatal(err)
		}
		check(name)
	}
	if err := chooseEngine(home, "gone"); err != nil {
		t.Fatal(err)
	}
	check(names[1])
}
