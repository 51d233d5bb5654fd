// Package profile has the metrics of judges that people bring: small models (checkers of claims, rerankers, reward
// models) and instruction-tuned judges, each of which was trained on a form of its own. A profile is a file of YAML
// that says all about one of them: which models it is for, what they are shown, how their answer is read.
//
//   - [Shipped] are the profiles that come with Assay, one file each in the folder shipped; [Load] reads a user's own.
//   - [Profile.Metrics] are a profile's metrics, "dimension/name", one for each dimension that it judges.
//   - [Recognise] finds the shipped profiles for a model by its name and labels.
//
// What is shown is a template of the profile's words with places for a sample's texts ({{answer}}) and special tokens
// by name ({{eos}}), which are marks ([backend.Mark]): nothing that a dataset says can become one. What comes back is
// read by one of a handful of readers. docs/judges.md has the form of the file.
package profile

import (
	"embed"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

// A Profile is what a file says about a judge.
type Profile struct {
	Name     string   // the second part of its metrics' names
	Doc      string   // what the model says, in a line
	Models   []string // patterns of the names of models, in small letters: "hhem-2.1*"
	Labels   []string // of the classification head: what else the models are known by; nil: nothing
	Licence  string   // of the weights
	Citation string   // a paper, or the model's page
	Source   string   // where the form is from
	Form     string   // what goes in and what comes out, for a table
	Seen     string   // what was seen of it with the real weights, and what was not
	Digest   string   // of the file: "sha256:" and 64 hex digits
	Text     string   // the file itself

	judges []judge
}

//go:embed shipped/*.yaml
var shipped embed.FS

// Shipped returns the profiles that come with Assay, sorted by name.
func Shipped() []*Profile { return slices.Clone(read()) }

var read = sync.OnceValue(func() []*Profile {
	entries, err := shipped.ReadDir("shipped")
	if err != nil {
		panic(err) // a bug, and so are the others: the files are part of the program
	}
	var list []*Profile
	for _, e := range entries {
		text, err := shipped.ReadFile(path.Join("shipped", e.Name()))
		if err != nil {
			panic(err)
		}
		p, err := Load(e.Name(), text)
		if err != nil {
			panic(err)
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *Profile) int { return strings.Compare(a.Name, b.Name) })
	return list
})

// Find returns the shipped profile of a name; nil if there is none.
func Find(name string) *Profile {
	i := slices.IndexFunc(Shipped(), func(p *Profile) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return Shipped()[i]
}

// Metrics are those of all shipped profiles, sorted by name.
func Metrics() []metrics.Metric {
	var list []metrics.Metric
	for _, p := range Shipped() {
		list = append(list, p.Metrics()...)
	}
	slices.SortFunc(list, func(a, b metrics.Metric) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Role is the role of the profile's models: they judge in words or read texts as encoders.
func (p *Profile) Role() backend.Role { return p.judges[0].role() }

// Recognise returns the shipped profiles that are for a model, by its name or, where no name fits, by the labels of its
// classification head. Info need have no more than these.
func Recognise(info backend.Info) []*Profile {
	var named, labelled []*Profile
	for _, p := range Shipped() {
		switch {
		case p.knows(info.Model):
			named = append(named, p)
		case p.Labels != nil && sameLabels(p.Labels, info.Labels):
			labelled = append(labelled, p)
		}
	}
	if named != nil {
		return named
	}
	return labelled
}

// knows reports whether a model's name, without its folder and in any case, fits a pattern.
func (p *Profile) knows(model string) bool {
	name := strings.ToLower(path.Base(strings.ReplaceAll(model, `\`, "/")))
	for _, pattern := range p.Models {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}

// sameLabels reports whether two lists have the same labels, in any order and case.
func sameLabels(a, b []string) bool {
	sorted := func(list []string) []string {
		var lower []string
		for _, s := range list {
			lower = append(lower, strings.ToLower(s))
		}
		slices.Sort(lower)
		return lower
	}
	return slices.Equal(sorted(a), sorted(b))
}
