package criteria

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// What the prompts are rendered with. The texts of the sample come first and what is asked about them last: the
// prompts of several criteria about one sample share its texts as a prefix.
type (
	criterionQuestion struct {
		Texts    []shownText
		Question string
	}
	criterionScore struct {
		Texts           []shownText
		Criterion       string
		Steps           []string
		Lowest, Highest int
	}
	criterionRubric struct {
		Texts  []shownText
		Levels []rubricLevel
	}
	criterionSteps struct{ Criterion string }
)

// A shownText is one text of a sample under the name that the judge knows it by.
type shownText struct{ Name, Text string }

// A rubricLevel is one number of a rubric and what it means.
type rubricLevel struct {
	Number int
	Text   string
}

// columnPrefix marks a column of the dataset that is no field of a [Sample].
const columnPrefix = "column."

// shownFields gives the texts that a criterion may show, by name, the field that each stands for.
var shownFields = map[string]metrics.Field{"question": metrics.Question, "answer": metrics.Answer,
	"contexts": metrics.Contexts, "reference": metrics.References, "history": metrics.History}

// shownTexts returns the texts of a sample by their names. A column that the sample does not fill makes it
// one that the metric does not apply to.
func shownTexts(s *metrics.Sample, names []string) ([]shownText, error) {
	var list []shownText
	for _, name := range names {
		switch name {
		case "question":
			list = append(list, shownText{"Question", s.Question})
		case "answer":
			list = append(list, shownText{"Answer", s.Answer})
		case "contexts":
			list = append(list, shownText{"Contexts", metrics.NewPassage(s.Contexts).Text})
		case "reference":
			list = append(list, shownText{"Reference answer", metrics.NewPassage(s.References).Text})
		case "history":
			list = append(list, historyText(s))
		default:
			column := strings.TrimPrefix(name, columnPrefix)
			text, err := columnText(s, column)
			if err != nil {
				return nil, err
			}
			list = append(list, shownText{column, text})
		}
	}
	return list, nil
}

// judgedTexts are shownTexts as a judge is shown them: before a question, the conversation before it, whether or not the
// names have it.
func judgedTexts(s *metrics.Sample, names []string) ([]shownText, error) {
	texts, err := shownTexts(s, names)
	if slices.Contains(names, "question") && !slices.Contains(names, "history") && len(s.History) > 0 {
		texts = append([]shownText{historyText(s)}, texts...)
	}
	return texts, err
}

// historyText is the conversation before the question.
func historyText(s *metrics.Sample) shownText {
	var b strings.Builder
	for _, t := range s.History {
		fmt.Fprintf(&b, "%s: %s\n", t.Role, t.Text())
	}
	return shownText{"Conversation before", strings.TrimSpace(b.String())}
}

