package fewshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Given are the examples of a file as prompts show them; the zero value is none.
type Given struct {
	SHA256 string // of the file: see [File]

	file   string
	taught []prompts.Taught // the prompts that show them
}

// Teach puts the few-shot examples of a file into those prompts of own that are asked and take any, and says which show
// how many. Without a file there are none.
func Teach(ctx context.Context, file string, own *prompts.Set, asked []*prompts.Prompt,
	say, warn func(format string, args ...any)) (Given, error) {
	if file == "" {
		return Given{}, nil
	}
	examples, err := Read(ctx, file)
	if err != nil {
		return Given{}, fmt.Errorf("--examples: %w", err)
	}
	with, taught, err := own.WithShots(examples.Shots, asked)
	if errors.Is(err, prompts.ErrNoShot) {
		err = &runs.InputError{Err: err, Hint: wanted(asked)}
	}
	if err != nil {
		return Given{}, fmt.Errorf("--examples %s: %w", file, err)
	}
	*own = with
	if with.Layout() == prompts.Row {
		say("prompts with examples of yours are asked in the classic layout: docs/layouts.md")
	}
	for _, t := range taught {
		if !t.Verdicts {
			say("prompt %s shows %d examples of %s", t.Prompt, t.Shots, file)
			continue
		}
		say("prompt %s shows %d examples of %s: %d for yes, %d for no", t.Prompt, t.Shots, file, t.Yes, t.No)
		if t.Yes == 0 || t.No == 0 {
			warn("all examples that prompt %s shows have one answer: a judge may learn to give no other", t.Prompt)
		}
	}
	return Given{examples.SHA256, file, taught}, nil
}

// wanted says what examples the prompts take.
func wanted(asked []*prompts.Prompt) string {
	var names []string
	for _, p := range asked {
		if p.Example.Shot != nil {
			names = append(names, p.Name)
		}
	}
	if names == nil {
		return "no prompt of these metrics takes examples: those of the preset logit do"
	}
	return "want rows with labels, such as {\"human\": {\"faithfulness\": true}}, for the prompts " +
		strings.Join(names, ", ")
}

// Fit refuses examples that leave one of the judges no room for a question, before every row fails by them. It asks each
// of the prompts that shows them about nothing: what is computed for that is the prefix of every prompt to come.
func (g Given) Fit(ctx context.Context, m metrics.Models, asked []*prompts.Prompt) error {
	for _, role := range backend.SortRoles(m.Roles) {
		judge := m.Roles[role]
		if role.Kind() != backend.Judge || !judge.Info().Ops.Has(backend.CanChoose) {
			continue
		}
		one := metrics.Models{Roles: metrics.Roles{backend.Judge: judge}, Prompts: m.Prompts}
		for _, prompt := range asked {
			if !slices.ContainsFunc(g.taught, func(t prompts.Taught) bool { return t.Prompt == prompt.Name }) {
				continue
			}
			_, err := ask.Yes(ctx, one, prompt, prompt.Example.Data)
			if errors.Is(err, backend.ErrPromptTooLong) {
				return runs.Inputf("--examples %s: %s: %w", g.file, role.Title(), err).WithHint(
					"leave some out, choose shorter ones, or give the model a larger context")
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
