package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/installed"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
	"github.com/assay-eval/assay/models/head"
	"github.com/nats-io/nats.go/jetstream"
)

// modelBucket has models by their digests, for the workers that lack them. It outlives the jobs.
const modelBucket = "assay-models"

// Publish stores a run's models for the workers that lack them. Named is what the user called them, where they are files.
// A model that is not one GGUF file is refused.
func (b *Broker) Publish(ctx context.Context, all backend.Identities, named map[backend.Role]string) error {
	home, err := models.Home()
	if err != nil {
		return err
	}
	for _, role := range all.Roles() {
		digest := all[role].Digest
		m, err := installed.WithDigest(home, digest)
		if err == nil && m == nil && named[role] != "" {
			m, _ = installed.Find(home, named[role]) // it is refused below
		}
		if err != nil {
			return err
		}
		if m == nil || !oneFile(m.Path, digest) {
			return runs.Inputf("the %s cannot be published: it is not one GGUF file of this machine", role.Title()).WithHint(
				"leave --publish-models out, and bring it to the workers by assay models import")
		}
		if err := b.publishModel(ctx, digest, m.Path); err != nil {
			return err
		}
	}
	return nil
}

// oneFile reports whether a model is just a file, of that digest.
func oneFile(path, digest string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err != nil || !bytes.Equal(magic, []byte("GGUF")) {
		return false
	}
	if _, err := os.Stat(head.Path(path)); err == nil || len(gguf.SplitFiles(path)) > 1 {
		return false
	}
	d, err := models.Digest(path)
	return err == nil && d == digest
}

// Models adds to named the models of a job that are not in it: for the backend llama, those of this machine that have their
// digests, or that are fetched from the server; for another, which asks a server for them, those of the same names.
func (b *Broker) Models(ctx context.Context, job *Job, engine string, named map[backend.Role]string) error {
	home, err := models.Home()
	if err != nil {
		return err
	}
	all := job.Config.Models()
	for _, role := range all.Roles() {
		switch id := all[role]; {
		case named[role] != "":
		case engine != "llama":
			named[role] = id.Name
		default:
			if named[role], err = b.model(ctx, home, role, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// model returns the name of the model that has a digest.
func (b *Broker) model(ctx context.Context, home string, role backend.Role, id backend.Identity) (string, error) {
	m, err := installed.WithDigest(home, id.Digest)
	if err != nil {
		return "", err
	}
	if m != nil {
		return m.Name, nil
	}
	digits := strings.TrimPrefix(id.Digest, "sha256:")
	rec := models.Record{Name: "queue-" + digits[:min(12, len(digits))], Digest: id.Digest}
	m, err = models.Create(home, rec, func(path string, _ *models.Record) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		return errors.Join(b.fetchModel(ctx, id.Digest, f), f.Close())
	})
	if errors.Is(err, errNoModel) {
		return "", runs.Inputf("the run's %s is %s, and no model here has its digest, %s", role.Title(), id.Name, id.Digest).WithHint(
			"assay models import adds it here; assay run --publish-models lets workers fetch it")
	}
	if err != nil {
		return "", err
	}
	b.say("fetched the %s %s: it is here as %s", role.Title(), id.Name, m.Name)
	return m.Name, nil
}

// publishModel stores a model's file under its digest, unless it is there.
func (b *Broker) publishModel(ctx context.Context, digest, path string) error {
	store, err := b.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: modelBucket,
		Description: "Assay: models by their digests", Storage: jetstream.FileStorage})
	if err != nil {
		return fmt.Errorf("storing models in the queue: %w", err)
	}
	if _, err := store.GetInfo(ctx, digest); err == nil {
		return nil
	} else if !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b.say("storing %s in the queue, for the workers that lack it", path)
	_, err = store.Put(ctx, jetstream.ObjectMeta{Name: digest}, f)
	return err
}

// errNoModel is that a model is not in the queue's store.
var errNoModel = errors.New("the queue has no such model")

// fetchModel writes the file of the model with a digest.
func (b *Broker) fetchModel(ctx context.Context, digest string, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 24*time.Hour) // without one, the library gives it a few seconds
	defer cancel()
	store, err := b.js.ObjectStore(ctx, modelBucket)
	if err == nil {
		var r jetstream.ObjectResult
		if r, err = store.Get(ctx, digest); err == nil {
			defer r.Close()
			_, err = io.Copy(w, r)
			return err
		}
	}
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) {
		return errNoModel
	}
	return err
}
