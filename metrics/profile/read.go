package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
)

// A reading says how a model's answer becomes a value. One of choice, reply, head and spans is set.
type reading struct {
	choice []valued     // words by the probabilities of their first tokens: the expectation of their values
	reply  *replyReader // the value that a reply in words states
	head   *headReader  // of the numbers of a classification head
	spans  *spanReader  // of those of a token classification head
	invert bool         // the other end of the range is good
	lo, hi float64      // the range
}

// A valued is a word and what it is worth.
type valued struct {
	word  string
	value float64
}

// An outcome is what a model said of one thing.
type outcome struct {
	value   float64 // in the range, inverted where the profile says so
	verdict string  // the word or number that was read, "" if there is none
	reason  string  // the judge's own words, or the probabilities
	tokens  []token // of spans
}

// turned returns v, or what lies as far from the other end of the range.
func (r *reading) turned(v float64) float64 {
	if r.invert {
		v = r.lo + r.hi - v
	}
	return metrics.Clamp(v, r.lo, r.hi)
}

// ofChoice is the expectation of the words' values.
func (r *reading) ofChoice(c ask.Choice) outcome {
	var o outcome
	var parts []string
	for i, w := range r.choice {
		o.value += c.Chances[i] * w.value
		parts = append(parts, fmt.Sprintf("%s %.3f", w.word, c.Chances[i]))
	}
	o.value = r.turned(o.value)
	o.reason = strings.Join(parts, ", ")
	if c.Mass < 0.5 {
		o.reason += fmt.Sprintf(" (these had only %.2g of the judge's probability: it would rather say something else)",
			c.Mass)
	}
	return o
}

// A replyReader finds a verdict in a reply: after a mark, in a tag or in a field of a JSON object. The last one counts:
// what stands before may quote the form, or the sample.
type replyReader struct {
	after, tag, key string
	words           []valued // what the verdict may be; nil: a number from lowest to highest
	lowest, highest float64
}

// errNoVerdict is what a judge did wrong whose reply holds no verdict of the form that the profile asks for.
var errNoVerdict = errors.New("no verdict of the profile's form")

// ofReply reads a verdict.
func (r *reading) ofReply(reply ask.Reply) (outcome, error) {
	verdict, reason, err := r.reply.locate(reply)
	if err != nil {
		return outcome{}, err
	}
	v, said, err := r.reply.value(verdict)
	if err != nil {
		return outcome{}, err
	}
	return outcome{value: r.turned(v), verdict: said, reason: reason}, nil
}

// locate returns what stands where the verdict is, and what was said before it.
func (r *replyReader) locate(reply ask.Reply) (verdict, reason string, err error) {
	switch {
	case r.after != "":
		at := lastIndex(reply.Text, r.after)
		if at < 0 {
			return "", "", fmt.Errorf("%w: nothing stands after %q", errNoVerdict, r.after)
		}
		verdict, reason = reply.Text[at+len(r.after):], reply.Text[:at]
		verdict, _, _ = strings.Cut(strings.TrimSpace(verdict), "\n")
	case r.tag != "":
		open, closing := "<"+r.tag+">", "</"+r.tag+">"
		at := lastIndex(reply.Text, open)
		if at < 0 {
			return "", "", fmt.Errorf("%w: there is no %s", errNoVerdict, open)
		}
		verdict, reason = reply.Text[at+len(open):], reply.Text[:at]
		end := lastIndex(verdict, closing)
		if end < 0 && reply.Cut {
			return "", "", fmt.Errorf("%w: %s is not closed, and the reply was cut", errNoVerdict, open)
		}
		if end >= 0 {
			verdict = verdict[:end]
		}
	default:
		if verdict, err = r.field(reply.Text); err != nil {
			return "", "", err
		}
		reason = reply.Text
	}
	return strings.TrimSpace(verdict), strings.TrimSpace(reason), nil
}

// lastIndex is strings.LastIndex, but takes ASCII letters of either case for the same.
func lastIndex(text, mark string) int {
	for at := len(text) - len(mark); at >= 0; at-- {
		if strings.EqualFold(text[at:at+len(mark)], mark) {
			return at
		}
	}
	return -1
}

// field returns a field of the last JSON object in a text that has it. Where the JSON is broken, the last "key": and
// what follows will do.
func (r *replyReader) field(text string) (string, error) {
	for at := strings.LastIndexByte(text, '{'); at >= 0; at = strings.LastIndexByte(text[:at], '{') {
		var object map[string]json.RawMessage
		if json.NewDecoder(strings.NewReader(text[at:])).Decode(&object) != nil || object[r.key] == nil {
			continue
		}
		var said string
		if json.Unmarshal(object[r.key], &said) == nil {
			return said, nil
		}
		return string(object[r.key]), nil
	}
	all := regexp.MustCompile(`"`+regexp.QuoteMeta(r.key)+`"\s*:\s*"?([^",}\n]*)`).FindAllStringSubmatch(text, -1)
	if all == nil {
		return "", fmt.Errorf("%w: there is no JSON with %q", errNoVerdict, r.key)
	}
	return all[len(all)-1][1], nil
}

var (
	// a number as a judge writes it: 4, **4**, [4], 4/5, 4 out of 5
	statedNumber = regexp.MustCompile(`^[\s*_\[("'` + "`" + `]*(-?[0-9]+(?:\.[0-9]+)?)(.*)`)
	// what follows the first number of a scale that is only repeated: 1-5
	scaleGoesOn = regexp.MustCompile(`^\s*(?:-|–|to\b|or\b|,)\s*[0-9]`)
	moreDigits  = regexp.MustCompile(`^[.,]?[0-9]`)
)

