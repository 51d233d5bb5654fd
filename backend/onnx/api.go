package onnx

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/jupiterrider/ffi"
)

// apiVersion is the version of the table of functions that this package knows. The table is append-only: a newer
// library gives the same functions in the same places.
const apiVersion = 24

// A function is the place of a C function in the table that OrtApiBase's GetApi gives, as onnxruntime_c_api.h lists
// them.
type function int

const (
	getErrorMessage                  function = 2
	createEnv                        function = 3
	disableTelemetryEvents           function = 6
	createSessionFromArray           function = 8
	runSession                       function = 9
	createSessionOptions             function = 10
	setSessionExecutionMode          function = 13
	setSessionGraphOptimizationLevel function = 23
	setIntraOpNumThreads             function = 24
	setInterOpNumThreads             function = 25
	sessionGetInputCount             function = 30
	sessionGetOutputCount            function = 31
	sessionGetInputTypeInfo          function = 33
	sessionGetOutputTypeInfo         function = 34
	sessionGetInputName              function = 36
	sessionGetOutputName             function = 37
	createRunOptions                 function = 39
	runOptionsSetTerminate           function = 46
	createTensorWithDataAsOrtValue   function = 49
	getTensorMutableData             function = 51
	castTypeInfoToTensorInfo         function = 55
	getTensorElementType             function = 60
	getDimensionsCount               function = 61
	getDimensions                    function = 62
	getTensorTypeAndShape            function = 65
	createCPUMemoryInfo              function = 69
	allocatorFree                    function = 76
	getAllocatorWithDefaultOptions   function = 78
	releaseEnv                       function = 92
	releaseStatus                    function = 93
	releaseMemoryInfo                function = 94
	releaseSession                   function = 95
	releaseValue                     function = 96
	releaseRunOptions                function = 97
	releaseTypeInfo                  function = 98
	releaseTensorTypeAndShapeInfo    function = 99
	releaseSessionOptions            function = 100
	addSessionConfigEntry            function = 130

	functions = 131 // the part of the table that is used
)

// A handle is a pointer to something of ONNX Runtime's; 0 is none.
type handle uintptr

// A Library is ONNX Runtime as this process has loaded it.
type Library struct {
	Version string // "1.30.0"

	api       *[functions]uintptr
	env       handle
	memory    handle // says that tensors lie in ordinary memory
	allocator handle // of the strings that it gives
}

// String names the library: "ONNX Runtime 1.30.0".
func (l *Library) String() string { return "ONNX Runtime " + l.Version }

// Load loads ONNX Runtime's shared library from a file, or says what is wrong with it. The library stays in the process
// for good; loading it again is cheap.
func Load(file string) (*Library, error) {
	lib, err := ffi.Load(file)
	if err != nil {
		return nil, fmt.Errorf("the library %s cannot be loaded (%v): fetch it with: assay models engine --onnx", file, err)
	}
	getBase, err := lib.Get("OrtGetApiBase")
	if err != nil {
		return nil, fmt.Errorf("%s is not ONNX Runtime: it has no function OrtGetApiBase", file)
	}
	address, _, _ := purego.SyscallN(getBase)
	base := *(**struct{ getAPI, getVersion uintptr })(unsafe.Pointer(&address))
	text, _, _ := purego.SyscallN(base.getVersion)
	l := &Library{Version: copied(text)}
	table, _, _ := purego.SyscallN(base.getAPI, apiVersion)
	if table == 0 {
		return nil, fmt.Errorf("%s is ONNX Runtime %s, which is too old: fetch another with: assay models engine --onnx",
			file, l.Version)
	}
	l.api = *(**[functions]uintptr)(unsafe.Pointer(&table))
	if err := l.start(); err != nil {
		l.Close()
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return l, nil
}

// start makes what all sessions share.
func (l *Library) start() error {
	const fatal = 4 // of the log's levels: errors come as results, and nothing is to be printed
	const arena, ordinary = 1, 0
	name := cstring("assay")
	if err := l.call(createEnv, fatal, uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&l.env))); err != nil {
		return err
	}
	if err := l.call(disableTelemetryEvents, uintptr(l.env)); err != nil { // there is some on Windows
		return err
	}
	if err := l.call(createCPUMemoryInfo, arena, ordinary, uintptr(unsafe.Pointer(&l.memory))); err != nil {
		return err
	}
	return l.call(getAllocatorWithDefaultOptions, uintptr(unsafe.Pointer(&l.allocator)))
}

// Close frees what Load made. Every session must have been closed.
func (l *Library) Close() {
	l.release(releaseMemoryInfo, &l.memory)
	l.release(releaseEnv, &l.env)
}

// call calls a function that returns a status, and returns what that says. The arguments are pointers, kept alive and
// where they are until the function returns, and integers.
//
//go:uintptrescapes
func (l *Library) call(f function, args ...uintptr) error {
	status, _, _ := purego.SyscallN(l.api[f], args...)
	if status == 0 {
		return nil
	}
	text, _, _ := purego.SyscallN(l.api[getErrorMessage], status)
	message := copied(text)
	purego.SyscallN(l.api[releaseStatus], status)
	return fmt.Errorf("ONNX Runtime: %s", strings.TrimSpace(message))
}

// release frees what a handle points to, if it points to anything, and clears it.
func (l *Library) release(f function, h *handle) {
	if *h != 0 {
		purego.SyscallN(l.api[f], uintptr(*h))
		*h = 0
	}
}

// count asks for a number.
func (l *Library) count(f function, of handle) (int, error) {
	var n uintptr
	err := l.call(f, uintptr(of), uintptr(unsafe.Pointer(&n)))
	return int(n), err
}

// config sets one of a session's options that go by name.
func (l *Library) config(options handle, key, value string) error {
	k, v := cstring(key), cstring(value)
	return l.call(addSessionConfigEntry, uintptr(options), uintptr(unsafe.Pointer(k)), uintptr(unsafe.Pointer(v)))
}

// cstring returns text with the zero that C wants at its end.
func cstring(text string) *byte {
	b := append([]byte(text), 0)
	return &b[0]
}

// longest bounds the strings that are taken from C; real ones are names and messages.
const longest = 1 << 16

// copied copies a C string.
func copied(address uintptr) string {
	if address == 0 {
		return ""
	}
	start := *(*unsafe.Pointer)(unsafe.Pointer(&address))
	n := 0
	for n < longest && *(*byte)(unsafe.Add(start, n)) != 0 {
		n++
	}
	return strings.ToValidUTF8(string(unsafe.Slice((*byte)(start), n)), "\uFFFD")
}
