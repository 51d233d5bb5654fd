package testset

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/metrics"
)

// A Row is a row of a test set. Its JSON is one that datasets are read from.
type Row struct {
	metrics.Sample
	Type Type `json:"type"`
	Kind Kind `json:"kind"`
	// the dimension in which it is worse than the good row of its group
	Worse  string         `json:"worse_in,omitempty"`
	Labels map[string]int `json:"labels,omitempty"` // by construction: 1 or 0 for each dimension without doubt
}

// A Kind says what a row is in its group: the true one, or what is wrong with it.
type Kind string

// The kinds of rows.
const (
	Positive      Kind = "positive"       // the question, its passage and its answer
	WeakContext   Kind = "weak_context"   // with a random passage, of another document if there is one
	StrongContext Kind = "strong_context" // with a passage of the same document, or one near by its words
	WeakAnswer    Kind = "weak_answer"    // with the answer to another question
	StrongAnswer  Kind = "strong_answer"  // with an answer that contradicts the passage
	LostContext   Kind = "lost_context"   // a question that does not find the passage that it was written from
	Withheld      Kind = "withheld"       // with others than the passage that answers it, and a refusal

	Good       Kind = "good"       // of WikiEval: grounded answer, its own passage
	Ungrounded Kind = "ungrounded" // answered without the passage
	Incomplete Kind = "incomplete" // answered in part
	Padded     Kind = "padded"     // other passages added
)

// The dimensions of labels.
const (
	contextRelevance   = "context_relevance"
	answerFaithfulness = "answer_faithfulness"
	answerRelevance    = "answer_relevance" // ARES': an answer that contradicts the passage is none
)

// refusal is the answer of a row whose contexts do not answer its question.
const refusal = "The texts do not say."

// Rows makes the rows of a test set from its drafts. It asks no model: the same drafts make the same rows.
func (m *Maker) Rows(drafts []Draft) []Row {
	b := builder{maker: m}
	n := 0
	for i := range drafts {
		d := &drafts[i]
		if d.Dropped != "" {
			continue
		}
		n++
		q := question{d, fmt.Sprintf("q%04d", n), rand.New(rand.NewPCG(m.Writer.Seed, hashed(d.Question)))}
		b.questions = append(b.questions, q)
	}
	switch m.Recipe {
	case WikiEval:
		b.wikiEval()
	case Questions:
		for _, q := range b.questions {
			row := b.row(q, Positive, nil, q.Answer)
			row.Sample.Answer, row.Contexts, row.ContextIDs = "", nil, nil
			b.rows = append(b.rows, row)
		}
	default:
		b.ares()
	}
	return b.rows
}

