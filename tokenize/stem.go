package tokenize

import (
	"strings"
	"unicode/utf8"
)

// Stem returns the stem of an English word in lower case by Porter's algorithm, with the extensions that
// NLTK has by default and that ROUGE and METEOR in Python therefore use: a few irregular forms, and changes
// to seven rules, each marked below. No Go library has them. Letters beyond ASCII count as consonants.
//
// M. F. Porter, "An algorithm for suffix stripping", Program 14 (3), 1980.
func Stem(word string) string {
	if stem, ok := irregularStem(word); ok {
		return stem
	}
	if utf8.RuneCountInString(word) <= 2 {
		return word
	}
	for _, step := range []func(string) string{stem1a, stem1b, stem1c, stem2, stem3, stem4, stem5a, stem5b} {
		word = step(word)
	}
	return word
}

// irregularStem is NLTK's table of the words that the rules do not reach.
func irregularStem(word string) (string, bool) {
	switch word {
	case "sky", "skies":
		return "sky", true
	case "dying":
		return "die", true
	case "lying":
		return "lie", true
	case "tying":
		return "tie", true
	case "inning", "innings":
		return "inning", true
	case "outing", "outings":
		return "outing", true
	case "canning", "cannings":
		return "canning", true
	case "news", "howe", "proceed", "exceed", "succeed":
		return word, true
	}
	return "", false
}

// A stemRule replaces a suffix where the stem before it meets a condition; nil is always met. Of a list of
// rules the first whose suffix fits decides, whether its condition is met or not.
type stemRule struct {
	suffix, replacement string
	condition           func(stem string) bool
}

func applyRules(word string, rules []stemRule) string {
	for _, r := range rules {
		if stem, ok := strings.CutSuffix(word, r.suffix); ok {
			if r.condition == nil || r.condition(stem) {
				return stem + r.replacement
			}
			return word
		}
	}
	return word
}

func stem1a(word string) string {
	if stem, ok := strings.CutSuffix(word, "ies"); ok && utf8.RuneCountInString(stem) == 1 {
		return stem + "ie" // NLTK: "dies", "ties"
	}
	return applyRules(word, []stemRule{{"sses", "ss", nil}, {"ies", "i", nil}, {"ss", "ss", nil}, {"s", "", nil}})
}

func stem1b(word string) string {
	if stem, ok := strings.CutSuffix(word, "ied"); ok { // NLTK: "died", "spied"
		if utf8.RuneCountInString(stem) == 1 {
			return stem + "ie"
		}
		return stem + "i"
	}
	if stem, ok := strings.CutSuffix(word, "eed"); ok {
		if measure(stem) > 0 {
			return stem + "ee"
		}
		return word
	}
	stem, ok := strings.CutSuffix(word, "ed")
	if !ok || !hasVowel(stem) {
		if stem, ok = strings.CutSuffix(word, "ing"); !ok || !hasVowel(stem) {
			return word
		}
	}
	switch {
	case strings.HasSuffix(stem, "at"), strings.HasSuffix(stem, "bl"), strings.HasSuffix(stem, "iz"):
		return stem + "e"
	case endsDouble(stem):
		last, size := utf8.DecodeLastRuneInString(stem)
		if strings.ContainsRune("lsz", last) {
			return stem
		}
		return stem[:len(stem)-size]
	case measure(stem) == 1 && endsCVC(stem):
		return stem + "e"
	}
	return stem
}

func stem1c(word string) string {
	// NLTK: the y must follow a consonant, and not be the second letter: "enjoy" stays.
	return applyRules(word, []stemRule{{"y", "i", func(stem string) bool {
		kinds := consonants(stem)
		return len(kinds) > 1 && kinds[len(kinds)-1]
	}}})
}

func positive(stem string) bool { return measure(stem) > 0 }

