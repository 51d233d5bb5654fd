package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	learned "github.com/assay-eval/assay/internal/judge"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/metrics/all"
)

// studies are results of every kind, in which every text is a name.
func studies(name string) []any {
	e := func(v float64) *study.Estimate {
		return &study.Estimate{Value: v, Lo: ptr(v - 0.125), Hi: ptr(v + 0.125)}
	}
	m := study.MetricAgreement{Metric: name, N: 7, Spearman: e(0.5), AUC: e(0.75), Majority: ptr(0.5),
		BestThreshold: &study.AtThreshold{Threshold: 0.5, Accuracy: e(0.625)}, Warnings: []string{name}}
	figures := study.JudgeFigures{On: "rows not fitted to", Judge: m, Alone: []study.MetricAgreement{m},
		Better: []study.AgreeDifference{{First: name, Second: name, Measure: "auc", Lo: ptr(-0.1), Hi: ptr(0.2),
			P: 0.5}}}
	system := study.PPI{Run: name, Metric: name, Estimate: 0.5, Lo: 0.25, Hi: 0.75, Level: 0.95, Labeled: 4,
		Unlabeled: 6, Warnings: []string{name}}
	gold := system
	gold.Gold = name
	return []any{
		&study.Agreement{MetricAgreement: m, Metrics: []study.MetricAgreement{m}, Binary: true,
			Raters: &study.RaterAgreement{Raters: 2, N: 7, Others: []*study.Estimate{nil, e(0.5)}}},
		&study.Preferences{Metrics: []study.Preference{{Metric: name, N: 4, Agreement: e(0.5)}}},
		&study.WikiEvalAgreement{Metrics: []study.WikiEvalShare{{Metric: name, N: 3, Agreement: e(0.5)}},
			Table: []study.WikiEvalMethod{{Method: name, Faithfulness: e(0.5)}}, Field: name},
		&study.Comparison{Dirs: []string{"base", name, "other"},
			Metrics: []study.Difference{{Name: name, Run: name, Difference: 1.0 / 3, Lo: ptr(-0.5), Hi: ptr(0.5),
				P: 0.25, Changed: []study.Changed{{Sample: name, Value: 1, Difference: 1}},
				Detect: &study.Detectable{Power: 0.8, Difference: 0.05, Rows: 100}}}},
		&system,
		&study.Ranking{Systems: []study.PPI{system, gold},
			Pairs: []study.Decision{{First: name, Second: name, Better: name}},
			Tau:   &study.Tau{N: 2, Estimates: ptr(0.5), Missing: []string{name}}},
		&gold,
		&study.ComponentScores{Metric: name, Components: []study.Component{{Name: "router"}, {Name: "generator", N: 2,
			Value: e(0.5), Types: []string{name}}}, Types: []study.Part{{Name: name, N: 2, Mean: e(0.5)}},
			Warnings: []string{name}},
		&study.Calibrated{Losses: map[string]float64{"platt": 0.5, "constant": 0.75},
			After: study.Quality{Brier: e(0.25)}, Warnings: []string{name}},
		&study.JudgeFile{Figures: figures, Training: study.JudgeTraining{Method: "linear",
			Tried: []learned.Try{{Method: "constant", Loss: 0.75}},
			Sets:  []study.JudgeSet{{Dataset: name, Rows: 7, LeftOut: 1}}},
			TrainedJudge: all.TrainedJudge{Metric: name,
				Features: []all.JudgeFeature{{Metric: name, Importance: 1}}}},
		&study.JudgeTest{JudgeFigures: figures},
	}
}

// Every kind of result can be had in every format, and nothing in it steers a terminal or a browser.
func TestStudies(t *testing.T) {
	for _, format := range StudyFormats() {
		for _, result := range studies(hostile) {
			var b bytes.Buffer
			if err := WriteStudy(&b, result, format); err != nil || b.Len() == 0 {
				t.Errorf("%T as %s: %d bytes, %v", result, format, b.Len(), err)
			}
			out := b.String()
			if format == "html" && (strings.Contains(out, "<img") || strings.Contains(out, "</script>")) {
				t.Errorf("%T: the page runs what a dataset says:\n%s", result, out)
			}
			if (format == "table" || format == "md") && strings.ContainsAny(out, "\x1b\u202e\x00") {
				t.Errorf("%T as %s steers a terminal: %q", result, format, out)
			}
			if format == "json" && !json.Valid(b.Bytes()) {
				t.Errorf("%T: no JSON:\n%s", result, out)
			}
		}
	}
	if err := WriteStudy(&bytes.Buffer{}, studies("x")[0], "junit"); err == nil ||
		slices.Contains(StudyFormats(), "junit") {
		t.Errorf("a study as junit: %v", err)
	}
	if err := WriteStudy(&bytes.Buffer{}, 7, "table"); err == nil {
		t.Error("a number was laid out")
	}
}

// A table for programs holds every number in full, an interval in two columns.
func TestStudyCSV(t *testing.T) {
	var b bytes.Buffer
	if err := WriteStudy(&b, studies("a/x")[3], "csv"); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%q, %v", rows, err)
	}
	want := []string{"metric", "run", "baseline", "mean", "difference", "95% interval lo", "95% interval hi", "p",
		"p (Holm)", "better", "equal", "worse", "n"}
	if !reflect.DeepEqual(rows[0], want) || rows[1][0] != "a/x" || rows[1][4] != fmt.Sprint(1.0/3) ||
		rows[1][5] != "-0.5" || rows[1][6] != "0.5" {
		t.Errorf("%q", rows)
	}
}
