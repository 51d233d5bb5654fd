// Package labels reads what people say of a run's samples: numbers, or true and false, from the dataset that was scored
// or from a file of their own, by one rater or several. A [Book] is such a file while it is being written, and
// [Spread] and [Uncertain] say which samples to label first.
package labels

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// A Source says where labels are.
type Source struct {
	Human    string // the field that holds them: a member of the column human, a column, or COLUMN.MEMBER
	Data     string // the dataset, where it is not any more where the run found it
	File     string // a file of labels instead of the dataset: columns sample and label, or Human; also run
	Positive string // a number: labels of at least so much are true, others false

	Warn func(format string, args ...any) // is told what may be wrong; nil: nobody is
}

func (o *Source) warn(format string, args ...any) {
	if o.Warn != nil {
		o.Warn(format, args...)
	}
}

// A Rating is one rater's label.
type Rating struct {
	Rater int // its place in the list
	Value float64
}

// A Set is people's labels, by sample.
type Set struct {
	Field   string
	Ratings map[string][]Rating
	Peers   map[string]map[string]float64 // scores that others computed, by name and sample
	Raters  int                           // in the longest list
	Unfair  int                           // rows that assay label did not pick fairly, those that were browsed among them
	Browsed int                           // rows that someone chose while reading: see [Pick]
	Strata  []Stratum                     // that rows were picked from, if not each was as likely

	group   map[string]string
	foreign int // rows whose samples the run does not have
}

// Load reads the labels for a run.
func (o *Source) Load(ctx context.Context, run *runs.Scores) (*Set, error) {
	field := o.Human
	if o.File != "" && field == "" {
		field = "label"
	}
	if field == "" {
		return nil, runs.Inputf("no labels").WithHint("--human FIELD for those in the dataset, --labels FILE for " +
			"those in a file")
	}
	positive, binary, err := parsePositive(o.Positive)
	if err != nil {
		return nil, err
	}
	data, err := o.Open(ctx, run)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	l := &Set{Field: field, Ratings: map[string][]Rating{}, Peers: map[string]map[string]float64{},
		group: map[string]string{}}
	known := map[string]bool{}
	for _, id := range run.Samples {
		known[id] = true
	}
	r := reader{own: o.File != ""}
	for sample, err := range data.Samples(ctx) {
		if errors.As(err, new(*dataset.RowError)) && o.File == "" {
			continue // the run left it out, too
		}
		if err == nil {
			err = r.row(l, sample, run, known)
		}
		if err != nil {
			return nil, inputError(err)
		}
	}
	if len(l.Ratings) == 0 {
		return nil, &runs.InputError{Err: r.none(data.Summary(), field, l.foreign)}
	}
	if l.foreign > 0 && o.File == "" {
		o.warn("%d labelled rows of %s are not in %s", l.foreign, data.Summary().Name, run.Dir)
	}
	if binary {
		l.cut(positive)
	}
	return l, nil
}

// inputError is err as the user's to mend.
func inputError(err error) error {
	if err == nil {
		return nil
	}
	return &runs.InputError{Err: err}
}

func parsePositive(text string) (v float64, set bool, err error) {
	if text == "" {
		return 0, false, nil
	}
	if v, err = strconv.ParseFloat(text, 64); err != nil {
		return 0, false, runs.Inputf("--positive %q: it takes a number: labels of at least so much are true", text)
	}
	return v, true, nil
}

// cut makes true and false of ratings.
func (l *Set) cut(positive float64) {
	for _, list := range l.Ratings {
		for i := range list {
			v := 0.0
			if list[i].Value >= positive {
				v = 1
			}
			list[i].Value = v
		}
	}
}

// Open opens the file with the labels. The dataset must be the one that was scored.
func (o *Source) Open(ctx context.Context, run *runs.Scores) (*dataset.Reader, error) {
	if o.File != "" {
		data, err := dataset.Open(ctx, o.File, dataset.Options{})
		return data, inputError(err)
	}
	scored := run.Manifest.Config.Dataset
	path := scored.Path
	if o.Data != "" {
		path = o.Data
	}
	if path == "-" {
		return nil, runs.Inputf("%s scored standard input, which is gone",
			run.Dir).WithHint("name the file with --data FILE, or the labels with --labels FILE")
	}
	// A limit would leave the hash of the rest unread; the samples beyond it are not in the run anyway.
	data, err := dataset.Open(ctx, path, dataset.Options{Map: scored.Map, Sheet: scored.Sheet, Turns: scored.Turns})
	if err != nil && o.Data == "" {
		return nil, &runs.InputError{
			Err: err, Hint: "run.json names this file as what was scored: --data FILE says where it is now",
		}
	}
	if err != nil {
		return nil, inputError(err)
	}
	if sum := data.Summary(); sum.SHA256 != scored.SHA256 {
		if o.Data == "" {
			data.Close()
			return nil, runs.Inputf("%s changed since %s scored it", path, run.Dir).WithHint(
				"run again, or name a file whose ids mean the same rows with --data FILE")
		}
		o.warn("%s is not the file that was scored, but has samples of the same ids: see that they mean the same rows",
			path)
	}
	return data, nil
}

// Samples reads some of the samples that a run scored from its dataset.
func (o *Source) Samples(ctx context.Context, run *runs.Run, ids map[string]bool) (map[string]*metrics.Sample, error) {
	data, err := o.Open(ctx, &runs.Scores{Run: run})
	if err != nil {
		return nil, err
	}
	defer data.Close()
	found := map[string]*metrics.Sample{}
	for s, err := range data.Samples(ctx) {
		switch {
		case errors.As(err, new(*dataset.RowError)):
		case err != nil:
			return nil, inputError(err)
		case ids[s.ID]:
			found[s.ID] = s
		}
		if len(found) == len(ids) {
			break
		}
	}
	return found, ctx.Err()
}

