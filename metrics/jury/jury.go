// Package jury scores a sample several times by one metric and combines the scores: by several models ([Of]), as a jury
// of judges does (PoLL, Verga et al. 2024, arXiv 2404.18796), or by several draws of one ([Draws]). How far they lie
// apart is part of the score.
package jury

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

// A Pool is how the scores of a jury become one.
type Pool string

// The pools, as they are named behind a metric's @.
const (
	Mean     Pool = "jury"     // the mean of the scores
	Majority Pool = "majority" // each juror votes for the better or worse half of the range; the end that most voted for
)

// What one sample may cost is bounded: the models of a jury, and the draws.
const (
	MostJurors = 25
	MostDraws  = 100
)

// Of returns the metric m scored by a jury: the models that go by the names, of those that there are, each asked for
// itself. It is faithfulness/claims@jury=a+b+c. A juror that gives no score is a finding with its reason; more than
// half must give one.
func Of(m metrics.Metric, pool Pool, names []string, there []backend.Role) (metrics.Metric, error) {
	if len(names) < 2 || len(names) > MostJurors {
		return metrics.Metric{}, fmt.Errorf("%s@%s: a jury has at least two models, and at most %d: %s=ONE+OTHER", m.Name,
			pool, MostJurors, pool)
	}
	all := m
	all.Name = fmt.Sprintf("%s@%s=%s", m.Name, pool, strings.Join(names, "+"))
	all.Asks, all.Prepare, all.At, all.Settings, all.Default, all.Draws = nil, nil, nil, nil, false, 0
	var jurors []metrics.Metric
	for i, name := range names {
		for _, before := range names[:i] {
			if name == before {
				return metrics.Metric{}, fmt.Errorf("%s: %s is in it twice", all.Name, name)
			}
		}
		juror, err := m.Asking(name, there)
		if err != nil {
			return metrics.Metric{}, err
		}
		jurors = append(jurors, juror)
		all.Asks = all.Asks.With(juror.Asks)
		all.Prepare = append(all.Prepare, juror.Prepare...)
	}
	how := "the mean"
	if pool == Majority {
		how = "the majority"
	}
	all.Doc = fmt.Sprintf("%s of %d models (%s): %s", how, len(names), strings.Join(names, ", "), m.Doc)
	all.Source += "; several judges: PoLL (Verga et al. 2024, arXiv 2404.18796)"
	all.Calls = fmt.Sprintf("for each of %d models: %s", len(names), m.Calls)
	all.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		p := panel{kind: "juror", metric: &all, pool: pool}
		for i := range jurors {
			score, err := jurors[i].Try(ctx, models, s)
			if err := p.add(ctx, names[i], score, err); err != nil {
				return metrics.Score{}, err
			}
		}
		return p.score()
	}
	return all, nil
}

// Draws returns the metric m as the mean of n draws: each generates its replies anew, by sampling. It is
// faithfulness/claims@draws=5. A draw that gives no score is a finding with its reason; more than half must give one.
func Draws(m metrics.Metric, n int) (metrics.Metric, error) {
	name := fmt.Sprintf("%s@draws=%d", m.Name, n)
	switch {
	case n < 2 || n > MostDraws:
		return metrics.Metric{}, fmt.Errorf("%s@draws: the draws are a whole number from 2 to %d, as in %[1]s@draws=5",
			m.Name, MostDraws)
	case strings.Contains(m.Name, "@draws="):
		return metrics.Metric{}, fmt.Errorf("%s: it is drawn several times already", name)
	case !CanDraw(m):
		return metrics.Metric{}, fmt.Errorf("%s: no model writes anything for it, so each draw would be the same", name)
	}
	all := m
	all.Name, all.Draws = name, n
	all.At, all.Settings, all.Default = nil, nil, false
	all.Doc = fmt.Sprintf("the mean of %d draws: %s", n, m.Doc)
	all.Calls = fmt.Sprintf("%d times: %s", n, m.Calls)
	all.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		p := panel{kind: "draw", metric: &all, pool: Mean}
		for i := range n {
			score, err := m.Try(ctx, models.Drawing(i, n), s)
			if err := p.add(ctx, fmt.Sprintf("draw %d", i+1), score, err); err != nil {
				return metrics.Score{}, err
			}
		}
		score, err := p.score()
		if err == nil {
			score.Draws = p.values
		}
		return score, err
	}
	return all, nil
}

