package citation

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assay-eval/assay/tokenize"
)

// A Statement is a sentence of an answer without its marks, and what it cites.
type Statement struct {
	Text    string
	Cites   []int    // the numbers of the cited contexts, from 1, each once, in the order of the marks
	Unknown []string // what is cited and is none of the contexts
}

// Parse cuts an answer into its statements, the sentences that hold a word, and reads their citation marks: numbers of
// contexts from 1 to n, or their ids.
//
// Marks are numbers or ids in square or lenticular brackets ([1], [1, 2], [1][2], [2-4], [^1], [Source 1], [doc-7],
// 【1】, 【1†source】), numbers in round brackets that are those of contexts and begin no line ((1), (1, 3)), superscript
// digits that are no exponent of a unit or a number (¹, ²,³), and words (Source 1, sources 1 and 2). A mark belongs to
// the sentence that it stands in or after, and one that begins a line to what follows it. What stands under a heading
// such as "References:" at the end, one mark a line, is a list of sources and no statement.
func Parse(answer string, n int, ids []string) []Statement {
	r := reader{n: n, ids: ids}
	r.read(withoutList(answer))
	text := string(r.clean)
	var list []Statement
	var at []int // where each statement begins
	for _, s := range tokenize.Sentences(text) {
		if tokenize.HasWords(s.Text) {
			list = append(list, Statement{Text: s.Text})
			at = append(at, s.Start)
		}
	}
	if list == nil {
		return nil
	}
	for _, m := range r.marks {
		i := 0
		for i+1 < len(at) && (at[i+1] < m.at || at[i+1] == m.at && m.leads) {
			i++
		}
		for _, c := range m.cites {
			if !slices.Contains(list[i].Cites, c) {
				list[i].Cites = append(list[i].Cites, c)
			}
		}
		for _, u := range m.unknown {
			if !slices.Contains(list[i].Unknown, u) {
				list[i].Unknown = append(list[i].Unknown, u)
			}
		}
	}
	return list
}

// A mark is what a reader found at a byte of the text without marks.
type mark struct {
	at      int
	leads   bool // it begins a line: it belongs to what follows
	cites   []int
	unknown []string
}

// A reader takes the marks out of an answer.
type reader struct {
	n     int
	ids   []string
	clean []byte // the text without marks, so far
	lead  bool   // nothing but white space, list signs and marks stands on the line so far
	marks []mark
}

// sourceWords name what a number is of, in the singular and the plural.
const sourceWords = `(?:sources?|documents?|docs?\.?|passages?|contexts?|references?|refs?\.?|citations?|quellen?|` +
	`fuentes?|fontes?|fonti|bronn?en?|来源|资料|文献|文档)`

// span is numbers: "1", "1, 3", "1-3", "1 and 2".
const span = `\d{1,4}(?:\s*(?:,|;|&|-|–|—|and|und|y|et|e|和|、)\s*\d{1,4})*`

// The forms of marks, tried in this order at each place. The first group of each holds what is cited.
var (
	squareMark = regexp.MustCompile(`^(?:\[([^\[\]\n]{1,80})\]|【([^【】\n]{1,80})】|［([^［］\n]{1,80})］)`)
	roundMark  = regexp.MustCompile(`^[(（]((?i:` + sourceWords + `\s*)?` + span + `)[)）]`)
	wordMark   = regexp.MustCompile(`^(?i:` + sourceWords + `)\s*(?:#|no\.?|nr\.?)?\s*(` + span + `)`)
	superMark  = regexp.MustCompile(`^[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?:[⁻˒ʼ,·][⁰¹²³⁴⁵⁶⁷⁸⁹]+)*`)

	// What may stand around the numbers in brackets.
	sourceWord = regexp.MustCompile(`^(?i:` + sourceWords + `)\s*(?:#|no\.?|nr\.?|:)?\s*`)
	onlySpan   = regexp.MustCompile(`^` + span + `$`)
	between    = regexp.MustCompile(`(\d{1,4})\s*[-–—]\s*(\d{1,4})`)
	digits     = regexp.MustCompile(`\d{1,4}`)
	supers     = strings.NewReplacer("⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7",
		"⁸", "8", "⁹", "9", "⁻", "-")
)

