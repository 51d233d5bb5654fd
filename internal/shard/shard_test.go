package shard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
)

// Where a row goes is part of what the shards of a run agree on, whatever their machine and version: it must never change.
// The numbers were computed with sha256sum and Python.
func TestOf(t *testing.T) {
	check := func(group, id string, n, want int) {
		t.Helper()
		if got := Of(&metrics.Sample{ID: id, Group: group}, n); got != want {
			t.Errorf("%q %q: shard %d of %d, not %d", group, id, got, n, want)
		}
	}
	check("", "octopus", 2, 1)
	check("", "octopus", 7, 4)
	check("", "octopus", 64, 25)
	check("", "octopus", 1000, 817)
	check("", "leap", 2, 1)
	check("", "leap", 7, 5)
	check("", "leap", 64, 1)
	check("", "leap", 1000, 769)
	check("", "row 17", 2, 2)
	check("", "row 17", 7, 7)
	check("", "row 17", 64, 20)
	check("", "row 17", 1000, 740)
	check("", "ключ", 2, 1)
	check("", "ключ", 7, 7)
	check("", "ключ", 64, 33)
	check("", "ключ", 1000, 25)
	check("octopus", "one", 7, Of(&metrics.Sample{ID: "octopus"}, 7))
}

func TestParse(t *testing.T) {
	for _, text := range []string{"1/1", "3/8", "64/64"} {
		if s, err := Parse(text); err != nil || s.String() != text {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "3", "0/8", "9/8", "-1/8", "1/0", "a/b", "1/2/3", "1/9999999999"} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%q is %v", text, s)
		}
	}
}

func TestChoose(t *testing.T) {
	check := func(text, want string, variables ...string) {
		t.Helper()
		lookup := func(name string) (string, bool) {
			for _, v := range variables {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value, true
				}
			}
			return "", false
		}
		s, err := Choose(text, lookup)
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s with %q: %s, want %s", text, variables, got, want)
		}
	}
	slurm := func(id, lowest, highest, count int) []string {
		return []string{fmt.Sprint("SLURM_ARRAY_TASK_ID=", id), fmt.Sprint("SLURM_ARRAY_TASK_MIN=", lowest),
			fmt.Sprint("SLURM_ARRAY_TASK_MAX=", highest), fmt.Sprint("SLURM_ARRAY_TASK_COUNT=", count)}
	}
	check("3/8", "3/8", slurm(0, 0, 3, 4)...)
	check("auto", "1/4", slurm(0, 0, 3, 4)...)
	check("auto", "4/4", slurm(3, 0, 3, 4)...)
	check("auto", "3/4", slurm(3, 1, 4, 4)...)
	check("auto/4", "3/4", slurm(3, 1, 4, 4)...)
	check("auto/8", "Slurm has 4 jobs, and --shard auto/8 asks for 8", slurm(3, 1, 4, 4)...)
	check("auto", "Slurm's array has 2 tasks from 1 to 3, and may be the rest of a larger one", slurm(3, 1, 3, 2)...)
	check("auto", "Slurm's array has 2 tasks from 3 to 4, and may be the rest of a larger one", slurm(3, 3, 4, 2)...)
	check("auto", "the variable SLURM_ARRAY_TASK_MAX is not set", append(slurm(3, 1, 4, 4)[:2], "SLURM_ARRAY_TASK_COUNT=4")...)
	check("auto", "3/8", "CI_NODE_INDEX=3", "CI_NODE_TOTAL=8")
	check("auto", "4/8", "CIRCLE_NODE_INDEX=3", "CIRCLE_NODE_TOTAL=8")
	check("auto", "4/8", "BUILDKITE_PARALLEL_JOB=3", "BUILDKITE_PARALLEL_JOB_COUNT=8")
	check("auto/8", "4/8", "JOB_COMPLETION_INDEX=3")
	check("auto/2", "4/2: shards are numbered from 1 to 2", "JOB_COMPLETION_INDEX=3")
	check("auto", "Kubernetes does not say how many jobs there are", "JOB_COMPLETION_INDEX=3")
	check("auto", "the variable CI_NODE_INDEX is \"x\", not a number", "CI_NODE_INDEX=x", "CI_NODE_TOTAL=8")
	check("auto", "JOB_COMPLETION_INDEX and BUILDKITE_PARALLEL_JOB are set", "JOB_COMPLETION_INDEX=3", "BUILDKITE_PARALLEL_JOB=1")
	check("auto", "no scheduler says which shard this is")
	check("auto/x", `"auto/x": write auto, or auto/8 for eight shards`, "JOB_COMPLETION_INDEX=3")
}

