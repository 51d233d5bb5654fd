package report

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"strconv"
	"strings"
)

const (
	mostPlain   = 100        // samples of a page that stand in it as they are: they are read and printed without a script
	mostPacked  = 13_000_000 // bytes of the packs of a page, which bounds what a browser must read whatever a run holds
	leastShared = 24         // bytes of a text that is kept once for all samples: less is not worth a number
)

// A packer puts samples into as little of a page as they take. Their markup is deflated, so many together; and since what was
// retrieved for one sample is often retrieved for another, each sentence is kept once, in packs of their own, and stands in
// the markup as its number between \x01 and \x02, or as nothing between them where it is the next after the last.
// page.js does the reverse.
type packer struct {
	t                       *template.Template
	lines, samples, strings packs
	number                  map[[16]byte]int // of a sentence, by its hash
}

// packs are parts of one kind, so many together, between NULs, deflated, in base64.
type packs struct {
	per  int
	n    int // parts in open
	open bytes.Buffer
	done []string
	size int // of done
}

func newPacker(t *template.Template) *packer {
	return &packer{t: t, lines: packs{per: 250}, samples: packs{per: 50}, strings: packs{per: 1000}, number: map[[16]byte]int{}}
}

// A packView is a pack on a page.
type packView struct{ Kind, Value string }

// full reports whether the page has no place for more. What is not deflated yet will take less than half of its length.
func (p *packer) full(most int) bool {
	size := 0
	for _, k := range []*packs{&p.lines, &p.samples, &p.strings} {
		size += k.size + k.open.Len()/2
	}
	return size >= most
}

// add packs one more sample: its line in the list, and what opens below it.
func (p *packer) add(c caseView) error {
	var line, markup strings.Builder
	below := c.Exhibit
	c.Exhibit = nil
	if err := p.t.ExecuteTemplate(&line, "case", c); err != nil {
		return err
	}
	if err := p.t.ExecuteTemplate(&markup, "exhibit", below); err != nil {
		return err
	}
	p.lines.add(line.String())
	p.samples.add(p.share(markup.String()))
	return nil
}

// share replaces the sentences of a markup by their numbers.
func (p *packer) share(markup string) string {
	var b strings.Builder
	last := -1
	markup = strings.NewReplacer("\x01", "\ufffd", "\x02", "\ufffd").Replace(markup) // which templates let through
	for markup != "" {
		text, rest, _ := strings.Cut(markup, "<") // a text and the tag after it: templates escape what is no tag
		for text != "" {
			n := sentence(text)
			last = p.sentence(&b, text[:n], last)
			text = text[n:]
		}
		tag, after, ok := strings.Cut(rest, ">")
		if ok {
			b.WriteString("<" + tag + ">")
		}
		markup = after
	}
	return b.String()
}

// sentence is the length of the first sentence of a text with the space after it, roughly: it must only be cut alike wherever
// it stands.
func sentence(text string) int {
	for i := 0; i+1 < len(text); i++ {
		if c := text[i]; (c == '.' || c == '!' || c == '?') && (text[i+1] == ' ' || text[i+1] == '\n') {
			return i + 2
		}
	}
	return len(text)
}

// sentence writes a sentence, or its number, and returns the number that was written last.
func (p *packer) sentence(b *strings.Builder, text string, last int) int {
	if len(text) < leastShared {
		b.WriteString(text)
		return last
	}
	sum := sha256.Sum256([]byte(text))
	key := [16]byte(sum[:])
	n, known := p.number[key]
	if !known {
		n = len(p.number)
		p.number[key] = n
		p.strings.add(text)
	}
	b.WriteByte(1)
	if n != last+1 {
		b.WriteString(strconv.FormatInt(int64(n), 36))
	}
	b.WriteByte(2)
	return n
}

// close returns the packs.
func (p *packer) close() []packView {
	var list []packView
	for _, k := range []struct {
		kind string
		*packs
	}{{"lines", &p.lines}, {"samples", &p.samples}, {"strings", &p.strings}} {
		k.flush()
		for _, value := range k.done {
			list = append(list, packView{k.kind, value})
		}
	}
	return list
}

// add adds a part. Templates write no NUL: they escape it.
func (k *packs) add(part string) {
	if k.n == k.per {
		k.flush()
	}
	if k.n > 0 {
		k.open.WriteByte(0)
	}
	k.n++
	k.open.WriteString(part)
}

func (k *packs) flush() {
	if k.n == 0 {
		return
	}
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression) // errs on a wrong level only
	w.Write(k.open.Bytes())                            // a buffer takes all
	w.Close()
	value := base64.RawURLEncoding.EncodeToString(b.Bytes())
	k.done, k.size = append(k.done, value), k.size+len(value)
	k.open.Reset()
	k.n = 0
}