func stem2(word string) string {
	if stem, ok := strings.CutSuffix(word, "alli"); ok && positive(stem) {
		return stem2(stem + "al") // NLTK: first of all, and on from there
	}
	return applyRules(word, []stemRule{
		{"ational", "ate", positive}, {"tional", "tion", positive}, {"enci", "ence", positive},
		{"anci", "ance", positive}, {"izer", "ize", positive},
		{"bli", "ble", positive}, // NLTK, after Porter's own later change: not only "abli"
		{"alli", "al", positive}, {"entli", "ent", positive}, {"eli", "e", positive}, {"ousli", "ous", positive},
		{"ization", "ize", positive}, {"ation", "ate", positive}, {"ator", "ate", positive},
		{"alism", "al", positive}, {"iveness", "ive", positive}, {"fulness", "ful", positive},
		{"ousness", "ous", positive}, {"aliti", "al", positive}, {"iviti", "ive", positive},
		{"biliti", "ble", positive},
		{"fulli", "ful", positive}, // NLTK
		{"logi", "log", func(stem string) bool { return positive(stem + "l") }}, // NLTK: "geology" too
	})
}

func stem3(word string) string {
	return applyRules(word, []stemRule{
		{"icate", "ic", positive}, {"ative", "", positive}, {"alize", "al", positive}, {"iciti", "ic", positive},
		{"ical", "ic", positive}, {"ful", "", positive}, {"ness", "", positive},
	})
}

func stem4(word string) string {
	long := func(stem string) bool { return measure(stem) > 1 }
	return applyRules(word, []stemRule{
		{"al", "", long}, {"ance", "", long}, {"ence", "", long}, {"er", "", long}, {"ic", "", long},
		{"able", "", long}, {"ible", "", long}, {"ant", "", long}, {"ement", "", long}, {"ment", "", long},
		{"ent", "", long},
		{"ion", "", func(stem string) bool {
			return long(stem) && (strings.HasSuffix(stem, "s") || strings.HasSuffix(stem, "t"))
		}},
		{"ou", "", long}, {"ism", "", long}, {"ate", "", long}, {"iti", "", long}, {"ous", "", long},
		{"ive", "", long}, {"ize", "", long},
	})
}

func stem5a(word string) string {
	return applyRules(word, []stemRule{{"e", "", func(stem string) bool {
		m := measure(stem)
		return m > 1 || m == 1 && !endsCVC(stem)
	}}})
}

func stem5b(word string) string {
	return applyRules(word, []stemRule{{"ll", "l", func(stem string) bool { return measure(stem+"l") > 1 }}})
}

// consonants says of each letter whether it is a consonant. A y is one at the beginning and after a vowel.
func consonants(word string) []bool {
	var kinds []bool
	for _, r := range word {
		switch n := len(kinds); {
		case strings.ContainsRune("aeiou", r):
			kinds = append(kinds, false)
		case r == 'y' && n > 0:
			kinds = append(kinds, !kinds[n-1])
		default:
			kinds = append(kinds, true)
		}
	}
	return kinds
}

// measure is Porter's m: how often a consonant follows a vowel.
func measure(stem string) int {
	m := 0
	kinds := consonants(stem)
	for i := 1; i < len(kinds); i++ {
		if kinds[i] && !kinds[i-1] {
			m++
		}
	}
	return m
}

func hasVowel(stem string) bool {
	for _, consonant := range consonants(stem) {
		if !consonant {
			return true
		}
	}
	return false
}

// endsDouble reports whether the last two letters are one consonant.
func endsDouble(word string) bool {
	letters, kinds := []rune(word), consonants(word)
	n := len(letters)
	return n >= 2 && letters[n-1] == letters[n-2] && kinds[n-1]
}

// endsCVC reports whether the word ends in consonant, vowel and a consonant other than w, x and y.
func endsCVC(word string) bool {
	kinds := consonants(word)
	n := len(kinds)
	if n == 2 {
		return !kinds[0] && kinds[1] // NLTK
	}
	return n >= 3 && kinds[n-3] && !kinds[n-2] && kinds[n-1] && !strings.ContainsAny(word[len(word)-1:], "wxy")
}
