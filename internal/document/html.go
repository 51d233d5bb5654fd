package document

import (
	"context"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// html adds the text of a page, its blocks apart by empty lines. The page's title is that of its head. Scripts, styles,
// forms' choices and the like say nothing; formulas do. It reads tokens and builds no tree, so that nesting costs
// nothing.
func (w *Writer) html(ctx context.Context, from io.Reader) error {
	z := html.NewTokenizer(from)
	z.SetMaxBuf(64 << 20)
	p := page{Writer: w}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				return fmt.Errorf("it is not readable as HTML: %v", z.Err())
			}
			if p.silent != 0 {
				return fmt.Errorf("its <%v> is never closed: what comes after it cannot be told from it", p.silent)
			}
			if p.math != nil {
				w.words(p.math.text())
			}
			w.endHeading()
			if w.Title == "" {
				w.Title = p.title
			}
			return nil
		case html.TextToken:
			p.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			p.open(t)
			if t.Type == html.SelfClosingTagToken && (p.math != nil || p.silent == atom.Svg) {
				p.close(t) // in HTML's own elements the slash means nothing
			}
		case html.EndTagToken:
			p.close(z.Token())
		}
	}
}

// A page is put together from its tokens.
type page struct {
	*Writer
	silent  atom.Atom // the element whose content is passed over
	nested  int       // how many of that element are open
	inTitle bool
	title   string
	pre     int      // open elements whose line breaks count
	math    *formula // the formula that is being read
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func (p *page) open(t html.Token) {
	a := t.DataAtom
	switch {
	case p.silent != 0:
		if a == p.silent {
			p.nested++
		}
		return
	case p.math != nil:
		p.math.open(t)
		return
	}
	switch a {
	case atom.Math:
		p.math = &formula{alt: attribute(t, "alttext"), block: attribute(t, "display") == "block"}
		return
	case atom.Script:
		if strings.HasPrefix(attribute(t, "type"), "math/tex") { // how MathJax keeps a formula
			return
		}
		p.silent, p.nested = a, 1
	case atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Select, atom.Textarea, atom.Iframe:
		p.silent, p.nested = a, 1
	case atom.Span:
		if strings.Contains(attribute(t, "class"), "katex-html") { // the picture of a formula that was said before
			p.silent, p.nested = a, 1
		}
	case atom.Title:
		p.inTitle = true
	case atom.Pre:
		p.pre++
	}
	p.block(a)
	if n := headingLevel(a); n > 0 {
		p.beginHeading(n)
	}
}

// headingLevel is that of h1 to h6, 0 of another element.
func headingLevel(a atom.Atom) int {
	switch a {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return int(a.String()[1] - '0')
	}
	return 0
}

func (p *page) close(t html.Token) {
	a := t.DataAtom
	switch {
	case p.silent != 0:
		if a == p.silent {
			if p.nested--; p.nested == 0 {
				p.silent = 0
			}
		}
		return
	case p.math != nil:
		if a == atom.Math {
			p.formula()
		} else {
			p.math.close(t)
		}
		return
	case a == atom.Title:
		p.inTitle = false
	case a == atom.Pre:
		p.pre = max(0, p.pre-1)
	case headingLevel(a) > 0:
		p.endHeading()
	}
	p.block(a)
}

// formula writes the formula that was read.
func (p *page) formula() {
	m := p.math
	p.math = nil
	if m.block {
		p.space("\n")
		defer p.space("\n")
	}
	if s := strings.Join(strings.Fields(m.text()), " "); s != "" {
		p.write(s)
	}
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
		if p.Writer.open != nil && p.Writer.open.Start >= 0 {
			p.endHeading() // one that was not closed
		}
	}
}

func (p *page) text(s string) {
	switch {
	case p.silent != 0:
	case p.math != nil:
		p.math.add(s)
	case p.inTitle:
		p.title += s
	case p.pre > 0:
		line := strings.TrimRight(s, "\n")
		if p.gap == "\n\n" {
			line = strings.TrimPrefix(line, "\n") // which no browser shows either, right after <pre>
		}
		p.write(line)
		if strings.HasSuffix(s, "\n") {
			p.space("\n")
		}
	default:
		p.words(s)
	}
}

