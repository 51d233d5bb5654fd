// Package slicing tells how a run fares in parts of its data. [Read] joins the run with the dataset that it scored:
// the line on which each sample stands, and its values in metadata columns, by which the samples fall into slices.
// [Of] summarises a run's scores slice by slice, and finds the slices that are worse than all other rows.
package slicing

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
)

// Data is what a run's dataset says of its samples.
type Data struct {
	Columns []string // by which samples are sliced
	Rows    map[string]Row
}

// A Row is one sample's.
type Row struct {
	Place  dataset.Place
	Values [][]string // by column: one value, or several where the column holds a list
}

// None is the value of a sample that has none in a column.
const None = "(none)"

// most is how many values of a column are told apart.
const most = 50

// Others is the slice of the values beyond the most frequent ones of a column: see [Data.Fold].
const Others = "(others)"

// Read reads the dataset of a run: the file that its manifest names or, if path is not "", the one at path. Columns are
// metadata columns, members of one that holds objects (metadata.lang), or group. A column that no sample has is an
// [runs.InputError].
func Read(ctx context.Context, run *runs.Run, path string, columns []string, warn func(string, ...any)) (*Data, error) {
	source := labels.Source{Data: path, Warn: warn}
	reader, err := source.Open(ctx, &runs.Scores{Run: run})
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	d := &Data{Columns: columns, Rows: map[string]Row{}}
	found := make([]bool, len(columns))
	have := map[string]bool{}
	names := map[string]string{} // each value once
	err = reader.Places(ctx, func(s *metrics.Sample, at dataset.Place) bool {
		row := Row{Place: at}
		for name := range s.Extra {
			if len(have) < most {
				have[name] = true
			}
		}
		for i, column := range columns {
			values := valuesOf(s, column)
			found[i] = found[i] || values != nil
			if values == nil {
				values = []string{None}
			}
			for k, v := range values {
				if _, known := names[v]; !known {
					names[v] = v
				}
				values[k] = names[v]
			}
			row.Values = append(row.Values, values)
		}
		d.Rows[s.ID] = row
		return true
	})
	if err != nil {
		return nil, err
	}
	for i, column := range columns {
		if !found[i] {
			return nil, runs.Inputf("no row of %s has a value in %q", reader.Summary().Name, column).WithHint(
				"its metadata columns: %s; a member of one is COLUMN.MEMBER", listed(have))
		}
	}
	return d, nil
}

func listed(names map[string]bool) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// Values are a sample's values in each of its metadata columns, in the members of those that hold objects
// (metadata.lang), and in group.
func Values(s *metrics.Sample) map[string][]string {
	of := map[string][]string{}
	for name, raw := range s.Extra {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			of[name] = valuesOf(s, name)
			continue
		}
		for member := range members {
			of[name+"."+member] = valuesOf(s, name+"."+member)
		}
	}
	if _, ok := of["group"]; !ok {
		of["group"] = valuesOf(s, "group")
	}
	maps.DeleteFunc(of, func(_ string, values []string) bool { return values == nil })
	return of
}

// valuesOf are a sample's values in a column, nil if it has none.
func valuesOf(s *metrics.Sample, column string) []string {
	raw, ok := s.Extra[column]
	if column == "group" && !ok && s.Group != "" {
		return []string{s.Group}
	}
	for name, rest := column, ""; !ok; {
		cut := strings.LastIndexByte(name, '.')
		if cut < 0 {
			return nil
		}
		name, rest = name[:cut], column[cut+1:]
		if raw, ok = s.Extra[name]; ok {
			raw = member(raw, strings.Split(rest, "."))
		}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var values []string
	for _, item := range list {
		if v, ok := text(item); ok && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// member is what stands under names in an object, nil if nothing does.
func member(raw json.RawMessage, names []string) json.RawMessage {
	for _, name := range names {
		var of map[string]json.RawMessage
		var quoted string
		if json.Unmarshal(raw, &quoted) == nil { // as CSV has it
			raw = json.RawMessage(quoted)
		}
		if json.Unmarshal(raw, &of) != nil {
			return nil
		}
		raw = of[name]
	}
	return raw
}

// longest is how many bytes of a value are kept: what is longer is no category, and must not fill the memory.
const longest = 100

// text is a value as it names a slice; an empty one names none.
func text(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		if s = string(raw); s == "null" {
			return "", false
		}
	}
	s = strings.TrimSpace(s)
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s, s != ""
}

// Fold puts the samples with the rarer values of a column, beyond the 50 most frequent, into one slice, [Others].
func (d *Data) Fold() {
	for i := range d.Columns {
		count := map[string]int{}
		for _, row := range d.Rows {
			for _, v := range row.Values[i] {
				count[v]++
			}
		}
		if len(count) <= most {
			continue
		}
		values := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
			if c := count[b] - count[a]; c != 0 {
				return c
			}
			return strings.Compare(a, b)
		})
		keep := map[string]bool{}
		for _, v := range values[:most-1] {
			keep[v] = true
		}
		for _, row := range d.Rows {
			for k, v := range row.Values[i] {
				if !keep[v] {
					row.Values[i][k] = Others
				}
			}
			slices.Sort(row.Values[i])
			row.Values[i] = slices.Compact(row.Values[i])
		}
	}
}

// Samples says of each value of a column which samples have it.
func (d *Data) Samples(column string) (map[string]map[string]bool, error) {
	i := slices.Index(d.Columns, column)
	if i < 0 {
		return nil, fmt.Errorf("the data were not sliced by %q", column)
	}
	of := map[string]map[string]bool{}
	for id, row := range d.Rows {
		for _, v := range row.Values[i] {
			if of[v] == nil {
				of[v] = map[string]bool{}
			}
			of[v][id] = true
		}
	}
	return of, nil
}
