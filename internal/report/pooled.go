package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// Pooled are the counts of all samples together, of a metric whose scores are ratios of counts. Their ratio weighs a
// sample by what it counts; the mean of the scores weighs all samples alike.
type Pooled struct {
	Samples     int // that have counts
	Numerator   int
	Denominator int
	Stats       stats.Summary // of the things that are counted, each 1 or 0; its interval is over samples, or their groups
}

// A pool takes counts in. Things that are counted in one sample are not independent: the sample is their group, unless
// it has one itself.
type pool struct {
	samples int
	n, of   int
	things  stats.Mean
}

func (p *pool) add(r metrics.Result) {
	ratio := r.Score.Ratio
	if ratio == nil {
		return
	}
	group := "group " + r.Group
	if r.Group == "" {
		group = "sample " + r.Sample
	}
	p.samples++
	p.n, p.of = p.n+ratio.Numerator, p.of+ratio.Denominator
	for i := range ratio.Denominator {
		v := 0.0
		if i < ratio.Numerator {
			v = 1
		}
		p.things.AddTo(group, v)
	}
}

// pooled is nil where no sample has counts.
func (p *pool) pooled(o stats.Options) *Pooled {
	if p.samples == 0 {
		return nil
	}
	o.Min, o.Max = 0, 1
	return &Pooled{p.samples, p.n, p.of, p.things.Summary(o)}
}

// String is such as "134 of 280: 0.479 (0.421 to 0.533)".
func (p *Pooled) String() string {
	if p == nil {
		return ""
	}
	between := intervalOf(p.Stats)
	return fmt.Sprintf("%d of %d: %s%s", p.Numerator, p.Denominator, meanOf(p.Stats), when(between != "", " ("+between+")"))
}

// pooled reports whether some metric's scores are ratios of counts.
func (r *Report) pooled() bool {
	return slices.ContainsFunc(r.Metrics, func(s Summary) bool { return s.Pooled != nil })
}

// pools lists what is pooled, by the metrics' names.
func (r *Report) pools() string {
	var list []string
	for i := range r.Metrics {
		if p := r.Metrics[i].Pooled; p != nil {
			list = append(list, r.Metrics[i].Name+" "+p.String())
		}
	}
	return strings.Join(list, "; ")
}

// A JSONPooled is the ratio of a metric's counts, summed over all samples that have them.
type JSONPooled struct {
	Numerator   int      `json:"numerator"`
	Denominator int      `json:"denominator"`
	Ratio       float64  `json:"ratio"`
	Lo          *float64 `json:"lo,omitempty"`
	Hi          *float64 `json:"hi,omitempty"`
	N           int      `json:"n"` // samples
}

func (p *Pooled) json() *JSONPooled {
	if p == nil {
		return nil
	}
	j := &JSONPooled{Numerator: p.Numerator, Denominator: p.Denominator, Ratio: p.Stats.Mean, N: p.Samples}
	if i := p.Stats.Interval; i != nil {
		j.Lo, j.Hi = &i.Lo, &i.Hi
	}
	return j
}
