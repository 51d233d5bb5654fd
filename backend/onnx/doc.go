// Package onnx runs graphs of ONNX Runtime, in this process, through its shared library and without cgo.
//
// [Load] opens the library: a table of functions, of which api.go names those that are called. A [Session] is a graph,
// loaded, with its inputs and outputs (session.go). It computes one text a call, on one thread, so that the bits of an
// answer depend neither on its neighbours nor on the number of cores.
package onnx
