package ask

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// An Item is one entry of a list that a model wrote.
type Item struct {
	Number int // as written; -1 if it bore none
	Text   string
}

// ParseList finds the items of a list in whatever form a model wrote it: a JSON array, numbered or
// bulleted lines, or bare lines; with a preamble, in a code fence, with markup, with notes after it. It
// returns nil if there is nothing like a list or sentence.
func ParseList(text string) []Item {
	if v, ok := findJSON(text); ok {
		if items := jsonItems(v); items != nil {
			return items
		}
	}
	var items []Item
	var bare []string
	open := false // whether the last item may go on in the next line
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "```") {
			open = false
			continue
		}
		if it, ok := ParseItem(line); ok {
			items = append(items, it)
			open = true
			continue
		}
		if n := len(items); n > 0 && open && !ended(items[n-1].Text) {
			items[n-1].Text = strings.TrimSpace(items[n-1].Text + " " + line)
			continue
		}
		bare = append(bare, line)
	}
	if len(items) == 1 {
		items = splitInline(items[0])
	}
	if len(items) == 0 {
		items = bareItems(bare)
	}
	for i := range items {
		items[i].Text = Clean(items[i].Text)
	}
	return items
}

// bareItems takes each sentence of lines without a marker for an item, leaving preambles out. A refusal
// is no list.
func bareItems(lines []string) []Item {
	var items []Item
	for _, line := range lines {
		if Preamble(line) {
			continue
		}
		if len(items) == 0 && Refusal(line) {
			return nil
		}
		for _, s := range tokenize.Sentences(line) {
			items = append(items, Item{-1, s.Text})
		}
	}
	return items
}

// Refusal reports whether a line is the judge speaking about itself.
func Refusal(line string) bool {
	normal := tokenize.Normalize(line)
	for _, start := range []string{"i m sorry", "i am sorry", "sorry", "i cannot", "i can t", "i am unable",
		"i m unable", "as an ai"} {
		if strings.HasPrefix(normal, start) {
			return true
		}
	}
	return false
}

// The markers that begin an item. A number is followed by a mark and, so that "3.14" is none, no digit.
var (
	numberedItem = regexp.MustCompile(`^(?:[-*•–]\s+)?[*_#\s]*(?i:(?:statement|claim|verdict|question|sentence|` +
		`answer|item)\s*)?` +
		`[#(\[]?(\p{Nd}{1,3})(?:[.)\]:、．：]+|\s+[-–—:]\s)[*_]*(\PN.*)?$`)
	bulletItem = regexp.MustCompile(`^[-*•‣◦–—·▪●○]\s+(.*)$`)
)

// ParseItem reads a line that begins with a number or bullet.
func ParseItem(line string) (Item, bool) {
	if m := numberedItem.FindStringSubmatch(line); m != nil {
		return Item{Number(m[1]), strings.TrimSpace(m[2])}, true
	}
	if m := bulletItem.FindStringSubmatch(line); m != nil {
		return Item{-1, strings.TrimSpace(m[1])}, true
	}
	return Item{}, false
}

// Number is the value of decimal digits of any script.
func Number(digits string) int {
	n := 0
	for _, r := range norm.NFKC.String(digits) {
		d := 0 // every script's ten digits stand together, zero first
		for unicode.IsDigit(r - 1) {
			r--
			d++
		}
		n = 10*n + d%10
	}
	return n
}

// splitInline splits "1. one 2. two 3. three", a list on one line.
func splitInline(it Item) []Item {
	var list []Item
	for it.Number >= 0 {
		next := strconv.Itoa(it.Number + 1)
		i := strings.Index(it.Text, " "+next+". ")
		if j := strings.Index(it.Text, " "+next+") "); i < 0 || j >= 0 && j < i {
			i = j
		}
		if i < 0 {
			break
		}
		list = append(list, Item{it.Number, strings.TrimSpace(it.Text[:i])})
		it = Item{it.Number + 1, strings.TrimSpace(it.Text[i+len(next)+2:])}
	}
	return append(list, it)
}

// ended reports whether text ends as a sentence does.
func ended(text string) bool {
	text = strings.TrimRight(text, `"'”’)*_`)
	return text != "" && strings.ContainsAny(text[len(strings.TrimRight(text, ".!?…。！？।؟۔")):], ".!?…。！？।؟۔")
}

// Preamble reports whether a line only leads to what follows it: "Sure! Here are the statements:".
func Preamble(line string) bool {
	line = strings.Trim(line, "*_# ")
	if strings.HasSuffix(line, ":") || strings.HasSuffix(line, "：") {
		return true
	}
	first, _, _ := strings.Cut(tokenize.Normalize(line), " ")
	switch first {
	case "sure", "certainly", "okay", "ok":
		return true
	}
	return !tokenize.HasWords(line)
}

// Clean removes markup, quotation marks and a JSON comma from around text.
func Clean(text string) string {
	text = strings.TrimSpace(text)
	for {
		was := text
		text = strings.TrimSuffix(text, ",")
		if strings.Count(text, "**")%2 == 1 { // the other half stood before the number
			text = strings.ReplaceAll(text, "**", "")
		}
		for _, pair := range []string{"**|**", "*|*", "__|__", "`|`", `"|"`, "“|”", "'|'", "«|»"} {
			open, shut, _ := strings.Cut(pair, "|")
			inner, ok := strings.CutPrefix(text, open)
			if inner, ok2 := strings.CutSuffix(inner, shut); ok && ok2 && !strings.Contains(inner, open) &&
				!strings.Contains(inner, shut) {
				text = strings.TrimSpace(inner)
			}
		}
		if text == was {
			return text
		}
	}
}

var trailingComma = regexp.MustCompile(`,(\s*[\]}])`)

