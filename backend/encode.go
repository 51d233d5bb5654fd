package backend

import (
	"context"
	"fmt"
	"unicode/utf8"
)

// A Pair is what an encoder reads: a text and, for a classification head, the query that it is to suit. A head that
// judges single texts is given them with an empty Query.
type Pair struct {
	Query string `json:"query"`
	Text  string `json:"text"`
	Marks []Mark `json:"marks,omitempty"` // special tokens within a single Text, in order. They need CanMark
}

// String shows an input in a message.
func (p Pair) String() string {
	text := p.Text
	if len(p.Marks) > 0 && checkMarks(p.Text, p.Marks) == nil {
		before, tokens, after := Marked(p.Text, p.Marks)
		text = before
		for i, token := range tokens {
			text += "[" + token + "]" + after[i]
		}
	}
	if p.Query == "" {
		return text
	}
	return p.Query + " | " + text
}

// Texts returns single texts as what an [EncodeRequest] holds.
func Texts(texts ...string) []Pair {
	pairs := make([]Pair, len(texts))
	for i, text := range texts {
		pairs[i].Text = text
	}
	return pairs
}

// An EncodeRequest asks for one output of each of its inputs.
type EncodeRequest struct {
	Output Output
	Inputs []Pair // of an Output that is not of pairs: texts, each with an empty Query
}

// An Encoding holds the answer to each input, in order.
type Encoding struct {
	Items []Encoded
}

// An Encoded is the output of one input.
type Encoded struct {
	// Tokens are, of TokenEmbeddings alone, pieces of the text as the model's vocabulary has them: in lower case,
	// say, and with the space before a word where that is part of its first token. A byte that is no character by
	// itself, since the vocabulary cuts within one, is written <0xE6>; so every token is UTF-8.
	Tokens []string

	// Spans are, of TokenOutputs alone, where each token stands in the text, in its order. The white space that a
	// vocabulary has before a word is not in its span. Tokens that share a character, since the vocabulary cuts within
	// it, have the same span. What the model's tokenizer drops (a control character, an accent) is in the span before it
	// or in none.
	Spans []Span

	// Vectors are one for each token of TokenEmbeddings and TokenOutputs, and just one of any other output. All that a
	// model gives for one output are of one size.
	Vectors [][]float32
}

// A Span is a stretch of a text: the bytes from Low up to but not including High. Both lie between characters.
type Span struct {
	Low  int `json:"low"`
	High int `json:"high"`
}

// Check is [GenerateRequest.Check] for an EncodeRequest.
func (r *EncodeRequest) Check() error {
	if r.Output.Op() == 0 {
		return fmt.Errorf("%w: unknown output %q", ErrInvalid, r.Output)
	}
	for i, p := range r.Inputs {
		if err := CheckText(p.Query); err != nil {
			return fmt.Errorf("%s %d: query: %w", r.Kind(), i, err)
		}
		if err := CheckText(p.Text); err != nil {
			return fmt.Errorf("%s %d: %w", r.Kind(), i, err)
		}
		if err := checkMarks(p.Text, p.Marks); err != nil {
			return fmt.Errorf("%s %d: %w", r.Kind(), i, err)
		}
		if p.Query != "" && !r.Output.OfPairs() {
			return fmt.Errorf("%s %d: %w: a query is for a classification head", r.Kind(), i, ErrInvalid)
		}
		if p.Marks != nil && (r.Output != HeadOutputs || p.Query != "") {
			return fmt.Errorf("%s %d: %w: marks are in a single text for a classification head", r.Kind(), i, ErrInvalid)
		}
	}
	return nil
}

// Kind is what an input is called in messages: "text" or "pair".
func (r *EncodeRequest) Kind() string {
	if r.Output.OfPairs() {
		return "pair"
	}
	return "text"
}

// CheckAnswer reports an answer that has not the shape which r asks for. It does not look at the numbers.
func (r *EncodeRequest) CheckAnswer(e *Encoding) error {
	if len(e.Items) != len(r.Inputs) {
		return fmt.Errorf("%d answers for %d %ss", len(e.Items), len(r.Inputs), r.Kind())
	}
	if r.Output == TokenEmbeddings {
		return nil
	}
	for i, item := range e.Items {
		if r.Output == TokenOutputs {
			if err := item.checkSpans(r.Inputs[i].Text); err != nil {
				return fmt.Errorf("pair %d: %w", i, err)
			}
			continue
		}
		if len(item.Vectors) != 1 {
			return fmt.Errorf("%d vectors for %s %d, want one", len(item.Vectors), r.Kind(), i)
		}
	}
	return nil
}

// checkSpans reports spans that are not of a text, or not in its order.
func (e *Encoded) checkSpans(text string) error {
	if len(e.Spans) != len(e.Vectors) {
		return fmt.Errorf("%d spans for %d vectors", len(e.Spans), len(e.Vectors))
	}
	at := 0
	for i, s := range e.Spans {
		if s.Low < at || s.High < s.Low || s.High > len(text) || !between(text, s.Low) || !between(text, s.High) {
			return fmt.Errorf("token %d has the span %d to %d in a text of %d bytes", i, s.Low, s.High, len(text))
		}
		at = s.Low
	}
	return nil
}

// between reports whether a place in a text is not within a character.
func between(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }

// Embed asks for the [Embedding] of each text.
func Embed(ctx context.Context, b Backend, texts []string) ([][]float32, error) {
	return vectors(ctx, b, &EncodeRequest{Output: Embedding, Inputs: Texts(texts...)})
}

// EmbedTokens asks for the [TokenEmbeddings] of each text.
func EmbedTokens(ctx context.Context, b Backend, texts []string) ([]Encoded, error) {
	return encode(ctx, b, &EncodeRequest{Output: TokenEmbeddings, Inputs: Texts(texts...)})
}

// Classify asks for the [HeadOutputs] of each pair.
func Classify(ctx context.Context, b Backend, pairs []Pair) ([][]float32, error) {
	return vectors(ctx, b, &EncodeRequest{Output: HeadOutputs, Inputs: pairs})
}

// LabelTokens asks for the [TokenOutputs] of each pair.
func LabelTokens(ctx context.Context, b Backend, pairs []Pair) ([]Encoded, error) {
	return encode(ctx, b, &EncodeRequest{Output: TokenOutputs, Inputs: pairs})
}

// vectors asks for an output that is one vector.
func vectors(ctx context.Context, b Backend, req *EncodeRequest) ([][]float32, error) {
	items, err := encode(ctx, b, req)
	if err != nil {
		return nil, err
	}
	list := make([][]float32, len(items))
	for i, item := range items {
		list[i] = item.Vectors[0]
	}
	return list, nil
}

func encode(ctx context.Context, b Backend, req *EncodeRequest) ([]Encoded, error) {
	answer, err := b.Encode(ctx, req)
	if err != nil {
		return nil, err
	}
	return answer.Items, req.CheckAnswer(answer)
}
