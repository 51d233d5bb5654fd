package metrics_test

import (
	"context"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

func said(role backend.Speaker, text string) metrics.Turn {
	return metrics.Turn{Role: role, Said: text}
}

func TestLastTurns(t *testing.T) {
	turns := []metrics.Turn{said(backend.User, "one"), said(backend.Assistant, "three"), said(backend.User, "eleven")}
	for most, want := range map[int]int{0: 0, 5: 0, 6: 1, 10: 1, 11: 2, 13: 2, 14: 3, 1000: 3} {
		got := metrics.LastTurns(turns, most)
		if len(got) != want || want > 0 && got[len(got)-1].Said != "eleven" {
			t.Errorf("of %d bytes: %v, want the last %d", most, got, want)
		}
	}
}

func TestAsked(t *testing.T) {
	check := func(want string, s metrics.Sample) {
		t.Helper()
		if got := s.Asked(); got != want {
			t.Errorf("%+v asks %q, want %q", s, got, want)
		}
	}
	talk := []metrics.Turn{said(backend.User, "Who is Ada?"), said(backend.Assistant, "A poet's daughter.")}
	check("And she?", metrics.Sample{Question: "And she?", Standalone: "And Ada?"})
	check("And Ada?", metrics.Sample{Question: "And she?", Standalone: "And Ada?", History: talk})
	check("Who is Ada?\nAnd she?", metrics.Sample{Question: "And she?", History: talk})
	check("And she?", metrics.Sample{Question: "And she?", History: talk[1:]})
	long := strings.Repeat("long ", metrics.MostHistory)
	check("And she?", metrics.Sample{Question: "And she?", History: []metrics.Turn{said(backend.User, long)}})
}

// What a metric is given of a conversation, and what its evidence says of the rest.
func TestConversing(t *testing.T) {
	long := strings.Repeat("x", metrics.MostHistory)
	check := func(turns metrics.Turns, s metrics.Sample, question string, history int, note string) {
		t.Helper()
		metric := metrics.Metric{Name: "a/b", Needs: metrics.Question, Max: 1, Turns: turns}
		metric.Score = func(_ context.Context, _ metrics.Models, got *metrics.Sample) (metrics.Score, error) {
			if got.Question != question || len(got.History) != history {
				t.Errorf("%d: it is given %q and %d turns, want %q and %d", turns, got.Question, len(got.History),
					question, history)
			}
			return metrics.Score{}, nil
		}
		before := len(s.History)
		score, err := metric.Try(context.Background(), metrics.Models{}, &s)
		notes := ""
		for _, f := range score.Because {
			notes += f.Text
		}
		if err != nil || !strings.Contains(notes, note) || note == "" && notes != "" || len(s.History) != before {
			t.Errorf("%d: %v, notes %q, want %q", turns, err, notes, note)
		}
	}
	first := metrics.Sample{Question: "And she?"}
	talk := metrics.Sample{Question: "And she?", History: []metrics.Turn{said(backend.User, "Who is Ada?"),
		said(backend.Assistant, long)}}
	alone := talk
	alone.Standalone = "And Ada?"
	for turns := metrics.TurnsShown; turns <= metrics.TurnsUnread; turns++ {
		check(turns, first, "And she?", 0, "")
	}
	check(metrics.TurnsShown, talk, "And she?", 1, "")
	check(metrics.TurnsAll, talk, "And she?", 2, "")
	check(metrics.TurnsUnneeded, talk, "And she?", 2, "")
	check(metrics.TurnsAsked, talk, "Who is Ada?\nAnd she?", 0, "what the user said last")
	check(metrics.TurnsUnread, talk, "And she?", 0, "without the conversation")
	check(metrics.TurnsAsked, alone, "And Ada?", 0, "standalone question was read")
	check(metrics.TurnsUnread, alone, "And Ada?", 0, "standalone question was read")
}
