package judged

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// summaryScore has the judge write yes/no questions about the text's key phrases, and takes the mean of the share
// that the summary answers with yes and of its conciseness. The text is the sample's reference contexts, or its
// contexts if it has none of those. A text that is too long for one prompt is read in windows, each with its own
// key phrases.
//
// Every question that was asked counts. Ragas divides by the answers that came back, whatever their number.
func summaryScore() metrics.Metric {
	return metrics.Metric{
		Name: "summary/score",
		Doc: "mean of the share of questions about the text's key phrases that the summary answers, and of its " +
			"conciseness",
		Source: "Ragas 0.4, summarization score",
		Formula: "(questions that the summary answers with yes / questions) / 2 + (1 - characters of the summary / " +
			"characters of the text) / 2, the second term 0 for a summary longer than the text",
		Calls:   "2 replies for each window of the text, 1 for every 8 questions",
		Default: true,
		Min:     0,
		Max:     1,
		Needs:   metrics.Answer, // and ReferenceContexts or Contexts
		Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
		Prompts: []*prompts.Prompt{summaryPhrasesPrompt, summaryQuestionsPrompt, summaryVerdictsPrompt,
			summaryVerdictPrompt},
		Score: scoreSummary,
	}
}

// brevityWeight is Ragas' coeff, the weight of conciseness.
const brevityWeight = 0.5

func scoreSummary(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	texts := s.ReferenceContexts
	if metrics.Blank(texts...) {
		texts = s.Contexts
	}
	if metrics.Blank(texts...) {
		return metrics.Score{},
			fmt.Errorf("%w: the sample has neither reference_contexts nor contexts, the text to be summed up",
				metrics.ErrNotApplicable)
	}
	questions, err := summaryQuestions(ctx, m, texts)
	if err != nil {
		return metrics.Score{}, err
	}
	if len(questions) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the judge found no key phrase in the text", metrics.ErrNotApplicable)
	}
	verdicts, err := reading{summaryVerdictsPrompt, summaryVerdictPrompt, metrics.Excerpt{Text: s.Answer}, s}.judge(ctx, m,
		questions)
	if err != nil {
		return metrics.Score{}, err
	}
	var list []metrics.Finding
	for i, v := range verdicts {
		list = append(list, metrics.Finding{Kind: "question", Text: questions[i], Verdict: &v.Yes, Reason: v.Reason})
	}
	score := shareOf(list)
	length, of := utf8.RuneCountInString(s.Answer), utf8.RuneCountInString(strings.Join(texts, "\n"))
	brevity := 1 - float64(min(length, of))/float64(of)
	score.Because = append(score.Because,
		metrics.Finding{Kind: "note", Text: fmt.Sprintf("brevity: %d characters of %d", length, of), Value: &brevity})
	score.Ratio, score.Value = nil, (1-brevityWeight)*score.Value+brevityWeight*brevity
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
func summaryQuestions(ctx context.Context, m metrics.Models, texts []string) ([]string, error) {
	p := m.Prompts.For(summaryPhrasesPrompt)
	var all []ask.Item
	_, err := metrics.NewPassage(texts).InWindows(false, func(text string) error {
		q := ask.Query{Prompt: p, Data: phrasesData{text}}
		phrases, err := ask.Judge(ctx, m, q, func(r ask.Reply) ([]string, error) { return decodeFirst(r, p.Nothing) })
		if err != nil || len(phrases) == 0 {
			return err
		}
		q = ask.Query{Prompt: summaryQuestionsPrompt, Data: summaryQuestionsData{text, phrases}}
		questions, err := ask.Judge(ctx, m, q, func(r ask.Reply) ([]string, error) { return decodeFirst(r, nil) })
		for _, question := range questions {
			all = append(all, ask.Item{Number: -1, Text: question})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	questions, _ := ask.Distinct(all)
	return questions, nil
}

// errUnfinished says that a list of bounded length was cut. Asking about less text at once, as after
// [metrics.ErrCut], would not help.
var errUnfinished = errors.New("the list is not finished")

// decodeFirst is [ask.DecodeList] of the first maxPhrases items. What comes after them may be cut.
func decodeFirst(r ask.Reply, nothing []string) ([]string, error) {
	if items := ask.ParseList(r.Text); r.Cut && len(items) > 0 {
		if whole, _ := ask.Distinct(items[:len(items)-1]); len(whole) >= maxPhrases {
			return whole[:maxPhrases], nil
		}
	}
	list, err := ask.DecodeList(r, nothing)
	if errors.Is(err, metrics.ErrCut) {
		return nil, errUnfinished
	}
	return list[:min(len(list), maxPhrases)], err
}

var summaryPhrasesPrompt = prompts.Builtin("summary_phrases", prompts.Example{Data: phrasesData{Text: "<text>"},
	Shown: map[string]string{".Text": "<text>"}})

var summaryQuestionsPrompt = prompts.Builtin("summary_questions", prompts.Example{
	Data:  summaryQuestionsData{Text: "<text>", Phrases: []string{"<first>", "<second>"}},
	Shown: map[string]string{".Text": "<text>", ".Phrases": "<first>", "every one of .Phrases": "<second>"},
})

var summaryVerdictsPrompt = prompts.Builtin("summary_verdicts", prompts.Example{
	Data: verdictsData{Context: "<summary>", Statements: []string{"<first>", "<second>"}},
	Shown: map[string]string{".Context": "<summary>", ".Statements": "<first>",
		"every one of .Statements": "<second>"},
})

var summaryVerdictPrompt = prompts.Builtin("summary_verdict", prompts.Example{
	Data:  verdictData{Context: "<summary>", Statement: "<question>"},
	Shown: map[string]string{".Context": "<summary>", ".Statement": "<question>"},
})
