package metrics

import (
	"context"
	"fmt"
	"maps"
	"math"
	"sync"

	"github.com/assay-eval/assay/backend"
)

// Models is what a metric may ask. [Run] gives each Score call its own, which notes the keys of the
// answers used.
type Models struct {
	Roles   Roles   // those that some metric asks
	Prompts Prompts // the texts to ask with
	Seed    uint64  // of everything that is drawn at random, beside each prompt's own

	// Frequencies are those of the dataset that is scored, from [CountReferences]; nil if no metric needs them.
	Frequencies *Frequencies

	calls *calls
}

// Roles are the models there are, each by what it is there for.
type Roles map[backend.Role]backend.Backend

// Role returns the model that has a role; nil if there is none.
func (m Models) Role(role backend.Role) backend.Backend { return m.Roles[role] }

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

// calls notes the keys of the answers that one Score call used, in the order they came, and what they
// cost. A nil *calls notes nothing.
type calls struct {
	mu   sync.Mutex
	keys []string
	cost Cost
}

// add notes an answer, with the tokens that the judge read and wrote for it.
func (c *calls) add(key backend.Key, read, wrote int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, key.String())
	c.cost.PromptTokens += read
	c.cost.OutputTokens += wrote
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
}

// embedAll returns one vector per text and notes their keys. The vectors are finite and not zero, and all
// of one length.
func embedAll(ctx context.Context, m Models, texts []string) ([][]float32, error) {
	vectors, err := backend.Embed(ctx, m.Role(backend.Embedder), texts)
	if err != nil {
		return nil, fmt.Errorf("embedding: %w", err)
	}
	info := m.Role(backend.Embedder).Info()
	for i, v := range vectors {
		m.calls.add(backend.EncodeKey(info, backend.Embedding, backend.Pair{Text: texts[i]}), 0, 0)
		if n := length(v); len(v) != len(vectors[0]) || !(n > 0) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("embedding: the vector of %q is not usable: %d numbers, length %v", bounded(texts[i]), len(v), n)
		}
	}
	return vectors, nil
}

// cosine is the cosine of the angle between two vectors that embedAll returned, in [-1, 1].
func cosine(a, b []float32) float64 {
	dot := 0.0
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
	}
	return min(1, max(-1, dot/(length(a)*length(b))))
}

func length(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}