// CanDraw reports whether draws of m differ: whether a judge generates for it.
func CanDraw(m metrics.Metric) bool {
	for role, ops := range m.Asks {
		if role.Kind() == backend.Judge && ops.Has(backend.CanGenerate) {
			return true
		}
	}
	return false
}

// A panel is the scores of one sample that become one.
type panel struct {
	kind   string // of its findings: "juror", "draw"
	metric *metrics.Metric
	pool   Pool

	values  []float64
	members []metrics.Finding // each with its score, or why there is none
	behind  []metrics.Finding // what lies behind their scores
	errs    []error           // why members gave no score, each with the member's name
}

// add takes a member's score. It returns an error that ends the run.
func (p *panel) add(ctx context.Context, name string, score metrics.Score, err error) error {
	member := metrics.Finding{Kind: p.kind, Text: name}
	switch {
	case err == nil:
		member.Value = &score.Value
		p.values = append(p.values, score.Value)
		for _, f := range score.Because {
			f.Where = strings.TrimSuffix(name+", "+f.Where, ", ")
			p.behind = append(p.behind, f)
		}
	case metrics.Fatal(ctx, err):
		return err
	default:
		member.Reason = "no score: " + metrics.Bounded(err.Error())
		p.errs = append(p.errs, fmt.Errorf("%s: %w", name, err))
	}
	p.members = append(p.members, member)
	return nil
}

// score combines the members' scores, of which there must be more than half.
func (p *panel) score() (metrics.Score, error) {
	n, all := len(p.values), len(p.members)
	if 2*n <= all {
		return metrics.Score{}, fmt.Errorf("%d of %d %ss gave a score, and more than half must: %w", n, all, p.kind, p.why())
	}
	mean, deviation := meanAndDeviation(p.values)
	mean = metrics.Clamp(mean, p.metric.Min, p.metric.Max)
	score := metrics.Score{Value: mean, Spread: &deviation}
	note := fmt.Sprintf("the mean of %d %ss, standard deviation %.3g", n, p.kind, deviation)
	if p.pool == Majority {
		var against int
		score.Value, against = p.vote()
		said := fmt.Sprintf("the majority of %d %ss, %d of them against it", n, p.kind, against)
		if 2*against == n {
			said = fmt.Sprintf("a tie of %d %ss", n, p.kind)
		}
		note = fmt.Sprintf("%s; their mean is %.3g, standard deviation %.3g", said, mean, deviation)
	}
	if n < all {
		note += fmt.Sprintf("; %d of %d gave no score", all-n, all)
	}
	score.Because = append([]metrics.Finding{{Kind: "note", Text: note}}, p.members...)
	score.Because = append(score.Because, p.behind...)
	return score, nil
}

// why joins the errors of the members without a score. They are a failure unless the metric applies to none of them.
func (p *panel) why() error {
	const most = 3
	slices.SortStableFunc(p.errs, func(a, b error) int {
		inapt := func(err error) int {
			if errors.Is(err, metrics.ErrNotApplicable) {
				return 1
			}
			return 0
		}
		return inapt(a) - inapt(b)
	})
	first := p.errs[0]
	for _, err := range p.errs[1:min(len(p.errs), most)] {
		first = fmt.Errorf("%w; %v", first, err)
	}
	if more := len(p.errs) - most; more > 0 {
		first = fmt.Errorf("%w; and %d more", first, more)
	}
	return first
}

// vote is the end of the range that most values are nearer to, and how many are nearer to the other: the middle, and
// half of them, where they tie. A value in the middle is a vote for the upper end.
func (p *panel) vote() (value float64, against int) {
	lo, hi := p.metric.Min, p.metric.Max
	up := 0
	for _, v := range p.values {
		if v >= (lo+hi)/2 {
			up++
		}
	}
	switch down := len(p.values) - up; {
	case up > down:
		return hi, down
	case up < down:
		return lo, up
	default:
		return (lo + hi) / 2, up
	}
}

// meanAndDeviation are those of at least two values, the deviation that of a sample: with n-1.
func meanAndDeviation(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, math.Sqrt(deviation)
}
