// Package exhibit lays out one sample of a run with its evidence in place: what metrics found is joined to the sentences
// of the answer and of the contexts that it is about, for pages that show it.
//
// Findings are text. Where one stands in the answer or in a context is found by its words: the sentence that holds it
// as it is, or else the one that holds most of its words, if that is half of them at least. So a joint says where to
// look, and decides nothing.
package exhibit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// Limits bound what is laid out, so that a page opens whatever a run holds.
type Limits struct {
	Text     int // characters of one text
	Findings int // of one score
}

// An Exhibit is a sample with its evidence. All of its texts are as models and datasets gave them: a page escapes them.
type Exhibit struct {
	Sample     string
	Texts      bool   // the sample itself is known, not only its results
	Focus      string // the metric whose findings are joined to the texts; "": none has such
	History    []Said
	Question   string
	Answer     []Piece
	Contexts   []Context
	References []string
	Others     []Said // further columns that are plain: their name, what they hold
	Results    []Result
	ID         string // begins the ids of its elements, where a page has several exhibits
	Static     bool   // the page cannot ask for another focus, nor for the answers of models

	joined int // findings so far
}

// A Said is a text with its speaker, or its column.
type Said struct{ Who, Text string }

// A Context is one retrieved passage.
type Context struct {
	N      int // from 1
	ID     string
	Class  string // "good" or "bad" where findings are about the whole of it
	Notes  []Note
	Pieces []Piece
}

// A Piece is a sentence of a text with the space before it.
type Piece struct {
	Space string
	Class string // "good", "bad" or "mixed" where findings are about it; else ""
	Notes []Note
	Parts []metrics.Part // its text, cut at marks

	words map[string]bool // in it; nil until it is asked
}

// Text is the piece's text.
func (p *Piece) Text() string {
	var b strings.Builder
	for _, part := range p.Parts {
		b.WriteString(part.Text)
	}
	return b.String()
}

// A Note joins a piece to the finding of that number.
type Note struct {
	N     int
	Class string
}

// A Result is one metric's outcome.
type Result struct {
	Metric, Dimension, Method string
	Doc                       string
	Value                     string // "0.667", "failed", "n/a", "not asked"
	Class                     string // "good", "middle", "bad", "none"
	Share                     string // where the score lies in the range, in percent; "": there is none
	Error                     string
	Findings                  []Finding
	More                      int // findings that are left out
	Calls                     []string
	Focus                     bool // its findings are those that are joined
	Joinable                  bool // it has findings that could be
}

// A Finding is one piece of evidence.
type Finding struct {
	N                          int // its number, where it is joined to a piece; else 0
	Kind, Value, Where, Reason string
	Class                      string // "good" or "bad" where it has a verdict
	Parts                      []metrics.Part
}

// Of lays out a sample, nil where it is not known, with its results. The findings of the focus are joined to the texts;
// "" chooses the worst score that has findings with verdicts.
func Of(sample *metrics.Sample, results []metrics.Result, m *runs.Manifest, focus string, l Limits) *Exhibit {
	e := &Exhibit{Texts: sample != nil}
	if sample != nil {
		e.sample(sample, l)
	}
	if len(results) > 0 {
		e.Sample = results[0].Sample
	}
	e.Focus = choose(results, m, focus)
	for _, r := range results {
		e.Results = append(e.Results, e.result(r, m, l))
	}
	return e
}

func (e *Exhibit) sample(s *metrics.Sample, l Limits) {
	e.Sample, e.Question = s.ID, l.clip(s.Question)
	for _, t := range s.History {
		e.History = append(e.History, Said{string(t.Role), l.clip(t.Text())})
	}
	e.Answer = pieces(l.clip(s.Answer))
	for i, text := range s.Contexts {
		c := Context{N: i + 1, Pieces: pieces(l.clip(text))}
		if i < len(s.ContextIDs) {
			c.ID = l.clip(s.ContextIDs[i])
		}
		e.Contexts = append(e.Contexts, c)
	}
	for _, r := range s.References {
		e.References = append(e.References, l.clip(r))
	}
	for name, raw := range s.Extra {
		e.Others = append(e.Others, Said{name, l.clip(string(raw))})
	}
	slices.SortFunc(e.Others, func(a, b Said) int { return strings.Compare(a.Who, b.Who) })
}

