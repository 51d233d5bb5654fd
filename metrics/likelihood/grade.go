package likelihood

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// An aspect is a dimension that the judge grades or compares by its definition.
type aspect struct {
	dimension  string
	definition string        // what the best has, as a sentence
	shown      metrics.Field // what the judge sees
	rank       bool          // whether answers can be compared by it
}

var gradeAspects = []aspect{
	{"faithfulness", "Everything in the answer is said by the text or follows from it.",
		metrics.Question | metrics.Answer | metrics.Contexts, true},
	{"answer_relevance", "The answer gives what the question asks for, all of it and nothing besides; whether it " +
		"is true does not matter.", metrics.Question | metrics.Answer, true},
	{"context_relevance", "The text holds what the question asks for, and little else.",
		metrics.Question | metrics.Contexts, false},
	{"answer_correctness", "The answer says the same as the correct answer, in whatever words.",
		metrics.Question | metrics.Answer | metrics.References, true},
	{"completeness", "The answer leaves out nothing that the text says in reply to the question.",
		metrics.Question | metrics.Answer | metrics.Contexts, false},
	{"answer_quality", "The answer is helpful, clear and well written, and as long as it needs to be.",
		metrics.Question | metrics.Answer, true},
}

// title is the dimension as a prompt names it: "answer relevance".
func (a aspect) title() string { return strings.ReplaceAll(a.dimension, "_", " ") }

// A grading says what is graded in an aspect.
type grading struct {
	aspect
	apart bool // each context by itself
}

// name is that of a metric of the aspect by a method: judge_score_each grades each context.
func (a grading) name(method string) string {
	if a.apart {
		method += "_each"
	}
	return a.dimension + "/" + method
}

// graded is what is graded, for a Metric's Doc.
func (a grading) graded() string {
	switch {
	case a.apart:
		return "of each context by itself for " + a.title()
	case a.ofContexts():
		return "of all contexts together for " + a.title()
	}
	return "for " + a.title()
}

// ofContexts reports whether contexts are graded, rather than an answer.
func (a grading) ofContexts() bool { return !a.shown.Has(metrics.Answer) }

// gradeData is what judge_score and score_logit are rendered with. What the aspect does not look at is empty.
type gradeData struct {
	Row                                  metrics.Row // in the row layout
	Number                               int         // of the context that is graded, where one alone is
	Together                             bool        // all contexts are graded. With neither the answer is
	Dimension, Definition                string
	Context, Question, Reference, Answer string
	History                              []metrics.Turn
}

// judgeScore has the judge write a grade, as the RAGAS paper's baseline does.
func judgeScore(a grading) metrics.Metric {
	return metrics.Metric{
		Name:    a.name("judge_score"),
		Doc:     "the judge's grade from 0 to 10 " + a.graded() + ", as it writes it",
		Source:  "the baseline GPT Score of RAGAS (Es et al. 2023, arXiv 2309.15217), section 5; unitxt's judges",
		Formula: "grade / 10" + a.over(),
		Calls:   "1 reply" + a.each(),
		Min:     0,
		Max:     1,
		Needs:   a.shown,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: []*prompts.Prompt{judgeScorePrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return a.grade(ask.InRow(m, judgeScorePrompt), s, func(d gradeData) (float64, string, error) {
				q := ask.Query{Prompt: judgeScorePrompt, Data: d, Schema: gradeSchema()}
				grade, err := ask.Judge(ctx, m, q, decodeGrade)
				return grade / maxGrade, "graded " + strconv.FormatFloat(grade, 'g', -1, 64), err
			})
		},
	}
}

// scoreLogit is the expected grade over the probabilities of the five digits, by first-token scoring.
func scoreLogit(a grading) metrics.Metric {
	return metrics.Metric{
		Name: a.name("score_logit"),
		Doc:  "the expected grade from 1 to 5 " + a.graded() + ", over the probabilities of the five digits",
		Source: "G-Eval (Liu et al. 2023, arXiv 2303.16634), section 2, its probabilities by first-token scoring " +
			"instead of sampling",
		Formula: "(sum of grade x P(grade) - 1) / 4" + a.over(),
		Calls:   "1 first-token scoring" + a.each(),
		Min:     0,
		Max:     1,
		Needs:   a.shown,
		Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
		Prompts: []*prompts.Prompt{scoreLogitPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return a.grade(ask.InRow(m, scoreLogitPrompt), s, func(d gradeData) (float64, string, error) {
				return expectedGrade(ctx, m, d)
			})
		},
	}
}

// over and each say in a Metric's Formula and Calls what a.grade does.
func (a grading) over() string {
	switch {
	case a.shown.Has(metrics.References):
		return "; the highest over references"
	case a.apart:
		return "; the mean over contexts"
	case a.dimension == "completeness":
		return "; of several windows of the contexts, the lowest"
	case a.shown.Has(metrics.Contexts):
		return "; of several windows of the contexts, the highest"
	}
	return ""
}

func (a grading) each() string {
	switch {
	case a.shown.Has(metrics.References):
		return " for each reference"
	case a.apart:
		return " for each context"
	case a.shown.Has(metrics.Contexts):
		return " for each window of the contexts"
	}
	return ""
}

