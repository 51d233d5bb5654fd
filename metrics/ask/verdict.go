package ask

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/assay-eval/assay/tokenize"
)

// A Verdict is the judge's decision on one statement: supported (entailed) or not.
type Verdict struct {
	Given  bool // whether there is one
	Yes    bool
	Reason string // the judge's own words, bounded
}

// ErrNoVerdict says that a reply holds no verdict on any of the statements.
var ErrNoVerdict = errors.New("no verdict in the reply")

// DecodeVerdicts finds the verdicts on statements in a reply: one per statement, in their order, not
// given where the reply has none or two that disagree. It is an error if none is given at all.
//
// A verdict belongs to the statement whose number it bears or whose text it repeats: see align. Mere order counts
// only where there is no other reading: no numbers, and as many verdicts as statements. What a cut reply did not come
// to is only missing, since each verdict stands by itself.
func DecodeVerdicts(r Reply, statements []string, words VerdictWords) ([]Verdict, error) {
	entries := jsonVerdicts(r.Text, words)
	if entries == nil {
		entries = textVerdicts(r, statements, words)
	}
	verdicts := make([]Verdict, len(statements))
	disputed := make([]bool, len(statements))
	for i, at := range align(entries, statements) {
		e := entries[i]
		switch {
		case at < 0 || !e.Given:
		case !verdicts[at].Given:
			verdicts[at] = e.Verdict
		case verdicts[at].Yes != e.Yes:
			disputed[at] = true
		}
	}
	given := 0
	for i := range verdicts {
		if disputed[i] {
			verdicts[i] = Verdict{}
		}
		if verdicts[i].Given {
			given++
		}
	}
	if given == 0 {
		return nil, ErrNoVerdict
	}
	return verdicts, nil
}

// A verdictEntry is one part of a reply: what it is about and what it says.
type verdictEntry struct {
	number int    // -1 if it bears none
	text   string // in normal form
	Verdict
}

// align says for each entry which statement it is about, -1 for none.
//
// Numbers that count up from the first one are believed, unless the entry begins with the text of
// another statement: then the judge has skipped one or lost count, and it is about neither. Other
// numbers count only where no statement is repeated.
func align(entries []verdictEntry, statements []string) []int {
	normal := make([]string, len(statements))
	for i, s := range statements {
		normal[i] = tokenize.Normalize(s)
	}
	base, counted, numbered := numbering(entries, len(statements))
	at := make([]int, len(entries))
	for i, e := range entries {
		at[i] = -1
		own := e.number - base
		inRange := e.number >= base && own < len(statements)
		switch {
		case counted && inRange:
			if other := echoed(e.text, normal, strings.HasPrefix); other < 0 || other == own {
				at[i] = own
			}
		case counted: // one more than there are statements
		case echoed(e.text, normal, strings.Contains) >= 0:
			at[i] = echoed(e.text, normal, strings.Contains)
		case inRange:
			at[i] = own
		case !numbered && len(entries) == len(statements), len(entries) == 1 && len(statements) == 1:
			at[i] = i
		}
	}
	return at
}

// numbering describes the numbers of entries about n statements: which one the count begins at, whether
// all of them count up from there (gaps allowed), and whether there are any.
func numbering(entries []verdictEntry, n int) (base int, counted, numbered bool) {
	base, counted = 1, len(entries) > 0
	if counted && entries[0].number == 0 && entries[len(entries)-1].number == n-1 {
		base = 0
	}
	for i, e := range entries {
		numbered = numbered || e.number >= 0
		if i == 0 && e.number != base || i > 0 && e.number <= entries[i-1].number {
			counted = false
		}
	}
	return base, counted, numbered
}

// echoed returns the statement that text repeats, where within says; the longest if several, -1 if none
// or if it stands twice. A statement of one or two words is no evidence: it may occur by chance.
func echoed(text string, statements []string, within func(text, part string) bool) int {
	best := -1
	for i, s := range statements {
		if strings.Count(s, " ") < 2 || !within(" "+text+" ", " "+s+" ") {
			continue
		}
		switch {
		case best < 0 || len(s) > len(statements[best]):
			best = i
		case s == statements[best]:
			return -1
		}
	}
	return best
}

// textVerdicts cuts a reply into entries: what stands from one number to the next, or each line if
// there are no numbers. With a single statement the whole reply may be its verdict.
func textVerdicts(r Reply, statements []string, words VerdictWords) []verdictEntry {
	var entries []verdictEntry
	var parts [][]string // the lines of each entry
	add := func(number int, line string) {
		entries = append(entries, verdictEntry{number: number})
		parts = append(parts, []string{line})
	}
	lines := strings.Split(strings.TrimSpace(r.Text), "\n")
	numbered := slices.ContainsFunc(lines, func(line string) bool {
		it, ok := ParseItem(strings.TrimSpace(line))
		return ok && it.Number >= 0
	})
	for _, line := range lines {
		line = strings.TrimSpace(line)
		it, ok := ParseItem(line)
		switch {
		case ok && (it.Number >= 0 || !numbered):
			add(it.Number, it.Text)
		case numbered && len(parts) > 0:
			parts[len(parts)-1] = append(parts[len(parts)-1], line)
		case !numbered && tokenize.HasWords(line) && !Preamble(line):
			add(-1, line)
		}
	}
	if !numbered && len(statements) == 1 {
		entries, parts = []verdictEntry{{number: 1}}, [][]string{lines}
	}
	for i := range entries {
		text := words.first(parts[i], statements)
		entries[i].text = tokenize.Normalize(text)
		entries[i].Verdict = words.Find(text, statements, r.Cut && i == len(entries)-1)
	}
	return entries
}

// jsonVerdicts reads verdicts from JSON: an array of truth values, words or objects, or an object that
// holds one, or one whose fields are numbers. It returns nil if the reply is no such JSON.
func jsonVerdicts(text string, words VerdictWords) []verdictEntry {
	v, ok := findJSON(text)
	if !ok {
		return nil
	}
	switch v := v.(type) {
	case []any:
		entries := []verdictEntry{}
		for _, e := range v {
			entries = append(entries, words.fromJSON(e))
		}
		return entries
	case map[string]any:
		if e := words.fromJSON(v); e.Given {
			return []verdictEntry{e}
		}
		return fieldVerdicts(v, words)
	}
	return nil
}

// fieldVerdicts reads an object that holds an array of verdicts, or one field per verdict.
func fieldVerdicts(object map[string]any, words VerdictWords) []verdictEntry {
	if list, ok := object["verdicts"].([]any); ok {
		object = map[string]any{"verdicts": list}
	}
	var entries []verdictEntry
	for _, field := range slices.Sorted(maps.Keys(object)) {
		list, ok := object[field].([]any)
		if ok && len(object) == 1 {
			for _, e := range list {
				entries = append(entries, words.fromJSON(e))
			}
			return entries
		}
		e := words.fromJSON(object[field])
		if it, ok := ParseItem(field + "."); ok {
			e.number = it.Number
		} else {
			e.number = noOrder
			e.text = tokenize.Normalize(field)
		}
		entries = append(entries, e)
	}
	return entries
}

// noOrder is the number of an entry that stands in no order and bears no number: an object's field.
const noOrder = 1 << 30