// findJSON decodes the first JSON array or object that begins a line of text, fenced or not. Commas
// before a closing bracket are forgiven.
func findJSON(text string) (any, bool) {
	at := JsonStart(text)
	if at < 0 {
		return nil, false
	}
	for _, attempt := range []string{text[at:], trailingComma.ReplaceAllString(text[at:], "$1")} {
		var v any
		d := json.NewDecoder(strings.NewReader(attempt))
		if d.Decode(&v) == nil {
			rest, _, _ := strings.Cut(attempt[d.InputOffset():], "\n")
			return v, !tokenize.HasWords(rest) // "[1] Yes" is none
		}
	}
	return nil, false
}

// JsonStart returns where the first JSON array or object that begins a line may start, -1 if nowhere.
func JsonStart(text string) int {
	at := 0
	for line := range strings.Lines(text) {
		if body := strings.TrimLeft(line, " \t"); strings.HasPrefix(body, "[") || strings.HasPrefix(body, "{") {
			return at + len(line) - len(body)
		}
		at += len(line)
	}
	return -1
}

// jsonItems returns the texts in a decoded JSON value: an array of strings, of objects with one text
// each that matters, or an object that holds such an array. Else nil.
func jsonItems(v any) []Item {
	switch v := v.(type) {
	case []any:
		items := []Item{}
		for _, e := range v {
			text, ok := e.(string)
			if object, isObject := e.(map[string]any); isObject {
				text, ok = jsonText(object)
			}
			if !ok {
				return nil
			}
			items = append(items, Item{-1, Clean(text)})
		}
		return items
	case map[string]any:
		var lists [][]any
		for _, e := range v {
			if list, ok := e.([]any); ok {
				lists = append(lists, list)
			}
		}
		if len(lists) == 1 {
			return jsonItems(lists[0])
		}
	}
	return nil
}

// jsonText returns the text of an object that stands for one item.
func jsonText(object map[string]any) (string, bool) {
	for _, field := range []string{"statement", "claim", "sentence", "question", "text"} {
		if text, ok := object[field].(string); ok {
			return text, true
		}
	}
	return "", false
}

// Distinct returns the texts of items that say something, each once, and whether any was a repetition:
// a model that begins to repeat itself has nothing more to say.
func Distinct(items []Item) (texts []string, repeated bool) {
	seen := make(map[string]bool)
	for _, it := range items {
		normal := tokenize.Normalize(it.Text)
		switch {
		case normal == "":
		case seen[normal]:
			repeated = true
		default:
			seen[normal] = true
			texts = append(texts, it.Text)
		}
	}
	return texts, repeated
}

// DecodeList decodes a reply that is a list: its items, each once, or none if the reply is one of the
// phrases of nothing. The last item of a cut list is dropped as partial, if the list has begun to
// repeat itself; any other cut list has lost something.
func DecodeList(r Reply, nothing []string) ([]string, error) {
	if SaysNothing(r.Text, nothing) {
		return nil, nil
	}
	items := ParseList(r.Text)
	if r.Cut && len(items) > 0 {
		texts, _ := Distinct(items[:len(items)-1])
		if _, repeated := Distinct(items); repeated {
			return texts, nil
		}
	}
	if r.Cut {
		return nil, metrics.ErrCut
	}
	texts, _ := Distinct(items)
	if len(texts) == 0 {
		return nil, ErrNoList
	}
	return texts, nil
}

// ErrNoList says that a reply holds nothing that could be an item.
var ErrNoList = errors.New("no list in the reply")

// SaysNothing reports whether a reply begins with a sentence that is one of the phrases of having nothing to
// list.
func SaysNothing(text string, phrases []string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || Preamble(line) {
			continue
		}
		if it, ok := ParseItem(line); ok {
			line = it.Text
		}
		first := ""
		if sentences := tokenize.Sentences(line); len(sentences) > 0 {
			first = tokenize.Normalize(sentences[0].Text)
		}
		return slices.Contains(phrases, first) || slices.Contains(phrases, tokenize.Normalize(text))
	}
	return false
}

// CopiedLines returns every line of a reply as an item, without the markers that lists have and texts
// may have too, or the texts in its JSON.
func CopiedLines(text string) []Item {
	if v, ok := findJSON(text); ok {
		if items := jsonItems(v); items != nil {
			return items
		}
	}
	var items []Item
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if it, ok := ParseItem(line); ok {
			items = append(items, Item{it.Number, Clean(it.Text)})
		} else if !strings.HasPrefix(line, "```") {
			items = append(items, Item{-1, Clean(line)})
		}
	}
	return items
}

// Unlabelled removes a label such as "Question:" from the beginning of text.
func Unlabelled(text string) string {
	label, rest, ok := strings.Cut(text, ":")
	if ok && strings.TrimSpace(rest) != "" && strings.EqualFold(strings.Trim(label, "*_ "), "question") {
		return Clean(strings.TrimLeft(rest, "*_ "))
	}
	return Clean(text)
}

// LastRunes is the end of a sentence, where its punctuation stands.
func LastRunes(s string) string {
	r := []rune(s)
	return string(r[max(0, len(r)-4):])
}

// ListInWindows has the judge list something about texts, each item once. Where they do not fit in one prompt, or the
// list not in one reply, they are asked about window by window: query is given the part to show.
func ListInWindows(
	ctx context.Context, m metrics.Models, texts []string,
	query func(part string) Query, decode func(Reply) ([]string, error),
) ([]string, error) {
	var all []Item
	_, err := metrics.NewPassage(texts).InWindows(false, func(part string) error {
		q := query(part)
		q.Splittable = true
		list, err := Judge(ctx, m, q, decode)
		for _, text := range list {
			all = append(all, Item{Number: -1, Text: text})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	items, _ := Distinct(all)
	return items, nil
}
