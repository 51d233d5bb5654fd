package study

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
)

// Which part of a RAG fails is seen by the questions that it fails on, as in Giskard's RAGET: each type of question is
// hard for certain parts. The types are those of assay testset, or RAGET's own names.

// componentTypes are the types of questions that each part answers for, after RAGET's attribution.
var componentTypes = []struct {
	name  string
	types []string
}{
	{"generator", []string{"single", "complex", "reasoning", "conditional", "distracting", "situational", "double"}},
	{"retriever", []string{"single", "distracting", "several", "multihop"}},
	{"rewriter", []string{"distracting", "double", "conversational", "several", "multihop"}},
	{"router", []string{"outside"}},
}

// typeNames are RAGET's names of types.
var typeNames = map[string]string{"simple": "single", "distracting element": "distracting", "multi-context": "several",
	"out of scope": "outside", "unanswerable": "outside"}

// leastTopic is the fewest rows of a topic that counts.
const leastTopic = 5

// ComponentScores are what --format json prints of the parts of a RAG.
type ComponentScores struct {
	Run        string      `json:"run"`
	Metric     string      `json:"metric"`
	Components []Component `json:"components"`
	Types      []Part      `json:"types"`  // of questions
	Topics     []Part      `json:"topics"` // of those with five rows or more, the lowest first
	Warnings   []string    `json:"warnings,omitempty"`
}

// A Component is a part of a RAG. The knowledge base's value is the metric's range less the span between its best and its
// worst topic: 1 if it serves all alike. The others' is the mean over types of questions of the mean of each.
type Component struct {
	Name  string    `json:"name"` // generator, retriever, rewriter, router or knowledge_base
	Value *Estimate `json:"value,omitempty"`
	N     int       `json:"n"`               // rows
	Types []string  `json:"types,omitempty"` // of questions, those that there are
}

// A Part are the rows of one type or topic.
type Part struct {
	Name string    `json:"name"`
	N    int       `json:"n"`
	Mean *Estimate `json:"mean"`
}

// kinds are what kind of question each sample is.
type kinds struct{ types, topics map[string]string }

// readKinds reads the types and topics of a run's samples from its dataset: the columns type (or question_type) and topic,
// of the row or of its column metadata. Without a topic it is the document that the question was written from.
func readKinds(ctx context.Context, run *runs.Scores, source *labels.Source) (kinds, error) {
	k := kinds{map[string]string{}, map[string]string{}}
	data, err := source.Open(ctx, run)
	if err != nil {
		return k, err
	}
	defer data.Close()
	for sample, err := range data.Samples(ctx) {
		if errors.As(err, new(*dataset.RowError)) {
			continue // the run left it out, too
		}
		if err != nil {
			return k, &runs.InputError{Err: err}
		}
		typ := strings.ToLower(cmp.Or(named(sample, "type"), named(sample, "question_type")))
		topic := named(sample, "topic")
		if topic == "" && len(sample.ReferenceContextIDs) > 0 {
			topic, _, _ = strings.Cut(sample.ReferenceContextIDs[0], "#")
		}
		k.types[sample.ID], k.topics[sample.ID] = cmp.Or(typeNames[typ], typ), topic
	}
	return k, ctx.Err()
}

// named is the text in a column of a sample, or in a member of its column metadata; "" if there is none.
func named(s *metrics.Sample, column string) string {
	var text string
	if json.Unmarshal(s.Extra[column], &text) == nil && text != "" {
		return text
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(s.Extra["metadata"], &members) != nil || json.Unmarshal(members[column], &text) != nil {
		return ""
	}
	return text
}

// Components says how well the parts of a RAG do, by a metric of its answers.
func Components(ctx context.Context, run *runs.Scores, m runs.Metric, source *labels.Source) (*ComponentScores, error) {
	k, err := readKinds(ctx, run, source)
	if err != nil {
		return nil, err
	}
	out := &ComponentScores{Run: run.Dir, Metric: m.Name}
	byType, untyped := parts(run, m, k.types)
	if len(byType) == 0 {
		return nil, runs.Inputf("no row of the dataset that %s scored says what type of question it is", run.Dir).WithHint(
			"assay testset --recipe questions writes a column type")
	}
	if untyped > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d rows have no type of question and are left out", untyped))
	}
	for _, name := range slices.Sorted(maps.Keys(byType)) {
		out.Types = append(out.Types, byType[name])
	}
	for _, c := range componentTypes {
		out.Components = append(out.Components, component(c.name, c.types, byType, m))
	}
	topics, _ := parts(run, m, k.topics)
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		if topics[name].N >= leastTopic {
			out.Topics = append(out.Topics, topics[name])
		}
	}
	slices.SortStableFunc(out.Topics, func(a, b Part) int { return cmp.Compare(a.Mean.Value, b.Mean.Value) })
	base := Component{Name: "knowledge_base"}
	if n := len(out.Topics); n > 1 {
		for _, t := range out.Topics {
			base.N += t.N
		}
		span := out.Topics[n-1].Mean.Value - out.Topics[0].Mean.Value
		base.Value = &Estimate{Value: 1 - span/max(m.Max-m.Min, math.SmallestNonzeroFloat64)}
		out.Warnings = append(out.Warnings, "the span between topics grows with chance: see the topics' intervals")
	} else {
		out.Warnings = append(out.Warnings, fmt.Sprintf("fewer than two topics have %d rows: nothing is said of the "+
			"knowledge base", leastTopic))
	}
	out.Components = append(out.Components, base)
	return out, nil
}

// parts are the rows with a score, by their kind. Rest counts those without one.
func parts(run *runs.Scores, m runs.Metric, kind map[string]string) (list map[string]Part, rest int) {
	values, groups := map[string][]float64{}, map[string][]string{}
	for _, id := range run.Samples {
		v, scored := run.Of[m.Name][id]
		name := kind[id]
		switch {
		case !scored:
		case name == "":
			rest++
		default:
			values[name], groups[name] = append(values[name], v), append(groups[name], run.Group[id])
		}
	}
	list = map[string]Part{}
	for name, of := range values {
		mean := stats.Mean{}
		for i, v := range of {
			mean.AddTo(groups[name][i], v)
		}
		s := mean.Summary(stats.Options{Min: m.Min, Max: m.Max})
		list[name] = Part{name, len(of), newEstimate(s.Mean, s.Interval)}
	}
	return list, rest
}

// component is the mean over the types that there are, with an interval from theirs.
func component(name string, types []string, parts map[string]Part, m runs.Metric) Component {
	c := Component{Name: name}
	sum, below, above := 0.0, 0.0, 0.0
	for _, t := range types {
		p, ok := parts[t]
		if !ok {
			continue
		}
		c.N += p.N
		c.Types = append(c.Types, t)
		sum += p.Mean.Value
		if p.Mean.Lo == nil {
			below, above = math.Inf(1), math.Inf(1)
			continue
		}
		below += (p.Mean.Value - *p.Mean.Lo) * (p.Mean.Value - *p.Mean.Lo)
		above += (*p.Mean.Hi - p.Mean.Value) * (*p.Mean.Hi - p.Mean.Value)
	}
	k := float64(len(c.Types))
	if k == 0 {
		return c
	}
	c.Value = &Estimate{Value: sum / k}
	if !math.IsInf(below, 1) {
		lo := max(m.Min, c.Value.Value-math.Sqrt(below)/k)
		hi := min(m.Max, c.Value.Value+math.Sqrt(above)/k)
		c.Value.Lo, c.Value.Hi, c.Value.Method = &lo, &hi, "combined"
	}
	return c
}
