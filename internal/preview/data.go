// Package preview tells what a run would be before it begins: what a dataset holds and which metrics can run on it ([Look]),
// and, from a few rows that are scored, how many calls and how much time all of them would take ([Try]).
package preview

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

// Data is what a dataset holds.
type Data struct {
	Name    string   `json:"name"`
	Format  string   `json:"format"` // "jsonl", "LangSmith runs (parquet)"
	SHA256  string   `json:"sha256"`
	Rows    int      `json:"rows"`
	Bad     int      `json:"bad_rows"`
	Errors  []string `json:"errors,omitempty"` // of the first bad rows
	Notes   []string `json:"notes,omitempty"`  // what the rows lack
	Columns []Column `json:"columns"`

	First   []*metrics.Sample `json:"first"` // rows
	Presets []Preset          `json:"presets"`
	Ready   []Ready           `json:"ready"`
	Missing []Missing         `json:"missing"`
}

// A Column is what one column holds.
type Column struct {
	Name   string   `json:"name"`
	Fields []string `json:"fields,omitempty"` // of a sample, which it fills; none: it is kept as it is
	Filled int      `json:"filled"`           // rows in which it says something
	Kinds  []string `json:"kinds"`            // "text", "number", "list", "object", "true or false"

	// of a field with text: how many texts a row has, and words and bytes of all its texts, as means over the rows that have any
	Texts float64 `json:"texts,omitempty"`
	Words float64 `json:"words,omitempty"`
	Bytes float64 `json:"bytes,omitempty"`
	Most  int     `json:"most_bytes,omitempty"` // bytes of the row that has most

	// of a column that is kept: its values, where they are short and few, or the names of members where they are objects, in order
	Values  []string `json:"values,omitempty"`
	Members []string `json:"members,omitempty"`
}

// A Preset is a named list of metrics with those of it that can run.
type Preset struct {
	Name    string   `json:"name"`
	Ready   []string `json:"ready"`
	Missing []string `json:"missing,omitempty"`
	Fields  []string `json:"missing_fields,omitempty"` // which the missing ones need
	Asks    Roles    `json:"asks,omitempty"`           // the models that the ready ones ask
}

// Ready are metrics that can run, by the models that they ask.
type Ready struct {
	Asks    Roles    `json:"asks,omitempty"`
	Metrics []string `json:"metrics"`
}

// Missing are metrics that cannot run, by the fields that the dataset lacks.
type Missing struct {
	Fields  []string `json:"fields"`
	Metrics []string `json:"metrics"`
}

// mostValues is how many different values of a column are told.
const mostValues = 12

// Look reads all samples of a dataset, and keeps the first of them.
func Look(ctx context.Context, r *dataset.Reader, first int) (*Data, error) {
	sum := r.Summary()
	d := &Data{Name: sum.Name, Format: sum.Format, SHA256: sum.SHA256, Rows: sum.Rows, Bad: sum.Bad, Notes: sum.Notes}
	for _, e := range sum.Errors {
		d.Errors = append(d.Errors, e.Error())
	}
	counts := make([]counted, len(sum.Columns))
	for sample, err := range r.Samples(ctx) {
		if errors.As(err, new(*dataset.RowError)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(d.First) < first {
			d.First = append(d.First, sample)
		}
		for i, c := range sum.Columns {
			counts[i].see(sample, c)
		}
	}
	for i, c := range sum.Columns {
		d.Columns = append(d.Columns, counts[i].column(c))
	}
	d.metrics(sum.Filled)
	return d, nil
}

// metrics sorts those of the catalogue into what can run and what cannot.
func (d *Data) metrics(filled map[metrics.Field]int) {
	var has metrics.Field
	for f, n := range filled {
		if n > 0 {
			has |= f
		}
	}
	ready, missing := map[string]*Ready{}, map[string]*Missing{}
	for _, m := range all.All() {
		if lacks := m.Needs &^ has; lacks != 0 {
			if missing[lacks.String()] == nil {
				missing[lacks.String()] = &Missing{Fields: lacks.Names()}
			}
			missing[lacks.String()].Metrics = append(missing[lacks.String()].Metrics, m.Name)
			continue
		}
		asks := rolesOf(m)
		key := strings.Join(asks.Names(), ",")
		if ready[key] == nil {
			ready[key] = &Ready{Asks: asks}
		}
		ready[key].Metrics = append(ready[key].Metrics, m.Name)
	}
	for _, key := range slices.Sorted(maps.Keys(ready)) {
		d.Ready = append(d.Ready, *ready[key])
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		d.Missing = append(d.Missing, *missing[key])
	}
	for _, p := range all.Presets() {
		d.Presets = append(d.Presets, presetOf(p, has))
	}
}

func presetOf(list all.PresetList, has metrics.Field) Preset {
	p := Preset{Name: list.Name, Ready: []string{}}
	selected, err := all.Selector{}.Select(list.Metrics)
	if err != nil {
		panic(err) // unreachable: a test of the catalogue selects every preset
	}
	var lacks metrics.Field
	for _, m := range selected {
		if m.Needs&^has != 0 {
			lacks |= m.Needs &^ has
			p.Missing = append(p.Missing, m.Name)
			continue
		}
		p.Ready = append(p.Ready, m.Name)
		for _, role := range rolesOf(m) {
			if !slices.Contains(p.Asks, role) {
				p.Asks = append(p.Asks, role)
			}
		}
	}
	p.Fields = lacks.Names()
	return p
}

// counted is what is known of a column while the samples are read.
type counted struct {
	filled, texts, words, bytes, most int
	kinds                             map[string]bool
	values                            map[string]bool // nil once there are too many, or long ones
	members                           map[string]bool // of objects
	other                             bool            // there are values that are not told
}

func (c *counted) see(s *metrics.Sample, column dataset.Column) {
	if c.kinds == nil {
		c.kinds, c.values = map[string]bool{}, map[string]bool{}
	}
	if len(column.Fields) == 0 {
		c.extra(s.Extra[column.Name])
		return
	}
	texts, kind := textsOf(s, column.Fields[0])
	if kind == "" {
		return
	}
	c.filled++
	c.kinds[kind] = true
	n := 0
	for _, text := range texts {
		c.texts++
		c.words += len(strings.Fields(text))
		n += len(text)
	}
	c.bytes += n
	c.most = max(c.most, n)
}

func (c *counted) extra(value json.RawMessage) {
	kind := kindOf(value)
	if kind == "" {
		return
	}
	c.filled++
	c.kinds[kind] = true
	if kind == "object" {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(value, &object); err == nil && c.members == nil {
			c.members = map[string]bool{}
		}
		for name := range object {
			if len(c.members) < 4*mostValues {
				c.members[name] = true
			}
		}
	}
	if c.other || kind == "list" || kind == "object" || len(value) > 40 {
		c.other, c.values = true, nil
		return
	}
	text := string(value)
	if kind == "text" && json.Unmarshal(value, &text) != nil {
		return // unreachable: the dataset's reader checked it
	}
	if c.values[text] = true; len(c.values) > mostValues {
		c.other, c.values = true, nil
	}
}

func kindOf(value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return ""
	}
	switch value[0] {
	case '"':
		return "text"
	case '[':
		return "list"
	case '{':
		return "object"
	case 't', 'f':
		return "true or false"
	}
	return "number"
}

