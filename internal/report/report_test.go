package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/internal/slicing"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func each(list []metrics.Result) iter.Seq2[metrics.Result, error] {
	return func(yield func(metrics.Result, error) bool) {
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func scored(sample, metric string, value float64, because ...metrics.Finding) metrics.Result {
	return metrics.Result{Sample: sample, Metric: metric, Score: &metrics.Score{Value: value, Because: because}}
}

func without(sample, metric string, kind metrics.Kind, message string) metrics.Result {
	return metrics.Result{Sample: sample, Metric: metric, Kind: kind, Error: message}
}

func ptr[T any](v T) *T { return &v }

func at(s string) runs.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return runs.Time{Time: t}
}

// hostile is what a dataset or a model may say, and what must come out as text everywhere.
const hostile = "</script><img src=x onerror=alert(1)>|`*_\x1b[31m\u202e\x00]]>&amp;"

// run is a small run in which everything occurs.
func run(t *testing.T) *Report {
	t.Helper()
	const claims, questions, noise = "faithfulness/claims", "answer_relevance/questions", "noise/points"
	m := &runs.Manifest{
		Tool: "assay v0.1.0",
		Config: runs.Config{
			Dataset: runs.Dataset{Path: "data/qa.jsonl", SHA256: strings.Repeat("ab", 32), Rows: 24, BadRows: 2},
			Metrics: []runs.Metric{
				{Name: claims, Doc: "The share of the answer's claims that the contexts support.",
					Source: "RAGAS (2024), section 3", Max: 1},
				{Name: questions, Doc: "How near the question is to questions made from the answer.",
					Source: "RAGAS (2024), section 3", Min: -1, Max: 1},
				{Name: noise, Doc: "Made up for this test.", Source: "here", Max: 4, LowerIsBetter: true},
			},
			IdentityFields: backend.IdentityFields{
				Judge: &backend.Identity{
					Engine: "llama.cpp v0.4.0", Name: "tinyllama", Digest: "sha256:" + strings.Repeat("12", 32),
					Context: 2048,
				},
				Embedder: &backend.Identity{
					Engine: "llama.cpp v0.4.0", Name: "minilm", Digest: "sha256:" + strings.Repeat("34", 32),
					Context: 512,
				},
			},
			Prompts: []prompts.Identity{{Name: "claims", Version: "1", Digest: "sha256:00"}},
			Seed:    1,
		},
		Started: at("2026-11-21T10:00:00Z"), Finished: ptr(at("2026-11-21T10:01:30Z")), Seconds: 90.25,
		Calls: runs.Calls{Cached: 3, Computed: 141},
		Notes: []string{"the judge is small: " + hostile},
	}
	var list []metrics.Result
	for i := range 24 {
		id := fmt.Sprintf("sample-%02d", i)
		switch {
		case i == 3:
			list = append(list,
				without(id, claims, metrics.BadReply, "prompt verdicts: no verdict for claim 2: "+hostile))
		case i == 5:
			list = append(list, without(id, claims, metrics.TooLong, "prompt too long: needs 3000 of 2048 tokens"))
		case i%8 == 7:
			list = append(list, without(id, claims, metrics.NotApplicable, "the answer makes no claim"))
		default:
			list = append(list, scored(id, claims, float64(i%5)/4,
				metrics.Finding{
					Kind: "claim", Text: "The kettle holds 1.7 litres.", Verdict: ptr(true), Where: "context 1",
				},
				metrics.Finding{
					Kind: "claim", Text: hostile, Verdict: ptr(false), Reason: "No context says so.\n" + hostile,
				}))
			list[len(list)-1].Score.Ratio = &metrics.Ratio{Numerator: i % 5, Denominator: 4}
		}
		list = append(list,
			scored(id, questions, float64(i%7)/8, metrics.Finding{
				Kind: "question", Text: "How much does it hold?", Value: ptr(0.6251),
			}))
		list = append(list, scored(id, noise, 0))
	}
	r, err := Summarize(t.Context(), m, each(list), View{})
	if err != nil {
		t.Fatal(err)
	}
	r.Dir = "out"
	return r
}

