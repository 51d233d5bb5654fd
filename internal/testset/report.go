package testset

import (
	"cmp"
	"maps"
	"slices"
)

// A Report says what became of the passages that were asked about.
type Report struct {
	Wanted   int          `json:"wanted"`   // questions
	Asked    int          `json:"asked"`    // passages that a question was written about
	Tried    int          `json:"tried"`    // questions about them
	Kept     int          `json:"kept"`     // questions
	Lost     int          `json:"lost"`     // questions that do not find their passage: kept as negatives
	Short    int          `json:"short"`    // passages of fewer words than are asked about
	Left     int          `json:"left"`     // passages that were not needed
	Rows     int          `json:"rows"`     //
	Types    map[Type]int `json:"types"`    // of the questions kept
	Kinds    map[Kind]int `json:"kinds"`    // of the rows
	Dropped  []DropCount  `json:"dropped"`  // the most frequent reason first
	Missing  int          `json:"missing"`  // contradictions that the model did not manage
	Passages int          `json:"passages"` // of the corpus
}

// A DropCount is a reason for which questions were dropped.
type DropCount struct {
	Reason   string    `json:"reason"`
	N        int       `json:"n"`
	Examples []Dropped `json:"examples"` // the first few
}

// A Dropped is one question that was dropped.
type Dropped struct {
	Passages []string `json:"passages"`
	Question string   `json:"question,omitempty"`
	Detail   string   `json:"detail,omitempty"`
}

// Report counts what became of the drafts.
func (m *Maker) Report(drafts []Draft, rows []Row) Report {
	const examples = 3
	each := max(1, m.PerPassage)
	r := Report{Wanted: m.N, Asked: (len(drafts) + each - 1) / each, Tried: len(drafts), Rows: len(rows), Types: map[Type]int{}, Kinds: map[Kind]int{},
		Passages: len(m.Retriever.Passages), Dropped: []DropCount{}}
	candidates := len(m.candidates())
	r.Short, r.Left = r.Passages-candidates, candidates-r.Asked
	reasons := map[string]*DropCount{}
	for _, d := range drafts {
		switch {
		case d.Lost:
			r.Lost++
		case d.Dropped == "":
			r.Kept++
			r.Types[d.Type]++
			if m.Recipe == ARES && d.Type != Unanswerable && d.Contradiction == "" {
				r.Missing++
			}
		default:
			c := reasons[d.Dropped]
			if c == nil {
				c = &DropCount{Reason: d.Dropped}
				reasons[d.Dropped] = c
			}
			if c.N++; c.N <= examples {
				c.Examples = append(c.Examples, Dropped{d.Passages, d.Question, d.Detail})
			}
		}
	}
	for _, row := range rows {
		r.Kinds[row.Kind]++
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		r.Dropped = append(r.Dropped, *reasons[reason])
	}
	slices.SortStableFunc(r.Dropped, func(a, b DropCount) int { return cmp.Compare(b.N, a.N) })
	return r
}
