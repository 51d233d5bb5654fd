package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/assay-eval/assay/internal/document"
)

// reader is one for all tests: starting it takes seconds.
var reader = sync.OnceValue(func() *Reader { return &Reader{} })

// A set is what a test sets on a page.
type set struct {
	font string // Helvetica and so on
	size float64
	x, y float64
	text string // in the encoding of the font
}

// written is a PDF of pages. Extra are further objects by their numbers, from 100 on; the catalogue holds catalogue.
func written(pages [][]set, catalogue string, extra ...string) []byte {
	var b bytes.Buffer
	offsets := map[int]int{}
	object := func(n int, body string) {
		offsets[n] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, body)
	}
	b.WriteString("%PDF-1.5\n")
	fonts := []string{"Helvetica", "Helvetica-Bold", "Courier"}
	var kids []string
	for i := range pages {
		kids = append(kids, fmt.Sprintf("%d 0 R", 10+2*i))
	}
	object(1, "<</Type/Catalog/Pages 2 0 R"+catalogue+">>")
	object(2, fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", len(pages), strings.Join(kids, " ")))
	for i, name := range fonts {
		object(3+i, "<</Type/Font/Subtype/Type1/Encoding/WinAnsiEncoding/BaseFont/"+name+">>")
	}
	for i, page := range pages {
		var c strings.Builder
		for _, s := range page {
			text := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(s.text)
			fmt.Fprintf(&c, "BT /F%d %g Tf %g %g Td (%s) Tj ET\n", slices.Index(fonts, s.font), s.size, s.x, s.y, text)
		}
		if c.Len() == 0 {
			c.WriteString("100 100 50 50 re f") // a picture
		}
		object(10+2*i, fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R"+
			"/Resources<</Font<</F0 3 0 R/F1 4 0 R/F2 5 0 R>>>>>>", 11+2*i))
		object(11+2*i, fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", c.Len(), c.String()))
	}
	for i, body := range extra {
		object(100+i, body)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 1\n0000000000 65535 f \n")
	for n, at := range offsets {
		fmt.Fprintf(&b, "%d 1\n%010d 00000 n \n", n, at)
	}
	fmt.Fprintf(&b, "trailer\n<</Size 200/Root 1 0 R/Info 100 0 R>>\nstartxref\n%d\n%%%%EOF\n", start)
	return b.Bytes()
}

// column sets lines of text one below the other.
func column(x, y float64, lines ...string) []set {
	var list []set
	for i, l := range lines {
		list = append(list, set{"Helvetica", 10, x, y - 12*float64(i), l})
	}
	return list
}

// check reads a PDF and compares its text, a line a block, headings with their level before them.
func check(t *testing.T, b []byte, want ...string) {
	t.Helper()
	d, err := reader().Read(t.Context(), b, 1<<20)
	if err != nil {
		t.Error(err)
		return
	}
	var got []string
	at := 0
	for _, block := range strings.Split(d.Text, "\n\n") {
		for _, h := range d.Headings {
			if h.Start == at {
				block = fmt.Sprint(h.Level, " ", block)
			}
		}
		got = append(got, block)
		at += len(block) + 2
		if len(block) > 2 && block[1] == ' ' && block[0] > '0' && block[0] < '9' {
			at -= 2
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestParagraphs(t *testing.T) {
	body := column(50, 700, "The knot was known to sailors, who needed a loop that would not",
		"slip. It was the most use-", "ful of all that they tied, and well-", "known, too.")
	body = append(body, set{"Helvetica-Bold", 16, 50, 640, "1 On rope"})
	body = append(body, column(50, 610, "A rope is made of strands, which are made of yarns. Useful ropes",
		"are well-known and do not slip.")...)
	body = append(body, column(50, 570, "Another paragraph stands after a wide gap.")...)
	check(t, written([][]set{body}, "", "<</Title(Knots)>>"),
		"The knot was known to sailors, who needed a loop that would not slip. It was the most useful of all that they tied, "+
			"and well-known, too.",
		"1 1 On rope",
		"A rope is made of strands, which are made of yarns. Useful ropes are well-known and do not slip.",
		"Another paragraph stands after a wide gap.")
}

// Columns are read one after the other, whatever the order in which they are drawn; what goes across stands where it is.
func TestColumns(t *testing.T) {
	left := column(50, 700, "In the left column there is much to read,", "which goes on and on for some more lines",
		"until at last it comes to its own bottom,", "from where it goes on at the right with")
	right := column(310, 700, "what is said here. In the right column", "there is as much to read, and this is it,",
		"for four lines in all, which makes them", "even. So much for columns of running text.")
	title := []set{{"Helvetica-Bold", 18, 120, 740, "A title that goes across both of them"}}
	var drawn []set
	for i := range left {
		drawn = append(drawn, right[i], left[i])
	}
	check(t, written([][]set{append(drawn, title...)}, "", "<<>>"), "1 A title that goes across both of them",
		"In the left column there is much to read, which goes on and on for some more lines until at last it comes to its own "+
			"bottom, from where it goes on at the right with what is said here. In the right column there is as much to read, "+
			"and this is it, for four lines in all, which makes them even. So much for columns of running text.")
}

// A table is read row by row.
func TestTable(t *testing.T) {
	var cells []set
	for i, row := range [][2]string{{"Oak", "thirty metres"}, {"Elm", "forty metres"}, {"Ash", "thirty-five metres"},
		{"Yew", "twenty metres"}, {"Fir", "fifty metres"}} {
		cells = append(cells, set{"Helvetica", 10, 50, 700 - 12*float64(i), row[0]},
			set{"Helvetica", 10, 350, 700 - 12*float64(i), row[1]})
	}
	d, err := reader().Read(t.Context(), written([][]set{cells}, "", "<<>>"), 1<<20)
	if err != nil || !strings.Contains(strings.Join(strings.Fields(d.Text), " "), "Oak thirty metres Elm forty metres Ash") {
		t.Errorf("%v: %q", err, d.Text)
	}
}

// Running heads and page numbers are left out, a paragraph goes on over the page, and the outline says what the headings
// are.
func TestPages(t *testing.T) {
	var pages [][]set
	for i, text := range [][]string{{"The first page ends in the middle of a", "sentence, and"}, {"goes on here.", "It ends."},
		{"The last page is short."}} {
		p := append(column(50, 770, fmt.Sprintf("Knots and ropes, page %d", i+1)), column(50, 700, text...)...)
		pages = append(pages, append(p, column(300, 30, fmt.Sprint(i+1))...))
	}
	pages[2] = append(pages[2], set{"Helvetica", 10, 50, 720, "2.1 Plain heading"})
	check(t, written(pages, "", "<<>>"), "The first page ends in the middle of a sentence, and goes on here. It ends.",
		"2.1 Plain heading", "The last page is short.")

	outlined := [][]set{
		append(column(50, 700, "Plain heading"), column(50, 660, "Text.")...),
		append(column(50, 700, "2.1 Another"), column(50, 660, "Text of that.")...),
		append(column(50, 700, "Third"), column(50, 660, "The end.")...),
	}
	check(t, written(outlined, "/Outlines 101 0 R", "<<>>", "<</First 102 0 R/Last 103 0 R>>",
		"<</Title(Plain Heading)/Parent 101 0 R/Next 103 0 R/First 104 0 R/Last 104 0 R/Dest[10 0 R/Fit]>>",
		"<</Title(Third)/Parent 101 0 R/Prev 102 0 R/Dest[14 0 R/Fit]>>",
		"<</Title(Another)/Parent 102 0 R/Dest[12 0 R/Fit]>>"),
		"1 Plain heading", "Text.", "2 2.1 Another", "Text of that.", "1 Third", "The end.")
}

// What cannot be read says why; a page without text is named, and the rest is read.
func TestProblems(t *testing.T) {
	problem := func(b []byte, want string) {
		t.Helper()
		if _, err := reader().Read(t.Context(), b, 1000); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", b, err, want)
		}
	}
	page := column(50, 700, "Some text.")
	problem(nil, "empty")
	problem([]byte("no PDF at all"), "no PDF")
	problem(written([][]set{nil, nil}, "", "<<>>"), "text recognition")
	problem(written([][]set{column(50, 700, strings.Repeat("x", 1001))}, "", "<<>>"), "1000 bytes")
	locked := bytes.Replace(written([][]set{page}, "", "<<>>"), []byte("/Info 100 0 R"), []byte("/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4"+
		"/O<0000000000000000000000000000000000000000000000000000000000000000>"+
		"/U<0000000000000000000000000000000000000000000000000000000000000000>>>"), 1)
	problem(locked, "encrypted with a password")
	d, err := reader().Read(t.Context(), written([][]set{page, nil, page, nil, nil}, "", "<<>>"), 1000)
	if err != nil || len(d.Lost) != 1 || !strings.HasPrefix(d.Lost[0], "pages 2, 4-5 without text") || strings.Count(d.Text, "Some text.") != 2 {
		t.Errorf("%v: %+v", err, d)
	}
	damaged := written([][]set{page}, "", "<<>>")
	damaged = damaged[:bytes.LastIndex(damaged, []byte("xref\n0"))] // PDFium looks for the objects itself
	if d, err := reader().Read(t.Context(), damaged, 1000); err == nil && !strings.Contains(d.Text, "Some text.") {
		t.Errorf("a file that was cut off: %q", d.Text)
	}
}

// A file is given up with the context, and the reader reads the next one.
func TestStops(t *testing.T) {
	pages := make([][]set, 400)
	for i := range pages {
		pages[i] = column(50, 700, strings.Repeat("word ", 100), strings.Repeat("word ", 100))
	}
	long := written(pages, "", "<<>>")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := reader().Read(ctx, long, 1<<20); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after its time was up: %v", err)
	}
	check(t, written([][]set{column(50, 700, "Next.")}, "", "<<>>"), "Next.")
	if err := new(Reader).Close(); err != nil {
		t.Error(err)
	}
}

// No damage makes the reader panic or keep on; what is read is text. (Go's fuzzer, which measures the coverage of the
// runtime of WebAssembly, makes that too slow to get anywhere: the damage is drawn here.)
func TestDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seeds := [][]byte{
		written([][]set{column(50, 700, "Some text.", "More.")}, "", "<</Title(x)>>"),
		written([][]set{nil, column(50, 700, "x")}, "/Outlines 101 0 R", "<<>>", "<</First 102 0 R>>",
			"<</Title(x)/Next 102 0 R/First 102 0 R/Dest[12 0 R/Fit]>>"), // an outline without end
	}
	for i := range 300 {
		b := slices.Clone(seeds[i%2])
		for range rng.IntN(6) {
			at := rng.IntN(len(b))
			switch rng.IntN(3) {
			case 0:
				b[at] = byte(rng.IntN(256))
			case 1:
				b = slices.Delete(b, at, min(len(b), at+1+rng.IntN(20)))
			case 2:
				b = slices.Insert(b, at, fmt.Append(nil, rng.IntN(100_000))...)
			}
		}
		d, err := reader().Read(t.Context(), b, 1<<16)
		if err == nil && !utf8.ValidString(d.Title+d.Text) {
			t.Errorf("%q: %q %q", b, d.Title, d.Text)
		}
	}
}

// FuzzLayout: wherever words stand, they are put together, to text.
func FuzzLayout(f *testing.F) {
	f.Add("1 Title\nIn the left\nhyphen\x02\n• item\n. . . . 3", []byte{0, 10, 20, 30, 40, 50, 60, 70})
	f.Add("a b c", []byte{255, 0, 9})
	f.Fuzz(func(t *testing.T, text string, places []byte) {
		if len(text) > 1<<12 || len(places) < 2 {
			t.Skip()
		}
		var file file
		for i, word := range strings.Fields(strings.ToValidUTF8(text, "")) {
			at := func(k int) float64 { return float64(places[(3*i+k)%len(places)]) * 3 }
			r := run{text: word, left: at(0), bottom: at(1), size: at(2) / 20, bold: i%3 == 0, fixed: i%5 == 0}
			r.right, r.top = r.left+r.size*float64(len(word))/2, r.bottom+r.size
			if n := int(places[i%len(places)]) % 4; len(file.pages) <= n {
				file.pages = append(file.pages, nil)
			}
			file.pages[len(file.pages)-1] = append(file.pages[len(file.pages)-1], r)
		}
		w := document.NewWriter(1 << 20)
		file.write(w)
		if d := w.Document(); !utf8.ValidString(d.Title+d.Text) || len(d.Title) > document.MaxTitle {
			t.Errorf("%q %q", d.Title, d.Text)
		}
	})
}
