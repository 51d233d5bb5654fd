package grammar

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A runeRange is the characters from lo to hi.
type runeRange struct{ lo, hi rune }

// maxPattern is the length of the longest pattern.
const maxPattern = 4096

// everyRune is all characters. Half a surrogate pair is none.
var everyRune = []runeRange{{0, 0xd7ff}, {0xe000, unicode.MaxRune}}

// anyChar is the rule of one character of a string, spelt in any way that JSON knows.
func (b *builder) anyChar() int32 {
	return b.named("char", func(from int32) int32 {
		end := b.state()
		b.rawChars(from, end, everyRune)
		escape := b.step(from, '\\', '\\')
		b.among(escape, `"\/bfnrt`, end)
		b.escapedUnit(b.step(escape, 'u', 'u'), end)
		return end
	})
}

const hexDigits = "0123456789abcdefABCDEF"

// escapedUnit leads through the digits after \u: a character's, or those of a surrogate pair.
func (b *builder) escapedUnit(from, end int32) {
	one, two, three := b.state(), b.state(), b.state() // digits to go
	b.among(one, hexDigits, end)
	b.among(two, hexDigits, one)
	b.among(three, hexDigits, two)
	b.among(from, "0123456789abcefABCEF", three)
	d := b.oneOf(from, "dD")
	b.among(d, "01234567", two)
	high := b.oneOf(b.oneOf(b.oneOf(d, "89abAB"), hexDigits), hexDigits)
	low := b.oneOf(b.text(high, `\u`), "dD")
	b.among(low, "cdefCDEF", two)
}

// rawChars leads through any of the characters that may stand in a JSON string as they are.
func (b *builder) rawChars(from, to int32, of []runeRange) {
	for _, plain := range []runeRange{{' ', '!'}, {'#', '['}, {']', 0xd7ff}, {0xe000, unicode.MaxRune}} {
		for _, r := range of {
			if lo, hi := max(r.lo, plain.lo), min(r.hi, plain.hi); lo <= hi {
				b.encoded(from, to, lo, hi)
			}
		}
	}
}

// encoded leads through the UTF-8 of the characters from lo to hi.
func (b *builder) encoded(from, to int32, lo, hi rune) {
	for _, last := range []rune{0x7f, 0x7ff, 0xffff} { // of those that take so many bytes
		if lo <= last && last < hi {
			b.encoded(from, to, lo, last)
			b.encoded(from, to, last+1, hi)
			return
		}
	}
	// Where the leading bytes differ, those behind must be free to take any value.
	for bits := 6; bits < 6*utf8.RuneLen(hi); bits += 6 {
		tail := rune(1)<<bits - 1
		if lo&^tail == hi&^tail {
			break
		}
		if lo&tail != 0 {
			b.encoded(from, to, lo, lo|tail)
			b.encoded(from, to, lo|tail+1, hi)
			return
		}
		if hi&tail != tail {
			b.encoded(from, to, lo, hi&^tail-1)
			b.encoded(from, to, hi&^tail, hi)
			return
		}
	}
	var first, last [utf8.UTFMax]byte
	n := utf8.EncodeRune(first[:], lo)
	utf8.EncodeRune(last[:], hi)
	for i := range n - 1 {
		from = b.step(from, first[i], last[i])
	}
	b.edge(from, first[n-1], last[n-1], to)
}

