package gate

import (
	"fmt"
	"strconv"
	"strings"
)

// Failures are how many results may fail: a count, or a share of them; the zero value sets none.
type Failures struct {
	set   bool
	count int
	share float64 // in [0, 1], if count is negative
}

// ParseFailures reads a count of results ("10") or a share of them ("5%"); "" sets no limit.
func ParseFailures(text string) (Failures, error) {
	if text == "" {
		return Failures{}, nil
	}
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		v, err := strconv.ParseFloat(percent, 64)
		if err == nil && v >= 0 && v <= 100 {
			return Failures{set: true, count: -1, share: v / 100}, nil
		}
	} else if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return Failures{set: true, count: n}, nil
	}
	return Failures{}, fmt.Errorf("--max-failures %q: it takes a count (10) or a share (5%%)", text)
}

// Crossed reports whether failed of all results are too many.
func (l Failures) Crossed(failed, all int) bool {
	switch {
	case !l.set:
		return false
	case l.count >= 0:
		return failed > l.count
	}
	return float64(failed) > l.share*float64(all)
}
