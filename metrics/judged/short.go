package judged

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// faithfulnessClaimsShort is faithfulnessClaims in its short form, in which the judge writes little. Sentences of the
// answer that are statements as they stand are not written again. A verdict is read by first-token scoring; one that is
// in doubt is given again as the long form gives it, a reason first, and that one counts (Models.Reasons says which).
func faithfulnessClaimsShort() metrics.Metric {
	return metrics.Metric{
		Name: "faithfulness/claims_short",
		Doc: "short form of claims: only sentences that are no statements are rewritten, and only verdicts in doubt " +
			"have reasons",
		Source: "RAGAS (Es et al. 2023, arXiv 2309.15217), section 3, in a form that writes less",
		Formula: "supported statements / statements: supported if P(yes) is above 1/2, and where it is between 1/3 and " +
			"2/3 by a verdict with a reason",
		Calls: "1 reply for the statements, 1 first-token scoring for each, 1 reply for every 8 verdicts in doubt",
		Min:   0,
		Max:   1,
		Needs: metrics.Question | metrics.Answer | metrics.Contexts,
		Asks:  metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
		Prompts: []*prompts.Prompt{faithfulnessSentencesPrompt, faithfulnessClaimYesPrompt, faithfulnessVerdictsPrompt,
			faithfulnessVerdictPrompt},
		Score: scoreClaimsShort,
	}
}

func scoreClaimsShort(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	claims, err := statementsBySentence(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	if len(claims) == 0 {
		return metrics.Score{}, noStatement(s)
	}
	verdicts, err := shortVerdicts(ctx, m, s, claims)
	if err != nil {
		return metrics.Score{}, err
	}
	return shareOf(verdicts), nil
}

// shortVerdicts are the findings on claims: P(yes) by first-token scoring, and for those that Models.Reasons says a
// verdict with a reason, by the window where P(yes) is highest.
func shortVerdicts(ctx context.Context, m metrics.Models, s *metrics.Sample, claims []string) ([]metrics.Finding, error) {
	p, err := pollClaims(ctx, m, s, claims)
	if err != nil {
		return nil, err
	}
	list := make([]metrics.Finding, len(claims))
	again := make([][]int, len(p.Parts)) // for each window, the claims that are judged by it once more
	for i, claim := range claims {
		yes, where := p.Highest(i)
		supported := yes > 0.5
		list[i] = metrics.Finding{Kind: "claim", Text: claim, Verdict: &supported, Value: &yes, Where: where}
		if m.Reasons.Wanted(yes) {
			best := p.Best(i)
			again[best] = append(again[best], i)
		}
	}
	for w, numbers := range again {
		reasoned, err := judgeAgain(ctx, m, s, p.Parts[w], pick(claims, numbers))
		if err != nil {
			return nil, err
		}
		for i, v := range reasoned {
			f := &list[numbers[i]]
			f.Verdict, f.Reason = &v.Yes, v.Reason
		}
	}
	return append(list, ask.Doubts(p.Mass)...), nil
}

// judgeAgain has the judge give verdicts with reasons by a window that was polled before. Where a list of claims and
// the room for their reasons leave too little of the context length for it, the windows are made anew.
func judgeAgain(ctx context.Context, m metrics.Models, s *metrics.Sample, part metrics.Excerpt,
	claims []string) ([]ask.Verdict, error) {
	list, err := reading{faithfulnessVerdictsPrompt, faithfulnessVerdictPrompt, part, s}.judge(ctx, m, claims)
	if !errors.Is(err, backend.ErrPromptTooLong) {
		return list, err
	}
	placed, _, err := judgeInWindows(ctx, m, s, claims)
	list = make([]ask.Verdict, len(placed))
	for i, v := range placed {
		list[i] = v.Verdict
	}
	return list, err
}

// pick returns the elements of list at the given places.
func pick(list []string, places []int) []string {
	picked := make([]string, len(places))
	for i, at := range places {
		picked[i] = list[at]
	}
	return picked
}

// sentenceStatementsData is what faithfulness_sentences is rendered with.
type sentenceStatementsData struct {
	Question  string
	Sentences []string
	History   []metrics.Turn
}

// statementsBySentence is statements, sentence by sentence: the judge says of each whether it is a statement as it
// stands, and writes only what the others come to. No sentence is passed over.
func statementsBySentence(ctx context.Context, m metrics.Models, s *metrics.Sample) ([]string, error) {
	var all []ask.Item
	_, err := metrics.NewPassage([]string{s.Answer}).InWindows(false, func(part string) error {
		sentences := metrics.Worded(part)
		if len(sentences) == 0 {
			return nil
		}
		q := ask.Query{
			Prompt: faithfulnessSentencesPrompt,
			Data:   sentenceStatementsData{s.Question, sentences, s.History},
			// The room is that of the long form, and of the numbers.
			Room:       len(part)/2 + tokensPerNumber*len(sentences),
			Schema:     sentencesSchema(len(sentences)),
			Splittable: true,
		}
		list, err := ask.Judge(ctx, m, q, func(r ask.Reply) ([]string, error) {
			return decodeSentenceStatements(r, sentences, s.Question)
		})
		for _, text := range list {
			all = append(all, ask.Item{Number: -1, Text: text})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	texts, _ := ask.Distinct(all)
	return texts, nil
}

// tokensPerNumber is the room for a sentence's number, with what JSON has around it.
const tokensPerNumber = 8

// same is what the judge writes for a sentence that is a statement as it stands.
const same = "same"

// maxStatements bounds the statements of one sentence.
const maxStatements = 6

// sentencesSchema asks for what each of n sentences comes to, by its number.
func sentencesSchema(n int) json.RawMessage {
	one := fmt.Sprintf(`{"anyOf":[{"const":"%s"},{"type":"array","items":{"type":"string","pattern":"^\\S"},"maxItems":%d}]}`,
		same, maxStatements)
	fields, names := make([]string, n), make([]string, n)
	for i := range n {
		names[i] = fmt.Sprintf(`"%d"`, i+1)
		fields[i] = names[i] + ":" + one
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(fields, ",") + `},` +
		`"required":[` + strings.Join(names, ",") + `],"additionalProperties":false}`)
}

// decodeSentenceStatements reads what each sentence comes to: the statements in their order. A reply that says nothing
// of one of them is refused, and so is one that puts anything but texts into a list. The question itself is no statement.
func decodeSentenceStatements(r ask.Reply, sentences []string, question string) ([]string, error) {
	object, err := ask.DecodeObject(r)
	if err != nil {
		return nil, err
	}
	var list []string
	for i, sentence := range sentences {
		var own []any
		switch v := object[strconv.Itoa(i+1)].(type) {
		case string:
			own = []any{v}
		case []any:
			own = v
		default:
			return nil, fmt.Errorf("the reply says nothing of sentence %d", i+1)
		}
		for _, v := range own {
			text, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("what the reply says of sentence %d is no list of statements", i+1)
			}
			if tokenize.Normalize(text) == same {
				text = sentence
			}
			list = append(list, text)
		}
	}
	return slices.DeleteFunc(list, func(text string) bool {
		return !tokenize.HasWords(text) || tokenize.Normalize(text) == tokenize.Normalize(question)
	}), nil
}

var faithfulnessSentencesPrompt = prompts.Builtin("faithfulness_sentences", prompts.Example{
	Data: sentenceStatementsData{Question: "<question>", Sentences: []string{"<first>", "<second>"},
		History: history},
	Shown: map[string]string{".Sentences": "<first>", "every one of .Sentences": "<second>"},
})
