package metrics

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Models is what a metric may ask. [Run] gives each Score call its own, which notes the cache keys of
// the answers used.
type Models struct {
	Roles    Roles       // the models by role: those that some metric asks
	Prompts  prompts.Set // the texts to ask with
	Seed     uint64      // of all sampling, beside each prompt's own
	Draw     Draw        // which of several, where a sample is scored more than once
	Thought  int         // the most tokens that a judge may think before it replies to a prompt; 0: it does not
	Evidence Evidence    // the corpus to check claims by; nil: there is none
	Reasons  Reasons     // which verdicts of short forms are given with a reason

	known map[learning]Knowledge // of the dataset that is scored
	named naming                 // the models that answer in the place of others: see [Metric.Asking]
	calls *calls
}

// A Draw is one of several times that a sample is scored. Replies are then sampled, not decoded greedily, and each draw
// has its own. The zero Draw is the only one.
type Draw struct{ Number, Of int } // Number counts from 0

// Drawing returns m for draw number i of n.
func (m Models) Drawing(i, n int) Models {
	m.Draw = Draw{i, n}
	return m
}

// Reasons says which verdicts a short form has the judge give again with a reason before them, as the long form has all
// of them: such a verdict counts in place of the one that was read from the probabilities.
type Reasons string

// What a short form may ask reasons for.
const (
	DoubtfulReasons Reasons = "doubtful" // verdicts neither of which is twice as probable as the other. The default, as is ""
	AllReasons      Reasons = "all"
	NoReasons       Reasons = "none"
)

// ParseReasons reads the name of a Reasons.
func ParseReasons(name string) (Reasons, error) {
	switch r := Reasons(name); r {
	case DoubtfulReasons, AllReasons, NoReasons:
		return r, nil
	}
	return "", fmt.Errorf("unknown reasons %q: there are doubtful, all and none", Bounded(name))
}

// Wanted reports whether a verdict with this P(yes) is given again with a reason.
func (r Reasons) Wanted(yes float64) bool {
	const low, high = 1.0 / 3, 2.0 / 3
	return r == AllReasons || r != NoReasons && yes > low && yes < high
}

// Roles are the models there are, each by its role: judge, embedding model, encoder.
type Roles map[backend.Role]backend.Backend

// Role returns the model that has a role; nil if there is none.
func (m Models) Role(role backend.Role) backend.Backend { return m.Roles[role] }

// Identities are the models as a manifest records them.
func (m Models) Identities() backend.Identities {
	all := make(backend.Identities)
	for role, b := range m.Roles {
		if b != nil {
			all[role] = b.Info().Identity()
		}
	}
	return all
}

// Named lists the roles that have names.
func (m Models) Named() []backend.Role { return m.Identities().Named() }

// asking returns m with the models of roles with names in the place of those without.
func (m Models) asking(names naming) Models {
	roles := maps.Clone(m.Roles)
	for kind, role := range names {
		roles[kind] = m.Roles[role]
	}
	m.Roles, m.named = roles, m.named.with(names)
	return m
}

// Asks says what is asked of the model in each role.
type Asks map[backend.Role]backend.Ops

// With returns what a and b ask together.
func (a Asks) With(b Asks) Asks {
	all := maps.Clone(a)
	if all == nil {
		all = make(Asks)
	}
	for role, ops := range b {
		all[role] |= ops
	}
	return all
}

// AsksOf returns what all of ms ask.
func AsksOf(ms []Metric) Asks {
	var all Asks
	for _, m := range ms {
		all = all.With(m.Asks)
	}
	return all
}

// PromptsOf returns the prompts that ms ask with, each once.
func PromptsOf(ms []Metric) []*prompts.Prompt {
	var list []*prompts.Prompt
	for _, m := range ms {
		for _, p := range m.Prompts {
			if !slices.ContainsFunc(list, func(q *prompts.Prompt) bool { return q.Name == p.Name }) {
				list = append(list, p)
			}
		}
	}
	return list
}

// Of returns those of models that are asked for something.
func (a Asks) Of(models backend.Identities) backend.Identities {
	asked := backend.Identities{}
	for role, id := range models {
		if a[role] != 0 {
			asked[role] = id
		}
	}
	return asked
}

// Note records that an answer was used, by its cache key, with its prompt tokens and completion tokens: [Run]
// writes what a Score call noted into its Result.
func (m Models) Note(key backend.Key, prompt, completion int) { m.calls.add(key, prompt, completion) }

// Observe adds a finding to the evidence of the score, beside that of the metric itself. Where a sample is scored by
// several models or draws, it says by which.
func (m Models) Observe(f Finding) {
	if m.Draw.Of > 0 {
		f.Where = fmt.Sprintf("draw %d, %s", m.Draw.Number+1, f.Where)
	}
	for _, role := range slices.Sorted(maps.Values(m.named)) {
		f.Where = role.Name() + ", " + f.Where
	}
	m.calls.observe(f)
}

// calls notes the cache keys of the answers that one Score call used, in the order they came, what they cost and what
// was observed. A nil *calls notes nothing.
type calls struct {
	mu       sync.Mutex
	keys     []string
	cost     Cost
	observed []Finding
}

func (c *calls) observe(f Finding) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observed = append(c.observed, f)
}

// add notes an answer, with its prompt tokens and completion tokens.
func (c *calls) add(key backend.Key, prompt, completion int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, key.String())
	c.cost.PromptTokens += prompt
	c.cost.OutputTokens += completion
}

// fill writes what was noted into a result.
func (c *calls) fill(r *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Calls = c.keys
	if c.cost != (Cost{}) {
		cost := c.cost
		r.Cost = &cost
	}
	if r.Score != nil {
		r.Score.Because = append(r.Score.Because, c.observed...)
	}
}
