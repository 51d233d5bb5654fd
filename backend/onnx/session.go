package onnx

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/assay-eval/assay/backend/onnx/graph"
)

// A Slot is an input or output of a graph.
type Slot struct {
	Name  string
	Type  graph.ElementType
	Shape []int64 // -1 where the graph leaves it open
}

// A Tensor is the outcome of a graph, or of a part of it.
type Tensor struct {
	Shape  []int64
	Values []float32
}

// A Session is a graph, loaded. Its Run is safe for concurrent use: each call computes on its caller's thread alone.
type Session struct {
	Inputs  []Slot
	Outputs []Slot

	lib     *Library
	session handle
}

// skipped are the optimisations that must not be done: the operator that this one puts in is a scalar loop.
const skipped = "SkipLayerNormFusion"

// NewSession makes a session of a graph: the bytes of an .onnx file. The files of external data that it names are read
// from a folder.
func (l *Library) NewSession(file []byte, folder string) (*Session, error) {
	if len(file) == 0 {
		return nil, errors.New("the file is empty")
	}
	options, err := l.sessionOptions(folder)
	defer l.release(releaseSessionOptions, &options)
	if err != nil {
		return nil, err
	}
	s := &Session{lib: l}
	err = l.call(createSessionFromArray, uintptr(l.env), uintptr(unsafe.Pointer(&file[0])), uintptr(len(file)),
		uintptr(options), uintptr(unsafe.Pointer(&s.session)))
	if err != nil {
		return nil, err
	}
	s.Inputs, err = s.slots(sessionGetInputCount, sessionGetInputName, sessionGetInputTypeInfo)
	if err == nil {
		s.Outputs, err = s.slots(sessionGetOutputCount, sessionGetOutputName, sessionGetOutputTypeInfo)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// sessionOptions says how a session computes: on one thread, one operator after the other, optimised.
func (l *Library) sessionOptions(folder string) (options handle, err error) {
	const sequential, everything = 0, 99
	if err := l.call(createSessionOptions, uintptr(unsafe.Pointer(&options))); err != nil {
		return 0, err
	}
	set := func(f function, value uintptr) {
		if err == nil {
			err = l.call(f, uintptr(options), value)
		}
	}
	config := func(key, value string) {
		if err == nil {
			err = l.config(options, key, value)
		}
	}
	set(setIntraOpNumThreads, 1)
	set(setInterOpNumThreads, 1)
	set(setSessionExecutionMode, sequential)
	set(setSessionGraphOptimizationLevel, everything)
	config("optimization.disable_specified_optimizers", skipped)
	config("session.load_model_format", "ONNX") // not its own format, which outline.go cannot look through
	config("session.model_external_initializers_file_folder_path", folder)
	return options, err
}

// Close frees the session. No Run may be under way.
func (s *Session) Close() { s.lib.release(releaseSession, &s.session) }

// slots lists the inputs or the outputs.
func (s *Session) slots(count, name, info function) ([]Slot, error) {
	n, err := s.lib.count(count, s.session)
	if err != nil {
		return nil, err
	}
	list := make([]Slot, n)
	for i := range list {
		if list[i].Name, err = s.slotName(name, i); err != nil {
			return nil, err
		}
		if err = s.describe(info, i, &list[i]); err != nil {
			return nil, fmt.Errorf("%q: %w", list[i].Name, err)
		}
	}
	return list, nil
}

func (s *Session) slotName(f function, i int) (string, error) {
	var text uintptr
	err := s.lib.call(f, uintptr(s.session), uintptr(i), uintptr(s.lib.allocator), uintptr(unsafe.Pointer(&text)))
	if err != nil {
		return "", err
	}
	name := copied(text)
	return name, s.lib.call(allocatorFree, uintptr(s.lib.allocator), text)
}

// describe fills in a slot's type and shape. What is no tensor (a sequence, say) has neither.
func (s *Session) describe(f function, i int, slot *Slot) error {
	var info, tensor handle
	if err := s.lib.call(f, uintptr(s.session), uintptr(i), uintptr(unsafe.Pointer(&info))); err != nil {
		return err
	}
	defer s.lib.release(releaseTypeInfo, &info)
	err := s.lib.call(castTypeInfoToTensorInfo, uintptr(info), uintptr(unsafe.Pointer(&tensor))) // a part of info
	if err != nil || tensor == 0 {
		return err
	}
	slot.Type, slot.Shape, err = s.lib.typeAndShape(tensor)
	return err
}

// typeAndShape reads a description of a tensor.
func (l *Library) typeAndShape(tensor handle) (graph.ElementType, []int64, error) {
	var kind graph.ElementType
	if err := l.call(getTensorElementType, uintptr(tensor), uintptr(unsafe.Pointer(&kind))); err != nil {
		return 0, nil, err
	}
	n, err := l.count(getDimensionsCount, tensor)
	if err != nil || n == 0 {
		return kind, nil, err
	}
	shape := make([]int64, n)
	return kind, shape, l.call(getDimensions, uintptr(tensor), uintptr(unsafe.Pointer(&shape[0])), uintptr(n))
}

// Run computes some outputs from one row of every input, in the order of s.Inputs, all of the same length. It ends soon
// after the context does, with its error.
func (s *Session) Run(ctx context.Context, rows [][]int64, outputs ...string) ([]Tensor, error) {
	if len(rows) != len(s.Inputs) || len(rows) == 0 || len(outputs) == 0 {
		return nil, fmt.Errorf("%d inputs for a graph of %d, and %d outputs", len(rows), len(s.Inputs), len(outputs))
	}
	for _, row := range rows {
		if len(row) == 0 || len(row) != len(rows[0]) {
			return nil, fmt.Errorf("a row of %d tokens beside one of %d", len(row), len(rows[0]))
		}
	}
	options, release, err := s.lib.runOptions(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	c := &computation{Session: s, options: options}
	defer c.free()
	for i, row := range rows {
		if err := c.input(s.Inputs[i], row); err != nil {
			return nil, err
		}
	}
	if err := c.run(outputs); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	list := make([]Tensor, len(outputs))
	for i, value := range c.results {
		if list[i], err = s.lib.tensor(value); err != nil {
			return nil, fmt.Errorf("output %q: %w", outputs[i], err)
		}
	}
	return list, nil
}

// runOptions makes options that have a computation end with the context. They are freed by release.
func (l *Library) runOptions(ctx context.Context) (options handle, release func(), err error) {
	if ctx.Err() != nil {
		return 0, nil, context.Cause(ctx)
	}
	if err := l.call(createRunOptions, uintptr(unsafe.Pointer(&options))); err != nil {
		return 0, nil, err
	}
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		l.call(runOptionsSetTerminate, uintptr(options)) // if it fails, the computation is merely finished
	})
	return options, func() {
		if !stop() {
			<-told
		}
		l.release(releaseRunOptions, &options)
	}, nil
}

// A computation holds what one Run lends to ONNX Runtime and gets from it.
type computation struct {
	*Session
	options handle
	pins    runtime.Pinner
	names   []*byte
	values  []handle
	results []handle
}

// input adds one row of numbers, which must stay as they are until the computation is freed.
func (c *computation) input(slot Slot, row []int64) error {
	data, size := unsafe.Pointer(&row[0]), 8
	if slot.Type == graph.Int32 {
		short := make([]int32, len(row))
		for i, v := range row {
			short[i] = int32(v)
		}
		data, size = unsafe.Pointer(&short[0]), 4
	}
	c.pins.Pin(data)
	shape := [2]int64{1, int64(len(row))}
	c.names = append(c.names, cstring(slot.Name))
	c.values = append(c.values, 0)
	return c.lib.call(createTensorWithDataAsOrtValue, uintptr(c.lib.memory), uintptr(data),
		uintptr(len(row)*size), uintptr(unsafe.Pointer(&shape[0])), uintptr(len(shape)), uintptr(slot.Type),
		uintptr(unsafe.Pointer(&c.values[len(c.values)-1])))
}

func (c *computation) run(outputs []string) error {
	wanted := make([]*byte, len(outputs))
	for i, name := range outputs {
		wanted[i] = cstring(name)
	}
	c.results = make([]handle, len(outputs))
	for _, name := range append(c.names, wanted...) {
		c.pins.Pin(name)
	}
	return c.lib.call(runSession, uintptr(c.session), uintptr(c.options),
		uintptr(unsafe.Pointer(&c.names[0])), uintptr(unsafe.Pointer(&c.values[0])), uintptr(len(c.values)),
		uintptr(unsafe.Pointer(&wanted[0])), uintptr(len(wanted)), uintptr(unsafe.Pointer(&c.results[0])))
}

func (c *computation) free() {
	for i := range c.values {
		c.lib.release(releaseValue, &c.values[i])
	}
	for i := range c.results {
		c.lib.release(releaseValue, &c.results[i])
	}
	c.pins.Unpin()
}

// maxElements bounds an output: a vector of 8,192 numbers for each of 32,768 tokens.
const maxElements = 1 << 28

// tensor copies a result.
func (l *Library) tensor(value handle) (Tensor, error) {
	var info handle
	if err := l.call(getTensorTypeAndShape, uintptr(value), uintptr(unsafe.Pointer(&info))); err != nil {
		return Tensor{}, err
	}
	defer l.release(releaseTensorTypeAndShapeInfo, &info)
	kind, shape, err := l.typeAndShape(info)
	if err != nil {
		return Tensor{}, err
	}
	n := int64(1)
	for _, d := range shape {
		if d < 0 || d > maxElements || n*d > maxElements {
			return Tensor{}, fmt.Errorf("it has the shape %v, which is too large", shape)
		}
		n *= d
	}
	t := Tensor{Shape: shape, Values: make([]float32, n)}
	if n == 0 {
		return t, nil
	}
	var data unsafe.Pointer
	if err := l.call(getTensorMutableData, uintptr(value), uintptr(unsafe.Pointer(&data))); err != nil {
		return Tensor{}, err
	}
	switch kind {
	case graph.Float32:
		copy(t.Values, unsafe.Slice((*float32)(data), n))
	case graph.Float16:
		for i, bits := range unsafe.Slice((*uint16)(data), n) {
			t.Values[i] = graph.Half(bits)
		}
	default:
		return Tensor{}, fmt.Errorf("its elements are of ONNX's type %d: only float32 and float16 are read", kind)
	}
	return t, nil
}