// columnText returns what a column beside the sample's fields holds: a text as it is, anything else as JSON.
// "metadata.topic" is the field topic of an object in the column metadata, unless there is a column of that name.
func columnText(s *metrics.Sample, column string) (string, error) {
	raw, ok := s.Extra[column]
	if first, rest, dotted := strings.Cut(column, "."); !ok && dotted {
		raw = s.Extra[first]
		for name := range strings.SplitSeq(rest, ".") {
			var object map[string]json.RawMessage
			if json.Unmarshal(raw, &object) != nil {
				object = nil
			}
			raw = object[name]
		}
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	if metrics.Blank(text) || text == "null" {
		return "", fmt.Errorf("%w: the sample's column %q is empty", metrics.ErrNotApplicable, column)
	}
	return text, nil
}

// A frame is what all criteria have in common.
type frame struct {
	name, doc string
	show      []string // the texts that the judge is shown, or the one that is checked
	// how the values of several windows become one: "max", "min", "mean"; "": there is one window or none
	windows string
	lower   bool    // lower is better
	lo, hi  float64 // the range
}

// metric returns a Metric without its function.
func (f frame) metric() metrics.Metric {
	m := metrics.Metric{Name: f.name, Doc: f.doc, Source: "your own criteria", Min: f.lo, Max: f.hi,
		LowerIsBetter: f.lower}
	for _, name := range f.show {
		m.Needs |= shownFields[name]
	}
	if m.Needs&(metrics.Question|metrics.History) == 0 {
		m.Turns = metrics.TurnsUnneeded
	}
	return m
}

// rescale maps a value in [0, 1] to the frame's range.
func (f frame) rescale(v float64) float64 { return metrics.Clamp(f.lo+v*(f.hi-f.lo), f.lo, f.hi) }

// scoreTexts scores the frame's texts by ask. Where they do not fit and the frame says how to combine
// windows, the contexts, or else the answer, are read in windows.
func (f frame) scoreTexts(s *metrics.Sample,
	ask func(texts []shownText) (metrics.Score, error)) (metrics.Score, error) {
	texts, err := judgedTexts(s, f.show)
	if err != nil {
		return metrics.Score{}, err
	}
	first := len(texts) - len(f.show) // of those that are named
	long, parts := slices.Index(f.show, "contexts"), s.Contexts
	if long < 0 {
		long, parts = slices.Index(f.show, "answer"), []string{s.Answer}
	}
	if f.windows == "" || long < 0 {
		return ask(texts)
	}
	scores, err := metrics.EachWindow(parts, func(text string) (metrics.Score, error) {
		part := slices.Clone(texts)
		part[first+long].Text = text
		return ask(part)
	})
	if err != nil {
		return metrics.Score{}, err
	}
	return f.combine(scores), nil
}

// combine makes one score of those of the windows.
func (f frame) combine(scores []metrics.Score) metrics.Score {
	all := metrics.Score{Value: scores[0].Value}
	sum := 0.0
	for i, score := range scores {
		sum += score.Value
		switch f.windows {
		case "max":
			all.Value = max(all.Value, score.Value)
		case "min":
			all.Value = min(all.Value, score.Value)
		}
		for _, finding := range score.Because {
			if len(scores) > 1 {
				finding.Where = metrics.WindowName(i, len(scores))
			}
			all.Because = append(all.Because, finding)
		}
	}
	if f.windows == "mean" {
		all.Value = metrics.Clamp(sum/float64(len(scores)), f.lo, f.hi)
	}
	return all
}

// questionMetric is an aspect critic: a yes/no question.
func questionMetric(f frame, question string) metrics.Metric {
	m := f.metric()
	m.Formula = "probability that the judge replies yes to: " + inOneLine(question)
	m.Calls = "1 first-token scoring; 1 reply where the judge tells no probabilities"
	m.Asks = metrics.Asks{backend.Judge: backend.CanGenerate}
	m.Prompts = []*prompts.Prompt{criteriaQuestionPrompt}
	m.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		return f.scoreTexts(s, func(texts []shownText) (metrics.Score, error) {
			p, finding, err := askYes(ctx, m, texts, question)
			return metrics.Score{Value: f.rescale(p), Because: []metrics.Finding{finding}}, err
		})
	}
	return m
}

// askYes asks a yes/no question about texts. It returns P(yes); of a judge that does not tell probabilities, and in one
// of several draws, 1 or 0 as it replies.
func askYes(ctx context.Context, m metrics.Models, texts []shownText,
	question string) (float64, metrics.Finding, error) {
	f := metrics.Finding{Kind: "question", Text: question}
	data := criterionQuestion{texts, question}
	if m.Draw.Of == 0 && m.Role(backend.Judge).Info().Ops.Has(backend.CanChoose) {
		p, err := ask.Yes(ctx, m, criteriaQuestionPrompt, data)
		said := p >= 0.5
		f.Verdict, f.Value = &said, &p
		return p, f, err
	}
	prompt := m.Prompts.For(criteriaQuestionPrompt)
	v, err := ask.Judge(ctx, m, ask.Query{Prompt: prompt, Data: data}, func(r ask.Reply) (ask.Verdict, error) {
		if v := ask.VerdictWordsOf(prompt).Find(r.Text, []string{question}, r.Cut); v.Given {
			return v, nil
		}
		return ask.Verdict{}, ask.ErrNoVerdict
	})
	f.Verdict, f.Reason = &v.Yes, v.Reason
	if v.Yes {
		return 1, f, err
	}
	return 0, f, err
}

