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
// before, on any number of threads. Three rules see to that, and tests hold them:
//
//   - Prompts are computed in pieces that end at fixed positions, the multiples of block, and a copied
//     prefix ends at one: floating-point sums depend on where a prompt is cut.
//   - Pieces that are computed together have one width. llama.cpp cuts a batch of several sequences at the
//     length of the shortest, so mixing lengths would move the cuts.
//   - The number of tokens in a pass, and of logits taken from it, is a multiple of the tiles in which
//     weights meet tokens. What does not fill a tile is added up in another order.
//
// Texts are embedded one by one, so that a vector does not depend on the texts beside it either.
//
// This was measured on processors with AVX2, AVX-512 and AMX, for weights of types F32, F16, BF16,
// Q2_K to Q6_K, Q4_0 to Q8_0, IQ4_NL and IQ4_XS. It is not promised for mixtures of experts (how many tokens
// an expert gets depends on all), for models whose memory cannot be cut, and on a GPU.
//
// What the bits do depend on is in Info: the library's version, the variant of it that the processor
// got, the kind of attention and the weights' digest.
//
// # Models of two halves
//
// A model like T5 reads the whole prompt with one half before the other writes a word, so that prompts have
// no beginning to share. Its jobs are worked off one by one; what several continuations of one prompt are
// scored against is read once.
package llama
