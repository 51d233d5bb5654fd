package study

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// A Judgement is the grade of a passage for a query.
type Judgement struct {
	Query, Passage string
	Grade          int
}

// Judgements are relevance judgements by a judge.
type Judgements struct {
	List     []Judgement // in the order of the runs, each pair of query and passage once
	Unscored int         // samples that the metric has no grades for
	again    map[[2]string]int
}

// GradedRelevance is the metric whose findings are graded passages.
const GradedRelevance = "context_relevance/umbrela"

// Judged collects the grades that the runs' passages were given by a metric, [GradedRelevance] or one of its name with
// something behind an @. It is an error if no passage has an id, and if two runs graded one passage otherwise.
func Judged(ctx context.Context, dirs []*runs.Run, metric string) (*Judgements, error) {
	j := &Judgements{again: map[[2]string]int{}}
	for _, run := range dirs {
		if _, err := run.Manifest.Find(metric); err != nil {
			return nil, runs.Inputf("%s did not grade passages: run it with --metrics %s", run.Dir, GradedRelevance)
		}
		for r, err := range run.Results(ctx) {
			switch {
			case err != nil:
				return nil, err
			case r.Metric != metric:
			case r.Score == nil:
				j.Unscored++
			default:
				for _, f := range r.Score.Because {
					if err := j.add(run.Dir, r.Sample, f); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	if len(j.List) == 0 {
		return nil, runs.Inputf("no passage was graded: %s has no score", metric)
	}
	return j, nil
}

func (j *Judgements) add(dir, query string, f metrics.Finding) error {
	if f.Kind != "passage" || f.Value == nil {
		return nil
	}
	if f.ID == "" {
		return runs.Inputf("%s: the passages of sample %.60q have no ids: the dataset needs context_ids", dir, query)
	}
	for _, name := range []string{query, f.ID} {
		if strings.ContainsFunc(name, unicode.IsSpace) {
			return runs.Inputf("%s: the id %.60q holds white space, by which a file of judgements parts its fields", dir, name)
		}
	}
	grade := int(*f.Value)
	key := [2]string{query, f.ID}
	if at, known := j.again[key]; known {
		if j.List[at].Grade != grade {
			return runs.Inputf("the passage %.60q is graded %d for %.60q in %s, and %d before: judge all runs with one "+
				"model and prompt", f.ID, grade, query, dir, j.List[at].Grade)
		}
		return nil
	}
	j.again[key] = len(j.List)
	j.List = append(j.List, Judgement{query, f.ID, grade})
	return nil
}

// WriteQrels writes judgements in TREC's form: query, iteration (always 0), passage and grade.
func (j *Judgements) WriteQrels(w io.Writer) error {
	for _, one := range j.List {
		if _, err := fmt.Fprintf(w, "%s 0 %s %d\n", one.Query, one.Passage, one.Grade); err != nil {
			return err
		}
	}
	return nil
}

// A JudgedAgreement is how far a judge's relevance judgements agree with people's, on the passages that both judged.
type JudgedAgreement struct {
	N        int `json:"n"`
	Queries  int `json:"queries"`
	OnlyHere int `json:"only_judge"`  // passages that the judge graded and people did not
	OnlyThem int `json:"only_people"` // and the other way round

	// Exact is the share of equal grades; Kappa is Cohen's, over grades; Weighted is with quadratic weights.
	Exact    *Estimate `json:"exact"`
	Kappa    *Estimate `json:"kappa,omitempty"`
	Weighted *Estimate `json:"weighted_kappa,omitempty"`
	// Binary is Cohen's kappa of relevant and not: grades of at least Relevant are.
	Binary   *Estimate `json:"binary_kappa,omitempty"`
	Relevant int       `json:"relevant"`

	Grades   []int    `json:"grades"` // those that occur, ascending
	Counts   [][]int  `json:"counts"` // by people's grade, then by the judge's
	Warnings []string `json:"warnings,omitempty"`
}

// AgreeJudgements compares a judge's judgements with people's: grades by query and passage, of which negative ones mean
// that nobody judged. Intervals are over queries.
func AgreeJudgements(ctx context.Context, j *Judgements, people map[string]map[string]int, relevant int,
	seed uint64) (*JudgedAgreement, error) {
	a := &JudgedAgreement{Relevant: relevant}
	var ours, theirs, equal []float64
	var queries []string
	for _, one := range j.List {
		grade, known := people[one.Query][one.Passage]
		if !known || grade < 0 {
			a.OnlyHere++
			continue
		}
		ours, theirs = append(ours, float64(one.Grade)), append(theirs, float64(grade))
		equal = append(equal, boolean(one.Grade == grade))
		queries = append(queries, one.Query)
		a.Grades = append(a.Grades, one.Grade, grade)
	}
	for query, grades := range people {
		for passage, grade := range grades {
			if _, known := j.again[[2]string{query, passage}]; grade >= 0 && !known {
				a.OnlyThem++
			}
		}
	}
	if a.N = len(ours); a.N == 0 {
		return nil, errors.New("the judge and people judged no passage in common: are the ids the same?")
	}
	a.Queries = len(slices.Compact(slices.Sorted(slices.Values(queries))))
	slices.Sort(a.Grades)
	a.Grades = slices.Compact(a.Grades)
	a.Counts = make([][]int, len(a.Grades))
	for i := range a.Counts {
		a.Counts[i] = make([]int, len(a.Grades))
	}
	for i := range ours {
		a.Counts[slices.Index(a.Grades, int(theirs[i]))][slices.Index(a.Grades, int(ours[i]))]++
	}
	o := in(drawing(ctx, seed), queries)
	exact := stats.Of(equal, o)
	a.Exact = newEstimate(exact.Mean, exact.Interval)
	at := func(list []float64) []float64 {
		var said []float64
		for _, g := range list {
			said = append(said, boolean(g >= float64(relevant)))
		}
		return said
	}
	a.Kappa = a.kappa("kappa", ours, theirs, stats.Unweighted, o)
	a.Weighted = a.kappa("weighted kappa", ours, theirs, stats.Quadratic, o)
	a.Binary = a.kappa("binary kappa", at(ours), at(theirs), stats.Unweighted, o)
	return a, ctx.Err()
}

func (a *JudgedAgreement) kappa(what string, x, y []float64, w stats.Weights, o stats.Options) *Estimate {
	e, err := stats.CohenKappa(x, y, w, o)
	if err != nil {
		a.Warnings = append(a.Warnings, "no "+what+": "+err.Error())
		return nil
	}
	return newEstimate(e.Value, e.Interval)
}
