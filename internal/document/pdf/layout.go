package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hyphen is how PDFium marks a hyphen at the end of a line.
const hyphen = '\x02'

// A line is the runs on one line of a column, in reading order.
type line struct {
	text                     string
	left, right, bottom, top float64
	size                     float64 // of most of its letters
	bold, fixed              bool    // all of it
	breaks                   bool    // a column begins with it
	most                     int     // letters of its longest run, which its size and height are those of
}

func (l *line) height() float64 { return max(l.top-l.bottom, 1) }

// lines puts the runs of a page together to lines, in reading order.
func lines(runs []run) []line {
	return order(segments(runs), 0)
}

// segments joins runs that follow each other on one line, as they are drawn, with no more than a space between them.
func segments(runs []run) []line {
	var list []line
	for _, r := range runs {
		text := strings.Map(printable, r.text)
		if n := len(list); n > 0 {
			last := &list[n-1]
			gap := r.left - last.right
			if sameLine(last, r.bottom, r.top) && gap > -r.size && gap < 1.2*max(r.size, last.size) {
				last.add(r, text, gap > 0.15*r.size)
				continue
			}
		}
		list = append(list, line{text, r.left, r.right, r.bottom, r.top, r.size, r.bold, r.fixed, false,
			utf8.RuneCountInString(strings.TrimSpace(text))})
	}
	return list
}

// printable maps the signs that say nothing to none, and ligatures stay for the normalisation of the whole.
func printable(c rune) rune {
	switch {
	case c == hyphen:
		return c
	case c == '\n' || c == '\r' || c == '\t' || unicode.Is(unicode.Zs, c):
		return ' '
	case unicode.IsControl(c) || c == 0xFFFE || c == 0xFFFF || c == unicode.ReplacementChar || unicode.Is(unicode.Co, c):
		return -1
	}
	return c
}

// sameLine reports whether something between bottom and top stands on the line: half of the lower of the two beside the
// other.
func sameLine(l *line, bottom, top float64) bool {
	shared := min(l.top, top) - max(l.bottom, bottom)
	return shared > 0.5*min(l.height(), max(top-bottom, 1))
}

func (l *line) add(r run, text string, apart bool) {
	if apart && !strings.HasSuffix(l.text, " ") && !strings.HasPrefix(text, " ") {
		l.text += " "
	}
	if n := utf8.RuneCountInString(strings.TrimSpace(text)); n > l.most {
		l.most, l.size, l.bottom, l.top = n, r.size, r.bottom, r.top
	}
	l.text += text
	if strings.TrimSpace(text) != "" {
		l.bold, l.fixed = l.bold && r.bold, l.fixed && r.fixed
	}
	l.left, l.right = min(l.left, r.left), max(l.right, r.right)
}

// mostColumns bounds how often a part of a page is divided into two columns.
const mostColumns = 4

// order puts the segments of a page, or of a column, into reading order. Where a gutter divides most of them, those above
// one that crosses it come first, the left column before the right one; everything else goes from the top to the bottom.
func order(list []line, depth int) []line {
	if depth < mostColumns {
		if at, ok := gutter(list); ok {
			return byColumns(list, at, depth)
		}
	}
	return rows(list)
}

// rows goes from the top to the bottom; what stands on one line becomes one.
func rows(list []line) []line {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b line) int { return cmp.Compare(b.top+b.bottom, a.top+a.bottom) })
	var out []line
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && sameLine(&list[i], list[j].bottom, list[j].top) {
			j++
		}
		row := list[i:j]
		slices.SortStableFunc(row, func(a, b line) int { return cmp.Compare(a.left, b.left) })
		one := row[0]
		for _, s := range row[1:] {
			one.add(run{left: s.left, right: s.right, bottom: s.bottom, top: s.top, size: s.size, bold: s.bold, fixed: s.fixed},
				s.text, true)
		}
		out = append(out, one)
		i = j
	}
	return out
}

// gutter finds where two columns of running text are apart: the place in the middle half that the fewest segments cross,
// and no more than half of them, with at least four segments on either side, which stand beside each other. Most of what
// either side says must stand in lines of 25 letters or more that fill the column: the cells of a table do not.
func gutter(list []line) (float64, bool) {
	if len(list) < 8 {
		return 0, false
	}
	left, right := math.Inf(1), math.Inf(-1)
	for _, l := range list {
		left, right = min(left, l.left), max(right, l.right)
	}
	best, fewest, found := 0.0, len(list)/2, false
	off := func(x float64) float64 { return math.Abs(x - (left+right)/2) }
	const steps = 100
	for i := range steps + 1 {
		x := left + (right-left)*(0.25+0.5*float64(i)/steps)
		n := 0
		for _, l := range list {
			if crosses(&l, x) {
				n++
			}
		}
		if (n < fewest || n == fewest && (!found || off(x) < off(best))) && columns(list, x) {
			best, fewest, found = x, n, true
		}
	}
	return best, found
}

