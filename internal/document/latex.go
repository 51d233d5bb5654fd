package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// latex adds what a LaTeX file says: its text, with formulas as they stand. Of a whole document that is the part between
// \begin{document} and \end{document}, of a file that others include all of it. Commands that it does not know are left
// out and their arguments kept, since most of them change how a text looks. Files that it includes are not followed: they
// are documents of their own.
func (w *Writer) latex(s string) {
	if before, body, ok := strings.Cut(s, `\begin{document}`); ok {
		r := latexReader{Writer: NewWriter(1 << 16), s: before}
		r.preamble()
		w.Title = oneLine(r.Writer.Title)
		s = body
		if body, _, ok := strings.Cut(s, `\end{document}`); ok {
			s = body
		}
	}
	r := latexReader{Writer: w, s: s}
	r.read()
}

// A latexReader reads from the left: s is what is still to be read. What a closing brace does stands in braces; nothing
// recurses, so that nesting costs nothing.
type latexReader struct {
	*Writer
	s      string
	braces []func()
}

// preamble finds the title.
func (r *latexReader) preamble() {
	for {
		i := strings.Index(r.s, `\title`)
		if i < 0 {
			return
		}
		r.s = r.s[i+len(`\title`):]
		r.optional()
		if arg, ok := r.argument(); ok {
			title := latexReader{Writer: NewWriter(1 << 12), s: arg}
			title.read()
			r.Title = title.Document().Text
			return
		}
	}
}

// sections are the levels of the commands that head sections.
var sections = map[string]int{"part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6,
	"subparagraph": 7}

// dropped are the numbers of arguments that commands have which say nothing to a reader.
var dropped = map[string]int{"documentclass": 1, "usepackage": 1, "RequirePackage": 1, "label": 1, "ref": 1, "eqref": 1,
	"pageref": 1, "autoref": 1, "cref": 1, "Cref": 1, "nameref": 1, "cite": 1, "citep": 1, "citet": 1, "nocite": 1,
	"parencite": 1, "textcite": 1, "autocite": 1, "bibliography": 1, "bibliographystyle": 1, "addbibresource": 1,
	"input": 1, "include": 1, "includeonly": 1, "includegraphics": 1, "graphicspath": 1, "pagestyle": 1,
	"thispagestyle": 1, "pagenumbering": 1, "setcounter": 2, "addtocounter": 2, "stepcounter": 1, "setlength": 2,
	"addtolength": 2, "vspace": 1, "hspace": 1, "vskip": 0, "index": 1, "glossary": 1, "hypersetup": 1, "newcommand": 2,
	"renewcommand": 2, "providecommand": 2, "DeclareMathOperator": 2, "newenvironment": 3, "renewenvironment": 3,
	"newtheorem": 2, "newcounter": 1, "newlength": 1, "color": 1, "definecolor": 3, "textcolor": 1, "colorbox": 1,
	"fontsize": 2, "selectlanguage": 1, "hyphenation": 1, "markboth": 2, "markright": 1, "addcontentsline": 3,
	"cline": 1, "cmidrule": 1, "multicolumn": 2, "multirow": 2, "rule": 2, "raisebox": 1, "resizebox": 2, "scalebox": 1,
	"lstset": 1, "tikzset": 1, "usetikzlibrary": 1, "bibitem": 1, "hypertarget": 1, "hyperlink": 1, "href": 1,
	"phantomsection": 0, "foreignlanguage": 1, "theoremstyle": 1, "captionsetup": 1, "geometry": 1, "thanks": 1}

