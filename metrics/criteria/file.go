package criteria

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
	"go.yaml.in/yaml/v4"
)

// Bounds of a file of criteria: far more than anybody writes by hand.
const (
	maxCriteriaFile = 1 << 20
	maxCriteria     = 200
	maxNodes        = 64  // of a graph
	maxItems        = 100 // of a list
)

// Load reads metrics that a user describes in a file of YAML or JSON: a mapping from names
// ("tone/polite") to criteria, each of one kind. docs/criteria.md tells them all. File is what errors call
// the file; they give the line, and all that is wrong is said at once.
//
// A name that is taken, by a built-in metric, say, a key that the kind does not know, a graph that does not end: all
// are errors, so that nothing in the file is passed over.
func Load(file string, text []byte, taken func(name string) bool) ([]metrics.Metric, error) {
	if len(text) > maxCriteriaFile {
		return nil, fmt.Errorf("%s: %d bytes are too many for a file of criteria", file, len(text))
	}
	if err := backend.CheckText(string(text)); err != nil {
		return nil, fmt.Errorf("%s: %v", file, err)
	}
	var documents []yaml.Node
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments()); err != nil {
		return nil, fmt.Errorf("%s: %v", file, err)
	}
	if len(documents) != 1 || len(documents[0].Content) != 1 {
		return nil, fmt.Errorf("%s: want one document with criteria, and there are %d", file, len(documents))
	}
	document, c := documents[0], &criteriaFile{file: file, taken: taken}
	if err := c.plain(document.Content[0]); err != nil {
		return nil, err
	}
	entries, err := c.mapping(document.Content[0], "the file")
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 || len(entries) > maxCriteria {
		return nil, fmt.Errorf("%s: %d criteria: want 1 to %d", file, len(entries), maxCriteria)
	}
	var list []metrics.Metric
	var errs []error
	for _, e := range entries {
		m, err := c.criterion(e)
		list, errs = append(list, m), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return list, nil
}

// Parse makes a metric of "NAME: words", a criterion about question and answer as in a file that says no more. A name
// without a dimension is one of the dimension "criteria".
func Parse(text string, taken func(name string) bool) (metrics.Metric, error) {
	name, words, ok := strings.Cut(text, ":")
	name, words = strings.TrimSpace(name), strings.TrimSpace(words)
	if !ok || words == "" {
		return metrics.Metric{}, fmt.Errorf("criterion %q: want \"NAME: what the answer should be like\"", text)
	}
	if !strings.Contains(name, "/") {
		name = "criteria/" + name
	}
	if err := checkName(name, taken); err != nil {
		return metrics.Metric{}, fmt.Errorf("criterion %q: %v", text, err)
	}
	if err := backend.CheckText(words); err != nil {
		return metrics.Metric{}, fmt.Errorf("criterion %q: %v", name, err)
	}
	f := described(frame{name: name, show: defaultShow, hi: 1}, words)
	return scoreMetric(f, words, nil, false, lowestScore, highestScore), nil
}

// The scale of a criterion that names none.
const lowestScore, highestScore = 1, 5

var defaultShow = []string{"question", "answer"}

var criterionName = regexp.MustCompile(`^[a-z0-9_.-]+/[a-z0-9_.-]+$`)

func checkName(name string, taken func(name string) bool) error {
	if !criterionName.MatchString(name) || len(name) > 100 {
		return fmt.Errorf("%q is no name for a metric: want dimension/method in small letters, such as tone/polite",
			metrics.Bounded(name))
	}
	if taken(name) {
		return fmt.Errorf("%s is a metric already: choose another name", name)
	}
	return nil
}

// A criteriaFile reads the nodes of a file and says where errors are.
type criteriaFile struct {
	file string
	name string // of the criterion being read

	taken func(name string) bool // whether a metric has the name already
}

func (c *criteriaFile) fail(n *yaml.Node, format string, args ...any) error {
	at := fmt.Sprintf("%s:%d: ", c.file, n.Line)
	if c.name != "" {
		at += c.name + ": "
	}
	return errors.New(at + fmt.Sprintf(format, args...))
}

// plain refuses what YAML has and JSON has not: anchors, aliases, merge keys and tags. None is needed, and
// with them a small file can stand for a huge one.
func (c *criteriaFile) plain(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return c.fail(n, "anchors and aliases are not read here: write it out")
	case n.Style&yaml.TaggedStyle != 0 || n.ShortTag() == "!!merge":
		return c.fail(n, "tags and merge keys are not read here")
	}
	for _, inner := range n.Content {
		if err := c.plain(inner); err != nil {
			return err
		}
	}
	return nil
}

// A criterionEntry is one key of a mapping and its value.
type criterionEntry struct {
	key  string
	at   *yaml.Node // the key
	node *yaml.Node // the value
}

func (c *criteriaFile) mapping(n *yaml.Node, what string) ([]criterionEntry, error) {
	if n.Kind != yaml.MappingNode {
		return nil, c.fail(n, "%s must be a mapping (KEY: VALUE)", what)
	}
	var entries []criterionEntry
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, c.fail(key, "a key must be a word")
		}
		if seen[key.Value] {
			return nil, c.fail(key, "%q stands there twice", metrics.Bounded(key.Value))
		}
		seen[key.Value] = true
		entries = append(entries, criterionEntry{key.Value, key, n.Content[i+1]})
	}
	return entries, nil
}

