package models

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/assay-eval/assay/models/gguf"
)

// EngineVersion is the llama.cpp release whose libraries are installed and used.
const EngineVersion = gguf.LlamaVersion

// An Engine is a folder of llama.cpp's shared libraries.
type Engine struct {
	Name      string    `json:"name"`             // "llama.cpp-v0.4.0-linux-x64"
	Version   string    `json:"version"`          // llama.cpp's: "v0.4.0"; "" where the folder does not say
	Platform  string    `json:"platform"`         // as in the name of its package: "linux-x64", "win-x64-cuda"
	Source    string    `json:"source,omitempty"` // the package it came in: "@node-llama-cpp/linux-x64@3.21.1"
	SHA512    string    `json:"sha512,omitempty"` // of the archive, in hex; of two with a + between; "" of a folder
	Installed time.Time `json:"installed"`

	Dir string `json:"-"` // where the libraries are
}

// engineRecord is the name of the file that holds an Engine beside its libraries.
const engineRecord = "engine.json"

// Engines returns the engines of the home folder, sorted by name. There may be none.
func Engines(home string) ([]Engine, error) {
	root := filepath.Join(home, "engines")
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var list []Engine
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		e, err := readEngine(filepath.Join(root, entry.Name()))
		if err != nil {
			return nil, err
		}
		if e != nil {
			list = append(list, *e)
		}
	}
	slices.SortFunc(list, func(a, b Engine) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// readEngine reads the record in dir; nil if there is none.
func readEngine(dir string) (*Engine, error) {
	path := filepath.Join(dir, engineRecord)
	data, err := readJSON(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := new(Engine)
	if err := json.Unmarshal(data, e); err != nil {
		return nil, fmt.Errorf("%s is damaged (%v): remove its folder and install the engine again", path, err)
	}
	e.Dir = dir
	return e, nil
}

// FindEngine returns the engine to use: the folder that $ASSAY_LLAMA_LIB names, else one of the home
// folder for this machine's platform: the one that [FetchEngine] was last asked for, one for a GPU before others, the
// newest before older ones. Its error says how to get one.
func FindEngine(home string) (*Engine, error) {
	if dir := os.Getenv("ASSAY_LLAMA_LIB"); dir != "" {
		e, err := engineAt(dir)
		if err != nil {
			return nil, fmt.Errorf("ASSAY_LLAMA_LIB: %w", err)
		}
		return e, nil
	}
	list, err := Engines(home)
	if err != nil {
		return nil, err
	}
	platform := platformName(runtime.GOOS, runtime.GOARCH)
	var best *Engine
	var others []string
	chosen := chosenEngine(home)
	for i := range list {
		e := &list[i]
		switch {
		case e.Platform != platform && !strings.HasPrefix(e.Platform, platform+"-"), e.Version != EngineVersion:
			others = append(others, e.Name)
		case best == nil || e.Name == chosen || best.Name != chosen && e.preferredTo(best, platform):
			best = e
		}
	}
	if best == nil {
		have := ""
		if others != nil {
			have = " (there is " + strings.Join(others, ", ") + ", which does not fit)"
		}
		return nil, fmt.Errorf("no llama.cpp %s libraries for %s in %s%s: run scripts/setup.sh, or fetch a package of "+
			"them with: assay models engine --gpu none|cuda|vulkan, or set ASSAY_LLAMA_LIB to a folder that holds %s",
			EngineVersion, platform, filepath.Join(home, "engines"), have, libraryName(runtime.GOOS, "llama"))
	}
	return best, checkLibraries(best.Dir)
}

// choicePath is where the name of the engine that the user chose is kept.
func choicePath(home string) string { return filepath.Join(home, "engines", "choice") }

func chooseEngine(home, name string) error {
	return writeFile(choicePath(home), []byte(name+"\n"))
}

// chosenEngine is the name of the engine that the user chose, "" if there is none.
func chosenEngine(home string) string {
	data, err := readJSON(choicePath(home))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// preferredTo reports whether e, of two engines for a platform, is the one that was chosen on purpose: the
// one for a GPU, or the one installed last.
func (e *Engine) preferredTo(other *Engine, platform string) bool {
	if plain := e.Platform == platform; plain != (other.Platform == platform) {
		return !plain
	}
	return e.Installed.After(other.Installed)
}

// engineAt describes a folder of libraries that was not installed by us.
func engineAt(dir string) (*Engine, error) {
	if err := checkLibraries(dir); err != nil {
		return nil, err
	}
	e, err := readEngine(dir)
	if err != nil {
		return nil, err
	}
	if e == nil {
		e = &Engine{Name: filepath.Base(dir), Platform: platformName(runtime.GOOS, runtime.GOARCH), Dir: dir}
		e.Version, err = libraryVersion(dir)
		if err != nil {
			return nil, err
		}
	}
	if e.Version != "" && e.Version != EngineVersion {
		return nil, fmt.Errorf("%s holds llama.cpp %s and this program is built for %s: "+
			"run scripts/setup.sh for the right one", dir, e.Version, EngineVersion)
	}
	return e, nil
}

// opened are the libraries that the engine opens by name.
var opened = []string{"llama", "ggml", "ggml-base"}

// checkLibraries reports a folder that lacks one of the libraries that are opened by name.
func checkLibraries(dir string) error {
	var missing []string
	for _, stem := range opened {
		name := libraryName(runtime.GOOS, stem)
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return fmt.Errorf("%s lacks %s: it must be a folder of llama.cpp %s libraries under those names; "+
			"scripts/setup.sh makes one", dir, strings.Join(missing, ", "), EngineVersion)
	}
	return nil
}

// libraryName is the file name of a library on an operating system.
func libraryName(goos, stem string) string {
	switch goos {
	case "windows":
		return stem + ".dll"
	case "darwin":
		return "lib" + stem + ".dylib"
	}
	return "lib" + stem + ".so"
}

// platformName is what packages call an operating system and architecture: "linux-x64".
func platformName(goos, goarch string) string {
	system := map[string]string{"darwin": "mac", "windows": "win"}
	machine := map[string]string{"amd64": "x64"}
	return cmp.Or(system[goos], goos) + "-" + cmp.Or(machine[goarch], goarch)
}

// systemOf is the operating system (as GOOS) that a platform's name starts with.
func systemOf(platform string) string {
	system, _, _ := strings.Cut(platform, "-")
	return cmp.Or(map[string]string{"mac": "darwin", "win": "windows"}[system], system)
}

// versioned matches the libraries whose names carry a version: libllama.v0.4.0.so, libggml.metal.v0.4.0.dylib.
var versioned = regexp.MustCompile(`^(?:lib)?(llama|ggml)(?:\.[a-z0-9]+)?\.(v\d+\.\d+\.\d+)\.(?:so|dylib|dll)$`)

// libraryVersion is the version in the names of a folder's libraries, "" if they have none.
func libraryVersion(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		if m := versioned.FindStringSubmatch(entry.Name()); m != nil && m[1] == "llama" {
			return m[2], nil
		}
	}
	return "", nil
}
