// Package citation has the measures of answers that cite their contexts: whether what is cited supports what is said.
//
// They are those of ALCE (Gao et al. 2023, arXiv 2305.14627, section 3 and appendix), over the statements of an answer,
// its sentences without their citation marks ([Parse]):
//
//   - citation_recall: a statement counts if it cites something and the cited contexts, taken together, support it.
//   - citation_precision: a citation counts if its statement does and it is not irrelevant: it supports the statement
//     alone, or what else the statement cites does not support it without this one.
//   - citation_f1: their harmonic mean.
//   - citation_coverage: the share of statements that cite something; asks no model.
//
// Methods trec are those of TREC's track of 2024, by which the first citation of a sentence counts, in full or by half.
//
// A context supports a statement as a judge's P(yes) says (methods logit), an encoder's probability (encoder), or the
// share of the statement's words that it holds (words). ALCE has a T5 of 11 billion parameters say it; its formulas are
// the same for each.
//
// The judge sees the cited contexts alone, never the others: its prompt has the classic layout only.
package citation

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/pairs"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// Metrics are the measures of citations, by each way to say what supports what.
func Metrics() []metrics.Metric {
	list := append(trecMetrics(), coverage())
	for _, r := range readers() {
		list = append(list, recall(r), precision(r), f1(r))
	}
	return list
}

// A supporter says with what probability texts, taken together, support a statement, and in which window of them.
type supporter func(ctx context.Context, m metrics.Models, s *metrics.Sample, statement string,
	texts []string) (chance float64, where string, err error)

// A method is one way to say what supports what.
type method struct {
	name, by string
	calls    string // a question, as it is counted
	asks     metrics.Asks
	prompts  []*prompts.Prompt
	outputs  []string
	enough   float64 // the chance from which on a statement is supported
	supports supporter
}

// enoughWords is the share of a statement's words that what supports it holds at least. Of people's labels on sentences
// of Wikipedia and what they cite (WiCE, 408 rows) 0.6 parts supported from not supported best, with a balanced accuracy
// of 0.89; on claims of a language model against web pages (Factcheck-GPT, 884 rows) it is best too, with 0.68.
const enoughWords = 0.6

func readers() []method {
	return []method{
		{name: "logit", by: "the judge", calls: "1 first-token scoring", asks: metrics.Asks{backend.Judge: backend.CanChoose},
			prompts: []*prompts.Prompt{supportPrompt}, enough: 0.5, supports: byJudge},
		{name: "encoder", by: "a cross-encoder", calls: "1 pair for the cross-encoder for each window of up to 160 words",
			asks: metrics.Asks{backend.Encoder: backend.CanClassify}, outputs: []string{"faithfulness"}, enough: 0.5,
			supports: byEncoder},
		{name: "words", by: "the words they share", calls: "none", enough: enoughWords, supports: byWords},
	}
}

// supportData is what citation_support_yes is rendered with.
type supportData struct {
	Question, Context, Statement string
	History                      []metrics.Turn
}

func byJudge(ctx context.Context, m metrics.Models, s *metrics.Sample, statement string,
	texts []string) (float64, string, error) {
	p, err := ask.PollInWindows(ctx, m, supportPrompt, texts, 1, func(text string, _ int) any {
		return supportData{s.Question, text, statement, s.History}
	})
	if err != nil {
		return 0, "", err
	}
	yes, where := p.Highest(0)
	return yes, where, nil
}

func byEncoder(ctx context.Context, m metrics.Models, _ *metrics.Sample, statement string,
	texts []string) (float64, string, error) {
	best, windows, err := pairs.Read(ctx, m, "faithfulness", []string{statement}, texts, 0)
	if err != nil {
		return 0, "", err
	}
	return best[0].Chance, best[0].Where("", windows), nil
}

func byWords(_ context.Context, _ metrics.Models, _ *metrics.Sample, statement string,
	texts []string) (float64, string, error) {
	held := make(map[string]bool)
	for _, text := range texts {
		for _, w := range tokenize.Words(tokenize.Normalize(text)) {
			held[w] = true
		}
	}
	n, words := 0, tokenize.Words(tokenize.Normalize(statement))
	for _, w := range words {
		if held[w] {
			n++
		}
	}
	return float64(n) / float64(max(len(words), 1)), "", nil
}

// measure is what the metrics have in common.
func measure(name string, r method) metrics.Metric {
	return metrics.Metric{
		Name:    name + "/" + r.name,
		Source:  "ALCE (Gao et al. 2023, arXiv 2305.14627), section 3.3, where an NLI model says what supports what",
		Min:     0,
		Max:     1,
		Needs:   metrics.Answer | metrics.Contexts,
		Asks:    r.asks,
		Prompts: r.prompts,
		Outputs: r.outputs,
		Default: r.name == "logit",
	}
}

