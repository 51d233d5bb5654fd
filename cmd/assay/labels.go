package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/metrics"
	"github.com/spf13/pflag"
)

// labelOptions are the flags that say where people's labels are.
type labelOptions struct {
	human    string
	data     string
	file     string
	positive string
}

func (o *labelOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.human, "human", "", "the `FIELD` that holds the labels: a member of the column human, a column, or COLUMN.MEMBER")
	f.StringVar(&o.data, "data", "", "the dataset `FILE`, where it is not any more where the run found it")
	f.StringVar(&o.file, "labels", "", "a `FILE` of labels: columns sample and label (or FIELD), also run for several runs")
	f.StringVar(&o.positive, "positive", "", "make labels of at least `VALUE` true, and others false")
}

// labelHelp is the part of the help that the commands with labels share.
const labelHelp = `
Labels are numbers, true and false, yes and no, or a list with one for each rater. They come from the dataset that
was scored (--human FIELD: the member FIELD of its column human, or a column of that name) or from a file of
their own (--labels FILE: JSONL, CSV or TSV with the columns sample and label). Rows without a label, and repeated
rows of further raters, are fine.
`

// A rating is one rater's label.
type rating struct {
	rater int // its place in the list
	value float64
}

// labels are people's, by sample.
type labels struct {
	field   string
	ratings map[string][]rating
	peers   map[string]map[string]float64 // scores that others computed, by name and sample
	group   map[string]string
	raters  int // in the longest list
	foreign int // rows whose samples the run does not have
	unfair  int // rows that assay label did not pick fairly
}

// load reads the labels for a run.
func (o *labelOptions) load(ctx context.Context, s *std, run *scores) (*labels, error) {
	field := o.human
	if o.file != "" && field == "" {
		field = "label"
	}
	if field == "" {
		return nil, usageError{withHint(errors.New("no labels"), "--human FIELD for those in the dataset, --labels FILE for those in a file")}
	}
	positive, binary, err := parsePositive(o.positive)
	if err != nil {
		return nil, err
	}
	data, err := o.open(ctx, s, run)
	if err != nil {
		return nil, usageError{err}
	}
	defer data.Close()
	l := &labels{field: field, ratings: map[string][]rating{}, peers: map[string]map[string]float64{}, group: map[string]string{}}
	known := map[string]bool{}
	for _, id := range run.samples {
		known[id] = true
	}
	r := labelReader{own: o.file != ""}
	for sample, err := range data.Samples(ctx) {
		if errors.As(err, new(*dataset.RowError)) && o.file == "" {
			continue // the run left it out, too
		}
		if err == nil {
			err = r.row(l, sample, run, known)
		}
		if err != nil {
			return nil, usageError{err}
		}
	}
	if len(l.ratings) == 0 {
		return nil, usageError{r.none(data.Summary(), field, l.foreign)}
	}
	if l.foreign > 0 && o.file == "" {
		s.warn("%d labelled rows of %s are not in %s", l.foreign, data.Summary().Name, run.Dir)
	}
	if binary {
		l.cut(positive)
	}
	return l, nil
}

func parsePositive(text string) (v float64, set bool, err error) {
	if text == "" {
		return 0, false, nil
	}
	if v, err = strconv.ParseFloat(text, 64); err != nil {
		return 0, false, usagef("--positive %q: it takes a number: labels of at least so much are true", text)
	}
	return v, true, nil
}

// cut makes true and false of ratings.
func (l *labels) cut(positive float64) {
	for _, list := range l.ratings {
		for i := range list {
			v := 0.0
			if list[i].value >= positive {
				v = 1
			}
			list[i].value = v
		}
	}
}

