package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/assay-eval/assay/internal/evaluation"
	"github.com/assay-eval/assay/internal/queue"
	"github.com/spf13/pflag"
)

// workerOptions holds the flags of assay worker.
type workerOptions struct {
	evaluation.Options
	stack stackOptions
	queue queueOptions
	job   string
	idle  time.Duration
}

func workerCommand(ctx context.Context, s *std, args []string) error {
	var o workerOptions
	f := s.flags("worker", page("worker"))
	o.queue.addQueue(f, "the NATS server with JetStream, at a `URL`, through which the run is shared")
	f.StringVar(&o.job, "job", "", "the `NAME` of the run (default: the one that began first)")
	f.DurationVar(&o.idle, "idle", 0, "end when there was nothing to do for such a `TIME` (default: wait)")
	o.stack.several = true
	o.stack.add(f)
	o.stack.addEncoder(f)
	o.stack.addSampler(f)
	addBrought(f, &o.Options)
	addAsking(f, &o.Options)
	addSearch(f, &o.Evidence)
	f.Uint64Var(&o.Seed, "seed", 0, seedHelp)
	if err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if o.queue.address == "" {
		return usageError{withHint(errors.New("--queue is missing"), "it names the NATS server that assay run --queue uses")}
	}
	return o.run(ctx, s, f)
}

func (o *workerOptions) run(ctx context.Context, s *std, f *pflag.FlagSet) error {
	b, err := o.queue.dial(ctx, s, o.stack.Remote)
	if err != nil {
		return err
	}
	defer b.Close()
	job, err := b.Find(ctx, o.job, o.idle)
	if err != nil {
		return err
	}
	if job == nil {
		s.note("no run came")
		return nil
	}
	s.note("the run %s: %d rows, %s", job.ID(), job.Config.Dataset.Rows, strings.Join(job.Metrics(), ", "))
	name := workerName()
	e, err := o.join(ctx, s, f, b, job)
	if e != nil {
		defer e.Close()
	}
	if err != nil {
		if ctx.Err() == nil {
			b.Refused(job, name, err)
		}
		return err
	}
	units, err := b.Work(ctx, &queue.Worker{Name: name, Job: job, Score: e.ScoreRows, Calls: e.Stack.Calls, Idle: o.idle})
	s.note("%d units scored", units)
	e.Stack.Tally()
	return err
}

// join opens what scores as the job asks for, or says what differs.
func (o *workerOptions) join(ctx context.Context, s *std, f *pflag.FlagSet, b *queue.Broker, job *queue.Job) (
	*evaluation.Evaluation, error) {
	o.Tool = "assay " + buildVersion()
	if err := job.Refuse(o.Tool, job.Config); err != nil { // before anything is opened
		return nil, usageError{err}
	}
	if err := takeFlags(f, job.Flags); err != nil {
		return nil, err
	}
	if err := b.Models(ctx, job, o.stack.Backend, o.stack.Models); err != nil {
		return nil, err
	}
	o.Stack, o.Stack.Grace = o.stack.speaking(s), grace
	o.Say, o.Warn, o.Indexing = s.note, s.warn, s.indexing
	e, err := evaluation.NewPart(ctx, o.Options, job.Metrics())
	if err != nil {
		return nil, usageError{err}
	}
	if err := e.Open(ctx); err != nil {
		return e, err
	}
	m, err := e.Manifest()
	if err != nil {
		return e, err
	}
	if err := job.Refuse(m.Tool, m.Config); err != nil {
		return e, usageError{err}
	}
	return e, nil
}

// sharedFlags are those that decide results and name no file: a worker that was not given one takes the run's.
var sharedFlags = []string{"backend", "context", "encoder-engine", "fast", "layout", "reasons", "seed", "retrieve",
	"passage-words", "overlap"}

// shareFlags are the flags of a run for its workers.
func shareFlags(f *pflag.FlagSet) []string {
	var list []string
	for _, name := range sharedFlags {
		if flag := f.Lookup(name); flag != nil && flag.Changed {
			list = append(list, name+"="+flag.Value.String())
		}
	}
	return list
}

// takeFlags sets the flags that came with a job, but for those that were given here.
func takeFlags(f *pflag.FlagSet, flags []string) error {
	for _, text := range flags {
		name, value, _ := strings.Cut(text, "=")
		if !slices.Contains(sharedFlags, name) || f.Lookup(name) == nil {
			return fmt.Errorf("the run asks for --%.40s, which workers do not take from it", name)
		}
		if f.Changed(name) {
			continue
		}
		if err := f.Set(name, value); err != nil {
			return fmt.Errorf("the run's --%s: %w", name, err)
		}
	}
	return nil
}

// workerName is unlike that of any other worker.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%x", host, os.Getpid(), time.Now().UnixNano()&0xffff)
}
