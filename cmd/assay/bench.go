package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/shirou/gopsutil/v4/cpu"
)

const benchHelp = `
Usage: assay bench [--model MODEL] [--data FILE --embed-model MODEL] [flags]

Measures how fast this machine evaluates with a model. First the engine alone: tokens a second of prompt
and of reply, with 1, 4, 16 and 32 sequences at once. Then, with --data, whole rows: the three metrics of the
RAGAS paper, with the cache off. No other program should be busy meanwhile.

  assay bench --model tinyllama-q4_0
  assay bench --model tinyllama-q4_0 --embed-model minilm --data examples/qa.jsonl --limit 8

With --preset, rows are scored by its metrics, and rows alone are measured, if --sequences is not given too. Reading
efficiency is how many tokens of prompts were computed for each token of the rows' own text: contexts, question,
history, answer, and the references where a metric needs them. It does not depend on the machine.

  assay bench --model tinyllama-q4_0 --data examples/qa.jsonl --preset logit --format json

Compared with others, in the same run of scripts/bench/run.sh, which prepares them:

  --batched FILE    what llama.cpp's own llama-batched-bench measured at the same shapes, as JSONL
  --ollama MODEL    the same model in a running Ollama server (--ollama-embed, --address): the same rows again
`

type benchOptions struct {
	stack       stackOptions
	sequences   []int
	shape       llama.Shape
	data        string
	preset      string
	layout      string
	limit       int
	batched     string
	ollama      string
	ollamaEmbed string
	from        string
	format      string
}

func benchCommand(ctx context.Context, s *std, args []string) error {
	o := benchOptions{stack: stackOptions{backend: "llama", cache: "off"}}
	f := s.flags("bench", benchHelp)
	o.stack.addModelAs(f, backend.Judge, roleFlag{"model", "the judge: a name from assay models, or a GGUF file"})
	o.stack.addModelAs(f, backend.Embedder, roleFlag{"embed-model", "the embedding model, for --data"})
	f.IntVar(&o.stack.context, "context", 0, "`TOKENS` of prompt and reply together")
	f.IntVar(&o.stack.slots, "slots", 0, "calls served at once, for --data (default 16)")
	f.IntVar(&o.stack.threads, "threads", 0, "threads (default chosen by measurement)")
	f.IntSliceVar(&o.sequences, "sequences", []int{1, 4, 16, 32}, "how many sequences to compute at once")
	f.IntVar(&o.shape.Prompt, "prompt", 128, "tokens of each sequence's prompt")
	f.IntVar(&o.shape.Reply, "reply", 64, "tokens of each sequence's reply")
	f.StringVarP(&o.data, "data", "d", "", "a dataset `FILE` whose rows to score")
	f.StringVar(&o.preset, "preset", all.Presets()[0].Name, "the list of metrics to score rows with")
	f.StringVar(&o.layout, "layout", string(prompts.Row), layoutHelp)
	f.IntVar(&o.limit, "limit", 0, "score only the first `N` rows")
	f.StringVar(&o.batched, "batched", "", "the output of llama-batched-bench, a `FILE` of JSONL, to compare with")
	f.StringVar(&o.ollama, "ollama", "", "the judge's `NAME` in Ollama, to compare with")
	f.StringVar(&o.ollamaEmbed, "ollama-embed", "", "the embedding model's `NAME` there")
	f.StringVar(&o.stack.address, "address", "", "the `URL` of the Ollama server")
	f.StringVar(&o.from, "from", "", "measure nothing, and print what --format json left in a `FILE`")
	f.StringVar(&o.format, "format", "table", "how the figures are printed: table, json or md")
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if f.Changed("preset") && !f.Changed("sequences") {
		o.sequences = nil
	}
	switch {
	case !slices.Contains([]string{"table", "json", "md"}, o.format):
		return usagef("unknown format %q: table, json or md", o.format)
	case len(o.sequences) == 0 && o.data == "":
		return usagef("nothing to measure: give --sequences or --data")
	case o.ollama != "" && o.data == "":
		return usageError{withHint(errors.New("--ollama compares rows"), "name a dataset with --data")}
	}
	measure := o.measure
	if o.from != "" {
		measure = o.read
	}
	b, err := measure(ctx, s)
	if err != nil {
		return err
	}
	return b.write(s.out, o.format)
}

// A benchmark is what was measured. Its names stay: scripts read them.
type benchmark struct {
	Tool    string `json:"tool"`
	Machine string `json:"machine"`
	Engine  string `json:"engine"`
	Model   string `json:"model"`
	Digest  string `json:"digest"`

	Speeds      []benchSpeed `json:"speeds,omitempty"`
	EngineRatio float64      `json:"engine_ratio,omitempty"` // the least of the speeds' ratios

	benchRows
	Peers map[string]benchPeer `json:"peers,omitempty"`
}

