package pdf

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/assay-eval/assay/internal/document"
)

// A block is a paragraph, a heading or a listing.
type block struct {
	lines []line
	page  int
}

// write puts the file's text together.
func (f *file) write(w *document.Writer) {
	pages := make([][]line, len(f.pages))
	for i, runs := range f.pages {
		pages[i] = lines(runs)
	}
	pages = withoutHeads(pages)
	body := bodySize(pages)
	blocks := paragraphs(pages, body)
	words := vocabulary(pages)
	levels := f.headings(blocks, body)
	w.Lost = f.lost
	w.Title = f.title
	if !usableTitle(f.title) {
		w.Title = titleOn(blocks, body)
	}
	for i := 0; i < len(blocks); i++ {
		b := blocks[i]
		if level := levels[i]; level > 0 {
			w.Heading(level, b.text(words))
			continue
		}
		text := b.text(words)
		for i+1 < len(blocks) && levels[i+1] == 0 && goesOn(&b, &blocks[i+1]) { // over a column or page
			b = block{append(slices.Clone(b.lines), blocks[i+1].lines...), blocks[i+1].page}
			text = b.text(words)
			i++
		}
		w.Paragraph(text)
	}
}

// titleOn is what is set largest on the first page that says anything, if that is larger than the text by a fifth.
func titleOn(blocks []block, body float64) string {
	best, size := "", 1.2*body
	for i := range blocks {
		b := &blocks[i]
		if b.page != blocks[0].page {
			break
		}
		if b.lines[0].size > size && headingLike(b) {
			best, size = b.text(nil), b.lines[0].size
		}
	}
	return best
}

// usableTitle reports whether a title in a file's properties is one, and not what a program put there.
func usableTitle(s string) bool {
	low := strings.ToLower(s)
	for _, end := range []string{".dvi", ".tex", ".doc", ".docx", ".ps", ".indd", ".pdf", ".qxd", ".fm"} {
		if strings.HasSuffix(low, end) {
			return false
		}
	}
	return strings.ContainsFunc(s, unicode.IsLetter) && !strings.HasPrefix(low, "microsoft ") && low != "untitled"
}

// bodySize is the size of most letters, to half a point.
func bodySize(pages [][]line) float64 {
	letters := map[float64]int{}
	for _, p := range pages {
		for _, l := range p {
			letters[math.Round(2*l.size)/2] += len(l.text)
		}
	}
	best := 0.0
	for _, size := range slices.Sorted(maps.Keys(letters)) {
		if letters[size] > letters[best] {
			best = size
		}
	}
	return best
}

// leading is the usual distance from one line to the next, in parts of the font's size.
func leading(pages [][]line) float64 {
	var steps []float64
	for _, p := range pages {
		for i := 1; i < len(p); i++ {
			step := (p[i-1].bottom - p[i].bottom) / max(p[i].size, 1)
			if !p[i].breaks && step > 0.8 && step < 2.5 {
				steps = append(steps, step)
			}
		}
	}
	if len(steps) == 0 {
		return 1.2
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}

// paragraphs puts the lines of each page together to blocks.
func paragraphs(pages [][]line, body float64) []block {
	usual := leading(pages)
	var list []block
	for n, p := range pages {
		for i, l := range p {
			if i == 0 || begins(&list[len(list)-1], &l, usual, body) {
				list = append(list, block{page: n})
			}
			b := &list[len(list)-1]
			b.lines = append(b.lines, l)
		}
	}
	return list
}

// begins reports whether a line begins a block of its own: after a wide gap, in another size or weight, indented, as an
// item of a list, or after a line that ended early with a full stop.
func begins(b *block, l *line, usual, body float64) bool {
	last := &b.lines[len(b.lines)-1]
	first := &b.lines[0]
	step := last.bottom - l.bottom
	size := max(l.size, last.size)
	right := 0.0
	for i := range b.lines {
		right = max(right, b.lines[i].right)
	}
	switch {
	case l.breaks, step < 0, step > (usual+0.35)*size:
		return true
	case strings.Contains(last.text, ". . ."), strings.Contains(last.text, "....."): // of a table of contents
		return true
	case math.Abs(l.size-last.size) > 0.08*size, l.bold != last.bold && (l.bold || first.bold), l.fixed != last.fixed:
		return true
	case (l.bold || l.size >= 1.08*body) && numbered(l.text):
		return true
	case l.fixed:
		return false
	case item(l.text):
		return true
	case l.left > last.left+0.7*size && len(b.lines) > 1 && last.left <= b.lines[len(b.lines)-2].left+1 && ended(last.text):
		return true
	}
	return ended(last.text) && last.right < right-4*size && last.right < l.right-2*size
}

// item reports whether a line begins like an item of a list.
func item(text string) bool {
	first, rest, ok := strings.Cut(strings.TrimSpace(text), " ")
	if !ok || rest == "" {
		return false
	}
	r, n := utf8.DecodeRuneInString(first)
	if n == len(first) && strings.ContainsRune("•‣◦▪–-*·", r) {
		return true
	}
	bare := strings.TrimRight(strings.TrimLeft(first, "(["), ".)]")
	return len(bare) < len(first) && len(bare) > 0 && len(bare) <= 3 &&
		(strings.Trim(bare, "0123456789") == "" || len(bare) == 1)
}

// numbered reports whether a line begins with the number of a section of a section, such as "2.1" and "A.3".
func numbered(text string) bool {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	a, b, ok := strings.Cut(first, ".")
	return ok && rest != "" && len(a) > 0 && len(a) <= 3 && len(b) > 0 && strings.Trim(b, "0123456789.") == "" &&
		(len(a) == 1 || strings.Trim(a, "0123456789") == "")
}

// ended reports whether a line ends with the end of a sentence.
func ended(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, " \"'”’)]"))
	return strings.ContainsRune(".!?:;。！？…।۔؟", r)
}

