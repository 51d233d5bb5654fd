// Package doctor looks at what Assay needs on this machine, and says what to mend.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/backend/llama/library"
	"github.com/assay-eval/assay/backend/ollama"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/backend/openai"
	"github.com/assay-eval/assay/internal/installed"
	"github.com/assay-eval/assay/internal/units"
	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
)

// Options say where to look.
type Options struct {
	Home   string                               // Assay's folder
	Ollama string                               // the address of an Ollama server; "": $OLLAMA_HOST, or its usual one
	OpenAI *openai.Options                      // a server with OpenAI's routes; nil: none
	Cache  func(func(*cache.Store) error) error // opens the cache of answers, and closes it after the call
}

// A Check is how one thing stands, and what to do about it if that is not well.
type Check struct {
	Thing  string `json:"thing"`
	Status Status `json:"status"`
	Is     string `json:"is"`
	Mend   string `json:"mend,omitempty"`
}

// A Status is how a thing stands.
type Status string

// The statuses.
const (
	Good Status = "ok"
	Fair Status = "note"
	Bad  Status = "bad"
)

// Look checks everything. It reports, too, whether one engine has what it takes to judge.
func Look(ctx context.Context, o Options) (checks []Check, ready bool) {
	d := &doctor{home: o.Home}
	d.machine()
	d.folder()
	library := d.library()
	runtime := d.onnx()
	judges, encoders := d.models()
	d.cache(ctx, o.Cache)
	servers := d.ollama(ctx, o.Ollama)
	if o.OpenAI != nil {
		servers = d.openai(ctx, *o.OpenAI) || servers
	}
	return d.checks, library && judges || runtime && encoders || servers
}

// A doctor collects checks.
type doctor struct {
	checks []Check
	home   string
	gpus   []library.Device
}

func (d *doctor) say(thing string, st Status, mend, format string, args ...any) {
	d.checks = append(d.checks, Check{thing, st, fmt.Sprintf(format, args...), mend})
}

// machine describes the processor and the memory.
func (d *doctor) machine() {
	cores, err := cpu.Counts(false)
	if err != nil || cores == 0 {
		cores = runtime.NumCPU()
	}
	memory := "memory unknown"
	if vm, err := mem.VirtualMemory(); err == nil {
		memory = fmt.Sprintf("%s of memory, %s free", units.Size(int64(vm.Total)), units.Size(int64(vm.Available)))
	}
	d.say("machine", Good, "", "%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, cores, memory)
}

// folder checks that the home folder can be written and has room.
func (d *doctor) folder() {
	err := os.MkdirAll(d.home, 0o777)
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(d.home, ".doctor-*")
	}
	if err != nil {
		d.say("folder", Bad, "make it writable, or set ASSAY_HOME to a folder that is", "%v", err)
		return
	}
	f.Close()
	os.Remove(f.Name())
	usage, err := disk.Usage(d.home)
	switch {
	case err != nil:
		d.say("folder", Good, "", "%s", d.home)
	case usage.Free < 2e9:
		d.say("folder", Fair, "a model takes 0.5 GB and more: make room", "%s, only %s free", d.home,
			units.Size(int64(usage.Free)))
	default:
		d.say("folder", Good, "", "%s, %s free", d.home, units.Size(int64(usage.Free)))
	}
}

// library checks that llama.cpp is there and loads.
func (d *doctor) library() bool {
	const mend = "make demo installs it, and so does assay models engine --gpu none; --install FILE installs an " +
		"archive that you have"
	e, err := models.FindEngine(d.home)
	if err != nil {
		d.say("llama.cpp", Bad, mend, "%v", err)
		return false
	}
	lib, err := library.Load(e.Dir)
	if err != nil {
		d.say("llama.cpp", Bad, mend, "%v", err)
		return false
	}
	on := "the processor only"
	if len(lib.Devices) > 0 {
		on = strings.Join(lib.Devices, ", ")
	}
	d.say("llama.cpp", Good, "", "%v on %s, from %s", lib, on, e.Dir)
	d.cards(e.Dir)
	return true
}

