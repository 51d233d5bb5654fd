package judged

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// faithfulnessClaims is the paper's own method: statement extraction from the answer, then a verdict on each
// statement.
func faithfulnessClaims() metrics.Metric {
	return metrics.Metric{
		Name:    "faithfulness/claims",
		Doc:     "share of the answer's statements that are supported by the contexts",
		Source:  "RAGAS (Es et al. 2023, arXiv 2309.15217), section 3",
		Formula: "supported statements / statements",
		Calls:   "1 reply for the statements, 1 for every 8 verdicts",
		Default: true,
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer | metrics.Contexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: []*prompts.Prompt{faithfulnessStatementsPrompt, faithfulnessVerdictsPrompt, faithfulnessVerdictPrompt},
		Score:   scoreFaithfulness,
	}
}

func scoreFaithfulness(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	claims, err := statements(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	if len(claims) == 0 {
		return metrics.Score{}, noStatement(s)
	}
	verdicts, windows, err := judgeInWindows(ctx, m, s, claims)
	if err != nil {
		return metrics.Score{}, err
	}
	var because []metrics.Finding
	for i, claim := range claims {
		v := verdicts[i]
		because = append(because, metrics.Finding{Kind: "claim", Text: claim, Verdict: &v.Yes, Reason: v.Reason,
			Where: placed(v, windows)})
	}
	return shareOf(because), nil
}

// statementsData is what faithfulness_statements is rendered with.
type statementsData struct {
	Question, Answer string
	History          []metrics.Turn
}

// statements has the judge extract the answer's statements (claim decomposition), each once.
func statements(ctx context.Context, m metrics.Models, s *metrics.Sample) ([]string, error) {
	return statementsOf(ctx, m, s, s.Answer)
}

// statementsOf is statements for any answer to the sample's question: a reference is one too. An answer that is
// too long for one prompt or one reply is decomposed window by window.
func statementsOf(ctx context.Context, m metrics.Models, s *metrics.Sample, answer string) ([]string, error) {
	p := m.Prompts.For(faithfulnessStatementsPrompt)
	return ask.ListInWindows(ctx, m, []string{answer}, func(part string) ask.Query {
		// The room is about twice the part's own tokens, in Latin script.
		return ask.Query{Prompt: p, Data: statementsData{s.Question, part, s.History}, Room: len(part) / 2}
	}, func(r ask.Reply) ([]string, error) { return decodeStatements(r, s.Question, p.Nothing) })
}

// noStatement is the error of a sample whose answer states nothing.
func noStatement(s *metrics.Sample) error {
	return fmt.Errorf("%w: the judge found no statement in the answer %q", metrics.ErrNotApplicable, metrics.Bounded(s.Answer))
}

// decodeStatements is [ask.DecodeList], but a reply that only repeats the question is no list.
func decodeStatements(r ask.Reply, question string, nothing []string) ([]string, error) {
	list, err := ask.DecodeList(r, nothing)
	if err != nil {
		return nil, err
	}
	echo := func(text string) bool {
		return tokenize.Normalize(ask.Unlabelled(text)) == tokenize.Normalize(question)
	}
	if len(list) > 0 {
		if list = slices.DeleteFunc(list, echo); len(list) == 0 {
			return nil, ask.ErrNoList
		}
	}
	return list, nil
}

// A placedVerdict is a verdict and the number of the window it comes from, from 1.
type placedVerdict struct {
	ask.Verdict
	window int
}

// placed says where the support for a claim was found, where there is more than one window.
func placed(v placedVerdict, windows int) string {
	switch {
	case windows > 1 && v.Yes:
		return metrics.WindowName(v.window-1, windows)
	case windows > 1:
		return fmt.Sprintf("none of %d windows", windows)
	}
	return ""
}

// judgeInWindows has the judge give a verdict on every claim: is it supported by the contexts, one of which at least
// is not blank? Where they do not fit in one prompt, a claim is supported if any of several windows with overlap
// supports it.
func judgeInWindows(ctx context.Context, m metrics.Models, s *metrics.Sample,
	claims []string) ([]placedVerdict, int, error) {
	verdicts := make([]placedVerdict, len(claims))
	window := 1
	view := metrics.View{Sample: s}
	windows, err := view.InWindows(ask.InRow(m, faithfulnessVerdictsPrompt), func(part metrics.Excerpt) error {
		var open []int // the claims that no window has supported yet
		var asked []string
		for i, v := range verdicts {
			if !v.Yes {
				open = append(open, i)
				asked = append(asked, claims[i])
			}
		}
		got, err := reading{faithfulnessVerdictsPrompt, faithfulnessVerdictPrompt, part, s}.judge(ctx, m, asked)
		if err != nil {
			return err
		}
		for i, v := range got {
			verdicts[open[i]] = placedVerdict{v, window}
		}
		window++
		return nil
	})
	return verdicts, windows, err
}

// verdictsData is what faithfulness_verdicts is rendered with.
type verdictsData struct {
	Row        metrics.Row // what is shown in the row layout; Context is in the classic one
	Context    string
	Statements []string
	Question   string
	History    []metrics.Turn
}

// Claims are asked about in groups: a weak model loses count in long lists, and the prompts of the groups share a
// prefix, all but their end.
const (
	maxGroup = 8
	minGroup = 4 // not halved to make a prompt fit: rather the context is, since it weighs more
)

// tokensPerVerdict is the room for one verdict with its reason: a schema's fixed parts are about 20 tokens,
// its reason is 100 characters. In a script that takes more tokens, the last reasons may be cut.
const tokensPerVerdict = 56

// reasonedVerdict is the schema of one verdict, its reason in a few words first.
const reasonedVerdict = `{"type":"object","properties":{"reason":{"type":"string","minLength":1,"maxLength":100},` +
	`"verdict":{"type":"string","enum":["Yes","No"]}},"required":["reason","verdict"],"additionalProperties":false}`

// verdictsSchema asks for a reasoned verdict on each of n statements. The fields are the statements' numbers,
// so that none is passed over and each verdict says which one it is about.
func verdictsSchema(n int) json.RawMessage {
	fields, names := make([]string, n), make([]string, n)
	for i := range n {
		names[i] = fmt.Sprintf(`"%d"`, i+1)
		fields[i] = names[i] + ":" + reasonedVerdict
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(fields, ",") + `},` +
		`"required":[` + strings.Join(names, ",") + `],"additionalProperties":false}`)
}

// A reading is the text by which verdicts are given on statements, and the prompts that ask for them.
type reading struct {
	many, one *prompts.Prompt // the prompts: for a list of statements, and for a single one
	text      metrics.Excerpt
	sample    *metrics.Sample
}

// judge has the judge give a verdict on every claim. A claim that the reply passes over is asked about alone.
func (r reading) judge(ctx context.Context, m metrics.Models, claims []string) ([]ask.Verdict, error) {
	if len(claims) > maxGroup {
		return r.judgeHalves(ctx, m, claims)
	}
	if len(claims) == 0 {
		return nil, nil
	}
	p := m.Prompts.For(r.many)
	q := ask.Query{
		Prompt: p,
		Data:   verdictsData{r.text.Row, r.text.Text, claims, r.sample.Question, r.sample.History},
		Room:   tokensPerVerdict * len(claims),
		Schema: verdictsSchema(len(claims)),
		Draws:  1, // a judge that cannot do it is better asked one by one than by a new draw
	}
	verdicts, err := ask.Judge(ctx, m, q, func(got ask.Reply) ([]ask.Verdict, error) {
		return ask.DecodeVerdicts(got, claims, ask.VerdictWordsOf(p))
	})
	switch {
	case errors.Is(err, backend.ErrPromptTooLong) && len(claims) > minGroup:
		return r.judgeHalves(ctx, m, claims)
	case errors.Is(err, metrics.ErrBadReply):
		verdicts = make([]ask.Verdict, len(claims))
	case err != nil:
		return nil, err
	}
	for i, v := range verdicts {
		if v.Given {
			continue
		}
		if verdicts[i], err = r.judgeAlone(ctx, m, claims[i]); err != nil {
			return nil, fmt.Errorf("statement %q: %w", metrics.Bounded(claims[i]), err)
		}
	}
	return verdicts, nil
}

// verdictData is what faithfulness_verdict is rendered with.
type verdictData struct {
	Row                metrics.Row // as of verdictsData
	Context, Statement string
	Question           string
	History            []metrics.Turn
}

// judgeAlone asks for the verdict on one claim by itself. No verdict in any draw is an error.
func (r reading) judgeAlone(ctx context.Context, m metrics.Models, claim string) (ask.Verdict, error) {
	p := m.Prompts.For(r.one)
	q := ask.Query{
		Prompt: p,
		Data:   verdictData{r.text.Row, r.text.Text, claim, r.sample.Question, r.sample.History},
		Schema: json.RawMessage(`{"type":"string","enum":["Yes","No"]}`),
	}
	return ask.Judge(ctx, m, q, func(got ask.Reply) (ask.Verdict, error) {
		verdicts, err := ask.DecodeVerdicts(got, []string{claim}, ask.VerdictWordsOf(p))
		if err != nil {
			return ask.Verdict{}, err
		}
		return verdicts[0], nil
	})
}

func (r reading) judgeHalves(ctx context.Context, m metrics.Models, claims []string) ([]ask.Verdict, error) {
	half := (len(claims) + 1) / 2
	first, err := r.judge(ctx, m, claims[:half])
	if err != nil {
		return nil, err
	}
	second, err := r.judge(ctx, m, claims[half:])
	return append(first, second...), err
}

// faithfulnessClaimsLogit is faithfulnessClaims with each verdict read as a probability, by first-token scoring.
func faithfulnessClaimsLogit() metrics.Metric {
	return metrics.Metric{
		Name:    "faithfulness/claims_logit",
		Doc:     "mean probability, over the answer's statements, that a statement is supported by the contexts",
		Source:  "RAGAS (Es et al. 2023, arXiv 2309.15217), section 3, its verdicts by first-token scoring",
		Formula: "sum of P(yes) over statements / statements",
		Calls:   "1 reply for the statements, 1 first-token scoring for each",
		Min:     0,
		Max:     1,
		Needs:   metrics.Question | metrics.Answer | metrics.Contexts,
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []*prompts.Prompt{faithfulnessStatementsPrompt, faithfulnessClaimYesPrompt},
		Score:   scoreClaimsLogit,
	}
}

func scoreClaimsLogit(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	claims, err := statements(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	if len(claims) == 0 {
		return metrics.Score{}, noStatement(s)
	}
	p, err := pollClaims(ctx, m, s, claims)
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	for i, claim := range claims {
		yes, where := p.Highest(i)
		score.Value += yes / float64(len(claims))
		score.Because = append(score.Because, metrics.Finding{Kind: "claim", Text: claim, Value: &yes, Where: where})
	}
	score.Value = min(1, score.Value) // thirds do not add up exactly
	score.Because = append(score.Because, ask.Doubts(p.Mass)...)
	return score, nil
}

// pollClaims asks of every claim whether the contexts support it, by first-token scoring.
func pollClaims(ctx context.Context, m metrics.Models, s *metrics.Sample, claims []string) (ask.Poll, error) {
	return ask.PollView(ctx, m, faithfulnessClaimYesPrompt, metrics.View{Sample: s}, len(claims),
		func(part metrics.Excerpt, i int) any {
			return verdictData{part.Row, part.Text, claims[i], s.Question, s.History}
		})
}

// paperMetrics are those of the RAGAS paper, by its own methods.
func paperMetrics() []metrics.Metric {
	return []metrics.Metric{answerRelevanceQuestions(), contextRelevanceSentences(), faithfulnessClaims(),
		faithfulnessClaimsLogit(), answerRelevanceOneQuestion(), contextRelevanceSentencesShort(),
		faithfulnessClaimsShort()}
}

var faithfulnessClaimYesPrompt = prompts.Builtin("faithfulness_claim_yes", prompts.Example{
	Data:  verdictData{Context: "<context>", Statement: "<statement>", Question: "<question>", History: history},
	Shown: map[string]string{".Context": "<context>", ".Statement": "<statement>"},
	Shot: func(s *prompts.Shot) (any, string) {
		// What is labelled is a whole answer: it is one statement only where it has one sentence.
		if metrics.Blank(s.Context) || len(metrics.Worded(s.Answer)) != 1 {
			return nil, ""
		}
		return verdictData{Context: s.Context, Statement: s.Answer, Question: s.Question}, s.Says("faithfulness")
	},
	Verdict: true,
})

var faithfulnessStatementsPrompt = prompts.Builtin("faithfulness_statements", prompts.Example{
	Data:  statementsData{Question: "<question>", Answer: "<answer>", History: history},
	Shown: map[string]string{".Answer": "<answer>"},
})

var faithfulnessVerdictsPrompt = prompts.Builtin("faithfulness_verdicts", prompts.Example{
	Data: verdictsData{Context: "<context>", Statements: []string{"<first>", "<second>"}, Question: "<question>",
		History: history},
	Shown: map[string]string{".Context": "<context>", ".Statements": "<first>",
		"every one of .Statements": "<second>"},
})

var faithfulnessVerdictPrompt = prompts.Builtin("faithfulness_verdict", prompts.Example{
	Data:  verdictData{Context: "<context>", Statement: "<statement>", Question: "<question>", History: history},
	Shown: map[string]string{".Context": "<context>", ".Statement": "<statement>"},
})
