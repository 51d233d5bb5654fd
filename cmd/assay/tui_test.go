package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestExit(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	check := func(ctx context.Context, err error, want int, says ...string) {
		t.Helper()
		var b strings.Builder
		s := &std{err: &b}
		if got := s.exit(ctx, err); got != want {
			t.Errorf("exit(%v) = %d, want %d", err, got, want)
		}
		for _, text := range says {
			if !strings.Contains(b.String(), text) {
				t.Errorf("exit(%v) said %q, want %q in it", err, b.String(), text)
			}
		}
	}
	bg := context.Background()
	check(bg, nil, exitOK)
	check(bg, pflag.ErrHelp, exitOK)
	check(bg, errors.New("it broke"), exitFailed, "assay: it broke\n")
	check(bg, fmt.Errorf("here: %w", usagef("no %s", "way")), exitUsage, "assay: here: no way\n")
	check(bg, usageError{withHint(errors.New("no"), "try %d", 2)}, exitUsage, "assay: no\n", "assay: hint: try 2\n")
	check(bg, thresholdError{errors.New("too low")}, exitThreshold, "too low")
	check(cancelled, fmt.Errorf("sample 1: %w", context.Canceled), exitInterrupted, "assay: interrupted\n")
	check(cancelled, errors.New("disk full"), exitFailed, "disk full")
}

func TestUnits(t *testing.T) {
	if d, err := parseAge("30d"); err != nil || d != 720*time.Hour {
		t.Errorf("30d is %v, %v", d, err)
	}
	if n, err := parseSize("2.5gb"); err != nil || n != 2.5e9 {
		t.Errorf("2.5gb is %v, %v", n, err)
	}
	for _, text := range []string{"d", "-3d", "0h", "x", "NaNd"} {
		if _, err := parseAge(text); err == nil {
			t.Errorf("%q was taken for an age", text)
		}
	}
	for _, text := range []string{"GB", "-1GB", "0", "1GG", "1e30", "NaN"} {
		if _, err := parseSize(text); err == nil {
			t.Errorf("%q was taken for a size", text)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 637e6: "637 MB", 12e9: "12 GB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0:00", 67 * time.Second: "1:07", 3*time.Hour + 5*time.Second: "3:00:05",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%v) = %q, want %q", d, got, want)
		}
	}
}