// onnx checks ONNX Runtime's library, which only models in ONNX need.
func (d *doctor) onnx() bool {
	l, err := models.FindONNX(d.home)
	if err != nil {
		d.say("ONNX Runtime", Fair, "", "not used: %v", err)
		return false
	}
	lib, err := onnx.Load(l.File)
	if err != nil {
		d.say("ONNX Runtime", Bad, "", "%v", err)
		return false
	}
	defer lib.Close()
	d.say("ONNX Runtime", Good, "", "%v on %s, from %s", lib, onnx.Kernels(), l.File)
	return true
}

// cards lists the graphics cards, or says why libraries that are made for some see none.
func (d *doctor) cards(dir string) {
	d.gpus = library.GPUs()
	for _, g := range d.gpus {
		d.say("gpu", Good, "", "%s: %s, %s of memory, %s free", g.Name, g.Description, units.Size(int64(g.Total)),
			units.Size(int64(g.Free)))
	}
	kind, err := library.GPUKind(dir)
	switch {
	case len(d.gpus) > 0 || kind == "":
	case err != nil:
		d.say("gpu", Fair, gpuAdvice(err), "not used: the %s library cannot be loaded (%v)", kind, err)
	default:
		d.say("gpu", Fair, "install the card's driver; without a card: assay models engine --gpu none",
			"the %s library is loaded and sees no card", kind)
	}
}

// gpuAdvice says what to do when the system's loader refuses the library for a graphics card.
func gpuAdvice(err error) string {
	const without = ", or do without: assay models engine --gpu none"
	text := strings.ToLower(err.Error())
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
	}
	switch {
	case has("libcudart", "libcublas", "cudart64", "cublas64"):
		version, other := "13", "assay models engine --gpu cuda12 for CUDA 12, --gpu vulkan for neither"
		if has(".so.12", "64_12") {
			version, other = "12", "assay models engine --gpu vulkan"
		}
		return "install the runtime and cuBLAS of CUDA " + version + " (docs/models.md), or use " + other + without
	case has("libcuda.so", "nvcuda"):
		return "install NVIDIA's driver" + without
	case has("libvulkan", "vulkan-1"):
		return "install the Vulkan loader (libvulkan1 on Debian) and the card's driver" + without
	}
	return "docs/models.md lists what it needs; install that" + without
}

// models checks every installed model and reports whether one can judge on llama.cpp, and one on ONNX Runtime.
func (d *doctor) models() (local, encoders bool) {
	list, err := models.List(d.home)
	if err != nil {
		d.say("models", Bad, "", "%v", err)
		return false, false
	}
	if len(list) == 0 {
		d.say("models", Bad, "make demo fetches two small ones; assay models import --name NAME FILE adds a GGUF file",
			"none")
		return false, false
	}
	for _, m := range list {
		info, err := installed.Check(m.Path)
		if err != nil {
			d.say(m.Name, Bad, "", "%v", err)
			continue
		}
		judge := d.model(m, info)
		if onnx.Is(m.Path) {
			encoders = judge || encoders
		} else {
			local = judge || local
		}
	}
	return local, encoders
}

// model checks one model and reports whether it can judge here.
func (d *doctor) model(m models.Model, info *gguf.Info) (judge bool) {
	kind := installed.Kind(info)
	what := fmt.Sprintf("%s, %s %s, %s, context %d%s",
		kind, info.Architecture, info.Quantisation, units.Size(info.Size), info.Context, d.place(m, info))
	vm, err := mem.VirtualMemory()
	switch {
	case m.Err != nil:
		d.say(m.Name, Fair, "import it again", "%s; its record cannot be read: %v", what, m.Err)
	case err == nil && uint64(info.Size) > vm.Available:
		d.say(m.Name, Bad, "close other programs, or use a smaller model or quantisation",
			"%s: more than the free memory", what)
		return false
	case info.Doubt != "":
		d.say(m.Name, Fair, "", "%s; %s", what, info.Doubt)
	case kind == "judge" && info.Template == "":
		d.say(m.Name, Fair, "take the chat or instruct variant of the model", "%s; it has no chat template", what)
	case kind == "judge" && slow(info.Quantisation) && len(d.gpus) == 0:
		d.say(m.Name, Fair, "assay models tune "+m.Name, "%s: slow on a processor", what)
	default:
		d.say(m.Name, Good, "", "%s", what)
	}
	return kind != "embedding"
}

