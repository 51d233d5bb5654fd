// Package report lays out results for people and programs: the summary of runs ([Load], [Summarize], [Write]) and what
// a study found ([WriteStudy]), each in every format that suits it. It computes nothing that internal/stats and
// internal/study do not.
//
//	r, err := report.Load(ctx, "results")
//	err = report.Write(os.Stdout, []*report.Report{r}, report.Options{Format: "md"})
//
// Text out of datasets and replies is untrusted: what is printed to a terminal goes through [Printable], and pages
// escape it.
package report

import (
	"fmt"
	"io"
	"strings"
)

// A format is a way to write results. A new one is a file with its two writers, and a line in the list below.
type format struct {
	name  string
	runs  func(w io.Writer, reports []*Report, o Options) error // the summary of runs
	study func(w io.Writer, d *document) error                  // what a study found; nil: it is for runs only
}

// formats are a table for people, json and csv for programs, md for pages, junit and github for CI systems, html for browsers,
// unitxt for what reads its results, and openmetrics for Prometheus.
var formats = []format{
	{"table", writeTable, writeStudyTable},
	{"json", writeJSON, writeStudyJSON},
	{"csv", writeCSV, writeStudyCSV},
	{"md", writeMarkdown, writeStudyMarkdown},
	{"junit", writeJUnit, nil},
	{"html", writeHTML, writeStudyHTML},
	{"unitxt", writeUnitxt, nil},
	{"github", writeGitHub, nil},
	{"openmetrics", writeOpenMetrics, nil},
}

// Formats lists the formats of a summary of runs.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// StudyFormats lists the formats of what a study found.
func StudyFormats() []string {
	var names []string
	for _, f := range formats {
		if f.study != nil {
			names = append(names, f.name)
		}
	}
	return names
}

// CheckFormat returns an error for a format that Write does not know.
func CheckFormat(name string) error {
	_, err := find(name)
	return err
}

func find(name string) (format, error) {
	for _, f := range formats {
		if f.name == name {
			return f, nil
		}
	}
	return format{}, fmt.Errorf("unknown format %q: it is one of %s", name, strings.Join(Formats(), ", "))
}

// Write renders the reports of one or more runs.
func Write(w io.Writer, reports []*Report, o Options) error {
	f, err := find(o.Format)
	if err != nil {
		return err
	}
	return f.runs(w, reports, o)
}

// WriteStudy renders what a study found: a pointer to one of the results of internal/study.
func WriteStudy(w io.Writer, result any, name string) error {
	f, err := find(name)
	if err != nil {
		return err
	}
	if f.study == nil {
		return fmt.Errorf("the format %s is for runs only", name)
	}
	d, err := documentOf(result)
	if err != nil {
		return err
	}
	return f.study(w, d)
}
