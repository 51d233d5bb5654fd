package report

import (
	"github.com/assay-eval/assay/metrics"
)

// A Row is one that is worse than a threshold, or that failed, with where it stands in the dataset.
type Row struct {
	Run, Sample, Metric string
	Score               *float64         // nil: it failed
	Why                 string           // "0.250 is under 0.8"
	Because             *metrics.Finding // the first that counts against the score; nil: none does
	File                string           // "": the dataset could not be read
	Line                int
}

// text says what is wrong with a row, in a bounded line.
func (r *Row) text() string {
	const most = 300 // characters of a finding
	text := r.Why
	if f := r.Because; f != nil {
		text += "; " + f.Kind + ": " + shortened(f.Text, most) + when(f.Reason != "", " ("+shortened(f.Reason, most)+")")
	}
	return plain(shortened(text, 3*most))
}

// shortened cuts a text after so many characters, and shows that it did.
func shortened(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}
