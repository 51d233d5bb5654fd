package export

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
	pq "github.com/parquet-go/parquet-go"
)

// Every result of every run is a row, and what a result does not have is null.
func TestScores(t *testing.T) {
	names := []string{"a/x", "b/y"}
	var all []metrics.Result
	for i := range 5 {
		all = append(all, runstest.Scored(fmt.Sprint("s", i), "a/x", float64(i)/10),
			metrics.Result{Sample: fmt.Sprint("s", i), Metric: "b/y", Error: "no verdict", Kind: metrics.BadReply})
	}
	all[0].Group, all[0].Calls, all[0].Cost = "g", []string{"k1", "k2"}, &metrics.Cost{PromptTokens: 7, OutputTokens: 3}
	dir := filepath.Join(t.TempDir(), "run")
	runstest.Write(t, dir, runstest.Manifest(names...), all...)
	var b bytes.Buffer
	run := opened(t, dir)
	n, err := Scores(t.Context(), &b, run, run)
	if err != nil || n != 2*len(all) {
		t.Fatalf("%d rows, %v", n, err)
	}
	rows, err := pq.Read[flat](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(rows) != n {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, row := range rows {
		r := all[i%len(all)]
		if row.Run != dir || row.Sample != r.Sample || row.Metric != r.Metric || row.Calls != int64(len(r.Calls)) {
			t.Errorf("row %d: %+v, want %+v", i, row, r)
		}
		if (row.Score == nil) != (r.Score == nil) || row.Score != nil && *row.Score != r.Score.Value {
			t.Errorf("row %d: the score is %v", i, row.Score)
		}
		if (row.Error == nil) != (r.Error == "") || row.Error != nil &&
			(*row.Error != r.Error || *row.Kind != string(r.Kind)) {
			t.Errorf("row %d: the error is %v", i, row.Error)
		}
		if (row.Group == nil) != (r.Group == "") {
			t.Errorf("row %d: the group is %v", i, row.Group)
		}
	}
	if rows[0].PromptTokens != 7 || rows[0].OutputTokens != 3 || *rows[0].Group != "g" {
		t.Errorf("%+v", rows[0])
	}
}
