package testset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/metrics"
)

// wikiEval makes four rows of each question: a good one, and one that is worse in each dimension.
func (b *builder) wikiEval() {
	for _, q := range b.questions {
		padded := slices.Concat(q.Passages, b.maker.others(q.Draft, padding, nil))
		w := worse{ungrounded: q.Draft.Ungrounded, incomplete: q.Draft.Incomplete, padded: b.texts(padded),
			paddedIDs: padded}
		b.rows = append(b.rows, w.beside(b.row(q, Good, nil, q.Answer))...)
	}
}

// worse is what is worse than a good row, in each dimension.
type worse struct {
	ungrounded, incomplete string
	padded, paddedIDs      []string
}

// beside are the good row and the three that are worse. Each of these has as its rival what is better in the good
// one, so that a judge, or a person, can be asked which of the two they prefer: an answer or contexts.
func (w worse) beside(good Row) []Row {
	good.Labels = map[string]int{contextRelevance: 1, answerFaithfulness: 1, answerRelevance: 1}
	row := func(kind Kind, in string, labels map[string]int) Row {
		r := good
		r.ID, r.Kind, r.Worse, r.Labels = good.Group+"/"+string(kind), kind, in, labels
		return r
	}
	ungrounded := row(Ungrounded, "faithfulness", map[string]int{contextRelevance: 1, answerFaithfulness: 0})
	ungrounded.Sample.Answer, ungrounded.OtherAnswers = w.ungrounded, []string{good.Sample.Answer}
	incomplete := row(Incomplete, "answer_relevance", map[string]int{contextRelevance: 1, answerRelevance: 0})
	incomplete.Sample.Answer, incomplete.OtherAnswers = w.incomplete, []string{good.Sample.Answer}
	padded := row(Padded, "context_relevance", nil)
	padded.Contexts, padded.ContextIDs, padded.OtherContexts = w.padded, w.paddedIDs, [][]string{good.Contexts}
	return []Row{good, ungrounded, incomplete, padded}
}

// publishedColumns are those of the WikiEval that was published with the RAGAS paper.
var publishedColumns = []string{"question", "answer", "ungrounded_answer", "poor_answer", "context_v1", "context_v2"}

// Published reads WikiEval as it was published with the RAGAS paper (Es et al. 2023, arXiv 2309.15217, section 4), in
// any format of datasets, and makes of each of its rows the four that the recipe [WikiEval] makes of a question:
// context_v1 is the good row's, context_v2 the padded one's, poor_answer the incomplete answer. It returns the SHA-256
// of the file, too.
func Published(ctx context.Context, path string) (rows []Row, sum string, err error) {
	if err := checkPublished(ctx, path); err != nil {
		return nil, "", err
	}
	data, err := dataset.Open(ctx, path,
		dataset.Options{Map: map[string]string{"contexts": "context_v1", "other_contexts": "context_v2"}})
	if err != nil {
		return nil, "", err
	}
	defer data.Close()
	n := 0
	for s, err := range data.Samples(ctx) {
		if err != nil {
			return nil, "", err
		}
		n++
		four, err := publishedRows(s, fmt.Sprintf("w%04d", n))
		if err != nil {
			return nil, "", fmt.Errorf("%s, row %d: %w", path, n, err)
		}
		rows = append(rows, four...)
	}
	return rows, data.Summary().SHA256, nil
}

// checkPublished returns an error that names the columns that are missing.
func checkPublished(ctx context.Context, path string) error {
	data, err := dataset.Open(ctx, path, dataset.Options{Limit: 1})
	if err != nil {
		return err
	}
	defer data.Close()
	var have, missing []string
	for _, c := range data.Summary().Columns {
		have = append(have, c.Name)
	}
	for _, name := range publishedColumns {
		if !slices.Contains(have, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is not WikiEval as it was published: it lacks %s; its columns: %s", path,
			strings.Join(missing, ", "), strings.Join(have, ", "))
	}
	return nil
}

func publishedRows(s *metrics.Sample, group string) ([]Row, error) {
	var w worse
	for column, into := range map[string]*string{"ungrounded_answer": &w.ungrounded, "poor_answer": &w.incomplete} {
		if json.Unmarshal(s.Extra[column], into) != nil {
			return nil, fmt.Errorf("the %s is no text", column)
		}
	}
	w.padded = slices.Concat(s.OtherContexts...)
	if metrics.Blank(s.Question) || metrics.Blank(s.Answer) || metrics.Blank(s.Contexts...) ||
		metrics.Blank(w.ungrounded) || metrics.Blank(w.incomplete) || metrics.Blank(w.padded...) {
		return nil, errors.New("one of its texts is empty")
	}
	good := Row{Type: Single, Kind: Good}
	good.ID, good.Group, good.Question, good.Sample.Answer = group+"/"+string(Good), group, s.Question, s.Answer
	good.Contexts = s.Contexts
	return w.beside(good), nil
}
