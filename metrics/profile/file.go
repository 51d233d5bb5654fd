package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"go.yaml.in/yaml/v4"
)

// Bounds of a file: far more than anybody writes by hand.
const (
	maxFile  = 256 << 10
	maxItems = 100 // of a list
)

// Load reads a profile. File is what errors call it; they give the line, and all that is wrong is said at once. A key
// that is not known is an error, so that nothing in the file is passed over.
func Load(file string, text []byte) (*Profile, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: %d bytes are too many for a profile", file, len(text))
	}
	if err := backend.CheckText(string(text)); err != nil {
		return nil, fmt.Errorf("%s: %v", file, err)
	}
	var documents []yaml.Node
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments()); err != nil {
		return nil, fmt.Errorf("%s: %v", file, err)
	}
	if len(documents) != 1 || len(documents[0].Content) != 1 || documents[0].Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: want one mapping (KEY: VALUE) that describes a judge", file)
	}
	if err := plain(documents[0].Content[0]); err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	var f profileFile
	if err := documents[0].Load(&f, yaml.WithKnownFields()); err != nil {
		return nil, fmt.Errorf("%s: %v", file, err)
	}
	sum := sha256.Sum256(text)
	p, errs := f.profile()
	if len(errs) > 0 {
		for i, err := range errs {
			errs[i] = fmt.Errorf("%s:%w", file, err)
		}
		return nil, errors.Join(errs...)
	}
	p.Digest, p.Text = "sha256:"+hex.EncodeToString(sum[:]), string(text)
	return p, nil
}

// plain refuses what YAML has and JSON has not: anchors, aliases, merge keys and tags. None is needed, and with them a
// small file can stand for a huge one. It refuses keys that stand twice, too.
func plain(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fmt.Errorf("%d: anchors and aliases are not read here: write it out", n.Line)
	case n.Style&yaml.TaggedStyle != 0 || n.ShortTag() == "!!merge":
		return fmt.Errorf("%d: tags and merge keys are not read here", n.Line)
	}
	seen := make(map[string]bool)
	for i, inner := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if inner.Kind != yaml.ScalarNode {
				return fmt.Errorf("%d: a key must be a word", inner.Line)
			}
			if seen[inner.Value] {
				return fmt.Errorf("%d: %.40q stands there twice", inner.Line, inner.Value)
			}
			seen[inner.Value] = true
		}
		if err := plain(inner); err != nil {
			return err
		}
	}
	return nil
}

// A profileFile is a file as it is written.
type profileFile struct {
	Name     word   `yaml:"name"`
	Doc      word   `yaml:"doc"`
	Models   []word `yaml:"models"`
	Labels   []word `yaml:"labels"`
	Licence  word   `yaml:"licence"`
	Citation word   `yaml:"citation"`
	Source   word   `yaml:"source"`
	Form     word   `yaml:"form"`
	Seen     word   `yaml:"seen"`

	formFile   `yaml:",inline"`
	Dimensions dimensions `yaml:"dimensions"`
	Read       readFile   `yaml:"read"`
}

// A formFile is what the model is shown. A dimension may have its own.
type formFile struct {
	Chat      []messageFile `yaml:"chat"`
	Documents bool          `yaml:"documents"` // the contexts are the chat template's documents
	Text      word          `yaml:"text"`
	First     word          `yaml:"first"`
	Second    word          `yaml:"second"`

	Context word   `yaml:"context"` // how one of several contexts is written
	Between *word  `yaml:"between"` // stands between contexts
	Level   word   `yaml:"level"`   // how a level of a rubric is written
	Each    word   `yaml:"each"`    // "sentence", "context" or "": the whole
	Combine word   `yaml:"combine"` // over sentences or contexts: "mean", "min", "max"
	Windows word   `yaml:"windows"` // over windows of the contexts, likewise
	Words   number `yaml:"words"`   // of a window, at most
	Replies number `yaml:"max_tokens"`
}

// A dimensionFile is what one of several dimensions has of its own.
type dimensionFile struct {
	Doc      word   `yaml:"doc"`
	Criteria word   `yaml:"criteria"`
	Rubric   values `yaml:"rubric"`
	formFile `yaml:",inline"`
}

// dimensions are in the order of the file.
type dimensions []struct {
	name word
	file dimensionFile
}

