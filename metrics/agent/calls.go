package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/metrics"
)

// toolCallMetrics compare the calls of tools that an agent made with those that it should have made. None
// asks a model.
func toolCallMetrics() []metrics.Metric {
	metric := func(method, doc, source, formula string,
		score func(made, wanted []call) (metrics.Score, error)) metrics.Metric {
		return metrics.Metric{
			Name: "tool_calls/" + method, Doc: doc, Source: source, Formula: formula, Calls: "none",
			Default: method == "f1", Min: 0, Max: 1, Needs: metrics.ToolCalls | metrics.ReferenceToolCalls,
			Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				made, err := readCalls(s.ToolCalls)
				if err != nil {
					return metrics.Score{}, err
				}
				wanted, err := readCalls(s.ReferenceToolCalls)
				if err != nil {
					return metrics.Score{}, fmt.Errorf("reference: %w", err)
				}
				return score(made, wanted)
			},
		}
	}
	const accuracy, f1 = "after Ragas' ToolCallAccuracy", "after Ragas' ToolCallF1"
	return []metrics.Metric{
		metric("accuracy", "agreement of the calls made with the reference calls, aligned in their order", accuracy,
			"sum of the agreements of aligned calls / the number of calls made or wanted, whichever is larger; two "+
				"calls of one tool agree by equal arguments / arguments of either; 1 if no call was made and none "+
				"wanted", scoreCallAccuracy),
		metric("accuracy_ragas",
			"Ragas' number: share of equal arguments, 0 unless the tools are the very same in order",
			"Ragas 0.4.3, ToolCallAccuracy with strict order",
			"mean over the reference calls of equal arguments / arguments wanted, if the sequences of tools are the "+
				"same, else 0",
			scoreCallAccuracyRagas),
		metric("f1", "harmonic mean of tool_calls/precision and tool_calls/recall", f1,
			"2 x right calls / (calls made + calls wanted); 1 if no call was made and none wanted", scoreCallF1),
		metric("precision", "share of the calls made that are reference calls, in any order", f1,
			"right calls / calls made", scoreCallPrecision),
		metric("recall", "share of the reference calls that were made, in any order", f1,
			"right calls / calls wanted", scoreCallRecall),
	}
}

// A call is a call of a tool, ready to be compared.
type call struct {
	text string            // as findings show it
	name string            // the tool
	args map[string]string // by name, in canonical JSON
	raw  map[string]json.RawMessage
}

func readCalls(calls []metrics.ToolCall) ([]call, error) {
	var list []call
	for i, c := range calls {
		args := make(map[string]string)
		for name, value := range c.Args {
			canonical, err := canonicalJSON(value)
			if err != nil {
				return nil, fmt.Errorf("call %d, %s: argument %s: %w",
					i+1, metrics.Bounded(c.Name), metrics.Bounded(name), err)
			}
			args[name] = canonical
		}
		list = append(list, call{c.String(), c.Name, args, c.Args})
	}
	return list, nil
}

// key is the same for two calls if they are of one tool with the same arguments.
func (c call) key() string { return fmt.Sprintf("%q %q", c.name, c.args) } // fmt sorts a map's keys

// canonicalJSON writes a JSON value so that equal values are equal texts: members by name, numbers by value.
func canonicalJSON(raw json.RawMessage) (string, error) {
	if !json.Valid(raw) {
		return "", fmt.Errorf("%q is not JSON", metrics.Bounded(string(raw)))
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	b, err := json.Marshal(canonicalNumbers(v)) // it sorts the members of objects
	return string(b), err
}

// canonicalNumbers writes every number in v in one way.
func canonicalNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(canonicalNumber(v.String()))
	case []any:
		for i := range v {
			v[i] = canonicalNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = canonicalNumbers(v[name])
		}
	}
	return v
}

