// Package sheet reads the cells of Excel's workbooks (.xlsx: ECMA-376, part 1, SpreadsheetML, of either conformance class) as
// text, as a stream of rows.
//
//	number           its shortest decimal digits: 5, 0.25, 1e+21
//	date, time       ISO 8601, where the cell's number format shows one: 2026-11-22, 2026-11-22T09:30:00, 09:30:00
//	true or false    true, false
//	text             itself, without its fonts
//	error            as it is shown: #N/A
//	formula          the value that was computed when the file was saved; without one, the row is an error
//
// Why not a library for it: those that stream give each cell either as it is shown, in which a number format has rounded
// numbers and turned dates around, or as it is stored, in which a date is a number; those that know types hold the whole sheet.
// None bounds what a file of few bytes may unpack to by the row. What is needed here is small: a ZIP archive, four kinds of XML
// and the calendar of number formats.
//
// Memory is that of the texts that cells share, at most 256 MiB, and of one row. What unpacks to more is refused.
package sheet

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Limits of what a workbook may hold.
const (
	mostText    = 256 << 20 // bytes of shared texts, with 32 for each
	mostPart    = 4 << 30   // bytes of a sheet's XML, unpacked
	mostSmall   = 16 << 20  // bytes of the parts that describe the workbook
	mostFiles   = 10_000    // in the archive
	mostSheets  = 1000
	mostFormats = 100_000
	mostDepth   = 64     // of elements within each other
	mostColumns = 16_384 // as Excel has it
)

// A Book is a workbook.
type Book struct {
	sheets  []part
	archive map[string]*zip.File
	strings []string
	dates   []kind // by the index of a cell's format
	since04 bool   // days count from 1904
}

// A part is a sheet and its file.
type part struct {
	name, file string
	hidden     bool
}

// Is reports whether an archive is a workbook.
func Is(z *zip.Reader) bool {
	return slices.ContainsFunc(z.File, func(f *zip.File) bool {
		return f.Name == "[Content_Types].xml" || strings.EqualFold(f.Name, "xl/workbook.xml")
	})
}

