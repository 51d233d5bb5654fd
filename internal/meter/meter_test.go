package meter

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
)

var models = []Model{
	{Name: "judge small", Parts: []string{"a", "b"}, Cached: 30, Computed: 90, Failed: 2, PromptTokens: 60_000, OutputTokens: 600},
	{Name: "encoder sentry", Parts: []string{"a"}, Computed: 600},
	{Name: "embeddings minilm", Cached: 5},
	{Name: "judge idle"},
}

// A log gets a line every fifteen seconds, also while nothing comes back, with one for each model.
func TestPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var said []string
		m := New(Options{Unit: "rows", Total: 10, Kept: 2, Parts: []string{"a", "b"}, Models: func() []Model { return models[:2] },
			Say: func(line string) {
				mu.Lock()
				defer mu.Unlock()
				said = append(said, line)
			}})
		time.Sleep(10 * time.Second)
		for i := range 8 {
			m.Done("a", i == 3)
		}
		time.Sleep(10 * time.Second)
		m.Done("b", false)
		m.Done("b", false)
		time.Sleep(20 * time.Second)
		m.Stop()
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		want := []string{
			"2 of 10 rows, 1 failed",
			"judge small: 4000 prompt and 40 completion tokens/s, 90 answers, 25% of 120 from the cache, 2 failed",
			"encoder sentry: done, 600 answers",
			"4 of 10 rows, 1:30 left, 4 a minute, 1 failed",
			"judge small: 1:30 left, 2000 prompt and 20 completion tokens/s, 90 answers, 25% of 120 from the cache, 2 failed",
			"encoder sentry: done, 600 answers",
		}
		if got := strings.Join(said, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("said\n%s", got)
		}
	})
}

func TestModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Meter{o: Options{Total: 4, Models: func() []Model { return models }}, began: time.Now(), done: map[string]int{"a": 1}}
		time.Sleep(time.Minute)
		got := strings.Join(m.models(true), "\n")
		want := "judge small: 1000+10 tok/s, 25% of 120 from the cache, 2 failed\nencoder sentry: 3:00 left, 10 answers/s\n" +
			"embeddings minilm: 100% of 5 from the cache\njudge idle: no answers yet"
		if got != want {
			t.Errorf("said\n%s", got)
		}
	})
}

// On a terminal no line is wider than it, whatever its width, since a line that wraps could not be drawn over; and what is
// said meanwhile stands above the bar.
func TestTerminal(t *testing.T) {
	for _, width := range []int{24, 60, 80, 200} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var out bytes.Buffer
			var say func(string)
			m := New(Options{Unit: "rows", Total: 1000, Parts: []string{"a"}, Models: func() []Model { return models }, Width: width,
				Out: locked{&mu, &out}, Through: func(print func(string)) { say = print }})
			for range 400 {
				m.Done("a", false)
			}
			time.Sleep(3 * time.Second)
			say("something else")
			time.Sleep(3 * time.Second)
			m.Stop()
			if say != nil {
				t.Error("what is said goes through the bar after its end")
			}
			mu.Lock()
			defer mu.Unlock()
			shown := out.String()
			for line := range strings.SplitSeq(shown, "\n") {
				if n := text.StringWidthWithoutEscSequences(strings.Trim(line, "\r")); n > width && !strings.Contains(line, "something") {
					t.Errorf("in %d columns, a line of %d: %q", width, n, line)
				}
			}
			for _, want := range []string{"40%", "something else\n", "judge small"} {
				if !strings.Contains(shown, want) {
					t.Errorf("in %d columns, %q is not shown: %q", width, want, shown)
				}
			}
		})
	}
}

type locked struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{7 * time.Second: "0:07", 760 * time.Second: "12:40", 11110 * time.Second: "3:05:10"} {
		if got := Duration(d); got != want {
			t.Errorf("%v is %s", d, got)
		}
	}
}
