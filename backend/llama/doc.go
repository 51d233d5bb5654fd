// Package llama runs a model in this process: llama.cpp's own shared libraries, bound without cgo.
//
// It is built for evaluation: thousands of short calls that share most of their prompts, whose answers
// must be the same tomorrow. One goroutine owns the model. A caller renders the chat template and cuts
// the prompt into tokens in its own goroutine, hands over a job and waits. The owner then turns:
//
//  1. It admits waiting jobs to idle streams. A stream is a place for one sequence in the cache of keys
//     and values. The prompts that streams hold, or are computing, stand in a radix tree; a job gets a copy
//     of the longest part of its prompt that is there, and waits where a longer one is just being computed.
//     Jobs of an earlier sample go first.
//  2. It computes pieces of the prompts that are not ready, several sequences at a time.
//  3. When all are ready, it computes one token more of every reply, all in one pass, and samples. A
//     reply that ends makes room at once. What a schema leaves no choice about is appended unsampled, and
//     what a reply copies may be drafted: both are computed like a prompt.
//
// A job is tokens to compute and a task that takes logits: writing a reply, or scoring given text. Models that
// read with one half and write with the other have a loop of their own, for the same jobs.
//
// # Repeatability
//
// The answer to a request has the same bits whatever is computed beside it and whatever was computed
// before, on any number of threads. Three rules see to that, and tests hold them:
//
//   - Attention is computed in tiles of tokens where that is fast, and a token's bits depend on whether it
//     is in one. Where the tiles are follows from the prompt alone: see tiling. Elsewhere a prompt can be
//     cut, and shared, anywhere.
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