// signs are commands that stand for signs.
var signs = map[string]string{"%": "%", "&": "&", "_": "_", "#": "#", "$": "$", "{": "{", "}": "}", " ": " ", "\n": " ",
	",": " ", ";": " ", ":": " ", "!": "", "-": "", "/": "", "@": "", "quad": " ", "qquad": " ", "space": " ",
	"ldots": "…", "dots": "…", "textellipsis": "…", "textbackslash": `\`, "textasciitilde": "~", "textasciicircum": "^",
	"textendash": "–", "textemdash": "—", "ss": "ß", "o": "ø", "O": "Ø", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ",
	"aa": "å", "AA": "Å", "l": "ł", "L": "Ł", "i": "ı", "j": "ȷ", "TeX": "TeX", "LaTeX": "LaTeX", "LaTeXe": "LaTeX2e",
	"BibTeX": "BibTeX", "copyright": "©", "textcopyright": "©", "S": "§", "P": "¶", "pounds": "£", "euro": "€",
	"textquoteleft": "‘", "textquoteright": "’", "textquotedblleft": "“", "textquotedblright": "”", "textbar": "|",
	"textless": "<", "textgreater": ">", "textbullet": "•", "textdegree": "°", "slash": "/", "lq": "‘", "rq": "’"}

// accents are commands that put a mark on the letter after them.
var accents = map[string]rune{"'": 0x301, "`": 0x300, "^": 0x302, `"`: 0x308, "~": 0x303, "=": 0x304, ".": 0x307,
	"c": 0x327, "v": 0x30c, "u": 0x306, "H": 0x30b, "k": 0x328, "r": 0x30a, "d": 0x323, "b": 0x331}

// formulaEnvironments are those whose content is a formula, verbatimEnvironments those that stand as they are, and
// silentEnvironments those that draw or configure.
var (
	formulaEnvironments  = wordSet("equation align gather multline eqnarray displaymath math flalign alignat")
	verbatimEnvironments = wordSet("verbatim Verbatim lstlisting minted alltt code")
	silentEnvironments   = wordSet("comment tikzpicture pspicture picture filecontents pgfpicture")
	argumentEnvironments = wordSet("tabular array longtable tabularx minipage multicols thebibliography figure table wrapfigure")
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// plainEnd is where the run of plain text ends that s begins with.
func plainEnd(s string) int {
	if i := strings.IndexAny(s, "\\{}$%~&`'-\n"); i >= 0 {
		return i
	}
	return len(s)
}

func (r *latexReader) read() {
	for r.s != "" && r.err == nil {
		if n := plainEnd(r.s); n > 0 {
			r.words(r.s[:n])
			r.s = r.s[n:]
			continue
		}
		c := r.s[0]
		switch c {
		case '\\':
			r.command()
		case '{':
			r.s = r.s[1:]
			r.braces = append(r.braces, nil)
		case '}':
			r.s = r.s[1:]
			r.closeBrace()
		case '$':
			r.dollars()
		case '%':
			_, rest, _ := strings.Cut(r.s, "\n")
			r.s = strings.TrimLeft(rest, " \t")
			if strings.HasPrefix(r.s, "\n") {
				r.space("\n\n")
			}
		case '\n':
			rest := strings.TrimLeft(r.s, " \t\n")
			if strings.Count(r.s[:len(r.s)-len(rest)], "\n") > 1 {
				r.space("\n\n")
			} else {
				r.space(" ")
			}
			r.s = rest
		default:
			r.ligature()
		}
	}
	for len(r.braces) > 0 {
		r.closeBrace()
	}
	r.endHeading()
}

func (r *latexReader) closeBrace() {
	if n := len(r.braces); n > 0 {
		do := r.braces[n-1]
		r.braces = r.braces[:n-1]
		if do != nil {
			do()
		}
	}
}

// ligature writes the signs that TeX makes of runs of others.
func (r *latexReader) ligature() {
	for _, l := range [][2]string{{"---", "—"}, {"--", "–"}, {"``", "“"}, {"''", "”"}, {"`", "‘"}, {"'", "’"}} {
		if rest, ok := strings.CutPrefix(r.s, l[0]); ok {
			r.write(l[1])
			r.s = rest
			return
		}
	}
	if c := r.s[0]; c == '~' || c == '&' {
		r.space(" ")
	} else {
		r.write(r.s[:1])
	}
	r.s = r.s[1:]
}

// dollars copies a formula between dollar signs.
func (r *latexReader) dollars() {
	mark := "$"
	if strings.HasPrefix(r.s, "$$") {
		mark = "$$"
	}
	rest := r.s[len(mark):]
	end := indexUnescaped(rest, mark)
	if blank := strings.Index(rest, "\n\n"); end < 0 || blank >= 0 && blank < end { // one that is not closed
		r.s = rest
		return
	}
	r.formula(mark, rest[:end], mark)
	r.s = rest[end+len(mark):]
}

