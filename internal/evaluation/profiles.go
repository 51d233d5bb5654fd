package evaluation

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/profile"
	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
	"github.com/assay-eval/assay/tokenize"
)

// loadProfiles returns the metrics of profiles: nil if there are none. named are the user's names of the models.
func loadProfiles(names []string, named map[backend.Role]string) ([]metrics.Metric, error) {
	var list []metrics.Metric
	for _, name := range names {
		profiles, err := findProfiles(name, named)
		if err != nil {
			return nil, fmt.Errorf("--judge-profile %s: %w", name, err)
		}
		for _, p := range profiles {
			for _, m := range p.Metrics() {
				if hasName(list, m.Name) {
					return nil, fmt.Errorf("--judge-profile %s: the metric %s is there already", name, m.Name)
				}
				list = append(list, m)
			}
		}
	}
	return list, nil
}

// findProfiles resolves what the user wrote.
func findProfiles(name string, named map[backend.Role]string) ([]*profile.Profile, error) {
	if name == "auto" {
		return recogniseModels(named)
	}
	var names []string
	for _, p := range all.Profiles() {
		if p.Name == name {
			return []*profile.Profile{p}, nil
		}
		names = append(names, p.Name)
	}
	text, err := readStart(name, 512<<10)
	if errors.Is(err, os.ErrNotExist) && filepath.Base(name) == name && filepath.Ext(name) == "" {
		if near := tokenize.Nearest(name, names); near != "" {
			return nil, fmt.Errorf("there is no such profile or file: did you mean %s?", near)
		}
		return nil, fmt.Errorf("there is no such profile or file: profiles are %s", strings.Join(names, ", "))
	}
	if err != nil {
		return nil, err
	}
	p, err := all.LoadProfile(name, text)
	if err != nil {
		return nil, err
	}
	return []*profile.Profile{p}, nil
}

// recogniseModels returns the profiles for the judges and encoders that the user named, of those profiles that ask a
// model of that kind.
func recogniseModels(named map[backend.Role]string) ([]*profile.Profile, error) {
	var list []*profile.Profile
	var unknown []string
	for _, kind := range []backend.Role{backend.Judge, backend.Encoder} {
		for _, role := range backend.SortRoles(named) {
			if role.Kind() != kind {
				continue
			}
			ref := named[role]
			before := len(list)
			for _, p := range all.Recognise(describeFile(ref)) {
				if p.Role() == kind && !slices.Contains(list, p) {
					list = append(list, p)
				}
			}
			if len(list) == before {
				unknown = append(unknown, ref)
			}
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no profile knows the models %s: name a profile, or write one",
			cmp.Or(strings.Join(unknown, ", "), "(none is named)"))
	}
	slices.SortFunc(list, func(a, b *profile.Profile) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// describeFile is what a model goes by and how its outputs are labelled, as far as that shows without opening it.
func describeFile(ref string) backend.Info {
	info := backend.Info{Model: ref}
	if onnx.Is(ref) {
		if abs, err := filepath.Abs(ref); err == nil {
			info.Model = abs
		}
		if d, err := onnx.Describe(ref); err == nil {
			info.Model, info.Labels = d.Dir, d.Labels
		}
		return info
	}
	home, err := models.Home()
	if err != nil {
		return info
	}
	if m, err := models.Find(home, ref); err == nil {
		if file, err := gguf.Inspect(m.Path); err == nil {
			info.Model, info.Labels = m.Name, file.Labels
			if len(all.Recognise(info)) == 0 && file.Name != "" {
				info.Model = strings.ReplaceAll(file.Name, " ", "-")
			}
		}
	}
	return info
}

// hintProfiles says which models are asked in another form than the one that they were trained on.
func (e *Evaluation) hintProfiles(roles metrics.Roles) {
	for _, role := range backend.SortRoles(roles) {
		b := roles[role]
		if b == nil || role.Kind() == backend.Embedder {
			continue
		}
		var names []string
		for _, p := range all.Recognise(b.Info()) {
			if p.Role() == role.Kind() {
				names = append(names, p.Name)
			}
		}
		read := slices.ContainsFunc(e.Metrics, func(m metrics.Metric) bool {
			_, method, _ := strings.Cut(unset(m.Name), "/")
			return m.Asks[role] != 0 && slices.Contains(names, method)
		})
		if len(names) > 0 && !read {
			e.options.Say("hint: %s was trained on a form of its own: --judge-profile %s asks it in that", b.Info().Model, names[0])
		}
	}
}
