package trace

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// A span is one step of an application, in no one's convention.
type span struct {
	trace, id, parent string
	name              string
	convention        string // of its attributes: "OpenInference"
	kind              kind
	start             int64 // in the unit of its format; comparable within a trace
	in, out           any   // text, JSON in text, messages or any JSON
	docs              []document
	found             bool // docs were recorded, be it none
	args              any  // of a tool
	session           string
	failed            string // why
	extra             map[string]any
	fragment          bool // a part of the span with the same id, recorded apart
}

type kind string

const (
	retriever kind = "retriever"
	reranker  kind = "reranker"
	tool      kind = "tool"
	model     kind = "model"
	embedding kind = "embedding"
	aside     kind = "aside" // guardrails, evaluators
	step      kind = ""      // chains, agents and the rest
)

// kindOf reads the names that conventions have for kinds of spans.
func kindOf(name string) kind {
	switch strings.ToLower(name) {
	case "retriever", "retrieval", "search_memory":
		return retriever
	case "reranker", "rerank":
		return reranker
	case "tool", "execute_tool":
		return tool
	case "llm", "generation", "chat", "chat_model", "text_completion", "generate_content", "completion":
		return model
	case "embedding", "embeddings":
		return embedding
	case "guardrail", "evaluator", "prompt", "parser", "event":
		return aside
	}
	return step
}

// instant reads a time: a number, or text with a date; 0 if it is none.
func instant(v any) int64 {
	s := text(v)
	if s == "" {
		return 0
	}
	n := json.Number(s)
	if i, err := n.Int64(); err == nil {
		return i
	}
	if f, err := n.Float64(); err == nil && math.Abs(f) < 1e12 {
		return int64(f * 1e6)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
		"2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixNano()
		}
	}
	return 0
}

// gathered is a trace with the spans that were read of it.
type gathered struct {
	file  int
	line  int
	spans []span
}

