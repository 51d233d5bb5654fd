// Package llama runs a model in this process: llama.cpp's own shared libraries, bound without cgo.
//
// It is built for evaluation: thousands of short calls that share most of their prompts, whose answers
// must be the same tomorrow. One goroutine owns the model. A caller renders the chat template and tokenizes
// the prompt in its own goroutine (prompt.go), hands over a job and waits. The owner then batches continuously:
//
//  1. Admission with a prefix cache (scheduler.go, prefixtree.go): waiting jobs are put on idle streams. A stream is a
//     place for one sequence in the KV cache. The prompts that streams hold, or are computing, stand in a radix tree;
//     a job gets a copy of its longest-prefix match, and waits where a longer one is just being computed. Jobs of an
//     earlier sample go first.
//  2. Prefill (batch.go): chunks of the prompts that are not ready, of several sequences in one batch.
//  3. Decode (batch.go, writer.go, sample.go): when all are ready, one token more of every reply, all in one batch. A
//     reply that ends makes room at once. Constrained decoding (package grammar) appends what a schema leaves no
//     choice about unsampled, and prompt lookup proposes draft tokens (draft.go): both are computed like a prompt.
//
// A job is tokens to compute and a task that takes logits: writing a reply, or scoring given text (score.go).
// Encoder-decoder models have a loop of their own, for the same jobs (encdec.go). Embeddings and classification heads
// have another. What is offloaded to GPUs is chosen in offload.go.
//
// # Repeatability
//
// The engine is batch-invariant: the answer to a request has the same bits whatever shares its batches and whatever
// was computed before, on any number of threads. Three rules see to that, and tests hold them:
//
//   - Attention over a prompt is computed in tiles of tokens, over what follows it token by token. A token's bits
//     depend on that, and on nothing else, so a prompt can be cut, and shared, anywhere: see tiling.go. A piece of it
//     that does not fill a tile ends in padding tokens.
//   - Pieces that are computed together have one width. llama.cpp cuts a batch of several sequences at the
//     length of the shortest, so mixing lengths would move the cuts.
//   - The number of tokens in a pass, and of logits taken from it, is a multiple of the tiles in which
//     weights are multiplied with tokens; padding tokens fill the last one. What does not fill a tile is added up in
//     another order. A lone reply's next tokens are guessed, and the guesses verified in place of padding (draft.go).
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
// Options.Fast gives all of this up: nothing is padded, and a pass takes what there is, so that bits depend on what
// else was computed. Info says so.
//
// # Encoder-decoder models
//
// A model like T5 encodes the whole prompt, looking both ways, before it decodes a word, so that no prefix of it can be
// cached. Its jobs are worked off one by one; a prompt with several continuations to score is encoded once.
package llama
