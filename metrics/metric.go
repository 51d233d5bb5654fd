package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A Metric scores one sample. It is a value: a name, a description of what it needs, and a function.
type Metric struct {
	Name   string // "dimension/method", such as "faithfulness/claims"
	Doc    string // what it measures, in one line
	Source string // the paper and section, or the project, that defines the formula

	// Aliases are further names of the same method: it can be selected by each.
	Aliases []string
	// Settings are what may stand after an @ in the name, beside what At says of itself; of the metrics of a catalogue.
	Settings []string

	// Formula says how the value comes about, in a sentence or a formula that names what is counted.
	Formula string
	// Calls says what a sample costs in requests to a model: "none", "1 first-token scoring for each context".
	Calls string
	// Default says that the metric's dimension by itself ("faithfulness") means this method.
	Default bool

	Min, Max      float64 // the range of a Score's Value, both ends possible
	LowerIsBetter bool

	Needs Field // the columns that a sample must fill
	Asks  Asks  // the operations it asks of the model in each role; empty: it asks none
	Turns Turns // what it makes of the turns before the Question

	Searches bool // it looks for evidence in a corpus: [Models] must have one

	// Prepare lists what must be learned of the whole dataset before its first sample is scored.
	Prepare []*Preparation

	Outputs []string // the labels of the encoder's outputs that it reads

	Draws int // how many times each sample is scored, of which a Score has the mean; 0: once

	Prompts []*prompts.Prompt // the prompts it asks with, as they are built in

	// Bound returns an error where the metric was fitted to the answers of other models than these; nil: any will do.
	Bound func(Models) error

	// Fits reports why a model that can do what is asked of its role will not do: its labels are others, say. nil: any
	// will do.
	Fits func(role backend.Role, info backend.Info) error

	// At returns the metric with what stands after an @ in its name, which it reads: retrieval/ndcg@7 has a
	// cutoff of 7. nil: nothing may stand there.
	At func(text string) (Metric, error)

	// Score computes the value for s, which fills every field in Needs. It returns an error wrapping
	// ErrNotApplicable when the metric says nothing about such a sample, ErrBadReply when a model's
	// reply could not be understood, or a backend error. It may be called concurrently.
	Score func(ctx context.Context, m Models, s *Sample) (Score, error)
}

// A Score is a metric's value for one sample, with the evidence for it.
type Score struct {
	Value   float64   `json:"value"`            // finite, in [Metric.Min, Metric.Max]
	Spread  *float64  `json:"spread,omitempty"` // the standard deviation of several scores that it was made from
	Draws   []float64 `json:"draws,omitempty"`  // those scores, where they are of several draws: Value is their mean
	Ratio   *Ratio    `json:"ratio,omitempty"`  // the counts that Value is the ratio of; nil: it is none of counts
	Because []Finding `json:"because,omitempty"`
}

// A Ratio is a share of things that are counted, such as statements: 3 of 5. Those of several samples can be pooled:
// their sums' ratio weighs a sample by what it counts, where the mean of the samples' scores weighs all alike.
type Ratio struct {
	Numerator   int `json:"numerator"`
	Denominator int `json:"denominator"`
}

// Portion is the Score that so many of some are; of none, it is 0 and no Ratio.
func Portion(n, of int, because []Finding) Score {
	if of == 0 {
		return Score{Because: because}
	}
	return Score{Value: float64(n) / float64(of), Ratio: &Ratio{n, of}, Because: because}
}

// Check returns an error unless value is the ratio, to within rounding.
func (r *Ratio) Check(value float64) error {
	if r.Denominator < 1 || r.Numerator < 0 || r.Numerator > r.Denominator {
		return fmt.Errorf("%d of %d is no share", r.Numerator, r.Denominator)
	}
	if exact := float64(r.Numerator) / float64(r.Denominator); !(math.Abs(value-exact) <= 1e-9) {
		return fmt.Errorf("%d of %d is not its value %v", r.Numerator, r.Denominator, value)
	}
	return nil
}

// A Finding is one piece of evidence behind a Score: a claim with its verdict, a question with its
// similarity, a sentence that was kept. Which fields are set depends on Kind.
type Finding struct {
	Kind    string   `json:"kind"`              // "claim", "question", "sentence", "note"
	Text    string   `json:"text"`              // the thing itself
	ID      string   `json:"id,omitempty"`      // of the passage that it is or is about, where the sample has ids
	Verdict *bool    `json:"verdict,omitempty"` // whether it counts for the score
	Value   *float64 `json:"value,omitempty"`   // a similarity or probability
	Reason  string   `json:"reason,omitempty"`  // the judge's own words
	Where   string   `json:"where,omitempty"`   // where in the contexts: "context 2", "window 1 of 3"
	Marks   []Mark   `json:"marks,omitempty"`   // the stretches of Text that count against it
}