// criterionKinds gives the kinds of criteria, and the keys that each knows beside its own.
func criterionKinds() map[string][]string {
	judged := []string{"show", "windows"}
	return map[string][]string{
		"criterion":    append(judged, "range", "steps", "scale"),
		"question":     append(judged, "range"),
		"rubric":       judged,
		"graph":        {"show"},
		"contains":     {"of", "ignore_case"},
		"contains_any": {"of", "ignore_case"},
		"contains_all": {"of", "ignore_case"},
		"regex":        {"of"},
		"json":         {"of"},
		"json_schema":  {"of"},
		"min_words":    {"of"},
		"max_words":    {"of"},
	}
}

// criterion reads one criterion.
func (c *criteriaFile) criterion(e criterionEntry) (metrics.Metric, error) {
	c.name = e.key
	if err := checkName(e.key, c.taken); err != nil {
		c.name = ""
		return metrics.Metric{}, c.fail(e.at, "%v", err)
	}
	entries, err := c.mapping(e.node, "a criterion")
	if err != nil {
		return metrics.Metric{}, err
	}
	kind := ""
	for _, part := range entries {
		if _, ok := criterionKinds()[part.key]; !ok {
			continue
		}
		if kind != "" {
			return metrics.Metric{}, c.fail(part.at, "both %s and %s: a criterion is of one kind", kind, part.key)
		}
		kind = part.key
	}
	keys := make(map[string]*yaml.Node)
	for _, part := range entries {
		known := slices.Concat([]string{kind, "doc", "lower_is_better"}, criterionKinds()[kind])
		if kind == "" {
			known = slices.Sorted(maps.Keys(criterionKinds()))
		}
		if !slices.Contains(known, part.key) {
			return metrics.Metric{}, c.unknown(part, kind, known)
		}
		keys[part.key] = part.node
	}
	if kind == "" {
		return metrics.Metric{}, c.fail(e.at, "no kind: want one of %s",
			strings.Join(slices.Sorted(maps.Keys(criterionKinds())), ", "))
	}
	return c.build(e, kind, keys)
}

func (c *criteriaFile) unknown(part criterionEntry, kind string, known []string) error {
	hint := ""
	if near := tokenize.Nearest(part.key, known); near != "" {
		hint = fmt.Sprintf("did you mean %s? ", near)
	}
	if kind != "" {
		kind += " "
	}
	return c.fail(part.at, "unknown key %q: %sa %scriterion has %s", metrics.Bounded(part.key), hint, kind,
		strings.Join(slices.DeleteFunc(known, func(k string) bool { return k == "" }), ", "))
}

// build makes the metric of a criterion whose keys are known.
func (c *criteriaFile) build(e criterionEntry, kind string, keys map[string]*yaml.Node) (metrics.Metric, error) {
	f := frame{name: e.key, hi: 1}
	var err error
	if f.lower, err = c.truth(keys["lower_is_better"]); err != nil {
		return metrics.Metric{}, err
	}
	if n := keys["doc"]; n != nil {
		if f.doc, err = c.text(n); err != nil {
			return metrics.Metric{}, err
		}
		f.doc = inOneLine(f.doc)
	}
	if f.show, err = c.shown(kind, keys); err != nil {
		return metrics.Metric{}, err
	}
	if f.windows, err = c.windows(keys["windows"], f.show); err != nil {
		return metrics.Metric{}, err
	}
	if n := keys["range"]; n != nil {
		if f.lo, f.hi, err = c.span(n); err != nil {
			return metrics.Metric{}, err
		}
	}
	var m metrics.Metric
	switch value := keys[kind]; kind {
	case "criterion":
		m, err = c.score(f, value, keys)
	case "question":
		var text string
		if text, err = c.text(value); err == nil {
			m = questionMetric(described(f, text), text)
		}
	case "rubric":
		var levels []rubricLevel
		if levels, err = c.levels(value); err == nil {
			m = rubricMetric(described(f, "level, by a rubric of "+strconv.Itoa(len(levels))), levels)
		}
	case "graph":
		var g decisionGraph
		if g, err = c.graph(value); err == nil {
			m = graphMetric(described(f, "score, by "+strconv.Itoa(len(g.nodes))+" questions"), g)
		}
	default:
		m, err = c.check(f, kind, value, keys["ignore_case"])
	}
	return m, err
}

// described gives f the doc if it has none.
func described(f frame, doc string) frame {
	if f.doc == "" {
		f.doc = inOneLine(cmp.Or(strings.TrimSuffix(doc, "."), doc))
	}
	return f
}