func (d *dimensions) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: dimensions are a mapping, from a name to what is its own", n.Line)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		entry := struct {
			name word
			file dimensionFile
		}{name: word{n.Content[i].Value, n.Content[i].Line}}
		if value := n.Content[i+1]; value.ShortTag() != "!!null" {
			if err := value.Load(&entry.file, yaml.WithKnownFields()); err != nil {
				return err
			}
		}
		*d = append(*d, entry)
	}
	return nil
}

// A readFile says how the answer is read. One of its fields is set.
type readFile struct {
	Choice      values      `yaml:"choice"`
	Reply       *replyFile  `yaml:"reply"`
	Sigmoid     *outputFile `yaml:"sigmoid"`
	Softmax     *outputFile `yaml:"softmax"`
	Probability *outputFile `yaml:"probability"`
	Reward      *rewardFile `yaml:"reward"`
	Spans       *outputFile `yaml:"spans"`
	Invert      bool        `yaml:"invert"`
	line        int
}

// A plainReadFile is a readFile without its method.
type plainReadFile readFile

func (r *readFile) UnmarshalYAML(n *yaml.Node) error {
	err := n.Load((*plainReadFile)(r), yaml.WithKnownFields())
	r.line = n.Line
	return err
}

type replyFile struct {
	After word     `yaml:"after"`
	Tag   word     `yaml:"tag"`
	JSON  word     `yaml:"json"`
	Words values   `yaml:"words"`
	Scale []number `yaml:"scale"`
}

type outputFile struct {
	Labels    []word `yaml:"labels"`
	Output    number `yaml:"output"`
	Threshold number `yaml:"threshold"`
}

type rewardFile struct {
	Centre number   `yaml:"centre"`
	Width  number   `yaml:"width"`
	Range  []number `yaml:"range"`
}

// A word is a scalar and its line.
type word struct {
	text string
	line int
}

func (w *word) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return fmt.Errorf("line %d: want a text", n.Line)
	}
	*w = word{n.Value, n.Line}
	return nil
}

// A number is a number and its line, 0 where there is none.
type number struct {
	value float64
	line  int
}

func (m *number) UnmarshalYAML(n *yaml.Node) error {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(v) || math.Abs(v) > 1e9 {
		return fmt.Errorf("line %d: %.40q is no number", n.Line, n.Value)
	}
	*m = number{v, n.Line}
	return nil
}

// values are a mapping whose keys or values are numbers, in the order of the file.
type values []keyed

// keyed is a key with its value, of which a number is read where the key or the value is to be one.
type keyed struct {
	key, value string
	line       int
}

func (v *values) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want a mapping", n.Line)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if value.Kind != yaml.ScalarNode || value.ShortTag() == "!!null" {
			return fmt.Errorf("line %d: %.40q has no value", key.Line, key.Value)
		}
		*v = append(*v, keyed{key.Value, value.Value, key.Line})
	}
	return nil
}

// profileName is how profiles and dimensions are called: what makes the names of metrics.
var profileName = regexp.MustCompile(`^[a-z0-9_.-]{1,60}$`)

// A checker gathers what is wrong with a file.
type checker struct{ errs []error }

func (c *checker) fail(line int, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%d: %s", line, fmt.Sprintf(format, args...)))
}

// oneOf refuses a word that is none of a few.
func (c *checker) oneOf(what string, w word, otherwise string, allowed ...string) string {
	if w.line == 0 {
		return otherwise
	}
	if !slices.Contains(allowed, w.text) {
		c.fail(w.line, "%s is %.40q: want one of %s", what, w.text, strings.Join(allowed, ", "))
	}
	return w.text
}

