package onnx

import "math"

// hidden is what the encoder's last layer says of each token, by plain loops in float64.
func (w *encoder) hidden(ids, types []int64) [][]float64 {
	x := make([][]float64, len(ids))
	for i := range ids {
		x[i] = make([]float64, w.width)
		for k := range w.width {
			x[i][k] = float64(w.weights["word"][int(ids[i])*w.width+k]) + float64(w.weights["type"][int(types[i])*w.width+k]) +
				float64(w.weights["position"][i*w.width+k])
		}
		x[i] = w.norm("norm", x[i])
	}
	for _, layer := range w.layerNames() {
		x = w.layer(layer, x)
	}
	return x
}

func (w *encoder) layer(l string, x [][]float64) [][]float64 {
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
		read := make([]float64, w.width)
		for h := range w.heads {
			w.attend(read, q[i], k, v, h)
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

// attend computes one head of one token.
func (w *encoder) attend(read, q []float64, k, v [][]float64, head int) {
	from, to := head*w.width/w.heads, (head+1)*w.width/w.heads
	weights, total := make([]float64, len(k)), 0.0
	for j := range k {
		score := 0.0
		for d := from; d < to; d++ {
			score += q[d] * k[j][d]
		}
		weights[j] = math.Exp(score * w.scale())
		total += weights[j]
	}
	for j := range v {
		for d := from; d < to; d++ {
			read[d] += weights[j] / total * v[j][d]
		}
	}
}

func (w *encoder) linear(name string, x []float64) []float64 {
	bias := w.weights[name+".bias"]
	y := make([]float64, len(bias))
	for o := range y {
		y[o] = float64(bias[o])
		for i := range x {
			y[o] += x[i] * float64(w.weights[name+".weight"][i*len(y)+o])
		}
	}
	return y
}

func (w *encoder) norm(name string, x []float64) []float64 {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		v = (v - mean) / math.Sqrt(variance+float64(w.epsilon))
		y[i] = v*float64(w.weights[name+".weight"][i]) + float64(w.weights[name+".bias"][i])
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
func (w *encoder) logits(ids, types []int64) []float64 {
	pooled := w.linear("pooler", w.hidden(ids, types)[0])
	for i, v := range pooled {
		pooled[i] = math.Tanh(v)
	}
	return w.linear("head", pooled)
}