func crosses(l *line, x float64) bool { return l.left < x-1 && l.right > x+1 }

// columns reports whether there is running text on both sides of x, side by side.
func columns(list []line, x float64) bool {
	var sides [2][]line
	for _, l := range list {
		if crosses(&l, x) {
			continue
		}
		if l.left >= x-1 {
			sides[1] = append(sides[1], l)
		} else {
			sides[0] = append(sides[0], l)
		}
	}
	var bottom, top [2]float64
	for i, side := range sides {
		if len(side) < 4 {
			return false
		}
		bottom[i], top[i] = side[0].bottom, side[0].top
		width, letters, full := 0.0, 0, 0
		for _, l := range side {
			width = max(width, l.right-l.left)
			bottom[i], top[i] = min(bottom[i], l.bottom), max(top[i], l.top)
		}
		for _, l := range side {
			n := utf8.RuneCountInString(l.text)
			if letters += n; n >= 25 && l.right-l.left > 0.7*width {
				full += n
			}
		}
		if 5*full < 3*letters {
			return false
		}
	}
	shared := min(top[0], top[1]) - max(bottom[0], bottom[1])
	return shared > 0.5*min(top[0]-bottom[0], top[1]-bottom[1])
}

func byColumns(list []line, x float64, depth int) []line {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b line) int { return cmp.Compare(b.top+b.bottom, a.top+a.bottom) })
	var out, left, right, across []line
	add := func(column []line) {
		if len(column) > 0 {
			column = order(column, depth+1)
			column[0].breaks = true
			out = append(out, column...)
		}
	}
	flush := func() {
		add(left)
		add(right)
		left, right = nil, nil
	}
	full := func() {
		if len(across) > 0 {
			across = rows(across)
			across[0].breaks = true
			out = append(out, across...)
			across = nil
		}
	}
	for _, l := range list {
		switch {
		case crosses(&l, x):
			flush()
			across = append(across, l)
		case l.left >= x-1:
			full()
			right = append(right, l)
		default:
			full()
			left = append(left, l)
		}
	}
	full()
	flush()
	return out
}

// withoutHeads leaves out running heads and feet: of the two lines at the top and the two at the bottom of each page,
// those that say the same but for numbers on at least three pages, and those that are a page number alone. A page that
// would be left with nothing keeps its lines.
func withoutHeads(pages [][]line) [][]line {
	edge := func(p []line) map[int]bool {
		byHeight := make([]int, len(p))
		for i := range p {
			byHeight[i] = i
		}
		slices.SortStableFunc(byHeight, func(a, b int) int { return cmp.Compare(p[b].top, p[a].top) })
		at := map[int]bool{}
		for k, i := range byHeight {
			if k < 2 || k >= len(p)-2 {
				at[i] = true
			}
		}
		return at
	}
	seen := map[string]int{}
	smallest := map[string]float64{} // a title may be the running head of the pages after it
	for _, p := range pages {
		mine := map[string]bool{}
		for i := range edge(p) {
			key := headKey(p[i].text)
			mine[key] = true
			smallest[key] = min(cmp.Or(smallest[key], p[i].size), p[i].size)
		}
		for key := range mine {
			seen[key]++
		}
	}
	out := make([][]line, len(pages))
	for n, p := range pages {
		at := edge(p)
		for i, l := range p {
			key := headKey(l.text)
			if at[i] && (key == "#" || key == "" || seen[key] >= 3 && p[i].size < 1.2*smallest[key]) {
				if l.breaks && i+1 < len(p) {
					p[i+1].breaks = true
				}
				continue
			}
			out[n] = append(out[n], l)
		}
		if len(out[n]) == 0 {
			out[n] = p
		}
	}
	return out
}

// headKey is a line with its numbers, Arabic and Roman, as "#": two running heads have the same one.
func headKey(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) })
	var key []string
	for _, w := range words {
		if strings.ContainsFunc(w, unicode.IsNumber) || strings.Trim(w, "ivxlc") == "" {
			w = "#"
		}
		if n := len(key); w != "#" || n == 0 || key[n-1] != "#" {
			key = append(key, w)
		}
	}
	return strings.Join(key, " ")
}
