package tokenizer

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A file's regular expressions are of Oniguruma's kind, in which \s, \d and \w are of all Unicode; Go's are of ASCII.
// They are rewritten, and what cannot be is refused.
const (
	spaces = `\t-\r\x{85}\p{Z}`
	digits = `\p{Nd}`
	word   = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}`
	latin  = `\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}` // these are \w too, and so they are to Oniguruma outside of a class only
	// lookahead is the one look-ahead that tokenizers use: white space but for the last before something else.
	lookahead = `\s+(?!\S)|\s+`
)

// compile rewrites a pattern. tail tells that its last group is what lookahead stands for.
func compile(pattern string) (expression *regexp.Regexp, tail bool, err error) {
	if len(pattern) > maxPattern {
		return nil, false, fmt.Errorf("a pattern of %d bytes is longer than %d", len(pattern), maxPattern)
	}
	rest := pattern
	if cut, found := strings.CutSuffix(pattern, lookahead); found && (cut == "" || strings.HasSuffix(cut, "|")) {
		rest, tail = cut, true
	}
	translated, err := translate(rest)
	if err != nil {
		return nil, false, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	if tail {
		translated += `(?P<tail>[` + spaces + `]+)`
	}
	if expression, err = regexp.Compile(translated); err != nil {
		return nil, false, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	if expression.MatchString("") {
		return nil, false, fmt.Errorf("pattern %q matches nothing at all, too", pattern)
	}
	return expression, tail, nil
}

// translate rewrites the classes of a pattern.
func translate(pattern string) (string, error) {
	var out strings.Builder
	class := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			text, err := escape(pattern[i], class)
			if err != nil {
				return "", err
			}
			out.WriteString(text)
			continue
		case c == '[' && class, c == '&' && class && strings.HasPrefix(pattern[i:], "&&"):
			return "", fmt.Errorf("%q in a class is not supported", c)
		case c == '[':
			class = true
		case c == ']':
			class = false
		case !class && (c == '^' || c == '$'):
			return "", fmt.Errorf("the anchor %q is not supported", c)
		}
		out.WriteByte(pattern[i])
		if pattern[i] == '[' && strings.HasPrefix(pattern[i+1:], "^") {
			i++
			out.WriteByte('^')
		}
	}
	return out.String(), nil
}

// escape rewrites what follows a backslash, inside of a class or outside.
func escape(c byte, class bool) (string, error) {
	set := map[byte]string{'s': spaces, 'd': digits, 'w': word, 'S': spaces, 'D': digits, 'W': word}[c]
	negative := c == 'S' || c == 'D' || c == 'W'
	switch {
	case strings.IndexByte("bBAzZGKkRXhHQE", c) >= 0 || c >= '0' && c <= '9':
		return "", fmt.Errorf(`\%c is not supported`, c)
	case set == "":
		return `\` + string(rune(c)), nil
	case class && negative:
		return "", fmt.Errorf(`\%c in a class is not supported`, c)
	case class:
		return set, nil
	case c == 'w' || c == 'W':
		set += latin
	}
	if negative {
		return "[^" + set + "]", nil
	}
	return "[" + set + "]", nil
}

// regular finds the matches of a compiled pattern.
func regular(expression *regexp.Regexp, tail bool) finder {
	return func(text string) []span {
		var out []span
		for from := 0; from < len(text); {
			found := expression.FindStringSubmatchIndex(text[from:])
			if found == nil || found[0] == found[1] {
				found = []int{len(text) - from, len(text) - from}
			}
			low, high := from+found[0], from+found[1]
			if n := len(found); tail && n > 2 && found[n-2] >= 0 && high < len(text) {
				if last := lastSize(text[low:high]); high-last > low {
					high -= last
				}
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

func lastSize(text string) int {
	_, size := utf8.DecodeLastRuneInString(text)
	return size
}
