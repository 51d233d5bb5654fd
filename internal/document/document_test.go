package document

import (
	"archive/zip"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// check reads a document and compares its title, headings ("level title") and text.
func check(t *testing.T, kind Kind, from, title, text string, headings ...string) {
	t.Helper()
	d, err := Read(t.Context(), kind, []byte(from), 1<<20)
	if err != nil {
		t.Errorf("%.60q: %v", from, err)
		return
	}
	var got []string
	for _, h := range d.Headings {
		got = append(got, fmt.Sprint(h.Level, " ", h.Title))
		if strings.Join(strings.Fields(d.Text[h.Start:h.End]), " ") != h.Title {
			t.Errorf("%.60q: the heading %q stands at %q", from, h.Title, d.Text[h.Start:h.End])
		}
	}
	if d.Title != title || d.Text != text || !slices.Equal(got, headings) {
		t.Errorf("%.60q:\n got %q %q %q\nwant %q %q %q", from, d.Title, got, d.Text, title, headings, text)
	}
}

func TestMarkdownHeadings(t *testing.T) {
	check(t, Markdown, "# Moss\n\nIt is green.\n\n## On *stone*\n\nSlow.\n\nLower\n-----\nEnd.", "Moss",
		"Moss\n\nIt is green.\n\nOn stone\n\nSlow.\n\nLower\n\nEnd.", "1 Moss", "2 On stone", "2 Lower")
	check(t, Markdown, "## "+strings.Repeat("long ", 60)+"\n\ntext", "", strings.TrimSpace(strings.Repeat("long ", 60))+"\n\ntext")
	check(t, Markdown, "No heading.", "", "No heading.")
}

func TestHTMLFormulas(t *testing.T) {
	check(t, HTML, `<p>So <math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math>, and.`, "",
		"So (a + b)/2, and.")
	check(t, HTML, `<math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><msub><mi>y</mi><mi>i</mi></msub></math>`, "",
		"x^2 + y_i")
	check(t, HTML, `<math><msqrt><mi>x</mi></msqrt><mo>=</mo><mroot><mn>8</mn><mn>3</mn></mroot></math>`, "",
		"sqrt(x) = sqrt(8, 3)")
	check(t, HTML, `<math><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover></math>.`, "",
		"( ∑ )_(i = 1)^n.")
	check(t, HTML, `<math><semantics><mi>x</mi><annotation encoding="application/x-tex">\hat{x}</annotation></semantics></math>`,
		"", `$\hat{x}$`)
	check(t, HTML, `<math alttext="E=mc^2"><mi>E</mi></math> holds`, "", "$E=mc^2$ holds")
	check(t, HTML, `<span class="katex"><span class="katex-mathml"><math><semantics><mi>k</mi>`+
		`<annotation encoding="application/x-tex">k</annotation></semantics></math></span>`+
		`<span class="katex-html" aria-hidden="true"><span>k</span></span></span>!`, "", "$k$!")
	check(t, HTML, `<h2>On <math><mi>π</mi></math></h2>x<script>no</script>`, "On π", "On π\n\nx", "2 On π")
	check(t, HTML, "<h1>Open<p>One", "Open", "Open\n\nOne", "1 Open")
}

func TestLaTeX(t *testing.T) {
	check(t, LaTeX, `\documentclass{article}
\usepackage[utf8]{inputenc} % a comment
\newcommand{\x}[1]{hidden #1}
\title{On \emph{Knots}\thanks{Money}}
\begin{document}
\maketitle
\begin{abstract}Short.\end{abstract}
\section[K]{The \textbf{knot}}\label{s}
It costs 5\% of what~M\"uller
paid --- see~\cite{a,b} and ''so''.

Then $a_1 \le 5$ and
\begin{equation}\label{e} E = mc^2 \end{equation}
\subsection*{Kinds}
\begin{itemize}
\item Bow
\item[b)] Reef\footnote{Flat.} knot
\end{itemize}
\begin{verbatim}
\keep {this}
\end{verbatim}
\begin{tikzpicture}\draw (0,0);\end{tikzpicture}
\href{http://x.example}{a link}, \url{http://y.example}, \'etude, fa\c{c}ade, na\"{\i}ve, \LaTeX{} too, \verb|a_b|.
\end{document}
never`, "On Knots",
		"Abstract\n\nShort.\n\nThe knot\n\nIt costs 5% of what Müller paid — see and ”so”.\n\nThen $a_1 \\le 5$ and\n\n"+
			"$$E = mc^2$$\n\nKinds\n\n- Bow\nb) Reef (Flat.) knot\n\n\\keep {this}\n\n"+
			"a link, http://y.example, étude, façade, naïve, LaTeX too, a_b.",
		"3 Abstract", "3 The knot", "4 Kinds")
	check(t, LaTeX, `\chapter{Included} A file that others input. \begin{tabular}{ll} a & b \\ c & d \end{tabular}`, "Included",
		"Included\n\nA file that others input.\n\na b\nc d", "2 Included")
	check(t, LaTeX, `An open $5 bill, an {open brace, \section{an open heading`, "an open heading",
		"An open 5 bill, an open brace,\n\nan open heading", "3 an open heading")
	check(t, LaTeX, strings.Repeat("{", 100_000)+"x", "", "x")
}

func TestNotebook(t *testing.T) {
	check(t, Notebook, `{"nbformat": 4, "metadata": {}, "cells": [
		{"cell_type": "markdown", "source": ["# Moss\n", "\n", "Green."]},
		{"cell_type": "code", "source": "n = 3\nprint(n)", "outputs": [{"output_type": "stream", "text": ["3\n"]},
			{"output_type": "display_data", "data": {"text/plain": "<Figure size 1x1>", "image/png": "aGk="}}]}]}`,
		"Moss", "Moss\n\nGreen.\n\nn = 3\nprint(n)\n\n3", "1 Moss")
	for _, bad := range []string{"{", `{"nbformat": 3}`, `{"nbformat": 4, "cells": 5}`, "[]"} {
		if _, err := Read(t.Context(), Notebook, []byte(bad), 1<<20); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestCSV(t *testing.T) {
	check(t, CSV, "name,height\nOak,\"30\nm\"\nElm,\n,12,more\n", "", "name: Oak; height: 30 m\n\nname: Elm\n\nheight: 12; more")
	check(t, CSV, "name;height\nOak;30,5\n", "", "name: Oak; height: 30,5")
	check(t, CSV, "name\theight\nOak\t3\n", "", "name: Oak; height: 3")
	check(t, CSV, "one line", "", "one line")
	if _, err := Read(t.Context(), CSV, []byte(strings.Repeat("a", 500)+"\n"+strings.Repeat("1\n", 500)), 10_000); err == nil ||
		!strings.Contains(err.Error(), "10000 bytes") {
		t.Errorf("a table whose text is larger than it may be: %v", err)
	}
}

// zipped is a ZIP file of names and contents in turn.
func zipped(t testing.TB, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const wordSpace = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"`

// docxFile is a small DOCX around the XML of a body.
func docxFile(t testing.TB, body string) string {
	return zipped(t, "word/document.xml", `<w:document `+wordSpace+`><w:body>`+body+`</w:body></w:document>`,
		"word/styles.xml", `<w:styles `+wordSpace+`><w:style w:styleId="T"><w:name w:val="Title"/></w:style>
			<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
			<w:style w:styleId="Own"><w:name w:val="My own"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>`,
		"word/footnotes.xml", `<w:footnotes `+wordSpace+`><w:footnote w:id="2"><w:p><w:r><w:t>Rarely.</w:t></w:r></w:p></w:footnote></w:footnotes>`)
}

func TestDOCX(t *testing.T) {
	check(t, DOCX, docxFile(t, `
		<w:p><w:pPr><w:pStyle w:val="T"/></w:pPr><w:r><w:t>Trees</w:t></w:r></w:p>
		<w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>The </w:t></w:r><w:r><w:t>oak</w:t></w:r></w:p>
		<w:p><w:r><w:t>It grows</w:t><w:footnoteReference w:id="2"/><w:t xml:space="preserve"> fast.</w:t></w:r>
			<w:del><w:r><w:delText>slowly</w:delText></w:r></w:del></w:p>
		<w:p><w:pPr><w:pStyle w:val="Own"/></w:pPr><w:r><w:t>Acorns</w:t></w:r></w:p>
		<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>brown</w:t></w:r></w:p><w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>round</w:t></w:r></w:p>
		<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr>
			<w:tr><w:tc><w:p><w:r><w:t>d</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
		<w:p><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>x</m:t></m:r></m:den></m:f></m:oMath></w:p>`),
		"Trees", "Trees\n\nThe oak\n\nIt grows (Rarely.) fast.\n\nAcorns\n\n- brown\n- round\n\na b c\nd\n\n(1)/(x)",
		"1 The oak", "2 Acorns")
}

func TestEPUB(t *testing.T) {
	const opf = `<package xmlns:dc="d"><metadata><dc:title>A &amp; B</dc:title></metadata><manifest>
		<item id="one" href="one%20.xhtml"/><item id="two" href="sub/two.xhtml"/><item id="gone" href="gone.xhtml"/>
		<item id="part" href="sub/two.xhtml#part"/></manifest>
		<spine><itemref idref="two"/><itemref idref="part"/><itemref idref="one"/><itemref idref="gone"/></spine></package>`
	const container = `<container><rootfiles><rootfile full-path="OPS/p.opf"/></rootfiles></container>`
	book := zipped(t, "mimetype", "application/epub+zip", "META-INF/container.xml", container, "OPS/p.opf", opf,
		"OPS/one .xhtml", `<html><head><title>one</title></head><body><h1>Last</h1><p>End.</p></body></html>`,
		"OPS/sub/two.xhtml", `<html><body><h1>First</h1><p>Begin.</p></body></html>`)
	check(t, EPUB, book, "A & B", "First\n\nBegin.\n\nLast\n\nEnd.", "1 First", "1 Last")
	d, err := Read(t.Context(), EPUB, []byte(book), 1<<20)
	if err != nil || len(d.Lost) != 1 || !strings.Contains(d.Lost[0], "gone.xhtml") {
		t.Errorf("what is not there: %q, %v", d.Lost, err)
	}
	locked := zipped(t, "META-INF/container.xml", container, "OPS/p.opf", opf, "OPS/sub/two.xhtml", "<p>x", "META-INF/encryption.xml",
		`<encryption><EncryptedData><CipherData><CipherReference URI="OPS/sub/two.xhtml"/></CipherData></EncryptedData></encryption>`)
	if _, err := Read(t.Context(), EPUB, []byte(locked), 1<<20); err == nil || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("an encrypted book: %v", err)
	}
}

// What cannot be read says why, and what unpacks to more than it may is not read.
func TestPackedProblems(t *testing.T) {
	problem := func(kind Kind, from, want string) {
		t.Helper()
		if _, err := Read(t.Context(), kind, []byte(from), 1<<20); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", from, err, want)
		}
	}
	problem(DOCX, "\xd0\xcf\x11\xe0\xa1\xb1", "encrypted with a password")
	problem(DOCX, "PK\x03\x04 torn", "damaged")
	problem(DOCX, zipped(t, "a", "b"), "word/document.xml")
	problem(DOCX, zipped(t, "word/document.xml", "<w:p><w:t>open"), "cannot be read")
	problem(DOCX, zipped(t, "word/document.xml", strings.Repeat("<p>", 20_000)), "nest too deeply")
	problem(DOCX, zipped(t, "word/document.xml", strings.Repeat(" ", mostUnpacked+1)), "unpacks to more than 64 MiB")
	problem(EPUB, zipped(t, "a", "b"), "container.xml")
	problem(DOCX, docxFile(t, "<w:p><w:r><w:t>"+strings.Repeat("x", 1<<20+1)+"</w:t></w:r></w:p>"), "1048576 bytes")
}

// FuzzRead: no file makes a reader panic; what it reads is text, and its headings stand where it says, in order.
func FuzzRead(f *testing.F) {
	f.Add("html", []byte("<title>x</title><p>a<pre>\n b</pre><h1>c<svg><svg></svg>d<math><mfrac><mi>a</math>"))
	f.Add("markdown", []byte("---\na: b\n---\n# T\n\n| a | b |\n|---|---|\n| c | d |\n\n```\ncode\n```\n<div>raw</div>"))
	f.Add("text", []byte("x"))
	f.Add("latex", []byte(`\title{a}\begin{document}\section{b}\'{\i}\item[c] $x$ \verb|d| \begin{tabular}{l} \end{document}`))
	f.Add("csv", []byte("a;b\n1;\"2\n3\""))
	f.Add("notebook", []byte(`{"nbformat":4,"cells":[{"cell_type":"markdown","source":["# a"]},{"cell_type":"code","source":"x"}]}`))
	f.Add("docx", []byte(docxFile(f, `<w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>a</w:t></w:r></w:p><w:tbl><w:tr><w:tc/></w:tr></w:tbl>`)))
	f.Add("epub", []byte(zipped(f, "META-INF/container.xml", `<rootfile full-path="p"/>`, "p",
		`<package><item id="a" href="a"/><itemref idref="a"/></package>`, "a", "<h1>x")))
	f.Fuzz(func(t *testing.T, kind string, b []byte) {
		if len(b) > 1<<14 {
			t.Skip()
		}
		d, err := Read(t.Context(), Kind(kind), b, 1<<20)
		if err != nil {
			return
		}
		if !utf8.ValidString(d.Title+d.Text) || len(d.Title) > MaxTitle || strings.Contains(d.Title, "\n") {
			t.Errorf("title %q, text %q", d.Title, d.Text)
		}
		at := 0
		for _, h := range d.Headings {
			if h.Start < at || h.End <= h.Start || h.End > len(d.Text) || h.Title == "" || len(h.Title) > MaxTitle || h.Level < 1 || h.Level > 9 {
				t.Fatalf("heading %+v after %d in %d bytes", h, at, len(d.Text))
			}
			at = h.End
		}
	})
}
