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
package metrics
