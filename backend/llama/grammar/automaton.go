package grammar

// maxStates is how many states an automaton may have: a schema that needs more is refused.
const maxStates = 100_000

// A state of a recursive automaton.
type state struct {
	bytes []byteEdge
	free  []int32 // epsilon transitions: states that are reached without a byte
	calls []callEdge
	final bool // the rule may end here
}

// A byteEdge is a transition by any byte of a range.
type byteEdge struct {
	lo, hi byte
	to     int32
}

// A callEdge is a transition through a whole rule.
type callEdge struct {
	rule, then int32
	last       bool // a tail call: nothing comes after it in the rule that calls
}

// A builder makes a nondeterministic recursive automaton: rules, each with a start and final states, that may call
// each other.
type builder struct {
	states []state
	starts []int32          // by rule
	names  map[string]int32 // rules that many places share
	full   bool             // more states were asked for than there may be
}

// state adds a state.
func (b *builder) state() int32 {
	if len(b.states) == maxStates {
		b.full = true
		return 0
	}
	b.states = append(b.states, state{})
	return int32(len(b.states) - 1)
}

// rule adds a rule and returns its number and its start.
func (b *builder) rule() (rule, start int32) {
	start = b.state()
	b.starts = append(b.starts, start)
	return int32(len(b.starts) - 1), start
}

// final makes a state one where its rule may end.
func (b *builder) final(s int32) { b.states[s].final = true }

// join leads from a state to another without a byte.
func (b *builder) join(from, to int32) { b.states[from].free = append(b.states[from].free, to) }

// edge leads from a state to another by any byte of a range.
func (b *builder) edge(from int32, lo, hi byte, to int32) {
	b.states[from].bytes = append(b.states[from].bytes, byteEdge{lo, hi, to})
}

// step leads from a state to a new one by any byte of a range.
func (b *builder) step(from int32, lo, hi byte) int32 {
	to := b.state()
	b.edge(from, lo, hi, to)
	return to
}

// call leads from a state to a new one through a rule.
func (b *builder) call(from, rule int32) int32 {
	to := b.state()
	b.callTo(from, rule, to)
	return to
}

// callTo leads from a state to another through a rule.
func (b *builder) callTo(from, rule, to int32) {
	b.states[from].calls = append(b.states[from].calls, callEdge{rule: rule, then: to})
}

// text leads from a state to a new one through a text.
func (b *builder) text(from int32, text string) int32 {
	for i := range len(text) {
		from = b.step(from, text[i], text[i])
	}
	return from
}

// named returns the rule of a name, which build makes when it is first asked for.
func (b *builder) named(name string, build func(from int32) (end int32)) int32 {
	if r, ok := b.names[name]; ok {
		return r
	}
	r, start := b.rule()
	b.names[name] = r
	b.final(build(start))
	return r
}

// choice leads from a state to a new one in one of several ways.
func (b *builder) choice(from int32, ways ...func(from int32) int32) int32 {
	end := b.state()
	for _, way := range ways {
		start := b.state()
		b.join(from, start)
		b.join(way(start), end)
	}
	return end
}

// space leads through a space, or none.
func (b *builder) space(from int32) int32 {
	to := b.step(from, ' ', ' ')
	b.join(from, to)
	return to
}

// among leads from a state to another by any of some bytes.
func (b *builder) among(from int32, bytes string, to int32) {
	for i := range len(bytes) {
		b.edge(from, bytes[i], bytes[i], to)
	}
}

// oneOf leads to a new state by any of some bytes.
func (b *builder) oneOf(from int32, bytes string) int32 {
	to := b.state()
	b.among(from, bytes, to)
	return to
}
