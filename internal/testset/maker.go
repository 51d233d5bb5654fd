package testset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// A Recipe says what is made of a question.
type Recipe string

// The recipes.
const (
	ARES      Recipe = "ares"      // a true row, and rows with a wrong context or answer
	Questions Recipe = "questions" // the question with its answer and passages, for a RAG to be asked
	WikiEval  Recipe = "wikieval"  // good and worse in faithfulness, answer relevance and context relevance
)

// ParseRecipe returns the recipe of a name.
func ParseRecipe(name string) (Recipe, error) {
	switch r := Recipe(name); r {
	case ARES, Questions, WikiEval:
		return r, nil
	}
	return "", fmt.Errorf("unknown recipe %q: ares, questions or wikieval", name)
}

// A Type is a type of question.
type Type string

// The types of questions.
const (
	Single       Type = "single"       // one passage answers it
	Several      Type = "several"      // it takes two
	Unanswerable Type = "unanswerable" // the passage that answers it is withheld
	Noisy        Type = "noisy"        // the passage that answers it stands among others

	MultiHop       Type = "multihop"       // it takes two passages that speak of the same name, one after the other
	Complex        Type = "complex"        // what it is about is described, not named
	Reasoning      Type = "reasoning"      // two things that the passage says must be put together
	Conditional    Type = "conditional"    // with a condition, on which the answer depends
	Double         Type = "double"         // it asks two things
	Distracting    Type = "distracting"    // it mentions something else first
	Situational    Type = "situational"    // it begins with who asks and why
	Conversational Type = "conversational" // in two messages, of which the second points to the first
	Outside        Type = "outside"        // no passage answers it
)

// AllTypes are the types of questions, in the order in which they are described.
func AllTypes() []Type {
	return []Type{Single, Several, MultiHop, Unanswerable, Noisy, Complex, Reasoning, Conditional, Double, Distracting,
		Situational, Conversational, Outside}
}

// ParseTypes returns the types of names, each once.
func ParseTypes(names []string, r Recipe) ([]Type, error) {
	var types []Type
	for _, name := range names {
		t := Type(strings.TrimSpace(name))
		switch {
		case !slices.Contains(AllTypes(), t):
			return nil, fmt.Errorf("unknown type of question %q: one of %s", name,
				strings.Trim(fmt.Sprint(AllTypes()), "[]"))
		case t == Outside && r != Questions:
			return nil, fmt.Errorf("questions of type %q are for the recipe questions; the others have unanswerable", name)
		case slices.Contains(types, t):
			return nil, fmt.Errorf("the type %q is named twice", name)
		case r == WikiEval && t != Single:
			return nil, fmt.Errorf("the recipe wikieval has no questions of type %q: only single", name)
		case r == Questions && (t == Unanswerable || t == Noisy):
			return nil, fmt.Errorf("the type %q is about the contexts of a row, and the recipe questions writes none: "+
				"it has outside", name)
		}
		types = append(types, t)
	}
	if len(types) == 0 {
		return nil, errors.New("no type of question")
	}
	return types, nil
}

// A Maker makes test sets. See [NewMaker].
type Maker struct {
	Writer     *Writer
	Retriever  *corpus.Retriever
	Recipe     Recipe
	Types      []Type
	N          int   // questions to keep, shared among the types
	Style      Style // of what is asked; "": questions
	PerPassage int   // how many questions each passage is asked about, at most; 0: one

	Personas    []string     // who asks, in words, one drawn for each question; none: nobody in particular
	QueryStyles []QueryStyle // in which form, one drawn for each question; none: as the model writes it

	index   map[string]int   // of passages, by id
	names   [][]string       // in each passage
	sharing map[string][]int // the passages that share a name
}

// NewMaker returns a Maker of n questions. The retriever is one by both methods, for the round trip.
func NewMaker(w *Writer, r *corpus.Retriever, recipe Recipe, types []Type, n int) *Maker {
	m := &Maker{Writer: w, Retriever: r, Recipe: recipe, Types: types, N: n, index: make(map[string]int)}
	for i, p := range r.Passages {
		m.index[p.ID] = i
	}
	if slices.Contains(types, MultiHop) {
		m.linked()
	}
	return m
}