// A benchSpeed is the engine's speed at one shape, beside llama.cpp's own.
type benchSpeed struct {
	llama.Shape
	PromptRate float64 `json:"prompt_tokens_per_second"`
	ReplyRate  float64 `json:"reply_tokens_per_second"`
	Rate       float64 `json:"tokens_per_second"`

	Batched *batchedSpeed `json:"batched_bench,omitempty"`
	Ratio   float64       `json:"ratio,omitempty"` // of the whole rates
}

// A batchedSpeed is what llama-batched-bench measured at one shape, in tokens a second.
type batchedSpeed struct {
	PromptRate float64 `json:"prompt_tokens_per_second"`
	ReplyRate  float64 `json:"reply_tokens_per_second"`
	Rate       float64 `json:"tokens_per_second"`
}

// A benchRows is how rows were scored.
type benchRows struct {
	Rows             int     `json:"rows"` // 0: none were asked for, and what follows is 0, too
	Preset           string  `json:"preset,omitempty"`
	Layout           string  `json:"layout,omitempty"`
	Failed           int     `json:"failed"`
	RowsPerMinute    float64 `json:"rows_per_minute"`
	PrefixEfficiency float64 `json:"prefix_efficiency"`
	Packing          float64 `json:"packing"`
	Idle             float64 `json:"idle"` // a share
	PromptTokens     int64   `json:"prompt_tokens"`
	PromptComputed   int64   `json:"prompt_tokens_computed"`
	RowTokens        int64   `json:"row_tokens"`                   // of the rows' own text, as the judge's tokenizer counts
	Reading          float64 `json:"reading_efficiency,omitempty"` // PromptComputed / RowTokens
	OutputTokens     int64   `json:"output_tokens"`
	Drafted          int64   `json:"drafted_tokens"`
	Guessed          int64   `json:"drafted_tokens_right"`
}

// A benchPeer is how another engine scored the same rows.
type benchPeer struct {
	Engine        string  `json:"engine"`
	Failed        int     `json:"failed"`
	RowsPerMinute float64 `json:"rows_per_minute"`
}

func (o *benchOptions) measure(ctx context.Context, s *std) (*benchmark, error) {
	b := &benchmark{Tool: "assay " + buildVersion(), Machine: machine()}
	batched, err := readBatched(o.batched)
	if err != nil {
		return nil, usageError{err}
	}
	if len(o.sequences) > 0 {
		if err := o.speeds(ctx, s, b, batched); err != nil {
			return nil, err
		}
	}
	if o.data == "" {
		return b, nil
	}
	if b.benchRows, err = o.rows(ctx, s, b); err != nil {
		return nil, err
	}
	if o.ollama != "" {
		peer, err := o.peer(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("ollama: %w", err)
		}
		b.Peers = map[string]benchPeer{"ollama": peer}
	}
	return b, nil
}

// read takes what was measured earlier from a file.
func (o *benchOptions) read(context.Context, *std) (*benchmark, error) {
	data, err := os.ReadFile(o.from)
	if err != nil {
		return nil, usageError{err}
	}
	b := new(benchmark)
	if err := json.Unmarshal(data, b); err != nil {
		return nil, usageError{fmt.Errorf("%s is not what assay bench --format json prints: %w", o.from, err)}
	}
	return b, nil
}

// machine describes the processor.
func machine() string {
	name := runtime.GOARCH
	if infos, err := cpu.Info(); err == nil && len(infos) > 0 && infos[0].ModelName != "" {
		name = infos[0].ModelName
	}
	return fmt.Sprintf("%s, %d cores, %s", name, runtime.GOMAXPROCS(0), runtime.GOOS)
}

// speeds measures the engine alone, each shape on an engine with just its slots.
func (o *benchOptions) speeds(ctx context.Context, s *std, b *benchmark, batched map[llama.Shape]*batchedSpeed) error {
	for _, n := range o.sequences {
		if n < 1 {
			return usagef("--sequences %d is to be positive", n)
		}
		stack := o.stack
		stack.slots, stack.address = n, ""
		stack.context = o.shape.Prompt + o.shape.Reply + 1
		speed, err := o.speed(ctx, s, &stack, n, b)
		if err != nil {
			return err
		}
		if peer := batched[speed.Shape]; peer != nil {
			speed.Batched, speed.Ratio = peer, speed.Rate/peer.Rate
			if b.EngineRatio == 0 || speed.Ratio < b.EngineRatio {
				b.EngineRatio = speed.Ratio
			}
		}
		b.Speeds = append(b.Speeds, speed)
	}
	return nil
}

