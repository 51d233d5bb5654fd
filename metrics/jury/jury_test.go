package jury_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/jury"
)

// scores is a metric from lo to hi that gives what a table says for its judge and draw.
func scores(lo, hi float64, table map[string]any) metrics.Metric {
	return metrics.Metric{Name: "x/y", Doc: "what it is", Source: "a paper", Calls: "1 reply", Min: lo, Max: hi,
		Asks: metrics.Asks{backend.Judge: backend.CanGenerate},
		Score: func(_ context.Context, m metrics.Models, _ *metrics.Sample) (metrics.Score, error) {
			key := m.Role(backend.Judge).Info().Model
			if m.Draw.Of > 0 {
				key += fmt.Sprintf(" %d/%d", m.Draw.Number, m.Draw.Of)
			}
			switch v := table[key].(type) {
			case error:
				return metrics.Score{}, v
			case float64:
				return metrics.Score{Value: v, Because: []metrics.Finding{{Kind: "claim", Text: "said by " + key,
					Where: "context 1"}, {Kind: "note", Text: "so"}}}, nil
			}
			return metrics.Score{}, fmt.Errorf("no value for %q", key)
		}}
}

// models has judges of the names.
func models(names ...string) metrics.Models {
	m := metrics.Models{Roles: metrics.Roles{}}
	for _, name := range names {
		m.Roles[backend.Judge.Named(name)] = &backendtest.Fake{About: backend.Info{Model: name, Ops: backend.CanGenerate}}
	}
	return m
}

func try(t *testing.T, m metrics.Metric, have metrics.Models) (metrics.Score, error) {
	t.Helper()
	return m.Try(t.Context(), have, &metrics.Sample{ID: "s"})
}

func ofABC(t *testing.T, pool jury.Pool, lo, hi float64, a, b, c any) (metrics.Score, error) {
	t.Helper()
	have := models("a", "b", "c")
	m, err := jury.Of(scores(lo, hi, map[string]any{"a": a, "b": b, "c": c}), pool, []string{"a", "b", "c"}, have.Named())
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "x/y@"+string(pool)+"=a+b+c" || len(m.Asks) != 3 || m.Min != lo || m.Max != hi {
		t.Errorf("%+v", m)
	}
	return try(t, m, have)
}

