package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A splitter cuts pieces into smaller ones before the model sees them.
type splitter func([]piece) []piece

// piece is a stretch of the normalised text; first is that at the very beginning of it.
type piece struct {
	text  string
	first bool
	from  places
}

// span is a stretch of a text that a pattern matches, or that lies between matches.
type span struct {
	low, high int
	match     bool
}

// A finder tells which stretches of a text match; together they are the text.
type finder func(text string) []span

// A behaviour says what becomes of the matches.
type behaviour func([]span) []span

// behaviourOf gives a behaviour by its name, nil for one that does not exist.
func behaviourOf(name string) behaviour {
	switch name {
	case "Removed":
		return removed
	case "Isolated":
		return isolated
	case "Contiguous":
		return contiguous
	case "MergedWithPrevious":
		return mergedWithPrevious
	case "MergedWithNext":
		return mergedWithNext
	}
	return nil
}

func split(find finder, do behaviour) splitter {
	return func(pieces []piece) []piece {
		out := make([]piece, 0, len(pieces))
		for _, p := range pieces {
			for _, s := range do(find(p.text)) {
				if s.low < s.high {
					out = append(out, piece{p.text[s.low:s.high], p.first && s.low == 0, p.from.part(s.low, s.high)})
				}
			}
		}
		return out
	}
}

func isolated(spans []span) []span { return spans }

func removed(spans []span) []span {
	out := spans[:0]
	for _, s := range spans {
		if !s.match {
			out = append(out, s)
		}
	}
	return out
}

// join puts neighbours together where the function says so of the one before and the one after.
func join(spans []span, together func(a, b span) bool) []span {
	out := make([]span, 0, len(spans))
	for i, s := range spans {
		if i > 0 && together(spans[i-1], s) {
			out[len(out)-1].high = s.high
		} else {
			out = append(out, s)
		}
	}
	return out
}

func contiguous(spans []span) []span {
	return join(spans, func(a, b span) bool { return a.match == b.match })
}

func mergedWithPrevious(spans []span) []span {
	return join(spans, func(a, b span) bool { return b.match && !a.match })
}

func mergedWithNext(spans []span) []span {
	return join(spans, func(a, b span) bool { return a.match && !b.match })
}

// each matches every single character that the function holds for.
func each(is func(rune) bool) finder {
	return func(text string) []span {
		var out []span
		from := 0
		for at, r := range text {
			if is(r) {
				if from < at {
					out = append(out, span{from, at, false})
				}
				from = at + utf8.RuneLen(r)
				out = append(out, span{at, from, true})
			}
		}
		if from < len(text) {
			out = append(out, span{from, len(text), false})
		}
		return out
	}
}

// matches turns a function that tells the next match from a place on into a finder; empty matches are none.
func matches(next func(text string, from int) (low, high int)) finder {
	return func(text string) []span {
		var out []span
		for from := 0; from < len(text); {
			low, high := next(text, from)
			if high <= low {
				low, high = len(text), len(text)
			}
			if from < low {
				out = append(out, span{from, low, false})
			}
			if low < high {
				out = append(out, span{low, high, true})
			}
			from = high
		}
		return out
	}
}

func literal(pattern string) finder {
	return matches(func(text string, from int) (int, int) {
		low, high := next(text[from:], pattern)
		return from + low, from + high
	})
}

// next is where a pattern stands first in a text; 0 and 0 where it does not.
func next(text, pattern string) (low, high int) {
	at := strings.Index(text, pattern)
	if at < 0 {
		return 0, 0
	}
	return at, at + len(pattern)
}

// fixedLength matches every n characters, and what is left at the end.
func fixedLength(n int) finder {
	return matches(func(text string, from int) (int, int) {
		end := from
		for k := 0; k < n && end < len(text); k++ {
			end += character(text[end:])
		}
		return from, end
	})
}

func invert(find finder) finder {
	return func(text string) []span {
		spans := find(text)
		for i := range spans {
			spans[i].match = !spans[i].match
		}
		return spans
	}
}

// bertPunctuation is what BERT takes for punctuation: all ASCII that is neither letter, digit, space nor control too.
func bertPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7F && !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
	}
	return unicode.IsPunct(r)
}

