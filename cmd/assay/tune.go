package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/internal/installed"
	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
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
				t.name, size(t.size(info)), size(info.Size)))
		default:
			list = append(list, t)
		}
	}
	return list, left
}

// A tuner makes a faster file of a model.
type tuner struct {
	s      *std
	home   string
	engine *models.Engine
	model  *models.Model
	info   *gguf.Info
	dir    string // for files that are not kept
}

func tuneModel(ctx context.Context, s *std, home string, args []string) error {
	f := s.flags("models tune", modelsHelp)
	kind := f.String("type", "", "make this `TYPE`, unmeasured: q4_0 (smaller) or q8_0 (closer to the original)")
	name := f.String("name", "", "the `NAME` of the result (default MODEL-TYPE)")
	format := f.String("format", "table", "table or json")
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	switch {
	case *kind != "" && *kind != "q4_0" && *kind != "q8_0":
		return usageError{withHint(fmt.Errorf("unknown type %q", *kind),
			"--type q4_0 or --type q8_0, or neither to have it chosen")}
	case *format != "table" && *format != "json":
		return usagef("unknown format %q: table or json", *format)
	case *name != "":
		if err := models.CheckName(*name); err != nil {
			return usageError{err}
		}
	}
	t, err := newTuner(s, home, f.Arg(0))
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.dir)
	if *kind != "" {
		return t.force(ctx, *kind, *name, *format)
	}
	return t.choose(ctx, *name, *format)
}

func newTuner(s *std, home, ref string) (*tuner, error) {
	m, err := models.Find(home, ref)
	if err != nil {
		return nil, usageError{err}
	}
	if m.Warning != "" {
		s.warn("%s", m.Warning)
	}
	if onnx.Is(m.Path) {
		return nil, errors.New("it is a model in ONNX: only GGUF files are requantised")
	}
	t := &tuner{s: s, home: home, model: m}
	info, head, err := models.Check(m.Path)
	if err != nil {
		return nil, err
	}
	t.info = info
	if head != nil {
		return nil, errors.New("the model's classification head lies in a file beside it: tune the GGUF file by its " +
			"path, and import the result with --head")
	}
	if t.info.Splits > 1 {
		return nil, errors.New("the model is split over several files: llama.cpp's gguf-split joins them, and the " +
			"result can be tuned")
	}
	if t.engine, err = models.FindEngine(home); err != nil {
		return nil, err
	}
	folder := filepath.Join(home, "models")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	t.dir, err = os.MkdirTemp(folder, ".tune-*.part")
	return t, err
}

// force makes one type and keeps it.
func (t *tuner) force(ctx context.Context, kind, name, format string) error {
	for _, w := range weightsTypes {
		if w.name != kind {
			continue
		}
		path, err := t.requantise(ctx, w)
		if err != nil {
			return err
		}
		return t.keep(path, kind, name, nil, format)
	}
	return usagef("unknown type %q", kind)
}

// choose measures the model as it is and each candidate, and keeps the fastest file. A candidate takes the place of
// what was best so far only by a clear margin.
func (t *tuner) choose(ctx context.Context, name, format string) error {
	if kind := installed.Kind(t.info); kind != "judge" {
		return usageError{withHint(fmt.Errorf("what is measured is reading and writing, and %s is of the kind %s",
			t.model.Name, kind),
			"--type q8_0 requantises it without measuring")}
	}
	list, left := candidates(t.info)
	for _, why := range left {
		t.s.note("%s", why)
	}
	if busy, err := cpu.PercentWithContext(ctx, time.Second/2, false); err == nil && len(busy) == 1 && busy[0] > 25 {
		t.s.warn("other programs keep %.0f%% of the processor busy: what is measured now is not what it can do, so "+
			"end them and tune again", busy[0])
	}
	t.s.note("measuring %s as it is", t.model.Name)
	best, err := t.measure(ctx, t.model.Path)
	if err != nil {
		return err
	}
	speeds, path, kind := []models.Speed{best}, "", ""
	for _, w := range list {
		made, speed, err := t.try(ctx, w)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			t.s.warn("%s is left out: %v", w.name, err)
			continue
		}
		speeds = append(speeds, speed)
		if speed.Calls > margin*best.Calls {
			best, kind = speed, w.name
			made, path = path, made
		}
		if made != "" {
			os.Remove(made)
		}
	}
	if format == "table" {
		printSpeeds(t.s, speeds, best.Weights)
	}
	return t.keep(path, kind, name, speeds, format)
}

// try makes one type and measures it.
func (t *tuner) try(ctx context.Context, w weightsType) (path string, speed models.Speed, err error) {
	t.s.note("making and measuring %s", w.name)
	if path, err = t.requantise(ctx, w); err == nil {
		speed, err = t.measure(ctx, path)
	}
	return path, speed, err
}

// requantise makes a file that is not kept yet.
func (t *tuner) requantise(ctx context.Context, w weightsType) (string, error) {
	need := w.size(t.info) + w.size(t.info)/10 // some tensors stay larger
	if usage, err := disk.Usage(t.dir); err == nil && usage.Free < uint64(need) {
		return "", fmt.Errorf("it takes about %s on the disk of %s, which has %s free: make room, or set ASSAY_HOME "+
			"to a folder on another disk",
			size(need), filepath.Dir(t.dir), size(int64(usage.Free)))
	}
	path := filepath.Join(t.dir, w.name+".gguf")
	return path, llama.Quantize(ctx, t.engine.Dir, t.model.Path, path, w.name)
}

// keep makes a model of the file, if there is one, and says what was decided.
func (t *tuner) keep(path, kind, name string, speeds []models.Speed, format string) error {
	var made *models.Model
	if path == "" {
		t.s.note("%s is fastest as it is: nothing was made", t.model.Name)
	} else {
		rec, err := t.record(kind, name)
		if err != nil {
			return err
		}
		rec.Measured = speeds
		made, err = models.Create(t.home, rec, func(part string, _ *models.Record) error {
			return os.Rename(path, part)
		})
		if err != nil {
			return err
		}
		t.s.note("made %s, %s (%s)", made.Name, size(made.Record.Size), made.Record.Digest)
	}
	if format != "json" {
		return nil
	}
	out := struct {
		Model    string         `json:"model"` // to use from now on
		Measured []models.Speed `json:"measured"`
		Record   *models.Record `json:"record,omitempty"`
	}{Model: t.model.Name, Measured: append([]models.Speed{}, speeds...)}
	if made != nil {
		out.Model, out.Record = made.Name, made.Record
	}
	return t.s.json(out)
}

// record says where the new model comes from.
func (t *tuner) record(kind, name string) (models.Record, error) {
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
func (t *tuner) measure(ctx context.Context, path string) (models.Speed, error) {
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

// printSpeeds prints what was measured; chosen is the type that is used from now on.
func printSpeeds(s *std, speeds []models.Speed, chosen string) {
	if len(speeds) == 0 {
		return
	}
	t := s.table("weights", "size", "prompt tok/s", fmt.Sprintf("reply tok/s, %d at once", speeds[0].Sequences),
		"calls/min", "")
	for i, v := range speeds {
		mark := ""
		if i == 0 {
			mark = "as it was"
		}
		if v.Weights == chosen {
			mark = "chosen"
		}
		t.AppendRow(table.Row{v.Weights, size(v.Size), fmt.Sprintf("%.0f", v.Prompt), fmt.Sprintf("%.0f", v.Reply),
			fmt.Sprintf("%.1f", v.Calls), mark})
	}
	t.Render()
}
