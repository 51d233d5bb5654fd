package all

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A TrainedJudge predicts people's labels from the values of other metrics. It is a small additive model
// that assay judge train fits and a file keeps:
//
//	log odds = Offset + sum over Features of Weight * (value - Mean) / Deviation + sum over Trees of a leaf's Value
//	label    = Label.Min + (Label.Max - Label.Min) * logistic(log odds)
//
// of which either part may be empty: logistic regression on standardised features, and boosted trees. The model
// is additive, so that each feature's contribution to the log odds can be told for each sample.
type TrainedJudge struct {
	Format      int                `json:"format"` // [JudgeFormat]
	Metric      string             `json:"metric"` // "faithfulness/judge"
	Label       JudgeLabel         `json:"label"`
	JudgeModels                    // that the features asked
	Prompts     []prompts.Identity `json:"prompts,omitempty"` // that they asked with
	Offset      float64            `json:"offset"`
	Features    []JudgeFeature     `json:"features"`
	Trees       []JudgeTree        `json:"trees,omitempty"`
}

// JudgeFormat is the version of a trained judge's file that this package reads.
const JudgeFormat = 1

// A JudgeLabel is what a trained judge predicts.
type JudgeLabel struct {
	Field string  `json:"field"` // its name where it came from
	Min   float64 `json:"min"`   // the lowest label
	Max   float64 `json:"max"`   // the highest one; 0 and 1: what is predicted is a probability
}

// JudgeModels are the models that the features of a trained judge asked, each by its name and weights; nil where
// none did.
type JudgeModels struct {
	Judge    *backend.Identity       `json:"judge_model,omitempty"`
	Embedder *backend.Identity       `json:"embedding_model,omitempty"`
	Encoder  *backend.Identity       `json:"encoder_model,omitempty"`
	Sampler  *backend.Identity       `json:"sample_model,omitempty"`
	Named    []backend.NamedIdentity `json:"named_models,omitempty"`
}

// Models returns the models by role.
func (m JudgeModels) Models() backend.Identities { return backend.IdentityFields(m).Models() }

// A JudgeFeature is a metric whose value is a feature, with its statistics over the training rows. A value beyond
// their range is clamped to it.
type JudgeFeature struct {
	Metric     string  `json:"metric"`
	Least      float64 `json:"least"`
	Most       float64 `json:"most"`
	Mean       float64 `json:"mean"`
	Deviation  float64 `json:"deviation"`         // positive
	Weight     float64 `json:"weight"`            // in log odds for each Deviation
	Without    float64 `json:"without"`           // in log odds, where the metric does not apply
	Optional   bool    `json:"optional"`          // some rows were without it; where none was, it must apply
	Importance float64 `json:"importance"`        // its share in what moved the log odds of the training rows
	Missing    int     `json:"missing,omitempty"` // training rows without it
}

// A JudgeTree is a decision tree, its root first. A node's children stand after it.
type JudgeTree []JudgeNode

// A JudgeNode splits by a feature, or is a leaf: then Left and Right are 0.
type JudgeNode struct {
	Feature int     `json:"feature"` // its place in Features
	Below   float64 `json:"below"`   // values below it go left
	Absent  string  `json:"absent,omitempty"`
	Left    int     `json:"left,omitempty"` // the place of a child in the tree
	Right   int     `json:"right,omitempty"`
	Value   float64 `json:"value"` // in log odds; of an inner node what it would be worth as a leaf
}

// Where a sample goes in a tree if the feature is missing (not applicable).
const (
	AbsentLeft  = "left"
	AbsentRight = "right"
)

func (n *JudgeNode) leaf() bool { return n.Left == 0 }

// child is the child of n to which a value goes, NaN if the feature is missing.
func (n *JudgeNode) child(value float64) int {
	if value < n.Below || math.IsNaN(value) && n.Absent == AbsentLeft {
		return n.Left
	}
	return n.Right
}

