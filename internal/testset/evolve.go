package testset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// Questions that are made harder after they have found their passage: the types of Giskard's RAGET and the evolutions of
// Ragas' test sets. What is asked for stays the same in some, whose answer is that of the plain question; the others are
// answered anew.

// evolved reports whether questions of a type are rewritten, and whether they then ask for something else.
func (t Type) evolved() (rewritten, anew bool) {
	switch t {
	case Complex, Distracting, Situational, Conversational:
		return true, false
	case Reasoning, Conditional, Double:
		return true, true
	}
	return false, false
}

// A QueryStyle is the form in which a question is asked, as Ragas has them.
type QueryStyle string

// The forms of questions.
const (
	PlainQuery  QueryStyle = "plain" // as the model writes it
	Misspelled  QueryStyle = "misspelled"
	PoorGrammar QueryStyle = "poor_grammar"
	WebSearch   QueryStyle = "web_search" // a few words, no sentence
)

// ParseQueryStyles returns the forms of names.
func ParseQueryStyles(names []string) ([]QueryStyle, error) {
	var list []QueryStyle
	for _, name := range names {
		s := QueryStyle(strings.TrimSpace(name))
		if !slices.Contains([]QueryStyle{PlainQuery, Misspelled, PoorGrammar, WebSearch}, s) {
			return nil, fmt.Errorf("unknown form of questions %q: plain, misspelled, poor_grammar or web_search", name)
		}
		list = append(list, s)
	}
	return list, nil
}

// evolve rewrites the question of a draft as its type has it.
func (m *Maker) evolve(ctx context.Context, d *Draft, text string) error {
	if rewritten, _ := d.Type.evolved(); !rewritten {
		return nil
	}
	plain := d.Question
	if d.Type == Conversational {
		reply, err := m.Writer.ask(ctx, conversationalPrompt, groundedData{plain, text, ""}, checkMessages)
		if err != nil {
			return err
		}
		d.Plain = plain
		d.Intro, d.Question = twoMessages(reply)
		return nil
	}
	data := rewriteData{Type: string(d.Type), Question: plain, Text: text}
	if d.Type == Distracting {
		others := m.others(d, 1, nil)
		if len(others) == 0 {
			d.drop("no other passage is left to distract with", "")
			return nil
		}
		data.Other = m.passage(others[0]).Text
	}
	reply, err := m.line(ctx, rewritePrompt, data, func(reply string) string {
		switch {
		case tokenize.Normalize(reply) == tokenize.Normalize(plain):
			return "the rewritten question is the plain one"
		case (d.Type == Distracting || d.Type == Situational) && grounded(plain, reply) < minGrounded:
			return "the rewritten question does not ask the same"
		}
		return checkQuestion(reply)
	})
	if err != nil {
		return err
	}
	d.Plain, d.Question = plain, reply
	return nil
}

// checkMessages looks at two messages.
func checkMessages(reply string) string {
	first, then := twoMessages(reply)
	if first == "" || then == "" {
		return "there are no two messages, First and Then"
	}
	return checkQuestion(then)
}

// twoMessages takes a reply of two messages apart; both are empty if it is none.
func twoMessages(reply string) (first, then string) {
	first, then, ok := strings.Cut(reply, "Then:")
	first, labelled := strings.CutPrefix(strings.TrimSpace(first), "First:")
	if !ok || !labelled {
		return "", ""
	}
	return oneLine(first), oneLine(then)
}

// prompted is what the assistant says after the first of two messages.
const prompted = "What would you like to know about it?"

// history are the turns before the question.
func (d *Draft) history() []metrics.Turn {
	if d.Intro == "" {
		return nil
	}
	return []metrics.Turn{{Role: backend.User, Said: d.Intro}, {Role: backend.Assistant, Said: prompted}}
}

// rephrase has the question asked by a person, or in a form, that are drawn at random for it.
func (m *Maker) rephrase(ctx context.Context, d *Draft) error {
	rng := rand.New(rand.NewPCG(m.Writer.Seed, hashed(d.Passages[0]+fmt.Sprint(d.Further, d.Type))))
	if len(m.Personas) > 0 {
		d.Persona = m.Personas[rng.IntN(len(m.Personas))]
	}
	if len(m.QueryStyles) > 0 {
		d.QueryStyle = m.QueryStyles[rng.IntN(len(m.QueryStyles))]
	}
	data := rephraseData{Question: d.Question, Persona: d.Persona}
	if d.QueryStyle != PlainQuery {
		data.Style = string(d.QueryStyle)
	}
	if data.Persona == "" && data.Style == "" {
		return nil
	}
	reply, err := m.line(ctx, rephrasePrompt, data, func(reply string) string {
		if tokenize.Normalize(reply) == tokenize.Normalize(d.Question) && data.Style != "" {
			return "the question is not in the form that was asked for"
		}
		return checkAlone(reply)
	})
	var bad *badReply
	switch {
	case errors.As(err, &bad):
		d.drop(bad.reason, bad.reply)
		return nil
	case err != nil:
		return err
	}
	if d.Plain == "" {
		d.Plain = d.Question
	}
	d.Question = reply
	return nil
}

