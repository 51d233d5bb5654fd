//go:build unix

package onnx

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
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

// BenchmarkVerdicts counts the verdicts, a probability above 0.5 or not, that are others than in fp32, of what metrics
// ask about the rows of the datasets that ASSAY_BENCH_DATA lists, or of the examples. It is no test of speed.
func BenchmarkVerdicts(b *testing.B) {
	list := contenders(b, 0)
	pairs := slices.DeleteFunc(benchPairs(b), func(a asked) bool { // some words have many tokens
		_, err := backend.Classify(b.Context(), list[2], []backend.Pair{a.pair})
		return errors.Is(err, backend.ErrPromptTooLong)
	})
	labels := list[1].Info().Labels
	for b.Loop() {
		var answers [3][][]float32
		for i, c := range list {
			for _, a := range pairs {
				got, err := backend.Classify(b.Context(), c, []backend.Pair{a.pair})
				if err != nil {
					b.Fatal(err)
				}
				answers[i] = append(answers[i], got[0])
			}
		}
		for _, i := range []int{0, 2} {
			verdicts, flips, off := 0, 0, 0.0
			for k, a := range pairs {
				for _, label := range a.labels {
					j := slices.Index(labels, label)
					x, y := answers[1][k][j], answers[i][k][j]
					verdicts++
					if (x > 0) != (y > 0) {
						flips++
					}
					off += math.Abs(chance(x) - chance(y))
				}
			}
			b.ReportMetric(float64(verdicts), "verdicts")
			b.ReportMetric(float64(flips), list[i].name+"-flips")
			b.ReportMetric(off/float64(verdicts), list[i].name+"-mean-difference")
		}
	}
	b.ReportMetric(0, "ns/op")
}

func chance(logit float32) float64 { return 1 / (1 + math.Exp(-float64(logit))) }

// An asked pair has the outputs that metrics read of it.
type asked struct {
	pair   backend.Pair
	labels []string
}

// benchPairs are, for each row of the datasets, a sentence of the answer and the question with a window of each context,
// the question with the answer, and the question and a reference with the answer.
func benchPairs(b *testing.B) []asked {
	var list []asked
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
				References       []string `json:"reference_answers"`
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				b.Fatal(err)
			}
			if row.Answer == "" {
				continue
			}
			add := func(query, text string, labels ...string) {
				list = append(list, asked{backend.Pair{Query: query, Text: text}, labels})
			}
			answer := strings.SplitAfter(row.Answer, ". ")
			for i, text := range row.Contexts {
				text = window(text, i*37)
				add(row.Question, text, "context_relevance")
				add(answer[i%len(answer)], text, "faithfulness", "contradiction")
			}
			add(row.Question, window(row.Answer, 0), "answer_relevance")
			for _, text := range row.References {
				add(row.Question+" | "+text, window(row.Answer, 0), "answer_correctness")
			}
		}
	}
	return list
}

// window is 110 words of a text, from some word on.
func window(text string, start int) string {
	words := strings.Fields(text)
	start %= max(1, len(words))
	return strings.Join(words[start:min(start+110, len(words))], " ")
}
