package backend

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Role is what a model is there for in a run. A run has at most one model in each. Where it has several of a kind,
// the further ones have roles with names: "encoder:small", which is [Role.Named].
type Role string

// The roles that metrics ask.
const (
	Judge    Role = "judge"    // generates, and scores continuations
	Embedder Role = "embedder" // turns texts into vectors
	Encoder  Role = "encoder"  // an encoder or discriminative model with a classification head, given pairs of texts
	Sampler  Role = "sampler"  // the model that the evaluated system runs on, which draws further answers
)

// Roles returns every kind of role, in the order in which they are named.
func Roles() []Role { return []Role{Judge, Embedder, Encoder, Sampler} }

// SortRoles lists the keys of a map in the order of [Roles], those with names after the one without; kinds that Roles
// does not have follow by name.
func SortRoles[V any](m map[Role]V) []Role {
	place := func(r Role) int {
		if i := slices.Index(Roles(), r.Kind()); i >= 0 {
			return i
		}
		return len(Roles())
	}
	return slices.SortedFunc(maps.Keys(m), func(a, b Role) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(string(a), string(b)))
	})
}

// Named is the role of the model that goes by a name among several of r's kind; of r's kind itself if name is "".
func (r Role) Named(name string) Role {
	if name == "" {
		return r.Kind()
	}
	return r.Kind() + ":" + Role(name)
}

// Kind is the role without a name: one of [Roles].
func (r Role) Kind() Role {
	kind, _, _ := strings.Cut(string(r), ":")
	return Role(kind)
}

// Name is what the role's model goes by among several of its kind; "" if it needs no name.
func (r Role) Name() string {
	_, name, _ := strings.Cut(string(r), ":")
	return name
}

// CheckRoleName returns an error if a model cannot go by a name: a letter, and up to 63 letters, digits, dots, hyphens
// and underscores after it. What metrics say of themselves behind an @ is none either.
func CheckRoleName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if rest := strings.TrimLeft(name, letters); name == "" || rest == name || len(name) > 64 ||
		strings.Trim(rest, letters+"0123456789._-") != "" {
		return fmt.Errorf("%.80q is no name for a model: a letter, and letters, digits, dots, hyphens and underscores "+
			"after it, 64 in all", name)
	}
	if slices.Contains([]string{"jury", "majority", "draws"}, name) {
		return fmt.Errorf("%q is no name for a model: it means something else behind a metric's @", name)
	}
	return nil
}

// Title is what the role's model is called in a sentence: "embedding model", or "judge small" where it has a name.
func (r Role) Title() string {
	switch r.Kind() {
	case Embedder:
		return r.called("embedding model")
	case Sampler:
		return r.called("sample model")
	}
	return r.called(string(r.Kind()))
}

// WithArticle is Title with its article: "an embedding model", "the judge small".
func (r Role) WithArticle() string {
	title := r.Title()
	switch {
	case r.Name() != "":
		return "the " + title
	case title != "" && strings.ContainsRune("aeiou", rune(title[0])):
		return "an " + title
	}
	return "a " + title
}

// Label is what the role's model goes by where there is little room: "embeddings", "embeddings small".
func (r Role) Label() string {
	if r.Kind() == Embedder {
		return r.called("embeddings")
	}
	return r.called(string(r.Kind()))
}

// called is what a model of r's kind is called, with its name.
func (r Role) called(kind string) string {
	if r.Name() == "" {
		return kind
	}
	return kind + " " + r.Name()
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

// IdentityFields are the models of a run as fields of a JSON object, one for each of [Roles], and a list of those that
// have names besides. Where a file lists models beside other things, its struct embeds them.
type IdentityFields struct {
	Judge    *Identity       `json:"judge,omitempty"`
	Embedder *Identity       `json:"embedder,omitempty"`
	Encoder  *Identity       `json:"encoder,omitempty"`
	Sampler  *Identity       `json:"sampler,omitempty"`
	Named    []NamedIdentity `json:"models,omitempty"` // in the order of [SortRoles]
}

// A NamedIdentity is that of a model which goes by a name among several of its kind.
type NamedIdentity struct {
	Kind Role   `json:"role"` // one of [Roles]
	As   string `json:"as"`   // what metrics call it
	Identity
}

// Fields returns the models as fields; a role that has none is not known to any file, and left out.
func (a Identities) Fields() IdentityFields {
	var f IdentityFields
	for role, into := range f.byRole() {
		if id, ok := a[role]; ok {
			*into = &id
		}
	}
	for _, role := range a.Roles() {
		if role.Name() != "" {
			f.Named = append(f.Named, NamedIdentity{role.Kind(), role.Name(), a[role]})
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
	for _, n := range f.Named {
		all[n.Kind.Named(n.As)] = n.Identity
	}
	return all
}

func (f *IdentityFields) byRole() map[Role]**Identity {
	return map[Role]**Identity{Judge: &f.Judge, Embedder: &f.Embedder, Encoder: &f.Encoder, Sampler: &f.Sampler}
}

// AskFields are what is asked of the models in words, as fields of a JSON object like [IdentityFields].
type AskFields struct {
	Judge    string `json:"judge,omitempty"`
	Embedder string `json:"embedder,omitempty"`
	Encoder  string `json:"encoder,omitempty"`
	Sampler  string `json:"sampler,omitempty"`
}

// Fields returns what is asked of each role as fields; roles of which nothing is asked stay "".
func Fields(asks map[Role]Ops) AskFields {
	var f AskFields
	for role, into := range map[Role]*string{Judge: &f.Judge, Embedder: &f.Embedder, Encoder: &f.Encoder,
		Sampler: &f.Sampler} {
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

// Differences compares the models of two runs, role by role, in the order of [SortRoles]. It is empty if the runs have
// the same models.
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

// Roles lists the roles of a in the order of [SortRoles].
func (a Identities) Roles() []Role { return SortRoles(a) }

// Named lists those of the roles that have names.
func (a Identities) Named() []Role {
	return slices.DeleteFunc(a.Roles(), func(r Role) bool { return r.Name() == "" })
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
