package main

import (
	"context"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
)

func qrelsCommand(ctx context.Context, s *std, args []string) error {
	var metric, output, against, format string
	var relevant int
	var seed uint64
	f := s.flags("qrels", page("qrels"))
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
