package stack

import (
	"errors"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// Flag is the name of the flag by which the user names models of a role's kind; complaints mention it.
func Flag(role backend.Role) string {
	switch role.Kind() {
	case backend.Judge:
		return "model"
	case backend.Embedder:
		return "embed-model"
	case backend.Encoder:
		return "encoder-model"
	case backend.Sampler:
		return "sample-model"
	}
	return ""
}

// Name takes the user's word for one more model of a kind: REF, or NAME=REF where there may be several. "" is none. What
// stands before the first = is a name if it could be one: a path can begin with ./
func (o *Options) Name(kind backend.Role, text string, several bool) error {
	if text == "" {
		return nil
	}
	name, ref, named := strings.Cut(text, "=")
	if err := backend.CheckRoleName(name); !named || strings.ContainsAny(name, `/\:`) {
		name, ref = "", text
	} else if err != nil {
		return err
	}
	role := kind.Named(name)
	before, twice := o.Models[role]
	switch {
	case ref == "":
		return errors.New("it names no model")
	case name != "" && !several:
		return errors.New("this command asks one model of the kind, so it needs no name")
	case twice && name != "":
		return fmt.Errorf("%s is %s already", name, before)
	case twice && several:
		return fmt.Errorf("%s is named already: of several models, each needs a name, NAME=REF", before)
	case twice:
		return fmt.Errorf("%s is named already, and this command asks one model of the kind", before)
	}
	if o.Models == nil {
		o.Models = make(map[backend.Role]string)
	}
	o.Models[role] = ref
	return nil
}

// Names lists the roles with names that the user gave models for.
func (o *Options) Names() []backend.Role {
	all := backend.Identities{}
	for role := range o.Models {
		all[role] = backend.Identity{}
	}
	return all.Named()
}

// Check refuses metrics that ask a model without a name where all that are given have one, and trained judges that
// ask one by a name that none has. Its error is a [runs.InputError].
func (o *Options) Check(ms []metrics.Metric) error {
	there := o.Names()
	for _, m := range ms {
		for _, kind := range backend.SortRoles(m.Asks) {
			if o.Models[kind] != "" {
				continue
			}
			if name := kind.Name(); name != "" {
				return runs.Inputf("%s asks the %s, and there is none", m.Name, kind.Title()).WithHint(
					"--%s %s=REF names it", Flag(kind), name)
			}
			for _, role := range m.Askable(there) {
				if role.Kind() == kind {
					return runs.Inputf("%s does not say which %s it asks: each has a name", m.Name, kind.Title()).WithHint(
						"%s@%s says so", m.Name, role.Name())
				}
			}
		}
	}
	return nil
}

// about tells the user something of a role's model.
func (o *Options) about(role backend.Role) func(format string, args ...any) {
	return func(format string, args ...any) { o.Say(role.Label()+": "+format, args...) }
}
