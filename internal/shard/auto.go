package shard

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
)

// A scheduler tells each of its jobs by variables which of how many it is.
type scheduler struct {
	name, index string
	count       string // "": it does not say
	first       int    // the index of the first job
}

// schedulers are those that are known, Slurm excepted, whose arrays need not begin at a fixed index.
func schedulers() []scheduler {
	return []scheduler{
		{"Kubernetes", "JOB_COMPLETION_INDEX", "", 0},
		{"GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1},
		{"CircleCI", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0},
		{"Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0},
	}
}

const slurmIndex = "SLURM_ARRAY_TASK_ID"

// Choose reads what the user wrote: "3/8", the third of eight; "auto", the shard that the scheduler's variables say
// that this job is; or "auto/8", where the scheduler does not say how many there are. The variables are found by lookup,
// which is os.LookupEnv.
func Choose(text string, lookup func(string) (string, bool)) (Shard, error) {
	auto, of, counted := strings.Cut(text, "/")
	if auto != "auto" {
		return Parse(text)
	}
	want := 0
	if counted {
		n, err := strconv.Atoi(of)
		if err != nil || n < 1 {
			return Shard{}, fmt.Errorf("%q: write auto, or auto/8 for eight shards", text)
		}
		want = n
	}
	s, name, err := scheduled(lookup, want)
	if err != nil {
		return Shard{}, err
	}
	if want > 0 && s.Of != want {
		return Shard{}, fmt.Errorf("%s has %d jobs, and --shard %s asks for %d", name, s.Of, text, want)
	}
	return s, s.check()
}

// scheduled is the shard that the one scheduler whose variables are set says; want is the number of shards for one that
// does not say it, 0 if the user did not either.
func scheduled(lookup func(string) (string, bool), want int) (s Shard, name string, err error) {
	var indices, known []string
	see := func(variable string) bool {
		known = append(known, variable)
		_, set := lookup(variable)
		if set {
			indices = append(indices, variable)
		}
		return set
	}
	if see(slurmIndex) {
		name = "Slurm"
		s, err = slurm(lookup)
	}
	for _, one := range schedulers() {
		if see(one.index) {
			name = one.name
			s, err = one.read(lookup, want)
		}
	}
	switch len(indices) {
	case 0:
		return s, "", runs.Inputf("no scheduler says which shard this is").WithHint(
			"one of %s does; or say it: --shard 3/8", strings.Join(known, ", "))
	case 1:
		return s, name, err
	}
	return s, "", runs.Inputf("%s are set", strings.Join(indices, " and ")).WithHint(
		"say which shard this is: --shard 3/8")
}

// read reads a scheduler's variables.
func (one scheduler) read(lookup func(string) (string, bool), want int) (s Shard, err error) {
	if s.Index, err = number(lookup, one.index); err != nil {
		return s, err
	}
	s.Index -= one.first - 1
	if s.Of = want; one.count != "" {
		s.Of, err = number(lookup, one.count)
	} else if want == 0 {
		err = runs.Inputf("%s does not say how many jobs there are", one.name).WithHint("say it: --shard auto/8")
	}
	return s, err
}

// slurm reads the variables of a job array. An array that begins above 1, or leaves indices out, may be the rest of a
// larger one, of which nothing tells.
func slurm(lookup func(string) (string, bool)) (Shard, error) {
	var n [4]int
	var errs []error
	for i, name := range []string{slurmIndex, "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_COUNT"} {
		var err error
		n[i], err = number(lookup, name)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return Shard{}, err
	}
	id, lowest, highest, count := n[0], n[1], n[2], n[3]
	if lowest > 1 || highest-lowest+1 != count {
		return Shard{}, runs.Inputf("Slurm's array has %d tasks from %d to %d, and may be the rest of a larger one", count,
			lowest, highest).WithHint("say which shard this is: --shard $%s/8", slurmIndex)
	}
	return Shard{id - lowest + 1, count}, nil
}

// number reads a variable that holds a number from 0 on.
func number(lookup func(string) (string, bool), name string) (int, error) {
	text, set := lookup(name)
	if !set {
		return 0, fmt.Errorf("the variable %s is not set", name)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("the variable %s is %.40q, not a number", name, text)
	}
	return n, nil
}