// Open reads what a workbook has beside its rows: the names of its sheets, the texts that cells share, the formats of dates.
func Open(z *zip.Reader) (*Book, error) {
	if len(z.File) > mostFiles {
		return nil, fmt.Errorf("the workbook holds %d files: more than %d", len(z.File), mostFiles)
	}
	b := &Book{archive: map[string]*zip.File{}}
	for _, f := range z.File {
		name := strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(f.Name, `\`, "/"), "/"))
		if _, twice := b.archive[name]; !twice {
			b.archive[name] = f
		}
	}
	workbook := "xl/workbook.xml"
	top, err := b.relations("")
	if err != nil {
		return nil, err
	}
	for _, r := range top {
		if r.kind == "officeDocument" {
			workbook = r.target
		}
	}
	if err := b.readWorkbook(workbook); err != nil {
		return nil, fmt.Errorf("the workbook: %w", err)
	}
	return b, nil
}

// Sheets lists the names of the sheets that are not hidden, in their order.
func (b *Book) Sheets() []string {
	var names []string
	for _, s := range b.sheets {
		if !s.hidden {
			names = append(names, s.name)
		}
	}
	return names
}

// find is the sheet with a name, hidden or not; of "" the first that is not hidden.
func (b *Book) find(name string) (part, error) {
	for _, s := range b.sheets {
		if s.name == name || name == "" && !s.hidden {
			return s, nil
		}
	}
	if name == "" {
		return part{}, errors.New("the workbook has no sheet that is shown")
	}
	return part{}, fmt.Errorf("the workbook has no sheet %q: it has %s", name, quoted(b.Sheets()))
}

func quoted(names []string) string {
	var list []string
	for _, name := range names[:min(20, len(names))] {
		list = append(list, strconv.Quote(name))
	}
	if len(names) > 20 {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}

// A relation says in which file a part is.
type relation struct{ id, kind, target string }

// relations are those of a part; of "" those of the whole.
func (b *Book) relations(of string) ([]relation, error) {
	dir, file := path.Split(of)
	var list []relation
	err := b.read(dir+"_rels/"+file+".rels", mostSmall, func(x *reader) error {
		return x.each(func(e xml.StartElement) error {
			if e.Name.Local != "Relationship" {
				return nil
			}
			target := attr(e, "Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join("/", dir, target)
			}
			list = append(list, relation{attr(e, "Id"), path.Base(attr(e, "Type")), strings.TrimPrefix(path.Clean(target), "/")})
			if len(list) > mostFiles {
				return errors.New("too many relations")
			}
			return nil
		})
	})
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	return list, err
}

func (b *Book) readWorkbook(file string) error {
	related, err := b.relations(file)
	if err != nil {
		return err
	}
	err = b.read(file, mostSmall, func(x *reader) error {
		return x.each(func(e xml.StartElement) error {
			switch e.Name.Local {
			case "workbookPr":
				on := attr(e, "date1904")
				b.since04 = on == "1" || on == "true"
			case "sheet":
				id := ""
				for _, a := range e.Attr {
					if a.Name.Local == "id" {
						id = a.Value
					}
				}
				i := slices.IndexFunc(related, func(r relation) bool { return r.id == id && r.kind == "worksheet" })
				if i < 0 {
					return nil // a sheet of charts or macros
				}
				state := attr(e, "state")
				b.sheets = append(b.sheets, part{attr(e, "name"), related[i].target, state == "hidden" || state == "veryHidden"})
				if len(b.sheets) > mostSheets {
					return errors.New("too many sheets")
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, r := range related {
		switch r.kind {
		case "sharedStrings":
			err = b.read(r.target, mostText, b.readStrings)
		case "styles":
			err = b.read(r.target, mostSmall, b.readStyles)
		}
		if err != nil {
			return fmt.Errorf("its %s: %w", r.kind, err)
		}
	}
	return nil
}

// readStrings reads the texts that cells share.
func (b *Book) readStrings(x *reader) error {
	left := mostText
	return x.each(func(e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		text, err := x.text(e)
		if left -= len(text) + 32; left < 0 {
			return fmt.Errorf("its texts take more than %d MiB", mostText>>20)
		}
		b.strings = append(b.strings, text)
		return err
	})
}

var errAbsent = errors.New("it is not there")

// read has a file of the archive read.
func (b *Book) read(name string, most int64, do func(*reader) error) error {
	f, ok := b.archive[strings.ToLower(name)]
	if !ok {
		return fmt.Errorf("%s: %w", name, errAbsent)
	}
	if f.Flags&1 != 0 {
		return errors.New("it is encrypted")
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	err = do(newReader(r, most))
	return errors.Join(err, r.Close())
}

// A reader reads XML of which each token, all of it and its depth are bounded.
type reader struct {
	*xml.Decoder
	in    io.Reader
	left  int64 // bytes of the whole
	token int64 // bytes of the token
	deep  int
}

// mostToken is how many bytes a token may have.
const mostToken = 64 << 20

func newReader(r io.Reader, most int64) *reader {
	x := &reader{in: r, left: most, token: mostToken}
	x.Decoder = xml.NewDecoder(bounded{x})
	x.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("its encoding is %.40q and not UTF-8", charset)
	}
	return x
}

type bounded struct{ *reader }

func (b bounded) Read(p []byte) (int, error) {
	if b.left <= 0 || b.token <= 0 {
		return 0, errors.New("it unpacks to more than is read of it")
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left, b.token)])
	b.left -= int64(n)
	b.token -= int64(n)
	return n, err
}

// next is the next token; io.EOF after the last.
func (x *reader) next() (xml.Token, error) {
	x.token = mostToken
	t, err := x.Decoder.Token()
	switch t.(type) {
	case xml.StartElement:
		if x.deep++; x.deep > mostDepth {
			return nil, errors.New("its elements nest too deeply")
		}
	case xml.EndElement:
		x.deep--
	}
	return t, err
}

// each visits the elements as they begin.
func (x *reader) each(visit func(xml.StartElement) error) error {
	for {
		t, err := x.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if e, ok := t.(xml.StartElement); ok {
			if err := visit(e); err != nil {
				return err
			}
		}
	}
}

// text reads the text in an element that has begun, to its end: of all t within it, but for those that tell how it is spoken.
func (x *reader) text(of xml.StartElement) (string, error) {
	var text strings.Builder
	in, spoken := of.Name.Local == "t", 0
	for depth := x.deep; ; {
		t, err := x.next()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Local == "rPh" {
				spoken++
			}
			in = t.Name.Local == "t"
		case xml.EndElement:
			if t.Name.Local == "rPh" {
				spoken--
			}
			in = false
			if x.deep < depth {
				return unescape(text.String()), nil
			}
		case xml.CharData:
			if in && spoken == 0 {
				if text.Len()+len(t) > mostToken {
					return "", errors.New("a text is too long")
				}
				text.Write(t)
			}
		}
	}
}

// unescape reads _x000D_ as the character with that number, which XML cannot hold.
func unescape(text string) string {
	at := strings.Index(text, "_x")
	if at < 0 {
		return text
	}
	var out strings.Builder
	for ; at >= 0; at = strings.Index(text, "_x") {
		out.WriteString(text[:at])
		text = text[at:]
		if len(text) >= 7 && text[6] == '_' {
			if n, err := strconv.ParseUint(text[2:6], 16, 16); err == nil && (n < 0xD800 || n > 0xDFFF) {
				out.WriteRune(rune(n))
				text = text[7:]
				continue
			}
		}
		out.WriteString("_x")
		text = text[2:]
	}
	out.WriteString(text)
	return out.String()
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}
