package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/nats-io/nats.go/jetstream"
)

// A Job is a run that workers can take part in.
type Job struct {
	Tool   string        `json:"tool"` // as in the run's manifest
	Config runs.Config   `json:"config"`
	Unit   int           `json:"unit"`  // rows of a unit
	Lease  time.Duration `json:"lease"` // a worker that is silent for so long has lost its unit
	Flags  []string      `json:"flags"` // for a worker that was not given them: "seed=7"
	Began  runs.Time     `json:"began"`
}

// ID is the job's name on the server: that of the run's configuration.
func (j *Job) ID() string { return j.Config.ID() }

// Metrics are the names of the run's metrics.
func (j *Job) Metrics() []string { return (&runs.Manifest{Config: j.Config}).Names() }

const jobBucket = "assay-jobs"

// What a job has on the server.
func (j *Job) stream() string           { return "assay-units-" + j.ID() }
func (j *Job) subject() string          { return "assay." + j.ID() + ".unit" }
func (j *Job) news() string             { return "assay." + j.ID() + ".news" }
func (j *Job) rows() string             { return "assay-rows-" + j.ID() }
func (j *Job) results() string          { return "assay-results-" + j.ID() }
func (j *Job) unitSubject(n int) string { return fmt.Sprintf("%s.%d", j.subject(), n) }

// consumer is what all workers of a job pull from.
const consumer = "workers"

// Refuse returns an error that says in what a worker differs from what the job asks for; nil if it may take part. The
// worker's Config says nothing of a dataset, and its models may go by other names.
func (j *Job) Refuse(tool string, own runs.Config) error {
	if tool != j.Tool {
		return fmt.Errorf("the version differs: the run is of %s, this is %s", j.Tool, tool)
	}
	asked, have := j.Config.Models(), own.Models()
	for role, id := range have {
		id.Name = asked[role].Name
		have[role] = id
	}
	for _, d := range asked.Differences(have) {
		of := func(id backend.Identity) any {
			switch d.In {
			case backend.Weights:
				return id.Digest
			case backend.Engine:
				return id.Engine
			case backend.ContextSize:
				return fmt.Sprintf("%d tokens", id.Context)
			}
			return cmp.Or(id.Name, "none")
		}
		return fmt.Errorf("the %s differs in its %s: the run has %v, this worker %v", d.Role.Title(), d.In, of(d.A), of(d.B))
	}
	own.IdentityFields, own.Dataset = j.Config.IdentityFields, j.Config.Dataset
	if what := j.Config.Differs(own); what != "" {
		return fmt.Errorf("the run differs in its %s from this worker: give it the same flags as the run", what)
	}
	return nil
}

// jobs opens the bucket of jobs.
func (b *Broker) jobs(ctx context.Context) (kv jetstream.KeyValue, err error) {
	err = b.try(ctx, "opening the list of jobs", func(ctx context.Context) error {
		kv, err = b.js.KeyValue(ctx, jobBucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			kv, err = b.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: jobBucket,
				Description: "Assay: runs that workers can take part in", Storage: jetstream.FileStorage})
		}
		return err
	})
	return kv, err
}

// look returns a job, nil if there is none of that name.
func (b *Broker) look(ctx context.Context, id string) (*Job, error) {
	kv, err := b.jobs(ctx)
	if err != nil {
		return nil, err
	}
	var job *Job
	err = b.try(ctx, "looking a job up", func(ctx context.Context) error {
		entry, err := kv.Get(ctx, id)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			job = nil
			return nil
		}
		if err != nil {
			return err
		}
		job = &Job{}
		if err := json.Unmarshal(entry.Value(), job); err != nil {
			return fmt.Errorf("job %s: %w (%v)", id, errDamaged, err)
		}
		if job.Unit < 1 || job.Lease < time.Second || job.ID() != id {
			return fmt.Errorf("job %s: %w", id, errDamaged)
		}
		return nil
	})
	return job, err
}

// errDamaged is why something on the server cannot be used.
var errDamaged = errors.New("damaged, or of another version of assay")