// canonicalNumber writes a JSON number as its digits, without zeros at either end, and a power of ten: 1.50
// and 15e-1 are both 15e-1. It is exact, however large the number is.
func canonicalNumber(number string) string {
	digits, negative := strings.CutPrefix(number, "-")
	power := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		var err error
		const most = 1 << 40
		power, err = strconv.Atoi(digits[i+1:])
		if (err != nil || power > most || power < -most) && strings.Trim(digits[:i], "0.") != "" {
			return number // beyond any use: equal only to what is written alike
		}
		digits = digits[:i]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = whole + fraction
	short := strings.TrimRight(digits, "0")
	power += len(digits) - len(short) - len(fraction)
	if short = strings.TrimLeft(short, "0"); short == "" {
		return "0"
	}
	if negative {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(power)
}

// scoreCallF1 counts each call as often as it was made: to call a tool again without need is an error.
// Ragas' ToolCallF1 makes sets of the calls, and 0 where no call was made and none wanted.
func scoreCallF1(made, wanted []call) (metrics.Score, error) {
	right, findings := matchCalls(made, wanted)
	if len(made)+len(wanted) == 0 {
		return metrics.Score{Value: 1, Because: noCalls()}, nil
	}
	return metrics.Score{Value: 2 * float64(right) / float64(len(made)+len(wanted)), Because: findings}, nil
}

func scoreCallPrecision(made, wanted []call) (metrics.Score, error) {
	if len(made) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: no call was made", metrics.ErrNotApplicable)
	}
	right, findings := matchCalls(made, wanted)
	return metrics.Portion(right, len(made), findings), nil
}

func scoreCallRecall(made, wanted []call) (metrics.Score, error) {
	if len(wanted) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: no call was wanted", metrics.ErrNotApplicable)
	}
	right, findings := matchCalls(made, wanted)
	return metrics.Portion(right, len(wanted), findings), nil
}

func noCalls() []metrics.Finding {
	return []metrics.Finding{{Kind: "note", Text: "no call was made, and none was wanted"}}
}

// matchCalls counts the calls made that are among those wanted, each of which can be made once.
func matchCalls(made, wanted []call) (right int, findings []metrics.Finding) {
	open := make(map[string]int)
	for _, c := range wanted {
		open[c.key()]++
	}
	for i, c := range made {
		ok := open[c.key()] > 0
		f := metrics.Finding{Kind: "call", Text: c.text, Verdict: &ok, Where: fmt.Sprintf("call %d", i+1)}
		if ok {
			open[c.key()]--
			right++
		} else {
			f.Reason = "no reference call is left that is the same"
		}
		findings = append(findings, f)
	}
	for i, c := range wanted {
		if open[c.key()] > 0 {
			open[c.key()]--
			findings = append(findings, missingCall(c, i))
		}
	}
	return right, findings
}

// missingCall is the finding that the i-th reference call was not made.
func missingCall(c call, i int) metrics.Finding {
	no := false
	return metrics.Finding{
		Kind: "call", Text: c.text, Verdict: &no, Reason: "not made", Where: fmt.Sprintf("reference call %d", i+1),
	}
}

// callAgreement is how far two calls are the same: 0 if they are of different tools, else the share of their
// arguments, of either, that are equal.
func callAgreement(a, b call) float64 {
	if a.name != b.name {
		return 0
	}
	differing := differingArgs(a, b)
	all := len(a.args)
	for name := range b.args {
		if _, both := a.args[name]; !both {
			all++
		}
	}
	if all == 0 {
		return 1
	}
	return float64(all-len(differing)) / float64(all)
}

// differingArgs names the arguments that two calls do not share, sorted.
func differingArgs(a, b call) []string {
	differing := make(map[string]bool)
	for name, value := range a.args {
		if other, ok := b.args[name]; !ok || other != value {
			differing[name] = true
		}
	}
	for name := range b.args {
		if _, ok := a.args[name]; !ok {
			differing[name] = true
		}
	}
	return slices.Sorted(maps.Keys(differing))
}

// maxAlignment bounds the table by which calls are aligned, in cells: a thousand calls against as many.
const maxAlignment = 1 << 20

// scoreCallAccuracy aligns the calls in order, as well as can be. Nothing wipes out the rest: a call too
// many, one that is missing, and one that is out of order each cost their own share.
func scoreCallAccuracy(made, wanted []call) (metrics.Score, error) {
	if len(made)+len(wanted) == 0 {
		return metrics.Score{Value: 1, Because: noCalls()}, nil
	}
	if (len(made)+1)*(len(wanted)+1) > maxAlignment {
		return metrics.Score{}, fmt.Errorf("%d calls against %d are too many to align", len(made), len(wanted))
	}
	pairs, sum := alignCalls(made, wanted)
	score := metrics.Score{Value: sum / float64(max(len(made), len(wanted)))}
	paired := make([]bool, len(wanted))
	for i, c := range made {
		f := metrics.Finding{Kind: "call", Text: c.text, Verdict: new(bool), Where: fmt.Sprintf("call %d", i+1)}
		if j := pairs[i]; j < 0 {
			f.Reason = "no reference call to pair it with, in order"
		} else {
			paired[j] = true
			value := callAgreement(c, wanted[j])
			f.Value, *f.Verdict = &value, value == 1
			if value < 1 {
				f.Reason = "the reference call is " + wanted[j].text
			}
			f.Where += fmt.Sprintf(", reference call %d", j+1)
		}
		score.Because = append(score.Because, f)
	}
	for j, c := range wanted {
		if !paired[j] {
			score.Because = append(score.Because, missingCall(c, j))
		}
	}
	return score, nil
}