// open opens the file with the labels. The dataset must be the one that was scored.
func (o *labelOptions) open(ctx context.Context, s *std, run *scores) (*dataset.Reader, error) {
	if o.file != "" {
		return dataset.Open(ctx, o.file, dataset.Options{})
	}
	scored := run.Manifest.Config.Dataset
	path := scored.Path
	if o.data != "" {
		path = o.data
	}
	if path == "-" {
		return nil, withHint(fmt.Errorf("%s scored standard input, which is gone", run.Dir), "name the file with --data FILE, or the labels with --labels FILE")
	}
	// A limit would leave the hash of the rest unread; the samples beyond it are not in the run anyway.
	data, err := dataset.Open(ctx, path, dataset.Options{Map: scored.Map})
	if err != nil && o.data == "" {
		return nil, withHint(err, "run.json names this file as what was scored: --data FILE says where it is now")
	}
	if err != nil {
		return nil, err
	}
	if sum := data.Summary(); sum.SHA256 != scored.SHA256 {
		if o.data == "" {
			data.Close()
			return nil, withHint(fmt.Errorf("%s changed since %s scored it", path, run.Dir),
				"run again, or name a file whose ids mean the same rows with --data FILE")
		}
		s.warn("%s is not the file that was scored, but has samples of the same ids: see that they mean the same rows", path)
	}
	return data, nil
}

// A labelReader gathers what there is while it reads, for messages.
type labelReader struct {
	own     bool            // the labels are in a file of their own
	members map[string]bool // of the columns human
}

// row takes in the label of one row, if it has one.
func (r *labelReader) row(l *labels, sample *metrics.Sample, run *scores, known map[string]bool) error {
	id := sample.ID
	if text, ok := textOf(sample.Extra["sample"]); r.own && ok {
		id = text
	}
	if of, ok := textOf(sample.Extra["run"]); r.own && ok && of != run.Dir && of != filepath.Base(filepath.Clean(run.Dir)) {
		return nil
	}
	raw := r.find(sample, l.field)
	list, err := parseRatings(raw, len(l.ratings[id]))
	if err != nil {
		return fmt.Errorf("the label %s of sample %q: %w", l.field, id, err)
	}
	if len(list) == 0 {
		return nil
	}
	if !known[id] {
		l.foreign++
		return nil
	}
	if pick, ok := textOf(sample.Extra["pick"]); r.own && ok && pick == "uncertain" {
		l.unfair++
	}
	l.ratings[id] = append(l.ratings[id], list...)
	l.raters = max(l.raters, list[len(list)-1].rater+1)
	if sample.Group != "" {
		l.group[id] = sample.Group
	}
	for name, v := range peersOf(sample) {
		if l.peers[name] == nil {
			l.peers[name] = map[string]float64{}
		}
		l.peers[name][id] = v
	}
	return nil
}

// find returns the label as it was written: the member of human, or of another column (COLUMN.MEMBER), or the column;
// nil if there is none.
func (r *labelReader) find(sample *metrics.Sample, field string) json.RawMessage {
	if human := objectOf(sample.Extra["human"]); human != nil {
		if r.members == nil {
			r.members = map[string]bool{}
		}
		for name := range human {
			r.members[name] = true
		}
		if raw, ok := human[field]; ok {
			return raw
		}
	}
	if column, member, nested := strings.Cut(field, "."); nested {
		if raw, ok := objectOf(sample.Extra[column])[member]; ok {
			return raw
		}
	}
	return sample.Extra[field]
}

// none says that no row of the run has a label, and what there is.
func (r *labelReader) none(sum dataset.Summary, field string, foreign int) error {
	if foreign > 0 {
		return fmt.Errorf("%s labels %d samples, but none that the run scored: are the ids the same?", sum.Name, foreign)
	}
	var columns []string
	for _, c := range sum.Columns {
		columns = append(columns, c.Name)
	}
	if len(r.members) > 0 {
		return fmt.Errorf("%s has no label %q: its column human holds %s", sum.Name, field,
			strings.Join(slices.Sorted(maps.Keys(r.members)), ", "))
	}
	return fmt.Errorf("%s has no label %q: its columns are %s", sum.Name, field, strings.Join(columns, ", "))
}

// objectOf decodes an object, also one that is the text of a cell; nil if it is none.
func objectOf(raw json.RawMessage) map[string]json.RawMessage {
	if text, ok := textOf(raw); ok {
		raw = json.RawMessage(text)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}

// textOf decodes JSON text, or a number as it is written.
func textOf(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	var text string
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return "", false
	case json.Unmarshal(raw, &text) == nil:
		return text, true
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return string(raw), true
	}
	return "", false
}

