package corpus

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/document"
	"github.com/assay-eval/assay/internal/document/pdf"
	"github.com/assay-eval/assay/internal/parquet"
)

// Limits bound what is read. The zero value of a field is its default.
type Limits struct {
	Document int64 // bytes of a file or row, and of what a document says, default 16 MiB
	Packed   int64 // bytes of a PDF, DOCX or EPUB file, default 256 MiB
	Total    int64 // bytes of all documents, default 1 GiB: they are kept in memory
	Count    int   // documents, default 1 000 000
	Depth    int   // folders in folders, default 32
}

func (l Limits) filled() Limits {
	return Limits{
		Document: cmp.Or(l.Document, 16<<20), Packed: cmp.Or(l.Packed, 256<<20), Total: cmp.Or(l.Total, 1<<30),
		Count: cmp.Or(l.Count, 1_000_000), Depth: cmp.Or(l.Depth, 32),
	}
}

// Read reads the corpus at path: a folder of documents, or a file with one document a row.
//
// Of a folder, the documents by the endings of their names are read ([document.KindOf]), and those of its subfolders.
// Hidden files and folders are passed over; so are other files, documents that cannot be read, and links that lead out of
// the folder or to a folder, each with a note in Skipped. A document of which a part cannot be read has a note, too.
//
// A file is one document by the ending of its name; or else JSON Lines, or Parquet with the same columns: "id" (or "_id",
// "doc_id", "document_id"), "text" (or "content", "contents", or "passages", a list of texts) and, if there is one,
// "title". A row that is none of this is an error: a corpus with holes would tell lies about retrieval.
func Read(ctx context.Context, name string, l Limits) (*Corpus, error) {
	r := &reader{limits: l.filled(), corpus: &Corpus{}, ids: map[string]bool{}}
	defer r.pdf.Close()
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		err = r.folder(ctx, name)
	case info.Mode().IsRegular():
		err = r.file(ctx, name)
	default:
		err = errors.New("neither a folder nor a file")
	}
	if err != nil {
		return nil, fmt.Errorf("corpus %s: %w", name, err)
	}
	if len(r.corpus.Documents) == 0 {
		if len(r.corpus.Skipped) > 0 {
			first := r.corpus.Skipped[0]
			return nil, fmt.Errorf("corpus %s: no documents: %q: %s", name, first.Name, first.Why)
		}
		return nil, fmt.Errorf("corpus %s: no documents: want files named "+document.Endings+
			", or JSON Lines or Parquet with id and text", name)
	}
	slices.SortFunc(r.corpus.Documents, func(a, b Document) int { return cmp.Compare(a.ID, b.ID) })
	return r.corpus, nil
}

type reader struct {
	limits Limits
	corpus *Corpus
	ids    map[string]bool
	total  int64
	pdf    pdf.Reader
}

func (r *reader) skip(name, why string, args ...any) {
	r.corpus.Skipped = append(r.corpus.Skipped, Skipped{strings.ToValidUTF8(name, "\uFFFD"), fmt.Sprintf(why, args...)})
}

// add takes in a document. Text is what it says, without markup.
func (r *reader) add(d Document) error {
	r.total += int64(len(d.Text))
	switch {
	case len(r.corpus.Documents) == r.limits.Count:
		return fmt.Errorf("more than %d documents", r.limits.Count)
	case r.total > r.limits.Total:
		return fmt.Errorf("more than %d MiB of text", r.limits.Total>>20)
	case r.ids[d.ID]:
		return fmt.Errorf("the id %q is used twice", d.ID)
	}
	r.ids[d.ID] = true
	r.corpus.Documents = append(r.corpus.Documents, d)
	return nil
}

// folder reads the files under dir. They are opened through an [os.Root], which no link leads out of.
func (r *reader) folder(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			r.skip(name, "%v", err)
			return nil
		case name == ".":
			return nil
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() && strings.Count(name, "/") >= r.limits.Depth:
			r.skip(name, "folders lie too deep")
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		return r.folderFile(ctx, root, name)
	})
}

// folderFile reads one file of a folder. What makes it no document is noted; an error ends the reading.
func (r *reader) folderFile(ctx context.Context, root *os.Root, name string) error {
	kind := document.KindOf(name)
	if kind == "" {
		r.skip(name, "its name does not end in "+document.Endings)
		return nil
	}
	if !printable(name) {
		r.skip(name, "its name holds what cannot be printed")
		return nil
	}
	info, err := root.Stat(name) // before it is opened: a pipe would wait for a writer
	switch {
	case err != nil:
		r.skip(name, "%v", reason(err))
		return nil
	case !info.Mode().IsRegular():
		r.skip(name, "it is no file")
		return nil
	case info.Size() > r.largest(kind):
		r.skip(name, "%d bytes are more than the limit of %d", info.Size(), r.largest(kind))
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		r.skip(name, "%v", reason(err))
		return nil
	}
	defer f.Close()
	return r.document(ctx, name, kind, f)
}

// largest is how many bytes a file of a kind may have.
func (r *reader) largest(kind document.Kind) int64 {
	if kind.Packed() {
		return r.limits.Packed
	}
	return r.limits.Document
}