// Find returns the job of a name, or the one that began first where name is "". It waits until there is one, at most for
// idle unless that is 0; after that it returns nil.
func (b *Broker) Find(ctx context.Context, name string, idle time.Duration) (*Job, error) {
	kv, err := b.jobs(ctx)
	if err != nil {
		return nil, err
	}
	for began, said := time.Now(), false; ; {
		names := []string{name}
		if name == "" {
			err := b.try(ctx, "listing the jobs", func(ctx context.Context) (err error) {
				if names, err = kv.Keys(ctx); errors.Is(err, jetstream.ErrNoKeysFound) {
					names, err = nil, nil
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		var found []*Job
		for _, id := range names {
			job, err := b.look(ctx, id)
			if err != nil && name == "" && errors.Is(err, errDamaged) {
				b.say("%v", err)
				continue
			}
			if err != nil {
				return nil, err
			}
			if job != nil {
				found = append(found, job)
			}
		}
		if len(found) > 0 {
			return slices.MinFunc(found, func(a, b *Job) int {
				return cmp.Or(a.Began.Compare(b.Began.Time), cmp.Compare(a.ID(), b.ID()))
			}), nil
		}
		if idle > 0 && time.Since(began) >= idle {
			return nil, nil
		}
		if !said {
			said = true
			b.say("waiting for a run at %s", b.host)
		}
		if err := sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// announce makes the job known, and what it needs on the server. Of a job that is there already, the size of its units
// stays; old reports whether it was there.
func (b *Broker) announce(ctx context.Context, job *Job) (old bool, err error) {
	known, err := b.look(ctx, job.ID())
	if err != nil {
		return false, err
	}
	if known != nil {
		if err := job.goesOn(known); err != nil {
			return false, err
		}
	}
	kv, err := b.jobs(ctx)
	if err != nil {
		return false, err
	}
	value, err := json.Marshal(job)
	if err != nil {
		return false, err
	}
	if err := b.prepare(ctx, job); err != nil {
		return false, err
	}
	return known != nil, b.try(ctx, "announcing the job", func(ctx context.Context) error {
		_, err := kv.Put(ctx, job.ID(), value)
		return err
	})
}

// goesOn makes j the continuation of a job, if it can be.
func (j *Job) goesOn(known *Job) error {
	what := j.Config.Differs(known.Config)
	if what == "" && j.Tool != known.Tool {
		what = fmt.Sprintf("version (%s, and this is %s)", known.Tool, j.Tool)
	}
	if what != "" {
		return fmt.Errorf("the queue holds this run already, but its %s differs: --overwrite discards it there", what)
	}
	j.Unit, j.Began = known.Unit, known.Began
	return nil
}

// prepare creates what the job needs on the server, as far as it is not there.
func (b *Broker) prepare(ctx context.Context, job *Job) error {
	return b.try(ctx, "preparing the job", func(ctx context.Context) error {
		stream, err := b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: job.stream(),
			Description: "Assay: units of rows to score", Subjects: []string{job.subject() + ".*"},
			Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage})
		if err != nil {
			return err
		}
		if _, err = stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: consumer,
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: job.Lease, MaxDeliver: -1, MaxAckPending: -1}); err != nil {
			return err
		}
		for _, bucket := range []string{job.rows(), job.results()} {
			if _, err := b.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket,
				Description: "Assay: units of a run", Storage: jetstream.FileStorage}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Discard removes a job and all that it has on the server. Nothing need be there.
func (b *Broker) Discard(ctx context.Context, job *Job) error {
	kv, err := b.jobs(ctx)
	if err != nil {
		return err
	}
	gone := func(err error) error {
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) ||
			errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		return err
	}
	for _, remove := range []func(context.Context) error{
		func(ctx context.Context) error { return kv.Purge(ctx, job.ID()) }, // first: workers end by it
		func(ctx context.Context) error { return b.js.DeleteStream(ctx, job.stream()) },
		func(ctx context.Context) error { return b.js.DeleteObjectStore(ctx, job.rows()) },
		func(ctx context.Context) error { return b.js.DeleteObjectStore(ctx, job.results()) },
	} {
		if err := b.try(ctx, "removing the job", func(ctx context.Context) error { return gone(remove(ctx)) }); err != nil {
			return err
		}
	}
	return nil
}

// A report is what a worker says of its work. Reports may be lost.
type report struct {
	Worker string `json:"worker"`
	Unit   int    `json:"unit,omitempty"`    // from 1 on
	Done   int    `json:"done,omitempty"`    // results of the unit
	Stored bool   `json:"stored,omitempty"`  // the unit is done
	Refuse string `json:"refused,omitempty"` // why the worker takes no part
	Left   bool   `json:"left,omitempty"`    // the worker has ended
}

// tell publishes a report, if the server is there.
func (b *Broker) tell(job *Job, r report) {
	text, err := json.Marshal(r)
	if err == nil && b.nc.IsConnected() {
		b.nc.Publish(job.news(), text)
	}
}

// Refused tells the coordinator that a worker takes no part, and why.
func (b *Broker) Refused(job *Job, worker string, why error) {
	b.tell(job, report{Worker: worker, Refuse: why.Error()})
	b.nc.Flush()
}
