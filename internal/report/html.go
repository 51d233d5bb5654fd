package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/internal/exhibit"
)

//go:embed page/page.html
var pageTemplate string

//go:embed page/page.css
var pageStyle string

//go:embed page/page.js
var pageScript string

// Bounds on what a page shows, so that it opens in a browser whatever a run holds. The rest is in the
// results file, and the page says so.
const (
	mostText     = 2000 // characters of one text
	mostFindings = 60   // of one score
)

// writeHTML writes one page that needs nothing else. Whatever models and datasets say is untrusted: the
// template escapes it, and the page's policy lets only our own style and script run, by their hashes.
func writeHTML(w io.Writer, reports []*Report, o Options) error {
	t, err := exhibit.Template()
	if err == nil {
		t, err = t.New("page").Parse(pageTemplate)
	}
	if err != nil {
		return err
	}
	style, script := exhibit.Style+pageStyle, pageScript+exhibit.Script
	v := pageView{
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
			source(style), source(script)),
		Style:  template.CSS(style),
		Script: template.JS(script),
		Tool:   "assay",
	}
	for i, r := range reports {
		v.Title = strings.TrimPrefix(v.Title+", "+r.Dir, ", ")
		v.Tool = r.Manifest.Tool
		run, err := r.view(t, fmt.Sprintf("r%d", i+1), o.Verdicts, mostPacked/len(reports))
		if err != nil {
			return err
		}
		v.Runs = append(v.Runs, run)
	}
	return t.Execute(w, v)
}

//go:embed page/study.html
var studyTemplate string

// writeStudyHTML writes one page of tables and notes, under the same policy, with no script.
func writeStudyHTML(w io.Writer, d *document) error {
	t, err := template.New("study").Parse(studyTemplate)
	if err != nil {
		return err
	}
	style := exhibit.Style + pageStyle
	v := studyView{
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; base-uri 'none'; form-action 'none'",
			source(style)),
		Style: template.CSS(style),
	}
	for _, s := range d.sections {
		if s.empty() {
			continue
		}
		v.Sections = append(v.Sections, s.view())
	}
	return t.Execute(w, v)
}

func (s section) view() sectionView {
	view := sectionView{Header: s.header, Notes: s.notes, Title: s.title, Lines: s.lines}
	for _, row := range s.rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, plain(fmt.Sprint(cell)))
		}
		view.Rows = append(view.Rows, cells)
	}
	return view
}

type (
	studyView struct {
		Policy   string
		Style    template.CSS
		Sections []sectionView
	}
	sectionView struct {
		Header       []string
		Rows         [][]string
		Notes, Lines []string
		Title        string
	}
)

