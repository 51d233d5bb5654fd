//go:build race

package dataset

// raceEnabled says whether the race detector watches.
const raceEnabled = true
