package stats

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
)

// Rows that share a group, such as the answers of several systems to one question, are clustered: their effective
// sample size is smaller. What is independent are the groups, and a mean of rows is a ratio estimator over them: of
// the groups' sums over their sizes. So the groups are resampled, not the rows (the cluster bootstrap: Davison and
// Hinkley 1997, section 3.8), and where they are many the same analytic interval is taken over each group's part in
// the deviation from the mean, its sum less its size times the mean (Field and Welsh 2007, "Bootstrapping clustered
// data", JRSS B 69, on when this holds: many groups, and the rows of different groups independent).

// mostGroups bounds what is kept of groups. When there are more, groups are thrown together, whole and by the
// hash of their names, into so many. What is thrown together is still independent of the rest, so the
// interval stays right; with so many parts it is no wider for it.
const mostGroups = 1 << 16

// clusters are the groups of the rows of a [Mean].
type clusters struct {
	parts    map[uint64]unit // by the hash of the group's name
	thrown   bool            // groups share parts
	repeated bool            // some part has two values
	lone     moments         // of the values in no group
	values   []float64       // those, while there are few enough
}

// A unit is the resampling unit: a group (cluster), or one value in none.
type unit struct {
	sum float64
	n   int
}

func (u unit) compare(v unit) int { return cmp.Or(cmp.Compare(u.sum, v.sum), cmp.Compare(u.n, v.n)) }

// newClusters takes over the values that m has, which are in no group.
func newClusters(m *Mean) *clusters {
	return &clusters{parts: map[uint64]unit{}, lone: m.moments, values: slices.Clone(m.values)}
}

func (c *clusters) addLone(v float64) {
	c.lone.add(v)
	if c.lone.n <= keepMost {
		c.values = append(c.values, v)
	} else {
		c.values = nil
	}
}

func (c *clusters) add(group string, v float64) {
	key := hash(group)
	if c.thrown {
		key %= mostGroups
	}
	u := c.parts[key]
	c.repeated = c.repeated || u.n > 0
	c.parts[key] = unit{u.sum + v, u.n + 1}
	if len(c.parts) > mostGroups && !c.thrown {
		c.throwTogether()
	}
}

func (c *clusters) throwTogether() {
	c.thrown = true
	few := make(map[uint64]unit, mostGroups)
	for _, key := range slices.Sorted(maps.Keys(c.parts)) {
		u, old := c.parts[key], few[key%mostGroups]
		few[key%mostGroups] = unit{old.sum + u.sum, old.n + u.n}
	}
	c.parts = few
}

// hash names a group in eight bytes. Two groups with one hash would count as one, which does no harm.
func hash(group string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(group)) // never fails
	k := h.Sum64()
	return k ^ k>>32 // the low bits choose the part
}

// grouped reports whether two values share a group.
func (m *Mean) grouped() bool { return m.clusters != nil && m.clusters.repeated }

// count is the number of units.
func (c *clusters) count() int { return c.lone.n + len(c.parts) }

// units lists the units; nil if they are too many to resample.
func (c *clusters) units() []unit {
	if c.count() > keepMost {
		return nil
	}
	return append(single(c.values), slices.Collect(maps.Values(c.parts))...)
}

// single makes units of values in no group; nil of nil.
func single(values []float64) []unit {
	var units []unit
	for _, v := range values {
		units = append(units, unit{v, 1})
	}
	return units
}

// spread returns the sums of the second and third powers of the units' parts in the deviation from the mean.
func (c *clusters) spread(mean float64) (m2, m3 float64) {
	l, n := c.lone, float64(c.lone.n)
	d := l.mean - mean
	m2 = l.m2 + n*d*d
	m3 = l.m3 + 3*d*l.m2 + n*d*d*d
	for _, key := range slices.Sorted(maps.Keys(c.parts)) { // sorted: the last bits depend on the order
		u := c.parts[key]
		part := u.sum - float64(u.n)*mean
		m2 += part * part
		m3 += part * part * part
	}
	return m2, m3
}
