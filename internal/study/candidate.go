package study

import (
	"maps"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
)

// AgreeOptions say what is compared with labels, and how.
type AgreeOptions struct {
	Metrics   []string // names or dimensions; nil: all of the run
	Peers     []string // scores in the dataset's column peers beside them; "all": each of them
	Threshold *float64 // scores of at least so much mean true; nil: the middle of the range
	Seed      uint64

	Warn func(format string, args ...any) // is told what is left out
}

func (o *AgreeOptions) warn(format string, args ...any) {
	if o.Warn != nil {
		o.Warn(format, args...)
	}
}

// A candidate is a metric of the run, or a peer's scores.
type candidate struct {
	name          string
	scores        map[string]float64
	min, max      float64 // equal if the range is not known
	lowerIsBetter bool
}

// candidates lists what is compared with the labels: of each something can be said.
func (o *AgreeOptions) candidates(run *runs.Scores, l *labels.Set) ([]candidate, error) {
	list, err := run.Pick(o.Metrics)
	if err != nil {
		return nil, err
	}
	var all []candidate
	for _, m := range list {
		all = append(all, candidate{m.Name, run.Of[m.Name], m.Min, m.Max, m.LowerIsBetter})
	}
	names := o.Peers
	if slices.Equal(names, []string{"all"}) {
		names = slices.Sorted(maps.Keys(l.Peers))
	}
	for _, name := range names {
		of, ok := l.Peers[name]
		if !ok {
			return nil, runs.Inputf("the labelled rows have no peer %q: they have %s", name,
				strings.Join(slices.Sorted(maps.Keys(l.Peers)), ", "))
		}
		all = append(all, candidate{name: "peers." + name, scores: of})
	}
	if all = o.enough(run, l, all); len(all) == 0 {
		return nil, runs.Inputf("no metric of %s has scores for the labelled samples", run.Dir)
	}
	return all, nil
}

// enough leaves out the candidates of which nothing can be said.
func (o *AgreeOptions) enough(run *runs.Scores, l *labels.Set, list []candidate) []candidate {
	const least = 3
	return slices.DeleteFunc(list, func(c candidate) bool {
		n := len(match(l, run, c.scores, false).ids)
		if n < least {
			o.warn("%s: %d samples have both a score and a label: it is left out", c.name, n)
		}
		return n < least
	})
}
