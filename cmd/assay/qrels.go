package main

import (
	"context"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
)

const qrelsHelp = `
Usage: assay qrels RUN... [flags]

Writes relevance judgements made by a judge: the grades from 0 to 3 that context_relevance/umbrela gave to the
retrieved passages of one or more runs, in TREC's form (query, 0, passage, grade). All measures of retrieval then work
without people's judgements. A passage that several runs retrieved for a query is judged once. What no run retrieved is
not judged: recall is over what was found by any of them.

With --against it says how far they agree with people's judgements instead, on the passages that both judged.

  assay run --data rows.jsonl --metrics context_relevance/umbrela -o graded
  assay qrels graded -o judged.qrels
  assay run --data rows.jsonl --qrels judged.qrels --metrics retrieval/ndcg@10 -o measured
  assay qrels graded --against people.qrels
`

func qrelsCommand(ctx context.Context, s *std, args []string) error {
	var metric, output, against, format string
	var relevant int
	var seed uint64
	f := s.flags("qrels", qrelsHelp)
	f.StringVarP(&metric, "metric", "m", study.GradedRelevance, "the metric that graded the passages")
	f.StringVarP(&output, "output", "o", "", "write the judgements to this `FILE` (default: standard output)")
	f.StringVar(&against, "against", "", "compare them with people's, of this `FILE` in TREC's or BEIR's form")
	f.IntVar(&relevant, "relevant", 2, "grades of at least this are relevant, for the kappa of relevant and not")
	f.Uint64Var(&seed, "seed", 0, "seed of everything that is drawn at random")
	f.StringVar(&format, "format", "table", "of the agreement: "+strings.Join(report.StudyFormats(), ", "))
	if err := parse(f, args, 1, -1); err != nil {
		return err
	}
	if err := checkFormat(format, report.StudyFormats()...); err != nil {
		return err
	}
	if against != "" && output != "" {
		return usagef("--against compares and writes no judgements: leave --output out")
	}
	var list []*runs.Run
	for _, dir := range f.Args() {
		run, err := runs.Open(dir)
		if err != nil {
			return err
		}
		list = append(list, run)
	}
	judged, err := study.Judged(ctx, list, metric)
	if err != nil {
		return err
	}
	if judged.Unscored > 0 {
		s.warn("%d samples have no grades: they failed, or the metric does not apply to them", judged.Unscored)
	}
	if against == "" {
		return s.output(output, judged.WriteQrels)
	}
	people, err := dataset.ReadQrels(ctx, against)
	if err != nil {
		return err
	}
	a, err := study.AgreeJudgements(ctx, judged, people, relevant, seed)
	if err != nil {
		return err
	}
	return report.WriteStudy(s.out, a, format)
}
