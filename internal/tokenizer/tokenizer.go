// Package tokenizer turns texts into the token ids that an encoder reads, by the tokenizer.json that is published with
// a model, and as Hugging Face's library tokenizers does:
//
//	t, err := tokenizer.Open("ms-marco-MiniLM-L6-v2")
//	if err != nil {
//		return err
//	}
//	e, err := t.Pair("Where is Bern?", "Bern lies in Switzerland.")
//	if err != nil {
//		return err
//	}
//	fmt.Println(e.Tokens) // [CLS] where is bern ? [SEP] bern lies in switzerland . [SEP]
//	fmt.Println(e.IDs, e.Types)
//
// The way of a text:
//  1. tokens that the file adds to the vocabulary are cut out, by their spelling;
//  2. a normalizer rewrites the rest (BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend,
//     Replace, Nmt, the Precompiled table of SentencePiece, Sequence);
//  3. a pre-tokenizer splits it (BertPreTokenizer, ByteLevel, Metaspace, Whitespace, WhitespaceSplit, Split,
//     CharDelimiterSplit, Punctuation, Digits, FixedLength, Sequence);
//  4. the model turns the pieces into tokens (WordPiece, BPE, Unigram, WordLevel);
//  5. the post-processor puts special tokens around one text or two (TemplateProcessing, BertProcessing,
//     RobertaProcessing, ByteLevel, Sequence).
//
// A component of any other type is refused by its name: a text tokenised otherwise than the model was trained on
// scores wrongly, without a word.
//
// Two things differ from that library on purpose. Special tokens come from the post-processor only: text that spells
// one ("[SEP]", "<s>") is untrusted data, not an instruction, and becomes the tokens of its characters (the library
// has the option encode_special_tokens for that; it is off there, and lets the model itself find such a spelling). And
// nothing is truncated or padded, whatever the file says: the caller refuses what is too long.
//
// Which characters are letters, marks or punctuation is as Unicode has it in the version that Go knows. The library's
// parts have versions of their own, from 7 to 17: characters that came in between, some rare scripts and signs, can be
// split otherwise.
//
// Files are untrusted: their size, their vocabulary and its ids, their depth and what a normalizer can make of a text
// are bounded. Time is linear in the text's length (BPE: n log n within a piece); a regular expression of the file's
// own can cost more than that.
package tokenizer

import (
	"fmt"
	"strings"
)

// Encoded is a text, or a pair of texts, as an encoder reads it. All slices have the same length.
type Encoded struct {
	IDs, Types []int64
	Tokens     []string // as the vocabulary spells them; an unknown token of a unigram model as the text does
	Special    []bool   // put there by the post-processor
	Pairs      []int    // 0 of the first text, 1 of the second, -1 special
}

// A Tokenizer turns texts into token ids. It can be used concurrently. Bytes that are not UTF-8 are read as U+FFFD.
type Tokenizer interface {
	// Single encodes one text.
	Single(text string) (Encoded, error)

	// Pair encodes two texts, such as a question and a passage, or a premise and a hypothesis.
	Pair(first, second string) (Encoded, error)

	// Marked encodes one text in which special tokens stand: what comes before the first of them, then each with the
	// text after it. They go by the names bos, eos, sep, cls and pad, or as the vocabulary spells them. One that it lacks
	// is an [UnknownError].
	Marked(before string, specials, after []string) (Encoded, error)

	// Locate tells where each token of a text stands in it: the bytes from the first number up to the second. There is
	// one for each token that Single or Pair makes of the text, special ones left out, in their order; where one begins
	// never goes back. Both numbers lie between characters, and around the stretch there is no white space that belongs
	// to the token, unless it is made of nothing else.
	Locate(text string) ([][2]int, error)
}

// pipeline is the way of a text, read from a file.
type pipeline struct {
	added     *added
	steps     []normalizer
	splitters []splitter
	model     model
	single    []slot
	pair      []slot
	specials  map[string]int32  // the special tokens by their spelling
	called    map[string]string // the spelling of those that a folder's configuration names
}

// slot is a place of a template: special tokens, or the text (0 or 1).
type slot struct {
	text   int // -1: special
	tokens []token
	kind   int64
}

func (p *pipeline) Single(text string) (Encoded, error) {
	return p.filled(p.single, text)
}

func (p *pipeline) Pair(first, second string) (Encoded, error) {
	return p.filled(p.pair, first, second)
}

// filled puts texts into a template.
func (p *pipeline) filled(template []slot, texts ...string) (Encoded, error) {
	all := make([][]token, len(texts))
	for i, text := range texts {
		var err error
		if all[i], err = p.tokens(text, true); err != nil {
			return Encoded{}, err
		}
	}
	return p.fill(template, all...), nil
}

// tokens cuts a text into tokens. First says that no special token stands before it.
func (p *pipeline) tokens(text string, first bool) ([]token, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("a text of %d bytes is longer than %d", len(text), maxText)
	}
	return p.encode(piece{text: strings.ToValidUTF8(text, "\uFFFD"), first: first})
}

// fill puts the tokens of texts into a template.
func (p *pipeline) fill(template []slot, all ...[]token) Encoded {
	var e Encoded
	for _, s := range template {
		tokens := s.tokens
		if s.text >= 0 {
			tokens = all[s.text]
		}
		for _, t := range tokens {
			e.IDs = append(e.IDs, int64(t.id))
			e.Types = append(e.Types, s.kind)
			e.Tokens = append(e.Tokens, t.text)
			e.Special = append(e.Special, s.text < 0)
			e.Pairs = append(e.Pairs, s.text)
		}
	}
	return e
}

// encode gives the tokens of a text, without special ones; where they stand in it, if the text comes with its places.
func (p *pipeline) encode(text piece) ([]token, error) {
	var out []token
	for _, outer := range p.added.cut(text, p.added.raw) {
		if outer.token != nil {
			out = append(out, outer.whole())
			continue
		}
		normalized, err := p.normalized(piece{text: outer.text, from: outer.from})
		if err != nil {
			return nil, err
		}
		for _, inner := range p.added.cut(normalized, p.added.normalized) {
			if inner.token != nil {
				out = append(out, inner.whole())
				continue
			}
			if inner.text == "" {
				continue
			}
			pieces := []piece{{inner.text, inner.first && outer.first && text.first, inner.from}}
			for _, split := range p.splitters {
				pieces = split(pieces)
			}
			for _, piece := range pieces {
				before := len(out)
				out = p.model.tokens(piece.text, out)
				piece.from.place(out[before:])
			}
		}
	}
	return out, nil
}

// normalized runs the normalizers. A hostile file could make much out of little by them.
func (p *pipeline) normalized(text piece) (piece, error) {
	bound := min(maxGrowth*len(text.text)+1024, maxNormalized)
	for _, step := range p.steps {
		if text = text.rewritten(step); len(text.text) > bound {
			return piece{}, fmt.Errorf("the normalizer makes more than %d bytes of a text", bound)
		}
	}
	return text, nil
}