// A formula is read from MathML. It is said in TeX where the page has that beside it, and otherwise in one line, such as
// (a + b)/(2), x^(2) and sqrt(x).
type formula struct {
	alt      string // the attribute alttext, which is TeX as a rule
	tex      strings.Builder
	line     strings.Builder
	stack    []string // the open elements
	children []int    // how many children each has had
	inTeX    bool
	skipped  int // open elements within an annotation that is no TeX
	block    bool
}

// mostFormula bounds how deep a formula may nest and how many bytes it may say: what is more is left out.
const (
	mostFormulaDepth = 200
	mostFormula      = 1 << 16
)

func (f *formula) say(s string) {
	if f.line.Len() < mostFormula {
		f.line.WriteString(s)
	}
}

func (f *formula) open(t html.Token) {
	if f.skipped > 0 || len(f.stack) >= mostFormulaDepth {
		f.skipped++
		return
	}
	switch t.Data {
	case "annotation":
		if f.inTeX = attribute(t, "encoding") == "application/x-tex"; !f.inTeX {
			f.skipped++
		}
		return
	case "annotation-xml":
		f.skipped++
		return
	}
	if n := len(f.stack); n > 0 {
		f.say(before(f.stack[n-1], f.children[n-1]))
		f.children[n-1]++
	}
	f.stack, f.children = append(f.stack, t.Data), append(f.children, 0)
	switch t.Data {
	case "mfrac", "msup", "msub", "msubsup", "munder", "mover", "munderover":
		f.say("(")
	case "msqrt", "mroot":
		f.say("sqrt(")
	}
}

// before is what comes before the child of an element, by its index.
func before(element string, child int) string {
	switch {
	case element == "mfrac" && child == 1:
		return ")/("
	case (element == "msup" || element == "mover") && child == 1, (element == "msubsup" || element == "munderover") && child == 2:
		return ")^("
	case (element == "msub" || element == "munder" || element == "msubsup" || element == "munderover") && child == 1:
		return ")_("
	case element == "mroot" && child == 1, element == "mtr" && child > 0:
		return ", "
	case element == "mtable" && child > 0:
		return "; "
	}
	return ""
}

func (f *formula) close(t html.Token) {
	switch {
	case f.inTeX && t.Data == "annotation":
		f.inTeX = false
	case f.skipped > 0:
		f.skipped--
	case len(f.stack) > 0 && f.stack[len(f.stack)-1] == t.Data:
		f.stack, f.children = f.stack[:len(f.stack)-1], f.children[:len(f.children)-1]
		switch t.Data {
		case "mfrac", "msup", "msub", "msubsup", "munder", "mover", "munderover", "msqrt", "mroot":
			f.say(")")
		}
	}
}

func (f *formula) add(s string) {
	switch {
	case f.inTeX && f.tex.Len() < mostFormula:
		f.tex.WriteString(s)
	case f.skipped > 0:
	case len(f.stack) > 0 && f.stack[len(f.stack)-1] == "mo":
		switch s = strings.TrimSpace(s); s {
		case "\u2061", "\u2062", "\u2063", "\u2064": // invisible: they multiply, apply and separate
		case "(", ")", "[", "]", "{", "}", "|", "!":
			f.say(s)
		default:
			f.say(" " + s + " ")
		}
	default:
		f.say(strings.TrimSpace(s))
	}
}

// single takes the brackets off what is a single letter or number: x^2 for (x)^(2).
func single(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '(')
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		inner := s[i+1:]
		end := strings.IndexAny(inner, "()")
		if end > 0 && inner[end] == ')' && !strings.HasSuffix(b.String(), "sqrt") && plainSymbol(inner[:end]) &&
			(i == 0 || !isWord(s[i-1])) {
			b.WriteString(inner[:end])
			s = inner[end+1:]
			continue
		}
		b.WriteByte('(')
		s = inner
	}
	b.WriteString(s)
	return b.String()
}

func isWord(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func plainSymbol(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < 0x80 && !isWord(byte(r)) }) < 0
}

// text is what the formula says.
func (f *formula) text() string {
	for _, tex := range []string{f.tex.String(), f.alt} {
		if tex = strings.TrimSpace(tex); tex != "" && len(tex) < mostFormula {
			return "$" + tex + "$"
		}
	}
	return single(f.line.String())
}