func (r method) counted(what string) string {
	if r.asks == nil {
		return "none"
	}
	return r.calls + " " + what
}

func recall(r method) metrics.Metric {
	m := measure("citation_recall", r)
	m.Doc = "share of the answer's sentences that the contexts they cite support, by " + r.by
	m.Formula = "sentences whose cited contexts, together, support them / sentences; " + r.supported()
	m.Calls = r.counted("for each sentence that cites")
	m.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		list, err := r.read(ctx, models, s, false)
		if err != nil {
			return metrics.Score{}, err
		}
		score := metrics.Score{Value: recallOf(list)}
		for _, c := range list {
			score.Because = append(score.Because, c.finding())
		}
		return score, nil
	}
	return m
}

func precision(r method) metrics.Metric {
	m := measure("citation_precision", r)
	m.Doc = "share of the answer's citations that their sentence needs or that support it alone, by " + r.by
	m.Formula = "citations of a supported sentence that support it alone, or without which its others do not / citations; " +
		"0 without any; " + r.supported()
	m.Calls = r.counted("for each sentence that cites, and where it cites several up to 2 more for each citation")
	m.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		list, err := r.read(ctx, models, s, true)
		if err != nil {
			return metrics.Score{}, err
		}
		score := metrics.Score{Value: precisionOf(list)}
		for _, c := range list {
			score.Because = append(score.Because, c.citations...)
		}
		if score.Because == nil {
			score.Because = []metrics.Finding{{Kind: "note", Text: "the answer cites nothing, which counts as 0"}}
		}
		return score, nil
	}
	return m
}

func f1(r method) metrics.Metric {
	m := measure("citation_f1", r)
	m.Doc = "harmonic mean of citation recall and precision, by " + r.by
	m.Formula = "2 * precision * recall / (precision + recall); 0 where both are"
	m.Calls = "those of citation_precision/" + r.name
	if r.asks == nil {
		m.Calls = "none"
	}
	m.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		list, err := r.read(ctx, models, s, true)
		if err != nil {
			return metrics.Score{}, err
		}
		rec, pre := recallOf(list), precisionOf(list)
		score := metrics.Score{Because: []metrics.Finding{
			{Kind: "note", Text: "recall", Value: &rec}, {Kind: "note", Text: "precision", Value: &pre}}}
		if rec+pre > 0 {
			score.Value = min(1, 2*rec*pre/(rec+pre))
		}
		for _, c := range list {
			score.Because = append(score.Because, c.finding())
			score.Because = append(score.Because, c.citations...)
		}
		return score, nil
	}
	return m
}

func (r method) supported() string {
	if r.asks == nil {
		return fmt.Sprintf("supported: at least %v of the sentence's words are there", r.enough)
	}
	return fmt.Sprintf("supported: with a probability of %v or more, in any window", r.enough)
}

// coverage asks no model.
func coverage() metrics.Metric {
	return metrics.Metric{
		Name:    "citation_coverage/marks",
		Doc:     "share of the answer's sentences that cite one of the contexts",
		Source:  "attribution as of Rashkin et al. 2023 (AIS, arXiv 2112.12870), counted by marks",
		Formula: "sentences with a mark that is a context's / sentences",
		Calls:   "none",
		Default: true,
		Max:     1,
		Needs:   metrics.Answer | metrics.Contexts,
		Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			list, err := statements(s)
			if err != nil {
				return metrics.Score{}, err
			}
			var score metrics.Score
			n := 0
			for _, st := range list {
				cites := len(st.Cites) > 0
				if cites {
					n++
				}
				score.Because = append(score.Because, metrics.Finding{Kind: "sentence", Text: st.Text, Verdict: &cites,
					Reason: st.unknown(), Where: st.where()})
			}
			score.Value = float64(n) / float64(len(list))
			return score, nil
		},
	}
}

// statements are those of the sample's answer.
func statements(s *metrics.Sample) ([]Statement, error) {
	list := Parse(s.Answer, len(s.Contexts), s.ContextIDs)
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: the answer holds no sentence", metrics.ErrNotApplicable)
	}
	return list, nil
}

func (st Statement) where() string {
	if len(st.Cites) == 0 {
		return ""
	}
	return "context " + numbers(st.Cites)
}

