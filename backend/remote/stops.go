package remote

import (
	"slices"
	"strconv"
	"strings"
)

// PackagedStops returns the stop strings among the parameters that a model is packaged with, which Ollama
// lists as lines of a name and a Go literal.
func PackagedStops(parameters string) []string {
	var stops []string
	for line := range strings.Lines(parameters) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "stop" {
			continue
		}
		stop, err := strconv.Unquote(strings.TrimSpace(value))
		if err == nil && stop != "" && !slices.Contains(stops, stop) {
			stops = append(stops, stop)
		}
	}
	return stops
}
