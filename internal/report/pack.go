package report

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"html/template"

	"github.com/assay-eval/assay/internal/exhibit"
)

const (
	mostPlain = 100 // samples of a page that stand in it as they are: they are read and printed without a script
	perPack   = 50
)

// A packer puts samples into as little of a page as they take: their markup deflated, so many together.
type packer struct {
	markup bytes.Buffer
	n      int // samples in markup
	packs  []string
}

// add packs one more sample.
func (p *packer) add(t *template.Template, e *exhibit.Exhibit) error {
	if p.n == perPack {
		p.flush()
	}
	if p.n > 0 {
		p.markup.WriteByte(0) // which no template writes: it escapes NUL in text
	}
	p.n++
	return t.ExecuteTemplate(&p.markup, "exhibit", e)
}

func (p *packer) flush() {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression) // errs on a wrong level only
	w.Write(p.markup.Bytes())                          // a buffer takes all
	w.Close()
	p.packs = append(p.packs, base64.RawURLEncoding.EncodeToString(b.Bytes()))
	p.markup.Reset()
	p.n = 0
}

// close returns the packs.
func (p *packer) close() []string {
	if p.n > 0 {
		p.flush()
	}
	return p.packs
}