// scoreMetric has the judge grade by a criterion in words, as G-Eval does: the expectation over the probabilities
// of the scale's numbers.
func scoreMetric(f frame, words string, steps []string, judgeSteps bool, lowest, highest int) metrics.Metric {
	m := f.metric()
	m.Formula = fmt.Sprintf("expectation of the judge's number from %d to %d, taken to the range, for: %s", lowest,
		highest, inOneLine(words))
	m.Calls = "1 first-token scoring; 1 reply where the judge tells no probabilities"
	m.Asks = metrics.Asks{backend.Judge: backend.CanGenerate}
	m.Prompts = []*prompts.Prompt{criteriaScorePrompt}
	if judgeSteps {
		m.Prompts = []*prompts.Prompt{criteriaStepsPrompt, criteriaScorePrompt}
		m.Calls += "; 1 reply for the steps, the same for all samples"
	}
	m.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		steps := steps
		if judgeSteps {
			var err error
			if steps, err = judgesSteps(ctx, m, words); err != nil {
				return metrics.Score{}, err
			}
		}
		return f.scoreTexts(s, func(texts []shownText) (metrics.Score, error) {
			mean, because, err := askNumber(ctx, m, criteriaScorePrompt, criterionScore{texts, words, steps, lowest,
				highest}, scaleNumbers(lowest, highest))
			value := f.rescale((mean - float64(lowest)) / float64(highest-lowest))
			return metrics.Score{Value: value, Because: append(stepFindings(judgeSteps, steps), because...)}, err
		})
	}
	return m
}

// judgesSteps has the judge write evaluation steps for a criterion. The request is the same for every sample of a
// run, so that the cache answers all but the first.
func judgesSteps(ctx context.Context, m metrics.Models, words string) ([]string, error) {
	return ask.Judge(ctx, m, ask.Query{Prompt: criteriaStepsPrompt, Data: criterionSteps{words}},
		func(r ask.Reply) ([]string, error) {
			return ask.DecodeList(r, nil)
		})
}

// stepFindings shows the evaluation steps that the judge has written itself.
func stepFindings(show bool, steps []string) []metrics.Finding {
	var list []metrics.Finding
	for _, step := range steps {
		if show {
			list = append(list, metrics.Finding{Kind: "step", Text: step})
		}
	}
	return list
}

func scaleNumbers(lowest, highest int) []int {
	var list []int
	for n := lowest; n <= highest; n++ {
		list = append(list, n)
	}
	return list
}

// rubricMetric has the judge choose a level of a rubric: the expectation over the levels' probabilities. The
// levels ascend.
func rubricMetric(f frame, levels []rubricLevel) metrics.Metric {
	f.lo, f.hi = float64(levels[0].Number), float64(levels[len(levels)-1].Number)
	m := f.metric()
	m.Formula = "sum over the levels of level x its probability"
	m.Calls = "1 first-token scoring; 1 reply where the judge tells no probabilities"
	m.Asks = metrics.Asks{backend.Judge: backend.CanGenerate}
	m.Prompts = []*prompts.Prompt{criteriaRubricPrompt}
	m.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		return f.scoreTexts(s, func(texts []shownText) (metrics.Score, error) {
			return onRubric(ctx, m, texts, levels)
		})
	}
	return m
}

func onRubric(ctx context.Context, m metrics.Models, texts []shownText, levels []rubricLevel) (metrics.Score, error) {
	var numbers []int
	for _, l := range levels {
		numbers = append(numbers, l.Number)
	}
	mean, because, err := askNumber(ctx, m, criteriaRubricPrompt, criterionRubric{texts, levels}, numbers)
	return metrics.Score{Value: metrics.Clamp(mean, float64(numbers[0]), float64(numbers[len(numbers)-1])),
		Because: because}, err
}

// askNumber asks for one of several numbers, which ascend. It returns the expectation over their probabilities;
// of a judge that does not tell probabilities, and in one of several draws, the number in its reply.
func askNumber(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any,
	numbers []int) (float64, []metrics.Finding, error) {
	ops := m.Role(backend.Judge).Info().Ops
	probable := ops.Has(backend.CanScore) || numbers[len(numbers)-1] < 10 && ops.Has(backend.CanChoose)
	if probable && m.Draw.Of == 0 {
		chances, err := numberChances(ctx, m, prompt, data, numbers)
		if err != nil {
			return 0, nil, err
		}
		mean := 0.0
		var because []metrics.Finding
		for i, p := range chances {
			mean += p * float64(numbers[i])
			because = append(because, metrics.Finding{Kind: "level", Text: strconv.Itoa(numbers[i]), Value: &p})
		}
		return mean, because, nil
	}
	n, err := ask.Judge(ctx, m, ask.Query{Prompt: prompt, Data: data}, func(r ask.Reply) (int, error) {
		return decodeNumber(r, numbers)
	})
	return float64(n), []metrics.Finding{{Kind: "level", Text: strconv.Itoa(n)}}, err
}

