package onnx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
)

// BenchmarkEncode reads texts with an encoder of MiniLM's sizes.
func BenchmarkEncode(b *testing.B) {
	library(b)
	dir := files(b, map[string]string{"model.onnx": string(newEncoder(miniSizes).file("last_hidden_state"))})
	for _, threads := range []int{1, 2} {
		e := openTiny(b, Options{Model: dir, Threads: threads})
		for _, n := range []int{64, 128, 256, 512} {
			texts := make([]string, 16)
			for i := range texts {
				texts[i] = strings.Repeat("river stone ", n/2-1)
			}
			b.Run(fmt.Sprintf("%dtokens-%dthreads", n, threads), func(b *testing.B) {
				for b.Loop() {
					if _, err := backend.Embed(b.Context(), e, texts); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*len(texts)*n)/b.Elapsed().Seconds(), "tok/s")
			})
		}
	}
}
