// Package gollama runs a model with github.com/go-skynet/go-llama.cpp, the binding that Assay was first
// sketched with. It implements [backend.Backend].
//
// The binding stopped in March 2024 on a llama.cpp of September 2023, which it compiles in with cgo from a git
// submodule that the module proxy does not carry. So this is a Go module of its own, for programs: the binding is in
// the build list of those who import it, and not of Assay. It builds everywhere, and runs models only in a program
// built with the tag gollama (docs/gollama.md shows one); in others [Open] says so. Package llama is the engine to
// use; this one is for those who have this binding built, and must stay with it.
//
// What it cannot do:
//
//   - It reads GGUF version 2 only, of four architectures.
//   - It serves one call at a time, and shares nothing between prompts. A prompt, once begun, is computed to its
//     end: a caller whose context ends does not wait for that, but the next one does.
//   - It gives no probabilities, keeps to no schema and ranks nothing.
//   - Its llama.cpp has no chat templates and reads no control tokens in text. Conversations are put in plain
//     text, see below, and a text can pretend to be another message.
//   - It takes texts as C strings: one with a zero byte is refused ([backend.ErrInvalid]), as it would be cut.
//   - Its embeddings are the last layer's output at the last token of a text.
//   - It leaks memory: each call leaves three or four copies of its text behind.
//
// # The plain format
//
// Each message is a line that names its speaker, its text as it is, and an empty line; then the
// assistant's line:
//
//	### System:
//	You answer in one word.
//
//	### User:
//	Which colour is snow?
//
//	### Assistant:
//
// The reply ends where the model ends it, or where it begins such a line itself.
package gollama
