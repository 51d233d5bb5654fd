package corpus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/document"
)

// write writes a file in a folder of the test's.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestReadFolder(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "docs")
	write(t, top, "secret.md", "outside")
	write(t, dir, "b.txt", "\uFEFFPlain text.\r\nSecond line.")
	write(t, dir, "a/deep.md", "---\nauthor: x\n---\n# The *title*\n\n"+
		"Some [linked](http://x.example) text,\nwrapped.\n\n- one\n- two\n")
	write(t, dir, "page.HTML", "<title>T &amp; U</title><h1>Other</h1><p>One<br>two <b>bold</b>.</p>"+
		"<script>no()</script><table><tr><td>x<td>y</table>")
	write(t, dir, "image.png", "png")
	write(t, dir, "empty.md", "\n")
	write(t, dir, "latin.txt", "caf\xe9")
	write(t, dir, "nul.txt", "a\x00b")
	write(t, dir, "open.html", "<p>Said. <svg> unsaid")
	write(t, dir, ".hidden.md", "hidden")
	write(t, dir, ".git/config.md", "hidden")
	write(t, dir, "big.txt", strings.Repeat("x", 2000))
	links := os.Symlink(filepath.Join(top, "secret.md"), filepath.Join(dir, "out.md")) == nil &&
		os.Symlink("../secret.md", filepath.Join(dir, "up.md")) == nil &&
		os.Symlink("b.txt", filepath.Join(dir, "within.txt")) == nil &&
		os.Symlink(".", filepath.Join(dir, "loop")) == nil
	c, err := Read(context.Background(), dir, Limits{Document: 1000})
	if err != nil {
		t.Fatal(err)
	}
	want := []Document{
		{ID: "a/deep.md", Title: "The title", Text: "The title\n\nSome linked text, wrapped.\n\none\ntwo",
			Headings: []document.Heading{{Level: 1, Title: "The title", Start: 0, End: 9}}},
		{ID: "b.txt", Text: "Plain text.\nSecond line."},
		{ID: "page.HTML", Title: "T & U", Text: "Other\n\nOne\ntwo bold.\n\nx y",
			Headings: []document.Heading{{Level: 1, Title: "Other", Start: 0, End: 5}}},
	}
	skipped := []string{"big.txt", "empty.md", "image.png", "latin.txt", "nul.txt", "open.html"}
	if links {
		want = append(want, Document{ID: "within.txt", Text: "Plain text.\nSecond line."})
		skipped = append(skipped, "loop", "out.md", "up.md")
	}
	if !reflect.DeepEqual(c.Documents, want) {
		t.Errorf("got  %+v\nwant %+v", c.Documents, want)
	}
	var names []string
	for _, s := range c.Skipped {
		names = append(names, s.Name)
		if s.Why == "" {
			t.Errorf("%s was passed over for no reason", s.Name)
		}
	}
	slices.Sort(names)
	slices.Sort(skipped)
	if !slices.Equal(names, skipped) {
		t.Errorf("passed over %q, want %q", names, skipped)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	check := func(content, problem string, want ...Document) {
		t.Helper()
		write(t, dir, "c.jsonl", content)
		c, err := Read(context.Background(), filepath.Join(dir, "c.jsonl"), Limits{Document: 200, Total: 300, Count: 3})
		switch {
		case problem != "":
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%q: %v, want %q", content, err, problem)
			}
		case err != nil:
			t.Errorf("%q: %v", content, err)
		case !reflect.DeepEqual(c.Documents, want):
			t.Errorf("%q: %v, want %v", content, c.Documents, want)
		}
	}
	check("{\"id\": \"b\", \"text\": \"Two.\"}\n\n{\"_id\": 7, \"title\": \"T  t\", \"contents\": \"One.\"}\n", "",
		Document{ID: "7", Title: "T t", Text: "One.", Row: true}, Document{ID: "b", Text: "Two.", Row: true})
	check(`{"id": "a", "text": "x"}`+"\n"+`{"id": "a", "text": "y"}`, `line 2: the id "a" is used twice`)
	check(`{"text": "x"}`, `line 1: no "id"`)
	check(`{"id": "a"}`, `line 1: no "text"`)
	check(`{"id": "a", "text": 5}`, "the text is no text")
	check(`{"id": "a", "text": " "}`, "is empty")
	check(`{"id": "a\n", "text": "x"}`, "not printable")
	check(`{"id": "a\u202e", "text": "x"}`, "not printable")
	check(`[1]`, "no JSON object")
	check("{\"id\": \"a\", \"text\": \"caf\xe9\"}", "not UTF-8")
	check(`{"id": "a", "text": "`+strings.Repeat("x", 300)+`"}`, "longer than 200 bytes")
	check(strings.Repeat(`{"id": "`, 1)+`a", "text": "`+strings.Repeat("x", 150)+"\"}\n"+
		`{"id": "b", "text": "`+strings.Repeat("x", 160)+`"}`, "of text")
	check("", "no documents")
	four := ""
	for _, id := range []string{"a", "b", "c", "d"} {
		four += `{"id": "` + id + `", "text": "x"}` + "\n"
	}
	check(four, "more than 3 documents")
	if _, err := Read(context.Background(), filepath.Join(dir, "absent"), Limits{}); err == nil {
		t.Error("a folder that does not exist was read")
	}
}

// A corpus as unitxt has them: each row is a document of passages.
func TestReadPassages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "corpus.jsonl")
	text := `{"document_id": "d1", "title": "Ferry", "passages": ["It sails in May.", "It costs 14 euros."], "metadata_field": ""}`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := Read(t.Context(), path, Limits{})
	if err != nil || len(c.Documents) != 1 || c.Documents[0].ID != "d1" || c.Documents[0].Title != "Ferry" ||
		c.Documents[0].Text != "It sails in May.\n\nIt costs 14 euros." {
		t.Errorf("%+v, %v", c, err)
	}
	if err := os.WriteFile(path, []byte(`{"document_id": "d1", "passages": "one"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), path, Limits{}); err == nil || !strings.Contains(err.Error(), "no list of texts") {
		t.Errorf("passages that are no list: %v", err)
	}
}

func TestDigest(t *testing.T) {
	one := Corpus{Documents: []Document{{ID: "ab", Text: "c"}}}
	for _, other := range []Corpus{
		{Documents: []Document{{ID: "a", Text: "bc"}}}, {Documents: []Document{{ID: "ab", Title: "c"}}}, {},
		{Documents: []Document{{ID: "ab", Text: "d"}}},
	} {
		if other.Digest() == one.Digest() {
			t.Errorf("%v has the digest of %v", other, one)
		}
	}
}

// FuzzRow: a row that is taken has an id that can be printed, and a text.
func FuzzRow(f *testing.F) {
	f.Add([]byte(`{"id": 1, "text": "x", "title": null}`))
	f.Add([]byte(`{"_id": "a", "contents": "x", "title": "t"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		d, err := parseRow(line)
		if err == nil &&
			(!printable(d.ID) || d.ID == "" || strings.TrimSpace(d.Text) == "" || len(d.Title) > document.MaxTitle) {
			t.Errorf("%q: %+v", line, d)
		}
	})
}

// A file that keeps a parser busy does not keep the user from leaving.
func TestReadIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "slow.md", strings.Repeat("![](", 4000))
	ctx, cancel := context.WithTimeout(t.Context(), 1)
	defer cancel()
	<-ctx.Done()
	if _, err := Read(ctx, dir, Limits{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before it began: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	go cancel() // while it is read, most likely
	if _, err := Read(ctx, dir, Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("while it is read: %v", err)
	}
}