func hashed(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// A question is a draft that rows are made of, the name of their group, and what is drawn at random for it.
type question struct {
	*Draft
	group string
	rng   *rand.Rand
}

type builder struct {
	maker     *Maker
	questions []question
	rows      []Row
}

// row makes a row with the question's own contexts, if ids is nil, or those.
func (b *builder) row(q question, kind Kind, ids []string, answer string) Row {
	row := Row{Type: q.Type, Kind: kind}
	row.ID, row.Group, row.Question, row.Sample.Answer = q.group+"/"+string(kind), q.group, q.Question, answer
	if q.Answer != "" {
		row.References = []string{q.Answer}
	}
	row.ReferenceContextIDs, row.ReferenceContexts = q.Passages, b.texts(q.Passages)
	if ids == nil {
		ids = q.Passages
	}
	row.ContextIDs, row.Contexts = ids, b.texts(ids)
	return row
}

func (b *builder) texts(ids []string) []string {
	var texts []string
	for _, id := range ids {
		texts = append(texts, b.maker.passage(id).Text)
	}
	return texts
}

// add appends a row with labels.
func (b *builder) add(row Row, labels map[string]int) {
	row.Labels = labels
	b.rows = append(b.rows, row)
}

// ares makes for each question a positive row, one with a wrong context and one with a wrong answer. Of each, as many
// negatives are weak as are strong, or one more: what a question cannot have, such as a contradiction that the model
// did not manage, another one has in its place.
func (b *builder) ares() {
	strongContexts := b.share(func(q question) bool { return len(b.strongContext(q)) > 0 })
	strongAnswers := b.share(func(q question) bool { return q.Contradiction != "" })
	for i, q := range b.questions {
		switch {
		case q.Lost:
			b.add(b.row(q, LostContext, nil, ""), map[string]int{contextRelevance: 0})
			continue
		case q.Type == Unanswerable:
			row := b.row(q, Withheld, b.maker.withheld(q.Draft), refusal)
			row.References = []string{refusal}
			b.add(row, map[string]int{contextRelevance: 0})
			continue
		}
		own := b.contexts(q)
		b.add(b.row(q, Positive, own, q.Answer),
			map[string]int{contextRelevance: 1, answerFaithfulness: 1, answerRelevance: 1})
		switch strongContexts[i] {
		case strong:
			b.add(b.row(q, StrongContext, b.strongContext(q), q.Answer), map[string]int{contextRelevance: 0})
		case weak:
			if ids := b.weakContext(q); ids != nil {
				b.add(b.row(q, WeakContext, ids, q.Answer), map[string]int{contextRelevance: 0, answerFaithfulness: 0})
			}
		}
		wrong := map[string]int{contextRelevance: 1, answerFaithfulness: 0, answerRelevance: 0}
		switch strongAnswers[i] {
		case strong:
			b.add(b.row(q, StrongAnswer, own, q.Contradiction), wrong)
		case weak:
			if answer := b.otherAnswer(i); answer != "" {
				b.add(b.row(q, WeakAnswer, own, answer), wrong)
			}
		}
	}
}

// A strength says which negative a question gets: a hard (strong) one or an easy (weak) one.
type strength int

const (
	none strength = iota
	weak
	strong
)

// share gives every second question that can a hard (strong) negative, and as many others a weak one.
func (b *builder) share(can func(question) bool) []strength {
	given := make([]strength, len(b.questions))
	var able, all []int
	for i, q := range b.questions {
		if q.Lost || q.Type == Unanswerable {
			continue
		}
		all = append(all, i)
		if can(q) {
			able = append(able, i)
		}
	}
	n := min(len(able), len(all)/2) // of strong ones
	for k := range n {
		given[able[k*len(able)/n]] = strong // spread over those that can
	}
	left := n + len(all)%2
	for _, i := range all {
		if given[i] == none && left > 0 {
			given[i] = weak
			left--
		}
	}
	return given
}

// contexts are those of a true row: the question's passages, and beside that of a noisy one others, in an order
// drawn at random.
func (b *builder) contexts(q question) []string {
	if q.Type != Noisy {
		return q.Passages
	}
	ids := slices.Concat(q.Passages, b.maker.others(q.Draft, distractor,
		rand.New(rand.NewPCG(b.maker.Writer.Seed, hashed(q.Question+"?")))))
	rng := rand.New(rand.NewPCG(b.maker.Writer.Seed, hashed(q.Question)))
	rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

// strongContext is a hard negative, a passage that looks like the question's own: of the same document, or else the
// nearest by its words, that shares no text with it and does not hold the answer.
func (b *builder) strongContext(q question) []string {
	m := b.maker
	own := m.passage(q.Passages[0])
	var near []string
	for _, h := range m.Retriever.Words.Search(own.Text, roundTrip) {
		p := m.Retriever.Passages[h.Index]
		if !m.mayReplace(q.Draft, p) {
			continue
		}
		if p.Document == own.Document {
			return []string{p.ID}
		}
		near = append(near, p.ID)
	}
	return near[:min(1, len(near))]
}

// weakContext is an easy negative, a passage drawn at random, of another document if there is one.
func (b *builder) weakContext(q question) []string {
	passages := b.maker.Retriever.Passages
	own := b.maker.passage(q.Passages[0])
	var near []string
	for _, i := range q.rng.Perm(len(passages)) {
		p := passages[i]
		if p.Document == own.Document && near != nil || !b.maker.mayReplace(q.Draft, p) {
			continue
		}
		if p.Document != own.Document {
			return []string{p.ID}
		}
		near = []string{p.ID}
	}
	return near
}

// otherAnswer is the answer to another question, drawn at random: of another document if there is one, and
// not one that the passage or the question's own answer holds.
func (b *builder) otherAnswer(i int) string {
	q := b.questions[i]
	document := func(q question) int { return b.maker.passage(q.Passages[0]).Document }
	text := ""
	for _, t := range b.texts(q.Passages) {
		text += t + "\n"
	}
	var far, rest []string
	for j, other := range b.questions {
		switch {
		case i == j || other.Answer == "" || slices.Equal(other.Passages, q.Passages) ||
			grounded(other.Answer, text) >= mostTold,
			grounded(other.Answer, q.Answer) >= mostTold:
		case document(other) != document(q):
			far = append(far, other.Answer)
		default:
			rest = append(rest, other.Answer)
		}
	}
	if far == nil {
		far = rest
	}
	if far == nil {
		return ""
	}
	return far[q.rng.IntN(len(far))]
}

// wikiEval makes four rows of each question: a good one, and one that is worse in each dimension.
func (b *builder) wikiEval() {
	for _, q := range b.questions {
		padded := slices.Concat(q.Passages, b.maker.others(q.Draft, padding, nil))
		b.add(b.row(q, Good, nil, q.Answer), map[string]int{
			contextRelevance: 1, answerFaithfulness: 1, answerRelevance: 1,
		})
		for _, worse := range []struct {
			kind   Kind
			in     string
			ids    []string
			answer string
			labels map[string]int
		}{
			{Ungrounded, "faithfulness", nil, q.Draft.Ungrounded,
				map[string]int{contextRelevance: 1, answerFaithfulness: 0}},
			{Incomplete, "answer_relevance", nil, q.Draft.Incomplete,
				map[string]int{contextRelevance: 1, answerRelevance: 0}},
			{Padded, "context_relevance", padded, q.Answer, nil},
		} {
			row := b.row(q, worse.kind, worse.ids, worse.answer)
			row.Worse = worse.in
			b.add(row, worse.labels)
		}
	}
}

// mayReplace reports whether a passage can stand for one that does not answer the question: it shares no text with
// the question's own, and does not hold what the answer adds to the question.
func (m *Maker) mayReplace(d *Draft, p corpus.Passage) bool {
	if slices.Contains(d.Passages, p.ID) || told(d.Question, d.Answer, p.Text) >= mostTold {
		return false
	}
	for _, id := range d.Passages {
		if p.Overlaps(m.passage(id)) {
			return false
		}
	}
	return true
}

// withheld are the passages that are shown instead of the one that answers the question.
func (m *Maker) withheld(d *Draft) []string { return m.others(d, distractor, nil) }

// others are the n passages found for the question that may replace its own, best first. With an rng, the last of
// them is drawn from the whole corpus.
func (m *Maker) others(d *Draft, n int, rng *rand.Rand) []string {
	var ids []string
	for _, id := range d.Others {
		if m.mayReplace(d, m.passage(id)) {
			ids = append(ids, id)
		}
	}
	if rng == nil || len(ids) < n {
		return ids[:min(n, len(ids))]
	}
	ids = ids[:n-1]
	for _, i := range rng.Perm(len(m.Retriever.Passages)) {
		p := m.Retriever.Passages[i]
		if !slices.Contains(ids, p.ID) && m.mayReplace(d, p) {
			return append(ids, p.ID)
		}
	}
	return ids
}
