// Package library loads llama.cpp's shared libraries, of which a process has room for one copy, and tells what they can
// compute on. It has what the binding lacks: their version, tokens of any bytes, and their complaints.
package library

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
	"github.com/hybridgroup/yzma/pkg/loader"
	"github.com/jupiterrider/ffi"
	"github.com/shirou/gopsutil/v4/cpu"
	"golang.org/x/sync/semaphore"

	"github.com/assay-eval/assay/models"
)

// A Library is llama.cpp as this process has loaded it.
type Library struct {
	Dir     string   // the folder it came from
	Version string   // "v0.4.0"
	CPU     string   // the kernels chosen for this kind of processor, "sapphirerapids"; "" where there is but one
	Devices []string // what it can compute on besides the CPU: "CUDA0"
}

// String names the library with what the bits of answers depend on: "llama.cpp v0.4.0 cpu-haswell".
func (l Library) String() string {
	s := "llama.cpp " + l.Version
	if l.CPU != "" {
		s += " cpu-" + l.CPU
	}
	if len(l.Devices) > 0 {
		s += " " + strings.Join(l.Devices, "+")
	}
	return s
}

// Load loads the llama.cpp libraries in dir, or says what is wrong with them. A process has room for
// one copy: loading the same folder again is free, loading another is an error.
func Load(dir string) (Library, error) {
	process.mu.Lock()
	defer process.mu.Unlock()
	if err := process.load(dir); err != nil {
		return Library{}, err
	}
	return process.lib, nil
}

// process is the one copy of llama.cpp in this process. The library and its binding keep their state in
// globals of their own, which this mirrors.
var process = state{cores: sync.OnceValue(newPool)}

type state struct {
	mu     sync.Mutex // guards lib and broken
	lib    Library    // Dir is "" until it is loaded
	broken error      // set for good when what was loaded cannot be used

	tokenize ffi.Fun // set before the first engine is opened, then constant
	version  ffi.Fun
	log      logTail

	cores func() pool // see [Cores]
}

func (p *state) load(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	switch {
	case p.broken != nil:
		return p.broken
	case sameFolder(p.lib.Dir, dir):
		return nil
	case p.lib.Dir != "":
		return fmt.Errorf("this process has loaded llama.cpp from %s, and cannot load it from %s too", p.lib.Dir, dir)
	}
	for _, name := range []string{"ggml", "ggml-base", "llama"} {
		file := loader.GetLibraryFilename(dir, name)
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("no library %s: name a folder that holds those of llama.cpp %s",
				file, models.EngineVersion)
		}
	}
	if err := p.open(dir); err != nil {
		p.broken = err // half of it is in the process now, and cannot be taken out
		return err
	}
	p.lib.Dir = dir
	return nil
}

func sameFolder(a, b string) bool {
	if a == b {
		return true
	}
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}

// open loads the libraries and checks that they are the version that the binding was written for:
// another could lay out its structures in another way, and would then write where it should not.
func (p *state) open(dir string) error {
	if err := llama.Load(dir); err != nil {
		return fmt.Errorf("the libraries in %s cannot be used (%v): install llama.cpp %s for this system",
			dir, err, models.EngineVersion)
	}
	lib, err := loader.LoadLibrary(dir, "llama")
	if err != nil {
		return err
	}
	if p.version, err = lib.Prep("llama_version", &ffi.TypePointer); err != nil {
		return fmt.Errorf("the libraries in %s do not say their version, so they are not llama.cpp %s: install that",
			dir, models.EngineVersion)
	}
	var text *byte
	p.version.Call(unsafe.Pointer(&text))
	have, _, _ := strings.Cut("v"+goString(text), "-")
	if have != models.EngineVersion {
		return fmt.Errorf("the libraries in %s are llama.cpp %s, and this program needs %s: install that",
			dir, have, models.EngineVersion)
	}
	p.tokenize, err = lib.Prep("llama_tokenize", &ffi.TypeSint32, &ffi.TypePointer, &ffi.TypePointer,
		&ffi.TypeSint32, &ffi.TypePointer, &ffi.TypeSint32, &ffi.TypeUint8, &ffi.TypeUint8)
	if err != nil {
		return err
	}
	llama.LogSet(purego.NewCallback(func(level llama.LogLevel, text *byte, _ uintptr) uintptr {
		p.log.add(level, goString(text))
		return 0
	}))
	llama.BackendInit()
	if err := llama.GGMLBackendLoadAllFromPath(dir); err != nil {
		return err
	}
	if llama.GGMLBackendDeviceByType(llama.GGMLBackendDeviceTypeCPU) == 0 {
		return fmt.Errorf("no library in %s fits this processor: install llama.cpp %s for it%s",
			dir, models.EngineVersion, p.log.said())
	}
	p.lib = Library{Version: have, CPU: p.log.cpu, Devices: devices()}
	return nil
}

