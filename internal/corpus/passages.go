package corpus

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/assay-eval/assay/tokenize"
)

// A Passage is a run of whole sentences of a document.
type Passage struct {
	ID       string // "guide.md#3": the third passage of guide.md. Stable while the documents and the sizes are
	Document int    // its index in the corpus
	Title    string // the document's
	Text     string // as it stands there
	Words    int
	Start    int // where Text begins and ends in the document's text, in bytes
	End      int
}

// Titled is the passage with the title of its document before it, by which it is found. The passage itself may
// say "it" where its title says what.
func (p Passage) Titled() string {
	if p.Title == "" || strings.HasPrefix(p.Text, p.Title) {
		return p.Text
	}
	return p.Title + "\n" + p.Text
}

// Overlaps reports whether the two passages share text.
func (p Passage) Overlaps(q Passage) bool {
	return p.Document == q.Document && p.Start < q.End && q.Start < p.End
}

// Sizes says how documents are chunked into passages.
type Sizes struct {
	Words   int // a passage has at most so many, unless a single sentence has more
	Overlap int // sentences that a passage repeats from the end of the one before
}

// Check returns an error that says what is wrong with the sizes.
func (s Sizes) Check() error {
	switch {
	case s.Words < 10 || s.Words > 100_000:
		return fmt.Errorf("passages of %d words: want 10 to 100000", s.Words)
	case s.Overlap < 0 || s.Overlap > 100:
		return fmt.Errorf("an overlap of %d sentences: want 0 to 100", s.Overlap)
	}
	return nil
}

// A span is a sentence with its words counted.
type span struct{ start, end, words int }

// Cut chunks documents into passages. The last passage of a document takes in what would be a crumb of less
// than a fifth of a passage. A sentence of more than twice the size (a table, a text without full stops) is
// cut between words. A duplicate, a passage whose words all stood in an earlier one in the same order, is left
// out, and counted in repeated.
func Cut(docs []Document, s Sizes) (passages []Passage, repeated int) {
	seen := map[string]bool{}
	for i, d := range docs {
		cut := cutOne(d.Text, s)
		for n, c := range cut {
			text := d.Text[c.start:c.end]
			if key := tokenize.Normalize(text); key == "" || seen[key] {
				repeated++
				continue
			} else {
				seen[key] = true
			}
			id := fmt.Sprintf("%s#%d", d.ID, n+1)
			if d.Row && len(cut) == 1 {
				id = d.ID
			}
			passages = append(passages, Passage{ID: id, Document: i, Title: d.Title, Text: text, Words: c.words,
				Start: c.start, End: c.end})
		}
	}
	return passages, repeated
}

// cutOne returns the passages of one text.
func cutOne(text string, s Sizes) []span {
	spans := sentenceSpans(text, 2*s.Words)
	var cut []span
	for from := 0; from < len(spans); {
		to, words := from, 0
		for to < len(spans) && (to == from || words+spans[to].words <= s.Words) {
			words += spans[to].words
			to++
		}
		rest := 0
		for _, sp := range spans[to:] {
			if rest += sp.words; rest > s.Words/5 {
				break
			}
		}
		if rest <= s.Words/5 {
			to, words = len(spans), words+rest
		}
		cut = append(cut, span{spans[from].start, spans[to-1].end, words})
		if to == len(spans) {
			break
		}
		// The overlap must leave room for one sentence that is new, or there would be no end.
		back, again := to, 0
		for back > from+1 && to-back < s.Overlap && again+spans[back-1].words+spans[to].words <= s.Words {
			back--
			again += spans[back].words
		}
		from = back
	}
	return cut
}

// sentenceSpans returns the sentences of text, those of more than most words in pieces.
func sentenceSpans(text string, most int) []span {
	var spans []span
	for _, sent := range tokenize.Sentences(text) {
		n := len(tokenize.Words(sent.Text))
		if n <= most {
			spans = append(spans, span{sent.Start, sent.End, n})
			continue
		}
		spans = append(spans, pieces(text, sent, most/2)...)
	}
	return spans
}

// pieces cuts a long sentence at white space after every size fields. What has no white space is left whole.
func pieces(text string, sent tokenize.Sentence, size int) []span {
	var spans []span
	start, fields, inField := sent.Start, 0, false
	add := func(end int) {
		piece := strings.TrimSpace(text[start:end])
		if piece != "" {
			at := start + strings.Index(text[start:end], piece)
			spans = append(spans, span{at, at + len(piece), len(tokenize.Words(piece))})
		}
		start, fields = end, 0
	}
	for i, r := range sent.Text {
		if unicode.IsSpace(r) {
			if inField {
				if fields++; fields >= size {
					add(sent.Start + i)
				}
			}
			inField = false
			continue
		}
		inField = true
	}
	add(sent.End)
	return spans
}
