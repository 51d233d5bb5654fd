// Package export writes the results of runs, as they are, for other programs: a row for each result ([Scores]), a row for
// each sample ([WideCSV], [WideParquet]), OpenTelemetry's events ([OTLP]). Summaries are package report's.
package export

import (
	"context"
	"io"

	"github.com/assay-eval/assay/internal/runs"
	pq "github.com/parquet-go/parquet-go"
)

// A flat row is one result, for programs that read tables. What a result does not have is null.
type flat struct {
	Run          string   `parquet:"run"` // its folder
	Sample       string   `parquet:"sample"`
	Group        *string  `parquet:"group,optional"`
	Metric       string   `parquet:"metric,dict"`
	Score        *float64 `parquet:"score,optional"`
	Numerator    *int64   `parquet:"numerator,optional"` // of the score, where it is a ratio of counts
	Denominator  *int64   `parquet:"denominator,optional"`
	Error        *string  `parquet:"error,optional"`
	Kind         *string  `parquet:"kind,optional,dict"` // of the error
	Calls        int64    `parquet:"calls"`              // answers of models used
	PromptTokens int64    `parquet:"prompt_tokens"`
	OutputTokens int64    `parquet:"output_tokens"`
}

// Scores writes the results of runs as a Parquet file, a row for each sample and metric in the order of the runs.
// It returns how many there are.
func Scores(ctx context.Context, w io.Writer, list ...*runs.Run) (n int, err error) {
	out := pq.NewGenericWriter[flat](w, pq.Compression(&pq.Snappy), pq.MaxRowsPerRowGroup(1<<17))
	for _, run := range list {
		for r, err := range run.Results(ctx) {
			if err != nil {
				return 0, err
			}
			row := flat{Run: run.Dir, Sample: r.Sample, Group: some(r.Group), Metric: r.Metric, Error: some(r.Error),
				Kind: some(string(r.Kind)), Calls: int64(len(r.Calls))}
			if r.Score != nil {
				row.Score = &r.Score.Value
				if ratio := r.Score.Ratio; ratio != nil {
					n, of := int64(ratio.Numerator), int64(ratio.Denominator)
					row.Numerator, row.Denominator = &n, &of
				}
			}
			if r.Cost != nil {
				row.PromptTokens, row.OutputTokens = int64(r.Cost.PromptTokens), int64(r.Cost.OutputTokens)
			}
			if _, err := out.Write([]flat{row}); err != nil {
				return 0, err
			}
			n++
		}
	}
	return n, out.Close()
}

// some is nil for what is empty.
func some(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
