package llama

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-eval/assay/backend/llama/library"
	"github.com/assay-eval/assay/models/gguf"
)

// Weights are a tiny model's tensors: what is written to its file, and what the tests' own forward
// passes compute with, in float64 and as plainly as can be.
type weights struct {
	rng     *rand.Rand
	names   []string
	tensors map[string]*tensor
}

type tensor struct {
	shape []int64 // the length of a row, then the number of rows
	data  []float32
	rows  [][]float64 // of data, made when they are first asked for
}

func newWeights(seed uint64) *weights {
	return &weights{rng: rand.New(rand.NewPCG(seed, 1)), tensors: map[string]*tensor{}}
}

// add adds a tensor of random values around mean.
func (w *weights) add(name string, mean, deviation float64, shape ...int64) {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	t := &tensor{shape: shape, data: make([]float32, n)}
	for i := range t.data {
		t.data[i] = float32(mean + deviation*w.rng.NormFloat64())
	}
	w.names = append(w.names, name)
	w.tensors[name] = t
}

// write writes a model of these weights to a file of its own.
func (w *weights) write(t *testing.T, header []gguf.Field) string {
	t.Helper()
	var sources []gguf.TensorSource
	for _, name := range w.names {
		sources = append(sources, gguf.TensorSource{Name: name, Type: gguf.F32, Shape: w.tensors[name].shape,
			Write: func(out io.Writer) error { return binary.Write(out, binary.LittleEndian, w.tensors[name].data) }})
	}
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	var buf bytes.Buffer
	if err := gguf.Write(&buf, header, sources); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// matrix returns the rows of a matrix.
func (w *weights) matrix(name string) [][]float64 {
	t := w.tensors[name]
	for n := int(t.shape[0]); len(t.rows)*n < len(t.data); {
		row := make([]float64, n)
		for i, v := range t.data[len(t.rows)*n:][:n] {
			row[i] = float64(v)
		}
		t.rows = append(t.rows, row)
	}
	return t.rows
}

// row returns a row of a matrix, or a vector, which is its own only row.
func (w *weights) row(name string, i int) []float64 { return w.matrix(name)[i] }

// times multiplies a matrix with x.
func (w *weights) times(name string, x []float64) []float64 {
	rows := w.matrix(name)
	out := make([]float64, len(rows))
	for i, row := range rows {
		out[i] = dot(row, x)
	}
	return out
}

// linear is times, with a bias added.
func (w *weights) linear(name string, x []float64) []float64 {
	return plus(w.times(name+".weight", x), w.row(name+".bias", 0))
}

// attend returns, for each query, the average of values under the softmax of its products with the keys, in
// several heads. Score turns a product into a logit.
func attend(
	queries, keys, values [][]float64, heads int, score func(head, i, j int, product float64) float64,
) [][]float64 {
	width := len(keys[0]) / heads
	out := make([][]float64, len(queries))
	for i, q := range queries {
		out[i] = make([]float64, heads*width)
		for h := range heads {
			a, b := h*width, (h+1)*width
			share, total := make([]float64, len(keys)), 0.0
			for j, k := range keys {
				share[j] = math.Exp(score(h, i, j, dot(q[a:b], k[a:b])))
				total += share[j]
			}
			for j, v := range values {
				for c := a; c < b; c++ {
					out[i][c] += share[j] / total * v[c]
				}
			}
		}
	}
	return out
}

// each applies f to every row.
func each(rows [][]float64, f func([]float64) []float64) [][]float64 {
	out := make([][]float64, len(rows))
	for i, row := range rows {
		out[i] = f(row)
	}
	return out
}

// gelu is the approximation of the Gaussian error linear unit that llama.cpp computes.
func gelu(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func plus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + b[i]
	}
	return out
}

// attentionError is how far the engine may be from a forward pass in float64 for a prompt of n tokens, with heads of
// so many dimensions.
//
// ggml looks GELU up in a table of 11 bits and keeps keys and values in 16, which makes differences of up to 7e-4 on
// every kind of processor. What the kinds differ in is how attention adds up the values: from 64 tokens on in tiles, in
// 32 bits, but only where the dimensions of a head fill whole vector registers. Elsewhere it adds up in 16 bits, and
// the error grows with the tokens: heads of 8 dimensions differ by up to 3.6e-4 with AVX2, whose registers hold 8
// numbers, and by up to 1.2e-3 at 456 tokens with AVX-512, whose registers hold 16. With heads of 16 dimensions, the
// kinds agree; those of real models have 32 and more.
func attentionError(t *testing.T, dimensions, n int) float64 {
	t.Helper()
	lib, err := library.Load(testLib(t))
	if err != nil {
		t.Fatal(err)
	}
	if n >= block && dimensions%floatsInRegister(lib.CPU) != 0 {
		return 2e-3
	}
	return 1e-3
}

// floatsInRegister is how many float32 numbers the vector registers hold that a variant of ggml's CPU library uses.
func floatsInRegister(variant string) int {
	switch variant {
	case "skylakex", "cannonlake", "cascadelake", "cooperlake", "icelake", "zen4", "sapphirerapids": // AVX-512
		return 16
	case "sandybridge", "ivybridge", "piledriver", "haswell", "alderlake": // AVX
		return 8
	}
	return 4 // SSE, NEON
}