// outside writes a question that no passage answers: the model, shown the nearest ones, must say that they do not.
func (m *Maker) outside(ctx context.Context, d *Draft, index int) error {
	p := m.Retriever.Passages[index]
	d.Passages = []string{p.ID}
	var err error
	d.Question, err = m.line(ctx, outsidePrompt, questionData{Title: p.Title, Text: p.Text}, checkQuestion)
	if err != nil {
		return err
	}
	hits, err := m.Retriever.Search(ctx, d.Question, distractor)
	if err != nil {
		return err
	}
	var near []string
	for _, h := range hits {
		near = append(near, m.Retriever.Passages[h.Index].Titled())
	}
	_, err = m.Writer.ask(ctx, answerPrompt, answerData{Question: d.Question, Contexts: near}, func(reply string) string {
		if !refuses(reply) {
			return "a passage may answer the question"
		}
		return ""
	})
	d.Answer = refusal
	return err
}

// linked indexes the passages by the names that they share: those that stand in two at least, and in few.
func (m *Maker) linked() {
	m.names, m.sharing = make([][]string, len(m.Retriever.Passages)), map[string][]int{}
	for i, p := range m.Retriever.Passages {
		m.names[i] = names(p.Text)
		for _, name := range m.names[i] {
			m.sharing[name] = append(m.sharing[name], i)
		}
	}
	few := max(3, len(m.Retriever.Passages)/20)
	for name, list := range m.sharing {
		if len(list) < 2 || len(list) > few {
			delete(m.sharing, name)
		}
	}
}

// hop is a passage that shares a name with another and no text, drawn at random, of another document if there is one; and
// the name.
func (m *Maker) hop(index int) (partner int, name string, ok bool) {
	p := m.Retriever.Passages[index]
	type link struct {
		to   int
		name string
	}
	var near, far []link
	for _, name := range m.names[index] {
		for _, i := range m.sharing[name] {
			q := m.Retriever.Passages[i]
			switch {
			case i == index || q.Words < minWords || p.Overlaps(q):
			case q.Document == p.Document:
				near = append(near, link{i, name})
			default:
				far = append(far, link{i, name})
			}
		}
	}
	if far == nil {
		far = near
	}
	if far == nil {
		return 0, "", false
	}
	rng := rand.New(rand.NewPCG(m.Writer.Seed, hashed(p.ID)))
	l := far[rng.IntN(len(far))]
	return l.to, l.name, true
}

// names are the names in a text, each once, in order: runs of words that are written large within a sentence. Where a
// language writes all nouns large, or none, these are more or fewer than names.
func names(text string) []string {
	var list []string
	for _, s := range tokenize.Sentences(text) {
		var run []string
		end := func() {
			if name := strings.Join(run, " "); len(name) > 2 && !slices.Contains(list, name) {
				list = append(list, name)
			}
			run = nil
		}
		for i, field := range strings.Fields(s.Text) {
			word := strings.TrimFunc(field, func(r rune) bool { return !isWordRune(r) })
			word, _ = strings.CutSuffix(strings.ReplaceAll(word, "’", "'"), "'s")
			if i == 0 || word == "" || !startsLarge(word) {
				end()
				continue
			}
			run = append(run, word)
			if last := field[len(field)-1]; last == ',' || last == ';' || last == ':' || last == ')' {
				end()
			}
		}
		end()
	}
	return list
}

// adds reports whether something is said that one text has and the other has not: a word of more than three letters.
func adds(said, text, other string) bool {
	in, not := tokenize.Words(text), tokenize.Words(other)
	return slices.ContainsFunc(tokenize.Words(said), func(w string) bool {
		return utf8.RuneCountInString(w) > 3 && slices.Contains(in, w) && !slices.Contains(not, w)
	})
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// startsLarge reports whether a word begins with a capital and is not the English I.
func startsLarge(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(r) && word != "I"
}