func bertSplit(pieces []piece) []piece {
	return split(each(bertPunctuation), isolated)(split(each(unicode.IsSpace), removed)(pieces))
}

// wordRune is \w of Unicode's regular expressions.
func wordRune(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc,
		unicode.Other_Alphabetic, unicode.Join_Control)
}

// words is the pattern \w+|[^\w\s]+: runs of word characters and runs of others, spaces between them.
func words(text string) []span {
	kind := func(r rune) int {
		switch {
		case unicode.IsSpace(r):
			return 0
		case wordRune(r):
			return 1
		}
		return 2
	}
	var out []span
	last := -1
	for at, r := range text {
		k := kind(r)
		if k != last {
			out = append(out, span{low: at, match: k != 0})
		}
		out[len(out)-1].high = at + utf8.RuneLen(r)
		last = k
	}
	return out
}

// metaspace writes spaces as another character and splits before it, as SentencePiece does.
type metaspace struct {
	mark          rune
	always, first bool // where the mark is put before a text that does not begin with it
	split         bool
}

func (m metaspace) run(pieces []piece) []piece {
	mark := string(m.mark)
	out := make([]piece, 0, len(pieces))
	for _, p := range pieces {
		p = p.rewritten(normalizer{func(text string) string { return strings.ReplaceAll(text, " ", mark) }, single})
		if (m.always || m.first && p.first) && !strings.HasPrefix(p.text, mark) {
			p = p.rewritten(prepend(mark))
		}
		out = append(out, p)
	}
	if !m.split {
		return out
	}
	return split(each(func(r rune) bool { return r == m.mark }), mergedWithNext)(out)
}

// byteLevel writes each byte as a character of its own, after GPT-2's split where that is asked for.
type byteLevel struct{ prefix, split bool }

func (b byteLevel) run(pieces []piece) []piece {
	if b.prefix {
		for i, p := range pieces {
			if !strings.HasPrefix(p.text, " ") {
				pieces[i] = p.rewritten(prepend(" "))
			}
		}
	}
	if b.split {
		pieces = split(matches(gpt2), isolated)(pieces)
	}
	for i, p := range pieces {
		pieces[i] = p.rewritten(normalizer{byteRunes, single})
	}
	return pieces
}

func byteRunes(text string) string {
	var out strings.Builder
	out.Grow(2 * len(text))
	for i := range len(text) {
		out.WriteRune(byteRune(text[i]))
	}
	return out.String()
}

// byteRune is the character that stands for a byte: itself where it is printable Latin-1, else one from 0x100 on.
func byteRune(b byte) rune {
	switch {
	case b <= 0x20:
		return 0x100 + rune(b)
	case b >= 0x7F && b <= 0xA0:
		return 0x100 + rune(b) - 0x7F + 0x21
	case b == 0xAD:
		return 0x143
	}
	return rune(b)
}

// gpt2 is the pattern of GPT-2, by hand since it looks ahead:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func gpt2(text string, from int) (low, high int) {
	rest := text[from:]
	for _, suffix := range [...]string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if strings.HasPrefix(rest, suffix) {
			return from, from + len(suffix)
		}
	}
	start := 0
	if rest[0] == ' ' {
		start = 1
	}
	if kind := gpt2Kind(rest[start:]); kind > 0 {
		end := start
		for end < len(rest) && gpt2Kind(rest[end:]) == kind {
			_, size := utf8.DecodeRuneInString(rest[end:])
			end += size
		}
		return from, from + end
	}
	end, last := 0, 0
	for end < len(rest) && gpt2Kind(rest[end:]) == 0 {
		_, last = utf8.DecodeRuneInString(rest[end:])
		end += last
	}
	if end < len(rest) && end > last { // the last space goes with what follows it
		end -= last
	}
	return from, from + end
}

// gpt2Kind tells what a text begins with: 0 white space or nothing, 1 a letter, 2 a number, 3 else.
func gpt2Kind(text string) int {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case size == 0 || unicode.IsSpace(r):
		return 0
	case unicode.IsLetter(r):
		return 1
	case unicode.IsNumber(r):
		return 2
	}
	return 3
}