func (o *benchOptions) speed(ctx context.Context, s *std, stack *stackOptions, n int,
	b *benchmark) (benchSpeed, error) {
	e, err := openLlama(ctx, s, stack, wanted{backend.Judge, stack.named(backend.Judge), backend.CanGenerate})
	if err != nil {
		return benchSpeed{}, err
	}
	defer e.Close()
	info := e.Info()
	b.Engine, b.Model, b.Digest = info.Engine, info.Model, info.Digest
	shape := o.shape
	shape.Sequences = n
	warm := llama.Shape{Sequences: 1, Prompt: min(16, shape.Prompt), Reply: 2}
	if _, err := e.Bench(ctx, warm); err != nil {
		return benchSpeed{}, err
	}
	speed, err := e.Bench(ctx, shape)
	if err != nil {
		return benchSpeed{}, err
	}
	s.note("%d sequences: %.1f tokens/s of prompt, %.1f of reply", n, speed.PromptRate(), speed.ReplyRate())
	return benchSpeed{
		Shape: shape, PromptRate: speed.PromptRate(), ReplyRate: speed.ReplyRate(), Rate: speed.Rate(),
	}, nil
}

// readBatched reads what llama-batched-bench wrote: tokens a second by shape. There is none without a path.
func readBatched(path string) (map[llama.Shape]*batchedSpeed, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rates := map[llama.Shape]*batchedSpeed{}
	for d := json.NewDecoder(io.LimitReader(file, 1<<20)); ; {
		var line struct {
			PP, TG, PL int
			Prompt     float64 `json:"speed_pp"`
			Reply      float64 `json:"speed_tg"`
			Both       float64 `json:"speed"`
		}
		err := d.Decode(&line)
		if err == io.EOF {
			return rates, nil
		}
		if err == nil && line.Both <= 0 {
			err = errors.New("a line has no speed")
		}
		if err != nil {
			return nil, fmt.Errorf("%s is not what llama-batched-bench writes as JSONL: %w", path, err)
		}
		shape := llama.Shape{Sequences: line.PL, Prompt: line.PP, Reply: line.TG}
		rates[shape] = &batchedSpeed{line.Prompt, line.Reply, line.Both}
	}
}

// rows scores the dataset with the engine.
func (o *benchOptions) rows(ctx context.Context, s *std, b *benchmark) (r benchRows, err error) {
	stack := o.stack
	stack.address, stack.trie = "", true
	st, r, err := o.score(ctx, s, &stack)
	if err != nil {
		return r, err
	}
	work, info := st.work[backend.Judge].Stats(), st.roles[backend.Judge].Info()
	b.Engine, b.Model, b.Digest = info.Engine, info.Model, info.Digest
	r.PrefixEfficiency, r.Packing, r.Idle = work.PrefixEfficiency(), work.Packing(), work.Idle()
	r.PromptTokens, r.PromptComputed, r.OutputTokens = work.PromptTokens, work.PromptComputed, work.OutputTokens
	r.Drafted, r.Guessed = work.Drafted, work.Accepted
	if r.RowTokens > 0 {
		r.Reading = float64(r.PromptComputed) / float64(r.RowTokens)
	}
	return r, nil
}

// peer scores the same rows through Ollama.
func (o *benchOptions) peer(ctx context.Context, s *std) (benchPeer, error) {
	stack := stackOptions{backend: "ollama", cache: "off", address: o.stack.address, context: o.stack.context,
		models: map[backend.Role]*modelRefs{backend.Judge: {of: map[string]string{"": o.ollama}},
			backend.Embedder: {of: map[string]string{"": o.ollamaEmbed}}}}
	st, r, err := o.score(ctx, s, &stack)
	if err != nil {
		return benchPeer{}, err
	}
	return benchPeer{
		Engine: st.roles[backend.Judge].Info().Engine, Failed: r.Failed, RowsPerMinute: r.RowsPerMinute,
	}, nil
}

// score scores the dataset with the metrics of the preset that it has the columns for, through models that it closes,
// and tells how long that took once they were loaded.
func (o *benchOptions) score(ctx context.Context, s *std, stack *stackOptions) (st *stack, r benchRows, err error) {
	p := plan{}
	if p.metrics, err = all.Preset(o.preset); err != nil {
		return nil, r, usageError{err}
	}
	asking, err := loadPrompts("", o.layout)
	if err != nil {
		return nil, r, usageError{err}
	}
	data, err := dataset.Open(ctx, o.data, dataset.Options{Limit: o.limit})
	if err != nil {
		return nil, r, usageError{err}
	}
	defer data.Close()
	p.data = data
	p.leaveOut(func(metrics.Metric) bool { return true })
	for _, m := range p.left {
		s.note("%s is left out: the dataset has no %v", m.Name, m.Needs&^p.fields())
	}
	ms := p.metrics
	if st, err = openStack(ctx, s, stack, metrics.AsksOf(ms)); err != nil {
		return nil, r, err
	}
	defer st.close()
	r.Rows, r.Preset, r.Layout = data.Summary().Rows, o.preset, o.layout
	if judge := st.work[backend.Judge]; judge != nil {
		if r.RowTokens, err = rowTokens(ctx, judge, data.Samples(ctx), ms); err != nil {
			return nil, r, err
		}
	}
	meter := newMeter(s, r.Rows*len(ms), 0)
	defer meter.stop()
	start := time.Now()
	err = metrics.Run(ctx, data.Samples(ctx), ms, metrics.Models{Roles: st.roles, Prompts: asking},
		metrics.Options{Ready: func(metrics.Result) { meter.result() }},
		func(result metrics.Result) error {
			if result.Score == nil && result.Kind != metrics.NotApplicable {
				r.Failed++
			}
			return nil
		})
	r.RowsPerMinute = float64(r.Rows) / time.Since(start).Minutes()
	return st, r, err
}