// profile checks a file and makes the profile of it, but for its text.
func (f *profileFile) profile() (*Profile, []error) {
	c := &checker{}
	p := &Profile{Name: f.Name.text, Doc: f.Doc.text, Licence: f.Licence.text, Citation: f.Citation.text,
		Source: f.Source.text, Form: f.Form.text, Seen: f.Seen.text}
	if !profileName.MatchString(p.Name) {
		c.fail(max(1, f.Name.line), "name is %.40q: want small letters, digits and -, such as my-judge", p.Name)
	}
	if len(f.Models) > maxItems || len(f.Labels) > maxItems || len(f.Dimensions) > maxItems {
		c.fail(1, "more than %d models, labels or dimensions", maxItems)
		return nil, c.errs
	}
	for _, m := range f.Models {
		if _, err := path.Match(m.text, "name"); err != nil || m.text != strings.ToLower(m.text) || m.text == "" {
			c.fail(m.line, "%.40q is no pattern of a model's name: want small letters and *, such as hhem-2.1*", m.text)
		}
		p.Models = append(p.Models, m.text)
	}
	for _, l := range f.Labels {
		p.Labels = append(p.Labels, l.text)
	}
	read := c.reading(&f.Read)
	if len(f.Dimensions) == 0 {
		c.fail(1, "no dimensions: want what the model judges, such as faithfulness")
	}
	for _, d := range f.Dimensions {
		j := c.judge(f, d.name, &d.file, read)
		p.judges = append(p.judges, j)
		if len(c.errs) == 0 && j.role() != p.judges[0].role() {
			c.fail(d.name.line, "%s asks a %s, and %s a %s: make two profiles", j.dimension, j.role(),
				p.judges[0].dimension, p.judges[0].role())
		}
	}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return p, nil
}

// merge fills what a dimension leaves open with what the file says for all.
func (f formFile) merge(all formFile) formFile {
	if f.Chat == nil && f.Text.line == 0 && f.First.line == 0 && f.Second.line == 0 {
		f.Chat, f.Documents, f.Text, f.First, f.Second = all.Chat, all.Documents, all.Text, all.First, all.Second
	}
	for _, pair := range []struct{ own, all *word }{{&f.Context, &all.Context}, {&f.Level, &all.Level},
		{&f.Each, &all.Each}, {&f.Combine, &all.Combine}, {&f.Windows, &all.Windows}} {
		if pair.own.line == 0 {
			*pair.own = *pair.all
		}
	}
	if f.Between == nil {
		f.Between = all.Between
	}
	if f.Words.line == 0 {
		f.Words = all.Words
	}
	if f.Replies.line == 0 {
		f.Replies = all.Replies
	}
	return f
}

// judge makes what judges one dimension.
func (c *checker) judge(f *profileFile, name word, d *dimensionFile, read reading) judge {
	form := d.formFile.merge(f.formFile)
	j := judge{profile: f.Name.text, dimension: name.text, doc: d.Doc.text, read: read, criteria: d.Criteria.text,
		documents: form.Documents, between: "\n\n", line: name.line}
	if !profileName.MatchString(j.dimension) {
		c.fail(name.line, "%.40q is no name for a dimension: want small letters and _, such as faithfulness",
			j.dimension)
	}
	if j.doc == "" {
		j.doc = f.Doc.text
	}
	if metrics.Blank(j.doc) {
		c.fail(name.line, "%s has no doc: say in a line what the model says", j.dimension)
	}
	j.each = c.oneOf("each", form.Each, "", "sentence", "context")
	j.combine = c.oneOf("combine", form.Combine, "mean", "mean", "min", "max")
	j.windows = c.oneOf("windows", form.Windows, "max", "mean", "min", "max")
	if form.Between != nil {
		j.between = form.Between.text
	}
	if j.words = int(form.Words.value); form.Words.line > 0 && (j.words < 16 || float64(j.words) != form.Words.value) {
		c.fail(form.Words.line, "words is %v: want a whole number from 16 on", form.Words.value)
	}
	j.maxTokens = 1024
	if n := form.Replies; n.line > 0 {
		if j.maxTokens = int(n.value); j.maxTokens < 1 || j.maxTokens > 1<<20 || float64(j.maxTokens) != n.value {
			c.fail(n.line, "max_tokens is %v: want a whole number from 1 on", n.value)
		}
	}
	j.context = c.item(form.Context, "{{text}}")
	level := c.item(form.Level, "{{number}}: {{text}}")
	c.form(&j, form)
	j.rubric = c.rubric(level, d.Rubric)
	c.together(&j)
	return j
}

// item reads the template of one of several texts.
func (c *checker) item(w word, otherwise string) template {
	if w.line == 0 {
		w.text = otherwise
	}
	t, err := parseTemplate(w.text, itemVariables())
	switch {
	case err != nil:
		c.fail(w.line, "%v", err)
	case !t.uses("text") || t.marked():
		c.fail(w.line, "want a template with {{text}} in it, and no special tokens")
	}
	return t
}

