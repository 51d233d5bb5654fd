//go:build !race

package stats

// raceEnabled says whether the race detector watches.
const raceEnabled = false