// goesOn reports whether a block on another page or in another column is where a paragraph goes on.
func goesOn(b, next *block) bool {
	last, first := &b.lines[len(b.lines)-1], &next.lines[0]
	if !(first.breaks || next.page != b.page) || len(b.lines) > 2000 || last.fixed != first.fixed ||
		math.Abs(last.size-first.size) > 0.08*last.size || ended(last.text) || item(first.text) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(first.text))
	return strings.HasSuffix(strings.TrimSpace(last.text), string(hyphen)) || unicode.IsLower(r) ||
		unicode.Is(unicode.Lo, r)
}

// vocabulary are the words that stand within lines, by which it is told whether a hyphen at the end of one belongs to the
// word.
func vocabulary(pages [][]line) map[string]bool {
	words := map[string]bool{}
	for _, p := range pages {
		for _, l := range p {
			for _, w := range strings.Fields(l.text) {
				words[strings.ToLower(strings.Trim(clean(w), ".,;:!?()[]\"'“”‘’"))] = true
			}
		}
	}
	return words
}

// text is what a block says. Lines are joined by spaces, those of a listing by line breaks.
func (b *block) text(words map[string]bool) string {
	var out strings.Builder
	listing := len(b.lines) > 1 && !slices.ContainsFunc(b.lines, func(l line) bool { return !l.fixed })
	for i, l := range b.lines {
		text := strings.TrimSpace(l.text)
		if i == 0 {
			out.WriteString(text)
			continue
		}
		if listing {
			out.WriteString("\n" + text)
			continue
		}
		before := out.String()
		if stem, ok := cutHyphen(before, text); ok {
			out.Reset()
			out.WriteString(stem)
			if tail, head := lastWord(stem), firstWord(text); !words[tail+head] && words[tail+"-"+head] {
				out.WriteString("-")
			}
			out.WriteString(text)
			continue
		}
		if !unspaced(before, text) {
			out.WriteByte(' ')
		}
		out.WriteString(text)
	}
	return clean(leaders(out.String()))
}

// cutHyphen returns a text without the hyphen at its end, by which a word was divided that text goes on with.
func cutHyphen(before, text string) (string, bool) {
	r, n := utf8.DecodeLastRuneInString(before)
	if r != hyphen && r != '-' && r != '\u00ad' && r != '\u2010' {
		return before, false
	}
	stem := before[:len(before)-n]
	prev, _ := utf8.DecodeLastRuneInString(stem)
	next, _ := utf8.DecodeRuneInString(text)
	return stem, unicode.IsLetter(prev) && unicode.IsLower(next)
}

func lastWord(s string) string {
	return strings.ToLower(s[strings.LastIndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })+1:])
}

func firstWord(s string) string {
	if i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		s = s[:i]
	}
	return strings.ToLower(s)
}

// unspaced reports whether the script on both sides of a line's end has no spaces between words.
func unspaced(before, after string) bool {
	a, _ := utf8.DecodeLastRuneInString(before)
	b, _ := utf8.DecodeRuneInString(after)
	return wide(a) && wide(b)
}

func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar) || strings.ContainsRune("。、，：；！？「」『』（）ー", r)
}

// leaders makes the dots between an entry of a table of contents and its page one sign.
func leaders(s string) string {
	fields := strings.Fields(s)
	if !strings.Contains(s, ". . .") && !strings.Contains(s, "....") || strings.Contains(s, "\n") {
		return s
	}
	var out []string
	for i := 0; i < len(fields); {
		j := i
		dots := 0
		for j < len(fields) && strings.Trim(fields[j], ".") == "" {
			dots += len(fields[j])
			j++
		}
		if dots >= 3 {
			out = append(out, "…")
			i = j
			continue
		}
		out = append(out, fields[i])
		i++
	}
	return strings.Join(out, " ")
}