// numbers lists numbers: "1, 3".
func numbers(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

// unknown says what is cited and is not there.
func (st Statement) unknown() string {
	if len(st.Unknown) == 0 {
		return ""
	}
	return "it cites " + metrics.Bounded(strings.Join(st.Unknown, ", ")) + ", and there is no such context"
}

// A citing is a statement with what the contexts that it cites say of it.
type citing struct {
	Statement
	supported bool
	chance    float64
	window    string
	precise   int               // citations that count
	citations []metrics.Finding // of all of its citations, those of no context included
}

// read has every statement that cites judged by what it cites; with each, every citation too.
//
// A statement that also cites what is not there is judged by what is. ALCE counts it as not supported, and leaves its
// citations out; here a citation of nothing is one that does not count.
func (r method) read(ctx context.Context, m metrics.Models, s *metrics.Sample, each bool) ([]citing, error) {
	list, err := statements(s)
	if err != nil {
		return nil, err
	}
	all := make([]citing, len(list))
	for i, st := range list {
		all[i] = citing{Statement: st}
		if err := r.judge(ctx, m, s, &all[i], each); err != nil {
			return nil, fmt.Errorf("sentence %q: %w", metrics.Bounded(st.Text), err)
		}
	}
	return all, nil
}

func (r method) judge(ctx context.Context, m metrics.Models, s *metrics.Sample, c *citing, each bool) error {
	if len(c.Cites) > 0 {
		var err error
		if c.supported, c.chance, c.window, err = r.holds(ctx, m, s, c.Text, c.Cites); err != nil {
			return err
		}
	}
	if !each {
		return nil
	}
	for i, cited := range c.Cites {
		counts, reason, err := r.counts(ctx, m, s, c, i)
		if err != nil {
			return err
		}
		if counts {
			c.precise++
		}
		c.citations = append(c.citations, metrics.Finding{Kind: "citation", Text: c.Text, Verdict: &counts,
			Reason: reason, Where: fmt.Sprintf("context %d", cited)})
	}
	for _, text := range c.Unknown {
		no := false
		c.citations = append(c.citations, metrics.Finding{Kind: "citation", Text: c.Text, Verdict: &no,
			Reason: "there is no context " + metrics.Bounded(text)})
	}
	return nil
}

// counts reports whether citation i of a statement counts for precision, and why.
func (r method) counts(ctx context.Context, m metrics.Models, s *metrics.Sample, c *citing,
	i int) (counts bool, reason string, err error) {
	switch {
	case !c.supported:
		return false, "what is cited does not support the sentence", nil
	case len(c.Cites) == 1:
		return true, "it supports the sentence", nil
	}
	alone, _, _, err := r.holds(ctx, m, s, c.Text, c.Cites[i:i+1])
	if err != nil {
		return false, "", err
	}
	if alone {
		return true, "it supports the sentence alone", nil
	}
	var others []int
	for j, cited := range c.Cites {
		if j != i {
			others = append(others, cited)
		}
	}
	without, _, _, err := r.holds(ctx, m, s, c.Text, others)
	if err != nil {
		return false, "", err
	}
	if without {
		return false, "irrelevant: the others support the sentence without it, and it alone does not", nil
	}
	return true, "without it the others do not support the sentence", nil
}

// holds reports whether some of the contexts together support a statement. Blank ones say nothing.
func (r method) holds(ctx context.Context, m metrics.Models, s *metrics.Sample, statement string,
	cites []int) (supported bool, chance float64, where string, err error) {
	var texts []string
	for _, c := range cites {
		if !metrics.Blank(s.Contexts[c-1]) {
			texts = append(texts, s.Contexts[c-1])
		}
	}
	if texts == nil {
		return false, 0, "", nil
	}
	chance, where, err = r.supports(ctx, m, s, statement, texts)
	return chance >= r.enough, chance, where, err
}

func (c *citing) finding() metrics.Finding {
	f := metrics.Finding{Kind: "sentence", Text: c.Text, Verdict: &c.supported, Where: c.where(), Reason: c.unknown()}
	switch {
	case len(c.Cites) > 0:
		f.Value = &c.chance
		if c.window != "" {
			f.Where += ", " + c.window
		}
	case f.Reason == "":
		f.Reason = "it cites nothing"
	}
	return f
}

func recallOf(list []citing) float64 {
	n := 0
	for _, c := range list {
		if c.supported {
			n++
		}
	}
	return float64(n) / float64(len(list))
}

func precisionOf(list []citing) float64 {
	n, of := 0, 0
	for _, c := range list {
		n, of = n+c.precise, of+len(c.citations)
	}
	return float64(n) / float64(max(of, 1))
}

// supportPrompt asks whether a text supports a sentence of an answer.
var supportPrompt = prompts.Builtin("citation_support_yes", prompts.Example{
	Data: supportData{Question: "<question>", Context: "<context>", Statement: "<statement>",
		History: []metrics.Turn{{Role: backend.User, Said: "<history>"}}},
	Shown: map[string]string{".Context": "<context>", ".Statement": "<statement>"},
	Shot: func(s *prompts.Shot) (any, string) {
		if metrics.Blank(s.Context) || len(metrics.Worded(s.Answer)) != 1 {
			return nil, ""
		}
		return supportData{Context: s.Context, Statement: s.Answer, Question: s.Question}, s.Says("faithfulness")
	},
	Verdict: true,
})
