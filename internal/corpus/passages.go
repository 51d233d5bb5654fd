package corpus

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/assay-eval/assay/internal/document"
	"github.com/assay-eval/assay/tokenize"
)

// A Passage is a run of whole sentences of a document.
type Passage struct {
	ID       string // "guide.md#3": the third passage of guide.md. Stable while the documents and the sizes are
	Document int    // its index in the corpus
	Title    string // of the document and of the sections that it is in, from the outermost: "Guide > Installing"
	Text     string // as it stands there
	Words    int
	Start    int // where Text begins and ends in the document's text, in bytes
	End      int
}

// Titled is the passage with its title before it, by which it is found: the passage itself may say "it" where its title
// says what. The title belongs to the first sentence and makes none of its own, so that whoever counts the sentences of a
// context counts those of the document. A title that cannot be put so is left out.
func (p Passage) Titled() string {
	title := strings.TrimRightFunc(p.Title, func(r rune) bool { return unicode.IsPunct(r) && r != ')' && r != ']' || unicode.IsSpace(r) })
	if title == "" || strings.HasPrefix(p.Text, title) {
		return p.Text
	}
	for _, titled := range []string{title + ": " + p.Text, "(" + title + ") " + p.Text} {
		if len(tokenize.Sentences(titled)) == len(tokenize.Sentences(p.Text)) {
			return titled
		}
	}
	return p.Text
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

// Cut chunks documents into passages, none of which reaches over a heading. The last passage of a section takes in what
// would be a crumb of less than a fifth of a passage. A sentence of more than twice the size (a table, a text without full
// stops) is cut between words. A duplicate, a passage whose words all stood in an earlier one in the same order, below the
// same headings, is left out, and counted in repeated.
func Cut(docs []Document, s Sizes) (passages []Passage, repeated int) {
	seen := map[string]bool{}
	for i, d := range docs {
		sections := d.sections()
		n := 0
		for _, section := range sections {
			body := d.Text[section.start:section.end]
			for _, c := range cutOne(body, s) {
				n++
				text := body[c.start:c.end]
				key := tokenize.Normalize(text)
				if key == "" || seen[section.below+"\x00"+key] {
					repeated++
					continue
				}
				seen[section.below+"\x00"+key] = true
				passages = append(passages, Passage{ID: fmt.Sprintf("%s#%d", d.ID, n), Document: i, Title: section.title,
					Text: text, Words: c.words, Start: section.start + c.start, End: section.start + c.end})
			}
		}
		if last := len(passages) - 1; d.Row && n == 1 && last >= 0 && passages[last].Document == i {
			passages[last].ID = d.ID
		}
	}
	return passages, repeated
}

// A section is a part of a document below one heading, without that.
type section struct {
	title      string // of the document and the headings
	below      string // the headings alone
	start, end int
}

// sections are the parts of a document. A heading with no text below it, neither its own nor that of a section within it,
// is the text of its section.
func (d *Document) sections() []section {
	list := []section{{title: d.Title, end: len(d.Text)}}
	var open []document.Heading
	for i, h := range d.Headings {
		list[len(list)-1].end = h.Start
		for len(open) > 0 && open[len(open)-1].Level >= h.Level {
			open = open[:len(open)-1]
		}
		end := len(d.Text)
		deeper := false
		if i+1 < len(d.Headings) {
			end, deeper = d.Headings[i+1].Start, d.Headings[i+1].Level > h.Level
		}
		one := section{start: h.End, end: end}
		if !deeper && !tokenize.HasWords(d.Text[h.End:end]) {
			one.start = h.Start
		} else {
			open = append(open, h)
		}
		one.title, one.below = pathOf(d.Title, open)
		list = append(list, one)
	}
	return list
}

// pathOf joins the titles of a document and its open headings, the outermost first. Where that is too long for a title, the
// headings in the middle are left out.
func pathOf(title string, open []document.Heading) (whole, below string) {
	var parts []string
	for _, h := range open {
		if h.Title != title { // as that of a document often is its first heading
			parts = append(parts, h.Title)
		}
	}
	below = strings.Join(parts, " > ")
	if title != "" {
		parts = append([]string{title}, parts...)
	}
	for len(parts) > 1 && len(strings.Join(parts, " > ")) > document.MaxTitle {
		parts = append(parts[:1:1], parts[2:]...)
		if len(parts) == 2 && len(parts[0])+len(parts[1])+3 > document.MaxTitle {
			parts = parts[1:]
		}
	}
	return strings.Join(parts, " > "), below
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

// Load reads a corpus and cuts it, and tells say and warn what it left out.
func Load(ctx context.Context, name string, s Sizes, say, warn func(format string, args ...any)) (*Corpus, []Passage,
	error) {
	if err := s.Check(); err != nil {
		return nil, nil, err
	}
	c, err := Read(ctx, name, Limits{})
	if err != nil {
		return nil, nil, err
	}
	const most = 5
	for i, skipped := range c.Skipped {
		if i == most {
			warn("and %d more were passed over", len(c.Skipped)-most)
			break
		}
		warn("passed over %q: %s", skipped.Name, skipped.Why)
	}
	passages, repeated := Cut(c.Documents, s)
	if len(passages) == 0 {
		return nil, nil, fmt.Errorf("corpus %s: no text in it", name)
	}
	if repeated > 0 {
		say("%d passages that repeat others, or hold no words, are left out", repeated)
	}
	say("%d documents, %d passages", len(c.Documents), len(passages))
	return c, passages, nil
}
