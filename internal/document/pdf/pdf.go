// Package pdf reads the text layer of PDF files: their words in reading order, columns one after the other, hyphenation
// taken back, running heads left out, and the headings, by the outline that the file carries or by how they are set.
//
// PDFium, the reader of Chromium, decodes the file. It runs as WebAssembly in this process (go-pdfium and wazero, no
// cgo), where it sees no file, no network and no more memory than it is given: a hostile file can keep it busy until its
// time is up, or make it stop, and no more. What it reads is the same on every processor.
package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/assay-eval/assay/internal/document"
)

// Bounds of what a file may take.
const (
	mostPages   = 5000
	mostLetters = 500_000 // of a page
	mostMemory  = 1 << 30 // bytes
	mostTime    = 5 * time.Minute
)

// A Reader reads PDF files, one after the other. Starting it takes some seconds of computing, in which PDFium is
// compiled; it is started by the first file. Its methods are not safe for concurrent use.
type Reader struct {
	pool  pdfium.Pool
	leash leash
	stop  context.CancelFunc
}

// A leash is the pool's context. An instance derives its own from it when it is made, and so stops with the file that
// was at hand then. (The pool's own way to stop one, Kill, writes what the calls under way read.)
type leash struct{ context.Context }

// Close frees what the Reader holds. It may be called on one that read nothing.
func (r *Reader) Close() error {
	if r.pool == nil {
		return nil
	}
	err := r.pool.Close()
	r.stop()
	r.pool = nil
	return err
}

// start compiles PDFium, unless that was done.
func (r *Reader) start() error {
	if r.pool != nil {
		return nil
	}
	ctx, stop := context.WithCancel(experimental.WithCompilationWorkers(context.Background(), runtime.GOMAXPROCS(0)))
	r.leash.Context = ctx
	pool, err := webassembly.Init(webassembly.Config{
		MaxTotal: 1, Context: &r.leash, FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
		RuntimeConfig: wazero.NewRuntimeConfig().WithCloseOnContextDone(true).
			WithMemoryLimitPages(mostMemory >> 16).
			WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling),
	})
	if err != nil {
		stop()
		return fmt.Errorf("the reader of PDF does not start: %w", err)
	}
	r.pool, r.stop = pool, stop
	return nil
}

// Read reads a file. Pages that hold no text are named in the document's Lost; a file without any text, as scans are, an
// encrypted and a damaged one are errors. It says no more than most bytes of text.
func (r *Reader) Read(ctx context.Context, b []byte, most int) (*document.Document, error) {
	if len(b) == 0 {
		return nil, errors.New("it is empty")
	}
	if !bytes.Contains(b[:min(len(b), 1024)], []byte("%PDF-")) {
		return nil, errors.New("it is damaged, or no PDF: it does not begin as one")
	}
	if err := r.start(); err != nil {
		return nil, err
	}
	f, err := r.decode(ctx, b)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	w := document.NewWriter(most)
	f.write(w)
	return w.Document(), w.Err()
}

// A file is what PDFium says about one.
type file struct {
	title   string
	pages   [][]run // of each page, in the order in which they are drawn
	outline []entry
	lost    []string
}

// A run is a piece of a line that is set in one font.
type run struct {
	text                     string
	left, right, bottom, top float64 // points; up is more
	size                     float64 // of the font, as it is shown
	bold, fixed              bool
}

// An entry is one of the outline, that is, of the bookmarks.
type entry struct {
	level, page int
	title       string
}

// decode has PDFium decode a file in an instance of its own, which ends with it.
func (r *Reader) decode(ctx context.Context, b []byte) (f *file, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, mostTime,
		fmt.Errorf("reading it takes more than %v", mostTime))
	defer cancel()
	r.leash.Context = ctx
	instance, err := r.pool.GetInstance(time.Minute)
	if err != nil {
		return nil, fmt.Errorf("the reader of PDF does not start: %w", err)
	}
	defer instance.Close()
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("it is damaged: %.200v", p)
		}
		if ctx.Err() != nil {
			f, err = nil, context.Cause(ctx)
		}
	}()
	opened, err := instance.OpenDocument(&requests.OpenDocument{File: &b})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return nil, errors.New("it is encrypted with a password: save it without one")
	case err != nil:
		return nil, fmt.Errorf("it is damaged, or no PDF: %v", err)
	}
	return decodeDocument(ctx, instance, opened.Document)
}