// document reads one document. What makes it none is noted; an error ends the reading.
func (r *reader) document(ctx context.Context, name string, kind document.Kind, f io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(f, r.largest(kind)+1))
	if err != nil || int64(len(b)) > r.largest(kind) {
		r.skip(name, "it cannot be read, or grew over the limit")
		return nil
	}
	d, err := r.parse(ctx, kind, b)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = backend.CheckText(d.Text)
	}
	if err != nil {
		r.skip(name, "%v", err)
		return nil
	}
	for _, lost := range d.Lost {
		r.skip(name, "%s", lost)
	}
	if strings.TrimSpace(d.Text) == "" {
		r.skip(name, "it holds no text")
		return nil
	}
	return r.add(Document{ID: name, Title: d.Title, Text: d.Text, Headings: d.Headings})
}

// parse reads a document, and gives it up at once when ctx ends; the parser notices a little later.
func (r *reader) parse(ctx context.Context, kind document.Kind, b []byte) (*document.Document, error) {
	if kind == document.PDF {
		return r.pdf.Read(ctx, b, int(r.limits.Document))
	}
	type said struct {
		d   *document.Document
		err error
	}
	c := make(chan said, 1)
	go func() {
		d, err := document.Read(ctx, kind, b, int(r.limits.Document))
		c <- said{d, err}
	}()
	select {
	case s := <-c:
		return s.d, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// reason is what a path error says without the path, which stands before it already.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// printable reports whether a name or id is short, valid and without control characters.
func printable(name string) bool {
	return len(name) <= 1024 && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control)
	})
}

// file reads one document, or the rows of JSON Lines or Parquet.
func (r *reader) file(ctx context.Context, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if kind := document.KindOf(name); kind != "" {
		id := filepath.Base(name)
		if !printable(id) {
			return errors.New("its name holds what cannot be printed")
		}
		return r.document(ctx, id, kind, f)
	}
	start := make([]byte, 1<<10)
	n, err := f.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if ext := strings.ToLower(path.Ext(name)); ext == ".parquet" || ext == ".pq" || parquet.Is(start[:n]) {
		return r.parquet(ctx, f)
	}
	return r.lines(ctx, f)
}

func (r *reader) parquet(ctx context.Context, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	rows, err := parquet.Open(f, info.Size(), int(r.limits.Document))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too soon: it seems to have been cut off")
	}
	if err != nil {
		return err
	}
	for row, err := range rows.Rows() {
		if err = cmp.Or(err, row.Err, ctx.Err()); err == nil {
			fields := map[string]json.RawMessage{}
			for _, field := range row.Fields {
				if field.Value != nil && !field.Bytes {
					fields[field.Name] = field.Value
				}
			}
			var d Document
			if d, err = documentOf(fields); err == nil {
				err = r.add(d)
			}
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", row.Number, err)
		}
	}
	return nil
}

func (r *reader) lines(ctx context.Context, from io.Reader) error {
	scanner := bufio.NewScanner(from)
	scanner.Buffer(make([]byte, 0, min(1<<16, r.limits.Document)), int(r.limits.Document))
	for n := 1; scanner.Scan(); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		line := bytes.TrimSpace(scanner.Bytes())
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if len(line) == 0 {
			continue
		}
		d, err := parseRow(line)
		if err == nil {
			err = r.add(d)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a line is longer than %d bytes", r.limits.Document)
	}
	return scanner.Err()
}

// parseRow reads one line of a corpus file.
func parseRow(line []byte) (Document, error) {
	if !utf8.Valid(line) {
		return Document{}, errors.New("not UTF-8")
	}
	var row map[string]json.RawMessage
	if err := json.Unmarshal(line, &row); err != nil {
		return Document{}, fmt.Errorf("no JSON object: %v", err)
	}
	return documentOf(row)
}

// documentOf makes a document of a row.
func documentOf(row map[string]json.RawMessage) (Document, error) {
	d := Document{Row: true}
	var err error
	if d.ID, err = column(row, "id", "_id", "doc_id", "document_id"); err != nil {
		return Document{}, err
	}
	if list, ok := row["passages"]; ok && row["text"] == nil {
		var texts []string
		if json.Unmarshal(list, &texts) != nil {
			return Document{}, errors.New("the passages are no list of texts")
		}
		d.Text = strings.Join(texts, "\n\n")
	} else if d.Text, err = column(row, "text", "content", "contents"); err != nil {
		return Document{}, err
	}
	if _, ok := row["title"]; ok {
		if d.Title, err = column(row, "title"); err != nil {
			return Document{}, err
		}
		if d.Title = strings.Join(strings.Fields(d.Title), " "); len(d.Title) > document.MaxTitle {
			d.Title = ""
		}
	}
	switch {
	case d.ID == "" || !printable(d.ID):
		return Document{}, fmt.Errorf("the id %.60q is empty, longer than 1024 bytes or not printable", d.ID)
	case strings.TrimSpace(d.Text) == "":
		return Document{}, fmt.Errorf("the text of %q is empty", d.ID)
	}
	return d, errors.Join(backend.CheckText(d.Text), backend.CheckText(d.Title))
}

// column returns the text of the first of names that row has. An id may be a number.
func column(row map[string]json.RawMessage, names ...string) (string, error) {
	for _, name := range names {
		value, ok := row[name]
		if !ok || string(value) == "null" {
			continue
		}
		var text string
		if json.Unmarshal(value, &text) == nil {
			return text, nil
		}
		var number json.Number
		if json.Unmarshal(value, &number) == nil && strings.HasSuffix(names[0], "id") {
			return number.String(), nil
		}
		return "", fmt.Errorf("the %s is no text", name)
	}
	if names[0] == "title" {
		return "", nil
	}
	return "", fmt.Errorf("no %q", names[0])
}
