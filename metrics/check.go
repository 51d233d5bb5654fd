package metrics

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
)

// Check reports, before the first sample, why ms cannot run: a model that is missing or lacks an
// ability, or a column that no sample fills. Fields are those that the dataset fills in some row. The error says what
// to do, a line per metric.
func Check(ms []Metric, models Models, fields Field) error {
	var errs []error
	for _, m := range ms {
		if missing := m.Needs &^ fields; missing != 0 {
			errs = append(errs,
				fmt.Errorf("%s needs %v, which the dataset does not have: leave the metric out, or map a column to it",
					m.Name, missing))
		}
		if m.Searches && models.Evidence == nil {
			errs = append(errs, fmt.Errorf("%s looks for evidence in a corpus: --corpus FOLDER or FILE names it", m.Name))
		}
		for _, role := range backend.SortRoles(m.Asks) {
			if err := checkModel(m, role, models.Role(role)); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, m := range ms {
		if m.Bound != nil {
			errs = append(errs, m.Bound(models))
		}
	}
	return errors.Join(errs...)
}

// checkModel reports why m cannot ask b, nil for none, in a role.
func checkModel(m Metric, role backend.Role, b backend.Backend) error {
	want := m.Asks[role]
	if want == 0 {
		return nil
	}
	if b == nil {
		return fmt.Errorf("%s needs a model that can %v: name %s", m.Name, want, role.WithArticle())
	}
	info := b.Info()
	if !info.Ops.Has(want) {
		return fmt.Errorf("%s needs %s that can %v, but %s on %s can only %v: name another",
			m.Name, role.WithArticle(), want, info.Model, info.Engine, info.Ops)
	}
	if m.Fits != nil {
		if err := m.Fits(role.Kind(), info); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	if role.Kind() != backend.Encoder {
		return nil
	}
	for _, label := range m.Outputs {
		if _, err := EncoderOutput(info, label); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// EncoderOutput returns the index of the output with a label, of a model's classification head. The only output
// of a model without labels, a reranker, is the relevance of a text to a query.
func EncoderOutput(info backend.Info, label string) (int, error) {
	if len(info.Labels) == 0 && label == "context_relevance" {
		return 0, nil
	}
	if i := slices.Index(info.Labels, label); i >= 0 {
		return i, nil
	}
	if len(info.Labels) == 0 {
		return 0, fmt.Errorf("%s on %s does not say what its number means, so it is taken for relevance: "+
			"name an encoder with an output %s", info.Model, info.Engine, label)
	}
	return 0, fmt.Errorf("%s on %s has the outputs %s and no %s: name another encoder", info.Model, info.Engine,
		strings.Join(info.Labels, ","), label)
}
