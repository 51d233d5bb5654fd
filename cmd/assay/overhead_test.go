package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/backend/sched"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

// wordModel is an engine that takes no time and replies as the word server does.
func wordModel() *backendtest.Fake {
	return &backendtest.Fake{
		About: backend.Info{Slots: 16, Ops: backend.CanGenerate | backend.CanEmbed | backend.CanConstrain},
		Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
			return wordReply(req.Messages[0].Text, req.Messages[len(req.Messages)-1].Text, req.Schema, false), nil
		},
	}
}

// shortSamples yields n samples, each with three sentences of context and two of answer.
func shortSamples(n int) iter.Seq2[*metrics.Sample, error] {
	return func(yield func(*metrics.Sample, error) bool) {
		for i := range n {
			ok := yield(&metrics.Sample{
				ID:       fmt.Sprint("row ", i),
				Question: fmt.Sprintf("When does ferry %d sail, and what does it cost?", i),
				Answer:   fmt.Sprintf("Ferry %d sails in May. It costs %d euros.", i, i%90),
				Contexts: []string{fmt.Sprintf("Ferry %d sails from May on. It is %d years old. A ticket costs %d "+
					"euros.", i, i%50, i%90)},
			}, nil)
			if !ok {
				return
			}
		}
	}
}

// scoreAll scores samples with the metrics of the paper, and returns how many results were scores.
func scoreAll(tb testing.TB, judge, embedder backend.Backend, samples iter.Seq2[*metrics.Sample, error]) (scores int) {
	tb.Helper()
	ms, err := all.Preset("ragas-paper")
	if err != nil {
		tb.Fatal(err)
	}
	enc := json.NewEncoder(io.Discard)
	err = metrics.Run(tb.Context(), samples, ms,
		metrics.Models{Roles: metrics.Roles{backend.Judge: judge, backend.Embedder: embedder}}, metrics.Options{},
		func(r metrics.Result) error {
			if r.Score != nil {
				scores++
			}
			return enc.Encode(r)
		})
	if err != nil {
		tb.Fatal(err)
	}
	return scores
}

// BenchmarkCachedRun scores 10,000 rows with three metrics when all answers are in the cache.
func BenchmarkCachedRun(b *testing.B) {
	const rows = 10_000
	store, err := cache.Open(filepath.Join(b.TempDir(), "answers.db"), func(err error) { b.Log(err) })
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	var calls int
	run := func() {
		judge := cache.Wrap(sched.New(wordModel(), sched.Options{}), store, cache.Use, nil)
		embedder := cache.Wrap(sched.New(wordModel(), sched.Options{}), store, cache.Use, nil)
		if n := scoreAll(b, judge, embedder, shortSamples(rows)); n != 3*rows {
			b.Fatalf("%d scores of %d", n, 3*rows)
		}
		cached, computed := judge.Calls()
		more, computedToo := embedder.Calls()
		if calls = int(cached + more); calls > 0 && computed+computedToo > 0 {
			b.Logf("%d cached, %d computed", calls, computed+computedToo)
		}
	}
	run()
	if err := store.Flush(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		run()
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/run")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*calls), "µs/call")
}

// BenchmarkMillionRows scores a million rows without a cache, and reports the most memory that was in use.
func BenchmarkMillionRows(b *testing.B) {
	const rows = 1_000_000
	for b.Loop() {
		var most atomic.Uint64
		done := make(chan struct{})
		go func() {
			for {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most.Store(max(most.Load(), m.Sys-m.HeapReleased))
				select {
				case <-done:
					return
				case <-time.After(time.Second):
				}
			}
		}()
		judge, embedder := sched.New(wordModel(), sched.Options{}), sched.New(wordModel(), sched.Options{})
		if n := scoreAll(b, judge, embedder, shortSamples(rows)); n != 3*rows {
			b.Fatalf("%d scores of %d", n, 3*rows)
		}
		close(done)
		b.ReportMetric(float64(most.Load())/1e6, "MB")
	}
}