// merged puts the parts of a span together, drops what was sent twice and sorts by time.
func merged(spans []span) []span {
	byID := map[string]int{}
	var list []span
	for _, s := range spans {
		at, seen := byID[s.id]
		if !seen || s.id == "" {
			byID[s.id] = len(list)
			list = append(list, s)
			continue
		}
		old := &list[at]
		switch {
		case s.fragment:
			if old.in = joined(old.in, s.in); blank(old.in) {
				old.in = nil
			}
			old.out = joined(old.out, s.out)
			old.docs = append(old.docs, s.docs...)
			old.found = old.found || s.found
		case old.fragment: // the span itself comes after a part of it
			s.in, s.out = joined(s.in, old.in), joined(s.out, old.out)
			s.docs, s.found = append(s.docs, old.docs...), s.found || old.found
			*old = s
		}
	}
	slices.SortStableFunc(list, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return list
}

// joined puts two lists of messages behind each other; of other values it takes the first that says something.
func joined(a, b any) any {
	first, ok := a.([]any)
	if second, also := b.([]any); ok && also {
		return slices.Concat(first, second)
	}
	if blank(a) {
		return b
	}
	return a
}

// maxDepth bounds how far the parents of a span are followed.
const maxDepth = 1000

// row makes the row of a trace; false if nothing in it can be scored.
func (g *gathered) row(id string, n *notes) (Row, bool) {
	f := newForest(merged(g.spans))
	root := f.root()
	from, to := f.ends(root)
	docs, found := contextsOf(f.spans, f.ancestors, n)
	if from < 0 && to < 0 && !found {
		return Row{}, false
	}
	row := Row{File: g.file, Line: g.line}
	row.put("id", id)
	row.put("group", sessionOf(f.spans, root))
	f.putInput(&row, from, root, n)
	f.putOutput(&row, to, root, n)
	if to >= 0 && !found {
		docs, found = documents(sourcesOf(f.spans[to].out))
	}
	if !found {
		n.say("no retrieval was recorded, so there are no contexts")
	}
	row.putDocuments(docs, n)
	row.put("tool_calls", callsOf(f.spans))
	row.put("trace_name", f.spans[root].name)
	row.put("error", f.spans[root].failed)
	for _, name := range []string{"metadata", "tags", "user", "evaluations", "feedback"} {
		row.put(name, f.spans[root].extra[name])
	}
	return row, true
}

// A forest is the spans of a trace as they lie within each other.
type forest struct {
	spans []span
	index map[string]int // of spans, by id
	depth []int          // of each span
}

func newForest(spans []span) forest {
	f := forest{spans, map[string]int{}, make([]int, len(spans))}
	for i, s := range spans {
		f.index[s.id] = i
	}
	for i := range spans {
		f.ancestors(i, func(int) bool { f.depth[i]++; return true })
	}
	return f
}

// ancestors visits the spans around span i from the inside out, until visit returns false.
func (f *forest) ancestors(i int, visit func(int) bool) {
	for range maxDepth {
		up, ok := f.index[f.spans[i].parent]
		if !ok || up == i || f.spans[i].parent == "" || !visit(up) {
			return
		}
		i = up
	}
}

// root is the first span that lies in no other, one with an input if there is one.
func (f *forest) root() int {
	root := -1
	for i, s := range f.spans {
		if f.depth[i] == 0 && (root < 0 || blank(f.spans[root].in) && !blank(s.in)) {
			root = i
		}
	}
	return max(root, 0) // spans may be each other's parents
}

// ends are the spans whose input is the question and whose output is the answer: the root, or where it has none the
// uppermost that do; -1: none.
func (f *forest) ends(root int) (from, to int) {
	from, to = root, root
	if blank(f.spans[root].in) {
		from = uppermost(f.spans, f.depth, func(s *span) bool {
			return !blank(s.in) && s.kind != embedding && s.kind != aside && s.kind != tool
		}, false)
	}
	if blank(f.spans[root].out) {
		to = uppermost(f.spans, f.depth, func(s *span) bool { return !blank(s.out) && (s.kind == step || s.kind == model) }, true)
	}
	return from, to
}

// putInput puts the question, with the conversation before it, from the input of a span.
func (f *forest) putInput(row *Row, from, root int, n *notes) {
	if from < 0 {
		n.say("no input was recorded, so there is no question")
		return
	}
	if from != root {
		n.say("the root span has no input: the question is the input of the uppermost span that has one")
	}
	question, history, plain := asked(f.spans[from].in)
	row.put("question", question)
	row.put("history", history)
	if !plain {
		n.say("the input is an object of no known form, and the question its JSON: name its member with --map question=root_input.MEMBER")
		row.put("root_input", open(f.spans[from].in))
	}
}

// putOutput puts the answer from the output of a span.
func (f *forest) putOutput(row *Row, to, root int, n *notes) {
	if to < 0 {
		n.say("no output was recorded, so there is no answer")
		return
	}
	if to != root {
		n.say("the root span has no output: the answer is the output of the uppermost span that has one, the last of them")
	}
	answer, plain := said(f.spans[to].out)
	row.put("answer", answer)
	if !plain {
		n.say("the output is an object of no known form, and the answer its JSON: name its member with --map answer=root_output.MEMBER")
		row.put("root_output", open(f.spans[to].out))
	}
}

// uppermost returns the span of the least depth of those that fit, the first in time or the last; -1: none.
func uppermost(spans []span, depth []int, fits func(*span) bool, last bool) int {
	best := -1
	for i := range spans {
		if fits(&spans[i]) && (best < 0 || depth[i] < depth[best] || last && depth[i] == depth[best]) {
			best = i
		}
	}
	return best
}

// sourcesOf returns what an output names as its sources, as chains of LangChain and LlamaIndex do; nil: nothing.
func sourcesOf(out any) any {
	return pick(open(out), "source_documents", "context", "contexts", "retrieved_contexts", "source_nodes", "documents")
}

// contextsOf returns the documents of the last reranker, or those of all retrievers that are not inside another; found is
// false if no such span recorded any list of documents.
func contextsOf(spans []span, ancestors func(int, func(int) bool), n *notes) (docs []document, found bool) {
	reranks := slices.ContainsFunc(spans, func(s span) bool { return s.kind == reranker && s.found })
	lists, silent := 0, false
	for i, s := range spans {
		if s.kind != retriever && s.kind != reranker {
			continue
		}
		inner := false
		ancestors(i, func(up int) bool {
			inner = inner || spans[up].kind == s.kind && spans[up].found
			return !inner
		})
		switch {
		case inner:
		case !s.found:
			silent = true
		case reranks && s.kind == reranker:
			docs, found = s.docs, true
		case !reranks:
			docs, found = append(docs, s.docs...), true
			lists++
		}
	}
	if silent && !found {
		n.say("the retriever's documents were not recorded")
	}
	if lists > 1 {
		n.say("several retrievals: the contexts are the documents of all, in order of time")
	}
	seen := map[document]bool{}
	var once []document
	for _, d := range docs {
		key := d
		if d.id != "" {
			key.text = ""
		}
		if !seen[key] {
			seen[key] = true
			once = append(once, d)
		}
	}
	return once, found
}

// callsOf lists the calls of tools: the tool spans, or what the models' replies ask for.
func callsOf(spans []span) []any {
	var calls []any
	for _, s := range spans {
		if s.kind == tool && s.name != "" {
			calls = append(calls, call(s.name, s.args))
		}
	}
	if calls != nil {
		return calls
	}
	for _, s := range spans {
		if s.kind == model {
			for _, m := range messages(s.out) {
				calls = append(calls, m.calls...)
			}
		}
	}
	return calls
}

// sessionOf returns the session of the root, or else of the first span that has one.
func sessionOf(spans []span, root int) string {
	if spans[root].session != "" {
		return spans[root].session
	}
	for _, s := range spans {
		if s.session != "" {
			return s.session
		}
	}
	return ""
}
