package library

import (
	"os"
	"runtime"

	"github.com/hybridgroup/yzma/pkg/llama"
	"github.com/hybridgroup/yzma/pkg/loader"
)

// A Device is something to compute on besides the CPU: a GPU.
type Device struct {
	Name        string // "CUDA0"
	Description string // "NVIDIA H100 80GB HBM3"
	Free, Total uint64 // of its memory, in bytes, as the driver counts
}

// GPUs describes the GPUs that the loaded library sees. There may be none.
func GPUs() []Device {
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.lib.Dir == "" {
		return nil
	}
	var list []Device
	for i := range llama.GGMLBackendDeviceCount() {
		d := llama.GGMLBackendDeviceGet(i)
		t := llama.GGMLBackendDevType(d)
		if t != llama.GGMLBackendDeviceTypeGPU && t != llama.GGMLBackendDeviceTypeIGPU {
			continue
		}
		free, total := llama.GGMLBackendDeviceMemory(d)
		list = append(list, Device{llama.GGMLBackendDeviceName(d), llama.GGMLBackendDeviceDescription(d), free, total})
	}
	return list
}

// GPUKind returns the kind of GPU that the libraries in dir are built for, "" if only for the CPU, and the reason
// why that part of them cannot be loaded here, nil if it can: a driver or a runtime is missing, as the system's loader
// says.
func GPUKind(dir string) (kind string, err error) {
	for _, kind := range []string{"cuda", "vulkan", "metal"} {
		if _, err := os.Stat(loader.GetLibraryFilename(dir, "ggml-"+kind)); err != nil {
			continue
		}
		if runtime.GOOS != "darwin" { // where it comes with the system
			_, err = loader.LoadLibrary(dir, "ggml-"+kind)
		}
		return kind, err
	}
	return "", nil
}
