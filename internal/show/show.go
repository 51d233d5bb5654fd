// Package show prints what lies behind the scores of one sample, and one answer of a model with what was asked.
package show

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/units"
	"github.com/assay-eval/assay/metrics"
)

// Sample prints the results of one sample of a run with their findings, those of one metric, or of one dimension, where
// it is named. A sample that the run has not is a [runs.InputError].
func Sample(ctx context.Context, w io.Writer, run *runs.Run, id, metric string) error {
	p := &printer{w: w}
	found := false
	for r, err := range run.Results(ctx) {
		if err != nil {
			return err
		}
		if r.Sample != id {
			if found {
				break // a sample's results stand together
			}
			continue
		}
		found = true
		if metric == "" || r.Metric == metric || strings.HasPrefix(r.Metric, metric+"/") {
			p.result(r)
		}
	}
	if !found {
		return runs.Inputf("%s has no sample %q", run.Dir, id)
	}
	return p.err
}

// A printer prints what datasets and models say, none of which is trusted with the terminal; after an error nothing more.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) say(format string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, report.Printable(fmt.Sprintf(format, args...)))
	}
}

func (p *printer) result(r metrics.Result) {
	if r.Score == nil {
		p.say("%s  no score, %s\n  %s\n", r.Metric, r.Kind, r.Error)
	} else {
		p.say("%s  %.3f\n", r.Metric, r.Score.Value)
		for _, f := range r.Score.Because {
			p.say("  %s\n", &f)
			if f.Reason != "" {
				p.say("      %s\n", f.Reason)
			}
		}
	}
	said := make(map[string]bool) // metrics over metrics may use an answer several times
	for _, key := range r.Calls {
		if !said[key] {
			p.say("  asked: assay show %.16s\n", key)
		}
		said[key] = true
	}
	p.say("\n")
}

// Entry prints an answer of the cache with what was asked.
func Entry(w io.Writer, e *cache.Entry) error {
	p := &printer{w: w}
	p.say("key      %s\nmodel    %s on %s\nweights  %s\nwritten  %s, %s\n",
		e.Key, e.Model, e.Engine, e.Digest, e.Created.Local().Format("2006-01-02 15:04:05"), units.Size(e.Size))
	if e.Op == "generate" {
		return p.generation(e)
	}
	p.say("\n--- %s\n%s\n\n--- answer\n%s\n", e.Op, string(e.Request), bounded(string(e.Answer)))
	return p.err
}

func (p *printer) generation(e *cache.Entry) error {
	var req backend.GenerateRequest
	var g backend.Generation
	if err := errors.Join(json.Unmarshal(e.Request, &req), json.Unmarshal(e.Answer, &g)); err != nil {
		return fmt.Errorf("the entry cannot be read: %v", err)
	}
	p.say("asked    temperature %v, at most %d tokens, seed %d, draw %d\n",
		req.Sampling.Temperature, req.MaxTokens, req.Sampling.Seed, req.Draw)
	p.say("tokens   %d of prompt, %d of reply, stopped by %s\n", g.PromptTokens, g.OutputTokens, g.Stop)
	for _, d := range req.Documents {
		p.say("\n--- document\n%s\n", d)
	}
	for _, m := range req.Messages {
		p.say("\n--- %s\n%s\n", m.Role, backend.Pair{Text: m.Text, Marks: m.Marks})
	}
	p.say("\n--- reply\n%s\n", g.Text)
	return p.err
}

// bounded cuts text to what a screen can show.
func bounded(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s ... (%s)", strings.ToValidUTF8(text[:most], ""), units.Size(int64(len(text))))
}
