package graph

import (
	"math"
	"testing"
)

func TestHalf(t *testing.T) {
	infinity := float32(math.Inf(1))
	for bits, want := range map[uint16]float32{0: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 1: 0x1p-24, 0x7c00: infinity} {
		if got := Half(bits); got != want {
			t.Errorf("Half(%#x) = %v, want %v", bits, got, want)
		}
	}
}
