package ask

import (
	"slices"
	"strings"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// VerdictWords are the phrases, in normal form, that say yes and no in a verdict.
type VerdictWords struct {
	yes, no []string
}

// VerdictWordsOf returns the built-in phrases and those of the prompt.
func VerdictWordsOf(p *prompts.Prompt) VerdictWords {
	return VerdictWords{
		yes: slices.Concat(p.Yes, []string{"yes", "true", "supported", "supported yes", "correct", "entailed"}),
		no: slices.Concat(p.No, []string{"no", "false", "not supported", "unsupported", "supported no", "not true",
			"incorrect", "not correct", "isn t supported", "not entailed", "not directly supported",
			"not explicitly supported"}),
	}
}

// A verdictMark is a phrase of VerdictWords found in a text: words[from:to].
type verdictMark struct {
	from, to int
	yes      bool
}

// Find decides what text, the part of a reply about one of the statements, says. In this order: the
// last phrase after a label such as "Verdict:"; a phrase at the beginning, unless the end contradicts
// it; a phrase at the end; "supported", with or without a negation, if it is always the same; else
// none, since a yes or no in the middle of a sentence may mean anything. The statements, where they are
// repeated, do not count. Of a text that was cut, the last word and the end do not count either.
func (w VerdictWords) Find(text string, statements []string, cut bool) Verdict {
	normal := tokenize.Normalize(text)
	for _, s := range statements {
		if s = tokenize.Normalize(s); strings.Contains(s, " ") && tokenize.ContainsWords(normal, s) {
			normal = strings.TrimSpace(strings.Replace(" "+normal+" ", " "+s+" ", " ", 1))
		}
	}
	words := strings.Fields(normal)
	if cut {
		words = words[:max(0, len(words)-1)]
	}
	marks := w.marks(words)
	if len(marks) == 0 {
		return Verdict{}
	}
	first, last := marks[0], marks[len(marks)-1]
	said := func(m verdictMark) Verdict {
		return Verdict{Given: true, Yes: m.yes, Reason: metrics.Bounded(reasonIn(text))}
	}
	for _, m := range slices.Backward(marks) {
		if m.from > 0 && slices.Contains(verdictLabels, words[m.from-1]) {
			return said(m)
		}
	}
	switch atStart, atEnd := first.from == 0, last.to == len(words) && !cut; {
	case atStart && atEnd && first.yes != last.yes:
		return Verdict{}
	case atStart:
		return said(first)
	case atEnd:
		return said(last)
	}
	other := func(m verdictMark) bool {
		return m.yes != first.yes || !strings.Contains(strings.Join(words[m.from:m.to], " "), "supported")
	}
	if !slices.ContainsFunc(marks, other) {
		return said(first)
	}
	return Verdict{}
}

// verdictLabels are the words after which a verdict stands.
var verdictLabels = []string{"verdict", "verdicts", "answer", "supported", "conclusion", "judgement", "judgment"}

// marks finds the phrases in words, the longest where several begin at one word, none overlapping.
func (w VerdictWords) marks(words []string) []verdictMark {
	var marks []verdictMark
	for i := 0; i < len(words); {
		best := verdictMark{from: i, to: i}
		try := func(phrases []string, yes bool) {
			for _, p := range phrases {
				if parts := strings.Fields(p); len(parts) > best.to-i && startsWith(words[i:], parts) {
					best = verdictMark{i, i + len(parts), yes}
				}
			}
		}
		try(w.yes, true)
		try(w.no, false)
		if best.yes && words[best.to-1] == "supported" && negated(words[max(0, i-3):i]) {
			best.yes = false // "not fully supported"
		}
		if best.to > i {
			marks = append(marks, best)
		}
		i = max(best.to, i+1)
	}
	return marks
}

func negated(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"not", "t", "cannot", "never", "nor", "hardly", "isn", "nowhere"}, w)
	})
}

func startsWith(words, parts []string) bool {
	return len(words) >= len(parts) && slices.Equal(words[:len(parts)], parts)
}

// first joins the lines of an entry up to the first blank line by which it holds a verdict: what follows
// is a note on the whole.
func (w VerdictWords) first(lines []string, statements []string) string {
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			if text := strings.Join(lines[:i], "\n"); w.Find(text, statements, false).Given {
				return text
			}
		}
	}
	return strings.Join(lines, "\n")
}

// reasonIn returns what text says as one line, without quotation marks around it.
func reasonIn(text string) string { return Clean(strings.Join(strings.Fields(text), " ")) }

// fromJSON reads one JSON value as an entry.
func (w VerdictWords) fromJSON(v any) verdictEntry {
	e := verdictEntry{number: -1}
	switch v := v.(type) {
	case bool:
		e.Given, e.Yes = true, v
	case float64:
		e.Given, e.Yes = v == 0 || v == 1, v == 1
	case string:
		e.Verdict = w.Find(v, nil, false)
		if e.Reason == v {
			e.Reason = ""
		}
	case map[string]any:
		for _, field := range []string{"verdict", "answer", "supported", "label"} {
			if value, ok := v[field]; ok && !e.Given {
				e.Verdict = w.fromJSON(value).Verdict
			}
		}
		for _, field := range []string{"number", "id", "index"} {
			if n, ok := v[field].(float64); ok && n >= 0 && n == float64(int(n)) {
				e.number = int(n)
			}
		}
		if text, ok := jsonText(v); ok {
			e.text = tokenize.Normalize(text)
		}
		if reason, ok := v["reason"].(string); ok {
			e.Reason = metrics.Bounded(reason)
		}
	}
	return e
}