// A reader gathers what there is while it reads, for messages.
type reader struct {
	own     bool            // the labels are in a file of their own
	members map[string]bool // of the columns human
}

// row takes in the label of one row, if it has one.
func (r *reader) row(l *Set, sample *metrics.Sample, run *runs.Scores, known map[string]bool) error {
	id := sample.ID
	if text, ok := textOf(sample.Extra["sample"]); r.own && ok {
		id = text
	}
	if of, ok := textOf(sample.Extra["run"]); r.own && ok && of != run.Dir &&
		of != filepath.Base(filepath.Clean(run.Dir)) {
		return nil
	}
	raw := r.find(sample, l.Field)
	list, err := parseRatings(raw, len(l.Ratings[id]))
	if err != nil {
		return fmt.Errorf("the label %s of sample %q: %w", l.Field, id, err)
	}
	if len(list) == 0 {
		return nil
	}
	if !known[id] {
		l.foreign++
		return nil
	}
	if pick, ok := textOf(sample.Extra["pick"]); r.own && ok && (pick == "uncertain" || pick == "browsed") {
		l.Unfair++
		if pick == "browsed" {
			l.Browsed++
		}
	}
	if s, ok := stratumOf(sample.Extra); r.own && ok && !slices.Contains(l.Strata, s) {
		l.Strata = append(l.Strata, s)
	}
	l.Ratings[id] = append(l.Ratings[id], list...)
	l.Raters = max(l.Raters, list[len(list)-1].Rater+1)
	if sample.Group != "" {
		l.group[id] = sample.Group
	}
	for name, v := range peersOf(sample) {
		if l.Peers[name] == nil {
			l.Peers[name] = map[string]float64{}
		}
		l.Peers[name][id] = v
	}
	return nil
}

// find returns the label as it was written: the member of human, or of another column (COLUMN.MEMBER), or the column;
// nil if there is none.
func (r *reader) find(sample *metrics.Sample, field string) json.RawMessage {
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

// Of is a sample's own label: the mean of its raters. Ok is false if it has none. The field is as in [Source.Human].
func Of(sample *metrics.Sample, field string) (v float64, ok bool, err error) {
	list, err := parseRatings(new(reader).find(sample, field), 0)
	if err != nil {
		return 0, false, fmt.Errorf("the label %s of sample %q: %w", field, sample.ID, err)
	}
	if len(list) == 0 {
		return 0, false, nil
	}
	return Mean(list), true, nil
}

// Truths reads how good systems are: a file with the columns run and label, one row or more for each run, of which the
// mean counts.
func Truths(ctx context.Context, path string) (map[string]float64, error) {
	data, err := dataset.Open(ctx, path, dataset.Options{})
	if err != nil {
		return nil, inputError(err)
	}
	defer data.Close()
	sums, counts := map[string]float64{}, map[string]float64{}
	for sample, err := range data.Samples(ctx) {
		if err != nil {
			return nil, inputError(err)
		}
		run, named := textOf(sample.Extra["run"])
		v, ok, err := Of(sample, "label")
		if err != nil {
			return nil, inputError(err)
		}
		if named && ok {
			sums[run] += v
			counts[run]++
		}
	}
	if len(sums) == 0 {
		return nil, runs.Inputf("%s says of no run how good it is: it takes the columns run and label", path)
	}
	for run, n := range counts {
		sums[run] /= n
	}
	return sums, nil
}

// none says that no row of the run has a label, and what there is.
func (r *reader) none(sum dataset.Summary, field string, foreign int) error {
	if foreign > 0 {
		return fmt.Errorf("%s labels %d samples, but none that the run scored: are the ids the same?", sum.Name,
			foreign)
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

// stratumOf is the stratum that a row of a file of labels names.
func stratumOf(row map[string]json.RawMessage) (s Stratum, ok bool) {
	by, named := textOf(row["by"])
	var bounds []float64
	if pick, _ := textOf(row["pick"]); pick != "active" || !named || json.Unmarshal(row["stratum"], &bounds) != nil ||
		len(bounds) != 2 {
		return s, false
	}
	return Stratum{By: by, Low: bounds[0], High: bounds[1]}, true
}

// Mean is the mean of a sample's ratings.
func Mean(list []Rating) float64 {
	sum := 0.0
	for _, r := range list {
		sum += r.Value
	}
	return sum / float64(len(list))
}

// Binary reports whether every rating is 0 or 1.
func (l *Set) Binary() bool {
	for _, list := range l.Ratings {
		for _, r := range list {
			if r.Value != 0 && r.Value != 1 {
				return false
			}
		}
	}
	return true
}

// GroupOf is the group of a sample: as the run has it, or the dataset.
func (l *Set) GroupOf(run *runs.Scores, id string) string {
	return cmp.Or(run.Group[id], l.group[id])
}

// Span is the range of the ratings: 0 to 1 of those that are true and false.
func (l *Set) Span() (low, high float64) {
	if l.Binary() {
		return 0, 1
	}
	low, high = math.Inf(1), math.Inf(-1)
	for _, list := range l.Ratings {
		for _, rating := range list {
			low, high = min(low, rating.Value), max(high, rating.Value)
		}
	}
	return low, high
}