// choose is the metric whose findings are joined: the one wished for, or else the worst of those that have findings
// with verdicts.
func choose(results []metrics.Result, m *runs.Manifest, wish string) string {
	best, least := "", 2.0
	for _, r := range results {
		if r.Score == nil || !joinable(r) {
			continue
		}
		if r.Metric == wish {
			return wish
		}
		if share := goodness(m, r.Metric, r.Score.Value); share < least {
			best, least = r.Metric, share
		}
	}
	return best
}

// joinable reports whether a score has findings that say something of a text.
func joinable(r metrics.Result) bool {
	return r.Score != nil && slices.ContainsFunc(r.Score.Because, func(f metrics.Finding) bool {
		return f.Verdict != nil || len(f.Marks) > 0
	})
}

// goodness is how good a score is, from 0 to 1: the share of the range that lies on its worse side.
func goodness(m *runs.Manifest, name string, value float64) float64 {
	metric, err := m.Find(name)
	if err != nil {
		return 1
	}
	share := metric.Share(value)
	if metric.LowerIsBetter {
		share = 1 - share
	}
	return share
}

// Class says in thirds of the range how good a score is: "bad", "middle" or "good".
func Class(m *runs.Manifest, name string, value float64) string {
	switch share := goodness(m, name, value); {
	case share < 1.0/3:
		return "bad"
	case share < 2.0/3:
		return "middle"
	}
	return "good"
}

// Number is a score as it is shown.
func Number(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

func (e *Exhibit) result(r metrics.Result, m *runs.Manifest, l Limits) Result {
	v := Result{Metric: r.Metric, Focus: r.Metric == e.Focus, Joinable: joinable(r)}
	v.Dimension, v.Method, _ = strings.Cut(r.Metric, "/")
	if metric, err := m.Find(r.Metric); err == nil {
		v.Doc = metric.Doc
		if r.Score != nil {
			v.Share = strconv.FormatFloat(100*metric.Share(r.Score.Value), 'f', 1, 64)
		}
	}
	for _, key := range r.Calls {
		if !slices.Contains(v.Calls, key) {
			v.Calls = append(v.Calls, key)
		}
	}
	if r.Score == nil {
		v.Value, v.Class, v.Error = "failed", "bad", l.clip(string(r.Kind)+": "+r.Error)
		switch r.Kind {
		case metrics.NotApplicable:
			v.Value, v.Class, v.Error = "n/a", "none", l.clip(r.Error)
		case metrics.NotAsked:
			v.Value, v.Class, v.Error = "not asked", "none", ""
		}
		return v
	}
	v.Value, v.Class = Number(r.Score.Value), Class(m, r.Metric, r.Score.Value)
	for i := range r.Score.Because {
		if i == l.Findings {
			v.More = len(r.Score.Because) - i
			break
		}
		f := &r.Score.Because[i]
		shown := finding(f, l)
		if v.Focus {
			shown.N = e.join(f, v.Dimension, shown.Class)
		}
		v.Findings = append(v.Findings, shown)
	}
	return v
}

func finding(f *metrics.Finding, l Limits) Finding {
	v := Finding{Kind: f.Kind, Where: l.clip(f.Where), Reason: l.clip(f.Reason), Parts: l.clipParts(f.Parts())}
	if f.Value != nil {
		v.Value = Number(*f.Value)
	}
	switch {
	case f.Verdict != nil && *f.Verdict:
		v.Class = "good"
	case f.Verdict != nil || len(f.Marks) > 0:
		v.Class = "bad"
	}
	return v
}

// clip bounds a text, and says that it did.
func (l Limits) clip(s string) string {
	if len(s) <= l.Text || utf8.RuneCountInString(s) <= l.Text {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	runes := []rune(s)
	return string(runes[:l.Text]) + fmt.Sprintf(" … (%d more characters)", len(runes)-l.Text)
}

// clipParts is clip for a text that is cut into parts.
func (l Limits) clipParts(parts []metrics.Part) []metrics.Part {
	left := l.Text
	for i, p := range parts {
		n := utf8.RuneCountInString(p.Text)
		if left -= n; left < 0 {
			runes := []rune(p.Text)
			p.Text = string(runes[:n+left])
			more := -left
			for _, rest := range parts[i+1:] {
				more += utf8.RuneCountInString(rest.Text)
			}
			return append(slices.Clone(parts[:i]), p, metrics.Part{Text: fmt.Sprintf(" … (%d more characters)", more)})
		}
	}
	return parts
}
