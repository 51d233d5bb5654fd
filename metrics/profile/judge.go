package profile

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// A judge is what a profile says about one dimension.
type judge struct {
	profile, dimension, doc string
	line                    int // in the file

	chat          []message // one of the three forms: a chat,
	text          template  // one text,
	first, second template  // or a pair
	documents     bool      // the contexts are the documents of the chat's template

	context          template // of one of several contexts
	between          string   // them
	criteria, rubric string

	each      string // "sentence", "context" or "": the whole
	combine   string // over those: "mean", "min", "max"
	windows   string // over windows of the contexts, likewise
	words     int    // of a window, at most; 0: as many as the model reads
	maxTokens int    // of a reply
	read      reading
}

// A message is one message of a chat.
type message struct {
	role backend.Speaker
	text template
}

func (j *judge) role() backend.Role {
	if j.chat != nil {
		return backend.Judge
	}
	return backend.Encoder
}

// templates are all that is shown.
func (j *judge) templates() []template {
	list := []template{j.text, j.first, j.second}
	for _, m := range j.chat {
		list = append(list, m.text)
	}
	return list
}

// spanTemplate is the template whose tokens are labelled, nil if it shows more than the answer: the places of spans are
// places in the answer.
func (j *judge) spanTemplate() template {
	t := j.second
	if t == nil {
		t = j.text
	}
	if len(t) != 1 || !t.uses("answer") {
		return nil
	}
	return t
}

func (j *judge) uses(variable string) bool {
	return slices.ContainsFunc(j.templates(), func(t template) bool { return t.uses(variable) })
}

// asks is what the model must be able to do.
func (j *judge) asks() backend.Ops {
	var ops backend.Ops
	switch {
	case j.read.choice != nil:
		ops = backend.CanChoose
	case j.read.reply != nil:
		ops = backend.CanGenerate
	case j.read.spans != nil:
		ops = backend.CanLabelTokens
	default:
		ops = backend.CanClassify
	}
	if j.documents {
		ops |= backend.CanReadDocuments
	}
	if slices.ContainsFunc(j.templates(), template.marked) {
		ops |= backend.CanMark
	}
	return ops
}

// needs are the columns that a sample must fill.
func (j *judge) needs() metrics.Field {
	var f metrics.Field
	for variable, field := range map[string]metrics.Field{"question": metrics.Question, "answer": metrics.Answer,
		"sentence": metrics.Answer, "contexts": metrics.Contexts, "reference": metrics.References} {
		if j.uses(variable) {
			f |= field
		}
	}
	if j.documents {
		f |= metrics.Contexts
	}
	return f
}

// Metrics are the profile's metrics, one for each dimension.
func (p *Profile) Metrics() []metrics.Metric {
	var list []metrics.Metric
	for i := range p.judges {
		list = append(list, p.judges[i].metric(p))
	}
	return list
}

func (j *judge) metric(p *Profile) metrics.Metric {
	return metrics.Metric{
		Name: j.dimension + "/" + p.Name, Doc: j.doc, Source: p.Citation, Formula: j.formula(), Calls: j.calls(),
		Min: j.read.lo, Max: j.read.hi, Needs: j.needs(), Turns: metrics.TurnsAsked,
		Asks: metrics.Asks{j.role(): j.asks()},
		// The file stands in for a prompt: a run records its digest, and assay metrics NAME shows it.
		Prompts: []*prompts.Prompt{{Name: "profile " + p.Name, Digest: p.Digest, Text: p.Text}},
		Fits:    j.fits,
		Score:   j.score,
	}
}

// fits reports why a model that can do what is asked will not do.
func (j *judge) fits(role backend.Role, info backend.Info) error {
	if role != j.role() {
		return nil
	}
	return j.read.fits(info)
}

// formula says how the value comes about.
func (j *judge) formula() string {
	what := ""
	switch r := &j.read; {
	case r.choice != nil:
		what = "expectation over the probabilities of " + listed(r.choice)
	case r.reply != nil:
		what = "what the reply states " + r.reply.where()
		if r.reply.words != nil {
			what += ": " + listed(r.reply.words)
		}
	case r.spans != nil:
	case r.head.kind == "reward" && r.head.width == 0:
		what = "the head's number"
	case r.head.kind == "reward":
		what = fmt.Sprintf("logistic function of (the head's number - %v)/%v", r.head.centre, r.head.width)
	default:
		what = r.head.kind + " of the head's number"
	}
	if j.read.invert {
		what += ", inverted"
	}
	windows := "the contexts' windows"
	if j.each == "context" {
		windows = "a context's windows"
	}
	switch {
	case j.read.spans != nil:
		what = fmt.Sprintf("1 - maximum over the answer's tokens of the %s over %s of P(not supported)",
			inFull(j.windows),
			windows)
	case j.uses("contexts") || j.documents:
		what = fmt.Sprintf("%s over %s of (%s)", inFull(j.windows), windows, what)
	}
	switch j.each {
	case "sentence":
		what = fmt.Sprintf("%s over the answer's sentences of the %s", inFull(j.combine), what)
	case "context":
		what = fmt.Sprintf("%s over the contexts of the %s", inFull(j.combine), what)
	}
	return what
}

