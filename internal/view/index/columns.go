package index

import (
	"context"
	"maps"
	"slices"

	"github.com/assay-eval/assay/internal/slicing"
	"github.com/assay-eval/assay/metrics"
)

const (
	mostColumns = 50  // of metadata
	mostValues  = 200 // of a column: one with more sorts no rows into slices
)

// A Column is a column of the dataset's metadata, or a member of one (metadata.lang), whose values are slices of the rows.
type Column struct {
	Name   string  `json:"name"`
	Free   bool    `json:"free,omitempty"` // it has too many values to be of use, and none is kept
	Values []Value `json:"values,omitempty"`
}

// A Value is one value of a column, with how many rows have it.
type Value struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
	N    int    `json:"n"`
}

func cloneColumns(list []Column) []Column {
	list = slices.Clone(list)
	for i := range list {
		list[i].Values = slices.Clone(list[i].Values)
	}
	return list
}

// Column finds a column of which there are slices; nil if there is none of that name.
func (s *State) Column(name string) *Column {
	for i := range s.Columns {
		if c := &s.Columns[i]; c.Name == name && !c.Free {
			return c
		}
	}
	return nil
}

// Value finds a value of a column; nil if no row has it.
func (c *Column) Value(name string) *Value {
	for i := range c.Values {
		if c.Values[i].Name == name {
			return &c.Values[i]
		}
	}
	return nil
}

// values notes which slices a row is in.
func (w *writer) values(ctx context.Context, id int, sample *metrics.Sample, s *State) error {
	of := slicing.Values(sample)
	for _, name := range slices.Sorted(maps.Keys(of)) {
		i := slices.IndexFunc(s.Columns, func(c Column) bool { return c.Name == name })
		if i < 0 {
			if len(s.Columns) == mostColumns {
				continue
			}
			i, s.Columns = len(s.Columns), append(s.Columns, Column{Name: name})
		}
		c := &s.Columns[i]
		for _, text := range of[name] {
			if c.Free {
				break
			}
			v := c.Value(text)
			if v == nil {
				s.Members++
				c.Values = append(c.Values, Value{ID: s.Members, Name: text})
				v = &c.Values[len(c.Values)-1]
			}
			v.N++
			if _, err := w.member.ExecContext(ctx, v.ID, id); err != nil {
				return err
			}
			if len(c.Values) > mostValues {
				if err := w.free(ctx, c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// free gives up a column with too many values.
func (w *writer) free(ctx context.Context, c *Column) error {
	for _, v := range c.Values {
		if _, err := w.drop.ExecContext(ctx, v.ID); err != nil {
			return err
		}
	}
	c.Free, c.Values = true, nil
	return nil
}

// Data says which slices of some columns the samples are in.
func (x *Index) Data(ctx context.Context, columns []string) (*slicing.Data, error) {
	type place struct {
		column int
		name   string
	}
	state, of := x.Now(), map[int]place{}
	for i, name := range columns {
		if c := state.Column(name); c != nil {
			for _, v := range c.Values {
				of[v.ID] = place{i, v.Name}
			}
		}
	}
	values := map[int][][]string{} // by row
	found, err := x.db.QueryContext(ctx, "SELECT value, id FROM members")
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var value, id int
		if err := found.Scan(&value, &id); err != nil {
			return nil, err
		}
		if p, ok := of[value]; ok {
			if values[id] == nil {
				values[id] = make([][]string, len(columns))
			}
			values[id][p.column] = append(values[id][p.column], p.name)
		}
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	d := &slicing.Data{Columns: columns, Rows: map[string]slicing.Row{}}
	rows, err := x.db.QueryContext(ctx, "SELECT id, sample FROM rows")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		var sample string
		if err := rows.Scan(&id, &sample); err != nil {
			return nil, err
		}
		row := slicing.Row{Values: values[id]}
		if row.Values == nil {
			row.Values = make([][]string, len(columns))
		}
		for i := range row.Values {
			if row.Values[i] == nil {
				row.Values[i] = []string{slicing.None}
			}
		}
		d.Rows[sample] = row
	}
	return d, rows.Err()
}