// rows are n samples, most of them in groups of up to five that do not stand together.
func rows(n int) []*metrics.Sample {
	r := rand.New(rand.NewPCG(1, 2))
	var list []*metrics.Sample
	for i := range n {
		s := &metrics.Sample{ID: fmt.Sprint("row ", i), Question: fmt.Sprint("question ", i), Answer: "answer"}
		if r.IntN(4) > 0 {
			s.Group = fmt.Sprint("group ", r.IntN(1+n/5))
		}
		list = append(list, s)
	}
	return list
}

func sequence(list []*metrics.Sample) iter.Seq2[*metrics.Sample, error] {
	return func(yield func(*metrics.Sample, error) bool) {
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// asking are metrics of which one asks the judge, and one has nothing to say of some rows.
func asking() []metrics.Metric {
	return []metrics.Metric{
		{Name: "a/length", Max: 100, Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			if strings.HasSuffix(s.ID, "3") {
				return metrics.Score{}, metrics.ErrNotApplicable
			}
			return metrics.Score{Value: float64(len(s.Question))}, nil
		}},
		{Name: "b/asked", Max: 100, Asks: metrics.Asks{backend.Judge: backend.CanGenerate},
			Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				req := &backend.GenerateRequest{Messages: []backend.Message{{Role: backend.User, Text: s.Question}}, MaxTokens: 20}
				g, err := m.Role(backend.Judge).Generate(ctx, req)
				if err != nil {
					return metrics.Score{}, err
				}
				return metrics.Score{Value: float64(len(g.Text)),
					Because: []metrics.Finding{{Kind: "reply", Text: "<" + g.Text + ">"}}}, nil
			}},
	}
}

func manifestOf(ms []metrics.Metric, n int) runs.Manifest {
	m := runstest.Manifest()
	m.Config.Dataset.Rows = n
	for _, metric := range ms {
		m.Config.Metrics = append(m.Config.Metrics, runs.Metric{Name: metric.Name, Max: metric.Max})
	}
	return m
}

// part is a run's manifest as that of one shard.
func part(m runs.Manifest, s Shard, list []*metrics.Sample) runs.Manifest {
	m.Config.Part = &runs.Part{Shards: []int{s.Index}, Of: s.Of}
	for range s.Rows(sequence(list)) {
		m.Config.Part.Rows++
	}
	return m
}

