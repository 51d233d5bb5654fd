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

// put stores what is known of a unit, in place of what was stored before.
func (b *Broker) put(ctx context.Context, bucket string, unit int, o object) error {
	return b.try(ctx, fmt.Sprintf("storing unit %d", unit), func(short context.Context) error {
		store, err := b.store(short, bucket)
		if err != nil {
			return err
		}
		long, free := b.linked(ctx) // without a deadline: each part has one of its own
		defer free()
		_, err = store.Put(long, jetstream.ObjectMeta{Name: strconv.Itoa(unit), Metadata: o.meta}, bytes.NewReader(o.data))
		return err
	})
}

// has reports whether there is something stored of a unit.
func (b *Broker) has(ctx context.Context, bucket string, unit int) (there bool, err error) {
	err = b.try(ctx, fmt.Sprintf("looking for unit %d", unit), func(ctx context.Context) error {
		store, err := b.store(ctx, bucket)
		if err != nil {
			return err
		}
		_, err = store.GetInfo(ctx, strconv.Itoa(unit))
		if there = err == nil; errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		}
		return err
	})
	return there, err
}

// get reads what is stored of a unit: nil if there is nothing, or what there is is damaged.
func (b *Broker) get(ctx context.Context, bucket string, unit int) (o *object, err error) {
	err = b.try(ctx, fmt.Sprintf("reading unit %d", unit), func(short context.Context) error {
		o = nil
		store, err := b.store(short, bucket)
		if err != nil {
			return err
		}
		info, err := store.GetInfo(short, strconv.Itoa(unit))
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		}
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
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		defer r.Close()
		data, err := io.ReadAll(io.LimitReader(r, maxUnit+1))
		if errors.Is(err, jetstream.ErrDigestMismatch) {
			return nil
		}
		if err == nil {
			info, err = r.Info()
		}
		if err == nil {
			o = &object{data, info.Metadata}
		}
		return err
	})
	return o, err
}

// remove removes what is stored of a unit, with what the store keeps of objects that were removed.
func (b *Broker) remove(ctx context.Context, bucket string, unit int) error {
	return b.try(ctx, fmt.Sprintf("removing unit %d", unit), func(ctx context.Context) error {
		store, err := b.store(ctx, bucket)
		if err != nil {
			return err
		}
		name := strconv.Itoa(unit)
		if err := store.Delete(ctx, name); errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		stream, err := b.js.Stream(ctx, "OBJ_"+bucket)
		if err != nil {
			return err
		}
		return stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+bucket+".M."+base64.URLEncoding.EncodeToString([]byte(name))))
	})
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
