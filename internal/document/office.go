package document

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mostUnpacked is how many bytes one file within a DOCX or EPUB may have, and all that are read of it four times that.
const mostUnpacked = 64 << 20

// An archive is a ZIP file of which only so much is unpacked.
type archive struct {
	files map[string]*zip.File
	left  int64
}

func unpack(b []byte) (*archive, error) {
	if bytes.HasPrefix(b, []byte("\xd0\xcf\x11\xe0")) {
		return nil, errors.New("it is encrypted with a password, or of the format before DOCX: save it as DOCX without one")
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, fmt.Errorf("it is damaged: %v", err)
	}
	a := &archive{files: make(map[string]*zip.File), left: 4 * mostUnpacked}
	for _, f := range z.File {
		if _, ok := a.files[f.Name]; !ok {
			a.files[f.Name] = f
		}
	}
	return a, nil
}

var errAbsent = errors.New("it is not there")

// read unpacks one file.
func (a *archive) read(name string) ([]byte, error) {
	f, ok := a.files[name]
	if !ok {
		return nil, errAbsent
	}
	if f.Flags&1 != 0 {
		return nil, errors.New("it is encrypted")
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, min(mostUnpacked, a.left)+1))
	if int64(len(b)) > min(mostUnpacked, a.left) {
		return nil, fmt.Errorf("it unpacks to more than %d MiB", min(mostUnpacked, a.left)>>20)
	}
	a.left -= int64(len(b))
	return b, err
}

// elements calls each for the tokens of an XML file. Nothing recurses; an element nested deeper than 10 000 ends it.
func elements(ctx context.Context, b []byte, each func(xml.Token) error) error {
	d := xml.NewDecoder(bytes.NewReader(b))
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("its encoding is %q and not UTF-8", charset)
	}
	deep := 0
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch t.(type) {
		case xml.StartElement:
			if deep++; deep > 10_000 {
				return errors.New("its elements nest too deeply")
			}
		case xml.EndElement:
			deep--
		}
		if err := each(t); err != nil {
			return err
		}
	}
}