// rubric writes a rubric's levels, which are numbered by their keys.
func (c *checker) rubric(level template, levels values) string {
	if len(levels) > maxItems {
		c.fail(levels[0].line, "a rubric of %d levels is too long", len(levels))
		return ""
	}
	var lines []string
	for _, l := range levels {
		line, _ := level.fill(map[string]string{"number": l.key, "text": l.value})
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// A messageFile is a message of a chat, a mapping from its role to its template.
type messageFile struct {
	role string
	text word
}

func (m *messageFile) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 || n.Content[1].Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: a message is ROLE: TEXT, the role system, user or assistant", n.Line)
	}
	*m = messageFile{n.Content[0].Value, word{n.Content[1].Value, n.Content[0].Line}}
	return nil
}

// form reads the templates of what is shown: a chat, one text or a pair.
func (c *checker) form(j *judge, f formFile) {
	parse := func(w word) template {
		t, err := parseTemplate(w.text, variables())
		if err != nil {
			c.fail(w.line, "%v", err)
		}
		return t
	}
	kinds := 0
	if f.Chat != nil {
		kinds++
		for i, m := range f.Chat {
			role := backend.Speaker(m.role)
			if role != backend.System && role != backend.User && role != backend.Assistant {
				c.fail(m.text.line, "a message of %.40q: want system, user or assistant", m.role)
			}
			if role != backend.User && i == len(f.Chat)-1 {
				c.fail(m.text.line, "the last message is the user's")
			}
			j.chat = append(j.chat, message{role, parse(m.text)})
		}
	}
	if f.Text.line > 0 {
		kinds++
		j.text = parse(f.Text)
	}
	if f.First.line > 0 || f.Second.line > 0 {
		kinds++
		j.first, j.second = parse(f.First), parse(f.Second)
		if f.First.line == 0 || f.Second.line == 0 {
			c.fail(f.First.line+f.Second.line, "a pair has a first and a second")
		}
		if j.first.marked() || j.second.marked() {
			c.fail(f.First.line, "special tokens are for a text: the model's own stand between those of a pair")
		}
	}
	switch {
	case kinds != 1:
		c.fail(j.line, "%s has %d forms: want a chat, a text, or first and second", j.dimension, kinds)
	case f.Documents && f.Chat == nil:
		c.fail(j.line, "documents are for a chat")
	}
}

// together refuses what does not go together.
func (c *checker) together(j *judge) {
	used := func(variable string) bool {
		return slices.ContainsFunc(j.templates(), func(t template) bool { return t.uses(variable) })
	}
	contexts := used("contexts") || j.documents
	switch {
	case len(c.errs) > 0:
	case j.chat != nil && j.read.choice == nil && j.read.reply == nil:
		c.fail(j.line, "%s is a chat: read is a choice or a reply", j.dimension)
	case j.chat == nil && (j.read.choice != nil || j.read.reply != nil):
		c.fail(j.line, "%s is no chat: read is of what an encoder says, not a choice or a reply", j.dimension)
	case used("sentence") != (j.each == "sentence"):
		c.fail(j.line, "each: sentence and {{sentence}} go together")
	case j.each == "context" && !contexts:
		c.fail(j.line, "each: context goes together with {{contexts}}")
	case used("criteria") != (j.criteria != ""):
		c.fail(j.line, "{{criteria}} and the criteria of %s go together", j.dimension)
	case used("rubric") != (j.rubric != ""):
		c.fail(j.line, "{{rubric}} and the rubric of %s go together", j.dimension)
	case j.read.spans != nil && (j.each != "" || j.read.invert || j.spanTemplate() == nil):
		c.fail(j.line, "spans are of {{answer}}, which is all that second, or text, shows, and of the whole")
	case j.words > 0 && !contexts:
		c.fail(j.line, "words are those of a window of the contexts, which are not shown")
	}
}

// reading checks how the answer is read.
func (c *checker) reading(f *readFile) reading {
	r := reading{invert: f.Invert, hi: 1}
	line := max(1, f.line)
	kinds := 0
	for _, set := range []bool{f.Choice != nil, f.Reply != nil, f.Sigmoid != nil, f.Softmax != nil,
		f.Probability != nil, f.Reward != nil, f.Spans != nil} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		c.fail(line, "read has %d kinds: want one of choice, reply, sigmoid, softmax, probability, reward, spans", kinds)
	case f.Choice != nil:
		r.choice, r.lo, r.hi = c.words(f.Choice)
		if len(r.choice) == 1 {
			c.fail(line, "a choice of one word is none")
		}
	case f.Reply != nil:
		c.reply(&r, f.Reply, line)
	case f.Reward != nil:
		c.reward(&r, f.Reward, line)
	case f.Spans != nil:
		r.spans = &spanReader{headReader: c.output(f.Spans, "spans"), threshold: 0.5}
		if t := f.Spans.Threshold; t.line > 0 {
			r.spans.threshold = t.value
			if !(t.value > 0 && t.value <= 1) {
				c.fail(t.line, "threshold is %v: want a probability above 0", t.value)
			}
		}
	case f.Sigmoid != nil:
		h := c.output(f.Sigmoid, "sigmoid")
		r.head = &h
	case f.Softmax != nil:
		h := c.output(f.Softmax, "softmax")
		r.head = &h
	default:
		h := c.output(f.Probability, "probability")
		r.head = &h
	}
	return r
}

