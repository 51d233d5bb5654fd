package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/tokenize"
)

// faithfulnessClaims is the paper's own method: the answer's statements, then a verdict on each.
func faithfulnessClaims() Metric {
	return Metric{
		Name:    "faithfulness/claims",
		Doc:     "share of the answer's statements that the contexts support",
		Source:  "RAGAS (Es et al. 2023, arXiv 2309.15217), section 3",
		Formula: "supported statements / statements",
		Calls:   "1 reply for the statements, 1 for every 8 verdicts",
		Default: true,
		Min:     0,
		Max:     1,
		Needs:   Question | Answer | Contexts,
		Asks:    Asks{backend.Judge: backend.CanGenerate},
		Prompts: []string{"faithfulness_statements", "faithfulness_verdicts", "faithfulness_verdict"},
		Score:   scoreFaithfulness,
	}
}

func scoreFaithfulness(ctx context.Context, m Models, s *Sample) (Score, error) {
	claims, err := statements(ctx, m, s)
	if err != nil {
		return Score{}, err
	}
	if len(claims) == 0 {
		return Score{}, fmt.Errorf("%w: the judge found no statement in the answer %q", ErrNotApplicable, bounded(s.Answer))
	}
	verdicts, windows, err := judgeInWindows(ctx, m, s, s.Contexts, claims)
	if err != nil {
		return Score{}, err
	}
	var score Score
	supported := 0
	for i, claim := range claims {
		v := verdicts[i]
		f := Finding{Kind: "claim", Text: claim, Verdict: &v.yes, Reason: v.reason}
		if v.yes {
			supported++
		}
		switch {
		case windows > 1 && v.yes:
			f.Where = fmt.Sprintf("window %d of %d", v.window, windows)
		case windows > 1:
			f.Where = fmt.Sprintf("none of %d windows", windows)
		}
		score.Because = append(score.Because, f)
	}
	score.Value = float64(supported) / float64(len(claims))
	return score, nil
}

// statementsData is what faithfulness_statements is rendered with.
type statementsData struct {
	Question, Answer string
	History          []backend.Message
}

// statements has the judge break the answer into statements, each once.
func statements(ctx context.Context, m Models, s *Sample) ([]string, error) {
	return statementsOf(ctx, m, s, s.Answer)
}

