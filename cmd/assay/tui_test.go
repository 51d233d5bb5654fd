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

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00", 67 * time.Second: "1:07", 3*time.Hour + 5*time.Second: "3:00:05",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%v) = %q, want %q", d, got, want)
		}
	}
}