func (r *reader) read(text string) {
	r.lead = true
	for i := 0; i < len(text); {
		m, length, keep := r.mark(text, i)
		if length == 0 {
			c, size := utf8.DecodeRuneInString(text[i:])
			r.clean = append(r.clean, text[i:i+size]...)
			r.lead = c == '\n' || r.lead && (unicode.IsSpace(c) || strings.ContainsRune("*-•>#", c))
			i += size
			continue
		}
		m.leads = r.lead
		switch {
		case keep:
			m.at = len(r.clean) + 1 // within the sentence that has the words
			r.clean = append(r.clean, text[i:i+length]...)
			r.lead = false
		case r.lead: // the sentence begins where the mark stood
			for i+length < len(text) && text[i+length] == ' ' {
				length++
			}
			m.at = len(r.clean)
		default: // "true [1]." is "true."
			r.clean = bytes.TrimRight(r.clean, " \t\u00a0")
			m.at = len(r.clean)
		}
		r.marks = append(r.marks, m)
		i += length
	}
}

// mark reads the mark that stands at text[i:]; length is 0 if none does. Keep says that its words belong to the
// sentence, too.
func (r *reader) mark(text string, i int) (m mark, length int, keep bool) {
	before, rest := text[:i], text[i:]
	first, _ := utf8.DecodeRuneInString(rest)
	switch {
	case first == '[' || first == '【' || first == '［':
		groups := squareMark.FindStringSubmatch(rest)
		if groups == nil {
			return mark{}, 0, false
		}
		m, ok := r.cited(groups[1] + groups[2] + groups[3])
		if !ok {
			return mark{}, 0, false
		}
		link := linkEnd.FindString(rest[len(groups[0]):]) // [1](address)
		return m, len(groups[0]) + len(link), false
	case first == '(' || first == '（':
		groups := roundMark.FindStringSubmatch(rest)
		if groups == nil || r.lead {
			return mark{}, 0, false
		}
		return r.sure(groups[1], len(groups[0]), false)
	case strings.ContainsRune("⁰¹²³⁴⁵⁶⁷⁸⁹", first):
		if exponent(before) {
			return mark{}, 0, false
		}
		found := superMark.FindString(rest)
		return r.sure(supers.Replace(found), len(found), false)
	case unicode.IsLetter(first):
		last, _ := utf8.DecodeLastRuneInString(before)
		inWord := before != "" && (unicode.IsLetter(last) || unicode.IsNumber(last)) && !unicode.Is(unicode.Han, last)
		if inWord {
			return mark{}, 0, false
		}
		groups := wordMark.FindStringSubmatch(rest)
		if groups == nil || !ends(rest[len(groups[0]):]) {
			return mark{}, 0, false
		}
		return r.sure(groups[1], len(groups[0]), true)
	}
	return mark{}, 0, false
}

// sure reads numbers that are a mark only where all of them are those of contexts: others may be years or amounts.
func (r *reader) sure(numbers string, length int, keep bool) (mark, int, bool) {
	m, ok := r.cited(numbers)
	if !ok || len(m.unknown) > 0 {
		return mark{}, 0, false
	}
	return m, length, keep
}

var linkEnd = regexp.MustCompile(`^\([^()\s]{1,1000}\)`)

// ends reports whether a number ends before rest: "Source 1.5" names no source.
func ends(rest string) bool {
	first, size := utf8.DecodeRuneInString(rest)
	if unicode.IsLetter(first) && !unicode.Is(unicode.Han, first) || unicode.IsNumber(first) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest[min(size, len(rest)):])
	return first != '.' && first != ',' || !unicode.IsNumber(next)
}

