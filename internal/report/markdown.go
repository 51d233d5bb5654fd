package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// writeMarkdown writes the table for pages and pull requests.
func writeMarkdown(w io.Writer, reports []*Report, o Options) error {
	var b strings.Builder
	for i, r := range reports {
		if i > 0 {
			b.WriteByte('\n')
		}
		ranged, calibrated, asked := r.ranged(), r.calibrated(), r.asked()
		fmt.Fprintf(&b, "%s\n\n| metric | mean | 95%% interval |%s n | failed | n/a |%s%s\n", escape(r.title()),
			when(calibrated, " calibrated | 95% interval |"), when(asked, " not asked |"), when(ranged, " range |"))
		fmt.Fprintf(&b, "| --- | ---: | ---: |%s ---: | ---: | ---: |%s%s\n", when(calibrated, " ---: | ---: |"),
			when(asked, " ---: |"),
			when(ranged, " --- |"))
		for i := range r.Metrics {
			m := &r.Metrics[i]
			mean, interval := m.calibrated()
			fmt.Fprintf(&b, "| %s | %s | %s |%s %d | %d | %d |%s%s\n", escape(m.Name), m.mean(), m.interval(),
				when(calibrated, fmt.Sprintf(" %s | %s |", mean, interval)), m.N, m.Failed, m.NotApplicable,
				when(asked, fmt.Sprintf(" %d |", m.NotAsked)),
				when(ranged, fmt.Sprintf(" %v to %v |", m.Min, m.Max)))
		}
		for i, note := range r.Notes() {
			fmt.Fprintf(&b, "%s- %s\n", when(i == 0, "\n"), escape(note))
		}
		for _, s := range r.sliceSections() {
			s.markdown(&b)
		}
	}
	for i, v := range o.Verdicts {
		fmt.Fprintf(&b, "%s- **%s** %s\n", when(i == 0, "\n"), v.Word(),
			escape(when(len(reports) > 1, v.Run+": ")+v.What()+": "+v.Why))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// escape makes text mean itself in Markdown.
func escape(s string) string {
	var b strings.Builder
	for _, r := range plain(s) {
		if strings.ContainsRune("\\`*_[]<>&#|~$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// writeStudyMarkdown writes tables for pages and pull requests.
func writeStudyMarkdown(w io.Writer, d *document) error {
	return writeSections(w, d, func(t table.Writer) { t.RenderMarkdown() })
}
