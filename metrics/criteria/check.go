package criteria

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/unicode/norm"
)

// A textCheck is a deterministic check of a text: whether it passes, and why.
type textCheck func(s *metrics.Sample, text string) (bool, []metrics.Finding, error)

// checkMetric is 1 where the check passes and 0 where it does not.
func checkMetric(f frame, formula string, check textCheck) metrics.Metric {
	m := f.metric()
	m.Formula = "1 if " + formula + ", else 0"
	m.Calls = "none"
	m.Score = func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		texts, err := shownTexts(s, f.show)
		if err != nil {
			return metrics.Score{}, err
		}
		passed, because, err := check(s, texts[0].Text)
		if err != nil {
			return metrics.Score{}, err
		}
		score := metrics.Score{Because: because}
		if passed {
			score.Value = 1
		}
		return score, nil
	}
	return m
}

// check reads a criterion that needs no judge.
func (c *criteriaFile) check(f frame, kind string, value, ignoreCase *yaml.Node) (metrics.Metric, error) {
	of := "the " + strings.TrimPrefix(f.show[0], columnPrefix)
	done := func(formula string, check textCheck, err error) (metrics.Metric, error) {
		if err != nil {
			return metrics.Metric{}, err
		}
		return checkMetric(described(f, "whether "+formula), formula, check), nil
	}
	switch kind {
	case "json":
		if on, err := c.truth(value); err != nil || !on {
			return metrics.Metric{}, c.fail(value, "json is true or left out")
		}
		return done(of+" is JSON", isJSON, nil)
	case "json_schema":
		schema, err := c.schema(value)
		return done(of+" is JSON of the schema", schema, err)
	case "min_words", "max_words":
		n, err := strconv.Atoi(value.Value)
		if value.Kind != yaml.ScalarNode || err != nil || n < 1 {
			return metrics.Metric{}, c.fail(value, "want a number of words")
		}
		bound := map[string]string{"min_words": "at least", "max_words": "at most"}[kind]
		return done(fmt.Sprintf("%s has %s %d words", of, bound, n), wordsWithin(kind == "min_words", n), nil)
	}
	w, err := c.wanted(value)
	if err != nil {
		return metrics.Metric{}, err
	}
	if kind == "regex" {
		patterns, err := w.patterns()
		if err != nil {
			return metrics.Metric{}, c.fail(value, "%v", err)
		}
		return done(of+" matches "+w.String(), matchesPatterns(w, patterns), nil)
	}
	if kind == "contains" && len(w.list) > 1 {
		return metrics.Metric{}, c.fail(value, "contains takes one text; contains_any and contains_all take several")
	}
	fold, err := c.truth(ignoreCase)
	word := map[string]string{"contains": "", "contains_any": "any of ", "contains_all": "all of "}[kind]
	return done(of+" contains "+word+w.String(), holds(w, kind == "contains_any", fold), err)
}

// wanted is what a check looks for: the same in every row, or what a column of the row holds.
type wanted struct {
	list   []string
	column string
}

func (w wanted) String() string {
	if w.column != "" {
		return "the column " + w.column
	}
	var quoted []string
	for _, text := range w.list {
		quoted = append(quoted, strconv.Quote(text))
	}
	return strings.Join(quoted, ", ")
}

// column reads {column: NAME}, and reports whether n is such a mapping.
func (c *criteriaFile) column(n *yaml.Node) (string, bool, error) {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 || n.Content[0].Value != "column" {
		return "", false, nil
	}
	name, err := c.text(n.Content[1])
	return name, true, err
}

func (c *criteriaFile) wanted(n *yaml.Node) (wanted, error) {
	name, ok, err := c.column(n)
	if ok || err != nil {
		return wanted{column: name}, err
	}
	if n.Kind == yaml.MappingNode {
		return wanted{}, c.fail(n, "want a text, a list of texts, or {column: NAME}")
	}
	list, err := c.list(n)
	return wanted{list: list}, err
}

// of returns what is wanted of a sample. A column's list may be a text itself, as in a CSV file.
func (w wanted) of(s *metrics.Sample) ([]string, error) {
	if w.column == "" {
		return w.list, nil
	}
	text, err := columnText(s, w.column)
	if err != nil {
		return nil, err
	}
	var list []string
	if !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &list) != nil {
		return []string{text}, nil
	}
	if len(list) == 0 || slices.Contains(list, "") {
		return nil, fmt.Errorf("the column %q holds an empty list, or an empty text in it", w.column)
	}
	return list, nil
}

// holds looks for texts, any of them or all. Composed and decomposed letters are the same.
func holds(w wanted, anyOf, fold bool) textCheck {
	form := func(text string) string {
		if text = norm.NFC.String(text); fold {
			text = cases.Fold().String(text)
		}
		return text
	}
	return func(s *metrics.Sample, text string) (bool, []metrics.Finding, error) {
		phrases, err := w.of(s)
		if err != nil {
			return false, nil, err
		}
		var because []metrics.Finding
		found := 0
		for _, phrase := range phrases {
			there := strings.Contains(form(text), form(phrase))
			if there {
				found++
			}
			because = append(because, metrics.Finding{Kind: "phrase", Text: phrase, Verdict: &there})
		}
		return found == len(phrases) || anyOf && found > 0, because, nil
	}
}