// grade has a sample graded in the aspect: by the reference that suits it best, each context by itself, by the contexts
// together, or these. Grade returns a grade in [0, 1] and how it came about.
func (a grading) grade(row bool, s *metrics.Sample,
	grade func(d gradeData) (float64, string, error)) (metrics.Score, error) {
	d := gradeData{Dimension: a.title(), Definition: a.definition, Question: s.Question, History: s.History,
		Together: a.ofContexts() && !a.apart}
	if a.shown.Has(metrics.Answer) {
		d.Answer = s.Answer
	}
	switch {
	case a.shown.Has(metrics.References):
		return a.byReference(row, s, d, grade)
	case a.apart:
		return a.byContext(row, s, d, grade)
	case a.shown.Has(metrics.Contexts):
		f, err := a.inWindows(row, metrics.View{Sample: s}, d, grade)
		if err != nil {
			return metrics.Score{}, err
		}
		f.Text = metrics.Bounded(s.Answer)
		if d.Together {
			f.Kind, f.Text = "contexts", fmt.Sprintf("all %d contexts together", len(metrics.NonBlank(s.Contexts)))
		}
		return metrics.Score{Value: *f.Value, Because: []metrics.Finding{f}}, nil
	}
	value, reason, err := first(row, s, d, grade)
	if err != nil {
		return metrics.Score{}, err
	}
	return metrics.Score{Value: value, Because: []metrics.Finding{{Kind: "answer", Text: metrics.Bounded(s.Answer),
		Value: &value, Reason: reason}}}, nil
}

// first grades what does not depend on the contexts.
func first(row bool, s *metrics.Sample, d gradeData,
	grade func(d gradeData) (float64, string, error)) (value float64, reason string, err error) {
	err = metrics.View{Sample: s}.First(row, func(e metrics.Excerpt) (err error) {
		d.Row = e.Row
		value, reason, err = grade(d)
		return err
	})
	return value, reason, err
}

func (a grading) byReference(row bool, s *metrics.Sample, d gradeData,
	grade func(d gradeData) (float64, string, error)) (metrics.Score, error) {
	var score metrics.Score
	for _, r := range metrics.NonBlank(s.References) {
		d.Reference = r.Text
		value, reason, err := first(row, s, d, grade)
		if err != nil {
			return metrics.Score{}, err
		}
		score.Value = max(score.Value, value)
		score.Because = append(score.Because, metrics.Finding{Kind: "reference", Text: r.Text, Value: &value,
			Reason: reason})
	}
	return score, nil
}

func (a grading) byContext(row bool, s *metrics.Sample, d gradeData,
	grade func(d gradeData) (float64, string, error)) (metrics.Score, error) {
	var score metrics.Score
	contexts := metrics.NonBlank(s.Contexts)
	for _, c := range contexts {
		d.Number = c.Number
		f, err := a.inWindows(row, metrics.View{Sample: s, Context: c.Number}, d, grade)
		if err != nil {
			return metrics.Score{}, err
		}
		f.Kind, f.Text, f.Where = "context", metrics.Bounded(c.Text), c.Where(f.Where)
		score.Value += *f.Value / float64(len(contexts))
		score.Because = append(score.Because, f)
	}
	score.Value = min(1, score.Value)
	return score, nil
}

// inWindows grades by texts that may be too long for one prompt. The window with the highest grade counts,
// or that with the lowest where any window can show a want.
func (a grading) inWindows(row bool, v metrics.View, d gradeData,
	grade func(d gradeData) (float64, string, error)) (metrics.Finding, error) {
	var found []metrics.Finding
	_, err := v.InWindows(row, func(e metrics.Excerpt) error {
		d.Row, d.Context = e.Row, e.Text
		value, reason, err := grade(d)
		if err == nil {
			found = append(found, metrics.Finding{Kind: "answer", Value: &value, Reason: reason})
		}
		return err
	})
	if err != nil {
		return metrics.Finding{}, err
	}
	at := metrics.Best(found, func(f, g metrics.Finding) bool {
		if a.dimension == "completeness" {
			return *f.Value < *g.Value
		}
		return *f.Value > *g.Value
	})
	found[at].Where = metrics.WindowName(at, len(found))
	return found[at], nil
}

// expectedGrade is the expectation of a grade from 1 to 5, brought to [0, 1]. Each of these is one token to
// most models, which 10 is not.
func expectedGrade(ctx context.Context, m metrics.Models, d gradeData) (float64, string, error) {
	grades := []string{"1", "2", "3", "4", "5"}
	c, err := ask.Weigh(ctx, m, scoreLogitPrompt, d, grades)
	if err != nil {
		return 0, "", err
	}
	value := 0.0
	parts := make([]string, len(grades))
	for i, p := range c.Chances {
		value += p * float64(i) / float64(len(grades)-1)
		parts[i] = fmt.Sprintf("P(%s) = %.3f", grades[i], p)
	}
	reason := strings.Join(parts, ", ")
	if c.Mass < 0.5 {
		reason += fmt.Sprintf("; the digits had only %.2g of the judge's probability", c.Mass)
	}
	return min(1, value), reason, nil
}

