package cache

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/assay-eval/assay/backend"
)

// The operations, as they are stored; those of Encode: see opOf.
const (
	opGenerate = "generate"
	opScore    = "score"
)

// A stored value is
//
//	1 byte    format: how the payload is packed
//	4 bytes   CRC-32C of the key, the part, the format and the payload, little endian
//	n bytes   payload: JSON, but for what forms of encoded inputs say otherwise: see formOf
//
// The key and the part (which column it is) are in the sum and not in the value, so that a value that
// strayed into another row or column is as bad as a damaged one.
const (
	formatPlain = 1
	formatZstd  = 2

	partAnswer  = 'a'
	partRequest = 'r'

	headerSize = 5
	maxPayload = 16 << 20 // bytes, unpacked: a guard against zstd bombs, and larger than any prompt
)

// errDamaged says that a value is not what was written. Its reader treats it as absent.
var errDamaged = errors.New("damaged value")

// A packer packs and unpacks values. It is safe for concurrent use.
type packer struct {
	enc   *zstd.Encoder
	dec   *zstd.Decoder
	table *crc32.Table
}

func newPacker() (*packer, error) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPayload))
	if err != nil {
		return nil, err
	}
	return &packer{enc, dec, crc32.MakeTable(crc32.Castagnoli)}, nil
}

// pack returns the stored form of a payload, compressed if that makes it notably smaller: what a short
// reply would save is not worth the time that every hit would take.
func (p *packer) pack(key backend.Key, part byte, payload []byte) []byte {
	value := make([]byte, headerSize, headerSize+len(payload))
	value[0] = formatZstd
	value = p.enc.EncodeAll(payload, value)
	if saved := headerSize + len(payload) - len(value); saved < 64 {
		value = append(value[:headerSize], payload...)
		value[0] = formatPlain
	}
	binary.LittleEndian.PutUint32(value[1:], p.sum(key, part, value))
	return value
}

// unpack is the inverse of pack. Its result may share memory with value.
func (p *packer) unpack(key backend.Key, part byte, value []byte) ([]byte, error) {
	if len(value) < headerSize || binary.LittleEndian.Uint32(value[1:]) != p.sum(key, part, value) {
		return nil, errDamaged
	}
	switch value[0] {
	case formatPlain:
		return value[headerSize:], nil
	case formatZstd:
		payload, err := p.dec.DecodeAll(value[headerSize:], nil)
		if err != nil {
			return nil, errDamaged
		}
		return payload, nil
	}
	return nil, errDamaged // written by a version that knows more formats
}

func (p *packer) sum(key backend.Key, part byte, value []byte) uint32 {
	sum := crc32.Update(0, p.table, key[:])
	sum = crc32.Update(sum, p.table, []byte{part, value[0]})
	return crc32.Update(sum, p.table, value[headerSize:])
}

// marshal is json.Marshal, but leaves text as it reads.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// unmarshal is json.Unmarshal for JSON that we wrote: a field that we do not know is an error.
func unmarshal(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if len(bytes.TrimSpace(data[dec.InputOffset():])) > 0 {
		return errors.New("more than one JSON value")
	}
	return nil
}

// Requests are stored as the JSON of these. A schema is kept as a string, since JSON inside JSON loses its
// white space, and the key covers every byte of it.
type (
	generateRecord struct {
		backend.GenerateRequest
		Schema string `json:"schema,omitempty"`
	}
	scoreRecord struct {
		backend.ScoreRequest
	}
)

func newGenerateRecord(req *backend.GenerateRequest) generateRecord {
	return generateRecord{GenerateRequest: *req, Schema: string(req.Schema)}
}

// request is the inverse of newGenerateRecord.
func (r generateRecord) request() *backend.GenerateRequest {
	req := r.GenerateRequest
	if r.Schema != "" {
		req.Schema = json.RawMessage(r.Schema)
	}
	return &req
}

// recordKey computes the key of a stored request.
func recordKey(info backend.Info, op string, request []byte) (backend.Key, error) {
	switch op {
	case opGenerate:
		var r generateRecord
		if err := unmarshal(request, &r); err != nil {
			return backend.Key{}, err
		}
		req := r.request()
		return backend.GenerateKey(info, req), req.Check()
	case opScore:
		var r scoreRecord
		if err := unmarshal(request, &r); err != nil {
			return backend.Key{}, err
		}
		return backend.ScoreKey(info, &r.ScoreRequest), r.ScoreRequest.Check()
	}
	output, ok := outputOf(op)
	if !ok {
		return backend.Key{}, fmt.Errorf("unknown operation %q", op)
	}
	input, err := recordInput(output, request)
	if err != nil {
		return backend.Key{}, err
	}
	req := &backend.EncodeRequest{Output: output, Inputs: []backend.Pair{input}}
	return backend.EncodeKey(info, output, input), req.Check()
}

// readable turns the payload of an answer into JSON, and payload turns it back.
func readable(op string, payload []byte) (json.RawMessage, error) {
	if output, ok := outputOf(op); ok {
		form := formOf(output)
		e, err := form.decode(payload)
		if err != nil {
			return nil, err
		}
		return marshal(form.record(e))
	}
	if !json.Valid(payload) {
		return nil, errDamaged
	}
	return payload, nil
}

// payload checks an answer that comes from outside and returns what is stored of it.
func payload(op string, answer []byte) ([]byte, error) {
	switch op {
	case opGenerate:
		return checked(answer, checkGeneration)
	case opScore:
		return checked(answer, checkScores)
	}
	output, ok := outputOf(op)
	if !ok {
		return nil, fmt.Errorf("unknown operation %q", op)
	}
	form := formOf(output)
	e, err := form.parse(answer)
	if err != nil {
		return nil, err
	}
	if err := form.check(e); err != nil {
		return nil, err
	}
	return form.encode(e)
}

// checked reads an answer that is stored as JSON, and writes it as we do.
func checked[A any](answer []byte, check func(*A) error) ([]byte, error) {
	var a A
	if err := unmarshal(answer, &a); err != nil {
		return nil, err
	}
	if err := check(&a); err != nil {
		return nil, err
	}
	return marshal(a)
}

// checkGeneration reports what no engine may answer.
func checkGeneration(g *backend.Generation) error {
	switch {
	case !utf8.ValidString(g.Text):
		return errors.New("the reply is not UTF-8")
	case g.Stop != backend.StopEnd && g.Stop != backend.StopLength && g.Stop != backend.StopRepeat:
		return fmt.Errorf("the reply ended for the reason %q", g.Stop)
	case g.PromptTokens < 0 || g.OutputTokens < 0:
		return errors.New("a count of tokens is negative")
	}
	return nil
}

func checkScores(s *backend.Scores) error {
	if s.PromptTokens < 0 {
		return errors.New("a count of tokens is negative")
	}
	for _, list := range s.LogProbs {
		for _, v := range list {
			if err := checkLogProb(v); err != nil {
				return err
			}
		}
	}
	for _, list := range s.Likely {
		for _, token := range list {
			if err := checkLogProb(token.LogProb); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkLogProb(v float64) error {
	if !(v <= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%v is not the logarithm of a probability", v)
	}
	return nil
}

// checkInfo reports a description of a model that is too large to be true.
func checkInfo(info backend.Info) error {
	for _, s := range []string{info.Engine, info.Model, info.Digest} {
		if len(s) > 4096 || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			return fmt.Errorf("%.40q cannot be the name of an engine or model", s)
		}
	}
	return nil
}
