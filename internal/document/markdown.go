package document

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	rendered "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown adds what Markdown says. It goes through HTML: so that raw HTML in Markdown is read as such, and there is one
// way to lay out blocks.
func (w *Writer) markdown(ctx context.Context, b []byte) error {
	if n := deepest(b); n > mostNested {
		return fmt.Errorf("%d quotations and lists begin in one line, and more than %d are not read", n, mostNested)
	}
	var page bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(rendered.WithUnsafe()),
		goldmark.WithParserOptions(parser.WithInlineParsers(util.Prioritized(&stopper{ctx: ctx}, 0))))
	err := md.Convert(b, &page)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("it is not readable as Markdown: %v", err)
	}
	return w.html(ctx, &page)
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
