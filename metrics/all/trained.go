package all

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// MostJudge is how many bytes a trained judge's file has at most. The largest that training makes has a third of
// them.
const MostJudge = 4 << 20

// LoadJudge reads a trained judge from the text of its file.
func LoadJudge(text []byte) (*TrainedJudge, error) {
	j, err := readJudge(text)
	if err != nil {
		return nil, err
	}
	if _, err := j.AsMetric(); err != nil {
		return nil, err
	}
	return j, nil
}

// readJudge reads a judge whose features need not be known yet.
func readJudge(text []byte) (*TrainedJudge, error) {
	if len(text) > MostJudge {
		return nil, fmt.Errorf("it is longer than %d MiB", MostJudge>>20)
	}
	var j TrainedJudge
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, err
	}
	return &j, j.check()
}

// AsMetric returns the trained judge as a metric. Its values are on the labels' scale: probabilities where those
// were true and false. It computes the metrics that are its features, and shares their requests where they are
// selected, too.
func (j *TrainedJudge) AsMetric() (metrics.Metric, error) {
	dimension, method, _ := strings.Cut(j.Metric, "/")
	if method != "judge" || dimension == "" || strings.Trim(dimension, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return metrics.Metric{}, fmt.Errorf("it is a judge of %q, which is no DIMENSION/judge",
			metrics.Bounded(j.Metric))
	}
	features, err := Select(j.names(), j.Models().Named()...)
	if err != nil {
		return metrics.Metric{}, fmt.Errorf("its features: %w", err)
	}
	m, err := j.over(features)
	m.Bound = j.CheckModels
	return m, err
}

// names are those of the features.
func (j *TrainedJudge) names() []string {
	var names []string
	for _, f := range j.Features {
		names = append(names, f.Metric)
	}
	return names
}

// over makes the metric out of those that are its features.
func (j *TrainedJudge) over(features []metrics.Metric) (metrics.Metric, error) {
	names := j.names()
	m := metrics.Metric{
		Name:    j.Metric,
		Doc:     fmt.Sprintf("%s as people would label it, by a judge trained on labels", j.Label.Field),
		Source:  "trained by assay judge train, after the judges of ARES (Saad-Falcon et al. 2024, arXiv 2311.09476)",
		Formula: fmt.Sprintf("a model over %s, fitted to people's labels", strings.Join(names, ", ")),
		Calls:   "those of the metrics that it looks at",
		Min:     j.Label.Min,
		Max:     j.Label.Max,
	}
	for i, f := range features {
		if f.Name != names[i] {
			return metrics.Metric{}, fmt.Errorf("its feature %q is no metric's whole name: %s",
				metrics.Bounded(names[i]), f.Name)
		}
		m.Asks = m.Asks.With(f.Asks)
		m.Prepare = append(m.Prepare, f.Prepare...)
		m.Outputs = append(m.Outputs, f.Outputs...)
		if !j.Features[i].Optional {
			m.Needs |= f.Needs
		}
		for _, p := range f.Prompts {
			if !slices.Contains(m.Prompts, p) {
				m.Prompts = append(m.Prompts, p)
			}
		}
	}
	m.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		values, evidence, err := j.look(ctx, models, s, features)
		if err != nil {
			return metrics.Score{}, err
		}
		return metrics.Score{Value: j.Predict(values), Because: append(j.because(values), evidence...)}, nil
	}
	return m, nil
}

// look computes the features of a sample, NaN where one does not apply. The evidence is that of the feature which
// weighs most.
func (j *TrainedJudge) look(ctx context.Context, m metrics.Models, s *metrics.Sample,
	features []metrics.Metric) (values []float64, evidence []metrics.Finding, err error) {
	values = make([]float64, len(features))
	found := false
	most := 0
	for i := range features {
		if j.Features[i].Importance > j.Features[most].Importance {
			most = i
		}
	}
	for i := range features {
		score, err := features[i].Try(ctx, m, s)
		switch {
		case err == nil:
			values[i], found = score.Value, true
			if i == most {
				evidence = score.Because
			}
		case errors.Is(err, metrics.ErrNotApplicable) && j.Features[i].Optional:
			values[i] = math.NaN()
		case errors.Is(err, metrics.ErrNotApplicable):
			return nil, nil, fmt.Errorf("%s, without which the judge never saw a row: %w", features[i].Name, err)
		default:
			return nil, nil, fmt.Errorf("%s: %w", features[i].Name, err)
		}
	}
	if !found {
		return nil, nil, fmt.Errorf("%w: none of the judge's features applies", metrics.ErrNotApplicable)
	}
	return values, evidence, nil
}

// because lists the features' contributions to the log odds, the largest first.
func (j *TrainedJudge) because(values []float64) []metrics.Finding {
	base, parts := j.Explain(values)
	total := base
	var list []metrics.Finding
	for i, f := range j.Features {
		total += parts[i]
		text := f.Metric + " does not apply"
		if v := values[i]; !math.IsNaN(v) {
			text = fmt.Sprintf("%s is %.4g, %s", f.Metric, v, f.place(v))
		}
		list = append(list, metrics.Finding{Kind: "feature", Text: text, Value: &parts[i]})
	}
	slices.SortStableFunc(list, func(a, b metrics.Finding) int {
		return cmp.Compare(math.Abs(*b.Value), math.Abs(*a.Value))
	})
	note := fmt.Sprintf("log odds %.3f: %.3f before anything is looked at, and what each metric adds", total, base)
	return append([]metrics.Finding{{Kind: "note", Text: note}}, list...)
}

// place says where a value lies among those of training.
func (f *JudgeFeature) place(v float64) string {
	switch d := (v - f.Mean) / f.Deviation; {
	case v < f.Least || v > f.Most:
		return fmt.Sprintf("which is beyond the judge's training, %.4g to %.4g", f.Least, f.Most)
	case math.Abs(d) < 0.05:
		return "as in the judge's training"
	default:
		side := "above"
		if d < 0 {
			side = "below"
		}
		return fmt.Sprintf("%.1f deviations %s its mean in the judge's training", math.Abs(d), side)
	}
}

// CheckModels returns an error if the models or prompts are not those that the trained judge's features asked in
// training: their values mean something else then.
func (j *TrainedJudge) CheckModels(models metrics.Models) error {
	if err := j.checkWeights(models); err != nil {
		return err
	}
	asked := Prompts()
	for _, p := range j.Prompts {
		i := slices.IndexFunc(asked, func(q *prompts.Prompt) bool { return q.Name == p.Name })
		if i >= 0 && models.Prompts.For(asked[i]).Digest == p.Digest {
			continue
		}
		for _, l := range prompts.Layouts() {
			if i >= 0 && models.Prompts.In(l).For(asked[i]).Digest == p.Digest {
				return fmt.Errorf("%s was trained on answers to prompts in the layout %s: ask in that (--layout %s), or train "+
					"again", j.Metric, l, l)
			}
		}
		return fmt.Errorf("%s was trained with another text of the prompt %s: train again, or leave that text as "+
			"it was", j.Metric, p.Name)
	}
	return nil
}

// checkWeights returns an error if the models are not those that the trained judge's features asked in training.
func (j *TrainedJudge) checkWeights(models metrics.Models) error {
	for _, d := range j.Models().Differences(models.Identities()) {
		if d.In == backend.Weights {
			return fmt.Errorf("%s was trained with the %s %s (%.19s), and %s (%.19s) is another: name that one, or "+
				"train again",
				j.Metric, d.Role.Title(), d.A.Name, d.A.Digest, d.B.Name, d.B.Digest)
		}
	}
	return nil
}