// clean takes out what is no text, parts ligatures and composes accents.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == hyphen:
			return '-'
		case r == '\n':
			return r
		case r == '\u00ad':
			return -1
		}
		return printable(r)
	}, s)
	for _, l := range [][2]string{{"ﬁ", "fi"}, {"ﬂ", "fl"}, {"ﬀ", "ff"}, {"ﬃ", "ffi"}, {"ﬄ", "ffl"}} {
		s = strings.ReplaceAll(s, l[0], l[1])
	}
	return strings.TrimSpace(norm.NFC.String(strings.ToValidUTF8(s, "")))
}

// headings returns the level of each block, 0 for text. Where the outline's entries are found on their pages, they are the
// headings; otherwise blocks that are set larger than the text are, and bold ones that stand alone.
func (f *file) headings(blocks []block, body float64) []int {
	if levels, found := f.outlined(blocks, body); found >= 3 && found*2 >= len(f.outline) {
		return levels
	}
	levels := make([]int, len(blocks))
	sizes := map[float64]bool{}
	style := func(b *block) (float64, bool) {
		size := math.Round(2*b.lines[0].size) / 2
		bold := !slices.ContainsFunc(b.lines, func(l line) bool { return !l.bold })
		return size, size >= 1.08*body || bold && size >= 0.85*body
	}
	for i := range blocks {
		if size, ok := style(&blocks[i]); ok && headingLike(&blocks[i]) {
			levels[i] = 1
			sizes[size] = true
		}
	}
	order := slices.SortedFunc(maps.Keys(sizes), func(a, b float64) int { return cmp.Compare(b, a) })
	for i := range blocks {
		if levels[i] > 0 {
			size, _ := style(&blocks[i])
			levels[i] = 1 + slices.Index(order, size)
		}
	}
	return levels
}

// headingLike reports whether a block may be a heading by what it says: few words, of which one has letters, and no end of
// a sentence.
func headingLike(b *block) bool {
	text := b.text(nil)
	r, _ := utf8.DecodeLastRuneInString(text)
	return len(b.lines) <= 3 && len(text) <= document.MaxTitle && utf8.RuneCountInString(text) > 2 &&
		!strings.ContainsRune(",;:…", r) && (r != '.' || !strings.Contains(strings.TrimRight(text, "."), ". ")) &&
		!strings.Contains(text, "…") && !b.lines[0].fixed && !caption(text) && letters(text)*2 > utf8.RuneCountInString(text) && !bulleted(text)
}

// caption reports whether a text begins like the caption of a figure or table.
func caption(text string) bool {
	first, rest, _ := strings.Cut(text, " ")
	number, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsNumber(number) && slices.Contains([]string{"figure", "fig", "table", "abbildung", "abb", "tabelle", "tab", "tableau",
		"figura", "tabla", "tabela", "tabella", "рисунок", "рис", "таблица", "hình", "bảng", "図", "表", "图", "그림", "표"},
		strings.TrimSuffix(strings.ToLower(first), "."))
}

// bulleted reports whether a text begins with the bullet of a list.
func bulleted(text string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(text))
	return strings.ContainsRune("•‣◦▪–*·", r)
}

func letters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// outlined looks the entries of the outline up on their pages.
func (f *file) outlined(blocks []block, body float64) (levels []int, found int) {
	levels = make([]int, len(blocks))
	byPage := map[int][]int{}
	for i, b := range blocks {
		byPage[b.page] = append(byPage[b.page], i)
	}
	for _, e := range f.outline {
		want := key(e.title)
		if want == "" {
			continue
		}
		best, extra := -1, 0
		for _, i := range append(slices.Clone(byPage[e.page]), byPage[e.page+1]...) { // some point to the end of the page before
			b := &blocks[i]
			if levels[i] > 0 || len(b.lines) > 4 || bulleted(b.lines[0].text) {
				continue
			}
			have := key(b.text(nil))
			n := len(have) - len(want)
			if n < 0 || n > 30 || !strings.HasSuffix(have, want) && !strings.HasPrefix(have, want) {
				continue
			}
			if b.lines[0].size < 1.08*body && !b.lines[0].bold { // a line of the text may say the same
				n += 100
			}
			if b.page != e.page {
				n += 200
			}
			if best < 0 || n < extra {
				best, extra = i, n
			}
		}
		if best >= 0 {
			levels[best] = e.level
			found++
		}
	}
	return levels, found
}

// key is the letters and digits of a title.
func key(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKC.String(s))
}
