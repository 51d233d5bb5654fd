package all

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/jury"
	"github.com/assay-eval/assay/tokenize"
)

// A Selector returns metrics by name. The zero value knows the catalogue.
type Selector struct {
	Own    []metrics.Metric // the user's own, beside the catalogue
	Models []backend.Role   // the roles with names that there are models for
}

// Select is that of a [Selector] of the catalogue and of models with names.
func Select(names []string, models ...backend.Role) ([]metrics.Metric, error) {
	return Selector{Models: models}.Select(names)
}

// Select returns the metrics of a list of names, in its order. A bare dimension ("faithfulness") means its default
// method. What stands behind an @ sets a method otherwise: a number ("retrieval/ndcg@7") or word
// ("answer_similarity/rouge1@recall") goes to [metrics.Metric.At]. After that a name says which of several models is
// asked ("faithfulness/claims@small"), @jury=a+b+c and @majority=a+b+c that all of them are ([jury.Of]; of @jury alone,
// all that have names), @draws=5 that each sample is scored several times ([jury.Draws]), and @think=512 that the judge
// thinks before it replies ([ask.Thinking]). @idk or @idk=judge at the end says that the row's answerability counts
// ([answerability.Conditioned]). An unknown name and one that stands twice are errors.
func (s Selector) Select(names []string) ([]metrics.Metric, error) {
	if len(names) == 0 {
		return nil, errors.New("no metrics named: assay metrics lists them")
	}
	var list []metrics.Metric
	for _, name := range names {
		m, err := s.lookup(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(other metrics.Metric) bool { return other.Name == m.Name }) {
			return nil, fmt.Errorf("metric %s is named twice", m.Name)
		}
		list = append(list, m)
	}
	return list, nil
}

// Preset is that of a [Selector] of the catalogue.
func Preset(name string) ([]metrics.Metric, error) { return Selector{}.Preset(name) }

// Preset returns the metrics of a preset. What stands behind an @ in its name ("encoder@small", "ragas@draws=3") stands
// behind each of its metrics that takes it; one at least must.
func (s Selector) Preset(name string) ([]metrics.Metric, error) {
	preset, at, given := strings.Cut(name, "@")
	i := slices.IndexFunc(Presets(), func(p PresetList) bool { return p.Name == preset })
	if i < 0 {
		var names []string
		for _, p := range Presets() {
			names = append(names, p.Name)
		}
		return nil, fmt.Errorf("unknown preset %q: there are %s", preset, strings.Join(names, ", "))
	}
	list, err := s.Select(Presets()[i].Metrics)
	if err != nil || !given {
		return list, err
	}
	var refused []error
	for i := range list {
		m, err := s.lookup(list[i].Name + "@" + at)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		list[i] = m
	}
	if len(refused) == len(list) {
		return nil, fmt.Errorf("preset %s: %w", preset, refused[0])
	}
	return list, nil
}

func (s Selector) lookup(name string) (metrics.Metric, error) {
	if m, ok, err := s.conditioned(name); ok {
		return m, err
	}
	full, at, given := strings.Cut(name, "@")
	m, err := s.find(full, name)
	switch {
	case err != nil:
		return m, err
	case !given:
		return s.Namesake(m), nil
	case len(m.Asks) == 0 && m.At == nil:
		return metrics.Metric{}, fmt.Errorf("metric %s takes nothing after an @, but has %q there", m.Name, at)
	case len(m.Asks) == 0:
		return setTo(m, at)
	}
	for _, part := range strings.Split(at, "@") {
		if m, err = s.with(m, part); err != nil {
			return metrics.Metric{}, err
		}
	}
	return m, nil
}

// Namesake returns m asking the model that bears the name of its method, if there is one: faithfulness/hhem the encoder
// hhem.
func (s Selector) Namesake(m metrics.Metric) metrics.Metric {
	_, method, _ := strings.Cut(m.Name, "/")
	if asking, err := m.Asking(method, s.Models); err == nil {
		return asking
	}
	return m
}

