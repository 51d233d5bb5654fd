package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/internal/study/labels"
)

// agreeOptions holds the flags of assay agree.
type agreeOptions struct {
	labels    labelOptions
	metrics   []string
	peers     []string
	threshold string
	pairwise  bool
	protocol  string
	seed      uint64
	format    string
}

func agreeCommand(ctx context.Context, s *std, args []string) error {
	var o agreeOptions
	f := s.flags("agree", page("agree", "labels"))
	o.labels.add(f)
	f.StringSliceVarP(&o.metrics, "metric", "m", nil, "look only at these metrics")
	f.StringSliceVar(&o.peers, "peer", nil,
		"set beside them the scores `NAME` in the dataset's column peers; all: each of them")
	f.StringVar(&o.threshold, "threshold", "",
		"scores of at least `VALUE` mean true (default: the middle of the range)")
	f.BoolVar(&o.pairwise, "pairwise", false, "the labels say which of two answers is better: 1 or 2")
	f.StringVar(&o.protocol, "protocol", "",
		"wikieval: which of two rows a metric prefers, of assay testset --recipe wikieval")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything that is drawn at random")
	f.StringVar(&o.format, "format", "table", strings.Join(report.StudyFormats(), ", "))
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if err := checkFormat(o.format, report.StudyFormats()...); err != nil {
		return err
	}
	run, err := runs.LoadScores(ctx, f.Arg(0))
	if err != nil {
		return err
	}
	result, err := o.agree(ctx, s, run)
	if err != nil {
		return err
	}
	return report.WriteStudy(s.out, result, o.format)
}

// agree is what the flags ask of a run: how far metrics agree with labels, or prefer the answers that people do.
func (o *agreeOptions) agree(ctx context.Context, s *std, run *runs.Scores) (any, error) {
	options := study.AgreeOptions{Metrics: o.metrics, Peers: o.peers, Seed: o.seed, Warn: s.warn}
	switch o.protocol {
	case "":
	case "wikieval":
		var l *labels.Set
		if o.labels.Human != "" || o.labels.File != "" {
			var err error
			if l, err = o.labels.load(ctx, s, run); err != nil {
				return nil, err
			}
		}
		return study.WikiEval(ctx, run, l, options)
	default:
		return nil, usagef("unknown protocol %q: wikieval", o.protocol)
	}
	l, err := o.labels.load(ctx, s, run)
	if err != nil {
		return nil, err
	}
	if o.pairwise || l.Field == "preferred" {
		return study.Prefer(ctx, run, l, options)
	}
	if o.threshold != "" {
		v, err := strconv.ParseFloat(o.threshold, 64)
		if err != nil {
			return nil, usagef("--threshold %q: it takes a number", o.threshold)
		}
		options.Threshold = &v
	}
	return study.Agree(ctx, run, l, options)
}
