package onnx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
)

// BenchmarkEncode reads texts with an encoder of MiniLM's sizes, in fp32 and with dynamic quantisation.
func BenchmarkEncode(b *testing.B) {
	library(b)
	for _, int8 := range []bool{false, true} {
		w := newEncoder(miniSizes)
		w.int8 = int8
		dir := files(b, map[string]string{"model.onnx": string(w.file("last_hidden_state"))})
		benchmarkEncode(b, dir)
	}
}

func benchmarkEncode(b *testing.B, dir string) {
	for _, threads := range []int{1, 2} {
		e := openTiny(b, Options{Model: dir, Threads: threads})
		for _, n := range []int{64, 128, 256, 512} {
			texts := make([]string, 16)
			for i := range texts {
				texts[i] = strings.Repeat("river stone ", n/2-1)
			}
			kind := e.Info().Engine[strings.LastIndex(e.Info().Engine, " ")+1:]
			b.Run(fmt.Sprintf("%s-%dtokens-%dthreads", kind, n, threads), func(b *testing.B) {
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
