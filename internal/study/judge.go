package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/assay-eval/assay/internal/judge"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics/all"
)

// A JudgeFile is what assay judge train writes: a trained judge, and what is known of it.
type JudgeFile struct {
	Training JudgeTraining `json:"training"`
	Figures  JudgeFigures  `json:"figures"`

	Sources *SourceFigures `json:"sources,omitempty"` // of a judge trained by source
	all.TrainedJudge
}

// JudgeTraining says where a trained judge comes from.
type JudgeTraining struct {
	Tool    string      `json:"tool"`
	Time    runs.Time   `json:"time"`
	Seed    uint64      `json:"seed"`
	Method  string      `json:"method"`            // linear, trees or both
	Penalty float64     `json:"penalty,omitempty"` // of the linear part
	Depth   int         `json:"depth,omitempty"`   // of the trees
	Tried   []judge.Try `json:"tried"`
	Sets    []JudgeSet  `json:"sets"`
	Dropped []string    `json:"dropped,omitempty"` // features that tell no rows apart
}

// Size is how many rows, in how many groups, the judge was trained on.
func (t *JudgeTraining) Size() (rows, groups int) {
	for _, set := range t.Sets {
		rows, groups = rows+set.Rows, groups+set.Groups
	}
	return rows, groups
}

// Warnings are what a reader of the figures should know.
func (t *JudgeTraining) Warnings() []string {
	var list []string
	rows, groups := t.Size()
	constant, best := t.Tried[0].Loss, t.Tried[0].Loss
	for _, try := range t.Tried {
		best = min(best, try.Loss)
	}
	if best >= constant {
		list = append(list,
			"no method does better than one label for all rows: these metrics tell nothing about these labels")
	}
	if rows < 200 {
		list = append(list, fmt.Sprintf("only %d labelled rows: a judge is rough below 200", rows))
	}
	if groups == rows {
		list = append(list, "no two rows share a question or group: each counts as independent")
	}
	return list
}

// A JudgeTest is what a trained judge does on rows that it may not have seen.
type JudgeTest struct {
	Sets []JudgeSet `json:"sets"`
	JudgeFigures
}

// TrainOptions say what judge is trained, and how.
type TrainOptions struct {
	Tool      string // that trains it
	Dimension string // what the labels are about: the metric is Dimension/judge
	Method    string // one of judge.Methods; "": the one that does best on other rows
	Folds     int    // of the outer cross-validation, from which the figures are

	// BySource has every dataset count as much as any other and left out in turn for the figures. The judge is then
	// linear, and monotone: no better value of a feature lowers what it predicts.
	BySource bool
	Seed     uint64
}

// TrainJudge trains a judge on rows, and predicts each row without its part.
func TrainJudge(ctx context.Context, rows *JudgeRows, o TrainOptions) (*JudgeFile, []Prediction, error) {
	options := judge.Options{Seed: o.Seed, Folds: o.Folds}
	if o.Method != "" {
		options.Methods = []string{o.Method}
	}
	table := rows.table()
	if o.BySource {
		signs, err := rows.signs()
		if err != nil {
			return nil, nil, err
		}
		table.Sources, table.Signs, options.Methods = rows.sources(), signs, []string{"linear"}
	}
	out, err := judge.Train(ctx, table, options)
	if ctx.Err() != nil {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, &runs.InputError{Err: err}
	}
	file := &JudgeFile{TrainedJudge: *out.Judge}
	file.Metric = o.Dimension + "/judge"
	file.Label = rows.label
	file.JudgeModels, file.Prompts = all.JudgeModels(rows.asked.Fields()), rows.prompts
	file.Training = JudgeTraining{Tool: o.Tool, Time: runs.Now(), Seed: o.Seed, Method: out.Method,
		Penalty: out.Penalty, Depth: out.Depth, Tried: out.Tried, Sets: rows.sets, Dropped: out.Dropped}
	predicted := rows.inUnits(out.Predictions)
	if file.Figures, err = rows.figures(file.Metric, predicted, drawing(ctx, o.Seed)); err != nil {
		return nil, nil, err
	}
	file.Figures.On = "rows not fitted to"
	if o.BySource {
		file.Figures.On = "sources not fitted to"
		if file.Sources, err = rows.bySource(file.Metric, predicted, drawing(ctx, o.Seed)); err != nil {
			return nil, nil, err
		}
	}
	if text, err := json.Marshal(file.TrainedJudge); err != nil {
		return nil, nil, err
	} else if _, err := all.LoadJudge(text); err != nil {
		return nil, nil, fmt.Errorf("the judge cannot be used: %w", err)
	}
	return file, rows.predictions(predicted, out.Parts), nil
}

// ReadJudge reads a trained judge's file, and returns its digest.
func ReadJudge(path string) (*JudgeFile, string, error) {
	text, err := readJudgeText(path)
	if err != nil {
		return nil, "", err
	}
	j, err := all.LoadJudge(text)
	if err != nil {
		return nil, "", runs.Inputf("%s is no judge: %v", path, err).WithHint("assay judge train writes one")
	}
	var file JudgeFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, "", fmt.Errorf("%s is no judge: %v", path, err)
	}
	file.TrainedJudge = *j
	sum := sha256.Sum256(text)
	return &file, hex.EncodeToString(sum[:]), nil
}

// readJudgeText reads a file up to one byte more than LoadJudge takes.
func readJudgeText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, all.MostJudge+1))
}

// Test applies a trained judge to rows, and measures what it predicts. Warn is told what to know before the figures.
func (f *JudgeFile) Test(ctx context.Context, rows *JudgeRows, seed uint64,
	warn func(format string, args ...any)) (*JudgeTest, []Prediction, error) {
	j := &f.TrainedJudge
	if err := rows.fits(j); err != nil {
		return nil, nil, &runs.InputError{Err: err}
	}
	predicted := rows.predict(j)
	f.warnTest(rows, warn)
	figures, err := rows.figures(j.Metric, predicted, drawing(ctx, seed))
	if err != nil {
		return nil, nil, err
	}
	figures.On = "other data"
	return &JudgeTest{rows.sets, figures}, rows.predictions(predicted, make([]int, len(predicted))), nil
}

// warnTest says what to know of a test before its figures.
func (f *JudgeFile) warnTest(rows *JudgeRows, warn func(format string, args ...any)) {
	for _, set := range rows.sets {
		name := set.Dataset
		if slices.ContainsFunc(f.Training.Sets, func(t JudgeSet) bool { return t.SHA256 == set.SHA256 }) {
			warn("the judge was trained on %s: what it does there says nothing about other data", name)
		}
		if set.LeftOut > 0 {
			warn("%d labelled rows of %s are left out: a metric failed on them or was not run, or the judge cannot "+
				"do without one that does not apply",
				set.LeftOut, name)
		}
	}
	if mine, theirs := f.Label, rows.label; mine.Min != theirs.Min || mine.Max != theirs.Max {
		warn("the judge predicts %s from %v to %v, and the labels are from %v to %v: its predictions are put into "+
			"that range",
			mine.Field, mine.Min, mine.Max, theirs.Min, theirs.Max)
	}
}