// val is the attribute of an element by its local name.
func val(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// textOf returns the text of the first element of a name, such as the title of a document's properties.
func textOf(ctx context.Context, b []byte, name string) string {
	var text strings.Builder
	in, done := false, false
	_ = elements(ctx, b, func(t xml.Token) error { // what was read before an error counts
		switch t := t.(type) {
		case xml.StartElement:
			in = in || t.Name.Local == name && !done
		case xml.EndElement:
			if t.Name.Local == name {
				in, done = false, true
			}
		case xml.CharData:
			if in {
				text.Write(t)
			}
		}
		return nil
	})
	return strings.ToValidUTF8(text.String(), "\uFFFD")
}

// docx adds the text of a DOCX (ECMA-376): its paragraphs, lists, tables, formulas and notes, in the order in which they
// stand, with the headings that its styles name. What was deleted while changes were tracked is left out.
func (w *Writer) docx(ctx context.Context, b []byte) error {
	a, err := unpack(b)
	if err != nil {
		return err
	}
	body, err := a.read("word/document.xml")
	if errors.Is(err, errAbsent) {
		return errors.New("it is no DOCX: it holds no word/document.xml")
	} else if err != nil {
		return fmt.Errorf("its text cannot be read: %w", err)
	}
	d := docx{Writer: w, styles: map[string]int{}, notes: map[string]string{}}
	if styles, err := a.read("word/styles.xml"); err == nil {
		d.readStyles(ctx, styles)
	}
	for _, kind := range []string{"footnote", "endnote"} {
		if notes, err := a.read("word/" + kind + "s.xml"); err == nil {
			d.readNotes(ctx, kind, notes)
		}
	}
	if core, err := a.read("docProps/core.xml"); err == nil {
		w.Title = oneLine(textOf(ctx, core, "title"))
	}
	if err := elements(ctx, body, d.token); err != nil {
		return fmt.Errorf("its text cannot be read: %w", err)
	}
	d.paragraph()
	return nil
}

// titleLevel marks the style of a document's title.
const titleLevel = -1

type docx struct {
	*Writer
	styles map[string]int    // levels of headings by the id of their style
	notes  map[string]string // texts of foot- and endnotes by their kind and number
	text   strings.Builder   // of the paragraph
	level  int
	item   bool
	skip   int  // open elements within what is not read
	inText bool // within w:t or m:t
	cells  int  // open table cells
}

func (d *docx) readStyles(ctx context.Context, b []byte) {
	id := ""
	_ = elements(ctx, b, func(t xml.Token) error { // without styles there are no headings
		e, ok := t.(xml.StartElement)
		if !ok {
			return nil
		}
		switch e.Name.Local {
		case "style":
			id = val(e, "styleId")
		case "name":
			name := strings.ToLower(val(e, "val"))
			if name == "title" {
				d.styles[id] = titleLevel
			} else if n, err := strconv.Atoi(strings.TrimPrefix(name, "heading ")); err == nil && n > 0 {
				d.styles[id] = n
			}
		case "outlineLvl":
			if n, err := strconv.Atoi(val(e, "val")); err == nil && n >= 0 && n < 9 && d.styles[id] == 0 {
				d.styles[id] = n + 1
			}
		}
		return nil
	})
}

func (d *docx) readNotes(ctx context.Context, kind string, b []byte) {
	id, in := "", false
	_ = elements(ctx, b, func(t xml.Token) error { // notes that cannot be read leave the text as it is
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case kind:
				id = kind + val(t, "id")
			case "t":
				in = true
			}
		case xml.EndElement:
			in = false
		case xml.CharData:
			if in && len(d.notes[id]) < 1<<14 {
				d.notes[id] += string(t)
			}
		}
		return nil
	})
}

func (d *docx) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if d.skip > 0 || t.Name.Local == "Fallback" || t.Name.Local == "del" || t.Name.Local == "moveFrom" {
			d.skip++
			return nil
		}
		d.start(t)
	case xml.EndElement:
		if d.skip > 0 {
			d.skip--
			return nil
		}
		d.end(t.Name.Local)
	case xml.CharData:
		if d.inText && d.skip == 0 {
			d.text.Write(t)
		}
	}
	return d.err
}

// around is what stands before and after the parts of a formula.
var around = map[string][2]string{"num": {"(", ")"}, "den": {"/(", ")"}, "sup": {"^(", ")"}, "sub": {"_(", ")"},
	"rad": {"sqrt(", ")"}}

func (d *docx) start(e xml.StartElement) {
	switch e.Name.Local {
	case "p":
		if d.cells == 0 {
			d.paragraph()
		} else if d.text.Len() > 0 {
			d.text.WriteString(" ")
		}
	case "pStyle":
		if n, ok := d.styles[val(e, "val")]; ok {
			d.level = n
		}
	case "outlineLvl":
		if n, err := strconv.Atoi(val(e, "val")); err == nil && n >= 0 && n < 9 {
			d.level = n + 1
		}
	case "numPr":
		d.item = true
	case "t":
		d.inText = true
	case "tab", "cr", "br":
		d.text.WriteString(" ")
	case "noBreakHyphen":
		d.text.WriteString("-")
	case "footnoteReference", "endnoteReference":
		kind := strings.TrimSuffix(e.Name.Local, "Reference")
		if note := strings.Join(strings.Fields(d.notes[kind+val(e, "id")]), " "); note != "" {
			d.text.WriteString(" (" + note + ")")
		}
	case "tbl":
		if d.cells == 0 {
			d.paragraph()
			d.space("\n\n")
		}
	case "tc":
		d.cells++
	default:
		d.text.WriteString(around[e.Name.Local][0])
	}
}

