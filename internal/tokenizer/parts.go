package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

var errUnknownType = errors.New("a component of this type is not supported")

// normalizer builds a normalizer of one step.
func (p *part) normalizer() (normalizer, error) {
	switch p.Type {
	case "BertNormalizer":
		lower := or(p.Lowercase, true)
		b := bertNormalizer{or(p.CleanText, true), or(p.Chinese, true), or(p.StripAccent, lower), lower}
		return b.normalizer(), nil
	case "NFC":
		return normalForm(norm.NFC), nil
	case "NFD":
		return normalForm(norm.NFD), nil
	case "NFKC":
		return normalForm(norm.NFKC), nil
	case "NFKD":
		return normalForm(norm.NFKD), nil
	case "Lowercase":
		return normalizer{lowercase, character}, nil
	case "StripAccents":
		return mapped(without(unicode.M)), nil
	case "Strip":
		return strip(p.StripLeft, p.StripRight), nil
	case "Nmt":
		return mapped(nmt), nil
	case "Prepend":
		if len(p.Prepend) > maxReplacement {
			return normalizer{}, errors.New("its text is too long")
		}
		return prepend(p.Prepend), nil
	case "Replace":
		return p.replace()
	case "Precompiled":
		c, err := newCharsmap(p.Charsmap)
		if err != nil {
			return normalizer{}, err
		}
		return normalizer{c.normalize, cluster}, nil
	}
	return normalizer{}, errUnknownType
}

func (p *part) replace() (normalizer, error) {
	if len(p.Content) > maxReplacement {
		return normalizer{}, fmt.Errorf("its content is longer than %d bytes", maxReplacement)
	}
	if from := p.Pattern.String; from != nil && *from != "" {
		run := func(text string) string { return strings.ReplaceAll(text, *from, p.Content) }
		return replaced(run, func(text string) (int, int) { return next(text, *from) }), nil
	}
	if p.Pattern.Regex == nil {
		return normalizer{}, errors.New("no pattern")
	}
	expression, tail, err := compile(*p.Pattern.Regex)
	if err != nil {
		return normalizer{}, err
	}
	if tail {
		return normalizer{}, fmt.Errorf("pattern %q: a look-ahead is not supported here", *p.Pattern.Regex)
	}
	run := func(text string) string { return expression.ReplaceAllLiteralString(text, p.Content) }
	return replaced(run, func(text string) (int, int) {
		found := expression.FindStringIndex(text)
		if found == nil {
			return 0, 0
		}
		return found[0], found[1]
	}), nil
}

// splitter builds a pre-tokenizer of one step.
func (p *part) splitter() (splitter, error) {
	switch p.Type {
	case "BertPreTokenizer":
		return bertSplit, nil
	case "Whitespace":
		return split(invert(words), removed), nil
	case "WhitespaceSplit":
		return split(each(unicode.IsSpace), removed), nil
	case "ByteLevel":
		return byteLevel{or(p.AddPrefixSpace, true), or(p.UseRegex, true)}.run, nil
	case "Metaspace":
		return p.metaspace()
	case "Split":
		return p.split()
	case "CharDelimiterSplit":
		mark, err := one(p.Delimiter)
		return split(each(func(r rune) bool { return r == mark }), removed), err
	case "Punctuation":
		if p.Behaviour == "" {
			p.Behaviour = "Isolated"
		}
		do := behaviourOf(p.Behaviour)
		if do == nil {
			return nil, fmt.Errorf("unknown behavior %.40q", p.Behaviour)
		}
		return split(each(bertPunctuation), do), nil
	case "FixedLength":
		n := 5 // as the library has it
		if p.Length != nil {
			n = *p.Length
		}
		if n < 1 {
			return nil, fmt.Errorf("the length %d is not positive", n)
		}
		return split(fixedLength(n), isolated), nil
	case "Digits":
		if p.Individual {
			return split(each(unicode.IsNumber), isolated), nil
		}
		return split(each(unicode.IsNumber), contiguous), nil
	}
	return nil, errUnknownType
}

func (p *part) metaspace() (splitter, error) {
	mark, err := one(p.Replacement)
	if err != nil {
		return nil, err
	}
	m := metaspace{mark: mark, split: or(p.Split, true)}
	switch p.PrependScheme {
	case "": // files from before there was a choice
		m.always = or(p.AddPrefixSpace, true)
	case "always":
		m.always = true
	case "first":
		m.first = true
	case "never":
	default:
		return nil, fmt.Errorf("unknown prepend_scheme %.40q", p.PrependScheme)
	}
	return m.run, nil
}

