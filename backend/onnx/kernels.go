package onnx

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// Kernels names the kind of instructions that ONNX Runtime computes with on this processor, as far as the bits of
// answers depend on it: "cpu-amx", "cpu-avx2".
func Kernels() string { return "cpu-" + kernels() }

// kernels goes by what ONNX Runtime's matrix library looks for, the best first.
func kernels() string {
	for _, level := range []struct {
		name string
		has  bool
	}{
		{"amx", cpu.X86.HasAMXInt8 && cpu.X86.HasAVX512VNNI},
		{"avx512vnni", cpu.X86.HasAVX512VNNI},
		{"avx512-avxvnni", cpu.X86.HasAVX512F && cpu.X86.HasAVXVNNI},
		{"avx512", cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL},
		{"avxvnni", cpu.X86.HasAVXVNNI},
		{"avx2", cpu.X86.HasAVX2 && cpu.X86.HasFMA},
		{"avx", cpu.X86.HasAVX},
		{"sve", cpu.ARM64.HasSVE},
		{"i8mm", cpu.ARM64.HasI8MM},
		{"dotprod", cpu.ARM64.HasASIMDDP},
	} {
		if level.has {
			return level.name
		}
	}
	return runtime.GOARCH
}
