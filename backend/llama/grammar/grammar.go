package grammar

import (
	"encoding/binary"
	"sync"
)

// What a grammar may cost. A schema that needs more states or depth is refused; the other bounds only
// limit what is memoized, but for maxPositions: where a text has more parses than that at once, the last of them are
// given up. So the text stays in the language, and can still be brought to its end.
const (
	maxDepth     = 128 // of the stack of calls
	maxPositions = 2048
	maxConfigs   = 2048
	maxFrames    = 100_000
	maxMasks     = 256
	maxForced    = 512 // bytes at once
)

// A grammar is a language of byte strings, as a pushdown automaton that is made deterministic lazily. A text is
// followed through it byte by byte, as a set of positions, one for each parse. No position is ever taken that cannot
// be brought to an end within maxDepth, so that every text that was accepted so far is a prefix of one in the language.
//
// Transitions are worked out once and memoized: mostly, a step is a table lookup. A grammar is safe for concurrent use
// through its lock, which callers hold.
type grammar struct {
	states []state
	starts []int32
	needs  []int16    // calls within each other that it takes to get from a state to its rule's end
	class  [256]uint8 // bytes that no edge tells apart are of one class
	first  []byte     // the first byte of each class
	single []bool     // the class has but one byte

	sync.Mutex
	begin  *config
	dead   *config // no way on
	known  map[string]*config
	frames int // made since known was empty
	masks  int
	ids    uint64
	seen   map[position]bool
}

// A frame is the top of a stack: where to go on when a rule has ended. Equal stacks are one frame.
type frame struct {
	parent *frame // nil at the bottom, where there is no going on
	then   int32
	depth  int16
	id     uint64
	above  map[int32]*frame
}

// A position is one parse of a text so far: the state it leads to, with its stack of calls.
type position struct {
	state int32
	in    *frame
}

// A config is all the positions that a text leads to: a state of the deterministic automaton.
type config struct {
	at      []position // those with a byte to follow
	done    bool       // the text may end here
	next    []*config  // by class; nil is not yet known
	allowed []uint64   // see constraint; nil is not yet known
}

// newGrammar returns the language of an automaton's first rule. It returns nil and what is wrong if that is
// empty or nested too deep.
func newGrammar(b *builder) (*grammar, string) {
	g := &grammar{states: b.states, starts: b.starts, dead: &config{}, seen: map[position]bool{}}
	g.markLast()
	g.findNeeds()
	switch need := int(g.needs[g.starts[0]]); {
	case need > deepest:
		return nil, "no document can satisfy it"
	case need > maxDepth:
		return nil, "it is nested too deep"
	}
	g.findClasses()
	g.dead.next = make([]*config, len(g.first))
	g.forget()
	return g, ""
}

// markLast finds the tail calls, after which a rule has nothing left to do. They take no frame.
func (g *grammar) markLast() {
	for i := range g.states {
		for j := range g.states[i].calls {
			c := &g.states[i].calls[j]
			s := g.states[c.then]
			for hops := 0; hops < 8 && !s.final && len(s.free) == 1 && len(s.bytes)+len(s.calls) == 0; hops++ {
				s = g.states[s.free[0]]
			}
			c.last = s.final && len(s.free)+len(s.bytes)+len(s.calls) == 0
		}
	}
}

// deepest is the most that a need can be; more stands for no way to the end.
const deepest = 1 << 14

// findNeeds works out the needs of all states, smallest first, from the final states backwards.
func (g *grammar) findNeeds() {
	g.needs = make([]int16, len(g.states))
	for i := range g.needs {
		g.needs[i] = deepest + 1
	}
	before := make([][]int32, len(g.states)) // states with an edge or a call that leads to a state
	callers := map[int32][]int32{}           // states that call a rule, by its start
	for i, s := range g.states {
		for _, e := range s.bytes {
			before[e.to] = append(before[e.to], int32(i))
		}
		for _, to := range s.free {
			before[to] = append(before[to], int32(i))
		}
		for _, c := range s.calls {
			before[c.then] = append(before[c.then], int32(i))
			start := g.starts[c.rule]
			callers[start] = append(callers[start], int32(i))
		}
	}
	var level, later []int32
	for i, s := range g.states {
		if s.final {
			g.needs[i] = 0
			level = append(level, int32(i))
		}
	}
	for depth := int16(0); len(level) > 0 && depth < deepest; depth++ {
		later = later[:0]
		for len(level) > 0 {
			s := level[len(level)-1]
			level = level[:len(level)-1]
			for _, p := range before[s] {
				if g.needs[p] > depth && g.need(p) <= depth {
					g.needs[p] = depth
					level = append(level, p)
				}
			}
			later = append(later, callers[s]...)
		}
		level = level[:0]
		for _, p := range later {
			if g.needs[p] > depth+1 && g.need(p) <= depth+1 {
				g.needs[p] = depth + 1
				level = append(level, p)
			}
		}
	}
}

