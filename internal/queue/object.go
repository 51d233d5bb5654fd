package queue

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/assay-eval/assay/internal/shard"
	"github.com/assay-eval/assay/metrics"
	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// maxUnit is how large a unit's rows, or its results, may be, decompressed.
const maxUnit = 1 << 30

// slowest is the number of bytes a second by which something is read at the least.
const slowest = 256 << 10

// An object is what is stored of a unit.
type object struct {
	data []byte            // compressed
	meta map[string]string // what is said of it
}

// store opens a bucket, once.
func (b *Broker) store(ctx context.Context, bucket string) (jetstream.ObjectStore, error) {
	if store, ok := b.stores.Load(bucket); ok {
		return store.(jetstream.ObjectStore), nil
	}
	store, err := b.js.ObjectStore(ctx, bucket)
	if err == nil {
		b.stores.Store(bucket, store)
	}
	return store, err
}

// in does something with a bucket. One that does not answer is opened anew the next time: it may have been removed, and
// then the error is jetstream.ErrBucketNotFound.
func (b *Broker) in(ctx context.Context, bucket, what string, do func(context.Context, jetstream.ObjectStore) error) error {
	return b.try(ctx, what, func(ctx context.Context) error {
		store, err := b.store(ctx, bucket)
		if err == nil {
			err = do(ctx, store)
		}
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) {
			b.stores.Delete(bucket)
		}
		return err
	})
}

// put stores what is known of a unit, in place of what was stored before.
func (b *Broker) put(ctx context.Context, bucket string, unit int, o object) error {
	return b.in(ctx, bucket, fmt.Sprintf("storing unit %d", unit), func(_ context.Context, store jetstream.ObjectStore) error {
		long, free := b.linked(ctx) // without a deadline: each part has one of its own
		defer free()
		_, err := store.Put(long, jetstream.ObjectMeta{Name: strconv.Itoa(unit), Metadata: o.meta}, bytes.NewReader(o.data))
		return err
	})
}

// nothing reports whether an error says that there is no such object.
func nothing(err error) bool {
	return errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, jetstream.ErrBucketNotFound)
}

// has reports whether there is something stored of a unit.
func (b *Broker) has(ctx context.Context, bucket string, unit int) (bool, error) {
	err := b.in(ctx, bucket, fmt.Sprintf("looking for unit %d", unit), func(ctx context.Context, store jetstream.ObjectStore) error {
		_, err := store.GetInfo(ctx, strconv.Itoa(unit))
		return err
	})
	if nothing(err) {
		return false, nil
	}
	return err == nil, err
}

// get reads what is stored of a unit: nil if there is nothing. The error wraps errDamaged where what there is has another
// digest, or parts of it do not come.
func (b *Broker) get(ctx context.Context, bucket string, unit int) (o *object, err error) {
	incomplete := "" // what was not read to its end
	err = b.in(ctx, bucket, fmt.Sprintf("reading unit %d", unit), func(short context.Context, store jetstream.ObjectStore) error {
		info, err := store.GetInfo(short, strconv.Itoa(unit))
		if err != nil {
			return err
		}
		if info.Size > maxUnit {
			return fmt.Errorf("%w: unit %d takes %d bytes", errDamaged, unit, info.Size)
		}
		long, free := b.linked(ctx)
		defer free()
		long, cancel := context.WithTimeout(long, tryLimit+time.Duration(info.Size)*time.Second/slowest)
		defer cancel()
		r, err := store.Get(long, strconv.Itoa(unit))
		if err != nil {
			return err
		}
		defer r.Close()
		data, err := io.ReadAll(io.LimitReader(r, maxUnit+1))
		switch {
		case errors.Is(err, jetstream.ErrDigestMismatch):
			return fmt.Errorf("%w: unit %d has another digest", errDamaged, unit)
		case err != nil && errors.Is(long.Err(), context.DeadlineExceeded):
			if incomplete == info.NUID {
				return fmt.Errorf("%w: unit %d is not complete", errDamaged, unit)
			}
			incomplete = info.NUID
		case err == nil:
			info, err = r.Info()
		}
		if err == nil {
			o = &object{data, info.Metadata}
		}
		return err
	})
	if nothing(err) {
		return nil, nil
	}
	return o, err
}

// remove removes what is stored of a unit, with what the store keeps of objects that were removed.
func (b *Broker) remove(ctx context.Context, bucket string, unit int) error {
	err := b.in(ctx, bucket, fmt.Sprintf("removing unit %d", unit), func(ctx context.Context, store jetstream.ObjectStore) error {
		name := strconv.Itoa(unit)
		if err := store.Delete(ctx, name); err != nil {
			return err
		}
		stream, err := b.js.Stream(ctx, "OBJ_"+bucket)
		if err != nil {
			return err
		}
		return stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+bucket+".M."+base64.URLEncoding.EncodeToString([]byte(name))))
	})
	if nothing(err) {
		return nil
	}
	return err
}

// A wireRow is a row as a unit holds it. It says what a Sample's own JSON leaves out.
type wireRow struct {
	Row int `json:"row"` // its number in the run, from 1 on
	*metrics.Sample
	ContextIDs []string `json:"context_ids,omitzero"` // an empty list says something, none says nothing
}

// packRows compresses rows.
func packRows(rows []shard.Row) ([]byte, error) {
	return pack(func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		for _, row := range rows {
			if err := e.Encode(wireRow{row.Number, row.Sample, row.Sample.ContextIDs}); err != nil {
				return err
			}
		}
		return nil
	})
}

// unpackRows reads what packRows wrote.
func unpackRows(data []byte) ([]shard.Row, error) {
	text, err := unpack(data)
	if err != nil {
		return nil, err
	}
	var rows []shard.Row
	for line := range bytes.Lines(text) {
		row := wireRow{Sample: &metrics.Sample{}}
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, fmt.Errorf("%w: %v", errDamaged, err)
		}
		if row.Sample == nil || row.Row < 1 {
			return nil, errDamaged
		}
		row.Sample.ContextIDs = row.ContextIDs
		rows = append(rows, shard.Row{Number: row.Row, Sample: row.Sample})
	}
	return rows, nil
}

func pack(write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(write(z), z.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(data []byte) ([]byte, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnit))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	text, err := z.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errDamaged, err)
	}
	return text, nil
}
