// Package pairs asks a cross-encoder about pairs of texts, a query with each of several windows of a text, for the
// metrics that read its outputs.
package pairs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// Words is the most words of a text that the encoder is shown at once: about as much as it was trained on,
// and much less than its context length. Models of this kind get worse with length well before they refuse.
const Words = 160

// Most is with how many windows of the contexts a sentence of an answer is read at most.
const Most = 2

// settled is the chance at which a query is read no further: a later window could only raise it.
const settled = 0.7

// A Reading is what the encoder says of a query and a window of a text: of the window, among those that were read,
// with the highest chance.
type Reading struct {
	Chance  float64 // of the output that was asked for
	Against float64 // of contradiction
	Told    bool    // the encoder has an output for contradiction
	Text    string  // the window
	window  int     // from 1
}

// Where says which of several windows it is, after a comma or the like; "" for the only one.
func (r Reading) Where(before string, windows int) string {
	if windows < 2 {
		return ""
	}
	return fmt.Sprintf("%swindow %d of %d", before, r.window, windows)
}

// Read reads each query with windows of the texts, one of which at least is not blank. It returns what is
// said of each with the window that has the highest chance, and how many windows there are. With most above 0, a query
// is read with so many windows at most, those most like it first, until its chance is settled.
func Read(ctx context.Context, m metrics.Models, label string, queries, texts []string,
	most int) ([]Reading, int, error) {
	windows, err := cutWindows(texts)
	if err != nil {
		return nil, 0, err
	}
	best := make([]Reading, len(queries))
	order := make([][]int, len(queries))
	for i, q := range queries {
		order[i] = inOrder(len(windows))
		if most > 0 {
			order[i] = likest(q, windows)
			order[i] = order[i][:min(most, len(windows))]
		}
	}
	for round := range len(order[0]) {
		var list []backend.Pair
		var of []int // the query of each pair
		for i, q := range queries {
			if most == 0 || best[i].Chance < settled {
				list = append(list, backend.Pair{Query: q, Text: windows[order[i][round]]})
				of = append(of, i)
			}
		}
		if len(list) == 0 {
			break
		}
		read, err := readPairs(ctx, m, label, list)
		if err != nil {
			return nil, 0, err
		}
		for k, i := range of {
			if read[k].window = order[i][round] + 1; round == 0 || read[k].Chance > best[i].Chance {
				best[i] = read[k]
			}
		}
	}
	return best, len(windows), nil
}

func inOrder(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// readPairs reads pairs at once. Where one is too long for the encoder's context, each is read by itself, the text in
// parts of which the one with the highest chance counts.
func readPairs(ctx context.Context, m metrics.Models, label string, pairs []backend.Pair) ([]Reading, error) {
	read, err := encode(ctx, m, label, pairs)
	if !errors.Is(err, backend.ErrPromptTooLong) {
		return read, err
	}
	read = make([]Reading, len(pairs))
	for i, pair := range pairs {
		first := true
		_, err := metrics.NewPassage([]string{pair.Text}).InWindows(true, func(part string) error {
			of, err := encode(ctx, m, label, []backend.Pair{{Query: pair.Query, Text: part}})
			if err == nil && (first || of[0].Chance > read[i].Chance) {
				read[i], first = of[0], false
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return read, nil
}

// likest orders windows by how many of a query's distinct words they hold, a word that few windows hold counting more;
// equals stay in order.
func likest(query string, windows []string) []int {
	weight := make([]float64, len(windows))
	held := make([]map[string]bool, len(windows))
	for i, w := range windows {
		held[i] = make(map[string]bool)
		for _, word := range tokenize.Words(w) {
			held[i][strings.ToLower(word)] = true
		}
	}
	seen := make(map[string]bool)
	for _, word := range tokenize.Words(query) {
		word = strings.ToLower(word)
		if seen[word] {
			continue
		}
		seen[word] = true
		n := 0
		for i := range windows {
			if held[i][word] {
				n++
			}
		}
		for i := range windows {
			if held[i][word] {
				weight[i] += 1 / float64(n)
			}
		}
	}
	order := inOrder(len(windows))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	return order
}

// cutWindows cuts texts into windows of up to Words words.
func cutWindows(texts []string) ([]string, error) {
	return cutInto(windowsOf(texts, Words), Words, true)
}

// windowsOf cuts texts into windows filled with up to most words each. A window begins with the sentence that ended the
// one before, where there is room for both it and a new one. A sentence that is too long has one for itself.
func windowsOf(texts []string, most int) []string {
	p := metrics.NewPassage(texts)
	length := make([]int, len(p.Sentences))
	for i, s := range p.Sentences {
		length[i] = len(tokenize.Words(s.Text))
	}
	var list []string
	for start := 0; start < len(length); {
		end, words := start, 0
		for end == start || end < len(length) && words+length[end] <= most {
			words += length[end]
			end++
		}
		list = append(list, p.Text[p.Sentences[start].Start:p.Sentences[end-1].End])
		if again := end - 1; end < len(length) && again > start && length[again]+length[end] <= most {
			end = again
		}
		start = end
	}
	return list
}

// withinWords refuses a text of too many words as an engine does one that exceeds its context length, so that it
// is split.
func withinWords(text string, most int) error {
	if n := len(tokenize.Words(text)); n > most {
		return &backend.TooLongError{Tokens: n, Limit: most}
	}
	return nil
}

// Sentences returns a text's sentences that have a word, those that are far too long in parts.
func Sentences(text string) ([]string, error) {
	return cutInto(metrics.NumberedSentences([]string{text}).Texts, Words/2, false)
}

// cutInto returns texts of up to so many words each: those that have more in parts, which may overlap.
func cutInto(texts []string, most int, overlap bool) ([]string, error) {
	var list []string
	for _, text := range texts {
		_, err := metrics.NewPassage([]string{text}).InWindows(overlap, func(part string) error {
			if err := withinWords(part, most); err != nil {
				return err
			}
			list = append(list, part)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// encode reads pairs: what the output with this label says of each. It notes the cache keys.
func encode(ctx context.Context, m metrics.Models, label string, pairs []backend.Pair) ([]Reading, error) {
	info := m.Role(backend.Encoder).Info()
	output, err := metrics.EncoderOutput(info, label)
	if err != nil {
		return nil, err
	}
	against := slices.Index(info.Labels, "contradiction")
	answer, err := backend.Classify(ctx, m.Role(backend.Encoder), pairs)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	read := make([]Reading, len(pairs))
	for i, numbers := range answer {
		m.Note(backend.EncodeKey(info, backend.HeadOutputs, pairs[i]), 0, 0)
		if want := max(1, len(info.Labels)); len(numbers) != want {
			return nil, fmt.Errorf("encoder: %d numbers where its labels make it %d", len(numbers), want)
		}
		if slices.ContainsFunc(numbers, func(x float32) bool { return x != x }) {
			return nil, fmt.Errorf("encoder: its number for %q is not one", metrics.Bounded(pairs[i].Text))
		}
		read[i] = Reading{Chance: stats.Logistic(float64(numbers[output])), Text: pairs[i].Text}
		if against >= 0 {
			read[i].Against, read[i].Told = stats.Logistic(float64(numbers[against])), true
		}
	}
	return read, nil
}