// find returns the metric with a name that has no @; whole is what the user wrote.
func (s Selector) find(full, whole string) (metrics.Metric, error) {
	named := func(m metrics.Metric) bool { return m.Name == full || m.Name == "criteria/"+full }
	if i := slices.IndexFunc(s.Own, named); i >= 0 {
		return s.Own[i], nil
	}
	c := built()
	if method, ok := c.defaults[full]; ok {
		full += "/" + method
	}
	if m, ok := c.byName[full]; ok {
		return m, nil
	}
	hint := ""
	if near := tokenize.Nearest(full, slices.Concat(metricNames(), slices.Collect(maps.Keys(c.defaults)))); near != "" {
		hint = fmt.Sprintf("did you mean %s? ", near)
	}
	return metrics.Metric{}, fmt.Errorf("unknown metric %q: %sassay metrics lists all %d", whole, hint, len(c.distinct))
}

// with returns m with one thing behind an @: a setting of its own, the name of a model, a jury of several, a number of
// draws or room to think.
func (s Selector) with(m metrics.Metric, part string) (metrics.Metric, error) {
	switch what, value, given := strings.Cut(part, "="); {
	case what == "draws":
		n, err := strconv.Atoi(value)
		if err != nil || strconv.Itoa(n) != value {
			n = 0
		}
		return jury.Draws(m, n)
	case what == "think":
		n, err := strconv.Atoi(value)
		if err != nil || strconv.Itoa(n) != value {
			n = 0
		}
		return ask.Thinking(m, n)
	case jury.Pool(what) == jury.Mean, jury.Pool(what) == jury.Majority:
		names := strings.Split(value, "+")
		if !given {
			names = s.jurors(m)
		}
		slices.Sort(names)
		return jury.Of(m, jury.Pool(what), names, s.Models)
	}
	asking, errAsking := m.Asking(part, s.Models)
	if m.At == nil {
		if errAsking != nil && len(s.Models) == 0 {
			return m, fmt.Errorf("metric %s takes nothing after an @ but the name of a model, a jury, draws or thoughts, and has %q "+
				"there: --model, --embed-model and --encoder-model NAME=REF give names", m.Name, metrics.Bounded(part))
		}
		return asking, errAsking
	}
	set, err := setTo(m, part)
	switch {
	case err == nil && errAsking == nil:
		return metrics.Metric{}, fmt.Errorf("%s@%s: %s is a setting of the metric and the name of a model: call the model "+
			"otherwise", m.Name, part, part)
	case errAsking == nil:
		return asking, nil
	}
	if could := m.Askable(s.Models); err != nil && len(could) > 0 {
		err = fmt.Errorf("%w, or the name of a model: %s", err, strings.Join(roleNames(could), ", "))
	}
	return set, err
}

// Everywhere returns metrics with what a run sets for all of them: thoughts of so many tokens (@think) and so many draws
// (@draws), where they make a difference; 0 sets none. It is an error if that is nowhere.
func Everywhere(list []metrics.Metric, think, draws int) ([]metrics.Metric, error) {
	list, err := wherever(list, think, ask.CanThink, ask.Thinking)
	if err == nil {
		list, err = wherever(list, draws, jury.CanDraw, jury.Draws)
	}
	return list, err
}

// wherever sets a number other than 0 for those metrics that can take it, of which there must be one.
func wherever(list []metrics.Metric, n int, can func(metrics.Metric) bool,
	set func(metrics.Metric, int) (metrics.Metric, error)) ([]metrics.Metric, error) {
	if n == 0 || len(list) == 0 {
		return list, nil
	}
	list = slices.Clone(list)
	some := slices.ContainsFunc(list, can)
	for i := range list {
		if some && !can(list[i]) {
			continue
		}
		m, err := set(list[i], n)
		if err != nil {
			return nil, err
		}
		list[i] = m
	}
	return list, nil
}

// jurors are the names of all models of the first kind that m asks and that has names.
func (s Selector) jurors(m metrics.Metric) []string {
	could := m.Askable(s.Models)
	return roleNames(slices.DeleteFunc(could, func(r backend.Role) bool { return r.Kind() != could[0].Kind() }))
}

// roleNames are the names of roles.
func roleNames(roles []backend.Role) []string {
	var names []string
	for _, r := range roles {
		names = append(names, r.Name())
	}
	return names
}

// setTo returns m with its own setting, by the name that m has: an alias keeps its name.
func setTo(m metrics.Metric, at string) (metrics.Metric, error) {
	set, err := m.At(at)
	if err == nil && set.Name != m.Name+"@"+at && slices.Contains(built().byName[Canonical(m.Name)].Aliases, m.Name) {
		set.Name = m.Name + "@" + at
	}
	return set, err
}
