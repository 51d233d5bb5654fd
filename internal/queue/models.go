package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// modelBucket has models by their digests, for the workers that lack them. It outlives the jobs.
const modelBucket = "assay-models"

// PublishModel stores a model's file under its digest, unless it is there.
func (b *Broker) PublishModel(ctx context.Context, digest, path string) error {
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

// ErrNoModel is that a model is not in the queue's store.
var ErrNoModel = errors.New("the queue has no such model")

// FetchModel writes the file of the model with a digest, which the caller verifies. The error wraps [ErrNoModel] if it is not there.
func (b *Broker) FetchModel(ctx context.Context, digest string, w io.Writer) error {
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
		return ErrNoModel
	}
	return err
}
