package gollama

// A binding is what the engine needs of a model that go-llama.cpp has loaded. One method is called at a time.
type binding interface {
	// tokens returns how many tokens a text takes, with the one that starts every prompt; and which, unless
	// they are hundreds.
	tokens(text string) (n int, ids []int32)

	// predict writes a reply and gives next the text of each of its tokens, which may be half a character. It
	// ends when next returns false, or after the token with which the model ends the reply.
	predict(o prediction, next func(piece string) (more bool)) error

	// embed returns the vector of a text, of the width that the model's header says.
	embed(text string) ([]float32, error)

	free()
}

// A prediction says what to write and how.
type prediction struct {
	prompt      string
	room        int // bytes that prompt and reply, a zero byte behind them, take at most
	temperature float64
	topP        float64
	topK        int // 0: no limit
	seed        int // of 31 bits
}

// A setup says how to load a model.
type setup struct {
	path      string
	context   int // tokens
	threads   int
	width     int     // of a vector
	embeds    bool    // the model is to embed texts, not to write
	ropeBase  float64 // of the angles that tell a token's place
	ropeScale float64
}