func judge(t *testing.T, r *Report, thresholds ...string) []Verdict {
	t.Helper()
	var list []Threshold
	for _, s := range thresholds {
		threshold, err := ParseThreshold(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, threshold)
	}
	verdicts, err := r.Judge(list)
	if err != nil {
		t.Fatal(err)
	}
	return verdicts
}

func render(t *testing.T, o Options, reports ...*Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, reports, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	a, b := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			t.Fatalf("%s: line %d is new: %s", name, i+1, b[i])
		case i >= len(b):
			t.Fatalf("%s: line %d is missing: %s", name, i+1, a[i])
		case a[i] != b[i]:
			t.Fatalf("%s:%d:\nwant %s\n got %s", name, i+1, a[i], b[i])
		}
	}
}

// ourFormats are those that write every metric: unitxt's has those that unitxt knows.
func ourFormats() []string {
	return slices.DeleteFunc(Formats(), func(name string) bool { return name == "unitxt" })
}

func TestGolden(t *testing.T) {
	r := run(t)
	verdicts := judge(t, r, "faithfulness=0.4", "answer_relevance/questions=0.5", "noise=1")
	for _, format := range ourFormats() {
		golden(t, "one."+format, render(t, Options{Format: format, Verdicts: verdicts}, r))
	}
	golden(t, "one.color", render(t, Options{Format: "table", Color: true, Verdicts: verdicts}, r))

	empty, err := Summarize(t.Context(), &runs.Manifest{Tool: "assay v0.1.0", Started: at("2026-11-21T10:00:00Z"),
		Config: runs.Config{
			Dataset: runs.Dataset{Path: "b.csv", SHA256: "00", Rows: 3},
			Metrics: []runs.Metric{{Name: "faithfulness/claims", Max: 1}},
		}}, each(nil), View{})
	if err != nil {
		t.Fatal(err)
	}
	empty.Dir = "second"
	verdicts = append(verdicts, judge(t, empty, "faithfulness=0.4")...)
	for _, format := range ourFormats() {
		golden(t, "two."+format, render(t, Options{Format: format, Verdicts: verdicts}, r, empty))
	}
}

func TestSummarize(t *testing.T) {
	r := run(t)
	m := r.Metrics[0]
	if r.Samples != 24 || m.N != 19 || m.Failed != 2 || m.NotApplicable != 3 || m.Kinds[metrics.BadReply] != 1 ||
		m.Kinds[metrics.TooLong] != 1 {
		t.Errorf("%d samples, %+v", r.Samples, m)
	}
	total := 0
	for _, n := range m.Bins {
		total += n
	}
	if total != m.N {
		t.Errorf("the histogram holds %d of %d scores: %v", total, m.N, m.Bins)
	}
	if i := m.Stats.Interval; !(i.Lo < m.Stats.Mean && m.Stats.Mean < i.Hi) {
		t.Errorf("mean %v, interval %+v", m.Stats.Mean, *i)
	}
	for i := 1; i < len(r.Worst); i++ {
		if r.Worst[i-1].rank > r.Worst[i].rank {
			t.Errorf("%s comes before %s", r.Worst[i-1].Sample, r.Worst[i].Sample)
		}
	}
	if len(r.Failures) != 2 || r.Failures[0].Sample != "sample-03" || len(r.Failures[0].Results) != 3 {
		t.Errorf("failures %+v", r.Failures)
	}
}