// inFull is a way of combining, in full.
func inFull(by string) string {
	return map[string]string{"min": "minimum", "max": "maximum", "mean": "mean"}[by]
}

func listed(list []valued) string {
	var words []string
	for _, w := range list {
		words = append(words, fmt.Sprintf("%s (%v)", w.word, w.value))
	}
	return strings.Join(words, ", ")
}

// where says where the verdict stands.
func (r *replyReader) where() string {
	switch {
	case r.after != "":
		return "after " + r.after
	case r.tag != "":
		return "in <" + r.tag + ">"
	}
	return "in the JSON field " + r.key
}

// calls says what a sample costs.
func (j *judge) calls() string {
	what := "1 pair or text"
	switch {
	case j.read.choice != nil:
		what = "1 first-token scoring"
	case j.read.reply != nil:
		what = "1 reply"
	}
	switch {
	case j.each == "sentence":
		what += " for each sentence of the answer"
	case j.each == "context":
		what += " for each context"
	}
	if j.uses("contexts") || j.documents {
		what += ", with each window of the contexts"
	}
	return what
}

// score scores a sample; where it has several references, by the best of them.
func (j *judge) score(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	if !j.uses("reference") {
		return j.scoreBy(ctx, m, s, "")
	}
	score, at, err := metrics.BestReference(s.References, metrics.Higher, func(reference string) (metrics.Score, error) {
		return j.scoreBy(ctx, m, s, reference)
	})
	if err == nil && len(metrics.NonBlank(s.References)) > 1 {
		score.Because = append(score.Because, metrics.Finding{Kind: "reference", Text: s.References[at]})
	}
	return score, err
}

// A unit is one of the things that the judge is asked about: a sentence, a context or the whole.
type unit struct {
	values   map[string]string // of the template's variables, but for the contexts
	contexts metrics.NumberedTexts
	finding  metrics.Finding // without what the judge said
}

// units are what the judge is asked about a sample.
func (j *judge) units(s *metrics.Sample, reference string) ([]unit, error) {
	whole := unit{
		values: map[string]string{"question": s.Question, "answer": s.Answer, "reference": reference,
			"criteria": j.criteria, "rubric": j.rubric},
		contexts: metrics.Saying(s.Contexts), finding: metrics.Finding{Kind: "verdict"},
	}
	var list []unit
	switch j.each {
	case "sentence":
		for _, sentence := range metrics.NumberedSentences([]string{s.Answer}).Texts {
			u := whole
			u.values = map[string]string{"sentence": sentence}
			for name, text := range whole.values {
				u.values[name] = text
			}
			u.finding = metrics.Finding{Kind: "sentence", Text: sentence}
			list = append(list, u)
		}
	case "context":
		for i, text := range whole.contexts.Texts {
			u := whole
			u.contexts = metrics.NumberedTexts{Texts: []string{text}, Places: whole.contexts.Places[i : i+1]}
			u.finding = metrics.Finding{Kind: "passage", Text: text,
				Where: fmt.Sprintf("context %d", u.contexts.Places[0])}
			list = append(list, u)
		}
	default:
		list = []unit{whole}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: there is no %s to ask about", metrics.ErrNotApplicable, j.each)
	}
	return list, nil
}

// scoreBy scores a sample by one reference, "" for none.
func (j *judge) scoreBy(ctx context.Context, m metrics.Models, s *metrics.Sample,
	reference string) (metrics.Score, error) {
	units, err := j.units(s, reference)
	if err != nil {
		return metrics.Score{}, err
	}
	outcomes := make([]outcome, len(units))
	where := make([]string, len(units))
	// Sentences are asked about beside the same contexts, so that a window is put together, and by a judge read, once.
	for from := 0; from < len(units); {
		to := len(units)
		if j.each == "context" {
			to = from + 1
		}
		if err := j.inWindows(ctx, m, units[from:to], outcomes[from:to], where[from:to]); err != nil {
			return metrics.Score{}, err
		}
		from = to
	}
	var values []float64
	var score metrics.Score
	for i, u := range units {
		values = append(values, outcomes[i].value)
		score.Because = append(score.Because, j.finding(s, u, outcomes[i], where[i]))
	}
	score.Value = metrics.Clamp(combined(j.combine, values), j.read.lo, j.read.hi)
	return score, nil
}

// finding is the evidence of one unit.
func (j *judge) finding(s *metrics.Sample, u unit, o outcome, window string) metrics.Finding {
	f := u.finding
	f.Reason = o.reason
	f.Value = &o.value
	if window != "" && f.Where != "" {
		f.Where += ", "
	}
	f.Where += window
	if f.Kind == "verdict" {
		if f.Text = o.verdict; f.Text == "" {
			f.Text, f.Reason = o.reason, ""
		}
	}
	if j.read.spans != nil {
		f.Kind, f.Text = "answer", s.Answer
		f.Marks = j.read.marks(s.Answer, o.tokens)
	}
	return f
}

