// Package metrics scores samples with local models.
//
// The path of a sample:
//
//  1. [Run] takes it from an iterator and starts every metric on it, keeping a window of samples open
//     so that the models always have work.
//  2. A [Metric]'s Score function, straight-line Go, asks the models through [Models]: a [Prompt] is
//     rendered, the reply decoded into a Go type, a bad reply asked for again as a new draw.
//  3. The outcome is a [Result]: a [Score] with its findings, or an error with its kind. Results come
//     out in input order. A failure is never a number.
//
// Each family of metrics is one file. [All] lists them.
//
// In a conversation, a sample's Question and Answer are its last exchange, and History is what was said
// before. The metrics of the RAGAS paper know only a question, an answer and contexts, so their built-in
// prompts leave History out; it is there for a user's own prompt to show. Those about conversations and agents
// (package agent) read the whole of it.
//
// Text that is too long for a model is never cut. Contexts and answers are read in windows of whole
// sentences, as few as fit, and the findings say in which window a statement found its support.
package metrics
