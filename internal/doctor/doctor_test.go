package doctor

import (
	"errors"
	"strings"
	"testing"
)

func TestGPUAdvice(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		if got := gpuAdvice(errors.New(text)); !strings.Contains(got, want) || !strings.Contains(got, "--gpu none") {
			t.Errorf("%s: %s; want %s", text, got, want)
		}
	}
	check("libcudart.so.13: cannot open shared object file: No such file or directory", "of CUDA 13 ")
	check("libcudart.so.13: cannot open shared object file: No such file or directory", "--gpu cuda12")
	check("libcublas.so.12: cannot open shared object file: No such file or directory", "of CUDA 12 ")
	check("libcuda.so.1: cannot open shared object file: No such file or directory", "NVIDIA's driver")
	check("libvulkan.so.1: cannot open shared object file: No such file or directory", "Vulkan loader")
	check("The specified module could not be found.", "docs/models.md")
}