// peersOf are the scores in the column peers.
func peersOf(sample *metrics.Sample) map[string]float64 {
	scores := map[string]float64{}
	for name, raw := range objectOf(sample.Extra["peers"]) {
		if list, err := parseRatings(raw, 0); err == nil && len(list) == 1 {
			scores[name] = list[0].value
		}
	}
	return scores
}

// parseRatings decodes a label or a list of labels. What is missing (null, "", "NA") is left out; in a list it keeps
// its rater's place.
func parseRatings(raw json.RawMessage, first int) ([]rating, error) {
	raw = bytes.TrimSpace(raw)
	if text, ok := textOf(raw); ok && strings.HasPrefix(strings.TrimSpace(text), "[") && !strings.HasPrefix(text, "[[") {
		raw = json.RawMessage(text) // a list in a cell of a table
	}
	values := []json.RawMessage{raw}
	if len(raw) > 0 && raw[0] == '[' {
		if err := json.Unmarshal(raw, &values); err != nil {
			return nil, fmt.Errorf("%.40s is no list of labels", raw)
		}
	}
	var list []rating
	for i, value := range values {
		v, ok, err := parseLabel(value)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, rating{first + i, v})
		}
	}
	return list, nil
}

// parseLabel decodes one label; ok is false if it is missing.
func parseLabel(raw json.RawMessage) (v float64, ok bool, err error) {
	var truth bool
	if json.Unmarshal(raw, &truth) == nil && len(raw) > 0 && (raw[0] == 't' || raw[0] == 'f') {
		return number01(truth), true, nil
	}
	text, isText := textOf(raw)
	if !isText && len(raw) > 0 && !bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return 0, false, fmt.Errorf("%.40s is neither a number nor true or false", raw)
	}
	switch word := strings.ToLower(strings.Trim(text, " []")); word {
	case "", "na", "n/a", "null", "none", "nan":
		return 0, false, nil
	case "yes", "true":
		return 1, true, nil
	case "no", "false":
		return 0, true, nil
	default:
		if v, err = strconv.ParseFloat(word, 64); err != nil || v-v != 0 {
			return 0, false, fmt.Errorf("%.40q is neither a number nor true or false", text)
		}
		return v, true, nil
	}
}

func number01(truth bool) float64 {
	if truth {
		return 1
	}
	return 0
}

// mean is the mean of a sample's ratings.
func mean(list []rating) float64 {
	sum := 0.0
	for _, r := range list {
		sum += r.value
	}
	return sum / float64(len(list))
}

// binary reports whether every rating is 0 or 1.
func (l *labels) binary() bool {
	for _, list := range l.ratings {
		for _, r := range list {
			if r.value != 0 && r.value != 1 {
				return false
			}
		}
	}
	return true
}

// groupOf is the group of a sample: as the run has it, or the dataset.
func (l *labels) groupOf(run *scores, id string) string {
	return cmp.Or(run.group[id], l.group[id])
}

// matched are the samples that have both a label and a score, in the run's order.
type matched struct {
	ids    []string
	scores []float64
	labels []float64 // means over raters
	groups []string  // nil if no sample is in one
}

// match pairs labels with scores. Scores of metrics whose low ones are good are negated.
func (l *labels) match(run *scores, of map[string]float64, lowerIsBetter bool) matched {
	var m matched
	grouped := false
	for _, id := range run.samples {
		v, scored := of[id]
		list := l.ratings[id]
		if !scored || len(list) == 0 {
			continue
		}
		if lowerIsBetter {
			v = -v
		}
		group := l.groupOf(run, id)
		grouped = grouped || group != ""
		m.ids = append(m.ids, id)
		m.scores, m.labels, m.groups = append(m.scores, v), append(m.labels, mean(list)), append(m.groups, group)
	}
	if !grouped {
		m.groups = nil
	}
	return m
}
