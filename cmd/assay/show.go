package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

func showCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("show", page("show"))
	if err := parse(f, args, 1, 3); err != nil {
		return err
	}
	if f.NArg() == 1 {
		return s.showAnswer(ctx, f.Arg(0))
	}
	run, err := runs.Open(f.Arg(0))
	if err != nil {
		return err
	}
	return s.showSample(ctx, run, f.Arg(1), f.Arg(2))
}

// showSample prints the results of one sample with their findings.
func (s *std) showSample(ctx context.Context, run *runs.Run, id, metric string) error {
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
			s.showResult(r)
		}
	}
	if !found {
		return usagef("%s has no sample %q", run.Dir, id)
	}
	return nil
}

// say prints what datasets and models say, none of which is trusted with the terminal.
func (s *std) say(format string, args ...any) {
	fmt.Fprint(s.out, report.Printable(fmt.Sprintf(format, args...)))
}

func (s *std) showResult(r metrics.Result) {
	if r.Score == nil {
		s.say("%s  no score, %s\n  %s\n", r.Metric, r.Kind, r.Error)
	} else {
		s.say("%s  %.3f\n", r.Metric, r.Score.Value)
		for _, f := range r.Score.Because {
			s.say("  %s\n", &f)
			if f.Reason != "" {
				s.say("      %s\n", f.Reason)
			}
		}
	}
	said := make(map[string]bool) // metrics over metrics may use an answer several times
	for _, key := range r.Calls {
		if !said[key] {
			s.say("  asked: assay show %.16s\n", key)
		}
		said[key] = true
	}
	s.say("\n")
}

// showAnswer prints an answer from the cache with its question.
func (s *std) showAnswer(ctx context.Context, key string) error {
	if _, err := os.Stat(key); err == nil {
		return usageError{withHint(errors.New("which sample?"), "assay show %s SAMPLE", key)}
	}
	return withStore(s, func(store *cache.Store) error {
		e, err := store.Entry(ctx, key)
		if err != nil {
			return err
		}
		return s.showEntry(e)
	})
}

func (s *std) showEntry(e *cache.Entry) error {
	s.say("key      %s\nmodel    %s on %s\nweights  %s\nwritten  %s, %s\n",
		e.Key, e.Model, e.Engine, e.Digest, e.Created.Local().Format("2006-01-02 15:04:05"), size(e.Size))
	if e.Op == "generate" {
		return s.showGeneration(e)
	}
	s.say("\n--- %s\n%s\n\n--- answer\n%s\n", e.Op, string(e.Request), bounded(string(e.Answer)))
	return nil
}

func (s *std) showGeneration(e *cache.Entry) error {
	var req backend.GenerateRequest
	var g backend.Generation
	if err := errors.Join(json.Unmarshal(e.Request, &req), json.Unmarshal(e.Answer, &g)); err != nil {
		return fmt.Errorf("the entry cannot be read: %v", err)
	}
	s.say("asked    temperature %v, at most %d tokens, seed %d, draw %d\n",
		req.Sampling.Temperature, req.MaxTokens, req.Sampling.Seed, req.Draw)
	s.say("tokens   %d of prompt, %d of reply, stopped by %s\n", g.PromptTokens, g.OutputTokens, g.Stop)
	for _, d := range req.Documents {
		s.say("\n--- document\n%s\n", d)
	}
	for _, m := range req.Messages {
		s.say("\n--- %s\n%s\n", m.Role, backend.Pair{Text: m.Text, Marks: m.Marks})
	}
	s.say("\n--- reply\n%s\n", g.Text)
	return nil
}

// bounded cuts text to what a screen can show.
func bounded(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s ... (%s)", strings.ToValidUTF8(text[:most], ""), size(int64(len(text))))
}
