// Package tune makes a faster file of a model: it requantises the weights to other types, measures each on this machine,
// and keeps the fastest.
package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"

	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/internal/installed"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/units"
	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
)

// What tune weighs and measures.
const (
	margin     = 1.1 // how many times as fast another type must be to be worth its disk space, or its rounding
	mostGrowth = 4   // a file that would grow by more than this is not made

	tuneSlots  = 16 // sequences computed at once
	tunePrompt = 64 // tokens of each
	tuneReply  = 12
	tuneFor    = 5 * time.Second

	callReads, callWrites = 200, 40 // tokens, of the call that speeds are weighed by
)

// A weightsType is one that tune can make.
type weightsType struct {
	name string
	bits float64 // a weight, about
}

// weightsTypes are in the order in which they are tried: the one closer to the original first, and the smaller one
// only where it is faster still.
var weightsTypes = []weightsType{{"q8_0", 8.5}, {"q4_0", 4.5}}

// size is about what a model of this type takes.
func (t weightsType) size(info *gguf.Info) int64 {
	return int64(float64(info.Parameters) * t.bits / 8)
}

// candidates are the types worth a try for a model, and why others are not.
func candidates(info *gguf.Info) (list []weightsType, left []string) {
	for _, t := range weightsTypes {
		switch {
		case strings.EqualFold(t.name, info.Quantisation):
		case t.size(info) > mostGrowth*info.Size:
			left = append(left, fmt.Sprintf("%s is left out: it would take %s for the %s that the file has",
				t.name, units.Size(t.size(info)), units.Size(info.Size)))
		default:
			list = append(list, t)
		}
	}
	return list, left
}

// A Tuner makes faster files of one model.
type Tuner struct {
	home   string
	engine *models.Engine
	model  *models.Model
	info   *gguf.Info
	dir    string // for files that are not kept

	say, warn func(format string, args ...any)
}

// Open finds a model that can be requantised: one GGUF file, whole in itself. say and warn are told how it goes. A model
// that is not there is a [runs.InputError].
func Open(home, ref string, say, warn func(format string, args ...any)) (*Tuner, error) {
	m, err := models.Find(home, ref)
	if err != nil {
		return nil, &runs.InputError{Err: err}
	}
	if m.Warning != "" {
		warn("%s", m.Warning)
	}
	if onnx.Is(m.Path) {
		return nil, errors.New("it is a model in ONNX: only GGUF files are requantised")
	}
	info, head, err := models.Check(m.Path)
	if err != nil {
		return nil, err
	}
	if head != nil {
		return nil, errors.New("the model's classification head lies in a file beside it: tune the GGUF file by its " +
			"path, and import the result with --head")
	}
	if info.Splits > 1 {
		return nil, errors.New("the model is split over several files: llama.cpp's gguf-split joins them, and the " +
			"result can be tuned")
	}
	engine, err := models.FindEngine(home)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(home, "models")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(folder, ".tune-*.part")
	if err != nil {
		return nil, err
	}
	return &Tuner{home, engine, m, info, dir, say, warn}, nil
}

// Close removes the files that were not kept.
func (t *Tuner) Close() error { return os.RemoveAll(t.dir) }

// A Choice is a file, made but not kept yet, or the model as it is.
type Choice struct {
	Speeds []models.Speed // what was measured: of the model as it is first; nil: nothing was
	Best   string         // the weights of the fastest among them

	path, kind string // of the file and its weights; "": the model as it is
}

// Make requantises the model to a type, unmeasured.
func (t *Tuner) Make(ctx context.Context, kind string) (*Choice, error) {
	for _, w := range weightsTypes {
		if w.name == kind {
			path, err := t.requantise(ctx, w)
			return &Choice{path: path, kind: kind}, err
		}
	}
	return nil, runs.Inputf("unknown type %q", kind).WithHint(
		"--type q4_0 or --type q8_0, or neither to have it chosen")
}

// Choose measures the model as it is and each candidate, and chooses the fastest file. A candidate takes the place of
// what was best so far only by a clear margin; one that cannot be made is left out with a warning.
func (t *Tuner) Choose(ctx context.Context) (*Choice, error) {
	if kind := installed.Kind(t.info); kind != "judge" {
		return nil, runs.Inputf("what is measured is reading and writing, and %s is of the kind %s", t.model.Name, kind).WithHint(
			"--type q8_0 requantises it without measuring")
	}
	list, left := candidates(t.info)
	for _, why := range left {
		t.say("%s", why)
	}
	if busy, err := cpu.PercentWithContext(ctx, time.Second/2, false); err == nil && len(busy) == 1 && busy[0] > 25 {
		t.warn("other programs keep %.0f%% of the processor busy: what is measured now is not what it can do, so "+
			"end them and tune again", busy[0])
	}
	t.say("measuring %s as it is", t.model.Name)
	best, err := t.measure(ctx, t.model.Path)
	if err != nil {
		return nil, err
	}
	c := &Choice{Speeds: []models.Speed{best}}
	for _, w := range list {
		made, speed, err := t.try(ctx, w)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			t.warn("%s is left out: %v", w.name, err)
			continue
		}
		c.Speeds = append(c.Speeds, speed)
		if speed.Calls > margin*best.Calls {
			best, c.kind = speed, w.name
			made, c.path = c.path, made
		}
		if made != "" {
			os.Remove(made)
		}
	}
	c.Best = best.Weights
	return c, nil
}