// need works out the need of a state from those of the states that follow, as far as they are known.
func (g *grammar) need(i int32) int16 {
	s := &g.states[i]
	need := int16(deepest + 1)
	for _, e := range s.bytes {
		need = min(need, g.needs[e.to])
	}
	for _, to := range s.free {
		need = min(need, g.needs[to])
	}
	for _, c := range s.calls {
		need = min(need, max(g.needs[g.starts[c.rule]]+1, g.needs[c.then]))
	}
	return need
}

// findClasses sorts the bytes into classes.
func (g *grammar) findClasses() {
	var starts [257]bool // a range starts here, or ended just before
	starts[0] = true
	for _, s := range g.states {
		for _, e := range s.bytes {
			starts[e.lo], starts[int(e.hi)+1] = true, true
		}
	}
	for b := range 256 {
		if starts[b] {
			g.first = append(g.first, byte(b))
			g.single = append(g.single, b == 255 || starts[b+1])
		}
		g.class[b] = uint8(len(g.first) - 1)
	}
}

// forget drops all that was remembered. Configs in use stay good.
func (g *grammar) forget() {
	g.known = map[string]*config{}
	g.frames, g.masks = 0, 0
	root := &frame{}
	c := &config{}
	clear(g.seen)
	g.enter(c, g.starts[0], root)
	g.begin = g.intern(c)
}

// step returns what a byte leads to, or g.dead.
func (g *grammar) step(c *config, b byte) *config {
	if to := c.next[g.class[b]]; to != nil {
		return to
	}
	return g.follow(c, g.class[b])
}

// follow works out what a class of bytes leads to.
func (g *grammar) follow(c *config, class uint8) *config {
	if len(g.known) >= maxConfigs || g.frames >= maxFrames || g.masks >= maxMasks {
		g.forget()
	}
	to, b := &config{}, g.first[class]
	clear(g.seen)
	for _, p := range c.at {
		for _, e := range g.states[p.state].bytes {
			if e.lo <= b && b <= e.hi {
				g.enter(to, e.to, p.in)
			}
		}
	}
	if len(to.at) == 0 && !to.done {
		to = g.dead
	} else {
		to = g.intern(to)
	}
	c.next[class] = to
	return to
}

// enter adds to a config a state and all that is reached from it without a byte.
func (g *grammar) enter(c *config, s int32, in *frame) {
	p := position{s, in}
	if int(in.depth)+int(g.needs[s]) > maxDepth || g.seen[p] || len(g.seen) >= 4*maxPositions {
		return
	}
	g.seen[p] = true
	here := &g.states[s]
	if len(here.bytes) > 0 && len(c.at) < maxPositions {
		c.at = append(c.at, p)
	}
	if here.final {
		if in.parent == nil {
			c.done = true
		} else {
			g.enter(c, in.then, in.parent)
		}
	}
	for _, to := range here.free {
		g.enter(c, to, in)
	}
	for _, call := range here.calls {
		start := g.starts[call.rule]
		switch {
		case call.last:
			g.enter(c, start, in)
		case int(in.depth)+int(g.needs[call.then]) > maxDepth,
			int(in.depth)+1+int(g.needs[start]) > maxDepth: // before a frame is made in vain
		default:
			g.enter(c, start, g.push(in, call.then))
		}
	}
}

// push returns the frame for a call.
func (g *grammar) push(in *frame, then int32) *frame {
	f := in.above[then]
	if f == nil {
		g.ids++
		g.frames++
		f = &frame{parent: in, then: then, depth: in.depth + 1, id: g.ids}
		if in.above == nil {
			in.above = map[int32]*frame{}
		}
		in.above[then] = f
	}
	return f
}

// intern returns the known config that is equal to c, or makes c known.
func (g *grammar) intern(c *config) *config {
	key := make([]byte, 0, 12*len(c.at)+1)
	for _, p := range c.at {
		key = binary.LittleEndian.AppendUint32(key, uint32(p.state))
		key = binary.LittleEndian.AppendUint64(key, p.in.id)
	}
	if c.done {
		key = append(key, 1)
	}
	if k := g.known[string(key)]; k != nil {
		return k
	}
	c.next = make([]*config, len(g.first))
	g.known[string(key)] = c
	return c
}

// forced returns the bytes that must follow, as long as there is one way on and the text may not end, and
// where they lead to.
func (g *grammar) forced(c *config) ([]byte, *config) {
	var text []byte
	for len(text) < maxForced && !c.done {
		class := g.only(c)
		if class < 0 || !g.single[class] {
			break
		}
		text = append(text, g.first[class])
		c = g.step(c, g.first[class])
	}
	return text, c
}

// What only returns where there is not one class.
const (
	noClass     = -1
	manyClasses = -2
)

// only returns the one class of bytes that may follow.
func (g *grammar) only(c *config) int {
	found := noClass
	for class, b := range g.first {
		if g.step(c, b) == g.dead {
			continue
		}
		if found >= 0 {
			return manyClasses
		}
		found = class
	}
	return found
}
