// Package onnx runs encoders with ONNX Runtime, in this process, through its shared library and without cgo. It reads
// models as they are published: a Hugging Face folder (config.json, onnx/model.onnx) or a single .onnx file.
//
// A model comes to an answer in these steps:
//
//   - Load opens the library: a table of functions, of which api.go names those that are called;
//   - the graph is looked through before ONNX Runtime sees it: weights outside its folder and operators that ONNX
//     Runtime does not come with are refused, and the kind of numbers is found (outline.go);
//   - a session is made of the bytes that were looked through (session.go);
//   - Open reads what the folder says of labels, context and pooling (folder.go), and finds from the graph's outputs
//     what the model can do (open.go);
//   - Encode cuts each input into tokens and computes it alone, without padding tokens, on one thread; as many are
//     computed side by side as there are cores (encode.go). So the bits of an answer depend neither on its neighbours
//     nor on the number of cores: answers are batch-invariant.
package onnx