func (d *docx) end(name string) {
	switch name {
	case "p":
		if d.cells == 0 {
			d.paragraph()
		}
	case "t":
		d.inText = false
	case "tc":
		d.cells = max(0, d.cells-1)
		d.text.WriteString(" ")
	case "tr":
		if d.cells == 0 {
			d.endHeading()
			d.space("\n")
			d.words(strings.ToValidUTF8(strings.TrimSpace(d.text.String()), "\uFFFD"))
			d.space("\n")
			d.text.Reset()
			d.level, d.item = 0, false
		}
	case "tbl":
		d.space("\n\n")
	default:
		d.text.WriteString(around[name][1])
	}
}

// paragraph adds the paragraph that was read.
func (d *docx) paragraph() {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(d.text.String(), "\uFFFD")), " ")
	level, item := d.level, d.item
	d.text.Reset()
	d.level, d.item = 0, false
	switch {
	case text == "":
	case level == titleLevel:
		if d.Title == "" {
			d.Title = oneLine(text)
		}
		d.Paragraph(text)
	case level > 0:
		d.Heading(level, text)
	case item:
		d.space("\n")
		d.write("- " + text)
		d.space("\n")
	default:
		d.Paragraph(text)
	}
}

// epub adds the chapters of an EPUB in the order of its spine.
func (w *Writer) epub(ctx context.Context, b []byte) error {
	a, err := unpack(b)
	if err != nil {
		return err
	}
	container, err := a.read("META-INF/container.xml")
	if err != nil {
		return fmt.Errorf("it is no EPUB: META-INF/container.xml: %w", err)
	}
	root := ""
	_ = elements(ctx, container, func(t xml.Token) error { // without a root it says so below
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "rootfile" && root == "" {
			root = val(e, "full-path")
		}
		return nil
	})
	pack, err := a.read(root)
	if err != nil {
		return fmt.Errorf("it is no EPUB: its package %.100q: %w", root, err)
	}
	items := map[string]string{}
	var spine []string
	err = elements(ctx, pack, func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok {
			switch e.Name.Local {
			case "item":
				items[val(e, "id")] = val(e, "href")
			case "itemref":
				spine = append(spine, val(e, "idref"))
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("its package cannot be read: %w", err)
	}
	w.Title = oneLine(textOf(ctx, pack, "title"))
	locked := encrypted(ctx, a)
	seen := map[string]bool{}
	for _, id := range spine {
		href, _, _ := strings.Cut(items[id], "#") // some list each section of a file
		name, err := url.PathUnescape(href)
		if err != nil {
			name = href
		}
		name = path.Join(path.Dir(root), name)
		if seen[name] {
			continue
		}
		seen[name] = true
		if err := w.chapter(ctx, a, name, locked[name]); err != nil {
			if ctx.Err() != nil || w.err != nil {
				return err
			}
			w.Lost = append(w.Lost, fmt.Sprintf("chapter %.100q: %v", name, err))
		}
	}
	if w.body.Len() == 0 && len(w.Lost) > 0 {
		return fmt.Errorf("none of its chapters can be read: %s", w.Lost[0])
	}
	return nil
}

func (w *Writer) chapter(ctx context.Context, a *archive, name string, locked bool) error {
	if locked {
		return errors.New("it is encrypted (DRM)")
	}
	b, err := a.read(name)
	if err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return errors.New("it is not UTF-8 text")
	}
	w.endHeading()
	w.space("\n\n")
	return w.html(ctx, bytes.NewReader(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))))
}

// encrypted names the files of an EPUB that are encrypted.
func encrypted(ctx context.Context, a *archive) map[string]bool {
	list := map[string]bool{}
	b, err := a.read("META-INF/encryption.xml")
	if err != nil {
		return list
	}
	_ = elements(ctx, b, func(t xml.Token) error { // a file that is encrypted all the same does not read as UTF-8
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "CipherReference" {
			list[val(e, "URI")] = true
		}
		return nil
	})
	return list
}
