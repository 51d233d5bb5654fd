//go:build unix

package onnx

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
	engine "github.com/assay-eval/assay/backend/llama"
)

// A contender is an engine with the encoder judge that comes with Assay.
type contender struct {
	name string
	backend.Backend
}

// contenders opens the judge on llama.cpp, and on ONNX Runtime in each kind of numbers, with so many threads each.
func contenders(b *testing.B, threads int) []contender {
	library(b)
	lib := os.Getenv("ASSAY_TEST_LIB")
	if lib == "" {
		b.Skip("ASSAY_TEST_LIB names no llama.cpp libraries: run scripts/bench/encoder.sh")
	}
	model := cmp.Or(os.Getenv("ASSAY_BENCH_ENCODER"), shipped)
	e, err := engine.Open(b.Context(), engine.Options{Lib: lib, Model: model, Threads: threads})
	if err != nil {
		b.Fatal(err)
	}
	list := []contender{{"llama", e}}
	for _, numbers := range []string{"fp32", "int8"} {
		o := Options{Lib: os.Getenv("ASSAY_TEST_ORT"), Model: model, Numbers: numbers, Threads: threads}
		e, err := Open(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, contender{"onnx-" + numbers, e})
	}
	b.Cleanup(func() {
		for _, c := range list {
			c.Close()
		}
	})
	return list
}

// BenchmarkEncoders reads pairs of 128, 256 and 512 tokens, two at once, with each engine in turn, so that what else
// the machine does meets all alike. It reports tokens by the clock, of the best round, and by processor time, which a
// busy machine hardly moves.
func BenchmarkEncoders(b *testing.B) {
	for _, threads := range []int{1, 2} {
		list := contenders(b, threads)
		for _, n := range []int{128, 256, 512} {
			b.Run(fmt.Sprintf("%dtokens/%dthreads", n, threads), func(b *testing.B) { race(b, list, n) })
		}
	}
}

func race(b *testing.B, list []contender, n int) {
	pairs := make([]backend.Pair, max(2, 1024/n))
	for i := range pairs {
		pairs[i] = backend.Pair{Query: "which river", Text: strings.Repeat("silver ", n-5)}
	}
	clock, processor := make([]float64, len(list)), make([]float64, len(list))
	for b.Loop() {
		for i, c := range list {
			start, used := time.Now(), processorTime(b)
			if _, err := backend.Classify(b.Context(), c, pairs); err != nil {
				b.Fatal(err)
			}
			tokens := float64(n * len(pairs))
			clock[i] = max(clock[i], tokens/time.Since(start).Seconds())
			processor[i] = max(processor[i], tokens/(processorTime(b)-used))
		}
	}
	for i, c := range list {
		b.ReportMetric(clock[i], c.name+"-tok/s")
		b.ReportMetric(processor[i], c.name+"-tok/cpu-s")
	}
	b.ReportMetric(0, "ns/op")
}

// processorTime is what this process has used, in seconds.
func processorTime(b *testing.B) float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

// BenchmarkVerdicts counts the verdicts, a probability above 0.5 or not, that are others than in fp32, on pairs of the
// datasets that ASSAY_BENCH_DATA lists, or of the examples. It is no test of speed.
func BenchmarkVerdicts(b *testing.B) {
	list := contenders(b, 0)
	pairs := benchPairs(b)
	for b.Loop() {
		var answers [3][][]float32
		for i, c := range list {
			for _, p := range pairs {
				got, err := backend.Classify(b.Context(), c, []backend.Pair{p})
				if err != nil {
					b.Fatal(err)
				}
				answers[i] = append(answers[i], got[0])
			}
		}
		for _, i := range []int{0, 2} {
			outputs, flips, off := 0, 0, 0.0
			for k, exact := range answers[1] {
				for j, x := range exact {
					y := answers[i][k][j]
					outputs++
					if (x > 0) != (y > 0) {
						flips++
					}
					off += math.Abs(chance(x) - chance(y))
				}
			}
			b.ReportMetric(float64(outputs), "verdicts")
			b.ReportMetric(float64(flips), list[i].name+"-flips")
			b.ReportMetric(off/float64(outputs), list[i].name+"-mean-difference")
		}
	}
	b.ReportMetric(0, "ns/op")
}

func chance(logit float32) float64 { return 1 / (1 + math.Exp(-float64(logit))) }

// benchPairs are a sentence of the answer and the question with a window of a context, for each row of the datasets.
func benchPairs(b *testing.B) []backend.Pair {
	var pairs []backend.Pair
	files := cmp.Or(os.Getenv("ASSAY_BENCH_DATA"), filepath.Join("..", "..", "examples", "qa.jsonl"))
	for _, file := range strings.Fields(files) {
		data, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var row struct {
				Question, Answer string
				Contexts         []string
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				b.Fatal(err)
			}
			answer := strings.SplitAfter(row.Answer, ". ")
			for i, text := range row.Contexts {
				words := strings.Fields(text)
				if len(words) == 0 || row.Answer == "" {
					continue
				}
				start := i * 37 % len(words)
				window := strings.Join(words[start:min(start+110, len(words))], " ")
				pairs = append(pairs, backend.Pair{Query: row.Question, Text: window},
					backend.Pair{Query: answer[i%len(answer)], Text: window})
			}
		}
	}
	return pairs
}
