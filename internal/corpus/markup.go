package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	rendered "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plain returns what a file says, without markup, and its title.
func plain(ctx context.Context, kind string, b []byte) (title, text string, err error) {
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return "", "", errors.New("it is not UTF-8 text")
	}
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	switch kind {
	case "html":
		return fromHTML(bytes.NewReader(b))
	case "markdown":
		// Through HTML: so that raw HTML in Markdown is read as such, and there is one way to lay out blocks.
		b = frontMatter(b)
		if n := deepest(b); n > mostNested {
			return "", "", fmt.Errorf("%d quotations and lists begin in one line, and more than %d are not read",
				n, mostNested)
		}
		var page bytes.Buffer
		md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(rendered.WithUnsafe()),
			goldmark.WithParserOptions(parser.WithInlineParsers(util.Prioritized(&stopper{ctx: ctx}, 0))))
		err := md.Convert(b, &page)
		switch {
		case ctx.Err() != nil:
			return "", "", ctx.Err()
		case err != nil:
			return "", "", fmt.Errorf("it is not readable as Markdown: %v", err)
		}
		return fromHTML(&page)
	}
	return "", string(b), nil
}

// A stopper ends the parsing of Markdown with its context: some texts of a few hundred kilobytes, a hundred thousand
// brackets in one paragraph, would keep the parser busy for hours. It is asked before each mark that other parsers are
// asked about, and passes over the rest of the paragraph once the context has ended. Marks of emphasis are paired
// only when the paragraph is read, in time that grows with the square of their number: those beyond mostMarks are text.
type stopper struct {
	ctx       context.Context
	paragraph ast.Node
	marks     int // of emphasis in it
}

// mostMarks is how many marks of emphasis a paragraph may have.
const mostMarks = 20_000

// Trigger is the marks of which each can take time that grows with the length of the paragraph.
func (*stopper) Trigger() []byte { return []byte("[]!*_`<&~") }

// Parse implements the parser of an inline element.
func (s *stopper) Parse(paragraph ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, here := block.PeekLine()
	if s.ctx.Err() != nil {
		for ; line != nil; line, _ = block.PeekLine() {
			block.AdvanceLine()
		}
		return ast.NewTextSegment(text.NewSegment(0, 0))
	}
	if !strings.ContainsRune("*_~", rune(line[0])) {
		return nil
	}
	if s.paragraph != paragraph {
		s.paragraph, s.marks = paragraph, 0
	}
	if s.marks++; s.marks <= mostMarks {
		return nil
	}
	n := len(line) - len(bytes.TrimLeft(line, string(line[:1])))
	block.Advance(n)
	return ast.NewTextSegment(here.WithStop(here.Start + n))
}

// plainOrDone is plain, given up at once when ctx ends; the parser notices a little later.
func plainOrDone(ctx context.Context, kind string, b []byte) (title, text string, err error) {
	type said struct {
		title, text string
		err         error
	}
	c := make(chan said, 1)
	go func() {
		title, text, err := plain(ctx, kind, b)
		c <- said{title, text, err}
	}()
	select {
	case s := <-c:
		return s.title, s.text, s.err
	case <-ctx.Done():
		return "", "", ctx.Err()
	}
}

// mostNested is how many blocks one line of Markdown may begin. The time that its parser takes grows with the square of
// that: a line of a few hundred kilobytes would take hours.
const mostNested = 100

// deepest is the most quotations and list items that a line of Markdown begins with: three in "> - 1. text".
func deepest(b []byte) int {
	most := 0
	for line := range bytes.Lines(b) {
		n := 0
		for {
			line = bytes.TrimLeft(line, " \t")
			rest := bytes.TrimPrefix(line, []byte(">"))
			if len(rest) == len(line) {
				rest = item(line)
			}
			if len(rest) == len(line) {
				break
			}
			line = rest
			n++
		}
		most = max(most, n)
	}
	return most
}

