package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// JUnit XML, as the CI systems read it: a suite for each run, and in it a test for each metric. A test
// fails when its mean crosses a threshold and is in error when there are failures and no score at all.
// What a metric could not score is in the test's output, where it does not turn a build red by itself.
// Rows, if they are asked for ([Options.Rows]), follow as tests of their own, which all fail.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr,omitempty"` // of the dataset, for a row
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitProblem `xml:"skipped"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
	}
)

func writeJUnit(w io.Writer, reports []*Report, o Options) error {
	var all junitSuites
	for _, r := range reports {
		s := r.junit(o.Verdicts)
		for i := range o.Rows {
			if row := &o.Rows[i]; row.Run == r.Dir {
				s.add(row)
			}
		}
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
		all.Suites = append(all.Suites, s)
	}
	b, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	return err
}

func (r *Report) junit(verdicts []Verdict) junitSuite {
	s := junitSuite{
		Name:      r.Dir,
		Tests:     len(r.Metrics),
		Time:      fmt.Sprintf("%.3f", r.Manifest.Seconds),
		Timestamp: r.Manifest.Started.Format("2006-01-02T15:04:05"),
	}
	for i := range r.Metrics {
		m := &r.Metrics[i]
		dimension, _, _ := strings.Cut(m.Name, "/")
		c := junitCase{Name: m.Name, Class: "assay." + dimension, Output: m.line()}
		var crossed []string
		for _, v := range verdicts {
			if v.Run == r.Dir && v.Metric == m.Name && !v.Passed {
				crossed = append(crossed, when(v.Column != "", v.Column+"="+v.Value+": ")+v.Why)
			}
		}
		switch {
		case crossed != nil:
			c.Failure = &junitProblem{strings.Join(crossed, "; ")}
			s.Failures++
		case m.N == 0 && m.Failed > 0:
			c.Error = &junitProblem{"no score: " + m.kinds()}
			s.Errors++
		case m.N == 0:
			c.Skipped = &junitProblem{"no sample that it applies to"}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// add adds a row as a test that fails, or is in error where the row has no score.
func (s *junitSuite) add(r *Row) {
	dimension, _, _ := strings.Cut(r.Metric, "/")
	c := junitCase{Name: r.Metric + ": " + r.Sample, Class: "assay." + dimension + ".rows", File: r.File, Line: r.Line}
	s.Tests++
	if problem := (&junitProblem{r.text()}); r.Score == nil {
		c.Error = problem
		s.Errors++
	} else {
		c.Failure = problem
		s.Failures++
	}
	s.Cases = append(s.Cases, c)
}

// line says all of a summary in a line.
func (s *Summary) line() string {
	text := fmt.Sprintf("scored %d, failed %d, not applicable %d", s.N, s.Failed, s.NotApplicable)
	if a := s.Active; a != nil {
		text += fmt.Sprintf(", not asked %d of %d", s.NotAsked, a.Rows)
	}
	if s.N > 0 {
		text = "mean " + s.mean() + ", " + text
	}
	if i := s.Stats.Interval; i != nil {
		text += fmt.Sprintf("; %v%% interval %s (%s)", 100*i.Level, s.interval(), i.Method)
	}
	if mean, interval := s.calibrated(); mean != "" {
		text += fmt.Sprintf("; calibrated mean %s%s", mean, when(interval != "", ", interval "+interval))
	}
	for _, w := range s.Stats.Warnings {
		text += "; " + w
	}
	if s.Failed > 0 {
		text += "; failures: " + s.kinds()
	}
	return text
}
