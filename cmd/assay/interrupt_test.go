package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

// The first Ctrl-C ends every command that looks at results: it returns the context's error, which exits with 130.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ASSAY_HOME", filepath.Join(dir, "home"))
	run, labels := filepath.Join(dir, "run"), filepath.Join(dir, "labels.csv")
	var results []metrics.Result
	lines := []string{"sample,label"}
	for i := range 5 {
		results = append(results, runstest.Scored(fmt.Sprint("s", i), "length/words", float64(i)/5))
		lines = append(lines, fmt.Sprintf("s%d,%d", i, i%2))
	}
	runstest.Write(t, run, runstest.Manifest("length/words"), results...)
	if err := os.WriteFile(labels, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"report", run}, {"report", run, "--format", "parquet", "-o", filepath.Join(dir, "s.parquet")},
		{"show", run, "s1"}, {"show", "abcd"}, {"compare", run, run},
		{"metrics"}, {"metrics", "all"}, {"metrics", "faithfulness/claims"}, {"metrics", "--format", "json"},
		{"metrics", "--format", "md"},
		{"cache"}, {"cache", "prune", "--older-than", "1d"}, {"cache", "export", filepath.Join(dir, "x")},
		{"cache", "import", "-"},
		{"agree", run, "--labels", labels}, {"ppi", run, "--labels", labels}, {"calibrate", run, "--labels", labels},
		{"judge", "train", run, "--dimension", "x", "--labels", labels},
		{"label", run, "--labels", filepath.Join(dir, "new.jsonl")},
	} {
		in, feed, err := os.Pipe() // on which nothing ever comes
		if err != nil {
			t.Fatal(err)
		}
		var out, said bytes.Buffer
		s := &std{in: in, out: &out, err: &said}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err = command(ctx, s, args)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v", args, err)
		}
		if status := s.exit(ctx, err); status != exitInterrupted {
			t.Errorf("%v: exit status %d", args, status)
		}
		feed.Close()
		in.Close()
	}
}