// LogOdds predicts from the features' values, NaN where one is missing.
func (j *TrainedJudge) LogOdds(values []float64) float64 {
	z := j.Offset
	for i := range j.Features {
		z += j.Features[i].linear(values[i])
	}
	for _, t := range j.Trees {
		z += t.At(values)
	}
	return z
}

// At is the value of the leaf that the features' values lead to.
func (t JudgeTree) At(values []float64) float64 {
	at := &t[0]
	for !at.leaf() {
		at = &t[at.child(values[at.Feature])]
	}
	return at.Value
}

// Predict is the label that LogOdds stand for.
func (j *TrainedJudge) Predict(values []float64) float64 {
	return j.Label.Min + (j.Label.Max-j.Label.Min)/(1+math.Exp(-j.LogOdds(values)))
}

// Explain decomposes the log odds into a base and a contribution of each feature. A tree's leaf value is
// decomposed along its decision path: each step's change goes to the feature that splits there.
func (j *TrainedJudge) Explain(values []float64) (base float64, parts []float64) {
	base, parts = j.Offset, make([]float64, len(j.Features))
	for i := range j.Features {
		parts[i] = j.Features[i].linear(values[i])
	}
	for _, t := range j.Trees {
		at := &t[0]
		base += at.Value
		for !at.leaf() {
			next := &t[at.child(values[at.Feature])]
			parts[at.Feature] += next.Value - at.Value
			at = next
		}
	}
	return base, parts
}

func (f *JudgeFeature) linear(value float64) float64 {
	if math.IsNaN(value) {
		return f.Without
	}
	return f.Weight * (min(max(value, f.Least), f.Most) - f.Mean) / f.Deviation
}

// mostNodes bounds the nodes of all trees together, which each prediction may visit. Training makes 6000 at most.
const mostNodes = 100_000

// check returns an error if the numbers, perhaps read from a file, are no model.
func (j *TrainedJudge) check() error {
	finite := func(numbers ...float64) bool {
		for _, v := range numbers {
			if math.IsNaN(v) || math.Abs(v) > 1e12 {
				return false
			}
		}
		return true
	}
	switch {
	case j.Format != JudgeFormat:
		return fmt.Errorf("its format is %d, and this version reads %d", j.Format, JudgeFormat)
	case !finite(j.Label.Min, j.Label.Max, j.Offset) || !(j.Label.Min < j.Label.Max):
		return errors.New("its labels or offset are out of range")
	case len(j.Features) == 0:
		return errors.New("it has no features")
	}
	for _, n := range j.Named {
		if err := backend.CheckRoleName(n.As); err != nil || !slices.Contains(backend.Roles(), n.Kind) {
			return fmt.Errorf("it asks a model %s as %s, which cannot be", metrics.Bounded(n.As),
				metrics.Bounded(string(n.Kind)))
		}
	}
	for _, f := range j.Features {
		if !finite(f.Least, f.Most, f.Mean, f.Deviation, f.Weight, f.Without) || !(f.Deviation > 0) ||
			f.Least > f.Most ||
			!finite(f.linear(f.Least), f.linear(f.Most)) {
			return fmt.Errorf("the numbers of its feature %s are out of range", metrics.Bounded(f.Metric))
		}
	}
	nodes := 0
	for k, t := range j.Trees {
		if len(t) == 0 {
			return fmt.Errorf("tree %d is empty", k+1)
		}
		if nodes += len(t); nodes > mostNodes {
			return fmt.Errorf("its trees have more than %d nodes", mostNodes)
		}
		for i, n := range t {
			inner := n.Left > i && n.Right > i && n.Left < len(t) && n.Right < len(t) && n.Feature >= 0 &&
				n.Feature < len(j.Features)
			if !finite(n.Below, n.Value) || !inner && (n.Left != 0 || n.Right != 0) {
				return fmt.Errorf("tree %d, node %d: it leads nowhere", k+1, i+1)
			}
		}
	}
	return nil
}
