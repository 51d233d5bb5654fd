package llama

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend/llama/grammar"

	"github.com/assay-eval/assay/backend/llama/chat"
	"github.com/assay-eval/assay/backend/llama/library"
)

// A vocab is the tokenizer: it turns text into a model's tokens and back. It is safe for concurrent use.
type vocab struct {
	handle  llama.Vocab
	size    int
	bos     llama.Token // the token that starts every prompt, or llama.TokenNull
	eos     llama.Token // the token that ends every prompt of an encoder-decoder, or llama.TokenNull
	control map[byte][]controlToken
	longest int // bytes of the longest token
}

// A controlToken is one that steers the model: it starts or ends a turn, say. Only a template may
// write one.
type controlToken struct {
	text           string
	id             llama.Token
	lstrip, rstrip bool // it takes the white space before or after it with it
}

func newVocab(model llama.Model) *vocab {
	v := &vocab{
		handle:  llama.ModelGetVocab(model),
		bos:     llama.TokenNull,
		eos:     llama.TokenNull,
		control: map[byte][]controlToken{},
	}
	v.size = int(llama.VocabNTokens(v.handle))
	if llama.VocabGetAddBOS(v.handle) {
		v.bos = llama.VocabBOS(v.handle)
	}
	if llama.ModelHasEncoder(model) && llama.VocabGetAddEOS(v.handle) {
		v.eos = llama.VocabEOS(v.handle)
	}
	for id := range llama.Token(v.size) {
		text := llama.VocabGetText(v.handle, id)
		v.longest = max(v.longest, len(text))
		attr := llama.VocabGetAttr(v.handle, id)
		if text == "" || attr&(llama.TokenAttrControl|llama.TokenAttrUnknown) == 0 {
			continue
		}
		v.control[text[0]] = append(v.control[text[0]], controlToken{text, id,
			attr&llama.TokenAttrLstrip != 0, attr&llama.TokenAttrRstrip != 0})
	}
	for _, list := range v.control {
		slices.SortFunc(list, func(a, b controlToken) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	return v
}

// prompt cuts a rendered conversation into tokens as llama.cpp would the whole text, but for this: in
// what is not the template's, a control token spelt out is plain text.
func (v *vocab) prompt(parts []chat.Part) []llama.Token {
	if n := len(parts) - 1; n >= 0 && v.eos != llama.TokenNull { // nothing follows what an encoder reads
		last := parts[n]
		last.Text = strings.TrimRightFunc(last.Text, unicode.IsSpace)
		parts = append(slices.Clone(parts[:n]), last)
	}
	tokens := v.cut(parts)
	if v.bos != llama.TokenNull && (len(tokens) == 0 || tokens[0] != v.bos) {
		tokens = slices.Insert(tokens, 0, v.bos)
	}
	if v.eos != llama.TokenNull {
		tokens = append(tokens, v.eos)
	}
	return tokens
}

// cut is prompt without the tokens that start and end every prompt.
func (v *vocab) cut(parts []chat.Part) []llama.Token {
	var tokens []llama.Token
	var plain strings.Builder // since the last control token
	trimLeft := false
	flush := func(trimRight bool) {
		text := plain.String()
		plain.Reset()
		if trimLeft {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
		if trimRight {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		if text != "" {
			tokens = append(tokens, v.tokens(text, false)...)
		}
	}
	for _, p := range parts {
		if p.Special != "" {
			flush(false)
			trimLeft = false
			tokens = append(tokens, v.special(p.Special))
			continue
		}
		rest := p.Text
		for p.Template {
			at, c := v.nextControl(rest)
			if c == nil {
				break
			}
			plain.WriteString(rest[:at])
			flush(c.lstrip)
			tokens = append(tokens, c.id)
			trimLeft = c.rstrip
			rest = rest[at+len(c.text):]
		}
		plain.WriteString(rest)
	}
	flush(false)
	return tokens
}

// special is the special token that a [backend.Mark] names, or llama.TokenNull.
func (v *vocab) special(name string) llama.Token {
	switch name {
	case "bos", "cls":
		return llama.VocabBOS(v.handle)
	case "eos":
		return llama.VocabEOS(v.handle)
	case "sep":
		return llama.VocabSEP(v.handle)
	case "pad":
		return llama.VocabPAD(v.handle)
	}
	for _, c := range v.control[name[0]] {
		if c.text == name {
			return c.id
		}
	}
	return llama.TokenNull
}

// unknown names the first special token among parts that the vocabulary lacks, "" if it has all.
func (v *vocab) unknown(parts []chat.Part) string {
	for _, p := range parts {
		if p.Special != "" && v.special(p.Special) == llama.TokenNull {
			return p.Special
		}
	}
	return ""
}

// nextControl finds the first control token in text, the longest where several start.
func (v *vocab) nextControl(text string) (at int, c *controlToken) {
	for at := range len(text) {
		list := v.control[text[at]]
		for i := range list {
			if strings.HasPrefix(text[at:], list[i].text) {
				return at, &list[i]
			}
		}
	}
	return 0, nil
}

// tokens cuts plain text into tokens. With special, the model's own start and end tokens are added.
func (v *vocab) tokens(text string, special bool) []llama.Token {
	return library.Tokenize(v.handle, text, special)
}

// atLeast is a lower bound for the number of tokens that a prompt's text takes, to refuse the far too
// long without cutting it up.
func (v *vocab) atLeast(parts []chat.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text)
	}
	return n / max(1, v.longest)
}

// piece returns a token's bytes, which may be a part of a character. A control token has none.
func (v *vocab) piece(t llama.Token) []byte {
	buf := make([]byte, 64)
	n := llama.TokenToPiece(v.handle, t, buf, 0, false)
	if n < 0 {
		buf = make([]byte, -n)
		n = llama.TokenToPiece(v.handle, t, buf, 0, false)
	}
	return buf[:max(0, n)]
}

// spelling returns the text of a control token, "" if there is none.
func (v *vocab) spelling(t llama.Token) string {
	if t == llama.TokenNull {
		return ""
	}
	return llama.VocabGetText(v.handle, t)
}

// ends reports whether a token ends the model's turn.
func (v *vocab) ends(t llama.Token) bool { return llama.VocabIsEOG(v.handle, t) }

// writes describes the vocabulary for constrained decoding.
func (v *vocab) writes() grammar.Vocabulary {
	return grammar.Vocabulary{
		Size:  v.size,
		Piece: func(t int32) []byte { return v.piece(llama.Token(t)) },
		Ends:  func(t int32) bool { return v.ends(llama.Token(t)) },
	}
}

// A speller knows what tokens mean.
type speller interface {
	piece(llama.Token) []byte
	ends(llama.Token) bool
}

// A thought spells what a model writes for itself.
type thought struct {
	*vocab
	end llama.Token // the control token that ends it, or llama.TokenNull
}

func (t *thought) ends(token llama.Token) bool { return token == t.end || t.vocab.ends(token) }

// common returns how many tokens a and b start with alike.
func common(a, b []llama.Token) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