func TestBadResults(t *testing.T) {
	m := runstest.Manifest("a/x", "b/y")
	check := func(want string, list ...metrics.Result) {
		t.Helper()
		if _, err := Summarize(t.Context(), &m, each(list), View{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", list, err, want)
		}
	}
	check(`sample "s": the results have a metric "c/z" that the manifest does not`, scored("s", "c/z", 1))
	check("neither a score nor an error", metrics.Result{Sample: "s", Metric: "a/x"})
	check("both a score and an error", metrics.Result{
		Sample: "s", Metric: "a/x", Score: &metrics.Score{}, Error: "e", Kind: metrics.Failed,
	})
	check("an error without a kind", metrics.Result{Sample: "s", Metric: "a/x", Error: "e"})
	check("the score 1.5 is not in the metric's range, 0 to 1", scored("s", "a/x", 1.5))
	check(`sample "s": two results for a/x`, scored("s", "a/x", 1), scored("s", "b/y", 1), scored("s", "a/x", 1))
	torn := errors.New("torn")
	_, err := Summarize(t.Context(), &m, func(yield func(metrics.Result, error) bool) { yield(metrics.Result{}, torn) },
		View{})
	if !errors.Is(err, torn) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

func TestNotes(t *testing.T) {
	m := runstest.Manifest("a/x", "b/y")
	check := func(list []metrics.Result, want ...string) {
		t.Helper()
		r, err := Summarize(t.Context(), &m, each(list), View{})
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(r.Notes(), "\n")
		for _, w := range want {
			if !strings.Contains(notes, w) {
				t.Errorf("notes:\n%s\nwant %q", notes, w)
			}
		}
	}
	three := []metrics.Result{scored("1", "a/x", 1), scored("1", "b/y", 1), scored("2", "a/x", 0)}
	check(three, "unfinished: 2 of 5 rows", "b/y: one value: no interval")
	m.Finished = ptr(runs.Now())
	check(three, "the results hold 2 rows of 5", "b/y: results for 1 of 2 rows")
	m.Config.Dataset.BadRows = 1
	check(three, "1 row of the dataset could not be read and was left out")
}

func TestThresholds(t *testing.T) {
	bad := func(s string) {
		t.Helper()
		if _, err := ParseThreshold(s); err == nil {
			t.Errorf("%q is no error", s)
		}
	}
	bad("")
	bad("faithfulness")
	bad("=1")
	bad("faithfulness=high")
	bad("faithfulness=NaN")
	r := run(t)
	check := func(s string, passed bool, why string) {
		t.Helper()
		if v := judge(t, r, s)[0]; v.Passed != passed || v.Why != why {
			t.Errorf("%s: %+v, want %v, %s", s, v, passed, why)
		}
	}
	mean := number(r.Metrics[0].Stats.Mean)
	check("faithfulness=0", true, "the mean "+mean+" is within 0")
	check("faithfulness/claims=0.9", false, "the mean "+mean+" is under 0.9")
	check("noise=0", true, "the mean 0.000 is within 0")
	r.Metrics[2].Stats.Mean = 2
	check("noise=1.5", false, "the mean 2.000 is over 1.5")
	check("noise=2", true, "the mean 2.000 is within 2")
	r.Metrics[2].N = 0
	check("noise=4", false, "there is no score")

	fails := func(metric string, bound float64, want string) {
		t.Helper()
		if _, err := r.Judge([]Threshold{{Metric: metric, Bound: bound}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", metric, err, want)
		}
	}
	fails("recall", 0, `no metric "recall": it has faithfulness/claims, answer_relevance/questions, noise/points`)
	fails("faithfulness", 2, "not in the metric's range, 0 to 1")
	r.Metrics[1].Name = "faithfulness/other"
	fails("faithfulness", 0.5, "more than one metric for faithfulness")
}

// The formats for programs must be read back by their own readers, and say the same.
func TestReadBack(t *testing.T) {
	r := run(t)
	verdicts := judge(t, r, "faithfulness=0.9")
	var j JSON
	d := json.NewDecoder(strings.NewReader(render(t, Options{Format: "json", Verdicts: verdicts}, r)))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		t.Fatal(err)
	}
	if len(j.Metrics) != 3 || *j.Metrics[0].Mean != r.Metrics[0].Stats.Mean ||
		*j.Metrics[0].Lo != r.Metrics[0].Stats.Interval.Lo || j.Thresholds[0].Passed {
		t.Errorf("json: %+v", j)
	}
	rows, err := csv.NewReader(strings.NewReader(render(t, Options{Format: "csv"}, r))).ReadAll()
	if err != nil || len(rows) != 4 || rows[1][1] != "faithfulness/claims" || rows[1][2] != "19" {
		t.Errorf("csv: %v, %v", rows, err)
	}
	var x junitSuites
	if err := xml.Unmarshal([]byte(render(t, Options{Format: "junit", Verdicts: verdicts}, r)), &x); err != nil {
		t.Fatal(err)
	}
	if x.Tests != 3 || x.Failures != 1 || x.Suites[0].Cases[0].Failure == nil || x.Suites[0].Cases[1].Failure != nil {
		t.Errorf("junit: %+v", x)
	}
}

func TestNoSuchFormat(t *testing.T) {
	if err := Write(io.Discard, nil, Options{Format: "pdf"}); err == nil ||
		!strings.Contains(err.Error(), "one of table, json") {
		t.Errorf("format pdf: %v", err)
	}
}

// What models and datasets say must not become markup, and only our own style and script may run.
func TestHTMLIsSafe(t *testing.T) {
	page := render(t, Options{Format: "html"}, run(t))
	if strings.Contains(page, "<img") || strings.Count(page, "<script") != 1 || strings.Count(page, "</script>") != 1 {
		t.Error("text of a sample became markup")
	}
	if !strings.Contains(page, "&lt;img src=x onerror=alert(1)&gt;") {
		t.Error("the hostile text is not in the page: this test tests nothing")
	}
	active := regexp.MustCompile(`(?i)\s(style|on\w+)\s*=|(src|href)\s*=|url\(|@import`)
	if m := active.FindString(regexp.MustCompile(`onerror=alert|src=x`).ReplaceAllString(page, "")); m != "" {
		t.Errorf("the page holds %q", m)
	}
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if policy == nil {
		t.Fatal("no policy")
	}
	plus := strings.NewReplacer("&#39;", "'", "&#43;", "+", "&#34;", `"`).Replace(policy[1])
	check := func(tag, directive string) {
		t.Helper()
		content := regexp.MustCompile(`(?s)<` + tag + `>(.*?)</` + tag + `>`).FindStringSubmatch(page)
		if content == nil || !strings.Contains(plus, directive+" '"+source(content[1])+"'") {
			t.Errorf("the policy %q does not let the page's %s run", plus, tag)
		}
	}
	check("style", "style-src")
	check("script", "script-src")
	if !strings.HasPrefix(plus, "default-src 'none'; ") || strings.Contains(plus, "unsafe") {
		t.Errorf("policy %q", plus)
	}
}

// The words of an answer that count against it are marked in it, whatever they are. A long answer is cut all the same.
func TestMarkedWords(t *testing.T) {
	m := runstest.Manifest("a/x")
	text := "It costs 14 <b>gold</b> coins."
	low := strings.Index(text, "14")
	long := strings.Repeat("ö", 3000)
	r, err := Summarize(t.Context(), &m, each([]metrics.Result{
		scored("one", "a/x", 0.1, metrics.Finding{Kind: "answer", Text: text,
			Marks: []metrics.Mark{{Low: low, High: strings.Index(text, " coins"), Value: 0.9}}}),
		scored("two", "a/x", 0.2, metrics.Finding{Kind: "answer", Text: long,
			Marks: []metrics.Mark{{Low: 2, High: 5000, Value: 0.9}}}),
	}), View{})
	if err != nil {
		t.Fatal(err)
	}
	page := render(t, Options{Format: "html"}, r)
	for _, want := range []string{"It costs <mark>14 &lt;b&gt;gold&lt;/b&gt;</mark> coins.",
		"ö<mark>" + strings.Repeat("ö", mostText-1) + "</mark> … (1000 more characters)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
}

// A terminal must not be steered by what a sample says.
func TestTableIsSafe(t *testing.T) {
	for _, format := range []string{"table", "md"} {
		for _, r := range render(t, Options{Format: format}, run(t)) {
			if r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' {
				t.Errorf("%s holds %q", format, r)
			}
		}
	}
	for line := range strings.Lines(render(t, Options{Format: "table"}, run(t))) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
}

// However many samples there are, the page stays small, and so does the memory that it takes.
func TestManySamples(t *testing.T) {
	const n = 200_000
	m := runstest.Manifest("a/x", "b/y")
	m.Config.Dataset.Rows = n
	long := strings.Repeat("ö", 50_000)
	many := make([]metrics.Finding, 500)
	var peak uint64
	results := func(yield func(metrics.Result, error) bool) {
		for i := range n {
			r := scored(fmt.Sprint("s", i), "a/x", float64(i%1000)/1000)
			if i%1000 < 2 {
				r.Score.Because = append([]metrics.Finding{{Kind: "claim", Text: long}}, many...)
			}
			if i%50_000 == 49_999 {
				var s runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&s)
				peak = max(peak, s.HeapAlloc)
			}
			if !yield(r, nil) || !yield(without(r.Sample, "b/y", metrics.Failed, long), nil) {
				return
			}
		}
	}
	r, err := Summarize(t.Context(), &m, results, View{})
	if err != nil {
		t.Fatal(err)
	}
	if peak > 64<<20 {
		t.Errorf("%d MiB in use for %d samples", peak>>20, n)
	}
	page := render(t, Options{Format: "html"}, r)
	if len(page) > 8<<20 {
		t.Errorf("a page of %d MiB", len(page)>>20)
	}
	for _, want := range []string{"The 200 samples with the lowest scores, of 200000",
		"The first 100 samples with a failed metric",
		"(48000 more characters)", "441 more: results.jsonl has them all."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if r.Metrics[0].N != n || r.Worst[0].rank != 0 || r.Worst[199].rank != 0 || r.Worst[0].Sample != "s0" ||
		r.Worst[199].Sample != "s199000" {
		t.Errorf("worst: %s to %s, %+v", r.Worst[0].Sample, r.Worst[len(r.Worst)-1].Sample, r.Metrics[0])
	}
}

func TestParseThreshold(t *testing.T) {
	check := func(s string, want Threshold) {
		t.Helper()
		if got, err := ParseThreshold(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", s, got, err, want)
		}
	}
	check("a=0.5", Threshold{"a", 0.5, Held{}})
	check("a/b@draws=5=0.5:lower", Threshold{"a/b@draws=5", 0.5, Held{Worst: true}})
	check("a=0.5:lang", Threshold{"a", 0.5, Held{By: "lang"}})
	check("a=0.5:mean:lower", Threshold{"a", 0.5, Held{By: "lower"}})
	check("a=-1:lower:metadata.topic:en", Threshold{"a", -1, Held{true, "metadata.topic:en"}})
	for _, bad := range []string{"a=0.5:", "a=0.5:lower:", "a=:lower", "a=Inf:lower"} {
		if got, err := ParseThreshold(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

// A gate at the interval's worse end takes the upper one where lower is better, and none where there is no interval.
func TestWorseEnd(t *testing.T) {
	r := run(t)
	check := func(s string, passed bool, why string) {
		t.Helper()
		if v := judge(t, r, s)[0]; v.Passed != passed || !strings.HasPrefix(v.Why, why) {
			t.Errorf("%s: %+v, want %v, %s", s, v, passed, why)
		}
	}
	lo, hi := number(r.Metrics[0].Stats.Interval.Lo), number(r.Metrics[2].Stats.Interval.Hi)
	check("faithfulness=0.4:lower", false, "the interval's lower end "+lo+" is under 0.4; the mean is 0.500")
	check("faithfulness=0.3:lower", true, "the interval's lower end "+lo+" is within 0.3")
	check("noise=0.4:lower", false, "the interval's upper end "+hi+" is over 0.4; the mean is 0.000")
	check("noise=0.5:lower", true, "the interval's upper end")
	r.Metrics[0].Stats.Interval = nil
	check("faithfulness=0:lower", false, "there is no interval to hold to 0 (only 19 values: the interval is rough)")
	if _, err := r.Judge([]Threshold{{"faithfulness", 0.5, Held{By: "lang"}}}); err == nil {
		t.Error("a run that was not sliced is held to slices")
	}
}

// sliced is run with two slices of a hostile name.
func sliced(t *testing.T) *Report {
	r := run(t)
	half, tenth := 0.5, 0.1
	r.Slices = &slicing.Slices{Columns: []string{"lang|" + hostile}, Tests: 1}
	for i, worse := range []bool{true, false} {
		r.Slices.List = append(r.Slices.List, slicing.Slice{Column: r.Slices.Columns[0],
			Value: fmt.Sprint(hostile, i), Metric: r.Metrics[0].Name, N: 10 - 7*i, Failed: 1, Mean: &half, Lo: &tenth, Hi: &half, Worse: worse,
			Rest: &slicing.Rest{Mean: 0.9, Difference: -0.4, Lo: &tenth, Hi: &half, P: 0.001, PHolm: 0.01}})
	}
	return r
}

func TestSlicesGolden(t *testing.T) {
	r := sliced(t)
	verdicts, err := r.Judge([]Threshold{{"faithfulness", 0.6, Held{By: r.Slices.Columns[0]}}})
	if err != nil || len(verdicts) != 2 || verdicts[0].Passed || !verdicts[1].Skipped {
		t.Fatalf("%+v, %v", verdicts, err)
	}
	rows := []Row{{Run: "out", Sample: hostile, Metric: r.Metrics[0].Name, Score: ptr(0.1), Why: "0.100 is under 0.6",
		Because: &metrics.Finding{Kind: "claim", Text: hostile + "\n::error::" + strings.Repeat("x", 1000)},
		File:    "a\n,b:.jsonl", Line: 3},
		{Run: "out", Sample: "s", Metric: r.Metrics[1].Name, Why: "bad_reply: " + hostile}}
	for _, format := range ourFormats() {
		golden(t, "sliced."+format, render(t, Options{Format: format, Verdicts: verdicts, Rows: rows}, r))
	}
}

// What a dataset says must not become a workflow command of its own.
func TestGitHubIsSafe(t *testing.T) {
	r := run(t)
	var summary bytes.Buffer
	var rows []Row
	for range 30 {
		rows = append(rows, Row{Sample: "a\r\n::set-output name=x::y", Metric: "m", Why: "bad\n::error::100%", File: "a,b:c\n", Line: 1})
	}
	out := render(t, Options{Format: "github", Rows: rows, Verdicts: judge(t, r, "faithfulness=0.9"), Summary: &summary}, r)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 1+mostAnnotations || !strings.HasPrefix(lines[0], "::error title=faithfulness/claims::") {
		t.Fatalf("%d lines: %s", len(lines), out)
	}
	for _, line := range lines[1:] {
		if strings.Count(line, "::") != 4 || !strings.HasPrefix(line, "::warning file=a%2Cb%3Ac") || !strings.HasSuffix(line, "100%25") ||
			strings.ContainsRune(line, '\r') {
			t.Errorf("%q", line)
		}
	}
	if !strings.HasPrefix(summary.String(), "qa.jsonl: 24 rows") || strings.Contains(out, "24 rows") {
		t.Errorf("the tables are not in the summary: %s", out)
	}
}

// What holds for several metrics is said once, with the range of its counts.
func TestNotesOnce(t *testing.T) {
	m := runstest.Manifest("a/x", "b/y", "c/z", "d/v", "e/w", "f/u")
	m.Finished = ptr(runs.Now())
	var list []metrics.Result
	for i := range 5 {
		for k, name := range m.Names() {
			r := scored(fmt.Sprint("s", i), name, float64((i*k)%4)/4)
			if k == 1 && i == 4 || k == 5 && i > 2 {
				r = without(r.Sample, name, metrics.NotApplicable, "none")
			}
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b metrics.Result) int { return strings.Compare(a.Sample, b.Sample) })
	r, err := Summarize(t.Context(), &m, each(list), View{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a/x, e/w: all 5 values are 0: the interval says how far others could pull the mean",
		"all 6 metrics: only 3 to 5 values: the interval is rough"}
	if got := r.Notes(); !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q", got, want)
	}
	r.Metrics = append(r.Metrics, Summary{Metric: runs.Metric{Name: "g/t"}, N: 5})
	if got := r.Notes()[1]; got != "a/x, b/y, c/z and 3 more: only 3 to 5 values: the interval is rough" {
		t.Errorf("of seven metrics: %q", got)
	}
}