func decodeDocument(ctx context.Context, instance pdfium.Pdfium, doc references.FPDF_DOCUMENT) (*file, error) {
	count, err := instance.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc})
	switch {
	case err != nil:
		return nil, fmt.Errorf("its pages cannot be counted: %v", err)
	case count.PageCount == 0:
		return nil, errors.New("it has no pages")
	case count.PageCount > mostPages:
		return nil, fmt.Errorf("it has %d pages, and more than %d are not read", count.PageCount, mostPages)
	}
	f := &file{}
	if meta, err := instance.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: doc, Tag: "Title"}); err == nil {
		f.title = clean(meta.Value)
	}
	if n := 0; ends(instance, doc, nil, 1, &n) { // GetBookmarks itself would follow one that points back for ever
		if marks, err := instance.GetBookmarks(&requests.GetBookmarks{Document: doc}); err == nil {
			f.outline = entries(nil, marks.Bookmarks, 1)
		}
	}
	var empty, strange []int
	for i := range count.PageCount {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		page := requests.Page{ByIndex: &requests.PageByIndex{Document: doc, Index: i}}
		runs, drawn, err := decodePage(instance, page)
		if err != nil {
			f.lost = append(f.lost, fmt.Sprintf("page %d cannot be read: %v", i+1, err))
		} else if len(runs) == 0 && drawn {
			empty = append(empty, i+1)
		} else if unreadable(runs) {
			strange = append(strange, i+1)
			runs = nil
		}
		f.pages = append(f.pages, runs)
	}
	if all := len(empty) + len(strange) + len(f.lost); !slices.ContainsFunc(f.pages, func(p []run) bool { return len(p) > 0 }) {
		switch {
		case all == 0:
			return nil, errors.New("its pages are blank")
		case len(strange) == all:
			return nil, errors.New("its fonts do not say which letters they show: text recognition (OCR) would read it")
		case len(empty) == all:
			return nil, errors.New("it holds pictures of text and no text, as scans do: text recognition (OCR) first " +
				"gives it some")
		}
		return nil, fmt.Errorf("no page holds text that can be read: %s", f.lost[0])
	}
	if len(empty) > 0 {
		f.lost = append(f.lost, fmt.Sprintf("%s without text: pictures or a scan", numbers(empty)))
	}
	if len(strange) > 0 {
		f.lost = append(f.lost, fmt.Sprintf("%s in fonts that do not say which letters they show", numbers(strange)))
	}
	return f, nil
}

// decodePage returns the runs of a page, and whether anything is drawn on it.
func decodePage(instance pdfium.Pdfium, page requests.Page) ([]run, bool, error) {
	objects, err := instance.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil {
		return nil, false, err
	}
	loaded, err := instance.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: page})
	if err != nil {
		return nil, true, err
	}
	defer instance.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: loaded.TextPage})
	count, err := instance.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: loaded.TextPage})
	if err != nil {
		return nil, true, err
	}
	if count.Count > mostLetters {
		return nil, true, fmt.Errorf("it has %d letters, and more than %d are not read", count.Count, mostLetters)
	}
	t := textPage{instance: instance, page: loaded.TextPage}
	for i := range count.Count {
		if err := t.letter(i); err != nil {
			return nil, true, err
		}
	}
	return t.runs, objects.Count > 0, t.finish()
}

// A textPage is put together from its letters.
type textPage struct {
	instance pdfium.Pdfium
	page     references.FPDF_TEXTPAGE
	runs     []run
	now      run  // the word at hand
	within   bool // it goes on with the next letter
	first    int  // its first letter, and its last so far
	last     int
	high     rune // the first half of a letter of two
}

// letter adds the letter of an index. A run is a word: PDFium itself puts spaces between words and line breaks between
// lines. Only the first and the last letter of a word are asked where they stand, since asking takes the most time.
func (t *textPage) letter(i int) error {
	code, err := t.instance.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: t.page, Index: i})
	if err != nil {
		return err
	}
	c := rune(code.Unicode)
	switch {
	case unicode.IsSpace(c):
		t.now.text += " "
		return t.finish()
	case c >= 0xD800 && c < 0xDC00:
		t.high = c
		return nil
	case c >= 0xDC00 && c < 0xE000:
		c = utf16.DecodeRune(t.high, c)
	case c == 0:
		c = unicode.ReplacementChar
	}
	if !t.within {
		t.within, t.first, t.now = true, i, run{}
		if t.now.left, t.now.right, t.now.bottom, t.now.top, err = t.box(i); err != nil {
			return err
		}
		if err := t.font(i); err != nil {
			return err
		}
	}
	t.now.text += string(c)
	t.last = i
	if c == hyphen { // the rest of the word stands on the next line
		return t.finish()
	}
	return nil
}

// box is where a letter stands, with the height of its font.
func (t *textPage) box(i int) (left, right, bottom, top float64, err error) {
	b, err := t.instance.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: t.page, Index: i})
	if err != nil {
		return 0, 0, 0, 0, err
	}
	r := b.Rect
	return float64(min(r.Left, r.Right)), float64(max(r.Left, r.Right)), float64(min(r.Bottom, r.Top)),
		float64(max(r.Bottom, r.Top)), nil
}