// An alignment is what pairs of calls come to.
type alignment struct {
	sum   float64 // of their agreements
	pairs int     // those that agree in nothing but the tool too: they show best what went wrong
}

func (a alignment) better(b alignment) bool {
	return a.sum > b.sum || a.sum == b.sum && a.pairs > b.pairs
}

// with adds a pair of calls, if they are of one tool.
func (a alignment) with(made, wanted call) alignment {
	if made.name != wanted.name {
		return a
	}
	return alignment{a.sum + callAgreement(made, wanted), a.pairs + 1}
}

// alignCalls pairs calls of one tool so that no two pairs cross and the sum of their agreements is largest.
// It returns, for each call made, the index of its reference call, -1 for none.
func alignCalls(made, wanted []call) (pairs []int, sum float64) {
	best := make([][]alignment, len(made)+1) // of the calls before i and j
	best[0] = make([]alignment, len(wanted)+1)
	for i, a := range made {
		best[i+1] = make([]alignment, len(wanted)+1)
		for j, b := range wanted {
			top := best[i][j].with(a, b)
			for _, other := range []alignment{best[i][j+1], best[i+1][j]} {
				if other.better(top) {
					top = other
				}
			}
			best[i+1][j+1] = top
		}
	}
	pairs = make([]int, len(made))
	for i, j := len(made), len(wanted); i > 0; {
		switch {
		case j > 0 && best[i][j] == best[i][j-1]:
			j--
		case best[i][j] == best[i-1][j]:
			i--
			pairs[i] = -1
		default:
			i, j = i-1, j-1
			pairs[i] = j
		}
	}
	return pairs, best[len(made)][len(wanted)].sum
}

// scoreCallAccuracyRagas is Ragas' number with its quirks: arguments are equal if Python prints them alike,
// so that "1" is 1 and 1 is not 1.0; an argument that nobody wanted costs nothing, unless none at all was
// wanted; and any difference between the sequences of tools makes it 0. Hence the penalty that Ragas has for
// calls that are missing never shows.
func scoreCallAccuracyRagas(made, wanted []call) (metrics.Score, error) {
	if len(made)+len(wanted) == 0 {
		return metrics.Score{Value: 1, Because: noCalls()}, nil
	}
	tools := func(calls []call) string {
		var names []string
		for _, c := range calls {
			names = append(names, c.name)
		}
		return strings.Join(names, ", ")
	}
	if !slices.EqualFunc(made, wanted, func(a, b call) bool { return a.name == b.name }) {
		return metrics.Score{Because: []metrics.Finding{{Kind: "note",
			Text: fmt.Sprintf("the tools called are %q, the reference has %q", tools(made), tools(wanted))}}}, nil
	}
	var score metrics.Score
	for i, c := range made {
		share, err := ragasArgs(c, wanted[i])
		if err != nil {
			return metrics.Score{}, err
		}
		whole := share == 1
		score.Value += share
		score.Because = append(score.Because, metrics.Finding{
			Kind: "call", Text: c.text, Verdict: &whole, Value: &share,
			Where: fmt.Sprintf("call %d, reference call %d", i+1, i+1),
		})
	}
	score.Value /= float64(len(wanted))
	return score, nil
}

// ragasArgs is the share of the wanted arguments that were given.
func ragasArgs(made, wanted call) (float64, error) {
	switch {
	case len(made.raw) == 0 && len(wanted.raw) == 0:
		return 1, nil
	case len(wanted.raw) == 0:
		return 0, nil
	}
	equal := 0
	for name, value := range wanted.raw {
		given, ok := made.raw[name]
		if !ok {
			continue
		}
		a, errA := pythonString(given)
		b, errB := pythonString(value)
		if err := errors.Join(errA, errB); err != nil {
			return 0, err
		}
		if a == b {
			equal++
		}
	}
	return float64(equal) / float64(len(wanted.raw)), nil
}
