package testset

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// An Answerer is a plain RAG: it retrieves the passages for a question and has the model answer from them. It is
// meant as a baseline to measure others by, and as a source of something to measure.
type Answerer struct {
	Writer    *Writer
	Retriever *corpus.Retriever
	Top       int // passages that the model is shown; 0 has it answer from what it knows (closed book)

	// Rewrite has the model make a standalone question of each that is a turn of a conversation: by that are passages
	// found, and that is answered. Without it, they are found by [metrics.Sample.Asked], and the conversation is shown.
	Rewrite bool

	RetrieveOnly bool // the passages are found and no answer is asked for: without Rewrite, the Writer needs no model
}

// An Answered is a row of a dataset: the question with whatever came with it, and what the RAG made of it. Its
// JSON is one that datasets are read from.
type Answered struct {
	metrics.Sample
	Scores []float64 `json:"context_scores,omitempty"` // of the contexts, as the retriever gave them
	Error  string    `json:"error,omitempty"`          // why there is no answer
}

// MarshalJSON puts the sample's extra columns back beside its own.
func (a Answered) MarshalJSON() ([]byte, error) {
	extra := a.Extra
	a.Extra = nil
	type row Answered // without this method
	return beside(row(a), extra)
}

// beside is the JSON of an object with the members of extra that it does not have itself, sorted by name.
func beside(object any, extra map[string]json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(object); err != nil {
		return nil, err
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(b.Bytes(), &own); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - len("}\n"))
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if _, ok := own[name]; ok {
			continue
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", key, extra[name])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Answer answers one question. The answer and contexts that the sample may have had are replaced. What goes
// wrong with this question alone is the row's Error.
func (a *Answerer) Answer(ctx context.Context, s *metrics.Sample) (Answered, error) {
	row := Answered{Sample: *s}
	row.Sample.Answer, row.Contexts, row.ContextIDs = "", nil, nil
	err := a.answer(ctx, &row)
	if err != nil && fatal(ctx, err) {
		return row, cmp.Or(ctx.Err(), err) // an interruption is one, whatever else was wrong with the row
	}
	if errors.Is(err, backend.ErrPromptTooLong) {
		err = fmt.Errorf("%w: fewer or shorter passages would fit, or a larger --context", err)
	}
	if err != nil {
		row.Error = err.Error()
	}
	return row, nil
}

func (a *Answerer) answer(ctx context.Context, row *Answered) error {
	if err := ctx.Err(); err != nil {
		return err // looking up words asks nobody who would heed it
	}
	if row.Fields()&metrics.Question == 0 {
		return errors.New("there is no question")
	}
	if a.Rewrite {
		if err := a.standalone(ctx, row); err != nil {
			return err
		}
	}
	if a.Top == 0 {
		return a.ask(ctx, closedBookPrompt, row)
	}
	hits, err := a.Retriever.Search(ctx, row.Asked(), a.Top)
	if err != nil {
		return err
	}
	row.ContextIDs = []string{} // nothing found is a finding, too
	for _, h := range hits {
		p := a.Retriever.Passages[h.Index]
		row.Contexts = append(row.Contexts, p.Titled())
		row.ContextIDs = append(row.ContextIDs, p.ID)
		row.Scores = append(row.Scores, h.Score)
	}
	if a.RetrieveOnly {
		return nil
	}
	return a.ask(ctx, answerPrompt, row)
}

// ask has the model answer the question: the one that stands alone, or else the last turn with those before it.
func (a *Answerer) ask(ctx context.Context, p *prompts.Prompt, row *Answered) error {
	data := answerData{row.Question, row.Contexts, metrics.LastTurns(row.History, metrics.MostHistory)}
	if len(row.History) > 0 && !metrics.Blank(row.Standalone) {
		data.Question, data.History = row.Standalone, nil
	}
	var err error
	row.Sample.Answer, err = a.Writer.ask(ctx, p, data, func(text string) string {
		if text == "" {
			return "the reply is empty"
		}
		return ""
	})
	return err
}

// AnswerAll answers questions and hands the rows to emit in their order. It begins with the one numbered first.
func (a *Answerer) AnswerAll(ctx context.Context, questions []*metrics.Sample, first int,
	emit func(Answered) error) error {
	return inOrder(ctx, first, a.width(),
		func(item, _ int) bool { return item < len(questions) },
		func(ctx context.Context, item int) (Answered, error) { return a.Answer(ctx, questions[item]) },
		func(_ int, row Answered) error { return emit(row) })
}

func (a *Answerer) width() int {
	if a.Writer.Model == nil {
		return 2 * runtime.GOMAXPROCS(0)
	}
	return width(a.Writer.Model)
}

// width is how many items to hold open: enough that one slow item at the head leaves no slot idle.
func width(b backend.Backend) int { return 2 * cmp.Or(b.Info().Slots, 1) }

// Draw returns n of the questions, drawn at random by the seed, in their own order; all of them if there are no more.
func Draw(questions []*metrics.Sample, n int, seed uint64) []*metrics.Sample {
	if n >= len(questions) {
		return questions
	}
	drawn := rand.New(rand.NewPCG(seed, 2)).Perm(len(questions))[:n]
	slices.Sort(drawn)
	list := make([]*metrics.Sample, n)
	for i, at := range drawn {
		list[i] = questions[at]
	}
	return list
}