// oneOfChars is the rule of one character of some. It is spelt as it is if JSON permits, else by an escape.
func (b *builder) oneOfChars(of []runeRange) int32 {
	if slices.Equal(of, everyRune) {
		return b.anyChar()
	}
	var name strings.Builder
	name.WriteString("chars ")
	for _, r := range of {
		name.WriteString(string(r.lo) + string(r.hi))
	}
	return b.named(name.String(), func(from int32) int32 {
		end := b.state()
		b.rawChars(from, end, of)
		for char := byte(0); char <= '\\'; char++ {
			switch short := shortEscape(char); {
			case !contains(of, rune(char)):
			case short != 0:
				b.join(b.text(from, `\`+string(short)), end)
			case char < ' ':
				b.among(b.text(from, fmt.Sprintf(`\u00%x`, char>>4)), fmt.Sprintf("%x", char&15), end)
			}
		}
		return end
	})
}

func contains(of []runeRange, r rune) bool {
	return slices.ContainsFunc(of, func(in runeRange) bool { return in.lo <= r && r <= in.hi })
}

// anyString leads through a string of any characters, least to most of them; most is -1 for no limit.
func (b *builder) anyString(from int32, least, most int) int32 {
	char := b.anyChar()
	at := b.step(from, '"', '"')
	end := b.state()
	for range least {
		at = b.call(at, char)
	}
	if most < 0 {
		b.callTo(at, char, at)
	}
	b.edge(at, '"', '"', end)
	for range most - least {
		at = b.call(at, char)
		b.edge(at, '"', '"', end)
	}
	return end
}

// A patternPlace is a state of the automaton that looks for a pattern in a string.
type patternPlace struct {
	phase phase
	pc    uint32 // within the match
	count int    // characters so far, up to where more of them make no difference
}

type phase int

const (
	beforeMatch phase = iota
	inMatch
	atEnd // in the match, and the text must end here
	behindMatch
)

// A patterned is a string in which a pattern must be found, on its way into the network.
type patterned struct {
	*builder
	prog        *syntax.Prog
	least, most int
	places      map[patternPlace]int32
	end         int32
}

// pattern leads through a string in which a regular expression is found. As JSON Schema has it, the match
// may lie anywhere in the string unless ^ and $ hold it.
func (b *builder) pattern(from int32, expr string, least, most int) (end int32, err error) {
	prog, err := compilePattern(expr)
	if err != nil {
		return from, err
	}
	p := &patterned{builder: b, prog: prog, least: least, most: most, end: b.state(),
		places: map[patternPlace]int32{}}
	b.join(b.step(from, '"', '"'), p.place(patternPlace{}))
	return p.end, nil
}

// compilePattern reads the regular expressions of Go's regexp package, but for word boundaries and for ^
// and $ at the ends of lines within a text.
func compilePattern(expr string) (*syntax.Prog, error) {
	if len(expr) > maxPattern {
		return nil, fmt.Errorf("it is longer than %d bytes", maxPattern)
	}
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	for _, i := range prog.Inst {
		if i.Op == syntax.InstEmptyWidth && syntax.EmptyOp(i.Arg)&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
			return nil, errors.New(`\b, \B and (?m) are not supported`)
		}
	}
	return prog, nil
}

// place returns the state for a place.
func (p *patterned) place(at patternPlace) int32 {
	if s, ok := p.places[at]; ok {
		return s
	}
	s := p.state()
	p.places[at] = s
	switch {
	case p.full:
	case at.phase == beforeMatch:
		p.join(s, p.place(patternPlace{inMatch, uint32(p.prog.Start), at.count}))
		p.char(s, everyRune, at)
	case at.phase == behindMatch:
		p.close(s, at)
		p.char(s, everyRune, at)
	default:
		p.instruction(s, at)
	}
	return s
}

// instruction leads on from a state within the match.
func (p *patterned) instruction(s int32, at patternPlace) {
	i := &p.prog.Inst[at.pc]
	next := at
	next.pc = i.Out
	switch i.Op {
	case syntax.InstMatch:
		if at.phase == atEnd {
			p.close(s, at)
			return
		}
		p.join(s, p.place(patternPlace{phase: behindMatch, count: at.count}))
	case syntax.InstAlt, syntax.InstAltMatch:
		p.join(s, p.place(next))
		next.pc = i.Arg
		p.join(s, p.place(next))
	case syntax.InstCapture, syntax.InstNop:
		p.join(s, p.place(next))
	case syntax.InstEmptyWidth:
		op := syntax.EmptyOp(i.Arg)
		if op&syntax.EmptyBeginText != 0 && at.count > 0 {
			return
		}
		if op&syntax.EmptyEndText != 0 {
			next.phase = atEnd
		}
		p.join(s, p.place(next))
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		if at.phase != atEnd {
			p.char(s, runesOf(i), next)
		}
	}
}

// char leads from a state to a place through one character more, if there may be one.
func (p *patterned) char(s int32, of []runeRange, to patternPlace) {
	if p.most >= 0 && to.count == p.most {
		return
	}
	to.count++
	if p.most < 0 {
		to.count = min(to.count, max(p.least, 1))
	}
	p.callTo(s, p.oneOfChars(of), p.place(to))
}

// close leads from a state to the end of the string, if it may end there.
func (p *patterned) close(s int32, at patternPlace) {
	if at.count >= p.least {
		p.edge(s, '"', '"', p.end)
	}
}

// runesOf returns the characters that an instruction matches.
func runesOf(i *syntax.Inst) []runeRange {
	var of []runeRange
	add := func(lo, hi rune) {
		for _, r := range everyRune {
			if l, h := max(lo, r.lo), min(hi, r.hi); l <= h {
				of = append(of, runeRange{l, h})
			}
		}
	}
	switch {
	case i.Op == syntax.InstRuneAny:
		return everyRune
	case i.Op == syntax.InstRuneAnyNotNL:
		add(0, '\n'-1)
		add('\n'+1, unicode.MaxRune)
	case len(i.Rune) == 1:
		add(i.Rune[0], i.Rune[0])
		if syntax.Flags(i.Arg)&syntax.FoldCase != 0 {
			for r := unicode.SimpleFold(i.Rune[0]); r != i.Rune[0]; r = unicode.SimpleFold(r) {
				add(r, r)
			}
		}
	default:
		for k := 0; k+1 < len(i.Rune); k += 2 {
			add(i.Rune[k], i.Rune[k+1])
		}
	}
	return of
}