// try makes one type and measures it.
func (t *Tuner) try(ctx context.Context, w weightsType) (path string, speed models.Speed, err error) {
	t.say("making and measuring %s", w.name)
	if path, err = t.requantise(ctx, w); err == nil {
		speed, err = t.measure(ctx, path)
	}
	return path, speed, err
}

// requantise makes a file that is not kept yet.
func (t *Tuner) requantise(ctx context.Context, w weightsType) (string, error) {
	need := w.size(t.info) + w.size(t.info)/10 // some tensors stay larger
	if usage, err := disk.Usage(t.dir); err == nil && usage.Free < uint64(need) {
		return "", fmt.Errorf("it takes about %s on the disk of %s, which has %s free: make room, or set ASSAY_HOME "+
			"to a folder on another disk",
			units.Size(need), filepath.Dir(t.dir), units.Size(int64(usage.Free)))
	}
	path := filepath.Join(t.dir, w.name+".gguf")
	return path, llama.Quantize(ctx, t.engine.Dir, t.model.Path, path, w.name)
}

// A Result is what came of tuning.
type Result struct {
	Model    string         `json:"model"` // to use from now on
	Measured []models.Speed `json:"measured"`
	Record   *models.Record `json:"record,omitempty"` // of a model that was made; nil: none was
}

// Keep makes a model of the choice, if it is a file, by a name, "" for one that tells what it was made of; and says what
// was decided.
func (t *Tuner) Keep(c *Choice, name string) (*Result, error) {
	r := &Result{Model: t.model.Name, Measured: append([]models.Speed{}, c.Speeds...)}
	if c.path == "" {
		t.say("%s is fastest as it is: nothing was made", t.model.Name)
		return r, nil
	}
	rec, err := t.record(c.kind, name)
	if err != nil {
		return nil, err
	}
	rec.Measured = c.Speeds
	made, err := models.Create(t.home, rec, func(part string, _ *models.Record) error { return os.Rename(c.path, part) })
	if err != nil {
		return nil, err
	}
	t.say("made %s, %s (%s)", made.Name, units.Size(made.Record.Size), made.Record.Digest)
	r.Model, r.Record = made.Name, made.Record
	return r, nil
}

// record says where the new model comes from.
func (t *Tuner) record(kind, name string) (models.Record, error) {
	digest, err := models.Digest(t.model.Path)
	if err != nil {
		return models.Record{}, err
	}
	rec := models.Record{Name: name, Source: t.model.Path, Note: "requantised to " + kind, Tuned: digest}
	if t.model.Record != nil {
		rec.Source, rec.Licence = t.model.Record.Source, t.model.Record.Licence
	}
	if rec.Name == "" {
		stem := strings.NewReplacer("ollama:", "", ":", "-", "/", "-").Replace(t.model.Name)
		rec.Name = stem + "-" + kind
	}
	return rec, nil
}

// measure opens a model and measures it.
func (t *Tuner) measure(ctx context.Context, path string) (models.Speed, error) {
	info, err := gguf.Check(path)
	if err != nil {
		return models.Speed{}, err
	}
	o := llama.Options{Lib: t.engine.Dir, Model: path, Digest: "unused", Context: 1024, Slots: tuneSlots}
	if info.Context > 0 {
		o.Context = min(o.Context, info.Context)
	}
	e, err := llama.Open(ctx, o)
	if err != nil {
		return models.Speed{}, err
	}
	defer e.Close()
	speed := models.Speed{Weights: info.Quantisation, Size: info.Size, Sequences: tuneSlots}
	if _, err := e.Bench(ctx, llama.Shape{Sequences: 1, Prompt: 8, Reply: 2}); err != nil { // reads the weights from the disk
		return models.Speed{}, err
	}
	shape := llama.Shape{Sequences: tuneSlots, Prompt: min(tunePrompt, o.Context-tuneReply-1), Reply: tuneReply}
	// The best of several rounds, since what else runs on the machine can only slow a round down.
	for start := time.Now(); speed.Reply == 0 || time.Since(start) < tuneFor; {
		round, err := e.Bench(ctx, shape)
		if err != nil {
			return models.Speed{}, err
		}
		speed.Prompt, speed.Reply = max(speed.Prompt, round.PromptRate()), max(speed.Reply, round.ReplyRate())
	}
	speed.Calls = 60 / (callReads/speed.Prompt + callWrites/speed.Reply)
	return speed, nil
}
