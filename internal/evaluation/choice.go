package evaluation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

// A Choice says which metrics are run, and how those that ask judges do.
type Choice struct {
	Metrics  []string // by name
	Preset   string   // a named list, instead of those; without any other choice it is "ragas-paper"
	Criteria Criteria // the user's own
	Judges   []string // files of trained judges
	Profiles []string // of judges that the user brings: names, files, or "auto"
	Think    int      // tokens that judges may think before each reply; 0: as the metrics say
	Repeat   int      // how often each row is scored where a judge writes; 0: as the metrics say
}

// chosen are the metrics that the user brings.
type chosen struct {
	metrics  []metrics.Metric // all of them but trained judges
	profiled []metrics.Metric // those of profiles
	named    []string         // metrics that were named by themselves
}

// choose sets the metrics, and returns which of them are the user's own.
func (e *Evaluation) choose() (own chosen, err error) {
	o := &e.options
	if own.metrics, e.criteria, err = o.Criteria.Load(); err != nil {
		return own, err
	}
	trained, judged, err := loadJudges(o.Judges)
	if err != nil {
		return own, err
	}
	if own.profiled, err = loadProfiles(o.Profiles, o.Stack.Models); err != nil {
		return own, err
	}
	own.metrics, own.named = append(own.metrics, own.profiled...), o.Choice.Metrics
	from := all.Selector{Own: own.metrics, Models: o.Stack.Names()}
	e.judged = judged
	e.Metrics, err = o.Choice.from(from, trained)
	return own, err
}

// from returns the metrics that are named, after them those of the user's own that are not among them, and then the
// trained judges, which ask the models of their training and no others.
func (c *Choice) from(from all.Selector, trained []metrics.Metric) (list []metrics.Metric, err error) {
	own := from.Own
	switch {
	case c.Preset != "" && len(c.Metrics) > 0:
		return nil, errors.New("--metrics and --preset exclude each other")
	case len(c.Metrics) > 0:
		list, err = from.Select(c.Metrics)
		own = slices.DeleteFunc(slices.Clone(own), func(m metrics.Metric) bool {
			return slices.ContainsFunc(list, func(selected metrics.Metric) bool { return unset(selected.Name) == m.Name })
		})
	case c.Preset != "":
		list, err = from.Preset(c.Preset)
	case own == nil && trained == nil:
		list, err = all.Preset("ragas-paper")
	}
	for _, m := range own {
		list = append(list, from.Namesake(m))
	}
	if err == nil {
		list, err = all.Everywhere(list, c.Think, c.Repeat)
	}
	return append(list, trained...), err
}

// unset is a metric's name without what sets it otherwise, behind an @.
func unset(name string) string {
	full, _, _ := strings.Cut(name, "@")
	return full
}

// byProfile reports whether a metric came with a profile, and was not named by itself.
func (c *chosen) byProfile(m metrics.Metric) bool {
	full := unset(m.Name)
	if !slices.ContainsFunc(c.profiled, func(p metrics.Metric) bool { return p.Name == full }) {
		return false
	}
	return !slices.ContainsFunc(c.named, func(name string) bool { return unset(strings.TrimSpace(name)) == full })
}

// Fitting takes the metrics out for which there are no columns, of those that may be left out, unless that are all of
// them: a preset, or a judge's profile, is for datasets of several kinds.
func Fitting(ms []metrics.Metric, has metrics.Field, may func(metrics.Metric) bool) (kept, left []metrics.Metric) {
	fits := func(m metrics.Metric) bool { return has.Has(m.Needs) || !may(m) }
	if !slices.ContainsFunc(ms, fits) {
		return ms, nil
	}
	for _, m := range ms {
		if fits(m) {
			kept = append(kept, m)
		} else {
			left = append(left, m)
		}
	}
	return kept, left
}

// Criteria describe metrics of the user's own.
type Criteria struct {
	Files []string // YAML or JSON: docs/criteria.md
	Words []string // "NAME: what the answer should be like"
}

// Load returns the metrics that are described, and the digest of their words: nil and "" if there are none.
func (c *Criteria) Load() ([]metrics.Metric, string, error) {
	var list []metrics.Metric
	digest := sha256.New()
	for _, file := range c.Files {
		text, err := readStart(file, 2<<20)
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
	for _, words := range c.Words {
		m, err := all.ParseCriterion(words)
		if err != nil {
			return nil, "", fmt.Errorf("--criterion: %w", err)
		}
		list = append(list, m)
		fmt.Fprintf(digest, "criterion %d\n%s", len(words), words)
	}
	for i, m := range list {
		if hasName(list[:i], m.Name) {
			return nil, "", fmt.Errorf("the criterion %s is there twice", m.Name)
		}
	}
	if list == nil {
		return nil, "", nil
	}
	return list, "sha256:" + hex.EncodeToString(digest.Sum(nil)), nil
}

func hasName(list []metrics.Metric, name string) bool {
	return slices.ContainsFunc(list, func(m metrics.Metric) bool { return m.Name == name })
}

// readStart reads a file up to a size: twice what its reader takes, so that it says itself what is too large.
func readStart(file string, size int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, size))
}

// loadJudges returns the metrics of trained judges, and the digests of their files: nil and "" if there are none.
func loadJudges(files []string) (list []metrics.Metric, digest string, err error) {
	var digests []string
	for _, path := range files {
		file, sum, err := study.ReadJudge(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil, "", &runs.InputError{Err: err, Hint: "assay judge train writes such a file"}
		}
		if err != nil {
			return nil, "", err
		}
		m, err := file.AsMetric()
		if err != nil {
			return nil, "", err
		}
		if hasName(list, m.Name) {
			return nil, "", fmt.Errorf("--judge-file %s: a judge for %s is there already", path, m.Name)
		}
		list, digests = append(list, m), append(digests, sum)
	}
	return list, strings.Join(digests, ","), nil
}