// indexUnescaped is where mark stands in s without a backslash before it.
func indexUnescaped(s, mark string) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		} else if strings.HasPrefix(s[i:], mark) {
			return i
		}
	}
	return -1
}

func (r *latexReader) formula(begin, tex, end string) {
	if tex = strings.Join(strings.Fields(tex), " "); tex != "" {
		r.write(begin + tex + end)
	}
}

// command reads a command, at whose backslash s begins.
func (r *latexReader) command() {
	name := r.name()
	mark, isAccent := accents[name]
	sign, isSign := signs[name]
	level, isSection := sections[name]
	count, isDropped := dropped[name]
	switch {
	case isSection:
		r.section(level)
	case name == "begin" || name == "end":
		r.environment(name == "begin")
	case name == "(" || name == "[":
		end := map[string]string{"(": `\)`, "[": `\]`}[name]
		if tex, rest, ok := strings.Cut(r.s, end); ok {
			r.formula(`\`+name, tex, end)
			r.s = rest
		}
	case name == "item":
		r.item()
	case name == `\` || name == "newline" || name == "par" || name == "tabularnewline":
		r.star()
		r.optional()
		r.space(map[bool]string{true: "\n\n", false: "\n"}[name == "par"])
	case name == "caption" || name == "title" || name == "author" || name == "date":
		r.optional()
		r.after(func() { r.space("\n\n") })
		r.space("\n\n")
	case name == "footnote" || name == "footnotetext":
		r.optional()
		r.write(" (")
		r.after(func() { r.gap = ""; r.write(")") })
	case name == "url" || name == "path":
		if arg, ok := r.argument(); ok {
			r.write(arg)
		}
	case name == "verb":
		r.verb()
	case name == "def" || name == "gdef" || name == "edef" || name == "let":
		r.definition(name)
	case isAccent && r.accent(mark):
	case isDropped:
		r.drop(name, count)
	case isSign && strings.TrimSpace(sign) == "" && sign != "":
		r.space(" ")
	case isSign:
		r.write(sign)
		r.s = strings.TrimPrefix(r.s, "{}")
	default:
		r.star()
		r.optional()
	}
}

// name reads the name of a command, with the white space that belongs to it.
func (r *latexReader) name() string {
	s := r.s[1:]
	n := strings.IndexFunc(s, func(c rune) bool { return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '@') })
	if n < 0 {
		n = len(s)
	}
	if n == 0 && s != "" {
		_, n = utf8.DecodeRuneInString(s)
	}
	name := s[:n]
	r.s = s[n:]
	if n > 0 && unicode.IsLetter(rune(name[0])) {
		r.s = strings.TrimLeft(r.s, " \t")
	}
	return name
}

// section begins a heading of a level.
func (r *latexReader) section(level int) {
	r.star()
	r.optional()
	if strings.HasPrefix(r.s, "{") {
		r.s = r.s[1:]
		r.beginHeading(level)
		r.braces = append(r.braces, r.endHeading)
	}
}

// item begins an item of a list, with its label if it has one.
func (r *latexReader) item() {
	r.space("\n")
	if label, ok := r.optional(); ok {
		r.s = "{" + label + "} " + r.s
		return
	}
	r.write("- ")
	r.gap = ""
}

// definition passes over what TeX's own commands define.
func (r *latexReader) definition(name string) {
	if i := strings.IndexByte(r.s, '{'); i >= 0 && name != "let" {
		r.s = r.s[i:]
		r.argument()
	} else if i := strings.IndexByte(r.s, '\n'); i >= 0 {
		r.s = r.s[i:]
	}
}

// drop passes over the arguments of a command that says nothing.
func (r *latexReader) drop(name string, count int) {
	r.star()
	for range count {
		for ok := true; ok; {
			_, ok = r.optional()
		}
		r.argument()
		for ok := name != "multicolumn"; ok; { // the number of arguments of a definition
			_, ok = r.optional()
		}
	}
}

// after has do called when the argument that s begins with ends.
func (r *latexReader) after(do func()) {
	if strings.HasPrefix(r.s, "{") {
		r.s = r.s[1:]
		r.braces = append(r.braces, do)
	} else {
		do()
	}
}

func (r *latexReader) star() { r.s = strings.TrimPrefix(r.s, "*") }

// mostArgument bounds how far the end of an argument is looked for.
const mostArgument = 1 << 16

// argument takes a braced argument.
func (r *latexReader) argument() (string, bool) {
	s := strings.TrimLeft(r.s, " \t\n")
	if !strings.HasPrefix(s, "{") {
		return "", false
	}
	deep := 0
	for i := 0; i < min(len(s), mostArgument); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			deep++
		case '}':
			if deep--; deep == 0 {
				r.s = s[i+1:]
				return s[1:i], true
			}
		}
	}
	return "", false
}

// optional takes an argument in square brackets.
func (r *latexReader) optional() (string, bool) {
	if !strings.HasPrefix(r.s, "[") {
		return "", false
	}
	deep := 0
	for i := 1; i < min(len(r.s), 1<<12); i++ {
		switch r.s[i] {
		case '\\':
			i++
		case '{':
			deep++
		case '}':
			deep--
		case ']':
			if deep == 0 {
				arg := r.s[1:i]
				r.s = r.s[i+1:]
				return arg, true
			}
		}
	}
	return "", false
}

// accent puts a mark on the letter that follows, and reports whether one did.
func (r *latexReader) accent(mark rune) bool {
	s := strings.TrimLeft(r.s, "{")
	s = strings.TrimPrefix(strings.TrimPrefix(s, `\i`), `\j`)
	braced := len(r.s) > 0 && r.s[0] == '{'
	if dotless := len(strings.TrimLeft(r.s, "{")) > len(s); dotless {
		s = strings.TrimLeft(r.s, "{")[1:]
	}
	letter, n := utf8.DecodeRuneInString(s)
	if n == 0 || !unicode.IsLetter(letter) {
		return false
	}
	r.write(norm.NFC.String(string([]rune{letter, mark})))
	r.s = s[n:]
	if braced {
		r.s = strings.TrimPrefix(r.s, "}")
	}
	return true
}

func (r *latexReader) verb() {
	r.star()
	if r.s == "" {
		return
	}
	_, n := utf8.DecodeRuneInString(r.s)
	if code, rest, ok := strings.Cut(r.s[n:], r.s[:n]); ok && !strings.Contains(code, "\n") {
		r.write(code)
		r.s = rest
	}
}

// environment reads the name of an environment, and what it is made of where that is no running text.
func (r *latexReader) environment(begins bool) {
	name, ok := r.argument()
	if !ok {
		return
	}
	bare := strings.TrimSuffix(name, "*")
	r.space("\n\n")
	if !begins {
		return
	}
	end := `\end{` + name + `}`
	switch {
	case formulaEnvironments[bare]:
		if tex, rest, ok := strings.Cut(r.s, end); ok {
			r.formula("$$", dropLabels(tex), "$$")
			r.s = rest
		}
	case verbatimEnvironments[bare]:
		r.optional()
		if bare == "minted" {
			r.argument()
		}
		if code, rest, ok := strings.Cut(r.s, end); ok {
			r.write(strings.Trim(code, "\n"))
			r.s = rest
		}
	case silentEnvironments[bare]:
		if _, rest, ok := strings.Cut(r.s, end); ok {
			r.s = rest
		}
	case bare == "abstract":
		r.Heading(3, "Abstract")
	case argumentEnvironments[bare]:
		r.optional()
		if bare == "tabularx" {
			r.argument()
		}
		r.argument()
		r.optional()
	default:
		r.optional()
	}
	r.space("\n\n")
}

// dropLabels leaves out the labels of equations.
func dropLabels(tex string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(tex, `\label{`)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if _, tex, ok = strings.Cut(rest, "}"); !ok {
			return b.String()
		}
	}
}
