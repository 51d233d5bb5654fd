package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// writeOpenMetrics writes gauges in the text format of OpenMetrics 1.0, for a Prometheus server to collect from a file:
// the means with their intervals, the counts of rows, also of slices, and whether thresholds were met.
func writeOpenMetrics(w io.Writer, reports []*Report, o Options) error {
	families := []family{
		{name: "assay_score", help: "Mean of a metric's scores."},
		{name: "assay_score_lower", help: "Lower end of the 95% confidence interval of the mean."},
		{name: "assay_score_upper", help: "Upper end of the 95% confidence interval of the mean."},
		{name: "assay_rows", help: "Rows of the dataset by what became of them."},
		{name: "assay_threshold_met", help: "Whether a threshold was met: 1 or 0."},
	}
	for _, r := range reports {
		run := []string{"run", r.Dir, "dataset", filepath.Base(r.Manifest.Config.Dataset.Path)}
		for i := range r.Metrics {
			m := &r.Metrics[i]
			labels := append(run[:len(run):len(run)], "metric", m.Name)
			if m.N > 0 {
				families[0].add(m.Stats.Mean, labels...)
			}
			if i := m.Stats.Interval; i != nil {
				families[1].add(i.Lo, labels...)
				families[2].add(i.Hi, labels...)
			}
			families[3].outcomes(labels, m.N, m.Failed, m.NotApplicable, m.NotAsked)
		}
		if r.Slices != nil {
			for _, s := range r.Slices.List {
				labels := append(run[:len(run):len(run)], "metric", s.Metric, "slice_column", s.Column, "slice_value", s.Value)
				for k, v := range []*float64{s.Mean, s.Lo, s.Hi} {
					if v != nil {
						families[k].add(*v, labels...)
					}
				}
				families[3].outcomes(labels, s.N, s.Failed, s.NotApplicable, s.NotAsked)
			}
		}
		seen := map[string]int{}
		for _, v := range o.Verdicts {
			if v.Run != r.Dir || v.Skipped {
				continue
			}
			labels := append(run[:len(run):len(run)], "metric", v.Metric, "bound", strconv.FormatFloat(v.Bound, 'g', -1, 64))
			if v.Baseline != "" {
				labels = append(labels, "baseline", v.Baseline)
			}
			if v.Column != "" {
				labels = append(labels, "slice_column", v.Column, "slice_value", v.Value)
			}
			key := strings.Join(labels, "\x00")
			if seen[key]++; seen[key] > 1 { // the same bound of the mean and of the interval's end: no two samples are alike
				labels = append(labels, "number", strconv.Itoa(seen[key]))
			}
			met := 0.0
			if v.Passed {
				met = 1
			}
			families[4].add(met, labels...)
		}
	}
	p := &printer{w: w}
	for _, f := range families {
		if len(f.samples) > 0 {
			fmt.Fprintf(p, "# TYPE %s gauge\n# HELP %s %s\n%s", f.name, f.name, f.help, strings.Join(f.samples, ""))
		}
	}
	fmt.Fprint(p, "# EOF\n")
	return p.err
}

// A family is the samples of one name.
type family struct {
	name, help string
	samples    []string
}

// add adds a sample. Labels are names and values.
func (f *family) add(v float64, labels ...string) {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var list []string
	for i := 0; i < len(labels); i += 2 {
		list = append(list, labels[i]+`="`+escaped.Replace(strings.ToValidUTF8(labels[i+1], "\ufffd"))+`"`)
	}
	f.samples = append(f.samples, fmt.Sprintf("%s{%s} %s\n", f.name, strings.Join(list, ","),
		strconv.FormatFloat(v, 'g', -1, 64)))
}

func (f *family) outcomes(labels []string, scored, failed, notApplicable, notAsked int) {
	for i, name := range []string{"scored", "failed", "not_applicable", "not_asked"} {
		n := []int{scored, failed, notApplicable, notAsked}[i]
		if name != "not_asked" || n > 0 {
			f.add(float64(n), append(labels[:len(labels):len(labels)], "outcome", name)...)
		}
	}
}
