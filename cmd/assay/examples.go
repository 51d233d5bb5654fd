package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/fewshot"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// examplesHelp says what --examples takes.
const examplesHelp = "a `FILE` of labelled rows that the model is shown first, in place of the prompts' own examples"

// givenExamples are the few-shot examples of a file; the zero value is none.
type givenExamples struct {
	file   string
	sha256 string
	taught []prompts.Taught // the prompts that show them
}

// loadExamples puts the few-shot examples of a file into those prompts of own that are asked and take any, and says
// which show how many. Without a file there are none.
func (s *std) loadExamples(ctx context.Context, file string, own *prompts.Set,
	asked []*prompts.Prompt) (givenExamples, error) {
	if file == "" {
		return givenExamples{}, nil
	}
	examples, err := fewshot.Read(ctx, file)
	if err != nil {
		return givenExamples{}, fmt.Errorf("--examples: %w", err)
	}
	with, taught, err := own.WithShots(examples.Shots, asked)
	if errors.Is(err, prompts.ErrNoShot) {
		err = withHint(err, "%s", wantedExamples(asked))
	}
	if err != nil {
		return givenExamples{}, fmt.Errorf("--examples %s: %w", file, err)
	}
	*own = with
	if with.Layout() == prompts.Row {
		s.note("prompts with examples of yours are asked in the classic layout: docs/layouts.md")
	}
	for _, t := range taught {
		if !t.Verdicts {
			s.note("prompt %s shows %d examples of %s", t.Prompt, t.Shots, file)
			continue
		}
		s.note("prompt %s shows %d examples of %s: %d for yes, %d for no", t.Prompt, t.Shots, file, t.Yes, t.No)
		if t.Yes == 0 || t.No == 0 {
			s.warn("all examples that prompt %s shows have one answer: a judge may learn to give no other", t.Prompt)
		}
	}
	return givenExamples{file, examples.SHA256, taught}, nil
}

// wantedExamples says what examples the prompts take.
func wantedExamples(asked []*prompts.Prompt) string {
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

// fit refuses examples that leave a judge no room for a question, before every row fails by them.
func (g givenExamples) fit(ctx context.Context, models metrics.Models, ms []metrics.Metric) error {
	for _, role := range backend.SortRoles(models.Roles) {
		judge := models.Roles[role]
		if role.Kind() != backend.Judge || !judge.Info().Ops.Has(backend.CanChoose) {
			continue
		}
		asked := metrics.Models{Roles: metrics.Roles{backend.Judge: judge}, Prompts: models.Prompts}
		for _, prompt := range promptsOf(ms) {
			if !slices.ContainsFunc(g.taught, func(t prompts.Taught) bool { return t.Prompt == prompt.Name }) {
				continue
			}
			err := fewshot.Fits(ctx, asked, prompt)
			if errors.Is(err, backend.ErrPromptTooLong) {
				return usageError{withHint(fmt.Errorf("--examples %s: %s: %w", g.file, role.Title(), err),
					"leave some out, choose shorter ones, or give the model a larger context")}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
