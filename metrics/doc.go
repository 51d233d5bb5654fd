// Package metrics is the core of the evaluation: it scores samples by metrics that ask local models.
//
// The path of a sample:
//
//  1. [Prepare] reads the whole dataset first, for metrics whose values depend on all rows (document
//     frequencies of tokens, for one). Most have nothing to prepare. [Check] says before the first sample what
//     would keep a metric from running.
//  2. [Run] takes the sample from an iterator and starts every metric on it, with a bounded number of samples in
//     flight, enough that the models always have work. [Metric.Try] first looks whether the sample fills what the
//     metric needs.
//  3. The [Metric]'s Score function, straight-line Go, asks the models in [Models], each by its role: judge,
//     embedding model or encoder. It does so through package
//     [github.com/assay-eval/assay/metrics/ask], which renders a prompt (package
//     [github.com/assay-eval/assay/metrics/prompts]), decodes the reply into a Go type, retries a reply that
//     cannot be decoded as a new draw, or scores options by their first token and texts by their log-likelihood.
//     [Models.Note] records the cache key and the tokens of each answer.
//  4. The outcome is a [Result]: a [Score] with its findings, or an error with its kind. Results come
//     out in input order. A failure is never a number.
//
// Each family of metrics is a package, whose function Metrics lists them. They import this one and ask, and none
// imports another:
//
//   - judged: the judge replies in words (claim decomposition and verdicts): RAGAS, Ragas, RAGChecker
//   - likelihood: the judge's probabilities are read (first-token scoring, log-likelihood): P(True), G-Eval,
//     GPTScore, BARTScore
//   - selfcheck: consistency with other answers of the same system: SelfCheckGPT
//   - vector: embeddings and cross-encoders: cosine, BERTScore, MoverScore
//   - text: n-grams and edit distance, no model: exact match, token F1, ROUGE, BLEU, chrF, METEOR
//   - form: deterministic checks of form, no model: language, length, readability, refusal phrases
//   - retrieval: measures of a ranking, no model: nDCG, MAP, MRR, ERR, RBP, bpref, infAP
//   - citation: marks in the answer, and whether what they cite supports it: ALCE
//   - nugget: facts that an answer should state, and how many it does: AutoNuggetizer
//   - answerability: what may be answered and whether the answer declines: mtRAG, CRAG
//   - relevance: passages graded as the assessors of a test collection would: UMBRELA
//   - agent: conversations and tool calls
//   - criteria: aspect critics, rubrics and checks, those of a user's own file, too
//
// Package [github.com/assay-eval/assay/metrics/all] alone imports every family: it selects metrics by name, has the
// presets, and reads trained judges.
//
// In a conversation, a sample's Question and Answer are its last exchange, and History is what was said
// before. Prompts that show the question show the last turns before it, whole, as far as [MostHistory] goes; encoders
// and embedders, which have room for a question, read [Sample.Asked]; measures of words read the question alone; and
// where turns are left out, the evidence says so: see [Turns]. Metrics about conversations and agents (package agent)
// read the whole of it.
//
// Text that exceeds a model's context length is never truncated. Contexts and answers are read in windows (chunks)
// of whole sentences, with overlap and as few as fit ([Passage.InWindows], [EachWindow]), and the findings say in
// which window a statement found its support.
package metrics
