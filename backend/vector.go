package backend

import (
	"fmt"
	"math"
)

// UnitVector returns a copy of v of length 1 (Euclidean), as [Encoded] promises its vectors. It is an error if v has no
// length, or none that is finite.
func UnitVector(v []float32) ([]float32, error) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if !(length > 0) || math.IsInf(length, 0) {
		return nil, fmt.Errorf("the model gave a vector of length %v: its file may be damaged", length)
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / length)
	}
	return out, nil
}

// Brief rounds to the eight significant bits of a bfloat16. Cosines of token embeddings hardly move (by some 0.0001), and
// the many vectors of a text take half the room in the cache.
func Brief(x float32) float32 {
	bits := math.Float32bits(x)
	return math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff)
}
