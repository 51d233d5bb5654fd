package bert

import (
	"math"

	"github.com/assay-eval/assay/backend/onnx/graph"
)

// A matrix multiplies rows, and adds a bias.
type matrix struct {
	name    string
	in, out int
	rows    []float32 // a row for each output
	bias    []float32 // nil: none
}

// matrix is one of the file.
func (g *writer) matrix(name string) *matrix {
	m := &matrix{name: name, rows: g.m.weights[name+".weight"], bias: g.m.weights[name+".bias"]}
	m.in, m.out = g.m.sizes(name)
	if m.bias == nil {
		m.bias = make([]float32, m.out)
	}
	return m
}

// scaled is one whose outcome is to be multiplied.
func (g *writer) scaled(name string, factor float64) *matrix {
	m := g.matrix(name)
	times := func(list []float32) []float32 {
		out := make([]float32, len(list))
		for i, v := range list {
			out[i] = float32(float64(v) * factor)
		}
		return out
	}
	m.rows, m.bias = times(m.rows), times(m.bias)
	return m
}

// through is the bias of m when another is added to all that m multiplies.
func (m *matrix) through(bias []float32) []float32 {
	sums := make([]float32, m.out)
	for o := range sums {
		sum := float64(m.bias[o])
		for i, b := range bias {
			sum += float64(b) * float64(m.rows[o*m.in+i])
		}
		sums[o] = float32(sum)
	}
	return sums
}

// An input is what is multiplied: numbers in fp32, or bytes with a scale for each row.
type input struct {
	name string
	rows string // a column of scales; "" for fp32
	zero string // the byte that stands for 0
	fine string // bytes of what the first leave, in finer steps; "": that is dropped
}

func (g *writer) exactly(x string) input { return input{name: x} }

// input makes numbers into what matrices of the graph's kind multiply. Positive ones come from GELU.
func (g *writer) input(name, x string, positive bool) input {
	if g.numbers == FP32 {
		return g.exactly(x)
	}
	return g.bytes(name, x, positive)
}

// linear multiplies.
func (g *writer) linear(m *matrix, x input) string {
	y := m.name
	if m.bias != nil {
		y += ".product"
	}
	if x.rows == "" {
		inputs := []string{x.name, g.Floats(m.name+".weight", m.rows, m.out, m.in)}
		if m.bias != nil {
			inputs = append(inputs, g.vector(m.name+".bias", m.bias))
		}
		return g.Node("Gemm", m.name, inputs, graph.Int("transB", 1))
	}
	y = g.product(y, m, x)
	if m.bias != nil {
		y = g.Node("Add", m.name, []string{y, g.vector(m.name+".bias", m.bias)})
	}
	return y
}

// exact multiplies in fp32.
func (g *writer) exact(name, x string, in, out int) string {
	return g.linear(g.matrix(name), g.exactly(x))
}

// GELU is never below this, and its bytes begin at -26 steps: its steps are 229 of a row's largest number.
const (
	leastGELU = 0.17
	below     = 26
	above     = 255 - below
	fineSteps = 254
)

// integerConstants adds what bytes use.
func (g *writer) integerConstants() {
	g.Floats("unit", []float32{1})
	g.Floats("step up", []float32{1.0 / 127})
	g.Floats("step down", []float32{-1.0 / 127})
	g.Floats("step of gelu", []float32{1.0 / above})
	g.Floats("least step", []float32{1e-12})
	g.Floats("least step of gelu", []float32{leastGELU / below})
	g.Floats("fine step", []float32{1.0 / fineSteps})
	g.Raw("middle", graph.Uint8, []byte{128})
	g.Raw("low", graph.Uint8, []byte{below})
	g.Node("Expand", "middles", []string{"middle", "count"})
	g.Node("Expand", "lows", []string{"low", "count"})
}

// bytes rounds numbers to bytes, with a scale for each row: its largest number becomes 127 steps from the middle.
func (g *writer) bytes(name, x string, positive bool) input {
	top := g.Node("ReduceMax", name+".max", []string{x}, graph.Ints("axes", -1))
	steps := input{name: name + ".bytes", rows: name + ".steps", zero: "middle"}
	if positive {
		steps.zero = "low"
		top = g.Node("Mul", name+".up", []string{top, "step of gelu"})
		g.Node("Max", steps.rows, []string{top, "least step of gelu"})
	} else {
		least := g.Node("ReduceMin", name+".min", []string{x}, graph.Ints("axes", -1))
		top = g.Node("Mul", name+".up", []string{top, "step up"})
		least = g.Node("Mul", name+".down", []string{least, "step down"})
		g.Node("Max", steps.rows, []string{top, least, "least step"})
	}
	flat := g.Node("Squeeze", name+".flat", []string{steps.rows, "one"})
	g.Node("QuantizeLinear", steps.name, []string{x, flat, steps.zero + "s"}, graph.Int("axis", 0))
	return steps
}

// finely adds to bytes those of what they leave of the numbers.
func (g *writer) finely(in input, x string) input {
	flat := in.name[:len(in.name)-len("bytes")] + "flat"
	whole := g.Node("DequantizeLinear", in.name+".back", []string{in.name, flat, in.zero + "s"}, graph.Int("axis", 0))
	rest := g.Node("Sub", in.name+".rest", []string{x, whole})
	steps := g.Node("Mul", in.name+".fine steps", []string{flat, "fine step"})
	in.fine = g.Node("QuantizeLinear", in.name+".fine", []string{rest, steps, in.zero + "s"}, graph.Int("axis", 0))
	return in
}

// product multiplies bytes with a matrix of bytes: exact sums of integers, then both scales.
func (g *writer) product(name string, m *matrix, x input) string {
	raw, scales := quantised(m)
	kind, zero := graph.Int8, ""
	if g.numbers == Int8Wide {
		kind, zero = graph.Uint8, "middle"
		for i := range raw {
			raw[i] += 128
		}
	}
	weights := g.Raw(m.name+".bytes", kind, raw, m.in, m.out)
	y := g.contrib("MatMulIntegerToFloat", name+".sums",
		[]string{x.name, weights, "unit", g.vector(m.name+".scales", scales), x.zero, zero})
	if x.fine != "" {
		for i := range scales {
			scales[i] /= fineSteps
		}
		rest := g.contrib("MatMulIntegerToFloat", name+".fine",
			[]string{x.fine, weights, "unit", g.vector(m.name+".fine scales", scales), x.zero, zero})
		y = g.Node("Add", name+".both", []string{y, rest})
	}
	return g.Node("Mul", name, []string{y, x.rows})
}

// quantised are a matrix's numbers as steps of -127 to 127, a column for each output, and the size of its steps.
func quantised(m *matrix) (raw []byte, scales []float32) {
	raw, scales = make([]byte, m.in*m.out), make([]float32, m.out)
	for o := range m.out {
		row := m.rows[o*m.in : (o+1)*m.in]
		largest := float32(0)
		for _, v := range row {
			largest = max(largest, v, -v)
		}
		if scales[o] = largest / 127; scales[o] == 0 {
			continue
		}
		for i, v := range row {
			raw[i*m.out+o] = byte(int8(math.Round(float64(v) / float64(scales[o]))))
		}
	}
	return raw, scales
}