func (c *counted) column(of dataset.Column) Column {
	column := Column{Name: of.Name, Fields: of.Fields, Filled: c.filled, Kinds: slices.Sorted(maps.Keys(c.kinds)), Most: c.most,
		Values: slices.Sorted(maps.Keys(c.values)), Members: slices.Sorted(maps.Keys(c.members))}
	if c.filled > 0 {
		n := float64(c.filled)
		column.Texts, column.Words, column.Bytes = float64(c.texts)/n, float64(c.words)/n, float64(c.bytes)/n
	}
	return column
}

// textsOf returns the texts of a field and what it holds; "" if it is empty.
func textsOf(s *metrics.Sample, field string) ([]string, string) {
	one := func(text string) ([]string, string) {
		if metrics.Blank(text) {
			return nil, ""
		}
		return []string{text}, "text"
	}
	many := func(texts []string) ([]string, string) {
		if len(texts) == 0 {
			return nil, ""
		}
		return texts, "list"
	}
	switch field {
	case "id":
		return nil, "text"
	case "group":
		_, kind := one(s.Group)
		return nil, kind
	case "question":
		return one(s.Question)
	case "answer":
		return one(s.Answer)
	case "standalone_question":
		return one(s.Standalone)
	case "contexts", "prediction":
		return many(s.Contexts)
	case "reference_answers":
		return many(s.References)
	case "reference_contexts":
		return many(s.ReferenceContexts)
	case "other_answers":
		return many(s.OtherAnswers)
	case "history", "conversation":
		var texts []string
		for _, turn := range slices.Concat(s.History, s.Steps) {
			texts = append(texts, turn.Text())
		}
		if field == "conversation" {
			texts = append(texts, s.Question, s.Answer)
		}
		return many(texts)
	}
	for f := metrics.Question; f.String() != ""; f <<= 1 {
		if f.String() == field && s.Fields().Has(f) {
			return nil, "set"
		}
	}
	return nil, ""
}

// Starting are the metrics to begin with: those of the first preset, from what comes with Assay to what needs no model, of which some can run.
func (d *Data) Starting() []string {
	for _, name := range []string{"encoder", "retrieval", "lexical"} {
		for _, p := range d.Presets {
			if p.Name == name && len(p.Ready) > 0 {
				return p.Ready
			}
		}
	}
	if len(d.Ready) > 0 && len(d.Ready[0].Metrics) > 0 {
		return d.Ready[0].Metrics[:1]
	}
	return nil
}

// Sliceable is the first metadata column with a few values, "" if there is none.
func (d *Data) Sliceable() string {
	for _, c := range d.Columns {
		if len(c.Fields) == 0 && len(c.Values) > 1 {
			return c.Name
		}
	}
	return ""
}
