package view

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

// The report's page shows samples as assay view does, those too that are packed; they are searched and opened in a real
// browser.
func TestReportInBrowser(t *testing.T) {
	const copies = 5 // of the 26 examples
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
			results = append(results, r, runstest.Scored(s.ID, "answer_relevance/questions", float64(n*26+i)/130))
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
	// Of 10,000 samples nearly all are packed: a line each in the list, and a share of a pack.
	text := page.String()
	line := strings.LastIndex(text, "<details class=\"case\"")
	perRow := strings.Index(text[line:], "</details>") + (strings.Index(text, "<footer")-strings.Index(text, "<data class=\"pack\""))/(len(texts)-100)
	t.Logf("a packed sample takes %d bytes of the page", perRow)
	if perRow > 1450 {
		t.Errorf("a sample takes %d bytes of the page: 10,000 would take more than 15 MB", perRow)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page.Bytes())
	}))
	defer server.Close()
	v := browse(t, server.URL+"/")
	v.do(chromedp.Navigate(server.URL + "/"))
	v.until(`document.querySelectorAll(".cases .case").length === 130`)
	v.do(chromedp.Evaluate(`document.querySelector(".cases .case").open = true; document.querySelector(".cases .case:last-child").open = true`, nil))
	v.until(`document.querySelector(".cases .case:last-child .answer") !== null`)
	last := v.value(`document.querySelector(".cases .case:last-child .id").textContent`)
	if got := v.value(`document.querySelector(".cases .case:last-child .question").textContent`); got != texts[last].Question {
		t.Errorf("%s is shown with the question %q", last, got)
	}
	v.picture("report")
	v.do(chromedp.Evaluate(`document.querySelector(".filter").value = "octopus week"; document.querySelector(".filter").dispatchEvent(new Event("input"))`, nil))
	v.until(`document.querySelector(".shown").textContent === "5 of 130"`)
	v.accessible("the report, searched") // what is hidden is not looked at, which saves a minute
	for _, what := range v.wrong() {
		if !strings.Contains(what, "favicon") {
			t.Error(what)
		}
	}
}
