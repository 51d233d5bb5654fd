package onnx

import "math"

// hidden is what the encoder's last layer says of each token, by plain loops in float64.
func (w tinyEncoder) hidden(ids, types []int64) [][]float64 {
	x := make([][]float64, len(ids))
	for i := range ids {
		x[i] = make([]float64, tinyWidth)
		for k := range tinyWidth {
			x[i][k] = float64(w["word"][int(ids[i])*tinyWidth+k]) + float64(w["type"][int(types[i])*tinyWidth+k]) +
				float64(w["position"][i*tinyWidth+k])
		}
		x[i] = w.norm("norm", x[i])
	}
	for _, layer := range layerNames() {
		x = w.layer(layer, x)
	}
	return x
}

func (w tinyEncoder) layer(l string, x [][]float64) [][]float64 {
	each := func(name string, rows [][]float64) [][]float64 {
		var list [][]float64
		for _, row := range rows {
			list = append(list, w.linear(name, row))
		}
		return list
	}
	q, k, v := each(l+"q", x), each(l+"k", x), each(l+"v", x)
	out := make([][]float64, len(x))
	for i := range x {
		read := make([]float64, tinyWidth)
		for h := range tinyHeads {
			attend(read, q[i], k, v, h*tinyWidth/tinyHeads, (h+1)*tinyWidth/tinyHeads)
		}
		y := w.norm(l+"norm1", sum(x[i], w.linear(l+"o", read)))
		up := w.linear(l+"up", y)
		for k, u := range up {
			up[k] = u / 2 * (1 + math.Erf(u/math.Sqrt2))
		}
		out[i] = w.norm(l+"norm2", sum(y, w.linear(l+"down", up)))
	}
	return out
}

// attend computes one head of one token: read[from:to].
func attend(read, q []float64, k, v [][]float64, from, to int) {
	weights, total := make([]float64, len(k)), 0.0
	for j := range k {
		score := 0.0
		for d := from; d < to; d++ {
			score += q[d] * k[j][d]
		}
		weights[j] = math.Exp(score * tinyScale)
		total += weights[j]
	}
	for j := range v {
		for d := from; d < to; d++ {
			read[d] += weights[j] / total * v[j][d]
		}
	}
}

func (w tinyEncoder) linear(name string, x []float64) []float64 {
	bias := w[name+".bias"]
	y := make([]float64, len(bias))
	for o := range y {
		y[o] = float64(bias[o])
		for i := range x {
			y[o] += x[i] * float64(w[name+".weight"][i*len(y)+o])
		}
	}
	return y
}

func (w tinyEncoder) norm(name string, x []float64) []float64 {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v-mean)/math.Sqrt(variance+1e-5)*float64(w[name+".weight"][i]) + float64(w[name+".bias"][i])
	}
	return y
}

func sum(a, b []float64) []float64 {
	y := make([]float64, len(a))
	for i := range a {
		y[i] = a[i] + b[i]
	}
	return y
}

// logits is what the encoder's classification head says.
func (w tinyEncoder) logits(ids, types []int64) []float64 {
	pooled := w.linear("pooler", w.hidden(ids, types)[0])
	for i, v := range pooled {
		pooled[i] = math.Tanh(v)
	}
	return w.linear("head", pooled)
}