// passage returns the passage of an id.
func (m *Maker) passage(id string) corpus.Passage { return m.Retriever.Passages[m.index[id]] }

const (
	roundTrip  = 20 // the top k that a question retrieves: its own passage must be the first, or none of them
	minWords   = 20 // of a passage to ask about
	partnerTop = 5  // the second passage of a question of two must be among so many
	distractor = 3  // passages beside the one of a noisy question, and instead of that of an unanswerable one
	padding    = 2  // passages that pad a context
	nearest    = 10 // passages by words that a hard negative is drawn from
)

// A Draft is what became of one passage, in the journal. Passages are given by their ids.
type Draft struct {
	Type          Type       `json:"type"`
	Further       int        `json:"further,omitempty"` // of the questions about its passage, from 0
	Passages      []string   `json:"passages"`          // the question's own: one, or two of the type several
	Entity        string     `json:"entity,omitempty"`  // the name that two passages share
	Question      string     `json:"question,omitempty"`
	Plain         string     `json:"plain,omitempty"` // the question before it was rewritten, if it was
	Intro         string     `json:"intro,omitempty"` // what was said before the question
	Answer        string     `json:"answer,omitempty"`
	Others        []string   `json:"others,omitempty"` // passages found for the question that are not its own, best first
	Contradiction string     `json:"contradiction,omitempty"`
	Ungrounded    string     `json:"ungrounded,omitempty"`
	Incomplete    string     `json:"incomplete,omitempty"`
	Persona       string     `json:"persona,omitempty"`
	QueryStyle    QueryStyle `json:"query_style,omitempty"`
	Lost          bool       `json:"lost,omitempty"`    // the question does not find its passage at all: a negative
	Dropped       string     `json:"dropped,omitempty"` // why nothing came of it
	Detail        string     `json:"detail,omitempty"`  // of the reason
}

// Kept reports whether rows are made of the draft.
func (d *Draft) Kept() bool { return d.Dropped == "" && !d.Lost }

