package main

import (
	"context"
	"strings"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/internal/study/labels"
)

const componentsHelp = `
Usage: assay components RUN [--metric M] [flags]

Says which part of a RAG fails, by the types of questions that it fails on, as Giskard's RAGET does: the generator, the
retriever, the rewriter of questions, the router, which should turn questions away that nothing answers, and the knowledge
base, which should serve all topics alike. The run is over answers to a test set whose rows say their type.

  assay testset --corpus docs -n 100 --recipe questions --types single,complex,distracting,double,conversational,outside -o questions.jsonl
  assay answer --corpus docs --questions questions.jsonl -o answers.jsonl
  assay run --data answers.jsonl --metrics answer_correctness/claims_f1 -o results
  assay components results

A part's score is the mean over the types of questions that it answers for of the metric's mean in each. The type of a
question is its column type or question_type, its topic the column topic, of the row or of its column metadata; without a
topic it is the document that the question was written from.
`

func componentsCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("components", componentsHelp)
	metric := f.StringP("metric", "m", "", "the metric whose scores are used, where the run has several")
	data := f.String("data", "", "the dataset `FILE`, where it is not any more where the run found it")
	format := f.String("format", "table", strings.Join(report.StudyFormats(), ", "))
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if err := checkFormat(*format, report.StudyFormats()...); err != nil {
		return err
	}
	run, err := runs.LoadScores(ctx, f.Arg(0))
	if err != nil {
		return err
	}
	m, err := run.One(*metric)
	if err != nil {
		return err
	}
	c, err := study.Components(ctx, run, m, &labels.Source{Data: *data, Warn: s.warn})
	if err != nil {
		return err
	}
	return report.WriteStudy(s.out, c, *format)
}
