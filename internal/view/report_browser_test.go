package view

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

// The report's page shows samples as assay view does, those too that are packed; they are searched and opened in a real
// browser.
func TestReportInBrowser(t *testing.T) {
	const copies = 14 // of the 26 examples: 364
	m := runstest.Manifest("faithfulness/claims", "answer_relevance/questions")
	m.Started, m.Config.Dataset.Path = runs.Time{}, "examples/qa.jsonl"
	var results []metrics.Result
	texts := map[string]*metrics.Sample{}
	for n := range copies {
		for i, s := range samplesOf(t, "../../examples/qa.jsonl") {
			s.ID = fmt.Sprint(s.ID, "-", n)
			texts[s.ID] = s
			r := runstest.Scored(s.ID, "faithfulness/claims", 0)
			if score, ok := claimsByWords(s); ok {
				r.Score = &score
			}
			results = append(results, r, runstest.Scored(s.ID, "answer_relevance/questions", float64(n*26+i)/364))
		}
	}
	dir := t.TempDir()
	runstest.Write(t, dir, m, results...)
	r, err := report.Load(t.Context(), dir, report.View{Cases: report.PageCases})
	if err != nil {
		t.Fatal(err)
	}
	r.Texts = texts
	var page bytes.Buffer
	if err := report.Write(&page, []*report.Report{r}, report.Options{Format: "html"}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page.Bytes())
	}))
	defer server.Close()
	v := browse(t, server.URL+"/")
	v.do(chromedp.Navigate(server.URL + "/"))
	v.until(`document.querySelectorAll(".cases .case").length === 100`)
	v.accessible("the report")
	// The end of the list comes into sight, again and again.
	v.until(`scrollTo(0, document.body.scrollHeight), document.querySelectorAll(".cases .case").length === 364 && document.querySelector(".more") === null`)
	v.do(chromedp.Evaluate(`document.querySelector(".cases .case").open = true; document.querySelector(".cases .case:last-child").open = true`, nil))
	v.until(`document.querySelector(".cases .case:last-child .answer") !== null`)
	last := v.value(`document.querySelector(".cases .case:last-child .id").textContent`)
	if got := v.value(`document.querySelector(".cases .case:last-child .question").textContent`); got != texts[last].Question {
		t.Errorf("%s is shown with the question %q", last, got)
	}
	v.do(chromedp.Evaluate(`scrollTo(0, 0)`, nil))
	v.picture("report")
	v.do(chromedp.Evaluate(`document.querySelector(".filter").value = "octopus week"; document.querySelector(".filter").dispatchEvent(new Event("input"))`, nil))
	v.until(`document.querySelector(".shown").textContent === "14 of 364"`)
	v.accessible("the report, searched") // what is hidden is not looked at, which saves a minute
	for _, what := range v.wrong() {
		if !strings.Contains(what, "favicon") {
			t.Error(what)
		}
	}
}

// TestReportOpens tells how long the page of a report, which ASSAY_TEST_PAGE names, takes to open and to open its last sample. It
// judges nothing but that they do.
func TestReportOpens(t *testing.T) {
	path := os.Getenv("ASSAY_TEST_PAGE")
	if path == "" {
		t.Skip("ASSAY_TEST_PAGE names no page")
	}
	v := browse(t, "file:")
	v.do(chromedp.Navigate("file://" + path))
	t.Logf("loaded after %s ms", v.value(`Math.round(performance.getEntriesByType("navigation")[0].loadEventEnd)`))
	v.do(chromedp.Evaluate(`document.querySelector(".filter").value = "zebra"; document.querySelector(".filter").dispatchEvent(new Event("input"))`, nil))
	start := time.Now()
	v.until(`document.querySelector(".shown").textContent !== ""`)
	t.Logf("searched after %v: %s", time.Since(start).Round(time.Millisecond), v.value(`document.querySelector(".shown").textContent`))
	v.do(chromedp.Evaluate(`document.querySelector(".cases .case:last-child").open = true`, nil))
	v.until(`document.querySelector(".cases .case:last-child .answer") !== null`)
	for _, what := range v.wrong() {
		t.Error(what)
	}
}