func (p *part) split() (splitter, error) {
	do := behaviourOf(p.Behaviour)
	if do == nil {
		return nil, fmt.Errorf("unknown behavior %.40q", p.Behaviour)
	}
	var find finder
	switch {
	case p.Pattern.String != nil && *p.Pattern.String != "":
		find = literal(*p.Pattern.String)
	case p.Pattern.Regex != nil:
		expression, tail, err := compile(*p.Pattern.Regex)
		if err != nil {
			return nil, err
		}
		find = regular(expression, tail)
	default:
		return nil, errors.New("no pattern")
	}
	if p.Invert {
		find = invert(find)
	}
	return split(find, do), nil
}

// templates are how one text and two stand between special tokens.
type templates struct{ single, pair []slot }

// bare is without special tokens.
var bare = templates{single: []slot{{text: 0}}, pair: []slot{{text: 0}, {text: 1, kind: 1}}}

// templatePiece is an element of a template in a file.
type templatePiece struct {
	Sequence *struct {
		ID   string `json:"id"`
		Type int64  `json:"type_id"`
	}
	SpecialToken *struct {
		ID   string `json:"id"`
		Type int64  `json:"type_id"`
	}
}

// named is a token in a file: ["[SEP]", 102].
type named struct{ token }

// UnmarshalJSON reads a spelling and an id.
func (n *named) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) != 2 {
		return fmt.Errorf("%d values where a token and its id should be", len(list))
	}
	if err := json.Unmarshal(list[0], &n.text); err != nil {
		return err
	}
	return json.Unmarshal(list[1], &n.id)
}

// templates reads a post-processor. Of a sequence one may set special tokens.
func (c *components) templates(data json.RawMessage, depth int) (*templates, error) {
	p, err := c.read(data, depth)
	if err != nil || p == nil {
		return nil, err
	}
	if p.Type != "Sequence" {
		t, err := p.templates()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Type, err)
		}
		return t, nil
	}
	var only *templates
	for _, data := range p.Processors {
		t, err := c.templates(data, depth+1)
		if err != nil {
			return nil, err
		}
		if t != nil && only != nil {
			return nil, errors.New("two post-processors that set special tokens")
		}
		if t != nil {
			only = t
		}
	}
	return only, nil
}

// templates gives what one post-processor sets, nil for one that sets no special tokens.
func (p *part) templates() (*templates, error) {
	cls, sep := slot{text: -1, tokens: []token{p.Cls.token}}, slot{text: -1, tokens: []token{p.Sep.token}}
	first, second := slot{text: 0}, slot{text: 1}
	switch p.Type {
	case "ByteLevel": // offsets only
		return nil, nil
	case "RobertaProcessing":
		return &templates{[]slot{cls, first, sep}, []slot{cls, first, sep, sep, second, sep}}, nil
	case "BertProcessing":
		last := sep
		second.kind, last.kind = 1, 1
		return &templates{[]slot{cls, first, sep}, []slot{cls, first, sep, second, last}}, nil
	case "TemplateProcessing":
		single, err := p.template(p.Single, 1)
		if err != nil {
			return nil, err
		}
		pair, err := p.template(p.Pair, 2)
		if err != nil {
			return nil, err
		}
		return &templates{single, pair}, nil
	}
	return nil, errUnknownType
}

// template reads a template, in which each text must stand once.
func (p *part) template(list []templatePiece, texts int) ([]slot, error) {
	var out []slot
	seen := [2]int{}
	if len(list) > maxComponents {
		return nil, errors.New("a template is too long")
	}
	for _, piece := range list {
		var s slot
		switch {
		case piece.Sequence != nil && piece.SpecialToken == nil:
			s.kind = piece.Sequence.Type
			if piece.Sequence.ID != "A" {
				s.text = 1
			}
			if piece.Sequence.ID != "A" && piece.Sequence.ID != "B" {
				return nil, fmt.Errorf("unknown text %.40q in a template", piece.Sequence.ID)
			}
			seen[s.text]++
		case piece.SpecialToken != nil && piece.Sequence == nil:
			known, found := p.SpecialTokens[piece.SpecialToken.ID]
			if !found || len(known.IDs) != len(known.Tokens) || len(known.IDs) > maxComponents {
				return nil, fmt.Errorf("special_tokens does not say what %.40q is", piece.SpecialToken.ID)
			}
			s.text, s.kind = -1, piece.SpecialToken.Type
			for i, id := range known.IDs {
				s.tokens = append(s.tokens, token{id: id, text: known.Tokens[i]})
			}
		default:
			return nil, errors.New("an element of a template is neither a text nor a special token")
		}
		if s.kind < 0 || s.kind > maxType {
			return nil, fmt.Errorf("the type_id %d is outside of 0 to %d", s.kind, maxType)
		}
		out = append(out, s)
	}
	if seen != [2]int{1, texts - 1} {
		return nil, errors.New("a template does not have each text once")
	}
	return out, nil
}
