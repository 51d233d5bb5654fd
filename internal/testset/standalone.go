package testset

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// standalone fills the row's standalone question: what the user of a conversation asked, as one would ask it who had
// not read what was said before. One that the row has is kept, and a row without a conversation needs none.
func (a *Answerer) standalone(ctx context.Context, row *Answered) error {
	if len(row.History) == 0 || !metrics.Blank(row.Standalone) {
		return nil
	}
	data := answerData{Question: row.Question, History: metrics.LastTurns(row.History, metrics.MostHistory)}
	question, err := a.Writer.ask(ctx, standalonePrompt, data, notAQuestion)
	if err != nil {
		return fmt.Errorf("the standalone question: %w", err)
	}
	row.Standalone = question
	return nil
}

// notAQuestion says why a reply is no rewritten question.
func notAQuestion(text string) string {
	switch {
	case !tokenize.HasWords(text):
		return "the reply has no words"
	case strings.Contains(text, "\n"):
		return "the reply is more than one line"
	}
	return ""
}
