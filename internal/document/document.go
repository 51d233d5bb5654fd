// Package document reads one document as people have it: plain text, Markdown, HTML, LaTeX, Jupyter notebooks, CSV, DOCX
// and EPUB; internal/document/pdf reads PDF. What comes out is what the document says, without markup, with the places of
// its headings.
//
// Documents are untrusted: the time, memory, nesting and decompressed size that one may take are bounded. One that cannot
// be read is an error that says why; a part of one that cannot be read is named in [Document.Lost].
package document

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Document is what a file says.
type Document struct {
	Title    string    // "" if it has none
	Text     string    // UTF-8; blocks are apart by empty lines
	Headings []Heading // in order
	Lost     []string  // parts that hold no text or cannot be read, each with the reason: "page 3 holds no text"
}

// A Heading is a heading of a document. Text[Start:End] holds it.
type Heading struct {
	Level      int // from 1, the outermost, to 9
	Title      string
	Start, End int // bytes
}

// MaxTitle is how long the title of a document or heading may be, in bytes: it is put before every passage. A longer one is
// text and no title.
const MaxTitle = 200

// A Kind is a format of documents.
type Kind string

// The kinds that are told by their names.
const (
	Text     Kind = "text"
	Markdown Kind = "markdown"
	HTML     Kind = "html"
	LaTeX    Kind = "latex"
	Notebook Kind = "notebook"
	CSV      Kind = "csv"
	DOCX     Kind = "docx"
	EPUB     Kind = "epub"
	PDF      Kind = "pdf" // read by internal/document/pdf
)

// KindOf returns the kind of a file by the ending of its name, "" if it has none of a document.
func KindOf(name string) Kind {
	switch strings.ToLower(path.Ext(name)) {
	case ".txt", ".text":
		return Text
	case ".md", ".markdown":
		return Markdown
	case ".html", ".htm", ".xhtml":
		return HTML
	case ".tex", ".latex", ".ltx":
		return LaTeX
	case ".ipynb":
		return Notebook
	case ".csv", ".tsv":
		return CSV
	case ".docx", ".docm":
		return DOCX
	case ".epub":
		return EPUB
	case ".pdf":
		return PDF
	}
	return ""
}

// Endings names the files that are documents, for a message.
const Endings = ".pdf, .docx, .epub, .html, .md, .tex, .ipynb, .csv or .txt"

// Packed reports whether a kind is binary: its files are larger than what they say.
func (k Kind) Packed() bool { return k == DOCX || k == EPUB || k == PDF }

// Read reads a document of a kind other than PDF. It says no more than most bytes of text. Reading ends with ctx.
func Read(ctx context.Context, kind Kind, b []byte, most int) (*Document, error) {
	w := &Writer{most: most}
	var err error
	switch kind {
	case DOCX:
		err = w.docx(ctx, b)
	case EPUB:
		err = w.epub(ctx, b)
	default:
		b = bytes.TrimPrefix(b, []byte("\uFEFF"))
		if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
			return nil, errors.New("it is not UTF-8 text")
		}
		err = w.plain(ctx, kind, bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))
	}
	if err = cmp.Or(ctx.Err(), err, w.err); err != nil {
		return nil, err
	}
	return w.Document(), nil
}

func (w *Writer) plain(ctx context.Context, kind Kind, b []byte) error {
	switch kind {
	case HTML:
		return w.html(ctx, bytes.NewReader(b))
	case Markdown:
		return w.markdown(ctx, frontMatter(b))
	case LaTeX:
		w.latex(string(b))
		return nil
	case Notebook:
		return w.notebook(ctx, b)
	case CSV:
		return w.table(b)
	}
	w.write(string(b))
	return nil
}

// frontMatter removes the block between two lines "---" that a file may begin with.
func frontMatter(b []byte) []byte {
	rest, ok := bytes.CutPrefix(b, []byte("---\n"))
	if !ok {
		return b
	}
	if _, after, ok := bytes.Cut(rest, []byte("\n---\n")); ok {
		return after
	}
	return b
}

// A Writer puts a document together from its blocks.
type Writer struct {
	Title string   // of the document; without one its first heading of the outermost level is
	Lost  []string // what is to be told of parts that could not be read

	body     strings.Builder
	gap      string // white space to come before the next text
	headings []Heading
	open     *Heading // the heading that is being written; its Start is -1 before its first text
	most     int
	err      error
}

// NewWriter returns a Writer of a document with at most so many bytes of text.
func NewWriter(most int) *Writer { return &Writer{most: most} }

// Paragraph adds a block of text.
func (w *Writer) Paragraph(text string) {
	w.endHeading()
	w.space("\n\n")
	w.write(text)
	w.space("\n\n")
}

// Heading adds a heading of a level.
func (w *Writer) Heading(level int, text string) {
	w.beginHeading(level)
	w.write(text)
	w.endHeading()
}

// Document returns the document, or the error that its text is longer than it may be.
func (w *Writer) Document() *Document {
	w.endHeading()
	text := strings.TrimRight(w.body.String(), " \n\t")
	d := &Document{Title: oneLine(w.Title), Text: text, Headings: w.headings, Lost: w.Lost}
	if d.Title == "" {
		if top := slices.MinFunc(append(w.headings, Heading{Level: 10}), func(a, b Heading) int {
			return cmp.Compare(a.Level, b.Level)
		}); top.Level < 10 {
			d.Title = top.Title
		}
	}
	return d
}

// Err says that the text grew longer than it may be.
func (w *Writer) Err() error { return w.err }

// oneLine is a title without line breaks; one that is too long is none.
func oneLine(s string) string {
	if s = strings.Join(strings.Fields(s), " "); len(s) > MaxTitle {
		return ""
	}
	return s
}

func (w *Writer) beginHeading(level int) {
	w.endHeading()
	w.space("\n\n")
	w.open = &Heading{Level: min(max(level, 1), 9), Start: -1}
}

func (w *Writer) endHeading() {
	if w.open == nil {
		return
	}
	h := *w.open
	w.open = nil
	w.space("\n\n")
	if h.Start < 0 {
		return
	}
	h.End = w.body.Len()
	if h.Title = oneLine(w.body.String()[h.Start:h.End]); h.Title != "" {
		w.headings = append(w.headings, h)
	}
}

// space asks for white space before the next text: the widest that anyone asked for.
func (w *Writer) space(s string) {
	if len(s) > len(w.gap) || s == "\n" && w.gap == " " {
		w.gap = s
	}
}

func (w *Writer) write(s string) {
	if s == "" || w.err != nil {
		return
	}
	if w.body.Len()+len(s) > w.most {
		w.err = fmt.Errorf("it says more than %d bytes of text", w.most)
		return
	}
	if w.body.Len() > 0 {
		w.body.WriteString(w.gap)
	}
	w.gap = ""
	if w.open != nil && w.open.Start < 0 {
		w.open.Start = w.body.Len()
	}
	w.body.WriteString(s)
}

// words adds running text, in which any run of white space is one space.
func (w *Writer) words(s string) {
	words := strings.Fields(s)
	if len(words) == 0 {
		if s != "" {
			w.space(" ")
		}
		return
	}
	if strings.ContainsRune(" \n\t", rune(s[0])) {
		w.space(" ")
	}
	w.write(strings.Join(words, " "))
	if strings.ContainsRune(" \n\t", rune(s[len(s)-1])) {
		w.space(" ")
	}
}
