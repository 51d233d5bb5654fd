package backend

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Check reports what makes a request impossible on any model, as an error wrapping [ErrInvalid].
// Engines call it first, so that they all refuse the same things.
func (r *GenerateRequest) Check() error {
	switch {
	case r.MaxTokens <= 0:
		return fmt.Errorf("%w: max tokens is %d, not positive", ErrInvalid, r.MaxTokens)
	case r.Draw < 0:
		return fmt.Errorf("%w: draw is %d, negative", ErrInvalid, r.Draw)
	case !(r.Sampling.Temperature >= 0 && r.Sampling.Temperature <= 100):
		return fmt.Errorf("%w: temperature is %v, not in [0, 100]", ErrInvalid, r.Sampling.Temperature)
	case !(r.Sampling.TopP >= 0 && r.Sampling.TopP <= 1):
		return fmt.Errorf("%w: top-p is %v, not in [0, 1]", ErrInvalid, r.Sampling.TopP)
	case r.Sampling.TopK < 0:
		return fmt.Errorf("%w: top-k is %d, negative", ErrInvalid, r.Sampling.TopK)
	case r.Schema != nil && !json.Valid(r.Schema):
		return fmt.Errorf("%w: the schema is not JSON", ErrInvalid)
	}
	if err := CheckText(string(r.Schema)); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	for _, s := range r.Stop {
		if s == "" {
			return fmt.Errorf("%w: a stop string is empty", ErrInvalid)
		}
		if err := CheckText(s); err != nil {
			return fmt.Errorf("stop string: %w", err)
		}
	}
	if len(r.Tokens) > 0 {
		return checkTokens(r.Tokens, len(r.Messages)+len(r.Documents))
	}
	return checkMessages(r.Messages, r.Documents)
}

// Check is [GenerateRequest.Check] for a ScoreRequest.
func (r *ScoreRequest) Check() error {
	switch {
	case r.Likely < 0 || r.Likely > MaxLikely:
		return fmt.Errorf("%w: %d likely tokens, not in 0 to %d", ErrInvalid, r.Likely, MaxLikely)
	case len(r.Tokens) > 0:
		return checkTokens(r.Tokens, len(r.Messages)+len(r.Documents)+len(r.Continuations))
	case r.Likely > 0:
		return fmt.Errorf("%w: likely tokens are told at places of tokens, and there are none", ErrInvalid)
	}
	if len(r.Continuations) == 0 {
		return fmt.Errorf("%w: no continuations", ErrInvalid)
	}
	for i, c := range r.Continuations {
		if c == "" {
			return fmt.Errorf("%w: continuation %d is empty", ErrInvalid, i)
		}
		if err := CheckText(c); err != nil {
			return fmt.Errorf("continuation %d: %w", i, err)
		}
	}
	return checkMessages(r.Messages, r.Documents)
}

// checkTokens reports what can be no tokens. Which ids there are is for the engine to say, by [UnknownID].
func checkTokens(tokens []int32, others int) error {
	if others > 0 {
		return fmt.Errorf("%w: tokens are read in place of messages, documents and continuations, not beside them", ErrInvalid)
	}
	for i, id := range tokens {
		if id < 0 {
			return fmt.Errorf("%w: token %d has the id %d, negative", ErrInvalid, i, id)
		}
	}
	return nil
}

// UnknownID returns the error for one of Tokens that a model's vocabulary lacks. It wraps [ErrInvalid].
func UnknownID(info Info, id int32, size int) error {
	return fmt.Errorf("%w: %s has the tokens 0 to %d, not %d", ErrInvalid, info.Model, size-1, id)
}

func checkMessages(messages []Message, documents []string) error {
	if len(messages) == 0 {
		return fmt.Errorf("%w: no messages", ErrInvalid)
	}
	for i, m := range messages {
		switch m.Role {
		case System, User, Assistant:
		default:
			return fmt.Errorf("%w: message %d has role %q", ErrInvalid, i, m.Role)
		}
		if err := CheckText(m.Text); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if err := checkMarks(m.Text, m.Marks); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	for i, d := range documents {
		if err := CheckText(d); err != nil {
			return fmt.Errorf("document %d: %w", i, err)
		}
	}
	return nil
}

// CheckText reports text that is not UTF-8, as an error wrapping [ErrInvalid]. The dataset readers
// repair nothing either: what a model never saw must not be scored as if it had.
func CheckText(text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return fmt.Errorf("%w: the text is not UTF-8 at byte %d", ErrInvalid, i)
			}
		}
	}
	return nil
}

// NeedsOf returns the abilities beyond its operation's that a prompt takes. Engines refuse it by [Unsupported] where they
// lack one.
func NeedsOf(messages []Message, documents []string, tokens []int32) Ops {
	var ops Ops
	if len(tokens) > 0 {
		ops |= CanReadTokens
	}
	if len(documents) > 0 {
		ops |= CanReadDocuments
	}
	for _, m := range messages {
		if len(m.Marks) > 0 {
			ops |= CanMark
		}
	}
	return ops
}

// Needs returns the abilities that r takes.
func (r *GenerateRequest) Needs() Ops {
	return CanGenerate | NeedsOf(r.Messages, r.Documents, r.Tokens)
}

// Needs returns the abilities that r takes: of CanScore and CanChoose either will do, which is for the engine to say.
func (r *ScoreRequest) Needs() Ops { return NeedsOf(r.Messages, r.Documents, r.Tokens) }

// Needs returns the abilities that r takes.
func (r *EncodeRequest) Needs() Ops {
	ops := r.Output.Op()
	for _, p := range r.Inputs {
		if len(p.Marks) > 0 {
			ops |= CanMark
		}
	}
	return ops
}