// value reads a verdict, and returns the word or number that it is.
func (r *replyReader) value(verdict string) (value float64, said string, err error) {
	if r.words == nil {
		m := statedNumber.FindStringSubmatch(verdict)
		if m == nil || scaleGoesOn.MatchString(m[2]) || moreDigits.MatchString(m[2]) {
			return 0, "", fmt.Errorf("%w: %q is no number", errNoVerdict, metrics.Bounded(verdict))
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil || !(v >= r.lowest && v <= r.highest) {
			return 0, "", fmt.Errorf("%w: %s is not from %v to %v", errNoVerdict, metrics.Bounded(m[1]), r.lowest, r.highest)
		}
		return v, m[1], nil
	}
	found := -1
	for i, w := range r.words {
		if !hasWord(verdict, w.word) {
			continue
		}
		if found >= 0 {
			return 0, "", fmt.Errorf("%w: %q is both %s and %s", errNoVerdict, metrics.Bounded(verdict),
				r.words[found].word, w.word)
		}
		found = i
	}
	if found < 0 {
		return 0, "", fmt.Errorf("%w: %q is none of the words", errNoVerdict, metrics.Bounded(verdict))
	}
	return r.words[found].value, r.words[found].word, nil
}

// hasWord reports whether a word stands in a text, in either case.
func hasWord(text, word string) bool {
	return regexp.MustCompile(`(?i)(?:^|[^\pL\pN])` + regexp.QuoteMeta(word) + `(?:$|[^\pL\pN])`).MatchString(text)
}

// A headReader reads the numbers of a classification head.
type headReader struct {
	kind   string   // "sigmoid", "softmax", "probability" or "reward"
	labels []string // of the output that counts, any of them; nil: the model's labels do not matter
	output int      // its number, of a model without labels
	// of a reward: the value is the logistic function of (number - centre)/width; where width is 0, the number itself,
	// held to the range
	centre, width float64
}

// index returns the place of the output that counts.
func (h *headReader) index(info backend.Info) (int, error) {
	unlabelled := numbered(info.Labels)
	switch {
	case unlabelled && h.output < 0:
		return 0, fmt.Errorf("%s does not label its outputs, and the profile knows the one that it reads by the labels %s: "+
			"give it labels (assay models import), or the profile an output", info.Model, strings.Join(h.labels, ", "))
	case unlabelled || h.labels == nil:
		return h.output, nil
	}
	for i, label := range info.Labels {
		if slices.ContainsFunc(h.labels, func(l string) bool { return strings.EqualFold(l, label) }) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s has the outputs %s, and the profile knows one by the labels %s: is it for this model?",
		info.Model, strings.Join(info.Labels, ", "), strings.Join(h.labels, ", "))
}

// numbered reports whether labels only number the outputs, as LABEL_0 and LABEL_1 do, or there are none.
func numbered(labels []string) bool {
	for i, label := range labels {
		if !strings.EqualFold(label, fmt.Sprintf("LABEL_%d", i)) {
			return false
		}
	}
	return true
}

// fits reports why a model's head cannot be read.
func (r *reading) fits(info backend.Info) error {
	var err error
	switch {
	case r.head != nil:
		_, err = r.head.index(info)
	case r.spans != nil:
		_, err = r.spans.index(info)
	}
	return err
}

// ofHead reads the numbers that a head gives for one text or pair.
func (r *reading) ofHead(info backend.Info, numbers []float32) (outcome, error) {
	h := r.head
	at, err := h.index(info)
	if err != nil {
		return outcome{}, err
	}
	if want := len(info.Labels); at >= len(numbers) || want > 0 && want != len(numbers) ||
		h.kind == "softmax" && len(numbers) < 2 {
		return outcome{}, fmt.Errorf("%s gives %d numbers, and the profile reads number %d of a %s: is it for this model?",
			info.Model, len(numbers), at+1, h.kind)
	}
	for _, x := range numbers {
		if math.IsNaN(float64(x)) {
			return outcome{}, fmt.Errorf("%s gives a number that is none", info.Model)
		}
	}
	x := float64(numbers[at])
	switch h.kind {
	case "sigmoid":
		return outcome{value: r.turned(stats.Logistic(x)), reason: fmt.Sprintf("logit %.3f", x)}, nil
	case "softmax":
		chances := softmax(numbers)
		return outcome{value: r.turned(chances[at]), reason: r.said(info, chances)}, nil
	case "probability":
		if x < -1e-3 || x > 1+1e-3 {
			return outcome{}, fmt.Errorf("%s gives %v, which is no probability: its head is read otherwise", info.Model, x)
		}
		return outcome{value: r.turned(x)}, nil
	}
	o := outcome{reason: fmt.Sprintf("reward %.3f", x)}
	v := x
	if h.width > 0 {
		v = stats.Logistic((x - h.centre) / h.width)
	} else if v != metrics.Clamp(v, r.lo, r.hi) {
		o.reason += fmt.Sprintf(", which is held to %v to %v", r.lo, r.hi)
	}
	o.value = r.turned(v)
	return o, nil
}

// said lists the probabilities of a head with labels.
func (r *reading) said(info backend.Info, chances []float64) string {
	if len(info.Labels) != len(chances) || numbered(info.Labels) {
		return ""
	}
	var parts []string
	for i, p := range chances {
		parts = append(parts, fmt.Sprintf("%s %.3f", info.Labels[i], p))
	}
	return strings.Join(parts, ", ")
}

// softmax turns logits into probabilities.
func softmax(logits []float32) []float64 {
	top := float64(slices.Max(logits))
	list := make([]float64, len(logits))
	sum := 0.0
	for i, x := range logits {
		list[i] = math.Exp(float64(x) - top)
		sum += list[i]
	}
	for i := range list {
		list[i] /= sum
	}
	return list
}
