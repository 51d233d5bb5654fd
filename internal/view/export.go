package view

import (
	"bytes"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/view/index"
	"github.com/assay-eval/assay/metrics"
)

// export answers with the rows that pass the filter as the report's own page: one file that needs nothing else.
func (v *Viewer) export(w http.ResponseWriter, r *http.Request) {
	a, x, err := v.read(r.URL.Query())
	if err == nil {
		var page []byte
		if page, err = exported(r, &a, x); err == nil {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Disposition", `attachment; filename="assay.html"`)
			w.Write(page)
			return
		}
	}
	refuse(w, err)
}

func exported(r *http.Request, a *address, x *index.Index) ([]byte, error) {
	ctx := r.Context()
	ids, more, err := x.Passing(ctx, a.Filter, report.PageCases)
	if err != nil {
		return nil, err
	}
	texts := map[string]*metrics.Sample{}
	var results iter.Seq2[metrics.Result, error] = func(yield func(metrics.Result, error) bool) {
		for _, id := range ids {
			sample, list, err := x.Sample(ctx, id)
			if err != nil {
				yield(metrics.Result{}, err)
				return
			}
			if sample != nil {
				texts[sample.ID] = sample
			}
			for _, result := range list {
				if !yield(result, nil) {
					return
				}
			}
		}
	}
	part, err := report.Summarize(ctx, &x.Run().Manifest, results, report.View{Cases: report.PageCases})
	if err != nil {
		return nil, err
	}
	part.Dir, part.Texts = x.Run().Dir, texts
	part.Part = a.part(x, len(ids), more)
	var page bytes.Buffer
	err = report.Write(&page, []*report.Report{part}, report.Options{Format: "html"})
	return page.Bytes(), err
}

// part says in words which rows of the run were exported; "" if all were.
func (a *address) part(x *index.Index, n int, more bool) string {
	var why []string
	if a.Words != "" {
		why = append(why, fmt.Sprintf("with the words %q", a.Words))
	}
	for _, b := range a.Filter.Ranges {
		why = append(why, fmt.Sprintf("%s from %s to %s", x.Metrics()[b.Metric].Name, short(b.Lo), short(b.Hi)))
	}
	for _, s := range a.Filter.Slices {
		why = append(why, s.Column+" = "+s.Value)
	}
	if a.Failed {
		why = append(why, "with a failed metric")
	}
	if len(a.Without) > 0 {
		why = append(why, "without a label")
	}
	if a.Against != nil {
		text := "with a score and what it was held against"
		if a.Flipped {
			text = "where the two lie on different sides of the middle"
		}
		why = append(why, text)
	}
	if len(why) == 0 && !more {
		return ""
	}
	text := fmt.Sprintf("a part of the run, which someone chose: %s of %s", rows(n), thousands(x.Now().Rows))
	if more {
		text += ", the first"
	}
	if len(why) > 0 {
		text += " " + strings.Join(why, ", ")
	}
	return text + "; the figures are of these rows alone"
}
