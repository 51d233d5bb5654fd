package ask

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// Reasons why a reply is no list of numbers, or no object.
var (
	errNoNumbers = errors.New("no list of numbers in the reply")
	errNoObject  = errors.New("no JSON object in the reply")
)

// numberRange is a list's "2-5", which may mean two numbers or four.
var numberRange = regexp.MustCompile(`\p{Nd}\s*(?:[-–—~]|\.\.+|to)\s*\p{Nd}`)

// DecodeNumbers decodes a reply that lists some of the numbers there are: in their order, each once, or none if the
// reply is an empty list or one of the phrases of nothing. A reply that says anything else beside them is refused, and
// so is a number that there is not.
func DecodeNumbers(r Reply, among []int, nothing []string) ([]int, error) {
	if r.Cut {
		return nil, metrics.ErrCut
	}
	text := strings.TrimSpace(r.Text)
	if SaysNothing(text, nothing) || text == "[]" {
		return nil, nil
	}
	if numberRange.MatchString(text) {
		return nil, errNoNumbers
	}
	var list []int
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) }) {
		switch digits := strings.IndexFunc(word, func(c rune) bool { return !unicode.IsDigit(c) }) < 0; {
		case digits && len(word) <= 9 && slices.Contains(among, Number(word)):
			list = append(list, Number(word))
		case digits:
			return nil, errors.New("the reply lists " + metrics.Bounded(word) + ", and there is no such number")
		case !slices.Contains([]string{"sentence", "sentences", "number", "numbers", "and"}, tokenize.Normalize(word)):
			return nil, errNoNumbers
		}
	}
	if list == nil {
		return nil, errNoNumbers
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// NumbersSchema is the JSON Schema of a list of some of the numbers that there are.
func NumbersSchema(among []int) []byte {
	var b strings.Builder
	b.WriteString(`{"type":"array","items":{"enum":[`)
	for i, n := range among {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(n))
	}
	b.WriteString(`]},"maxItems":` + strconv.Itoa(len(among)) + `}`)
	return []byte(b.String())
}

// DecodeObject decodes a reply that is one JSON object. Of a cut one the last text may be half of one: it is refused.
func DecodeObject(r Reply) (map[string]any, error) {
	if r.Cut {
		return nil, metrics.ErrCut
	}
	v, _ := findJSON(r.Text)
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errNoObject
	}
	return object, nil
}