// patterns compiles what is wanted; nil if that differs from row to row.
func (w wanted) patterns() ([]*regexp.Regexp, error) {
	var list []*regexp.Regexp
	for _, text := range w.list {
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		list = append(list, re)
	}
	return list, nil
}

// matchesPatterns looks for regular expressions, every one of them.
func matchesPatterns(w wanted, patterns []*regexp.Regexp) textCheck {
	return func(s *metrics.Sample, text string) (bool, []metrics.Finding, error) {
		own := patterns
		if w.column != "" {
			list, err := w.of(s)
			if err != nil {
				return false, nil, err
			}
			if own, err = (wanted{list: list}).patterns(); err != nil {
				return false, nil, fmt.Errorf("the column %q: %v", w.column, err)
			}
		}
		passed := true
		var because []metrics.Finding
		for _, re := range own {
			f := metrics.Finding{Kind: "pattern", Text: re.String()}
			at := re.FindStringIndex(text)
			there := at != nil
			if there {
				f.Reason = "it matches " + strconv.Quote(metrics.Bounded(text[at[0]:at[1]]))
			}
			f.Verdict = &there
			passed = passed && there
			because = append(because, f)
		}
		return passed, because, nil
	}
}

// wordsWithin counts words as tokenize.Words does.
func wordsWithin(least bool, n int) textCheck {
	return func(_ *metrics.Sample, text string) (bool, []metrics.Finding, error) {
		count := len(tokenize.Words(text))
		note := metrics.Finding{Kind: "note", Text: fmt.Sprintf("words: %d", count)}
		return count == n || least == (count > n), []metrics.Finding{note}, nil
	}
}

// isJSON passes one JSON value with nothing around it, not even the fence of a code block.
func isJSON(_ *metrics.Sample, text string) (bool, []metrics.Finding, error) {
	_, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	return err == nil, jsonFinding(err), nil
}

// jsonFinding says what keeps a text from being JSON.
func jsonFinding(err error) []metrics.Finding {
	if err == nil {
		return []metrics.Finding{{Kind: "note", Text: "the text is JSON"}}
	}
	return []metrics.Finding{{Kind: "note", Text: "the text is not JSON: " + err.Error()}}
}

// schema reads a JSON schema, or the column that has one for each row.
func (c *criteriaFile) schema(n *yaml.Node) (textCheck, error) {
	name, ok, err := c.column(n)
	if err != nil {
		return nil, err
	}
	if ok {
		return func(s *metrics.Sample, text string) (bool, []metrics.Finding, error) {
			raw, err := columnText(s, name)
			if err != nil {
				return false, nil, err
			}
			schema, err := compileJSONSchema([]byte(raw))
			if err != nil {
				return false, nil, fmt.Errorf("the schema in the column %q: %v", name, err)
			}
			return fitsSchema(schema, text)
		}, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, c.fail(n, "want a schema, written out here, or {column: NAME}")
	}
	var v any
	if err := n.Load(&v); err != nil {
		return nil, c.fail(n, "%v", err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, c.fail(n, "the schema cannot be written as JSON: %v", err)
	}
	schema, err := compileJSONSchema(raw)
	if err != nil {
		return nil, c.fail(n, "%v", err)
	}
	return func(_ *metrics.Sample, text string) (bool, []metrics.Finding, error) {
		return fitsSchema(schema, text)
	}, nil
}

// maxSchemaDepth bounds how deep the objects and lists of a schema stand in one another: the time to compile
// it grows with the cube of that.
const maxSchemaDepth = 100

// compileJSONSchema compiles a schema that stands by itself: it reads no file and no address.
func compileJSONSchema(raw []byte) (*jsonschema.Schema, error) {
	depth := 0
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := d.Token()
		if err != nil {
			break // its end, or what the next line refuses
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > maxSchemaDepth {
			return nil, fmt.Errorf("the schema is more than %d levels deep", maxSchemaDepth)
		}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	const name = "schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	if err := compiler.AddResource(name, doc); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

func fitsSchema(schema *jsonschema.Schema, text string) (bool, []metrics.Finding, error) {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return false, jsonFinding(err), nil
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(v); err != nil && !errors.As(err, &invalid) {
		return false, nil, err
	}
	if invalid == nil {
		return true, []metrics.Finding{{Kind: "note", Text: "the text is JSON of the schema"}}, nil
	}
	return false, schemaFindings(invalid), nil
}

// schemaFindings says where a value departs from its schema: the innermost reasons.
func schemaFindings(e *jsonschema.ValidationError) []metrics.Finding {
	if len(e.Causes) == 0 {
		no := false
		where := "/" + strings.Join(e.InstanceLocation, "/")
		return []metrics.Finding{{Kind: "value", Text: where, Verdict: &no,
			Reason: e.ErrorKind.LocalizedString(message.NewPrinter(language.English))}}
	}
	var list []metrics.Finding
	for _, cause := range e.Causes {
		list = append(list, schemaFindings(cause)...)
	}
	return list
}

// formatJSON is the check "json" of a criteria file. With a schema, or for another text, it is written there.
func formatJSON() metrics.Metric {
	m := checkMetric(frame{name: "format/json", doc: "whether the answer is JSON, with nothing around it",
		show: []string{"answer"}, hi: 1},
		"the answer is one JSON value", isJSON)
	m.Source = "promptfoo, is-json"
	m.Default = true
	return m
}
