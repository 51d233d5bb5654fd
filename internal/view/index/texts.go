package index

import (
	"iter"

	"github.com/assay-eval/assay/metrics"
)

// texts are the samples of a dataset, found in the order of a run's results. The dataset is opened when the first is
// looked for, since that takes a pass over it.
type texts struct {
	open    func() (Data, error)                  // nil: that was done
	problem error                                 // why there is no dataset
	done    func()                                // closes it
	next    func() (*metrics.Sample, error, bool) // nil: there are no more
	passed  map[string]*metrics.Sample            // that came before what was looked for
	order   []string                              // of those, the first first
}

// ready opens the dataset, unless that was done.
func (t *texts) ready() {
	if t.open == nil {
		return
	}
	var data Data
	data, t.problem = t.open()
	if t.open = nil; t.problem == nil {
		next, stop := iter.Pull2(data.Samples)
		t.next, t.done = next, func() { stop(); data.Close() }
	}
}

// close closes the dataset.
func (t *texts) close() {
	if t.done != nil {
		t.done()
	}
}

// mostPassed bounds the samples that are kept because the results have them in another order.
const mostPassed = 2000

// find is a sample, nil if the dataset lacks it. Rows that are none were left out by the run, too.
func (t *texts) find(id string) (*metrics.Sample, error) {
	if s := t.passed[id]; s != nil {
		delete(t.passed, id)
		return s, nil
	}
	t.ready()
	for t.next != nil {
		s, err, ok := t.next()
		switch {
		case !ok:
			t.next = nil
		case isRowError(err):
		case err != nil:
			return nil, err
		case s.ID == id:
			return s, nil
		default:
			t.passed[s.ID], t.order = s, append(t.order, s.ID)
			if len(t.order) > mostPassed {
				delete(t.passed, t.order[0])
				t.order = t.order[1:]
			}
		}
	}
	return nil, nil
}