// candidates are the passages to ask about, in an order drawn from the seed.
func (m *Maker) candidates() []int {
	var list []int
	for i, p := range m.Retriever.Passages {
		if p.Words >= minWords {
			list = append(list, i)
		}
	}
	rng := rand.New(rand.NewPCG(m.Writer.Seed, 1))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// quota is how many questions of a type are wanted. What does not divide evenly goes to the first types.
func (m *Maker) quota(t int) int {
	n := m.N / len(m.Types)
	if t < m.N%len(m.Types) {
		n++
	}
	return n
}

// Drafts writes questions about one passage after another until there are enough of each type, or no passage is
// left. Kept are the drafts of an earlier attempt; add is given each further one, in order.
func (m *Maker) Drafts(ctx context.Context, kept []Draft, add func(Draft) error) error {
	candidates, each := m.candidates(), max(1, m.PerPassage)
	asked := make(map[string]bool) // questions that are taken, normalised
	next := 0                      // the next question about a candidate
	for t, typ := range m.Types {
		have := 0
		for ; next < len(kept) && kept[next].Type == typ; next++ {
			if kept[next].Kept() {
				have++
				asked[tokenize.Normalize(kept[next].Question)] = true
			}
		}
		want := m.quota(t)
		err := inOrder(ctx, next, width(m.Writer.Model),
			func(item, open int) bool { return item < each*len(candidates) && have+open < want },
			func(ctx context.Context, item int) (Draft, error) {
				return m.draft(ctx, Draft{Type: typ, Further: item % each}, candidates[item/each])
			},
			func(item int, d Draft) error {
				next = item + 1
				if key := tokenize.Normalize(d.Question); d.Kept() && asked[key] {
					d.drop("the question was asked before", "")
				} else if d.Kept() {
					have++
					asked[key] = true
				}
				return add(d)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// drop notes why nothing comes of a draft.
func (d *Draft) drop(reason, detail string) { d.Dropped, d.Detail = reason, detail }

// draft asks about one passage. What goes wrong with it alone is the draft's reason to be dropped.
func (m *Maker) draft(ctx context.Context, d Draft, index int) (Draft, error) {
	err := m.fill(ctx, &d, index)
	var bad *badReply
	switch {
	case err == nil:
	case fatal(ctx, err):
		return d, err
	case errors.As(err, &bad):
		d.drop(bad.reason, bad.reply)
	case errors.Is(err, backend.ErrPromptTooLong):
		d.drop("the passage does not fit in the model's window", err.Error())
	default:
		d.drop("the model failed", err.Error())
	}
	return d, nil
}

func (m *Maker) fill(ctx context.Context, d *Draft, index int) error {
	if d.Type == Outside {
		return m.outside(ctx, d, index)
	}
	passages := m.Retriever.Passages
	own := []int{index}
	if d.Type == Several || d.Type == MultiHop {
		partner, ok := 0, false
		if d.Type == Several {
			partner, ok = m.partner(index)
		} else {
			partner, d.Entity, ok = m.hop(index)
		}
		if !ok {
			d.Passages = []string{passages[index].ID}
			d.drop("no second passage goes with it", "")
			return nil
		}
		own = append(own, partner)
	}
	var texts []string
	for _, i := range own {
		d.Passages = append(d.Passages, passages[i].ID)
		texts = append(texts, passages[i].Text)
	}
	text := strings.Join(texts, "\n")
	if err := m.question(ctx, d, own); err != nil {
		return err
	}
	if found, err := m.roundTrip(ctx, d, own, text); err != nil || !found {
		return err
	}
	_, anew := d.Type.evolved()
	if anew {
		if err := m.evolve(ctx, d, text); err != nil || d.Dropped != "" {
			return err
		}
	}
	var err error
	d.Answer, err = m.line(ctx, m.Style.answers(), groundedData{d.Question, text, ""}, func(reply string) string {
		if d.Type == MultiHop && !(adds(d.Question+" "+reply, texts[0], texts[1]) &&
			adds(d.Question+" "+reply, texts[1], texts[0])) {
			return "one of its passages adds nothing to question and answer"
		}
		return checkAnswer(d.Question, reply, text)
	})
	if err != nil {
		return err
	}
	if !anew {
		if err := m.evolve(ctx, d, text); err != nil || d.Dropped != "" {
			return err
		}
	}
	if err := m.rephrase(ctx, d); err != nil || d.Dropped != "" {
		return err
	}
	switch {
	case m.Recipe == WikiEval:
		return m.worse(ctx, d, text)
	case m.Recipe == ARES && d.Type != Unanswerable:
		return m.contradict(ctx, d, text)
	case d.Type == Unanswerable && len(m.withheld(d)) == 0:
		d.drop("no other passage is left that does not answer it", "")
	}
	return nil
}

// line is the model's reply to a prompt, as one line that passes check.
func (m *Maker) line(ctx context.Context, p *prompts.Prompt, data any, check func(string) string) (string, error) {
	text, err := m.Writer.ask(ctx, p, data, func(text string) string { return check(oneLine(text)) })
	return oneLine(text), err
}

// question has the model ask about the passages.
func (m *Maker) question(ctx context.Context, d *Draft, own []int) error {
	p := m.Retriever.Passages[own[0]]
	asked, check := m.Style.asks()
	about := questionData{Title: p.Title, Text: p.Text}
	if d.Further > 0 {
		about.About = part(p.Text, d.Further, m.Writer.Seed)
	}
	data := any(about)
	if len(own) > 1 {
		second := m.Retriever.Passages[own[1]].Titled()
		asked, data = questionSeveralPrompt, severalData{p.Titled(), second}
		if d.Type == MultiHop {
			asked, data = questionHopPrompt, hopData{p.Titled(), second, d.Entity}
		}
	}
	var err error
	d.Question, err = m.line(ctx, asked, data, func(reply string) string { return check(reply, p.Text) })
	return err
}

// roundTrip is the round-trip consistency filter of ARES: it looks the question up. It is kept if its own passage
// comes first, and a second one soon after. A passage that is not among the first 20 makes a negative of the
// question; one in between leaves it uncertain what answers it.
func (m *Maker) roundTrip(ctx context.Context, d *Draft, own []int, text string) (bool, error) {
	hits, err := m.Retriever.Search(ctx, d.Question, roundTrip)
	if err != nil {
		return false, err
	}
	rank := func(index int) int {
		return 1 + slices.IndexFunc(hits, func(h corpus.Hit) bool { return h.Index == index })
	}
	first := rank(own[0])
	if d.Type == MultiHop { // by which of the two one begins is open, and the other one is found by way of it
		if second := rank(own[1]); first == 0 || second > 0 && second < first {
			first = second
		}
	}
	switch {
	case first == 0 && d.Type == Single && m.Recipe == ARES:
		d.Lost = true
		return false, nil
	case first == 0:
		d.drop(fmt.Sprintf("the question does not find its passage among %d", roundTrip), "")
		return false, nil
	case len(own) > 1 && first > 2 || len(own) == 1 && first != 1:
		d.drop("another passage answers the question better",
			fmt.Sprintf("its own comes as number %d, after %s", first, m.Retriever.Passages[hits[0].Index].ID))
		return false, nil
	case d.Type == Several && (rank(own[1]) == 0 || rank(own[1]) > partnerTop):
		d.drop("the question does not find its second passage", "")
		return false, nil
	}
	for _, h := range hits {
		if p := m.Retriever.Passages[h.Index]; !m.overlaps(p, own) {
			d.Others = append(d.Others, p.ID)
		}
	}
	return true, nil
}

func (m *Maker) overlaps(p corpus.Passage, own []int) bool {
	return slices.ContainsFunc(own, func(i int) bool {
		return p.ID == m.Retriever.Passages[i].ID || p.Overlaps(m.Retriever.Passages[i])
	})
}

// partner is the passage to ask about together with another: the nearest by words of those that share no text with
// it, one of the same document before all others.
func (m *Maker) partner(index int) (int, bool) {
	p := m.Retriever.Passages[index]
	best, found := 0, false
	for _, h := range m.Retriever.Words.Search(p.Text, roundTrip) {
		q := m.Retriever.Passages[h.Index]
		if h.Index == index || q.Words < minWords || p.Overlaps(q) {
			continue
		}
		if q.Document == p.Document {
			return h.Index, true
		}
		if !found {
			best, found = h.Index, true
		}
	}
	return best, found
}

// contradict has the model write an answer that the passage contradicts. That it cannot is no reason to drop the
// question: the draft goes without.
func (m *Maker) contradict(ctx context.Context, d *Draft, text string) error {
	reply, err := m.line(ctx, contradictionPrompt, groundedData{d.Question, text, d.Answer}, func(reply string) string {
		return checkOther(d.Question, reply, d.Answer, text)
	})
	var bad *badReply
	if errors.As(err, &bad) {
		d.Detail = bad.Error()
		return nil
	}
	d.Contradiction = reply
	return err
}

// worse has the model write the worse answers of WikiEval: without the passage, and incomplete.
func (m *Maker) worse(ctx context.Context, d *Draft, text string) error {
	reply, err := m.line(ctx, ungroundedPrompt, groundedData{Question: d.Question}, func(reply string) string {
		return cmp.Or(checkOther(d.Question, reply, d.Answer, text), guessed(d, reply, text))
	})
	if err != nil {
		return err
	}
	d.Ungrounded = reply
	grounded := groundedData{d.Question, text, d.Answer}
	d.Incomplete, err = m.line(ctx, incompletePrompt, grounded, func(reply string) string {
		return checkIncomplete(d.Question, reply, d.Answer, text)
	})
	if err != nil {
		return err
	}
	if len(m.others(d, padding, nil)) < padding {
		d.drop("there are too few other passages to pad its context", "")
	}
	return nil
}

// guessed says so if an answer without the passage says what the passage does.
func guessed(d *Draft, reply, text string) string {
	if told(d.Question, reply, text) >= mostTold {
		return "the answer without the passage says the same"
	}
	return ""
}
