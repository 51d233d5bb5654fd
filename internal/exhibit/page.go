package exhibit

import (
	_ "embed"
	"html/template"
)

//go:embed exhibit.html
var templates string

// Style is the style sheet of an exhibit, with the colours of the page around it, light and dark, as variables.
//
//go:embed exhibit.css
var Style string

// Script lights up what a finding is joined to, as the pointer or the keyboard comes to either.
//
//go:embed exhibit.js
var Script string

// Template returns a new set of templates, to which a page adds its own. The one named "exhibit" shows an [Exhibit]: its
// links with data-focus name a metric whose findings to join, those with data-call the key of a model's answer.
func Template() (*template.Template, error) {
	return template.New("exhibit.html").Funcs(template.FuncMap{"arg": func(e *Exhibit, v any) part { return part{e, v} }}).
		Parse(templates)
}

// A part is a part of an exhibit, for a template about it.
type part struct {
	Exhibit *Exhibit
	Value   any
}
