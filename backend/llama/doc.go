// Package llama runs a model in this process: llama.cpp's own shared libraries, bound without cgo.
//
// It is built for evaluation: thousands of short calls that share most of their prompts, whose answers
// must be the same tomorrow. One goroutine owns the model. A caller renders the chat template and cuts
// the prompt into tokens in its own goroutine, hands over a job and waits. The owner then turns:
//
//  1. It admits waiting jobs to idle streams. A stream is a place for one sequence in the cache of keys
//     and values. A job gets a copy of whatever part of its prompt any stream holds already; a job whose
//     prompt is just being computed for another waits for that instead of computing it again.
//  2. It computes a piece of the prompts that are not ready, several sequences at a time.
//  3. When all are ready, it computes one token more of every reply, all in one pass, and samples. A
//     reply that ends makes room at once.
//
// # Repeatability
//
// The reply to a request has the same bits whatever is computed beside it and whatever was computed
// before, on any number of threads. Three rules see to that. Each was measured, and tests hold them:
//
//   - Prompts are computed in pieces that end at fixed positions, the multiples of block, and a copied
//     prefix ends at one: floating-point sums depend on where a prompt is cut.
//   - Sequences that are computed together get pieces of one length. llama.cpp cuts batches of several
//     sequences at the length of the shortest, so mixing lengths would move the cuts.
//   - A single token of a single long sequence is never computed alone: llama.cpp then splits the
//     attention over threads and sums in another order. An idle stream keeps it company.
//
// What the bits do depend on is in Info: the library's version, the variant of it that the processor
// got, the kind of attention and the weights' digest.
package llama
