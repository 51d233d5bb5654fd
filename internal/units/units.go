// Package units writes sizes as people read them, and reads sizes and ages as people write them.
package units

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Size writes a number of bytes: "637 MB". A negative one is 0.
func Size(n int64) string { return humanize.Bytes(uint64(max(0, n))) }

// ParseAge reads a time that has passed: "30d", "12h", "1h30m"; "" is 0.
func ParseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 36500 {
			return time.Duration(n * 24 * float64(time.Hour)), nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("%q: write 30d, 12h or the like", text)
}

// ParseSize reads a number of bytes with a unit, of thousands: "2GB", "500MB"; "" is 0.
func ParseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	number := strings.TrimRight(strings.ToUpper(text), "KMGTB")
	units := map[string]float64{"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "K": 1e3, "M": 1e6,
		"G": 1e9, "T": 1e12}
	unit, known := units[strings.ToUpper(text)[len(number):]]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !known || !(n > 0) || n*unit > 1e18 {
		return 0, fmt.Errorf("%q: write 2GB, 500MB or the like", text)
	}
	return int64(n * unit), nil
}
