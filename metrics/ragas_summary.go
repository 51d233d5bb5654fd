package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
)

// summaryScore asks of a summary what the text's key phrases lead to ask, and weighs the share of what it
// answers against its brevity. The text is the sample's reference contexts, or its contexts if it has none
// of those. A text that is too long for one prompt is read in windows, each with its own key phrases.
//
// Every question that was asked counts. Ragas divides by the answers that came back, whatever their number.
func summaryScore() Metric {
	return Metric{
		Name:    "summary/score",
		Doc:     "share of questions on the text's key phrases that the summary answers, and its brevity, half and half",
		Source:  "Ragas 0.4, summarization score",
		Formula: "(questions that the summary answers with yes / questions) / 2 + (1 - characters of the summary / characters of the text) / 2, the second term 0 for a summary longer than the text",
		Calls:   "2 replies for each window of the text, 1 for every 8 questions",
		Default: true,
		Min:     0,
		Max:     1,
		Needs:   Answer, // and ReferenceContexts or Contexts
		Asks:    Asks{backend.Judge: backend.CanGenerate},
		Prompts: []string{"summary_phrases", "summary_questions", "summary_verdicts", "summary_verdict"},
		Score:   scoreSummary,
	}
}

// brevityWeight is Ragas' c.
const brevityWeight = 0.5

func scoreSummary(ctx context.Context, m Models, s *Sample) (Score, error) {
	texts := s.ReferenceContexts
	if blank(texts...) {
		texts = s.Contexts
	}
	if blank(texts...) {
		return Score{}, fmt.Errorf("%w: the sample has neither reference_contexts nor contexts, the text to be summed up", ErrNotApplicable)
	}
	questions, err := summaryQuestions(ctx, m, texts)
	if err != nil {
		return Score{}, err
	}
	if len(questions) == 0 {
		return Score{}, fmt.Errorf("%w: the judge found no key phrase in the text", ErrNotApplicable)
	}
	verdicts, err := reading{"summary_verdicts", "summary_verdict", s.Answer, s}.judge(ctx, m, questions)
	if err != nil {
		return Score{}, err
	}
	var list []Finding
	for i, v := range verdicts {
		list = append(list, Finding{Kind: "question", Text: questions[i], Verdict: &v.yes, Reason: v.reason})
	}
	score := shareOf(list)
	length, of := utf8.RuneCountInString(s.Answer), utf8.RuneCountInString(strings.Join(texts, "\n"))
	brevity := 1 - float64(min(length, of))/float64(of)
	score.Because = append(score.Because,
		Finding{Kind: "note", Text: fmt.Sprintf("brevity: %d characters of %d", length, of), Value: &brevity})
	score.Value = (1-brevityWeight)*score.Value + brevityWeight*brevity
	return score, nil
}

// maxPhrases is how many key phrases are taken from a window at most, and how many questions: what the prompts
// ask for.
const maxPhrases = 10

// phrasesData is what summary_phrases is rendered with.
type phrasesData struct {
	Text string
}

// summaryQuestionsData is what summary_questions is rendered with.
type summaryQuestionsData struct {
	Text    string
	Phrases []string
}

// summaryQuestions has the judge write questions on a text, all of which the text answers with yes.
func summaryQuestions(ctx context.Context, m Models, texts []string) ([]string, error) {
	p, ok := m.Prompts.Lookup("summary_phrases")
	if !ok {
		return nil, errors.New("no prompt summary_phrases")
	}
	var all []item
	_, err := newPassage(texts).inWindows(false, func(text string) error {
		q := query{prompt: p.Name, data: phrasesData{text}}
		phrases, err := ask(ctx, m, q, func(r reply) ([]string, error) { return decodeFirst(r, p.Nothing) })
		if err != nil || len(phrases) == 0 {
			return err
		}
		q = query{prompt: "summary_questions", data: summaryQuestionsData{text, phrases}}
		questions, err := ask(ctx, m, q, func(r reply) ([]string, error) { return decodeFirst(r, nil) })
		for _, question := range questions {
			all = append(all, item{-1, question})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	questions, _ := distinct(all)
	return questions, nil
}

// errUnfinished says that a list of bounded length was not written to its end. Asking about less text at once,
// as after errCut, would not help.
var errUnfinished = errors.New("the list is not finished")

// decodeFirst is decodeList of the first maxPhrases items. What comes after them may be cut.
func decodeFirst(r reply, nothing []string) ([]string, error) {
	if items := parseList(r.text); r.cut && len(items) > 0 {
		if whole, _ := distinct(items[:len(items)-1]); len(whole) >= maxPhrases {
			return whole[:maxPhrases], nil
		}
	}
	list, err := decodeList(r, nothing)
	if errors.Is(err, errCut) {
		return nil, errUnfinished
	}
	return list[:min(len(list), maxPhrases)], err
}
