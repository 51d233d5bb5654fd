package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/internal/slicing"
	"github.com/assay-eval/assay/metrics"
)

func opened(t *testing.T, dir string) *runs.Run {
	t.Helper()
	run, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// two are runs that share one metric of two, with everything that a result may be.
func two(t *testing.T) []Source {
	t.Helper()
	no, half := false, 0.5
	judged := runstest.Scored("s0", "a/x", 0.25)
	judged.Group = "g"
	judged.Score.Because = []metrics.Finding{
		{Kind: "claim", Text: "=cmd|' /C calc'!A0", Verdict: &no, Reason: "nobody says so", Where: "context 1"},
		{Kind: "question", Text: "how?\xff", Value: &half}}
	first, second := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	runstest.Write(t, first, runstest.Manifest("a/x", "b/y"), judged,
		metrics.Result{Sample: "s0", Metric: "b/y", Group: "g", Error: "no verdict", Kind: metrics.BadReply},
		runstest.Scored("=1+1", "a/x", 1.0/3),
		metrics.Result{Sample: "=1+1", Metric: "b/y", Error: "no claim", Kind: metrics.NotApplicable})
	runstest.Write(t, second, runstest.Manifest("b/y", "c/z"), runstest.Scored("s0", "b/y", 1), runstest.Scored("s0", "c/z", 0))
	data := &slicing.Data{Columns: []string{"lang", "tags"}, Rows: map[string]slicing.Row{
		"s0": {Values: [][]string{{"de"}, {"one", "two"}}}, "=1+1": {Values: [][]string{{"-en"}, {slicing.None}}}}}
	return []Source{{opened(t, first), data}, {opened(t, second), nil}}
}

func TestWideCSV(t *testing.T) {
	var b bytes.Buffer
	sources := two(t)
	n, err := WideCSV(t.Context(), &b, sources)
	if err != nil || n != 3 {
		t.Fatalf("%d rows, %v", n, err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	one, other := sources[0].Run.Dir, sources[1].Run.Dir
	want := [][]string{
		{"run", "sample", "group", "lang", "tags", "a/x", "a/x.reason", "a/x.error", "b/y", "b/y.reason", "b/y.error",
			"c/z", "c/z.reason", "c/z.error"},
		{one, "s0", "g", "de", "one; two", "0.25", "claim, no: =cmd|' /C calc'!A0 (context 1): nobody says so\nquestion, " +
			"0.500: how?\ufffd", "", "", "", "bad_reply: no verdict", "", "", ""},
		{one, "'=1+1", "", "'-en", "", "0.3333333333333333", "", "", "", "", "not_applicable: no claim", "", "", ""},
		{other, "s0", "", "", "", "", "", "", "1", "", "", "0", "", ""},
	}
	for i := range want {
		if !slices.Equal(rows[i], want[i]) {
			t.Errorf("row %d:\n got %q\nwant %q", i, rows[i], want[i])
		}
	}
}

// Parquet holds what CSV does: numbers as numbers, nothing as null, and texts as they are.
func TestWideParquet(t *testing.T) {
	type row struct {
		Run    string   `parquet:"run"`
		Sample string   `parquet:"sample"`
		Group  *string  `parquet:"group,optional"`
		Lang   *string  `parquet:"lang,optional"`
		Tags   *string  `parquet:"tags,optional"`
		X      *float64 `parquet:"a/x,optional"`
		Reason *string  `parquet:"a/x.reason,optional"`
		Error  *string  `parquet:"b/y.error,optional"`
		Z      *float64 `parquet:"c/z,optional"`
	}
	var b bytes.Buffer
	if n, err := WideParquet(t.Context(), &b, two(t)); err != nil || n != 3 {
		t.Fatalf("%d rows, %v", n, err)
	}
	rows, err := pq.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if r := rows[0]; *r.X != 0.25 || *r.Group != "g" || *r.Tags != "one; two" || *r.Error != "bad_reply: no verdict" ||
		!strings.HasPrefix(*r.Reason, "claim, no: =cmd") || r.Z != nil {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.Sample != "=1+1" || *r.X != 1.0/3 || r.Group != nil || *r.Lang != "-en" || r.Tags != nil || r.Reason != nil {
		t.Errorf("%+v", r)
	}
	if r := rows[2]; r.X != nil || *r.Z != 0 || r.Lang != nil {
		t.Errorf("%+v", r)
	}
}

func TestColumnsOfOneName(t *testing.T) {
	sources := two(t)
	sources[0].Data.Columns[0] = "a/x"
	var input *runs.InputError
	if _, err := WideCSV(t.Context(), &bytes.Buffer{}, sources); !errors.As(err, &input) {
		t.Errorf("a column of a metric's name: %v", err)
	}
}

// The lines are requests of OTLP as its JSON encoding has them: names in lowerCamelCase, 64-bit integers as strings.
func TestOTLP(t *testing.T) {
	trace, span := strings.Repeat("5b", 16), strings.Repeat("0e", 8)
	m := runstest.Manifest("a/x")
	m.Started = runs.Time{Time: time.Unix(1_800_000_000, 0)}
	m.Tool = "assay v1"
	judged := runstest.Scored(trace, "a/x", 0.25)
	judged.Score.Because = []metrics.Finding{{Kind: "claim", Text: "a < b"}}
	list := []metrics.Result{judged, {Sample: span, Metric: "a/x", Error: "no verdict", Kind: metrics.BadReply},
		{Sample: "n", Metric: "a/x", Error: "no claim", Kind: metrics.NotApplicable}}
	for i := range 1000 {
		list = append(list, runstest.Scored(fmt.Sprint("s", i), "a/x", 1))
	}
	dir := filepath.Join(t.TempDir(), "run")
	runstest.Write(t, dir, m, list...)
	var b bytes.Buffer
	n, err := OTLP(t.Context(), &b, opened(t, dir))
	if err != nil || n != 1002 {
		t.Fatalf("%d events, %v", n, err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	var first struct {
		ResourceLogs []struct {
			Resource  struct{ Attributes json.RawMessage }
			ScopeLogs []struct{ LogRecords []json.RawMessage }
		}
	}
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	records := first.ResourceLogs[0].ScopeLogs[0].LogRecords
	finished := opened(t, dir).Manifest.Finished.UnixNano()
	want := []string{
		fmt.Sprintf(`{"timeUnixNano":"%d","severityNumber":9,"eventName":"gen_ai.evaluation.result","traceId":"%s","attributes":[`+
			`{"key":"gen_ai.evaluation.name","value":{"stringValue":"a/x"}},{"key":"assay.sample.id","value":{"stringValue":"%s"}},`+
			`{"key":"gen_ai.evaluation.score.value","value":{"doubleValue":0.25}},`+
			`{"key":"gen_ai.evaluation.explanation","value":{"stringValue":"claim: a < b"}}]}`, finished, trace, trace),
		fmt.Sprintf(`{"timeUnixNano":"%d","severityNumber":17,"eventName":"gen_ai.evaluation.result","spanId":"%s","attributes":[`+
			`{"key":"gen_ai.evaluation.name","value":{"stringValue":"a/x"}},{"key":"assay.sample.id","value":{"stringValue":"%s"}},`+
			`{"key":"error.type","value":{"stringValue":"bad_reply"}},`+
			`{"key":"gen_ai.evaluation.explanation","value":{"stringValue":"no verdict"}}]}`, finished, span, span),
	}
	for i := range want {
		if string(records[i]) != want[i] {
			t.Errorf("record %d:\n got %s\nwant %s", i, records[i], want[i])
		}
	}
	if !strings.Contains(string(first.ResourceLogs[0].Resource.Attributes), `{"key":"service.version","value":{"stringValue":"assay v1"}}`) {
		t.Errorf("resource %s", first.ResourceLogs[0].Resource.Attributes)
	}
}