// A Mark is a stretch of a [Finding]'s Text: the bytes from Low up to but not including High, which lie between
// characters. Those of a text are in order and do not overlap.
type Mark struct {
	Low   int     `json:"low"`
	High  int     `json:"high"`
	Value float64 `json:"value"` // a probability
}

// A Part is a stretch of a [Finding]'s Text.
type Part struct {
	Text   string
	Marked bool
}

// Parts are the Text of a finding in order, cut at its Marks. A mark that is not of the text, as a file may hold one, is
// left out.
func (f *Finding) Parts() []Part {
	var list []Part
	at := 0
	add := func(to int, marked bool) {
		if at < to {
			list = append(list, Part{f.Text[at:to], marked})
			at = to
		}
	}
	for _, m := range f.Marks {
		if m.Low >= at && m.Low < m.High && m.High <= len(f.Text) {
			add(m.Low, false)
			add(m.High, true)
		}
	}
	add(len(f.Text), false)
	return list
}

// String puts a finding into a line, its Reason left out: "claim, yes: The ferry runs daily. (context 1)". Text between ⟦
// and ⟧ is marked.
func (f *Finding) String() string {
	var b strings.Builder
	b.WriteString(f.Kind)
	if f.Verdict != nil {
		b.WriteString(map[bool]string{true: ", yes", false: ", no"}[*f.Verdict])
	}
	if f.Value != nil {
		fmt.Fprintf(&b, ", %.3f", *f.Value)
	}
	b.WriteString(": ")
	for _, part := range f.Parts() {
		if part.Marked {
			b.WriteString("⟦" + part.Text + "⟧")
		} else {
			b.WriteString(part.Text)
		}
	}
	if f.Where != "" {
		fmt.Fprintf(&b, " (%s)", f.Where)
	}
	return b.String()
}

// Sentinel errors of a [Metric]'s Score.
var (
	ErrBadReply      = errors.New("bad reply")      // the model's reply could not be decoded, in any draw
	ErrNotApplicable = errors.New("not applicable") // the metric has nothing to say about this sample
)

// A Result is the outcome of one metric on one sample, and one line of a results file: a Score or an
// Error, never both and never neither.
type Result struct {
	Sample string   `json:"sample"`
	Metric string   `json:"metric"`
	Score  *Score   `json:"score,omitempty"`
	Error  string   `json:"error,omitempty"`
	Kind   Kind     `json:"kind,omitempty"`  // of the Error
	Calls  []string `json:"calls,omitempty"` // the cache keys of the answers used, in the order asked
	Cost   *Cost    `json:"cost,omitempty"`  // of those answers; nil if the judge was not asked
	Group  string   `json:"group,omitempty"` // the sample's
	Drawn  *Drawn   `json:"drawn,omitempty"` // of a metric that was asked about some rows only
}

// Drawn says with what probability a row was drawn, of a metric that is asked about some rows only. In a stratum, which
// holds rows that a cheap metric gave alike scores, it is the same for all: the share of the stratum's rows that were
// asked.
type Drawn struct {
	Stratum     int     `json:"stratum"` // from 0 on, the lowest scores first; rows without a score are the last
	Probability float64 `json:"probability"`
}

// A Cost is what the answers that a Result used cost the judge, in prompt tokens and completion tokens. It is the
// same whether they were computed for it, shared with another metric or found in the cache.
type Cost struct {
	PromptTokens int `json:"prompt_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// A Kind groups errors for counting.
type Kind string

const (
	NotApplicable Kind = "not_applicable" // counted apart from failures
	NotAsked      Kind = "not_asked"      // the row was not drawn: counted apart from failures, too
	BadReply      Kind = "bad_reply"
	TooLong       Kind = "too_long"
	Invalid       Kind = "invalid" // a sample that no model could be shown: text that is not UTF-8
	Failed        Kind = "failed"  // anything else, said in Error
)

// Clamp holds v to [lo, hi], which rounding may have made it exceed.
func Clamp(v, lo, hi float64) float64 { return max(lo, min(hi, v)) }
