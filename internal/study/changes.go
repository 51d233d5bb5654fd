package study

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// configChanges says in what two runs differ beside their answers.
func configChanges(base, other *runs.Run) []string {
	a, b := base.Manifest.Config, other.Manifest.Config
	var list []string
	add := func(format string, args ...any) {
		list = append(list, other.Dir+": "+fmt.Sprintf(format, args...))
	}
	if a.Dataset.SHA256 != b.Dataset.SHA256 {
		add("another dataset than %s: %s, not %s; samples are matched by their ids", base.Dir, b.Dataset.Path,
			a.Dataset.Path)
	}
	if a.Dataset.Sheet != b.Dataset.Sheet {
		add("another sheet of the workbook (--sheet): samples are matched by their ids")
	}
	if !maps.Equal(a.Dataset.Map, b.Dataset.Map) {
		add("other columns of the dataset are read (--map)")
	}
	for _, d := range a.Models().Differences(b.Models()) {
		switch d.In {
		case backend.Presence:
			add("only one of the runs has %s", d.Role.WithArticle())
		case backend.Weights:
			add("another %s: %s, not %s; the difference is also one of the models that score", d.Role.Title(), d.B.Name,
				d.A.Name)
		case backend.Engine:
			add("the %s on another engine: %s, not %s", d.Role.Title(), d.B.Engine, d.A.Engine)
		case backend.ContextSize:
			add("the %s with another context size: %d, not %d", d.Role.Title(), d.B.Context, d.A.Context)
		}
	}
	if a.Layout != b.Layout {
		add("prompts in the layout %s, not %s: the judge is shown the same rows in other words, and scores differ by that "+
			"alone; docs/layouts.md says how much", layoutOf(b), layoutOf(a))
	}
	for _, p := range a.Prompts {
		i := slices.IndexFunc(b.Prompts, func(q prompts.Identity) bool { return q.Name == p.Name })
		if i >= 0 && b.Prompts[i].Digest != p.Digest && a.Layout == b.Layout {
			add("another text of the prompt %s: version %s, not %s", p.Name, b.Prompts[i].Version, p.Version)
		}
	}
	if a.Examples != b.Examples {
		add("other few-shot examples")
	}
	if a.Criteria != b.Criteria {
		add("other criteria of your own")
	}
	if a.Judges != b.Judges {
		add("another trained judge")
	}
	if a.Frequencies != b.Frequencies {
		add("other frequencies of tokens in the references, by which some metrics weigh")
	}
	if !reflect.DeepEqual(a.Corpus, b.Corpus) {
		add("another corpus to find evidence in, or other passages of it")
	}
	if a.Dataset.Qrels != b.Dataset.Qrels || a.Dataset.Complete != b.Dataset.Complete {
		add("other relevance judgements, or another use of them")
	}
	if a.Dataset.Turns != b.Dataset.Turns {
		add("%s turn of each conversation, not %s", turns(b.Dataset.Turns), turns(a.Dataset.Turns))
	}
	if !reflect.DeepEqual(a.Budget, b.Budget) {
		add("another budget: other rows were asked about, or by another cheap metric")
	}
	if a.Seed != b.Seed {
		add("another seed: %d, not %d", b.Seed, a.Seed)
	}
	if a.Reasons != b.Reasons {
		add("reasons for %s verdicts of short forms, not for %s", cmp.Or(b.Reasons, metrics.DoubtfulReasons),
			cmp.Or(a.Reasons, metrics.DoubtfulReasons))
	}
	for _, r := range []*runs.Run{base, other} {
		if r.Manifest.Finished == nil {
			list = append(list, r.Dir+": unfinished")
		}
	}
	return list
}

// layoutOf is the layout of a run's prompts.
func layoutOf(c runs.Config) prompts.Layout { return cmp.Or(c.Layout, prompts.Classic) }

// turns says which turns of conversations are rows.
func turns(all bool) string {
	if all {
		return "every"
	}
	return "the last"
}
