package llama

import (
	"runtime"
	"time"

	"github.com/hybridgroup/yzma/pkg/llama"
	"github.com/shirou/gopsutil/v4/cpu"
)

// physicalCores is the number of cores that this process may use, hyperthreads not counted.
func physicalCores() int {
	n := runtime.GOMAXPROCS(0) // heeds the limits of a container
	if cores, err := cpu.Counts(false); err == nil && cores > 0 {
		n = min(n, cores)
	}
	return n
}

// chooseThreads looks whether one thread less than there are cores is faster, as it is where something
// else keeps a core busy: the threads spin while they wait for the slowest. It takes a fraction of a
// second. The choice changes no answer.
func (m *model) chooseThreads(log func(string, ...any)) {
	if m.threads < 2 {
		return
	}
	pass := func(threads int) (time.Duration, error) {
		m.setThreads(threads)
		start := time.Now()
		err := m.try()
		return time.Since(start), err
	}
	_, err := pass(m.threads - 1) // the first one reads the weights
	all, fewer := time.Hour, time.Hour
	for start := time.Now(); err == nil && time.Since(start) < 300*time.Millisecond; {
		var a, f time.Duration
		if f, err = pass(m.threads - 1); err == nil {
			a, err = pass(m.threads)
			all, fewer = min(all, a), min(fewer, f)
		}
	}
	log("a short pass takes %.1f ms with %d threads and %.1f ms with %d",
		milliseconds(all), m.threads, milliseconds(fewer), m.threads-1)
	if fewer < all {
		m.threads--
	}
	m.setThreads(m.threads)
}

// try computes something short, and leaves no trace of it.
func (m *model) try() error {
	if m.writer == nil {
		_, err := m.reader.embed(make([]llama.Token, 8))
		return err
	}
	defer m.kv.cut(0, 0)
	return m.kv.compute([]piece{{width: m.kv.columns}})
}

func (m *model) setThreads(n int) {
	if m.writer != nil {
		llama.SetNThreads(m.kv.ctx, int32(n), int32(n))
	}
	if m.reader != nil {
		llama.SetNThreads(m.reader.ctx, int32(n), int32(n))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
