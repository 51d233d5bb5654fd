package metrics

import (
	"errors"
	"slices"
	"strings"

	"github.com/assay-eval/assay/tokenize"
)

// A verdict is the judge's word on one statement.
type verdict struct {
	given  bool // whether there is one
	yes    bool
	reason string // the judge's own words, bounded
}

// errNoVerdict says that a reply holds no verdict on any of the statements.
var errNoVerdict = errors.New("no verdict in the reply")

// decodeVerdicts finds the verdicts on statements in a reply: one per statement, in their order, not
// given where the reply has none or two that disagree. It is an error if none is given at all.
//
// A verdict belongs to the statement whose text it repeats, else to the one whose number it bears.
// Mere order counts only where there is no other reading: no numbers, and as many verdicts as
// statements. What the reply says after a cut is only missing, since each verdict stands by itself.
func decodeVerdicts(r reply, statements []string, words verdictWords) ([]verdict, error) {
	entries := jsonVerdicts(r.text, words)
	if entries == nil {
		entries = textVerdicts(r, statements, words)
	}
	verdicts := make([]verdict, len(statements))
	disputed := make([]bool, len(statements))
	for i, at := range align(entries, statements) {
		e := entries[i]
		switch {
		case at < 0 || !e.given:
		case !verdicts[at].given:
			verdicts[at] = e.verdict
		case verdicts[at].yes != e.yes:
			disputed[at] = true
		}
	}
	given := 0
	for i := range verdicts {
		if disputed[i] {
			verdicts[i] = verdict{}
		}
		if verdicts[i].given {
			given++
		}
	}
	if given == 0 {
		return nil, errNoVerdict
	}
	return verdicts, nil
}

// A verdictEntry is one part of a reply: what it is about and what it says.
type verdictEntry struct {
	number int    // -1 if it bears none
	text   string // in normal form
	verdict
}

// align says for each entry which statement it is about, -1 for none.
func align(entries []verdictEntry, statements []string) []int {
	normal := make([]string, len(statements))
	for i, s := range statements {
		normal[i] = tokenize.Normalize(s)
	}
	lowest, highest, numbered := len(statements)+1, -1, 0
	for _, e := range entries {
		if e.number >= 0 {
			lowest, highest = min(lowest, e.number), max(highest, e.number)
			numbered++
		}
	}
	base := 1
	if lowest == 0 && highest == len(statements)-1 {
		base = 0
	}
	at := make([]int, len(entries))
	for i, e := range entries {
		switch at[i] = echoed(e.text, normal); {
		case at[i] >= 0:
		case e.number >= base && e.number < base+len(statements):
			at[i] = e.number - base
		case numbered == 0 && len(entries) == len(statements), len(entries) == 1 && len(statements) == 1:
			at[i] = i
		}
	}
	return at
}

// echoed returns the statement that text repeats, the longest if several, -1 if none. A statement of
// one or two words is no evidence: it may occur by chance. One that stands twice is not told apart.
func echoed(text string, statements []string) int {
	best := -1
	for i, s := range statements {
		if strings.Count(s, " ") < 2 || !containsWords(text, s) {
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

// containsWords reports whether part occurs in text, from word boundary to word boundary; both are in
// normal form.
func containsWords(text, part string) bool {
	return strings.Contains(" "+text+" ", " "+part+" ")
}

// textVerdicts cuts a reply into entries: what stands from one number to the next, or each line if
// there are no numbers. With a single statement the whole reply may be its verdict.
func textVerdicts(r reply, statements []string, words verdictWords) []verdictEntry {
	var entries []verdictEntry
	var parts [][]string // the lines of each entry
	add := func(number int, line string) {
		entries = append(entries, verdictEntry{number: number})
		parts = append(parts, []string{line})
	}
	lines := strings.Split(strings.TrimSpace(r.text), "\n")
	numbered := slices.ContainsFunc(lines, func(line string) bool {
		it, ok := parseItem(strings.TrimSpace(line))
		return ok && it.number >= 0
	})
	for _, line := range lines {
		line = strings.TrimSpace(line)
		it, ok := parseItem(line)
		switch {
		case ok && (it.number >= 0 || !numbered):
			add(it.number, it.text)
		case numbered && len(parts) > 0:
			parts[len(parts)-1] = append(parts[len(parts)-1], line)
		case !numbered && tokenize.HasWords(line) && !preamble(line):
			add(-1, line)
		}
	}
	if !numbered && len(statements) == 1 {
		entries, parts = []verdictEntry{{number: 1}}, [][]string{lines}
	}
	for i := range entries {
		text := words.first(parts[i], statements)
		entries[i].text = tokenize.Normalize(text)
		entries[i].verdict = words.find(text, statements)
	}
	if r.cut && len(entries) > 0 && len(statements) > 1 {
		entries = entries[:len(entries)-1] // its verdict may be a word of an unfinished reason
	}
	return entries
}

// jsonVerdicts reads verdicts from JSON: an array of truth values, words or objects, or an object that
// holds one, or one whose fields are numbers. It returns nil if the reply is no such JSON.
func jsonVerdicts(text string, words verdictWords) []verdictEntry {
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
		if e := words.fromJSON(v); e.given {
			return []verdictEntry{e}
		}
		return fieldVerdicts(v, words)
	}
	return nil
}

// fieldVerdicts reads an object that holds an array of verdicts, or one field per verdict.
func fieldVerdicts(object map[string]any, words verdictWords) []verdictEntry {
	var entries []verdictEntry
	for field, v := range object {
		if list, ok := v.([]any); ok {
			for _, e := range list {
				entries = append(entries, words.fromJSON(e))
			}
			return entries
		}
		e := words.fromJSON(v)
		if it, ok := parseItem(field + "."); ok {
			e.number = it.number
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