// finish ends the word at hand.
func (t *textPage) finish() error {
	if t.within && t.last > t.first {
		left, right, _, _, err := t.box(t.last)
		if err != nil {
			return err
		}
		t.now.left, t.now.right = min(t.now.left, left), max(t.now.right, right)
	}
	if t.within {
		t.runs = append(t.runs, t.now)
	}
	t.within = false
	return nil
}

// font notes how the letter of an index is set.
func (t *textPage) font(i int) error {
	size, err := t.instance.FPDFText_GetFontSize(&requests.FPDFText_GetFontSize{TextPage: t.page, Index: i})
	if err != nil {
		return err
	}
	scale := 1.0
	if m, err := t.instance.FPDFText_GetMatrix(&requests.FPDFText_GetMatrix{TextPage: t.page, Index: i}); err == nil {
		scale = math.Hypot(float64(m.Matrix.C), float64(m.Matrix.D))
	}
	if t.now.size = size.FontSize * scale; !(t.now.size > 0.1 && t.now.size < 2000) {
		t.now.size = max(t.now.top-t.now.bottom, 1)
	}
	// A letter that a program put in has no font.
	if f, err := t.instance.FPDFText_GetFontInfo(&requests.FPDFText_GetFontInfo{TextPage: t.page, Index: i}); err == nil {
		name := strings.ToLower(f.FontName)
		t.now.bold = f.Flags&(1<<18) != 0 || strings.Contains(name, "bold") || strings.Contains(name, "cmbx") ||
			strings.Contains(name, "heavy") || strings.Contains(name, "black") || strings.HasSuffix(name, "-medi")
		t.now.fixed = f.Flags&1 != 0 || strings.Contains(name, "mono") || strings.Contains(name, "courier") ||
			strings.Contains(name, "cmtt")
	}
	if w, err := t.instance.FPDFText_GetFontWeight(&requests.FPDFText_GetFontWeight{TextPage: t.page, Index: i}); err == nil {
		t.now.bold = t.now.bold || w.FontWeight >= 600
	}
	return nil
}

// unreadable reports whether more than a fifth of what a page says is no text: signs for private use and such, by which
// fonts name glyphs of which they do not say what they are.
func unreadable(runs []run) bool {
	bad, all := 0, 0
	for _, r := range runs {
		for _, c := range r.text {
			if unicode.IsSpace(c) || c == hyphen {
				continue
			}
			all++
			if c == unicode.ReplacementChar || unicode.Is(unicode.Co, c) || unicode.IsControl(c) {
				bad++
			}
		}
	}
	return bad*5 > all
}

// Bounds of an outline, which may point back to itself.
const (
	mostEntries = 10_000
	mostLevels  = 9
)

// ends reports whether the outline below a bookmark, nil for its root, is within those bounds. It counts the entries in n.
func ends(instance pdfium.Pdfium, doc references.FPDF_DOCUMENT, below *references.FPDF_BOOKMARK, level int, n *int) bool {
	first, err := instance.FPDFBookmark_GetFirstChild(&requests.FPDFBookmark_GetFirstChild{Document: doc, Bookmark: below})
	if err != nil {
		return false
	}
	for mark := first.Bookmark; mark != nil; {
		if *n++; *n > mostEntries || level > mostLevels || !ends(instance, doc, mark, level+1, n) {
			return false
		}
		next, err := instance.FPDFBookmark_GetNextSibling(&requests.FPDFBookmark_GetNextSibling{Document: doc, Bookmark: *mark})
		if err != nil {
			return false
		}
		mark = next.Bookmark
	}
	return true
}

// entries adds what an outline says.
func entries(list []entry, marks []responses.GetBookmarksBookmark, level int) []entry {
	for _, m := range marks {
		page := -1
		if m.DestInfo != nil {
			page = m.DestInfo.PageIndex
		} else if m.ActionInfo != nil && m.ActionInfo.DestInfo != nil {
			page = m.ActionInfo.DestInfo.PageIndex
		}
		list = append(list, entry{level, page, clean(m.Title)})
		list = entries(list, m.Children, level+1)
	}
	return list
}

// numbers names pages: "pages 3, 5-7".
func numbers(list []int) string {
	var b strings.Builder
	b.WriteString("page ")
	if len(list) > 1 {
		b.Reset()
		b.WriteString("pages ")
	}
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, list[i])
		if j > i {
			fmt.Fprintf(&b, "-%d", list[j])
		}
		i = j + 1
	}
	return b.String()
}