// words reads what each of several words is worth, and the range of that.
func (c *checker) words(v values) (list []valued, lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	if len(v) == 0 || len(v) > maxItems {
		return nil, 0, 1
	}
	for _, w := range v {
		x, err := strconv.ParseFloat(w.value, 64)
		if err != nil || math.IsNaN(x) || math.Abs(x) > 1e9 || strings.TrimSpace(w.key) == "" {
			c.fail(w.line, "%.40q is worth %.40q: want a word and a number", w.key, w.value)
			continue
		}
		list = append(list, valued{w.key, x})
		lo, hi = min(lo, x), max(hi, x)
	}
	if !(lo < hi) {
		c.fail(v[0].line, "all words are worth the same")
	}
	return list, lo, hi
}

// reply reads where a verdict stands and what it may be.
func (c *checker) reply(r *reading, f *replyFile, line int) {
	r.reply = &replyReader{after: f.After.text, tag: f.Tag.text, key: f.JSON.text}
	places := 0
	for _, w := range []word{f.After, f.Tag, f.JSON} {
		if w.line == 0 {
			continue
		}
		places++
		if strings.TrimSpace(w.text) == "" || strings.ContainsAny(f.Tag.text, "<> \t\n") {
			c.fail(w.line, "%.40q is nothing to look for in a reply", w.text)
		}
	}
	if places != 1 || (f.Words != nil) == (f.Scale != nil) {
		c.fail(line, "a reply has one of after, tag and json, and one of words and scale")
		return
	}
	if f.Words != nil {
		r.reply.words, r.lo, r.hi = c.words(f.Words)
		return
	}
	r.lo, r.hi = c.scale("scale", f.Scale, line)
	r.reply.lowest, r.reply.highest = r.lo, r.hi
}

// scale reads two ends.
func (c *checker) scale(what string, ends []number, line int) (lo, hi float64) {
	if len(ends) != 2 || !(ends[0].value < ends[1].value) {
		c.fail(line, "%s is two numbers, the lower one first: [1, 5]", what)
		return 0, 1
	}
	return ends[0].value, ends[1].value
}

// reward reads how an unbounded number becomes a value.
func (c *checker) reward(r *reading, f *rewardFile, line int) {
	r.head = &headReader{kind: "reward", centre: f.Centre.value, width: 1}
	if f.Width.line > 0 {
		r.head.width = f.Width.value
	}
	switch {
	case f.Range != nil && (f.Centre.line > 0 || f.Width.line > 0):
		c.fail(line, "a reward has a range, or a centre and a width")
	case f.Range != nil:
		r.head.width = 0
		r.lo, r.hi = c.scale("range", f.Range, line)
	case !(r.head.width > 0):
		c.fail(f.Width.line, "width is %v: want a number above 0", f.Width.value)
	}
}

// output reads which of a head's numbers counts.
func (c *checker) output(f *outputFile, kind string) headReader {
	h := headReader{kind: kind, output: int(f.Output.value)}
	if f.Labels != nil && f.Output.line == 0 {
		h.output = -1 // only the labels tell
	}
	if n := f.Output; n.line > 0 && (n.value < 0 || n.value > 1000 || float64(int(n.value)) != n.value) {
		c.fail(n.line, "output is %v: want a number from 0 on", n.value)
	}
	if len(f.Labels) > maxItems {
		c.fail(f.Labels[0].line, "%d labels are too many", len(f.Labels))
		return h
	}
	for _, l := range f.Labels {
		h.labels = append(h.labels, l.text)
	}
	if kind != "spans" && f.Threshold.line > 0 {
		c.fail(f.Threshold.line, "a threshold is for spans")
	}
	return h
}