// inWindows asks about units beside their common contexts: all of them at once, or in windows where they do not fit or
// have more words than the model was made for. It writes what was said about each, over all windows, and which window
// decided.
func (j *judge) inWindows(ctx context.Context, m metrics.Models, units []unit, into []outcome, where []string) error {
	var windows [][]outcome
	ask := func(contexts []string) error {
		if j.words > 0 && contexts != nil {
			if n := len(tokenize.Words(strings.Join(contexts, "\n"))); n > j.words {
				return &backend.TooLongError{Tokens: n, Limit: j.words}
			}
		}
		said, err := j.ask(ctx, m, units, contexts)
		if err == nil {
			windows = append(windows, said)
		}
		return err
	}
	if !j.uses("contexts") && !j.documents {
		if err := ask(nil); err != nil {
			return err
		}
	} else {
		contexts := units[0].contexts.Texts
		if len(contexts) == 0 {
			return fmt.Errorf("%w: no context has a word", metrics.ErrNotApplicable)
		}
		whole := true // the first that is asked about
		_, err := metrics.NewPassage(contexts).InWindows(true, func(text string) error {
			if whole {
				whole = false
				return ask(contexts)
			}
			return ask([]string{text})
		})
		if err != nil {
			return err
		}
	}
	for i := range units {
		var list []outcome
		for _, said := range windows {
			list = append(list, said[i])
		}
		var at int
		var err error
		if into[i], at, err = j.overWindows(list); err != nil {
			return err
		}
		if at >= 0 {
			where[i] = metrics.WindowName(at, len(windows))
		}
	}
	return nil
}

// overWindows combines what was said about one unit in several windows, and returns which of them decided, -1 for none.
func (j *judge) overWindows(list []outcome) (outcome, int, error) {
	if len(list) == 1 {
		return list[0], 0, nil
	}
	if j.read.spans != nil {
		o, err := overChunks(j.windows, list)
		return o, -1, err
	}
	var values []float64
	for _, o := range list {
		values = append(values, o.value)
	}
	v := combined(j.windows, values)
	if at := slices.Index(values, v); at >= 0 {
		return list[at], at, nil
	}
	return outcome{value: v}, -1, nil
}

// combined is the mean, minimum or maximum of values.
func combined(by string, values []float64) float64 {
	switch by {
	case "min":
		return slices.Min(values)
	case "max":
		return slices.Max(values)
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// ask asks about units beside some contexts, and returns what was said about each.
func (j *judge) ask(ctx context.Context, m metrics.Models, units []unit, contexts []string) ([]outcome, error) {
	for _, u := range units {
		u.values["contexts"] = j.context.list(contexts, j.between)
	}
	if j.chat == nil {
		return j.encode(ctx, m, units)
	}
	var list []outcome
	for _, u := range units {
		o, err := j.converse(ctx, m, u, contexts)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// converse asks a judge about one unit.
func (j *judge) converse(ctx context.Context, m metrics.Models, u unit, contexts []string) (outcome, error) {
	c := ask.Chat{Name: "profile " + j.profile, MaxTokens: j.maxTokens}
	for _, message := range j.chat {
		text, marks := message.text.fill(u.values)
		c.Messages = append(c.Messages, backend.Message{Role: message.role, Text: text, Marks: marks})
	}
	if j.documents {
		c.Documents = contexts
	}
	if j.read.reply != nil {
		return ask.JudgeChat(ctx, m, c, j.read.ofReply)
	}
	var words []string
	for _, w := range j.read.choice {
		words = append(words, w.word)
	}
	choice, err := ask.WeighChat(ctx, m, c, words)
	if err != nil {
		return outcome{}, err
	}
	return j.read.ofChoice(choice), nil
}

// encode asks an encoder about all units.
func (j *judge) encode(ctx context.Context, m metrics.Models, units []unit) ([]outcome, error) {
	req := &backend.EncodeRequest{Output: backend.HeadOutputs}
	if j.read.spans != nil {
		req.Output = backend.TokenOutputs
	}
	for _, u := range units {
		var p backend.Pair
		if j.text != nil {
			p.Text, p.Marks = j.text.fill(u.values)
		} else {
			p.Query, _ = j.first.fill(u.values)
			p.Text, p.Marks = j.second.fill(u.values)
		}
		req.Inputs = append(req.Inputs, p)
	}
	model := m.Role(backend.Encoder)
	answer, err := model.Encode(ctx, req)
	if err == nil {
		err = req.CheckAnswer(answer)
	}
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", j.profile, err)
	}
	info := model.Info()
	list := make([]outcome, len(units))
	for i, item := range answer.Items {
		m.Note(backend.EncodeKey(info, req.Output, req.Inputs[i]), 0, 0)
		if j.read.spans != nil {
			list[i], err = j.read.ofTokens(info, item)
		} else {
			list[i], err = j.read.ofHead(info, item.Vectors[0])
		}
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", j.profile, err)
		}
	}
	return list, nil
}
