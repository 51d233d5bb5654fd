package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// What GitHub shows of a step: ten annotations of a kind, and a summary of at most a megabyte (its documentation of
// workflow commands and of job summaries).
const (
	mostAnnotations = 10
	mostSummary     = 1 << 20
)

// writeGitHub writes workflow commands, which GitHub shows as annotations: an error for each threshold that was missed,
// and a warning for each row in [Options.Rows], on its line of the dataset. The tables go to the step's summary,
// [Options.Summary], or before the commands where there is none.
func writeGitHub(w io.Writer, reports []*Report, o Options) error {
	var page bytes.Buffer
	if err := writeMarkdown(&page, reports, o); err != nil {
		return err
	}
	if page.Len() > mostSummary {
		page.Reset()
		page.WriteString("The summary is larger than what GitHub shows of a step: the report in another format has it.\n")
	}
	to := o.Summary
	if to == nil {
		to = w
		page.WriteByte('\n')
	}
	if _, err := to.Write(page.Bytes()); err != nil {
		return err
	}
	p := &printer{w: w}
	missed := 0
	for _, v := range o.Verdicts {
		if v.Passed {
			continue
		}
		if missed++; missed > mostAnnotations {
			continue
		}
		title := v.What()
		if len(reports) > 1 {
			title = v.Run + ": " + title
		}
		command(p, "error", v.Why, "title", title)
	}
	for i := range o.Rows {
		if i == mostAnnotations {
			break
		}
		r := &o.Rows[i]
		fields := []string{"title", r.Metric + ": " + r.Sample}
		if r.Line > 0 {
			fields = append([]string{"file", r.File, "line", fmt.Sprint(r.Line)}, fields...)
		}
		command(p, "warning", r.text(), fields...)
	}
	return p.err
}

// command writes a workflow command: ::error file=a.jsonl,line=3::message. What was not ours to write is escaped, so
// that it can neither end the command nor begin one.
func command(w io.Writer, kind, message string, fields ...string) {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	var list []string
	for i := 0; i < len(fields); i += 2 {
		list = append(list, fields[i]+"="+property.Replace(plain(fields[i+1])))
	}
	fmt.Fprintf(w, "::%s %s::%s\n", kind, strings.Join(list, ","), data.Replace(plain(message)))
}