// rowTokens counts the tokens of the texts of samples, each once: contexts, question, history and answer, and the
// references where one of ms needs them.
func rowTokens(ctx context.Context, judge *llama.Engine, samples iter.Seq2[*metrics.Sample, error],
	ms []metrics.Metric) (tokens int64, err error) {
	references := slices.ContainsFunc(ms, func(m metrics.Metric) bool { return m.Needs.Has(metrics.References) })
	for s, err := range samples {
		if err != nil {
			return 0, err
		}
		texts := slices.Concat(s.Contexts, []string{s.Question, s.Answer})
		for _, t := range s.History {
			texts = append(texts, t.Text())
		}
		if references {
			texts = append(texts, s.References...)
		}
		for _, text := range texts {
			n, err := judge.CountTokens(ctx, text)
			if err != nil {
				return 0, err
			}
			tokens += int64(n)
		}
	}
	return tokens, nil
}

// write prints the figures.
func (b *benchmark) write(w io.Writer, format string) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(b)
	}
	render := func(t table.Writer) {
		if format == "md" {
			fmt.Fprintf(w, "%s\n\n", t.RenderMarkdown())
			return
		}
		t.SetStyle(table.StyleLight)
		fmt.Fprintf(w, "%s\n\n", t.Render())
	}
	fmt.Fprintf(w, "%s on %s. %s.\n\n", b.Model, b.Engine, b.Machine)
	if len(b.Speeds) > 0 {
		t := table.NewWriter()
		t.AppendHeader(table.Row{"sequences", "prompt + reply", "prompt tok/s", "reply tok/s", "both",
			"batched-bench: prompt", "reply", "both", "ratio"})
		for _, v := range b.Speeds {
			peer := cmp.Or(v.Batched, new(batchedSpeed))
			t.AppendRow(table.Row{v.Sequences, fmt.Sprintf("%d + %d", v.Prompt, v.Reply),
				figure(v.PromptRate, 1), figure(v.ReplyRate, 1), figure(v.Rate, 1),
				figure(peer.PromptRate, 1), figure(peer.ReplyRate, 1), figure(peer.Rate, 1), figure(v.Ratio, 2)})
		}
		render(t)
	}
	if r := b.benchRows; r.Rows > 0 {
		t := table.NewWriter()
		t.AppendHeader(table.Row{cmp.Or(r.Preset, "ragas-paper") + ", layout " + cmp.Or(r.Layout, "classic"), ""})
		t.AppendRow(table.Row{"rows", r.Rows})
		t.AppendRow(table.Row{"results that failed", r.Failed})
		t.AppendRow(table.Row{"rows a minute", figure(r.RowsPerMinute, 2)})
		for name, p := range b.Peers {
			t.AppendRow(table.Row{"rows a minute, " + name, figure(p.RowsPerMinute, 2)})
			t.AppendRow(table.Row{"ratio", figure(r.RowsPerMinute/p.RowsPerMinute, 2)})
		}
		t.AppendRow(table.Row{"prefix efficiency", figure(r.PrefixEfficiency, 3)})
		t.AppendRow(table.Row{"packing", figure(r.Packing, 3)})
		t.AppendRow(table.Row{"idle while work waited", fmt.Sprintf("%.1f%%", 100*r.Idle)})
		t.AppendRow(table.Row{"prompt tokens, of which prefilled",
			fmt.Sprintf("%d, %d", r.PromptTokens, r.PromptComputed)})
		t.AppendRow(table.Row{"tokens of the rows' own text", r.RowTokens})
		t.AppendRow(table.Row{"reading efficiency", figure(r.Reading, 2)})
		t.AppendRow(table.Row{"completion tokens", r.OutputTokens})
		t.AppendRow(table.Row{"draft tokens proposed, accepted", fmt.Sprintf("%d, %d", r.Drafted, r.Guessed)})
		render(t)
	}
	return nil
}

// figure prints a number that was measured, and a dash for one that was not.
func figure(v float64, digits int) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf("%.*f", digits, v)
}
