package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"time"

	"github.com/assay-eval/assay/backend/remote"
	"github.com/assay-eval/assay/internal/evaluation"
	"github.com/assay-eval/assay/internal/queue"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/spf13/pflag"
)

// queueOptions are the flags that say through which NATS server machines work together.
type queueOptions struct {
	address, creds, ca string

	// of assay run alone
	unit    int
	lease   time.Duration
	publish bool
}

// addQueue adds what is for all sides.
func (o *queueOptions) addQueue(f *pflag.FlagSet, usage string) {
	f.StringVar(&o.address, "queue", "", usage+", such as nats://host:4222, or tls://: docs/cluster.md")
	f.StringVar(&o.creds, "queue-creds", "", "with --queue: a `FILE` of credentials as NATS has them (default $NATS_CREDS)")
	f.StringVar(&o.ca, "queue-ca", "",
		"with --queue: a `FILE` of the certificates that vouch for the server (default $NATS_CA, or the system's)")
}

// add adds what assay run has.
func (o *queueOptions) add(f *pflag.FlagSet) {
	o.addQueue(f, "have the rows scored by assay worker, wherever it runs, through a NATS server with JetStream at a `URL`")
	f.IntVar(&o.unit, "unit", 1000, "with --queue: the number of `ROWS` that a worker takes at a time")
	f.DurationVar(&o.lease, "lease", 30*time.Second,
		"with --queue: what a worker has is given to another when it was silent for such a `TIME`")
	f.BoolVar(&o.publish, "publish-models", false,
		"with --queue: store the models there for workers that lack them: GGUF files, by their digests")
}

// check refuses what cannot be.
func (o *queueOptions) check(f *pflag.FlagSet) error {
	for _, name := range []string{"queue-creds", "queue-ca", "unit", "lease", "publish-models"} {
		if o.address == "" && f.Changed(name) {
			return usagef("--%s goes with --queue", name)
		}
	}
	if o.unit < 1 {
		return usagef("--unit is %d: a worker takes at least one row", o.unit)
	}
	if o.lease < time.Second {
		return usagef("--lease is %v: it takes a second at least", o.lease)
	}
	return nil
}

// dial connects. Secrets are in files or in the environment, by the names that NATS's own command knows.
func (o *queueOptions) dial(ctx context.Context, s *std, elsewhere bool) (*queue.Broker, error) {
	b, err := queue.Dial(ctx, queue.Options{
		Address: o.address, AllowRemote: elsewhere, Name: "assay",
		Creds: cmp.Or(o.creds, os.Getenv("NATS_CREDS")), CA: cmp.Or(o.ca, os.Getenv("NATS_CA")),
		Cert: os.Getenv("NATS_CERT"), Key: os.Getenv("NATS_KEY"),
		User: os.Getenv("NATS_USER"), Password: os.Getenv("NATS_PASSWORD"), Token: os.Getenv("NATS_TOKEN"), Say: s.note,
	})
	if errors.Is(err, remote.ErrElsewhere) {
		return nil, usageError{withHint(err, "--allow-remote permits it")}
	}
	return b, err
}

// open connects, for a run that workers can score; nil without --queue.
func (o *queueOptions) open(ctx context.Context, s *std, e *evaluation.Evaluation, elsewhere bool) (*queue.Broker, error) {
	if o.address == "" {
		return nil, nil
	}
	if err := e.Divisible(); err != nil {
		return nil, err
	}
	return o.dial(ctx, s, elsewhere)
}

// shareOut has workers score the samples that w does not have yet, and closes w.
func (o *runOptions) shareOut(ctx context.Context, s *std, e *evaluation.Evaluation, b *queue.Broker, m runs.Manifest,
	w *runs.Writer) (err error) {
	var calls runs.Calls
	defer func() { err = errors.Join(err, w.Close(calls, err == nil)) }()
	job := &queue.Job{Tool: m.Tool, Config: m.Config, Unit: o.queue.unit, Lease: o.queue.lease, Flags: o.shared,
		Began: runs.Now()}
	if o.overwrite {
		if err := b.Discard(ctx, job); err != nil {
			return err
		}
	}
	if o.queue.publish {
		if err := b.Publish(ctx, m.Config.Models(), o.Stack.Models); err != nil {
			return err
		}
	}
	if err := e.Stack.Close(); err != nil { // the models said who they are: their memory is the workers' now
		return err
	}
	s.note("the run %s is on the queue at %s: assay worker --queue takes part in it", job.ID(), b.Host())
	total, kept := e.Results(w)
	shown := newMeter(s, "results", total, kept)
	defer shown.Stop()
	calls, err = b.Coordinate(ctx, &queue.Coordinator{Job: job, Kept: w.Kept(), Write: w.WriteLines,
		Samples: func(skip int) iter.Seq2[*metrics.Sample, error] { return e.Samples(ctx, skip) },
		Ready: func(n int) {
			for range n {
				shown.Done("", false)
			}
		}})
	return err
}
