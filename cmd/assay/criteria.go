package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/spf13/pflag"
)

// A criteriaOptions holds the flags that describe metrics of the user's own.
type criteriaOptions struct {
	files []string
	words []string
}

func (o *criteriaOptions) add(f *pflag.FlagSet) {
	f.StringArrayVar(&o.files, "criteria", nil,
		"a `FILE` of criteria of your own, YAML or JSON, repeatable: docs/criteria.md")
	f.StringArrayVar(&o.words, "criterion", nil,
		"one criterion in `WORDS`, \"NAME: what the answer should be like\", repeatable")
}

// load returns the metrics that the flags describe, and the digest of their words: nil and "" if there are none.
func (o *criteriaOptions) load() ([]metrics.Metric, string, error) {
	var list []metrics.Metric
	digest := sha256.New()
	for _, file := range o.files {
		text, err := readCriteria(file)
		if err != nil {
			return nil, "", fmt.Errorf("--criteria: %w", err)
		}
		ms, err := all.LoadCriteria(file, text)
		if err != nil {
			return nil, "", err
		}
		list = append(list, ms...)
		fmt.Fprintf(digest, "file %d\n%s", len(text), text)
	}
	for _, words := range o.words {
		m, err := all.ParseCriterion(words)
		if err != nil {
			return nil, "", fmt.Errorf("--criterion: %w", err)
		}
		list = append(list, m)
		fmt.Fprintf(digest, "criterion %d\n%s", len(words), words)
	}
	for i, m := range list {
		if slices.ContainsFunc(list[:i], func(other metrics.Metric) bool { return other.Name == m.Name }) {
			return nil, "", fmt.Errorf("the criterion %s is there twice", m.Name)
		}
	}
	if list == nil {
		return nil, "", nil
	}
	return list, "sha256:" + hex.EncodeToString(digest.Sum(nil)), nil
}

// readCriteria reads a file up to twice the size that LoadCriteria takes.
func readCriteria(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 2<<20))
}

// findMetric returns the one of own with a name, or else the built-in metric.
func findMetric(own []metrics.Metric, name string) ([]metrics.Metric, error) {
	return all.Selector{Own: own}.Select([]string{name})
}
