// Package desk is where people label: it shows samples one at a time in a terminal and takes down what is said of them.
package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
)

// A Desk shows samples and takes down what is said of them.
type Desk struct {
	Book     *labels.Book
	Samples  []*metrics.Sample               // in the order in which they are shown
	Scale    int                             // labels are from 1 to Scale; 0: they are 0 and 1
	Pairs    bool                            // labels are 1 for the sample's own side of a pair, 2 for its rival's
	Seed     uint64                          // of which side of a pair is shown first
	Question string                          // asked of each sample; "": none
	Pick     func(sample string) labels.Pick // how one was picked; nil: each was as likely

	In       io.Reader // where keys are pressed
	Out      io.Writer
	Terminal bool // Out is a terminal, standard output

	at   int
	page int // 0: the beginnings of all texts; from 1 on, a page of the whole texts
}

// Work goes through the samples until all are labelled or the user leaves.
func (d *Desk) Work(ctx context.Context) error {
	keys, done, err := openKeys(d.In)
	if err != nil {
		return err
	}
	defer done()
	screen := &screen{out: d.Out, term: d.Terminal, raw: keys.terminal, clear: d.Terminal && keys.terminal, width: 80,
		height: 40}
	for turn := true; ; {
		screen.measure()
		if d.at == len(d.Samples) && !screen.clear {
			return nil
		}
		if turn || screen.clear {
			d.show(screen)
		}
		key, err := d.next(ctx, keys, screen)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		var quit bool
		if turn, quit, err = d.take(key); quit || err != nil {
			return err
		}
		if !turn && !screen.clear {
			screen.line(d.keys())
		}
	}
}

// resizeEvery is how often the window's size is looked at.
const resizeEvery = 200 * time.Millisecond

// next is the next key, io.EOF after the last. Where the window changes its size meanwhile, the page is shown anew.
func (d *Desk) next(ctx context.Context, keys *keyboard, screen *screen) (rune, error) {
	look := time.NewTicker(resizeEvery)
	defer look.Stop()
	for {
		select {
		case key, ok := <-keys.pressed:
			if !ok {
				return 0, keys.failed
			}
			return key, nil
		case <-look.C:
			if screen.clear && screen.measure() {
				d.show(screen)
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// take acts on a key. Turn says that there is another page to show.
func (d *Desk) take(key rune) (turn, quit bool, err error) {
	if d.at == len(d.Samples) { // all are labelled: back, or away
		if key != 'b' {
			return false, true, nil
		}
		d.at--
		return true, false, nil
	}
	id := d.Samples[d.at].ID
	label, ok := d.label(key)
	switch {
	case ok:
		err = d.Book.Put(id, &label, d.pick(id))
		d.at++
	case key == 's':
		err = d.Book.Put(id, nil, d.pick(id))
		d.at++
	case key == 'b':
		d.at = max(0, d.at-1)
	case key == 'm':
		d.page++
		return true, false, nil
	case key == 'q' || key == 3 || key == 4: // also Ctrl-C and Ctrl-D
		return false, true, nil
	default:
		return false, false, nil
	}
	d.page = 0
	return true, false, err
}

// pick is how a sample was picked.
func (d *Desk) pick(sample string) labels.Pick {
	if d.Pick == nil {
		return labels.Pick{}
	}
	return d.Pick(sample)
}

// label is what a key stands for.
func (d *Desk) label(key rune) (label int, ok bool) {
	switch {
	case d.Pairs && (key == '1' || key == '2'):
		if label = int(key - '0'); d.turned(d.Samples[d.at].ID) {
			label = 3 - label
		}
		return label, true
	case d.Pairs:
	case d.Scale > 0 && key >= '1' && key <= '0'+rune(d.Scale):
		return int(key - '0'), true
	case d.Scale == 0 && (key == '0' || key == 'n'):
		return 0, true
	case d.Scale == 0 && (key == '1' || key == 'y'):
		return 1, true
	}
	return 0, false
}

func (d *Desk) keys() string {
	labels := "1 yes, 0 no"
	if d.Pairs {
		labels = "1 the first, 2 the second"
	} else if d.Scale > 0 {
		labels = fmt.Sprintf("1 to %d", d.Scale)
	}
	return labels + " | b back, s skip, m more, q quit"
}
