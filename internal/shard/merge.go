package shard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/assay-eval/assay/internal/runs"
)

// A Merge is the folders of shards that belong together.
type Merge struct {
	// Manifest is that of one run of the rows that there are: of all, or with Config.Part saying of which. It began when
	// the first shard did, and took the time and the calls of all of them.
	Manifest runs.Manifest
	Left     []error // what was left out because it is unfinished

	parts []*runs.Run
}

// Gather reads the manifests of folders with shards of one run, or with merged shards of it. An error names what is not
// right: folders of different runs, with what differs; shards that are there twice; and, unless partial is set, those
// that are missing or unfinished. With partial, unfinished ones are left out.
func Gather(dirs []string, partial bool) (*Merge, error) {
	m := &Merge{}
	for _, dir := range dirs {
		run, err := runs.Open(dir)
		if err != nil {
			return nil, err
		}
		switch part := run.Manifest.Config.Part; {
		case part == nil:
			return nil, fmt.Errorf("%s is a whole run, not a shard of one", dir)
		case !sound(part):
			return nil, fmt.Errorf("%s: its run.json is damaged: no part of a run is %v", dir, part)
		}
		m.parts = append(m.parts, run)
	}
	if len(m.parts) == 0 {
		return nil, errors.New("no shards to merge")
	}
	for _, run := range m.parts[1:] {
		if err := alike(m.parts[0], run); err != nil {
			return nil, err
		}
	}
	first := func(run *runs.Run) int { return run.Manifest.Config.Part.Shards[0] }
	slices.SortStableFunc(m.parts, func(a, b *runs.Run) int { return first(a) - first(b) })
	if err := m.twice(); err != nil {
		return nil, err
	}
	m.parts = slices.DeleteFunc(m.parts, func(run *runs.Run) bool {
		if run.Manifest.Finished != nil {
			return false
		}
		m.Left = append(m.Left, fmt.Errorf("%v in %s is unfinished", run.Manifest.Config.Part, run.Dir))
		return true
	})
	if len(m.Left) > 0 && (!partial || len(m.parts) == 0) {
		return nil, runs.Inputf("%w", errors.Join(m.Left...)).WithHint("the command that began it goes on with it")
	}
	m.describe()
	if lacking := m.lacking(); lacking != "" && !partial {
		return nil, runs.Inputf("%s", lacking).WithHint("score them, or merge what is there with --partial")
	}
	return m, nil
}

// lacking names the shards that are not there; "" if all are.
func (m *Merge) lacking() string {
	part := m.Manifest.Config.Part
	if part == nil {
		return ""
	}
	const most = 20
	var missing []int
	for n := 1; n <= part.Of && len(missing) < most; n++ {
		if !slices.Contains(part.Shards, n) {
			missing = append(missing, n)
		}
	}
	all := part.Of - len(part.Shards)
	switch {
	case all > len(missing):
		return fmt.Sprintf("%s, and %d more, of %d are missing", runs.Shards(missing), all-len(missing), part.Of)
	case all == 1:
		return fmt.Sprintf("%s of %d is missing", runs.Shards(missing), part.Of)
	}
	return fmt.Sprintf("%s of %d are missing", runs.Shards(missing), part.Of)
}

// sound reports whether there can be such a part.
func sound(p *runs.Part) bool {
	if len(p.Shards) == 0 || p.Of > most || p.Rows < 0 {
		return false
	}
	for i, n := range p.Shards {
		if n < 1 || n > p.Of || i > 0 && n <= p.Shards[i-1] {
			return false
		}
	}
	return true
}

// alike returns an error if two folders do not hold parts of one run.
func alike(a, b *runs.Run) error {
	p, q := a.Manifest.Config, b.Manifest.Config
	if p.Part.Of != q.Part.Of {
		return fmt.Errorf("%s is %v and %s is %v: shards of one run are of one number", a.Dir, p.Part, b.Dir, q.Part)
	}
	p.Part, q.Part = nil, nil
	what := p.Differs(q)
	switch {
	case what != "":
	case a.Manifest.Tool != b.Manifest.Tool:
		what = fmt.Sprintf("version of assay (%s, %s)", a.Manifest.Tool, b.Manifest.Tool)
	case !equal(a.Manifest.Calibrations, b.Manifest.Calibrations):
		what = "calibration"
	default:
		return nil
	}
	return fmt.Errorf("%s and %s are of different runs: the %s differs", a.Dir, b.Dir, what)
}

// equal compares what is written into a manifest.
func equal(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// twice returns an error if a shard is there more than once.
func (m *Merge) twice() error {
	in := map[int]string{}
	for _, run := range m.parts {
		for _, n := range run.Manifest.Config.Part.Shards {
			if dir, there := in[n]; there {
				return fmt.Errorf("%s is there twice: in %s and in %s", runs.Shards([]int{n}), dir, run.Dir)
			}
			in[n] = run.Dir
		}
	}
	return nil
}

// describe makes the manifest of all parts together.
func (m *Merge) describe() {
	m.Manifest = m.parts[0].Manifest
	m.Manifest.Finished, m.Manifest.Seconds, m.Manifest.Calls = nil, 0, runs.Calls{}
	whole := runs.Part{Of: m.Manifest.Config.Part.Of}
	for _, run := range m.parts {
		one := run.Manifest
		if one.Started.Before(m.Manifest.Started.Time) {
			m.Manifest.Started = one.Started
		}
		m.Manifest.Seconds += one.Seconds
		m.Manifest.Calls.Cached += one.Calls.Cached
		m.Manifest.Calls.Computed += one.Calls.Computed
		for _, note := range one.Notes {
			if !slices.Contains(m.Manifest.Notes, note) {
				m.Manifest.Notes = append(slices.Clip(m.Manifest.Notes), note)
			}
		}
		whole.Shards = append(whole.Shards, one.Config.Part.Shards...)
		whole.Rows += one.Config.Part.Rows
	}
	slices.Sort(whole.Shards)
	m.Manifest.Config.Part = &whole
	if len(whole.Shards) == whole.Of {
		m.Manifest.Config.Part = nil
	}
}

// Into writes the results of all rows, in the run's order, to w, which was created for the Manifest. The caller closes w.
// What an earlier attempt left in w is gone on with.
func (m *Merge) Into(ctx context.Context, w *runs.Writer) error {
	var sources []Source
	for _, run := range m.parts {
		sources = append(sources, Source{run.Dir, blocksOf(run)})
	}
	rows, skip := 0, w.Kept()
	var text []byte
	for b, err := range Join(sources...) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rows++
		whole := m.Manifest.Config.Part == nil
		if whole && b.Row != rows {
			return fmt.Errorf("row %d is in no shard: a folder is not as it was written", rows)
		}
		if rows <= skip {
			continue
		}
		if text = append(text[:0], b.Lines...); !whole {
			text = b.Numbered(text[:0])
		}
		if err := w.WriteLines(text); err != nil {
			return err
		}
	}
	if want := m.Manifest.Config.Rows(); rows != want {
		return fmt.Errorf("the shards hold %d rows of %d: a folder is not as it was written", rows, want)
	}
	return nil
}

// blocksOf reads the results of a folder.
func blocksOf(run *runs.Run) iter.Seq2[Block, error] {
	return func(yield func(Block, error) bool) {
		f, err := run.Text()
		if err != nil {
			yield(Block{}, err)
			return
		}
		defer f.Close()
		for b, err := range Blocks(f, run.Manifest.Names()) {
			if !yield(b, err) {
				return
			}
		}
	}
}
