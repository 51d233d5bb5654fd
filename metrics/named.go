package metrics

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
)

// A naming says which model with a name answers in the place of the one without: by kind of role, the role.
type naming map[backend.Role]backend.Role

// with is a and, where it names no model of a kind, b.
func (a naming) with(b naming) naming {
	all := maps.Clone(b)
	if all == nil {
		all = naming{}
	}
	maps.Copy(all, a)
	return all
}

// String lists the roles; it is the same for equal namings.
func (a naming) String() string {
	var list []string
	for _, role := range slices.Sorted(maps.Values(a)) {
		list = append(list, string(role))
	}
	return strings.Join(list, ",")
}

// Asking returns the metric asking the models that go by a name, of those that there are, in the place of the ones
// without a name: faithfulness/claims asks the judge small as faithfulness/claims@small. It is an error if none of the
// models that the metric asks goes by the name.
func (metric Metric) Asking(name string, there []backend.Role) (Metric, error) {
	names := naming{}
	for _, kind := range backend.SortRoles(metric.Asks) {
		if role := kind.Named(name); kind.Name() == "" && slices.Contains(there, role) {
			names[kind] = role
		}
	}
	if len(names) == 0 {
		return Metric{}, fmt.Errorf("%s@%s: %s", metric.Name, name, metric.lacks(name, there))
	}
	asks := Asks{}
	for kind, ops := range metric.Asks {
		if role, ok := names[kind]; ok {
			kind = role
		}
		asks[kind] = ops
	}
	var prepare []*Preparation
	for _, p := range metric.Prepare {
		prepare = append(prepare, p.asking(names))
	}
	score := metric.Score
	metric.Score = func(ctx context.Context, m Models, s *Sample) (Score, error) {
		return score(ctx, m.asking(names), s)
	}
	if bound := metric.Bound; bound != nil {
		metric.Bound = func(m Models) error { return bound(m.asking(names)) }
	}
	metric.Name += "@" + name
	metric.Asks, metric.Prepare, metric.At, metric.Settings, metric.Default = asks, prepare, nil, nil, false
	return metric, nil
}

// Askable lists the roles with names, of those that there are, that the metric could ask.
func (metric Metric) Askable(there []backend.Role) []backend.Role {
	var list []backend.Role
	for _, role := range there {
		if _, ok := metric.Asks[role.Kind()]; ok && role.Name() != "" {
			list = append(list, role)
		}
	}
	return list
}

// lacks says why the metric cannot ask a model by a name.
func (metric Metric) lacks(name string, there []backend.Role) string {
	var kinds, could []string
	for _, kind := range backend.SortRoles(metric.Asks) {
		if kind.Name() == "" {
			kinds = append(kinds, kind.Title())
		}
	}
	for _, role := range metric.Askable(there) {
		if !slices.Contains(could, role.Name()) {
			could = append(could, role.Name())
		}
	}
	switch {
	case len(metric.Asks) == 0:
		return "it asks no model"
	case len(kinds) == 0:
		return "each of its models has a name already"
	case len(could) == 0:
		return fmt.Sprintf("it asks a model as %s, and none has a name", strings.Join(kinds, " and "))
	}
	return fmt.Sprintf("it asks a model as %s, and none of them is called %s: there is %s", strings.Join(kinds, " and "),
		name, strings.Join(could, ", "))
}
