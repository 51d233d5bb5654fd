package tokenizer

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// places say of each byte of a text which bytes of the original it comes from: from low up to high. They are nil where
// that is not asked for.
type places []place

type place struct{ low, high int32 }

// placesOf are those of an original.
func placesOf(text string) places {
	list := make(places, len(text))
	for i := range list {
		list[i] = place{int32(i), int32(i + 1)}
	}
	return list
}

func (l places) part(low, high int) places {
	if l == nil {
		return nil
	}
	return l[low:high]
}

// place has tokens of a piece stand in the original instead.
func (l places) place(tokens []token) {
	if len(l) == 0 {
		return
	}
	for i, t := range tokens {
		first := l[min(int(t.low), len(l)-1)]
		tokens[i].low, tokens[i].high = first.low, first.low
		if t.high > t.low {
			tokens[i].high = l[t.high-1].high
		}
	}
}

// whole is the token that a cut is.
func (c cut) whole() token {
	t := []token{{c.token.ID, c.text, 0, int32(len(c.text))}}
	c.from.place(t)
	return t[0]
}

// rewritten runs a normalizer.
func (p piece) rewritten(step normalizer) piece {
	text := step.run(p.text)
	if p.from != nil && text != p.text {
		p.from = p.from.through(step, p.text, text)
	}
	p.text = text
	return p
}

// through are the places of what a normalizer makes of a text. The text is taken apart into stretches that are
// rewritten on their own, and all bytes of what becomes of one come from all of it.
func (l places) through(step normalizer, old, made string) places {
	if step.next == nil {
		return l.ends(old, made)
	}
	list := make(places, 0, len(made))
	rest := made
	for at := 0; at < len(old); {
		end := at + step.next(old[at:])
		part := step.run(old[at:end])
		after, found := strings.CutPrefix(rest, part)
		if !found {
			return l.blurred(made)
		}
		rest = after
		if part == old[at:end] {
			list = append(list, l[at:end]...)
		} else {
			list = append(list, l[at:end].blurred(part)...)
		}
		at = end
	}
	if rest != "" {
		return l.blurred(made)
	}
	return list
}

// blurred has every byte of a text come from all of the original's stretch.
func (l places) blurred(made string) places {
	list := make(places, len(made))
	for i := range list {
		list[i] = place{l[0].low, l[len(l)-1].high}
	}
	return list
}

// ends are the places where something was put before a text, or its ends were taken away.
func (l places) ends(old, made string) places {
	if before, found := strings.CutSuffix(made, old); found {
		list := make(places, len(before), len(made))
		for i := range list {
			list[i] = place{l[0].low, l[0].low}
		}
		return append(list, l...)
	}
	at := max(0, strings.Index(old, made))
	return l[at : at+len(made)]
}

// Locate implements [Tokenizer].
func (p *pipeline) Locate(text string) ([][2]int, error) {
	if len(text) > maxText || !utf8.ValidString(text) {
		return nil, errors.New("the text is too long, or not UTF-8")
	}
	tokens, err := p.encode(piece{text: text, first: true, from: placesOf(text)})
	if err != nil {
		return nil, err
	}
	list := make([][2]int, len(tokens))
	last := 0
	for i, t := range tokens {
		low, high := trimmed(text, int(t.low), int(t.high))
		low = max(low, last) // the byte tokens of some models stand in another order
		list[i], last = [2]int{low, max(low, high)}, low
	}
	return list, nil
}

// trimmed takes in all of a character that a stretch begins or ends within, and leaves out white space around others.
func trimmed(text string, low, high int) (int, int) {
	for low > 0 && low < len(text) && !utf8.RuneStart(text[low]) {
		low--
	}
	for high < len(text) && !utf8.RuneStart(text[high]) {
		high++
	}
	inner := strings.TrimLeftFunc(text[low:high], unicode.IsSpace)
	if inner == "" {
		return low, high
	}
	low = high - len(inner)
	return low, low + len(strings.TrimRightFunc(inner, unicode.IsSpace))
}
