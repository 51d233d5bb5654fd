package backend

import "context"

// A Vocabulary cuts texts into the tokens of one model, and tells what those are. Engines whose models read tokens
// (CanReadTokens) are one beside being a [Backend]; decorators are not. Its methods are safe for concurrent use, and
// return an error wrapping [ErrInvalid], [ErrClosed] or the context's, as those of a Backend do.
type Vocabulary interface {
	// Tokenize cuts a text of any length. With start, the tokens that the model's texts begin with stand in front, if it
	// has such. With special, a special token that the text spells is that token; without, it is text like any other.
	Tokenize(ctx context.Context, text string, start, special bool) ([]int32, error)

	// Pieces are what tokens stand for, in order.
	Pieces(ctx context.Context, tokens []int32) ([]Piece, error)

	// Specials are the spellings of the tokens that begin and end a text, and the model's chat template; each is "" if it
	// has none.
	Specials(ctx context.Context) (begin, end, template string, err error)
}

// A Piece is what one token stands for.
type Piece struct {
	Text    []byte // it may begin or end within a character
	Special bool   // the token steers the model: Text is how the vocabulary spells it
}
