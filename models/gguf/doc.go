// Package gguf reads and writes GGUF, the format of llama.cpp's model files, checks that llama.cpp would load
// a file, and converts BERT embedding models from safetensors.
//
// A file is a header of named fields and tensor descriptions, followed by the tensors' data. Only the header is
// read: what a model says of itself takes a few lines.
//
//	info, err := gguf.Check("model.gguf")
//	if err != nil {
//		log.Fatal(err) // it says why llama.cpp would not load the file, and what to do
//	}
//	fmt.Println(info.Summary(), "for", info.Context, "tokens")
//
// [Read] gives the header itself, with all fields and tensors, and [Write] writes a file.
//
// Files are untrusted: whatever a header claims is checked against the file's size and fixed bounds, and what
// would fail one of llama.cpp's assertions, which end the process, is an error of [Check]. What the package knows of
// llama.cpp is of one release, [LlamaVersion].
package gguf