// place says whether the graphics cards have room for a model's weights and a cache of 16 calls; "" without a card.
func (d *doctor) place(m models.Model, info *gguf.Info) string {
	if len(d.gpus) == 0 || onnx.Is(m.Path) {
		return ""
	}
	free := int64(0)
	var names []string
	for _, g := range d.gpus {
		free += int64(g.Free)
		names = append(names, g.Name)
	}
	where := strings.Join(names, " and ")
	need := info.Size + 16*int64(min(info.Context, 4096))*info.KVBytes
	if need > free {
		return fmt.Sprintf("; needs some %s with its cache, more than the %s free on %s", units.Size(need), units.Size(free), where)
	}
	return "; fits whole on " + where
}

// slow reports whether weights of a type are slow to compute with on a processor: the 1- to 3-bit
// "i" types look every weight up in a table.
func slow(quantisation string) bool {
	return strings.HasPrefix(quantisation, "IQ1") || strings.HasPrefix(quantisation, "IQ2") ||
		strings.HasPrefix(quantisation, "IQ3")
}

// cache checks the answer cache.
func (d *doctor) cache(ctx context.Context, with func(func(*cache.Store) error) error) {
	path := filepath.Join(d.home, "cache", "answers.db")
	if _, err := os.Stat(path); err != nil {
		d.say("cache", Good, "", "none yet")
		return
	}
	err := with(func(store *cache.Store) error {
		if err := store.Check(); err != nil {
			return err
		}
		st, err := store.Stats(ctx)
		if err == nil {
			d.say("cache", Good, "", "%d answers, %s, %s", st.Entries, units.Size(st.Bytes), path)
		}
		return err
	})
	if err != nil {
		d.say("cache", Bad, "", "%v", err)
	}
}

// openai looks at a server with OpenAI's routes, at its only model or at each by name, and reports whether one can judge.
func (d *doctor) openai(ctx context.Context, o openai.Options) (judge bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	names, err := openai.Models(ctx, o)
	if err != nil {
		d.say("openai", Bad, "", "%v", err)
		return false
	}
	d.say("openai", Good, "", "a server with %s", strings.Join(names, ", "))
	if len(names) > 1 {
		return true // to open each could have the server load them all
	}
	e, err := openai.Open(ctx, o)
	if err != nil {
		d.say("openai", Bad, "", "%v", err)
		return false
	}
	defer e.Close()
	info := e.Info()
	d.say("openai", Good, "", "%s on %s, %d tokens, %d at once; it can %v", info.Model, info.Engine, info.Context, info.Slots, info.Ops)
	return info.Ops.Has(backend.CanGenerate) || info.Ops.Has(backend.CanClassify)
}

// ollama looks for a server and reports whether it can judge.
func (d *doctor) ollama(ctx context.Context, address string) (judge bool) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	list, err := ollama.Models(ctx, address)
	switch {
	case errors.Is(err, backend.ErrUnavailable):
		d.say("ollama", Fair, "", "no server answers; that is fine unless you want --backend ollama")
		return false
	case err != nil:
		d.say("ollama", Bad, "", "%v", err)
		return false
	case len(list) == 0:
		d.say("ollama", Fair, "ollama pull MODEL", "a server without models")
		return false
	}
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
		judge = judge || m.Ops.Has(backend.CanGenerate)
	}
	d.say("ollama", Good, "", "a server with %s", strings.Join(names, ", "))
	d.parallel(ctx, address, list)
	return judge
}

// parallel finds out how many requests the server serves at once, with its smallest judge.
func (d *doctor) parallel(ctx context.Context, address string, list []ollama.Model) {
	var small *ollama.Model
	for i, m := range list {
		if m.Ops.Has(backend.CanGenerate) && m.Remote == "" && (small == nil || m.Size < small.Size) {
			small = &list[i]
		}
	}
	if small == nil {
		return
	}
	e, err := ollama.Open(ctx, ollama.Options{Address: address, Model: small.Name})
	if err != nil {
		d.say("ollama", Fair, "", "%s does not answer: %v", small.Name, err)
		return
	}
	defer e.Close()
	served, hint := e.Parallel()
	st := Good
	if hint != "" {
		st = Fair
	}
	d.say("ollama", st, hint, "serves %d at once, context %d", served, e.Info().Context)
}
