package corpus

import (
	"archive/zip"
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/tokenize"
)

// No passage reaches over a heading, and its title says where it stands.
func TestSections(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "g.md", "Before all.\n\n# Guide\n\nFirst.\n\n## Installing\n\n### From source\n\nBuild it.\n\n### Empty\n\n"+
		"## Using\n\nRun it.\n\n## Again\n\nRun it.\n")
	c, err := Read(context.Background(), dir, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	passages, repeated := Cut(c.Documents, Sizes{50, 0})
	var got []string
	for _, p := range passages {
		got = append(got, p.ID+" "+p.Titled())
		if c.Documents[0].Text[p.Start:p.End] != p.Text {
			t.Errorf("%s: its place holds %q", p.ID, c.Documents[0].Text[p.Start:p.End])
		}
	}
	want := []string{"g.md#1 Guide: Before all.", "g.md#2 Guide: First.", "g.md#3 Guide > Installing > From source: Build it.",
		"g.md#4 Guide > Installing: Empty", "g.md#5 Guide > Using: Run it.", "g.md#6 Guide > Again: Run it."}
	if !slices.Equal(got, want) || repeated != 0 {
		t.Errorf("got  %q, %d repeated\nwant %q", got, repeated, want)
	}
}

// A title does not make a sentence: what counts the sentences of a context counts those of the document.
func TestTitled(t *testing.T) {
	for _, title := range []string{"", "Heather", "What is heather?", "Heather. A plant.", "Dr. Who", "1. Plants:", "植物。", "…"} {
		for _, text := range []string{"It grows on the moor.", "It grows. It blooms.", "- one\n- two", "heather", "“It,” she said, “grows.”", "石楠。花。"} {
			titled := Passage{Title: title, Text: text}.Titled()
			if n, want := len(tokenize.Sentences(titled)), len(tokenize.Sentences(text)); n != want || !strings.HasSuffix(titled, text) {
				t.Errorf("%q and %q: %q has %d sentences, want %d", title, text, titled, n, want)
			}
		}
	}
	if got := (Passage{Title: "Heather", Text: "It grows on the moor. It blooms."}).Titled(); got != "Heather: It grows on the moor. It blooms." {
		t.Errorf("%q", got)
	}
}

// Documents of other kinds are read, parts that cannot be are named, and the rest goes on; one file is a corpus.
func TestReadDocuments(t *testing.T) {
	dir := t.TempDir()
	var book bytes.Buffer
	z := zip.NewWriter(&book)
	for _, file := range [][2]string{{"META-INF/container.xml", `<rootfile full-path="p"/>`},
		{"p", `<package><item id="a" href="a"/><item id="b" href="b"/><itemref idref="a"/><itemref idref="b"/></package>`},
		{"a", "<h1>Book</h1>Read."}} {
		f, err := z.Create(file[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(file[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "book.epub", book.String())
	write(t, dir, "knots.tex", `\section{Knots}Tied.`)
	write(t, dir, "trees.csv", "name\nOak\n")
	write(t, dir, "torn.pdf", "torn")
	write(t, dir, "torn.docx", "PK torn")
	c, err := Read(context.Background(), dir, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var ids, skipped []string
	for _, d := range c.Documents {
		ids = append(ids, d.ID)
	}
	for _, s := range c.Skipped {
		skipped = append(skipped, s.Name)
		if s.Why == "" {
			t.Errorf("%s was passed over for no reason", s.Name)
		}
	}
	if !slices.Equal(ids, []string{"book.epub", "knots.tex", "trees.csv"}) || !slices.Equal(skipped, []string{"book.epub", "torn.docx", "torn.pdf"}) {
		t.Errorf("read %q, passed over %q", ids, skipped)
	}
	c, err = Read(context.Background(), filepath.Join(dir, "knots.tex"), Limits{})
	if err != nil || len(c.Documents) != 1 || c.Documents[0].ID != "knots.tex" || c.Documents[0].Title != "Knots" {
		t.Errorf("one file: %v", err)
	}
	if _, err := Read(context.Background(), filepath.Join(dir, "torn.pdf"), Limits{}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("one file that cannot be read: %v", err)
	}
}