func TestJury(t *testing.T) {
	bad := fmt.Errorf("%w: gibberish", metrics.ErrBadReply)
	inapt := fmt.Errorf("%w: no claims", metrics.ErrNotApplicable)
	check := func(pool jury.Pool, lo, hi float64, a, b, c any, value, spread float64, note string) {
		t.Helper()
		s, err := ofABC(t, pool, lo, hi, a, b, c)
		if err != nil || math.Abs(s.Value-value) > 1e-12 || math.Abs(*s.Spread-spread) > 1e-12 ||
			s.Because[0].Text != note {
			t.Errorf("%v %v %v: %+v, %v; want %v, %v and %q", a, b, c, s, err, value, spread, note)
		}
	}
	check(jury.Mean, 0, 1, 0.2, 0.5, 0.8, 0.5, 0.3, "the mean of 3 jurors, standard deviation 0.3")
	check(jury.Mean, 0, 1, 0.25, 0.25, 0.25, 0.25, 0, "the mean of 3 jurors, standard deviation 0")
	check(jury.Mean, 0, 1, 0.2, bad, 0.8, 0.5, 0.3*math.Sqrt2,
		"the mean of 2 jurors, standard deviation 0.424; 1 of 3 gave no score")
	check(jury.Mean, -1, 1, -1.0, inapt, 1.0, 0, math.Sqrt2,
		"the mean of 2 jurors, standard deviation 1.41; 1 of 3 gave no score")
	check(jury.Majority, 0, 1, 1.0, 0.5, 0.0, 1, 0.5,
		"the majority of 3 jurors, 1 of them against it; their mean is 0.5, standard deviation 0.5")
	check(jury.Majority, 1, 5, 4.0, 2.0, 2.0, 1, math.Sqrt(4.0/3),
		"the majority of 3 jurors, 1 of them against it; their mean is 2.67, standard deviation 1.15")
	check(jury.Majority, 0, 1, 1.0, 0.0, bad, 0.5, math.Sqrt(0.5),
		"a tie of 2 jurors; their mean is 0.5, standard deviation 0.707; 1 of 3 gave no score")

	s, err := ofABC(t, jury.Mean, 0, 1, 0.2, bad, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range s.Because[1:] {
		value := ""
		if f.Value != nil {
			value = fmt.Sprint(*f.Value)
		}
		got = append(got, strings.Join([]string{f.Kind, f.Text, value, f.Reason, f.Where}, "|"))
	}
	want := []string{"juror|a|0.2||", "juror|b||no score: bad reply: gibberish|", "juror|c|0.8||",
		"claim|said by a|||a, context 1", "note|so|||a", "claim|said by c|||c, context 1", "note|so|||c"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}

	refuse := func(a, b, c any, is error, want string) {
		t.Helper()
		if _, err := ofABC(t, jury.Mean, 0, 1, a, b, c); !errors.Is(err, is) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v %v %v: %v, want %v and %q", a, b, c, err, is, want)
		}
	}
	refuse(0.5, bad, inapt, metrics.ErrBadReply,
		"1 of 3 jurors gave a score, and more than half must: b: bad reply: gibberish; c: not applicable: no claims")
	refuse(0.5, inapt, inapt, metrics.ErrNotApplicable, "1 of 3 jurors")
	refuse(inapt, inapt, inapt, metrics.ErrNotApplicable, "no claims")
	refuse(inapt, 0.5, bad, metrics.ErrBadReply,
		"more than half must: c: bad reply: gibberish; a: not applicable: no claims")
	refuse(0.5, 0.5, backend.ErrUnavailable, backend.ErrUnavailable, "")
	if _, err := ofABC(t, jury.Mean, 0, 1, 0.5, inapt, bad); errors.Is(err, metrics.ErrNotApplicable) {
		t.Error("a failure counts as not applicable")
	}
	// A juror whose score is out of range has a bug, and the others score.
	if s, err := ofABC(t, jury.Mean, 0, 1, 0.5, 7.0, 0.5); err != nil || !strings.Contains(s.Because[2].Reason, "a bug") {
		t.Errorf("%+v %v", s, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	have := models("a", "b")
	m, err := jury.Of(scores(0, 1, map[string]any{"a": context.Canceled, "b": 0.5}), jury.Mean, []string{"a", "b"},
		have.Named())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Try(ctx, have, &metrics.Sample{ID: "s"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestDraws(t *testing.T) {
	bad := fmt.Errorf("%w: gibberish", metrics.ErrBadReply)
	table := map[string]any{"fake 0/4": 0.2, "fake 1/4": bad, "fake 2/4": 0.8, "fake 3/4": 0.5}
	m, err := jury.Draws(scores(0, 1, table), 4)
	if err != nil {
		t.Fatal(err)
	}
	s, err := try(t, m, models(""))
	if m.Draws != 4 || !slices.Equal(s.Draws, []float64{0.2, 0.8, 0.5}) {
		t.Errorf("draws %v of %d", s.Draws, m.Draws)
	}
	if err != nil || m.Name != "x/y@draws=4" || math.Abs(s.Value-0.5) > 1e-12 || math.Abs(*s.Spread-0.3) > 1e-12 {
		t.Errorf("%+v %v", s, err)
	}
	if s.Because[0].Text != "the mean of 3 draws, standard deviation 0.3; 1 of 4 gave no score" ||
		s.Because[2].Kind != "draw" || s.Because[2].Text != "draw 2" || s.Because[2].Reason == "" {
		t.Errorf("%+v", s.Because)
	}
	m, err = jury.Draws(scores(0, 1, map[string]any{"fake 0/2": 0.2, "fake 1/2": bad}), 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := try(t, m, models("")); !errors.Is(err, metrics.ErrBadReply) {
		t.Error(err)
	}
	probable := scores(0, 1, nil)
	probable.Asks = metrics.Asks{backend.Judge: backend.CanChoose, backend.Encoder: backend.CanClassify}
	if _, err := jury.Draws(probable, 3); err == nil || !strings.Contains(err.Error(), "each draw would be the same") {
		t.Error(err)
	}
}

// Several draws of each juror, and a jury in each draw, have the same mean.
func TestDrawsOfJury(t *testing.T) {
	have := models("a", "b")
	base := scores(0, 1, map[string]any{"a 0/2": 0.1, "a 1/2": 0.3, "b 0/2": 0.5, "b 1/2": 0.9})
	drawn, err := jury.Draws(base, 2)
	if err != nil {
		t.Fatal(err)
	}
	first, err := jury.Of(drawn, jury.Mean, []string{"a", "b"}, have.Named())
	if err != nil {
		t.Fatal(err)
	}
	both, err := jury.Of(base, jury.Mean, []string{"a", "b"}, have.Named())
	if err != nil {
		t.Fatal(err)
	}
	last, err := jury.Draws(both, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]metrics.Metric{"x/y@draws=2@jury=a+b": first, "x/y@jury=a+b@draws=2": last} {
		s, err := try(t, m, have)
		if err != nil || m.Name != name || math.Abs(s.Value-0.45) > 1e-12 {
			t.Errorf("%s: %+v %v", m.Name, s, err)
		}
	}
}