func create(t *testing.T, dir string, m runs.Manifest) *runs.Writer {
	t.Helper()
	w, err := runs.Create(dir, m, false)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func finish(t *testing.T, w *runs.Writer, finished bool) {
	t.Helper()
	if err := w.Close(runs.Calls{Computed: 1}, finished); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var errKilled = errors.New("killed")

// Whatever the number of shards, whatever was interrupted in between and in whatever order they are merged, the result is
// that of one run.
func TestMergeIsOneRun(t *testing.T) {
	const n = 300
	list, ms := rows(n), asking()
	models := metrics.Models{Roles: metrics.Roles{backend.Judge: &backendtest.Fake{
		About: backend.Info{Slots: 4, Ops: backend.CanGenerate},
		Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
			return "seen " + req.Messages[0].Text, nil
		},
	}}}
	m := manifestOf(ms, n)
	one := filepath.Join(t.TempDir(), "one")
	w := create(t, one, m)
	if err := metrics.Run(t.Context(), sequence(list), ms, models, metrics.Options{}, w.Write); err != nil {
		t.Fatal(err)
	}
	finish(t, w, true)
	random := rand.New(rand.NewPCG(3, 4))
	for _, of := range []int{1, 2, 7, 64} {
		dir := t.TempDir()
		where := map[string]int{} // the shard of each group
		var dirs []string
		for k := 1; k <= of; k++ {
			s := Shard{k, of}
			mine := part(m, s, list)
			for row := range s.Rows(sequence(list)) {
				if g := row.Sample.Group; g != "" && where[g] != 0 && where[g] != k {
					t.Errorf("%d shards: %s is in shard %d and in shard %d", of, g, where[g], k)
				} else {
					where[g] = k
				}
			}
			dirs = append(dirs, filepath.Join(dir, fmt.Sprint(k)))
			for attempt := range 3 {
				w := create(t, dirs[k-1], mine)
				killed := sequence(list)
				if attempt < 2 {
					last := random.IntN(n)
					killed = func(yield func(*metrics.Sample, error) bool) {
						for i, row := range list {
							if i == last {
								yield(nil, errKilled)
								return
							}
							if !yield(row, nil) {
								return
							}
						}
					}
				}
				err := s.Score(t.Context(), killed, ms, models, metrics.Options{Window: 1 + random.IntN(9)}, w)
				if attempt < 2 != errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				finish(t, w, err == nil)
			}
		}
		random.Shuffle(of, func(i, j int) { dirs[i], dirs[j] = dirs[j], dirs[i] })
		all := filepath.Join(dir, "all")
		merge(t, all, false, dirs...)
		if !bytes.Equal(read(t, all), read(t, one)) {
			t.Errorf("%d shards: other results than those of one run", of)
		}
		if got, want := timeless(t, all), timeless(t, one); got != want {
			t.Errorf("%d shards: the manifest is\n%s\nthat of one run\n%s", of, got, want)
		}
		if of < 3 {
			continue
		}
		// Half of them first, then the rest: the same again.
		half := filepath.Join(dir, "half")
		merge(t, half, true, dirs[:of/2]...)
		run, err := runs.Open(half)
		if err != nil {
			t.Fatal(err)
		}
		if p := run.Manifest.Config.Part; p == nil || len(p.Shards) != of/2 || !slices.IsSorted(p.Shards) {
			t.Errorf("half of %d shards are %v", of, p)
		}
		again := filepath.Join(dir, "again")
		merge(t, again, false, append(dirs[of/2:], half)...)
		if !bytes.Equal(read(t, again), read(t, one)) {
			t.Errorf("%d shards, merged in two steps: other results than those of one run", of)
		}
	}
}

// merge merges folders into one, in two attempts.
func merge(t *testing.T, into string, partial bool, dirs ...string) {
	t.Helper()
	m, err := Gather(dirs, partial)
	if err != nil {
		t.Fatal(err)
	}
	w := create(t, into, m.Manifest)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Into(ctx, w); err == nil && m.Manifest.Config.Rows() > 0 {
		t.Error("a merge goes on when it is cancelled")
	}
	finish(t, w, false)
	w = create(t, into, m.Manifest)
	if err := m.Into(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	finish(t, w, true)
}

// timeless is a run's manifest without how long it took and how many calls.
func timeless(t *testing.T, dir string) string {
	t.Helper()
	run, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := run.Manifest
	if m.Finished == nil {
		t.Errorf("%s is unfinished", dir)
	}
	m.Started, m.Finished, m.Seconds, m.Calls = runs.Time{}, nil, 0, runs.Calls{}
	b, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Folders that are not the shards of one run are refused, by the name of what is not right.
func TestGatherRefuses(t *testing.T) {
	list, ms := rows(20), asking()[:1]
	dir := t.TempDir()
	shard := func(name string, s Shard, finished bool, change func(*runs.Manifest)) string {
		m := part(manifestOf(ms, len(list)), s, list)
		if change != nil {
			change(&m)
		}
		path := filepath.Join(dir, name)
		w := create(t, path, m)
		if err := s.Score(t.Context(), sequence(list), ms, metrics.Models{}, metrics.Options{}, w); err != nil {
			t.Fatal(err)
		}
		finish(t, w, finished)
		return path
	}
	one, two, three := shard("1", Shard{1, 3}, true, nil), shard("2", Shard{2, 3}, true, nil), shard("3", Shard{3, 3}, true, nil)
	check := func(want string, dirs ...string) {
		t.Helper()
		_, err := Gather(dirs, false)
		if got := fmt.Sprint(err); strings.ReplaceAll(got, dir+"/", "") != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	check("<nil>", two, three, one)
	check("no shards to merge")
	check("shard 2 of 3 is missing", one, three)
	check("shards 1 and 2 of 3 are missing", three)
	check("shard 2 is there twice: in 2 and in twin", one, two, shard("twin", Shard{2, 3}, true, nil))
	check("shard 2 of 3 in torn is unfinished", one, three, shard("torn", Shard{2, 3}, false, nil))
	check("1 is shard 1 of 3 and four is shard 2 of 4: shards of one run are of one number", one, shard("four", Shard{2, 4}, true, nil))
	check("1 and seeded are of different runs: the seed differs", one,
		shard("seeded", Shard{2, 3}, true, func(m *runs.Manifest) { m.Config.Seed = 9 }))
	check("1 and judged are of different runs: the judge differs", one, shard("judged", Shard{2, 3}, true,
		func(m *runs.Manifest) { m.Config.Judge = &backend.Identity{Name: "j", Digest: "sha256:1"} }))
	check("1 and newer are of different runs: the version of assay (assay test, assay next) differs", one,
		shard("newer", Shard{2, 3}, true, func(m *runs.Manifest) { m.Tool = "assay next" }))
	check("1 and mapped are of different runs: the calibration differs", one, shard("mapped", Shard{2, 3}, true,
		func(m *runs.Manifest) { m.Calibrations = []runs.GivenCalibration{{Path: "a"}} }))
	check("many: its run.json is damaged: no part of a run is shard 9 of 3", one, shard("many", Shard{2, 3}, true,
		func(m *runs.Manifest) { m.Config.Part = &runs.Part{Shards: []int{9}, Of: 3} }))
	runstest.Write(t, filepath.Join(dir, "whole"), manifestOf(ms, 0))
	check("whole is a whole run, not a shard of one", one, filepath.Join(dir, "whole"))

	// What is unfinished is left out of a partial merge, by its name.
	m, err := Gather([]string{one, filepath.Join(dir, "torn"), three}, true)
	if err != nil || len(m.Left) != 1 || !slices.Equal(m.Manifest.Config.Part.Shards, []int{1, 3}) {
		t.Errorf("%+v, %v", m, err)
	}

	// A folder that lost rows is told of.
	lost := filepath.Join(dir, "lost")
	if err := os.CopyFS(lost, os.DirFS(two)); err != nil {
		t.Fatal(err)
	}
	text := read(t, lost)
	if err := os.WriteFile(filepath.Join(lost, "results.jsonl"), text[bytes.IndexByte(text, '\n')+1:], 0o666); err != nil {
		t.Fatal(err)
	}
	m, err = Gather([]string{one, lost, three}, false)
	if err != nil {
		t.Fatal(err)
	}
	w := create(t, filepath.Join(dir, "all"), m.Manifest)
	if err := m.Into(t.Context(), w); err == nil || !strings.Contains(err.Error(), "is in no shard") {
		t.Errorf("a row is missing: %v", err)
	}
	finish(t, w, false)
}

// A damaged part is an error that says where.
func TestBlocksRefuse(t *testing.T) {
	const good = `{"row":2,"sample":"a","metric":"x","error":"e"}` + "\n" + `{"row":2,"sample":"a","metric":"y","error":"e"}` + "\n"
	check := func(text, want string) {
		t.Helper()
		var got error
		for _, err := range Blocks(strings.NewReader(text), []string{"x", "y"}) {
			got = err
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
	check("", "<nil>")
	check(good, "<nil>")
	check(good[:60], "line 2: the results end in the middle of a row")
	check(good[:48], "line 2: the results end in the middle of a row")
	check(good+good, "line 3: row 2 comes after row 2")
	check(good+strings.ReplaceAll(good, "2", "1"), "line 3: row 1 comes after row 2")
	check(strings.Replace(good, `"y"`, `"x"`, 1), `line 2: row 2 has a result of "x" where that of "y" belongs`)
	check(strings.Replace(good, `"x"`, `"z"`, 1), `line 1: row 2 has a result of "z" where that of "x" belongs`)
	check(good[:48]+strings.ReplaceAll(good, "2", "3"), "line 2: row 2 has no result of y")
	check(strings.Replace(good, `"row":2`, `"row":-2`, 1), "line 1: "+errUnnumbered.Error())
	check(strings.Replace(good, `"row":2,`, ``, 1), "line 1: "+errUnnumbered.Error())
	check(strings.Replace(good, `"row":2,`, `"row":99999999999999999999,`, 1), "line 1: "+errUnnumbered.Error())
	check(`{"row":2,"sample`+"\n", "line 1: invalid character '\\n' in string literal")
}

// What is numbered comes back as it was, and nothing that is no part makes Blocks fail otherwise than by an error.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte(`{"row":2,"sample":"a","metric":"x"}` + "\n"))
	f.Add([]byte(`{"row":7,"sample":"a","metric":"x","score":{"value":1}}` + "\n" + `{"row":8,"metric":"x"}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var whole []byte
		failed := false
		for b, err := range Blocks(bytes.NewReader(text), []string{"x"}) {
			if failed = err != nil; !failed {
				whole = b.Numbered(whole)
			}
		}
		if !failed && !bytes.Equal(whole, text) {
			t.Errorf("%q comes back as %q", text, whole)
		}
	})
}

// Parts that hold one row are told of by their names.
func TestJoinRefusesDoubles(t *testing.T) {
	source := func(name string, numbers ...int) Source {
		return Source{name, func(yield func(Block, error) bool) {
			for _, n := range numbers {
				if !yield(Block{Row: n}, nil) {
					return
				}
			}
		}}
	}
	var got []int
	var failed error
	for b, err := range Join(source("a", 1, 4, 5), source("none"), source("b", 2, 3, 5, 6)) {
		if failed = err; err == nil {
			got = append(got, b.Row)
		}
	}
	if want := []int{1, 2, 3, 4, 5}; !slices.Equal(got, want) || fmt.Sprint(failed) != "row 5 is in a and in b" {
		t.Errorf("%v, %v", got, failed)
	}
}
