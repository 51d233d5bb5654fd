package prompts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
)

// A Shot is a few-shot example of the user's: a row, and what is known about it. What is empty is not known.
type Shot struct {
	Name       string // of the row, for messages
	Question   string
	Context    string
	Answer     string
	References []string
	Wrong      string          // an answer that contradicts the context
	Verdicts   map[string]bool // by dimension: {"faithfulness": true}
}

// Says is the reply that a verdict on the shot is, "Yes" or "No"; "" where there is none.
func (s *Shot) Says(dimension string) string {
	yes, known := s.Verdicts[dimension]
	switch {
	case !known:
		return ""
	case yes:
		return "Yes"
	}
	return "No"
}

// Bounds of what a prompt shows: far more than helps a judge, and less than would fill a long context.
const (
	MaxShots = 32       // few-shot examples of one prompt
	maxShot  = 16 << 10 // bytes of one, as the prompt shows it
)

// Taught says that a prompt shows few-shot examples, and how often they say yes.
type Taught struct {
	Prompt   string
	Shots    int
	Yes, No  int  // those that say so, of a prompt that asks for a verdict
	Verdicts bool // it does
}

// ErrNoShot says that no few-shot example has something to show to any prompt.
var ErrNoShot = errors.New("none of the examples shows anything to the prompts that are asked")

// WithShots returns the set in which those of asked that take few-shot examples (see [Example.Shot]) show those of
// shots that have something to show to them, in their order, between the system's message and the last one and in place
// of the examples that stand there. All samples are asked with the same examples first, so that they are computed once
// and then prefix-cached. A prompt to which no shot has anything to show stays as it is; it is ErrNoShot if all do.
// A prompt with shots has another digest and says in its version how many there are. It is of the classic layout: in the
// row layout, all prompts share one example.
func (ps Set) WithShots(shots []Shot, asked []*Prompt) (Set, []Taught, error) {
	own := maps.Clone(ps.own)
	if own == nil {
		own = make(map[string]*Prompt)
	}
	var taught []Taught
	for _, builtin := range asked {
		if builtin.Example.Shot == nil || slices.ContainsFunc(taught, func(t Taught) bool {
			return t.Prompt == builtin.Name
		}) {
			continue
		}
		p, t, err := Set{own: ps.own}.For(builtin).withShots(shots)
		if err != nil {
			return Set{}, nil, fmt.Errorf("prompt %s: %w", builtin.Name, err)
		}
		if t.Shots > 0 {
			own[p.Name] = p
			taught = append(taught, t)
		}
	}
	if taught == nil {
		return Set{}, nil, ErrNoShot
	}
	return Set{own, ps.layout}, taught, nil
}

// withShots is the prompt with shots in place of its own examples.
func (p *Prompt) withShots(shots []Shot) (*Prompt, Taught, error) {
	t := Taught{Prompt: p.Name}
	var shown []promptMessage
	digest := sha256.New()
	note := json.NewEncoder(digest)
	note.Encode(p.Digest) // a digest does not fail
	last := p.messages[len(p.messages)-1]
	for i := range shots {
		data, reply := p.Example.Shot(&shots[i])
		if reply == "" {
			continue
		}
		var question strings.Builder
		if err := last.body.Execute(&question, data); err != nil {
			return nil, t, err
		}
		switch {
		case p.Example.Verdict && reply == "Yes":
			t.Yes++
			reply = cmp.Or(p.YesWord, reply)
		case p.Example.Verdict:
			t.No++
			reply = cmp.Or(p.NoWord, reply)
		}
		if n := question.Len() + len(reply); n > maxShot {
			return nil, t, fmt.Errorf("the example %s has %d bytes: at most %d, for it stands before every question: "+
				"shorten it or leave it out", shots[i].Name, n, maxShot)
		}
		if t.Shots++; t.Shots > MaxShots {
			return nil, t, fmt.Errorf("more than %d examples: keep those that are hard to judge, as many for yes as for no",
				MaxShots)
		}
		for _, m := range []promptMessage{
			{role: backend.User, text: strings.TrimSpace(question.String())}, {role: backend.Assistant, text: reply},
		} {
			shown = append(shown, m)
			note.Encode([]string{string(m.role), m.text})
		}
	}
	if t.Shots == 0 {
		return p, t, nil
	}
	t.Verdicts = p.Example.Verdict
	with := *p
	with.messages = nil
	if first := p.messages[0]; first.role == backend.System {
		with.messages = []promptMessage{first}
	}
	with.messages = append(append(with.messages, shown...), last)
	with.Version = fmt.Sprintf("%s with %d examples", p.Version, t.Shots)
	with.Digest = "sha256:" + hex.EncodeToString(digest.Sum(nil))
	return &with, t, nil
}
