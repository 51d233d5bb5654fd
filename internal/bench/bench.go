// Package bench measures how fast this machine evaluates ([Job]), and sets the figures beside what llama-batched-bench
// wrote at the same shapes, as a table, Markdown or JSON ([Report]).
package bench

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
)

// A Shape is a batch of work: so many sequences at once, each of so many tokens of prompt, that none shares with another,
// and of reply.
type Shape struct {
	Sequences int `json:"sequences"`
	Prompt    int `json:"prompt"`
	Reply     int `json:"reply"`
}

// A Report is what was measured. Its names stay: scripts read them.
type Report struct {
	Tool    string `json:"tool"`
	Machine string `json:"machine"`
	Engine  string `json:"engine"`
	Model   string `json:"model"`
	Digest  string `json:"digest"`

	Speeds      []Speed `json:"speeds,omitempty"`
	EngineRatio float64 `json:"engine_ratio,omitempty"` // the least of the speeds' ratios

	Rows
	Peers map[string]Peer `json:"peers,omitempty"`
}

// A Speed is the engine's speed at one shape, beside llama.cpp's own.
type Speed struct {
	Shape
	PromptRate float64 `json:"prompt_tokens_per_second"`
	ReplyRate  float64 `json:"reply_tokens_per_second"`
	Rate       float64 `json:"tokens_per_second"`

	Batched     *Rates  `json:"batched_bench,omitempty"`
	PromptRatio float64 `json:"prompt_ratio,omitempty"`
	ReplyRatio  float64 `json:"reply_ratio,omitempty"`
	Ratio       float64 `json:"ratio,omitempty"` // of the whole rates
}

// Rates are what llama-batched-bench measured at one shape, in tokens a second.
type Rates struct {
	PromptRate float64 `json:"prompt_tokens_per_second"`
	ReplyRate  float64 `json:"reply_tokens_per_second"`
	Rate       float64 `json:"tokens_per_second"`
}

// Rows are how rows were scored.
type Rows struct {
	Count            int     `json:"rows"` // 0: none were asked for, and what follows is 0, too
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

// A Peer is how another engine scored the same rows.
type Peer struct {
	Engine        string  `json:"engine"`
	Failed        int     `json:"failed"`
	RowsPerMinute float64 `json:"rows_per_minute"`
}

// Compare sets what llama-batched-bench measured beside a speed of the same shape, adds it, and keeps the least ratio.
func (b *Report) Compare(speed Speed, batched map[Shape]*Rates) {
	if peer := batched[speed.Shape]; peer != nil {
		speed.Batched, speed.Ratio = peer, speed.Rate/peer.Rate
		speed.PromptRatio, speed.ReplyRatio = speed.PromptRate/peer.PromptRate, speed.ReplyRate/peer.ReplyRate
		if b.EngineRatio == 0 || speed.Ratio < b.EngineRatio {
			b.EngineRatio = speed.Ratio
		}
	}
	b.Speeds = append(b.Speeds, speed)
}

// Read takes what [Report.Write] left as JSON in a file.
func Read(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := new(Report)
	if err := json.Unmarshal(data, b); err != nil {
		return nil, fmt.Errorf("%s is not what assay bench --format json prints: %w", path, err)
	}
	return b, nil
}

// ReadBatched reads what llama-batched-bench wrote: tokens a second by shape. There is none without a path.
func ReadBatched(path string) (map[Shape]*Rates, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rates := map[Shape]*Rates{}
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
		shape := Shape{Sequences: line.PL, Prompt: line.PP, Reply: line.TG}
		best := cmp.Or(rates[shape], new(Rates))
		rates[shape] = &Rates{max(best.PromptRate, line.Prompt), max(best.ReplyRate, line.Reply),
			max(best.Rate, line.Both)}
	}
}

// Formats are those that a [Report] can be written in.
func Formats() []string { return []string{"table", "json", "md"} }

// Write prints the figures in one of the [Formats].
func (b *Report) Write(w io.Writer, format string) error {
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
		t.AppendHeader(table.Row{"sequences", "prompt + reply", "prompt tok/s", "batched-bench", "ratio",
			"reply tok/s", "batched-bench", "ratio"})
		for _, v := range b.Speeds {
			peer := cmp.Or(v.Batched, new(Rates))
			t.AppendRow(table.Row{v.Sequences, fmt.Sprintf("%d + %d", v.Prompt, v.Reply),
				figure(v.PromptRate, 1), figure(peer.PromptRate, 1), figure(v.PromptRatio, 2),
				figure(v.ReplyRate, 1), figure(peer.ReplyRate, 1), figure(v.ReplyRatio, 2)})
		}
		render(t)
	}
	if r := b.Rows; r.Count > 0 {
		t := table.NewWriter()
		t.AppendHeader(table.Row{cmp.Or(r.Preset, "ragas-paper") + ", layout " + cmp.Or(r.Layout, "classic"), ""})
		t.AppendRow(table.Row{"rows", r.Count})
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