// Cores waits until so many of the processor's cores, or all if there are fewer, are not computing for another engine of
// this process, and returns what gives them back. Engines whose threads fit side by side compute at the same time;
// others take turns, in the order in which they came: more threads than cores would spin on the same ones and slow each
// other down to far below half.
func Cores(n int) (done func()) {
	cores := process.cores()
	some := int64(min(max(n, 1), cores.n))
	_ = cores.free.Acquire(context.Background(), some) // fails for a cancelled context only
	return func() { cores.free.Release(some) }
}

// A pool is the cores of the processor, of which those that nobody computes on are free.
type pool struct {
	n    int
	free *semaphore.Weighted
}

func newPool() pool {
	n := Physical()
	return pool{n, semaphore.NewWeighted(int64(n))}
}

// Physical is the number of cores that this process may use, hyperthreads not counted.
func Physical() int {
	n := runtime.GOMAXPROCS(0) // heeds the limits of a container
	if cores, err := cpu.Counts(false); err == nil && cores > 0 {
		n = min(n, cores)
	}
	return n
}

// devices names what llama.cpp found to compute on besides the processor.
func devices() []string {
	var names []string
	for i := range llama.GGMLBackendDeviceCount() {
		d := llama.GGMLBackendDeviceGet(i)
		if t := llama.GGMLBackendDevType(d); t == llama.GGMLBackendDeviceTypeGPU ||
			t == llama.GGMLBackendDeviceTypeIGPU {
			names = append(names, llama.GGMLBackendDeviceName(d))
		}
	}
	return names
}

// Tokenize cuts text into tokens, once the library is loaded. Any bytes will do, zeros too. With special, there are
// those tokens that the model adds at a text's start and end. Control tokens spelt out in the text stay text.
func Tokenize(vocab llama.Vocab, text string, special bool) []llama.Token {
	out := make([]llama.Token, len(text)+8)
	for {
		data, size := unsafe.StringData(text+"\x00"), int32(len(text))
		tokens, room := unsafe.SliceData(out), int32(len(out))
		parse := false
		var result ffi.Arg
		process.tokenize.Call(unsafe.Pointer(&result), unsafe.Pointer(&vocab), unsafe.Pointer(&data), &size,
			unsafe.Pointer(&tokens), &room, &special, &parse)
		n := int32(result)
		if n >= 0 {
			return out[:n]
		}
		out = make([]llama.Token, -n)
	}
}

// goString copies a C string.
func goString(s *byte) string {
	if s == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(s), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(s, n))
}

// A logTail keeps the last complaints of llama.cpp, which is otherwise silenced, for error messages.
type logTail struct {
	mu    sync.Mutex
	lines []string
	cpu   string // the CPU variant, which only the log names
}

func (t *logTail) add(level llama.LogLevel, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, file, ok := strings.Cut(text, "loaded CPU backend from "); ok {
		_, variant, _ := strings.Cut(filepath.Base(strings.TrimSpace(file)), "ggml-cpu-")
		t.cpu = strings.TrimSuffix(variant, filepath.Ext(variant))
	}
	if level < llama.LogLevelWarn || strings.TrimSpace(text) == "" || level == llama.LogLevelContinue {
		return
	}
	t.lines = append(t.lines, strings.TrimSpace(text))
	if len(t.lines) > 4 {
		t.lines = t.lines[1:]
	}
}

// Complaints returns the last complaints of llama.cpp as the end of an error message, and forgets them; "" if it had none.
func Complaints() string { return process.log.said() }

// said returns the last complaints as the end of an error message, and forgets them.
func (t *logTail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 0 {
		return ""
	}
	s := " (llama.cpp says: " + strings.Join(t.lines, "; ") + ")"
	t.lines = nil
	return s
}
