// Package bert writes BERT models of GGUF files as ONNX graphs, so that one file serves both engines: llama.cpp, and
// ONNX Runtime, which reads texts several times as fast where the processor multiplies 8-bit integers.
//
//	m, err := bert.Read("encoder-judge.gguf")
//	if err != nil {
//		return err // wraps ErrOther where llama.cpp may read the file
//	}
//	file, err := m.Graph(bert.Int8)
//	...
//	cutter, err := m.Tokenizer() // the tokens are those of llama.cpp
package bert
