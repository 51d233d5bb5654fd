package metrics

import (
	"context"
	"fmt"
	"iter"
	"maps"
)

// A Preparation reads the whole dataset before its first sample is scored, for metrics whose values depend on all
// rows. Metrics that share one name the same Preparation, and it runs once for all of them: see [Prepare].
type Preparation struct {
	Doc  string // what it does, for the user: "counting tokens in the references"
	Read func(ctx context.Context, samples iter.Seq2[*Sample, error], m Models, o Options) (Knowledge, error)

	of    *Preparation // what it is with named models; nil: itself
	named naming
}

// A learning is what is learned once: a preparation, with certain models.
type learning struct {
	p      *Preparation
	models string // of naming.String
}

// learning is what p learns where m scores.
func (p *Preparation) learning(m Models) learning {
	models := p.named.with(m.named).String()
	if p.of != nil {
		p = p.of
	}
	return learning{p, models}
}

// asking is p with the models of roles with names in the place of those without.
func (p *Preparation) asking(names naming) *Preparation {
	with := &Preparation{Doc: p.Doc, of: p, named: p.named.with(names)}
	if p.of != nil {
		with.of = p.of
	}
	with.Read = func(ctx context.Context, samples iter.Seq2[*Sample, error], m Models,
		o Options) (Knowledge, error) {
		return with.of.Read(ctx, samples, m.asking(with.named), o)
	}
	return with
}

// Knowledge is what a [Preparation] learned of a dataset. A metric knows the type of its own.
type Knowledge interface {
	Digest() string  // identifies what was learned: "sha256:" and 64 hexadecimal digits
	Notes() []string // what a reader of the numbers should know; nil: nothing
}

// Prepare runs the preparations of ms, each over all samples, and returns m with what they learned. The models
// must be those that the metrics will ask.
func Prepare(ctx context.Context, samples func() iter.Seq2[*Sample, error], ms []Metric, m Models,
	o Options) (Models, error) {
	for _, p := range Preparations(ms) {
		k, err := p.Read(ctx, samples(), m, o)
		if err != nil {
			return m, err
		}
		m = m.Knowing(p, k)
	}
	return m, nil
}

// Knowing returns m with what p learned.
func (m Models) Knowing(p *Preparation, k Knowledge) Models {
	known := make(map[learning]Knowledge)
	maps.Copy(known, m.known)
	known[p.learning(m)] = k
	m.known = known
	return m
}

// Preparations lists those that ms need, each once.
func Preparations(ms []Metric) []*Preparation {
	var list []*Preparation
	seen := make(map[learning]bool)
	for _, metric := range ms {
		for _, p := range metric.Prepare {
			if what := p.learning(Models{}); !seen[what] {
				seen[what] = true
				list = append(list, p)
			}
		}
	}
	return list
}

// Known returns what p learned of the dataset that is scored; nil if p did not run.
func (m Models) Known(p *Preparation) Knowledge { return m.known[p.learning(m)] }

// checkPrepared returns an error if ms need a preparation that did not run.
func checkPrepared(ms []Metric, m Models) error {
	for _, metric := range ms {
		for _, p := range metric.Prepare {
			if m.Known(p) == nil {
				return fmt.Errorf("%s needs %s before the first sample is scored: see Prepare", metric.Name, p.Doc)
			}
		}
	}
	return nil
}