// score reads what belongs to a criterion in words.
func (c *criteriaFile) score(f frame, value *yaml.Node, keys map[string]*yaml.Node) (metrics.Metric, error) {
	words, err := c.text(value)
	if err != nil {
		return metrics.Metric{}, err
	}
	lowest, highest := lowestScore, highestScore
	if n := keys["scale"]; n != nil {
		switch n.Value {
		case "1-5":
		case "0-10":
			lowest, highest = 0, 10
		default:
			return metrics.Metric{}, c.fail(n, "scale is 1-5 or 0-10")
		}
	}
	var steps []string
	own := false // the judge's
	if n := keys["steps"]; n != nil {
		if own = n.Kind == yaml.ScalarNode && n.Value == "judge"; !own {
			if n.Kind != yaml.SequenceNode {
				return metrics.Metric{}, c.fail(n, "steps are a list, or the word judge: then the judge writes them")
			}
			if steps, err = c.list(n); err != nil {
				return metrics.Metric{}, err
			}
		}
	}
	return scoreMetric(described(f, words), words, steps, own, lowest, highest), nil
}

// text reads a text that says something.
func (c *criteriaFile) text(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || metrics.Blank(n.Value) {
		return "", c.fail(n, "want a text here")
	}
	return strings.TrimSpace(n.Value), nil
}

// list reads a list of texts, or one text.
func (c *criteriaFile) list(n *yaml.Node) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		text, err := c.text(n)
		return []string{text}, err
	}
	if len(n.Content) == 0 || len(n.Content) > maxItems {
		return nil, c.fail(n, "a list of %d: want 1 to %d", len(n.Content), maxItems)
	}
	var list []string
	for _, item := range n.Content {
		text, err := c.text(item)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

// truth reads true or false; a key that is not there is false.
func (c *criteriaFile) truth(n *yaml.Node) (bool, error) {
	switch {
	case n == nil:
		return false, nil
	case n.ShortTag() == "!!bool":
		return strings.EqualFold(n.Value, "true"), nil
	}
	return false, c.fail(n, "want true or false")
}

func (c *criteriaFile) number(n *yaml.Node) (float64, error) {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(v) || math.Abs(v) > 1e9 {
		return 0, c.fail(n, "want a number")
	}
	return v, nil
}

// span reads a range, "[0, 10]".
func (c *criteriaFile) span(n *yaml.Node) (lo, hi float64, err error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		return 0, 0, c.fail(n, "a range is two numbers, such as [0, 10]")
	}
	if lo, err = c.number(n.Content[0]); err != nil {
		return 0, 0, err
	}
	if hi, err = c.number(n.Content[1]); err != nil {
		return 0, 0, err
	}
	if lo >= hi {
		return 0, 0, c.fail(n, "the range is from %v to %v: want the lower end first; lower_is_better turns the "+
			"direction", lo, hi)
	}
	return lo, hi, nil
}

// shown reads which texts the judge is shown ("show"), or which one is checked ("of").
func (c *criteriaFile) shown(kind string, keys map[string]*yaml.Node) ([]string, error) {
	n, names := keys["show"], defaultShow
	checked := slices.Contains(criterionKinds()[kind], "of")
	if checked {
		n, names = keys["of"], []string{"answer"}
	}
	if n == nil {
		return names, nil
	}
	names, err := c.list(n)
	if err != nil {
		return nil, err
	}
	known := slices.Sorted(maps.Keys(shownFields))
	for i, name := range names {
		switch {
		case slices.Contains(names[:i], name):
			return nil, c.fail(n, "%q stands there twice", metrics.Bounded(name))
		case strings.HasPrefix(name, columnPrefix) && len(name) > len(columnPrefix):
		case !slices.Contains(known, name):
			return nil, c.fail(n, "unknown text %q: want %s or %sNAME for another column", metrics.Bounded(name),
				strings.Join(known, ", "), columnPrefix)
		}
	}
	if checked && len(names) != 1 {
		return nil, c.fail(n, "of names one text")
	}
	return names, nil
}

func (c *criteriaFile) windows(n *yaml.Node, show []string) (string, error) {
	switch {
	case n == nil:
		return "", nil
	case n.Value != "max" && n.Value != "min" && n.Value != "mean":
		return "", c.fail(n, "windows is max, min or mean")
	case !slices.Contains(show, "contexts") && !slices.Contains(show, "answer"):
		return "", c.fail(n, "windows are of the contexts or the answer, and neither is shown")
	}
	return n.Value, nil
}

// levels reads a rubric.
func (c *criteriaFile) levels(n *yaml.Node) ([]rubricLevel, error) {
	entries, err := c.mapping(n, "a rubric")
	if err != nil {
		return nil, err
	}
	if len(entries) < 2 {
		return nil, c.fail(n, "a rubric has at least two levels")
	}
	var levels []rubricLevel
	for _, e := range entries {
		if len(e.key) != 1 || e.key < "0" || e.key > "9" {
			return nil, c.fail(e.at, "level %q: levels are numbers from 0 to 9, which the judge's first word tells "+
				"apart", metrics.Bounded(e.key))
		}
		text, err := c.text(e.node)
		if err != nil {
			return nil, err
		}
		levels = append(levels, rubricLevel{int(e.key[0] - '0'), text})
	}
	slices.SortFunc(levels, func(a, b rubricLevel) int { return a.Number - b.Number })
	return levels, nil
}
