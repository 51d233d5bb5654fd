package preview

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/metrics"
)

// A Pilot is what scoring a few rows took, and what all rows would take if they are like those.
type Pilot struct {
	Rows    int           `json:"rows"`  // of the dataset
	Tried   []string      `json:"tried"` // the ids of the rows that were scored
	Metrics []MetricPilot `json:"metrics"`
	// Seconds are how long all rows would take at the rate of the pilot's rows after the first, all metrics together. The time to load models is not in it.
	// A run serves more rows at once than the pilot has, and so is rarely slower; nil where most of the pilot's answers came
	// from the cache, which tells nothing.
	Seconds *float64 `json:"seconds,omitempty"`
}

// A MetricPilot is one metric's part.
type MetricPilot struct {
	Name          string  `json:"name"`
	Scored        int     `json:"scored"` // rows of the pilot
	Failed        int     `json:"failed"`
	NotApplicable int     `json:"not_applicable"`
	Calls         int     `json:"calls"`         // requests to models
	Computed      int     `json:"computed"`      // of those, the ones that the cache did not answer
	PromptTokens  int     `json:"prompt_tokens"` // of those that say so; what they share with others included
	OutputTokens  int     `json:"output_tokens"`
	Seconds       float64 `json:"seconds"`          // for the pilot's rows
	First         float64 `json:"first_seconds"`    // of those, for the first row, which computes what prompts have in common
	Prompt        string  `json:"prompt,omitempty"` // the first that was asked
}

// Calls says how often models were asked so far, and how often the cache answered.
type Calls func() (computed, cached int64)

// Try scores rows of the dataset that lie evenly over it, metric by metric, and says what it took. Answers go to the cache of the
// models, as in any run. An error is that of a run, not of a row.
func Try(ctx context.Context, r *dataset.Reader, rows int, ms []metrics.Metric, models metrics.Models, calls Calls) (*Pilot, error) {
	p := &Pilot{Rows: r.Summary().Rows}
	samples, err := evenly(ctx, r, rows)
	if err != nil {
		return nil, err
	}
	if len(samples) == 0 {
		return nil, errors.New("no row to score")
	}
	for _, s := range samples {
		p.Tried = append(p.Tried, s.ID)
	}
	seconds, computed, asked := 0.0, 0, 0 // of all rows; of the pilot
	for _, m := range ms {
		one, err := try(ctx, samples, m, models, calls)
		if err != nil {
			return nil, err
		}
		p.Metrics = append(p.Metrics, one)
		seconds += one.First + one.rate(len(samples))*float64(p.Rows-1)
		computed, asked = computed+one.Computed, asked+one.Calls
	}
	if 2*computed >= asked {
		p.Seconds = &seconds
	}
	return p, nil
}

// rate is how many seconds a row takes, the first apart where there are others.
func (m MetricPilot) rate(rows int) float64 {
	if rows == 1 {
		return m.First
	}
	return (m.Seconds - m.First) / float64(rows-1)
}

// evenly returns so many samples that lie evenly over the dataset.
func evenly(ctx context.Context, r *dataset.Reader, want int) ([]*metrics.Sample, error) {
	total := r.Summary().Rows
	want = min(want, total)
	var list []*metrics.Sample
	i := 0
	for sample, err := range r.Samples(ctx) {
		if errors.As(err, new(*dataset.RowError)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(list) < want && i >= len(list)*total/want {
			list = append(list, sample)
		}
		i++
	}
	return list, nil
}

// try scores the samples by one metric.
func try(ctx context.Context, samples []*metrics.Sample, m metrics.Metric, models metrics.Models, calls Calls) (MetricPilot, error) {
	one := MetricPilot{Name: m.Name}
	log := &watch{}
	watched := models
	watched.Roles = metrics.Roles{}
	for role, b := range models.Roles {
		watched.Roles[role] = &watcher{b, log}
	}
	before, _ := calls()
	start := time.Now()
	score := func(samples []*metrics.Sample) error {
		return metrics.Run(ctx, each(samples), []metrics.Metric{m}, watched, metrics.Options{}, func(r metrics.Result) error {
			switch {
			case r.Score != nil:
				one.Scored++
			case r.Kind == metrics.NotApplicable:
				one.NotApplicable++
			default:
				one.Failed++
			}
			return nil
		})
	}
	err := score(samples[:1])
	one.First = time.Since(start).Seconds()
	if err == nil && len(samples) > 1 {
		err = score(samples[1:])
	}
	after, _ := calls()
	one.Seconds = time.Since(start).Seconds()
	one.Calls, one.Computed = log.calls, int(after-before)
	one.PromptTokens, one.OutputTokens, one.Prompt = log.prompt, log.output, log.first
	return one, err
}

// each yields samples.
func each(samples []*metrics.Sample) iter.Seq2[*metrics.Sample, error] {
	return func(yield func(*metrics.Sample, error) bool) {
		for _, s := range samples {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// A watch counts what models are asked.
type watch struct {
	mu                    sync.Mutex
	calls, prompt, output int
	first                 string // prompt
}

func (w *watch) note(prompt string, in, out int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	w.prompt += in
	w.output += out
	if w.first == "" {
		w.first = prompt
	}
}

// A watcher is a model whose calls are counted.
type watcher struct {
	inner backend.Backend
	log   *watch
}

func (w *watcher) Info() backend.Info { return w.inner.Info() }

func (w *watcher) Close() error { return w.inner.Close() }

func (w *watcher) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	g, err := w.inner.Generate(ctx, req)
	if err == nil {
		w.log.note(written(req.Messages), g.PromptTokens, g.OutputTokens)
	}
	return g, err
}

func (w *watcher) Score(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	s, err := w.inner.Score(ctx, req)
	if err == nil {
		w.log.note(written(req.Messages)+"\n[one of: "+strings.Join(req.Continuations, " | ")+"]", s.PromptTokens, 0)
	}
	return s, err
}

func (w *watcher) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	e, err := w.inner.Encode(ctx, req)
	if err == nil {
		w.log.note("", 0, 0)
	}
	return e, err
}

// written shows messages as one text.
func written(messages []backend.Message) string {
	var parts []string
	for _, m := range messages {
		parts = append(parts, "["+string(m.Role)+"]\n"+m.Text)
	}
	return strings.Join(parts, "\n")
}

// rolesOf are the models that a metric asks.
func rolesOf(m metrics.Metric) Roles { return backend.SortRoles(m.Asks) }

// Roles are models by what they are there for.
type Roles []backend.Role

// Names are their names for messages.
func (r Roles) Names() []string {
	var names []string
	for _, role := range r {
		names = append(names, role.Title())
	}
	slices.Sort(names)
	return names
}