// cited reads what stands within brackets: ids, or numbers. Ok is false where it is no mark at all.
func (r *reader) cited(inner string) (m mark, ok bool) {
	inner = strings.TrimSpace(inner)
	if at := slices.Index(r.ids, inner); at >= 0 && at < r.n {
		return mark{cites: []int{at + 1}}, true
	}
	inner, _, _ = strings.Cut(inner, "†")
	inner = strings.TrimPrefix(strings.TrimSpace(inner), "^")
	plain := sourceWord.ReplaceAllString(inner, "")
	if onlySpan.MatchString(plain) {
		m.add(r, plain)
		return m, true
	}
	for part := range strings.FieldsFuncSeq(inner, func(c rune) bool { return c == ',' || c == ';' }) {
		part = strings.TrimSpace(part)
		at := slices.Index(r.ids, part)
		number := sourceWord.ReplaceAllString(strings.TrimPrefix(part, "^"), "")
		switch {
		case at >= 0 && at < r.n:
			m.cites = append(m.cites, at+1)
		case onlySpan.MatchString(number):
			m.add(r, number)
		default:
			return mark{}, false
		}
	}
	return m, len(m.cites)+len(m.unknown) > 0
}

// maxSpan is the longest range of numbers that a mark may have: "[1-3]" cites, "[1871-1902]" does not.
const maxSpan = 20

// add takes in numbers.
func (m *mark) add(r *reader, numbers string) {
	numbers = between.ReplaceAllStringFunc(numbers, func(text string) string {
		groups := between.FindStringSubmatch(text)
		low, _ := strconv.Atoi(groups[1])
		high, _ := strconv.Atoi(groups[2])
		if high <= low || high-low > maxSpan {
			return text
		}
		var list []string
		for k := low; k <= high; k++ {
			list = append(list, strconv.Itoa(k))
		}
		return strings.Join(list, ",")
	})
	for _, text := range digits.FindAllString(numbers, -1) {
		if k, _ := strconv.Atoi(text); k >= 1 && k <= r.n {
			m.cites = append(m.cites, k)
		} else {
			m.unknown = append(m.unknown, text)
		}
	}
}

// exponent reports whether a superscript after before is one: m², 10³, x².
func exponent(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	if unicode.IsNumber(last) {
		return true
	}
	word := before[strings.LastIndexFunc(before, func(c rune) bool { return !unicode.IsLetter(c) })+1:]
	return unicode.IsLetter(last) && utf8.RuneCountInString(word) <= 2
}

// listHeading is a line above a list of sources.
var listHeading = regexp.MustCompile(`(?i)^[#*_\s]*(?:references|sources|citations|bibliography|works cited|footnotes|` +
	`quellen|literatur|fuentes|referencias|références|fonti|参考文献|来源)[*_\s]*:?[*_\s]*$`)

// listLine is an entry of such a list.
var listLine = regexp.MustCompile(`^\s*(?:[-*•]\s*)?(?:[\[【(]\^?[^\[\]\n]{1,80}[\]】)]:?|\d{1,4}[.)])\s*`)

// withoutList cuts a list of sources off the end of an answer: a heading and, to the end, lines that begin with marks;
// or footnotes, lines of "[^1]: ...".
func withoutList(answer string) string {
	lines := strings.SplitAfter(answer, "\n")
	last := len(lines)
	for last > 0 && (strings.TrimSpace(lines[last-1]) == "" || listLine.MatchString(lines[last-1])) {
		last--
		if strings.HasPrefix(strings.TrimSpace(lines[last]), "[^") && strings.Contains(lines[last], "]:") {
			lines = lines[:last]
		}
	}
	if last > 0 && last < len(lines) && listHeading.MatchString(strings.TrimSpace(lines[last-1])) {
		lines = lines[:last-1]
	}
	return strings.Join(lines, "")
}