const maxGrade = 10

// gradeSchema asks for a whole number from 0 to 10.
func gradeSchema() json.RawMessage {
	return json.RawMessage(`{"type":"integer","enum":[0,1,2,3,4,5,6,7,8,9,10]}`)
}

// Reasons why a reply is no grade.
var (
	errNoGrade    = errors.New("no grade in the reply")
	errGrades     = errors.New("more than one number in the reply could be the grade")
	errGradeRange = fmt.Errorf("the grade is not from 0 to %d", maxGrade)
)

// The forms of a grade. A number has no letter, digit or mark before it that would make it part of
// something else, and may be negative, so that it can be refused.
var (
	gradeScale = regexp.MustCompile(`(?i)\b(?:scale\s+(?:of|from)?|from|between|range\s+of|` +
		`out\s+of)?\s*\b[01]\s*(?:-|–|—|to|and|through)\s*10\b`)
	gradeOfTen = regexp.MustCompile(`(?i)(-?\d+(?:[.,]\d+)?)\s*(?:/|／|out\s+of|of)\s*(\d+)`)
	gradeLabel = regexp.MustCompile(`(?i)\b(?:score|rating|grade|rate|mark)\b["'*_]*\s*(?:is|of|:|=|` +
		`：)?\s*["'*_]*\s*(-?\d+(?:[.,]\d+)?)`)
	gradeNumber = regexp.MustCompile(`-?\d+(?:[.,]\d+)?`)
	gradeRange  = regexp.MustCompile(`\d\s*(?:-|–|—|to|or)\s*\d`)
)

// decodeGrade finds the grade in a reply: "8", "8/10", "Score: 8.5", "I would say eight out of ten.", JSON
// with one number. It takes what stands before "/10", else what follows a label, else the number that the
// reply begins with, else the only number there is. Of two that are equally good candidates, it takes none.
func decodeGrade(r ask.Reply) (float64, error) {
	text := strings.TrimSpace(wordsToDigits(asciiDigits(r.Text)))
	if r.Cut && text != "" && unicode.IsDigit(rune(text[len(text)-1])) {
		return 0, metrics.ErrCut // of "1" there is no telling whether it would have been "10"
	}
	text = gradeScale.ReplaceAllString(text, " ")
	if gradeRange.MatchString(text) {
		return 0, errGrades
	}
	if list := gradeOfTen.FindAllStringSubmatch(text, -1); list != nil {
		var grades []string
		for _, m := range list {
			if m[2] != "10" {
				return 0, fmt.Errorf("%w: it grades out of %s", errGradeRange, m[2])
			}
			grades = append(grades, m[1])
		}
		return oneGrade(grades)
	}
	if list := gradeLabel.FindAllStringSubmatch(text, -1); list != nil {
		var grades []string
		for _, m := range list {
			grades = append(grades, m[1])
		}
		return oneGrade(grades)
	}
	numbers := gradeNumber.FindAllString(text, -1)
	if len(numbers) > 1 && strings.HasPrefix(strings.TrimLeft(text, "*_\"'` "), numbers[0]) {
		numbers = numbers[:1]
	}
	return oneGrade(numbers)
}

// oneGrade reads numbers, which must all be the same.
func oneGrade(numbers []string) (float64, error) {
	if len(numbers) == 0 {
		return 0, errNoGrade
	}
	var grades []float64
	for _, n := range numbers {
		g, err := strconv.ParseFloat(strings.Replace(n, ",", ".", 1), 64)
		if err != nil {
			return 0, errNoGrade
		}
		grades = append(grades, g)
	}
	switch grades = slices.Compact(grades); {
	case len(grades) > 1:
		return 0, errGrades
	case !(grades[0] >= 0 && grades[0] <= maxGrade):
		return 0, fmt.Errorf("%w but %v", errGradeRange, grades[0])
	}
	return grades[0], nil
}

// wordsToDigits replaces the English numbers from zero to ten, if a reply holds no digits.
func wordsToDigits(text string) string {
	if strings.ContainsFunc(text, unicode.IsDigit) {
		return text
	}
	names := []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	words := strings.Fields(tokenize.Normalize(text))
	for i, w := range words {
		if n := slices.Index(names, w); n >= 0 {
			words[i] = strconv.Itoa(n)
		}
	}
	return strings.Join(words, " ")
}

// asciiDigits replaces the decimal digits of every script by 0 to 9.
func asciiDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return rune('0' + ask.Number(string(r)))
		}
		return r
	}, text)
}

var gradeExample = prompts.Example{
	Data: gradeData{Dimension: "<dimension>", Definition: "<definition>", Context: "<context>", Question: "<question>",
		Reference: "<reference>", Answer: "<answer>", History: history},
	Shown: map[string]string{".Definition": "<definition>", ".Context": "<context>", ".Question": "<question>",
		".Reference": "<reference>", ".Answer": "<answer>"},
}

var judgeScorePrompt = prompts.Builtin("judge_score", gradeExample)

var scoreLogitPrompt = prompts.Builtin("score_logit", gradeExample)