// statementsOf is statements of any answer to the sample's question: a reference is one too. An answer that
// is too long for one prompt or one reply is broken up part by part.
func statementsOf(ctx context.Context, m Models, s *Sample, answer string) ([]string, error) {
	p, ok := m.Prompts.Lookup("faithfulness_statements")
	if !ok {
		return nil, errors.New("no prompt faithfulness_statements")
	}
	var all []item
	_, err := newPassage([]string{answer}).inWindows(false, func(part string) error {
		q := query{
			prompt:     p.Name,
			data:       statementsData{s.Question, part, s.History},
			room:       len(part) / 2, // about twice the part's own tokens, in Latin script
			splittable: true,
		}
		list, err := ask(ctx, m, q, func(r reply) ([]string, error) { return decodeStatements(r, s.Question, p.Nothing) })
		for _, text := range list {
			all = append(all, item{-1, text})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	claims, _ := distinct(all)
	return claims, nil
}

// decodeStatements is decodeList, but a reply that gives the question back is none.
func decodeStatements(r reply, question string, nothing []string) ([]string, error) {
	list, err := decodeList(r, nothing)
	if err != nil {
		return nil, err
	}
	echo := func(text string) bool { return tokenize.Normalize(unlabelled(text)) == tokenize.Normalize(question) }
	if len(list) > 0 {
		if list = slices.DeleteFunc(list, echo); len(list) == 0 {
			return nil, errNoList
		}
	}
	return list, nil
}

// A placedVerdict is a verdict and the number of the window it comes from, from 1.
type placedVerdict struct {
	verdict
	window int
}

// judgeInWindows has the judge give a verdict on every claim in the light of texts, one of which at least
// is not blank. Where they do not fit in one prompt, a claim is supported if any of several overlapping
// windows supports it.
func judgeInWindows(ctx context.Context, m Models, s *Sample, texts, claims []string) ([]placedVerdict, int, error) {
	verdicts := make([]placedVerdict, len(claims))
	window := 1
	windows, err := newPassage(texts).inWindows(true, func(text string) error {
		var open []int // the claims that no window has supported yet
		var asked []string
		for i, v := range verdicts {
			if !v.yes {
				open = append(open, i)
				asked = append(asked, claims[i])
			}
		}
		got, err := judge(ctx, m, s, text, asked)
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
	Context    string
	Statements []string
	Question   string
	History    []backend.Message
}

// Claims are asked about in groups: a weak model loses count in long lists, and the prompts of the
// groups share all but their end.
const (
	maxGroup = 8
	minGroup = 4 // not halved to make a prompt fit: rather the context is, since it weighs more
)

// tokensPerVerdict is the room for one verdict with its reason: a schema's fixed parts are about 20 tokens,
// its reason is 100 characters. In a script that takes more tokens, the last reasons may be cut.
const tokensPerVerdict = 56

// reasonedVerdict is the schema of one verdict, with a few words on it first.
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

// judge has the judge give a verdict on every claim in the light of one text.
func judge(ctx context.Context, m Models, s *Sample, text string, claims []string) ([]verdict, error) {
	return reading{"faithfulness_verdicts", "faithfulness_verdict", text, s}.judge(ctx, m, claims)
}

// A reading is a text in the light of which statements are judged, and how.
type reading struct {
	many, one string // the prompts: for a list of statements, and for one alone
	text      string
	sample    *Sample
}

// judge has the judge give a verdict on every claim. A claim that the reply passes over is asked about alone.
func (r reading) judge(ctx context.Context, m Models, claims []string) ([]verdict, error) {
	if len(claims) > maxGroup {
		return r.judgeHalves(ctx, m, claims)
	}
	if len(claims) == 0 {
		return nil, nil
	}
	p, ok := m.Prompts.Lookup(r.many)
	if !ok {
		return nil, fmt.Errorf("no prompt %s", r.many)
	}
	q := query{
		prompt: p.Name,
		data:   verdictsData{r.text, claims, r.sample.Question, r.sample.History},
		room:   tokensPerVerdict * len(claims),
		schema: verdictsSchema(len(claims)),
		draws:  1, // a judge that cannot do it is better asked one by one than again
	}
	verdicts, err := ask(ctx, m, q, func(got reply) ([]verdict, error) { return decodeVerdicts(got, claims, verdictWordsOf(p)) })
	switch {
	case errors.Is(err, backend.ErrPromptTooLong) && len(claims) > minGroup:
		return r.judgeHalves(ctx, m, claims)
	case errors.Is(err, ErrBadReply):
		verdicts = make([]verdict, len(claims))
	case err != nil:
		return nil, err
	}
	for i, v := range verdicts {
		if v.given {
			continue
		}
		if verdicts[i], err = r.judgeAlone(ctx, m, claims[i]); err != nil {
			return nil, fmt.Errorf("statement %q: %w", bounded(claims[i]), err)
		}
	}
	return verdicts, nil
}

// verdictData is what faithfulness_verdict is rendered with.
type verdictData struct {
	Context, Statement string
	Question           string
	History            []backend.Message
}

// judgeAlone asks about one claim in the simplest way. If it stays without a verdict, that is an error.
func (r reading) judgeAlone(ctx context.Context, m Models, claim string) (verdict, error) {
	p, ok := m.Prompts.Lookup(r.one)
	if !ok {
		return verdict{}, fmt.Errorf("no prompt %s", r.one)
	}
	q := query{
		prompt: p.Name,
		data:   verdictData{r.text, claim, r.sample.Question, r.sample.History},
		schema: json.RawMessage(`{"type":"string","enum":["Yes","No"]}`),
	}
	return ask(ctx, m, q, func(got reply) (verdict, error) {
		verdicts, err := decodeVerdicts(got, []string{claim}, verdictWordsOf(p))
		if err != nil {
			return verdict{}, err
		}
		return verdicts[0], nil
	})
}

func (r reading) judgeHalves(ctx context.Context, m Models, claims []string) ([]verdict, error) {
	half := (len(claims) + 1) / 2
	first, err := r.judge(ctx, m, claims[:half])
	if err != nil {
		return nil, err
	}
	second, err := r.judge(ctx, m, claims[half:])
	return append(first, second...), err
}

// paperPrompts are those of paperMetrics.
func paperPrompts() map[string]promptExample {
	history := []backend.Message{{Role: backend.User, Text: "<history>"}, {Role: backend.Assistant, Text: "<reply>"}}
	return map[string]promptExample{
		"faithfulness_claim_yes": {
			verdictData{Context: "<context>", Statement: "<statement>", Question: "<question>", History: history},
			map[string]string{".Context": "<context>", ".Statement": "<statement>"},
		},
		"faithfulness_statements": {
			statementsData{Question: "<question>", Answer: "<answer>", History: history},
			map[string]string{".Answer": "<answer>"},
		},
		"faithfulness_verdicts": {
			verdictsData{Context: "<context>", Statements: []string{"<first>", "<second>"}, Question: "<question>", History: history},
			map[string]string{".Context": "<context>", ".Statements": "<first>", "every one of .Statements": "<second>"},
		},
		"faithfulness_verdict": {
			verdictData{Context: "<context>", Statement: "<statement>", Question: "<question>", History: history},
			map[string]string{".Context": "<context>", ".Statement": "<statement>"},
		},
		"answer_relevance_question": {
			questionData{Answer: "<answer>"},
			map[string]string{".Answer": "<answer>"},
		},
		"context_relevance_sentences": {
			sentencesData{Question: "<question>", Context: "<context>", History: history},
			map[string]string{".Question": "<question>", ".Context": "<context>"},
		},
	}
}

// faithfulnessClaimsLogit is faithfulnessClaims with verdicts read as probabilities.
func faithfulnessClaimsLogit() Metric {
	return Metric{
		Name:    "faithfulness/claims_logit",
		Doc:     "mean probability, over the answer's statements, that the contexts support one",
		Source:  "RAGAS (Es et al. 2023, arXiv 2309.15217), section 3, its verdicts read as probabilities",
		Formula: "sum of P(yes) over statements / statements",
		Calls:   "1 reply for the statements, 1 choice for each",
		Min:     0,
		Max:     1,
		Needs:   Question | Answer | Contexts,
		Asks:    Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []string{"faithfulness_statements", "faithfulness_claim_yes"},
		Score:   scoreClaimsLogit,
	}
}

func scoreClaimsLogit(ctx context.Context, m Models, s *Sample) (Score, error) {
	claims, err := statements(ctx, m, s)
	if err != nil {
		return Score{}, err
	}
	if len(claims) == 0 {
		return Score{}, fmt.Errorf("%w: the judge found no statement in the answer %q", ErrNotApplicable, bounded(s.Answer))
	}
	p, err := pollInWindows(ctx, m, "faithfulness_claim_yes", s.Contexts, len(claims), func(text string, i int) any {
		return verdictData{text, claims[i], s.Question, s.History}
	})
	if err != nil {
		return Score{}, err
	}
	var score Score
	for i, claim := range claims {
		yes, where := p.highest(i)
		score.Value += yes / float64(len(claims))
		score.Because = append(score.Because, Finding{Kind: "claim", Text: claim, Value: &yes, Where: where})
	}
	score.Value = min(1, score.Value) // thirds do not add up exactly
	score.Because = append(score.Because, doubts(p.mass)...)
	return score, nil
}

// paperMetrics are those of the RAGAS paper, by its own methods.
func paperMetrics() []Metric {
	return []Metric{answerRelevanceQuestions(), contextRelevanceSentences(), faithfulnessClaims(), faithfulnessClaimsLogit()}
}