// source names content in a content security policy.
func source(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

type (
	pageView struct {
		Policy, Title, Tool string
		Style               template.CSS
		Script              template.JS
		Runs                []runView
	}
	runView struct {
		Title, Dir, Finished      string
		Metrics                   []metricView
		Slices                    []sectionView
		Verdicts                  []Verdict
		Notes                     []string
		Facts                     []factView
		Failures, Worst           []caseView
		FailuresShown, WorstShown string
		Packs                     []packView // further samples
		Plain                     int        // how many samples are not packed
		PerPack, PerStrings       int        // how many samples and sentences are in a pack
	}
	metricView struct {
		Name, Doc, Mean, Interval     string
		Calibrated                    string
		LowerIsBetter                 bool
		X, X0, Width                  string
		Bars                          []barView
		Min, Max                      float64
		Scored, Failed, NotApplicable int
		Asked                         string // about how many rows, where not about all
	}
	barView  struct{ X, Y, Height, Label string }
	factView struct{ Name, Value string }
	caseView struct {
		Sample  string
		Exhibit *exhibit.Exhibit // nil: it is packed
		Results []exhibit.Result // of which the line tells the values
	}
)

// view lays out a run, the packs of its samples in so many bytes.
func (r *Report) view(t *template.Template, id string, verdicts []Verdict, room int) (runView, error) {
	v := runView{Title: r.title(), Dir: r.Dir, Notes: r.Notes(), Facts: r.facts()}
	if f := r.Manifest.Finished; f != nil {
		v.Finished = f.Format("2006-01-02 15:04 MST")
	}
	for i := range r.Metrics {
		v.Metrics = append(v.Metrics, r.Metrics[i].view())
	}
	for _, s := range r.sliceSections() {
		v.Slices = append(v.Slices, s.view())
	}
	for _, verdict := range verdicts {
		if verdict.Run == r.Dir {
			v.Verdicts = append(v.Verdicts, verdict)
		}
	}
	for i, c := range r.Failures {
		v.Failures = append(v.Failures, r.caseView(fmt.Sprintf("%sf%d-", id, i), c))
	}
	pack := newPacker(t)
	shown := 0
	for i, c := range r.Worst {
		if pack.full(room) {
			break
		}
		view := r.caseView(fmt.Sprintf("%ss%d-", id, i), c)
		if i < mostPlain {
			v.Worst = append(v.Worst, view)
		} else if err := pack.add(view); err != nil {
			return v, err
		}
		shown++
	}
	v.Packs, v.Plain, v.PerPack, v.PerStrings = pack.close(), mostPlain, pack.samples.per, pack.strings.per
	v.FailuresShown = plural(len(v.Failures), "sample") + " with a failed metric."
	if len(v.Failures) == mostFailures {
		v.FailuresShown = fmt.Sprintf("The first %d samples with a failed metric; results.jsonl has them all.",
			mostFailures)
	}
	v.WorstShown = fmt.Sprintf("All %d samples with a score, the lowest score first.", shown)
	if shown < r.scored {
		v.WorstShown = fmt.Sprintf("The %d samples with the lowest scores, of %d; results.jsonl has them all.",
			shown, r.Samples)
	}
	return v, nil
}

func (s *Summary) view() metricView {
	const left, width = 5, 154 // of the axis, in pixels
	at := func(value float64) float64 { return left + width*s.Share(value) }
	pixels := func(x float64) string { return fmt.Sprintf("%.1f", x) }
	v := metricView{
		Name: s.Name, Doc: s.Doc, Mean: s.mean(), LowerIsBetter: s.LowerIsBetter,
		Min: s.Min, Max: s.Max, Scored: s.N, Failed: s.Failed, NotApplicable: s.NotApplicable,
	}
	if a := s.Active; a != nil {
		v.Asked = fmt.Sprintf("asked about %d of %d rows", a.Asked, a.Rows)
	}
	if mean, interval := s.calibrated(); mean != "" {
		v.Calibrated = fmt.Sprintf("calibrated %s%s", mean, when(interval != "", " ("+interval+")"))
	}
	if i := s.Stats.Interval; i != nil {
		v.Interval = s.interval()
		v.X, v.X0 = pixels(at(s.Stats.Mean)), pixels(at(i.Lo))
		v.Width = pixels(max(at(i.Hi)-at(i.Lo), 1))
	}
	most := 1
	for _, n := range s.Bins {
		most = max(most, n)
	}
	for i, n := range s.Bins {
		height := 32 * float64(n) / float64(most)
		if n > 0 {
			height = max(height, 1.5) // one score among a million must still be seen
		}
		step := (s.Max - s.Min) / bins
		v.Bars = append(v.Bars, barView{
			X: pixels(float64(12*i + 1)), Y: pixels(35 - height), Height: pixels(height),
			Label: fmt.Sprintf("%.4g to %.4g: %d", s.Min+float64(i)*step, s.Min+float64(i+1)*step, n),
		})
	}
	return v
}

func (r *Report) facts() []factView {
	c := r.Manifest.Config
	facts := []factView{
		{"dataset", c.Dataset.Path},
		{"its content", "sha256:" + c.Dataset.SHA256},
		{"rows", fmt.Sprintf("%d, %d with results, %d bad", c.Dataset.Rows, r.Samples, c.Dataset.BadRows)},
	}
	models := c.Models()
	for _, role := range models.Roles() {
		m := models[role]
		facts = append(facts, factView{role.Label(),
			fmt.Sprintf("%s on %s, %s, context %d", m.Name, m.Engine, m.Digest, m.Context)})
	}
	for _, p := range c.Prompts {
		facts = append(facts, factView{"prompt", strings.TrimSpace(p.Name + " " + p.Version)})
	}
	for _, m := range c.Metrics {
		facts = append(facts, factView{"metric", m.Name + ": " + m.Source})
	}
	return append(facts,
		factView{"seed", fmt.Sprint(c.Seed)},
		factView{"time", fmt.Sprintf("%.0f s of work, begun %s", r.Manifest.Seconds,
			r.Manifest.Started.Format("2006-01-02 15:04 MST"))},
		factView{"answers", fmt.Sprintf("%d computed, %d from the cache", r.Manifest.Calls.Computed,
			r.Manifest.Calls.Cached)},
		factView{"tool", r.Manifest.Tool})
}

func (r *Report) caseView(id string, c Case) caseView {
	e := exhibit.Of(r.Texts[c.Sample], c.Results, &r.Manifest, "", exhibit.Limits{Text: mostText, Findings: mostFindings})
	e.ID, e.Static = id, true
	return caseView{Sample: clip(c.Sample), Exhibit: e, Results: e.Results}
}

// clip bounds a text, and says that it did.
func clip(s string) string {
	if utf8.RuneCountInString(s) <= mostText {
		return s
	}
	runes := []rune(s)
	return string(runes[:mostText]) + fmt.Sprintf(" … (%d more characters)", len(runes)-mostText)
}