// item is what follows the mark of a list item that a line begins with; all of the line if it begins with none.
func item(line []byte) []byte {
	rest := bytes.TrimLeft(line, "0123456789")
	marks := "-+*"
	if len(rest) < len(line) {
		marks = ".)"
	}
	if len(rest) < 2 || !bytes.ContainsRune([]byte(marks), rune(rest[0])) || rest[1] != ' ' && rest[1] != '\t' {
		return line
	}
	return rest[1:]
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

// fromHTML returns the text of a page, its blocks apart by empty lines, and its title: that of its head, or
// else its first heading. Scripts, styles, forms' choices and the like say nothing. It reads tokens and
// builds no tree, so that nesting costs nothing.
func fromHTML(from io.Reader) (title, text string, err error) {
	z := html.NewTokenizer(from)
	z.SetMaxBuf(64 << 20)
	var p page
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				return "", "", fmt.Errorf("it is not readable as HTML: %v", z.Err())
			}
			if p.silent != 0 {
				return "", "", fmt.Errorf("its <%v> is never closed: what comes after it cannot be told from it",
					p.silent)
			}
			return p.heading(), strings.TrimSpace(p.body.String()), nil
		case html.TextToken:
			p.text(string(z.Text()))
		case html.StartTagToken:
			name, _ := z.TagName()
			p.open(atom.Lookup(name))
		case html.EndTagToken:
			name, _ := z.TagName()
			p.close(atom.Lookup(name))
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			p.block(atom.Lookup(name))
		}
	}
}

// A page is put together from its tokens.
type page struct {
	body   strings.Builder
	gap    string    // white space to come before the next text
	silent atom.Atom // the element whose content is passed over
	nested int       // how many of that element are open
	in     atom.Atom // title or h1, while it is open
	titles [2]string // the title, the first h1
	pre    int       // open elements whose line breaks count
}

// maxTitle is how long a title may be, in bytes: it is put before every passage of its document.
const maxTitle = 200

func (p *page) heading() string {
	for _, t := range p.titles {
		if t = strings.Join(strings.Fields(t), " "); t != "" && len(t) <= maxTitle {
			return t
		}
	}
	return ""
}

func (p *page) open(a atom.Atom) {
	if p.silent != 0 {
		if a == p.silent {
			p.nested++
		}
		return
	}
	switch a {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Math, atom.Select, atom.Textarea,
		atom.Iframe:
		p.silent, p.nested = a, 1
	case atom.Title:
		p.in = a
	case atom.H1:
		if p.titles[1] == "" {
			p.in = a
		}
	case atom.Pre:
		p.pre++
	}
	p.block(a)
}

func (p *page) close(a atom.Atom) {
	if p.silent != 0 {
		if a == p.silent {
			if p.nested--; p.nested == 0 {
				p.silent = 0
			}
		}
		return
	}
	if a == p.in {
		p.in = 0
	}
	if a == atom.Pre {
		p.pre = max(0, p.pre-1)
	}
	p.block(a)
}

// block notes the space that an element has around it.
func (p *page) block(a atom.Atom) {
	if p.silent != 0 {
		return
	}
	switch a {
	case atom.Br, atom.Li, atom.Tr, atom.Dt, atom.Dd, atom.Option:
		p.space("\n")
	case atom.Td, atom.Th:
		p.space(" ")
	case atom.P, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Dl, atom.Table,
		atom.Blockquote, atom.Pre, atom.Section, atom.Article, atom.Aside, atom.Header, atom.Footer,
		atom.Main, atom.Nav, atom.Figure, atom.Figcaption, atom.Hr, atom.Body, atom.Form, atom.Address, atom.Details,
		atom.Summary, atom.Caption:
		p.space("\n\n")
		if p.in == atom.H1 && a != atom.H1 {
			p.in = 0 // a heading that was not closed
		}
	}
}

// space asks for white space before the next text: the widest that anyone asked for.
func (p *page) space(s string) {
	if len(s) > len(p.gap) || s == "\n" && p.gap == " " {
		p.gap = s
	}
}

func (p *page) text(s string) {
	if p.silent != 0 {
		return
	}
	switch p.in {
	case atom.Title:
		p.titles[0] += s
		return
	case atom.H1:
		p.titles[1] += s
	}
	if p.pre > 0 {
		line := strings.TrimRight(s, "\n")
		if p.gap == "\n\n" {
			line = strings.TrimPrefix(line, "\n") // which no browser shows either, right after <pre>
		}
		p.write(line)
		if strings.HasSuffix(s, "\n") {
			p.space("\n")
		}
		return
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		if s != "" {
			p.space(" ")
		}
		return
	}
	if first := s[0]; first == ' ' || first == '\n' || first == '\t' {
		p.space(" ")
	}
	p.write(strings.Join(words, " "))
	if last := s[len(s)-1]; last == ' ' || last == '\n' || last == '\t' {
		p.space(" ")
	}
}

func (p *page) write(s string) {
	if s == "" {
		return
	}
	if p.body.Len() > 0 {
		p.body.WriteString(p.gap)
	}
	p.gap = ""
	p.body.WriteString(s)
}
