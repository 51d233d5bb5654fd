package runs

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// Scores are a run's, by metric and sample. Where a metric has none for a sample, the sample is not there.
type Scores struct {
	*Run
	Samples []string          // in the run's order
	Group   map[string]string // of the samples that are in one
	Of      map[string]map[string]float64

	// Surveys are of the metrics that were asked about some rows only: their scores are no fair sample.
	Surveys map[string]*stats.Survey
}

// LoadScores reads a run folder. Unlike a report, it takes memory for each score.
func LoadScores(ctx context.Context, dir string) (*Scores, error) {
	run, err := Open(dir)
	if err != nil {
		return nil, err
	}
	s := &Scores{Run: run, Group: map[string]string{}, Of: map[string]map[string]float64{},
		Surveys: map[string]*stats.Survey{}}
	for _, m := range run.Manifest.Config.Metrics {
		s.Of[m.Name] = map[string]float64{}
	}
	for r, err := range run.Results(ctx) {
		if err != nil {
			return nil, err
		}
		if n := len(s.Samples); n == 0 || s.Samples[n-1] != r.Sample {
			s.Samples = append(s.Samples, r.Sample)
		}
		if r.Group != "" {
			s.Group[r.Sample] = r.Group
		}
		of, known := s.Of[r.Metric]
		if !known {
			return nil, fmt.Errorf("%s: sample %q: the results have a metric %q that run.json does not", dir, r.Sample,
				r.Metric)
		}
		if r.Score != nil {
			of[r.Sample] = r.Score.Value
		}
		if r.Drawn != nil {
			s.survey(r)
		}
	}
	if len(s.Samples) == 0 {
		return nil, fmt.Errorf("%s holds no results", dir)
	}
	return s, nil
}

// Only is s without all other samples, and without surveys: of a slice of a survey there is none.
func (s *Scores) Only(samples map[string]bool) *Scores {
	part := &Scores{Run: s.Run, Group: s.Group, Of: map[string]map[string]float64{}, Surveys: map[string]*stats.Survey{}}
	for _, id := range s.Samples {
		if samples[id] {
			part.Samples = append(part.Samples, id)
		}
	}
	for name, of := range s.Of {
		part.Of[name] = map[string]float64{}
		for _, id := range part.Samples {
			if v, ok := of[id]; ok {
				part.Of[name][id] = v
			}
		}
	}
	return part
}

// survey takes in a row that a metric might have been asked about.
func (s *Scores) survey(r metrics.Result) {
	if s.Surveys[r.Metric] == nil {
		s.Surveys[r.Metric] = &stats.Survey{}
	}
	row := stats.SurveyRow{Stratum: r.Drawn.Stratum, Group: r.Group, Asked: r.Kind != metrics.NotAsked}
	if r.Score != nil {
		row.Scored, row.Value = true, r.Score.Value
	}
	s.Surveys[r.Metric].Add(row)
}

// Pick finds metrics of the run by their names or dimensions; all of them if none is named.
func (s *Scores) Pick(names []string) ([]Metric, error) {
	all := s.Manifest.Config.Metrics
	if len(names) == 0 {
		return all, nil
	}
	var list []Metric
	for _, name := range names {
		var found []Metric
		for _, m := range all {
			if dimension, _, _ := strings.Cut(m.Name, "/"); m.Name == name || dimension == name {
				found = append(found, m)
			}
		}
		if len(found) == 0 {
			return nil, Inputf("%s has no metric %q: it has %s", s.Dir, name, strings.Join(s.Manifest.Names(), ", "))
		}
		list = append(list, found...)
	}
	return list, nil
}

// One finds the metric that is named, or the only one.
func (s *Scores) One(name string) (Metric, error) {
	var names []string
	if name != "" {
		names = []string{name}
	}
	list, err := s.Pick(names)
	if err != nil {
		return Metric{}, err
	}
	if len(list) > 1 {
		return Metric{}, Inputf("%s has several metrics: choose with --metric %s", s.Dir, joined(list))
	}
	return list[0], nil
}

func joined(list []Metric) string {
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	return strings.Join(names, " or ")
}

// Groups lists the groups of samples, nil if none of them is in one.
func (s *Scores) Groups(samples []string) []string {
	if len(s.Group) == 0 {
		return nil
	}
	groups := make([]string, len(samples))
	for i, id := range samples {
		groups[i] = s.Group[id]
	}
	return groups
}
