// Package fewshot reads the few-shot examples that a judge is shown before every question, and a writer of test sets
// before every passage: rows of a dataset whose labels are known.
//
// A file of them is any dataset: see internal/dataset. The labels are members of its column human (people's), labels
// (those of assay testset) or machine, or columns of their own whose names end in "label", as in ARES' files.
package fewshot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A File is a file of few-shot examples.
type File struct {
	Shots  []prompts.Shot // in the order of the rows; some may have no verdict
	SHA256 string         // of the content, decompressed: 64 hexadecimal digits
}

// maxRows bounds a file: no prompt shows more than [prompts.MaxShots] of them.
const maxRows = 1000

// dimensions are those that prompts ask a yes/no question about. A label of another name is none of an example's.
var dimensions = []string{"answer_correctness", "answer_relevance", "completeness", "context_precision",
	"context_relevance", "faithfulness"}

// Read reads the few-shot examples of a file. It is an error if a row cannot be read, or if a label of a dimension is
// neither yes nor no.
func Read(ctx context.Context, path string) (*File, error) {
	if path == "-" {
		return nil, errors.New("examples are read from a file, not from standard input")
	}
	data, err := dataset.Open(ctx, path, dataset.Options{})
	if err != nil {
		return nil, err
	}
	defer data.Close()
	sum := data.Summary()
	if sum.Rows+sum.Bad > maxRows {
		return nil, fmt.Errorf("%s has %d rows: at most %d, of which no prompt shows more than %d", sum.Name,
			sum.Rows+sum.Bad, maxRows, prompts.MaxShots)
	}
	f := &File{SHA256: sum.SHA256}
	for sample, err := range data.Samples(ctx) {
		if err != nil {
			return nil, err
		}
		shot, err := shotOf(sample)
		if err != nil {
			return nil, fmt.Errorf("%s, row %s: %w", sum.Name, sample.ID, err)
		}
		f.Shots = append(f.Shots, shot)
	}
	return f, nil
}

func shotOf(s *metrics.Sample) (prompts.Shot, error) {
	shot := prompts.Shot{
		Name: s.ID, Question: s.Question, Context: metrics.NewPassage(s.Contexts).Text, Answer: s.Answer,
		References: s.References, Verdicts: map[string]bool{},
	}
	for _, column := range slices.Sorted(maps.Keys(s.Extra)) {
		if strings.EqualFold(column, "contradictory_answer") && json.Unmarshal(s.Extra[column], &shot.Wrong) != nil {
			return shot, fmt.Errorf("%s is not text", column)
		}
	}
	// What is read later goes before what was read earlier: people's word before that of a machine.
	for _, group := range []map[string]json.RawMessage{
		members(s.Extra["machine"]), members(s.Extra["labels"]), labelColumns(s.Extra), members(s.Extra["human"]),
	} {
		given := map[string]bool{}
		for _, name := range slices.Sorted(maps.Keys(group)) {
			d := dimension(name)
			if !slices.Contains(dimensions, d) {
				continue
			}
			yes, known, err := verdict(group[name])
			if err != nil {
				return shot, fmt.Errorf("the label %s: %w", name, err)
			}
			if before, twice := given[d]; known && twice && before != yes {
				return shot, fmt.Errorf("the label %s: another one for %s says otherwise", name, d)
			}
			if known {
				given[d] = yes
			}
		}
		maps.Copy(shot.Verdicts, given)
	}
	return shot, nil
}

// members are those of a JSON object, also where that is the text of a table's cell; nil if it is none.
func members(raw json.RawMessage) map[string]json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}

// labelColumns are the columns whose names end in "label".
func labelColumns(extra map[string]json.RawMessage) map[string]json.RawMessage {
	found := map[string]json.RawMessage{}
	for column, raw := range extra {
		if strings.HasSuffix(strings.ToLower(column), "label") {
			found[column] = raw
		}
	}
	return found
}

// dimension is what a label is about: of "Answer_Faithfulness_Label" faithfulness.
func dimension(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	if n := len(words); n > 1 && words[n-1] == "label" {
		words = words[:n-1]
	}
	switch d := strings.Join(words, "_"); d {
	case "answer_faithfulness":
		return "faithfulness"
	case "correct":
		return "answer_correctness"
	default:
		return d
	}
}

// verdict reads a label: true or false, 1 or 0, yes or no, [[Yes]] or [[No]], or a list of raters who agree. Null and
// an empty text are none.
func verdict(raw json.RawMessage) (yes, known bool, err error) {
	raw = bytes.TrimSpace(raw)
	var raters []json.RawMessage
	if json.Unmarshal(raw, &raters) == nil && raters != nil {
		return agreed(raters)
	}
	word := string(raw)
	json.Unmarshal(raw, &word) // what is no text stays as it is written
	switch word = strings.ToLower(strings.Trim(word, "[] \t\n")); word {
	case "", "null":
		return false, false, nil
	case "yes", "true", "1", "1.0":
		return true, true, nil
	case "no", "false", "0", "0.0":
		return false, true, nil
	}
	return false, false, fmt.Errorf("%s is neither yes nor no: want true or false, 1 or 0, yes or no, or no label at "+
		"all", metrics.Bounded(string(raw)))
}

// agreed is what all raters say.
func agreed(raters []json.RawMessage) (yes, known bool, err error) {
	for _, raw := range raters {
		if len(bytes.TrimSpace(raw)) > 0 && bytes.TrimSpace(raw)[0] == '[' {
			return false, false, errors.New("a list in a list")
		}
		y, k, err := verdict(raw)
		switch {
		case err != nil:
			return false, false, err
		case k && known && y != yes:
			return false, false, errors.New("the raters do not agree: a judge learns nothing from it")
		case k:
			yes, known = y, true
		}
	}
	return yes, known, nil
}
