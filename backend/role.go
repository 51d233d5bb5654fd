package backend

import (
	"maps"
	"slices"
	"strings"
)

// A Role is what a model is there for in a run. A run has at most one model in each.
type Role string

// The roles that metrics ask.
const (
	Judge    Role = "judge"    // generates, and scores continuations
	Embedder Role = "embedder" // turns texts into vectors
	Encoder  Role = "encoder"  // an encoder or discriminative model with a classification head, given pairs of texts
)

// Roles returns every role, in the order in which they are named.
func Roles() []Role { return []Role{Judge, Embedder, Encoder} }

// Title is what the role's model is called in a sentence: "embedding model".
func (r Role) Title() string {
	if r == Embedder {
		return "embedding model"
	}
	return string(r)
}

// WithArticle is Title with its article: "an embedding model".
func (r Role) WithArticle() string {
	if title := r.Title(); strings.ContainsRune("aeiou", rune(title[0])) {
		return "an " + title
	}
	return "a " + r.Title()
}

// Label is what the role's model goes by where there is little room: "embeddings".
func (r Role) Label() string {
	if r == Embedder {
		return "embeddings"
	}
	return string(r)
}

// An Identity says which model answered: what a manifest, a trained judge or a calibration records of it.
type Identity struct {
	Engine  string `json:"engine,omitempty"`
	Name    string `json:"name"` // that the user knows it by
	Digest  string `json:"digest"`
	Context int    `json:"context,omitempty"` // tokens of one call
}

// Identity is that of the model which info describes.
func (info Info) Identity() Identity {
	return Identity{Engine: info.Engine, Name: info.Model, Digest: info.Digest, Context: info.Context}
}

// Identities are the models of a run by role.
type Identities map[Role]Identity

// IdentityFields are the models of a run as fields of a JSON object, one for each of [Roles]. Where a file lists models
// beside other things, its struct embeds them.
type IdentityFields struct {
	Judge    *Identity `json:"judge,omitempty"`
	Embedder *Identity `json:"embedder,omitempty"`
	Encoder  *Identity `json:"encoder,omitempty"`
}

// Fields returns the models as fields; a role that has none is not known to any file, and left out.
func (a Identities) Fields() IdentityFields {
	var f IdentityFields
	for role, into := range f.byRole() {
		if id, ok := a[role]; ok {
			*into = &id
		}
	}
	return f
}

// Models returns the models by role.
func (f IdentityFields) Models() Identities {
	all := Identities{}
	for role, id := range f.byRole() {
		if *id != nil {
			all[role] = **id
		}
	}
	return all
}

func (f *IdentityFields) byRole() map[Role]**Identity {
	return map[Role]**Identity{Judge: &f.Judge, Embedder: &f.Embedder, Encoder: &f.Encoder}
}

// AskFields are what is asked of the models in words, as fields of a JSON object like [IdentityFields].
type AskFields struct {
	Judge    string `json:"judge,omitempty"`
	Embedder string `json:"embedder,omitempty"`
	Encoder  string `json:"encoder,omitempty"`
}

// Fields returns what is asked of each role as fields; roles of which nothing is asked stay "".
func Fields(asks map[Role]Ops) AskFields {
	var f AskFields
	for role, into := range map[Role]*string{Judge: &f.Judge, Embedder: &f.Embedder, Encoder: &f.Encoder} {
		if ops := asks[role]; ops != 0 {
			*into = ops.String()
		}
	}
	return f
}

// An Aspect is something in which two models of one role can differ.
type Aspect string

// The aspects, the weightiest first.
const (
	Presence    Aspect = "presence" // only one of the two is there
	Weights     Aspect = "weights"
	Engine      Aspect = "engine"
	ContextSize Aspect = "context size"
	Name        Aspect = "name"
)

// A Difference is a role in which two runs have other models.
type Difference struct {
	Role Role
	In   Aspect   // the weightiest in which they differ
	A, B Identity // the zero Identity where there is none
	AHas bool     // whether there is an A
}

// Differences compares the models of two runs, role by role, in the order of [Roles]; other roles follow by name. It is
// empty if the runs have the same models.
func (a Identities) Differences(b Identities) []Difference {
	var list []Difference
	both := Identities{}
	maps.Copy(both, a)
	maps.Copy(both, b)
	for _, role := range both.Roles() {
		x, inA := a[role]
		y, inB := b[role]
		in := x.aspect(y)
		if inA != inB {
			in = Presence
		}
		if in != "" {
			list = append(list, Difference{Role: role, In: in, A: x, B: y, AHas: inA})
		}
	}
	return list
}

// Roles lists the roles of a, in the order of the package's Roles; others follow by name.
func (a Identities) Roles() []Role {
	rest := maps.Clone(a)
	var list []Role
	for _, role := range Roles() {
		if _, ok := rest[role]; ok {
			list = append(list, role)
			delete(rest, role)
		}
	}
	return append(list, slices.Sorted(maps.Keys(rest))...)
}

// aspect is the weightiest in which x and y differ, "" if they are equal.
func (x Identity) aspect(y Identity) Aspect {
	switch {
	case x.Digest != y.Digest:
		return Weights
	case x.Engine != y.Engine:
		return Engine
	case x.Context != y.Context:
		return ContextSize
	case x.Name != y.Name:
		return Name
	}
	return ""
}