// numberChances is [ask.Choose] among numbers. Of 1 and 10, which may begin with the same token, the probability
// of 1 is that token's less the probability of 10.
func numberChances(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, data any,
	numbers []int) ([]float64, error) {
	var options []string
	for _, n := range numbers {
		options = append(options, strconv.Itoa(n))
	}
	one, ten := slices.Index(numbers, 1), slices.Index(numbers, 10)
	if ten < 0 {
		return ask.Choose(ctx, m, prompt, data, options)
	}
	lists, err := ask.LogProbs(ctx, m, prompt, data, options)
	if err != nil {
		return nil, err
	}
	chances := make([]float64, len(lists))
	top := slices.MaxFunc(lists, func(a, b []float64) int { return cmp.Compare(a[0], b[0]) })[0]
	for i, list := range lists {
		chances[i] = math.Exp(list[0] - top)
	}
	if tokens := lists[ten]; len(tokens) > 1 {
		sum := 0.0
		for _, lp := range tokens[1:] {
			sum += lp
		}
		chances[ten] *= math.Exp(sum)
		chances[one] = max(0, chances[one]-chances[ten])
	}
	total := 0.0
	for _, p := range chances {
		total += p
	}
	for i := range chances {
		chances[i] /= total
	}
	return chances, nil
}

// Where the number of a reply stands: after a label, at the beginning or, if there is only one, anywhere.
var (
	labelledNumber = regexp.MustCompile(`(?i)\b(?:score|rating|level|grade|number|answer)\b[^\pL\pN-]{0,4}(?:(?:is|` +
		`of)\b[^\pL\pN-]{0,4})?([0-9]+)`)
	leadingNumber = regexp.MustCompile(`^[^\pL\pN-]*(?:- +)?([0-9]+)`)
	anyNumber     = regexp.MustCompile(`-?[0-9]+(?:[.,][0-9]+)?`)
	outOf         = regexp.MustCompile(`([0-9])\s*(?:/|out of)\s*[0-9]+`)
	numberSpan    = regexp.MustCompile(`[0-9]+\s*(?:-|–|to)\s*[0-9]+`)
)

// decodeNumber finds the one of numbers that a reply gives. "4/5" and "4 out of 5" are 4; a scale that is
// repeated, "1-5", is no number, and neither is one with decimals.
func decodeNumber(r ask.Reply, numbers []int) (int, error) {
	text := numberSpan.ReplaceAllString(outOf.ReplaceAllString(r.Text, "$1"), "")
	found := ""
	if at := labelledNumber.FindAllStringSubmatchIndex(text, -1); at != nil {
		found = anyNumber.FindString(text[at[len(at)-1][2]:])
	} else if at := leadingNumber.FindStringSubmatchIndex(text); at != nil {
		found = anyNumber.FindString(text[at[2]:])
	} else if all := anyNumber.FindAllString(text, -1); len(all) == 1 {
		found = all[0]
	}
	n, err := strconv.Atoi(found)
	if err != nil || !slices.Contains(numbers, n) {
		return 0, fmt.Errorf("no number of the scale %v in the reply", numbers)
	}
	return n, nil
}

// inOneLine brings a text into the form of a line of help.
func inOneLine(text string) string { return metrics.Bounded(strings.Join(strings.Fields(text), " ")) }

var criteriaQuestionPrompt = prompts.Builtin("criteria_question",
	prompts.Example{Data: criterionQuestion{exampleTexts, "<ask>"},
		Shown: showing(map[string]string{".Question": "<ask>"})})

var criteriaScorePrompt = prompts.Builtin("criteria_score", prompts.Example{Data: criterionScore{exampleTexts,
	"<criterion>", []string{"<step>"}, 3, 7},
	Shown: showing(map[string]string{".Criterion": "<criterion>", ".Steps": "<step>", ".Lowest": "3",
		".Highest": "7"})})

var criteriaRubricPrompt = prompts.Builtin("criteria_rubric",
	prompts.Example{Data: criterionRubric{exampleTexts, []rubricLevel{{3, "<low>"}, {7, "<high>"}}},
		Shown: showing(map[string]string{".Levels": "<low>", "every one of .Levels": "<high>",
			"their numbers": "7"})})

var exampleTexts = []shownText{{"<first name>", "<first>"}, {"<second name>", "<second>"}}

// showing adds what the last message must show of exampleTexts.
func showing(shown map[string]string) map[string]string {
	maps.Copy(shown, map[string]string{".Texts": "<first>", "every one of .Texts": "<second>",
		"the names of .Texts": "<second name>"})
	return shown
}
