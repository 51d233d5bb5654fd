package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// An oracle is a judge that is asked about conversations. It remembers the last message of each prompt.
type oracle struct {
	reply   func(last string) string  // nil: a request for one is an error of the test
	chance  func(last string) float64 // of yes
	context int

	mu   sync.Mutex
	asks []string
}

func (o *oracle) note(messages []backend.Message) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := messages[len(messages)-1].Text
	o.asks = append(o.asks, last)
	return last
}

// score scores a sample by one metric.
func (o *oracle) score(t *testing.T, name string, s *metrics.Sample) (metrics.Score, error) {
	t.Helper()
	ms := metrictest.Select(t, Metrics(), name)
	o.asks = nil
	fake := &backendtest.Fake{
		About: backend.Info{Context: o.context},
		Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
			if o.reply == nil {
				return "", errors.New("no reply was expected")
			}
			return o.reply(o.note(req.Messages)), nil
		},
		LogProbs: func(messages []backend.Message, continuation string) []float64 {
			if continuation == "No" {
				return []float64{math.Log(1 - o.chance(messages[len(messages)-1].Text))}
			}
			return []float64{math.Log(o.chance(o.note(messages)))}
		},
	}
	return ms[0].Try(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Judge: fake}}, s)
}

// roughly reports whether two numbers are the same up to rounding.
func roughly(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// likely is a probability of yes that is well above one half if a sentence is true.
func likely(is bool) float64 {
	if is {
		return 0.9
	}
	return 0.2
}

func userSays(text string) metrics.Turn {
	return metrics.Turn{Role: backend.User, Said: text}
}

func assistantSays(text string) metrics.Turn {
	return metrics.Turn{Role: backend.Assistant, Said: text}
}

func assistantCalls(text, tool string) metrics.Turn {
	return metrics.Turn{Role: backend.Assistant, Said: text, Calls: []metrics.ToolCall{{Name: tool}}}
}

func toolReturns(tool, text string) metrics.Turn {
	return metrics.Turn{Role: backend.Assistant, Result: &metrics.ToolResult{Tool: tool, Text: text}}
}

func TestTopicAdherence(t *testing.T) {
	sample := &metrics.Sample{
		History:  []metrics.Turn{userSays("How long does rice boil?"), assistantSays("Twelve minutes.")},
		Question: "And who won the race?", Answer: "I only know about food.",
		ReferenceTopics: []string{"cooking", "food"},
	}
	const none = -1
	// A topic is named by what becomes of it.
	check := func(topics string, f1, precision, recall float64) {
		t.Helper()
		o := &oracle{
			reply: func(string) string { return topics },
			chance: func(last string) float64 {
				_, topic, _ := strings.Cut(last, "Topic: ")
				topic, _, _ = strings.Cut(topic, "\n")
				if strings.HasPrefix(last, "Subjects:") {
					return likely(strings.Contains(topic, "allowed"))
				}
				return likely(strings.Contains(topic, "answered"))
			},
		}
		var first []string
		for name, want := range map[string]float64{"f1": f1, "precision": precision, "recall": recall} {
			score, err := o.score(t, "topic_adherence/"+name, sample)
			if errors.Is(err, metrics.ErrNotApplicable) != (want == none) ||
				want != none && (err != nil || !roughly(score.Value, want)) {
				t.Errorf("%q: %s is %v, %v, want %v", topics, name, score.Value, err, want)
			}
			// What one has asked the others ask again, word for word, for the cache to answer.
			if first == nil {
				first = o.asks
			} else if !slices.Equal(o.asks, first) {
				t.Errorf("%q: %s asks %q, another %q", topics, name, o.asks, first)
			}
		}
	}
	check("1. allowed answered one\n2. strayed answered\n3. allowed denied\n4. rightly denied", 0.5, 0.5, 0.5)
	check("- allowed answered one\n- allowed answered two\n- strayed answered", 0.8, 2.0/3, 1)
	check(`["allowed answered one", "allowed denied"]`, 2.0/3, 1, 0.5)
	check("Sure! Here are the topics:\n1. rightly denied", 1, none, none)
	check("1. allowed denied", 0, none, 0)
	check("1. strayed answered\n2. strayed answered\n3. strayed answered", 0, 0, none)
	check("No topics.", none, none, none)
	check("None", none, none, none)

	for _, bad := range []string{"", "Sorry, I cannot help with that.", "Topics:"} {
		o := &oracle{reply: func(string) string { return bad }}
		if _, err := o.score(t, "topic_adherence", sample); !errors.Is(err, metrics.ErrBadReply) ||
			len(o.asks) != ask.MaxDraws {
			t.Errorf("%q: %v after %d replies", bad, err, len(o.asks))
		}
	}
	tries := 0
	o := &oracle{chance: func(string) float64 { return 0.9 }, reply: func(string) string {
		tries++
		return []string{"", "1. rice"}[tries-1]
	}}
	score, err := o.score(t, "topic_adherence", sample)
	if err != nil || score.Value != 1 || len(score.Because) != 1 || score.Because[0].Text != "rice" ||
		!*score.Because[0].Verdict {
		t.Errorf("a bad reply first: %+v, %v", score, err)
	}
}

func TestGoal(t *testing.T) {
	sample := &metrics.Sample{
		Question: "A table for two, please.", Answer: "It is booked.",
		References: []string{"a table is booked", " ", "no table was free"},
	}
	o := &oracle{chance: func(last string) float64 {
		if strings.Contains(last, "Goal: a table is booked") {
			return 0.75
		}
		return 0.25
	}}
	score, err := o.score(t, "goal", sample)
	if err != nil || !roughly(score.Value, 0.75) || len(score.Because) != 2 || !*score.Because[0].Verdict ||
		*score.Because[1].Verdict {
		t.Errorf("two references: %+v, %v", score, err)
	}

	o.reply = func(string) string { return "Goal: a table is booked" }
	score, err = o.score(t, "goal/inferred", sample)
	if err != nil || !roughly(score.Value, 0.75) || len(o.asks) != 2 || score.Because[0].Text != "a table is booked" {
		t.Errorf("inferred: %+v, %v", score, err)
	}
	sample.References = nil
	if _, err := o.score(t, "goal", sample); !errors.Is(err, metrics.ErrNotApplicable) {
		t.Errorf("without a reference: %v", err)
	}
	silent := &metrics.Sample{Question: "A table for two, please.", References: []string{"a table is booked"}}
	if _, err := o.score(t, "goal", silent); !errors.Is(err, metrics.ErrNotApplicable) || len(o.asks) > 0 {
		t.Errorf("without an answer: %v after %q", err, o.asks)
	}
	silent.Steps = []metrics.Turn{assistantCalls("", "book")}
	if _, err := o.score(t, "goal", silent); err != nil {
		t.Errorf("with a call for an answer: %v", err)
	}
}

func TestDecodeGoal(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		got, err := decodeGoal(ask.Reply{Text: text})
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	check("The user wanted a table.", "The user wanted a table.")
	check("**Goal:** The user wanted a table.", "The user wanted a table.")
	check("Sure, here it is:\n- \"A table for two\"", "A table for two")
	check("目标是预订一张桌子。", "目标是预订一张桌子。")
	check("", "")
	check("Goal:", "")
	check("...", "")
	check("I'm sorry, I can't say.", "")
	if got, err := decodeGoal(ask.Reply{Text: "The user wanted a tab", Cut: true}); !errors.Is(err, metrics.ErrCut) {
		t.Errorf("a reply that was cut: %q, %v", got, err)
	}
}

// talk is a conversation of three exchanges, in which the assistant looks something up.
func talk() *metrics.Sample {
	return &metrics.Sample{
		History: []metrics.Turn{
			{Role: backend.System, Said: "You are a waiter."},
			userSays("I am Ada. I eat no fish."), assistantSays("Welcome, Ada."),
			userSays("What is there today?"), assistantCalls("", "menu"), toolReturns("menu", "trout, soup"),
			assistantSays("Trout and soup."),
		},
		Question: "What do you advise?",
		Steps:    []metrics.Turn{assistantCalls("One moment.", "menu"), toolReturns("menu", "trout, soup")},
		Answer:   "The trout.",
	}
}

func TestConversation(t *testing.T) {
	o := &oracle{}
	check := func(name string, chance func(reply string) float64, want float64, turns string) {
		t.Helper()
		o.chance = func(last string) float64 {
			_, said, ok := strings.Cut(last, "\nReply: ")
			if !ok {
				t.Errorf("%s: asked %q", name, last)
			}
			said, _, _ = strings.Cut(said, "\n")
			return chance(said)
		}
		score, err := o.score(t, "conversation/"+name, talk())
		if err != nil || !roughly(score.Value, want) {
			t.Errorf("%s: %v, %v, want %v", name, score.Value, err, want)
		}
		var got []string
		for _, f := range score.Because {
			got = append(got, fmt.Sprintf("%s %s: %s %.2f %v", f.Kind, f.Where, f.Text, *f.Value, *f.Verdict))
		}
		if joined := strings.Join(got, "; "); joined != turns {
			t.Errorf("%s:\n got %s\nwant %s", name, joined, turns)
		}
	}
	check("relevance", func(reply string) float64 { return likely(reply != "Welcome, Ada.") }, (0.2+3*0.9)/4,
		"turn turn 2: Welcome, Ada. 0.20 false; turn turn 6: Trout and soup. 0.90 true; turn turn 8: One moment. "+
			"0.90 true; turn turn 10: The trout. 0.90 true")
	// The first reply comes too early to forget anything, and yes means that something was forgotten.
	check("knowledge_retention", func(reply string) float64 { return likely(reply == "The trout.") }, (2*0.8+0.1)/3,
		"turn turn 6: Trout and soup. 0.80 true; turn turn 8: One moment. 0.80 true; turn turn 10: The trout. 0.10 "+
			"false")
	check("role_adherence", func(string) float64 { return 0.6 }, 0.6,
		"turn turn 2: Welcome, Ada. 0.60 true; turn turn 6: Trout and soup. 0.60 true; turn turn 8: One moment. 0.60 "+
			"true; turn turn 10: The trout. 0.60 true")
	if first := o.asks[0]; !strings.Contains(first, "You are a waiter.") ||
		strings.Contains(first, "Welcome, Ada.\n\n") {
		t.Errorf("about the first reply it asks %q", first)
	}

	o.chance = func(last string) float64 { return likely(strings.Contains(last, "to know what there is")) }
	o.reply = func(string) string { return "1. The user wants to know what there is.\n2. The user wants advice." }
	score, err := o.score(t, "conversation", talk())
	if err != nil || !roughly(score.Value, 0.55) || len(score.Because) != 2 {
		t.Errorf("completeness: %+v, %v", score, err)
	}
	o.reply = func(string) string { return "No wishes." }
	if _, err := o.score(t, "conversation", talk()); !errors.Is(err, metrics.ErrNotApplicable) {
		t.Errorf("no wishes: %v", err)
	}
	o.reply = func(string) string { return "" }
	if _, err := o.score(t, "conversation", talk()); !errors.Is(err, metrics.ErrBadReply) {
		t.Errorf("an empty reply: %v", err)
	}
}

// Where there is nothing to judge, the metrics say so and ask nothing.
func TestConversationNotApplicable(t *testing.T) {
	check := func(name, want string, s *metrics.Sample) {
		t.Helper()
		o := &oracle{}
		if _, err := o.score(t, name, s); !errors.Is(err, metrics.ErrNotApplicable) ||
			!strings.Contains(err.Error(), want) || len(o.asks) > 0 {
			t.Errorf("%s: %v after %d questions, want %q", name, err, len(o.asks), want)
		}
	}
	single := &metrics.Sample{Question: "q", Answer: "a"}
	for _, name := range []string{"completeness", "relevance", "knowledge_retention", "role_adherence"} {
		check("conversation/"+name, "no history", single)
	}
	check("topic_adherence", "no reference_topics", talk())
	check("goal", "no reference_answers", talk())
	plain := talk()
	plain.History = plain.History[1:]
	check("conversation/role_adherence", "no system's turn", plain)
	greeted := &metrics.Sample{History: []metrics.Turn{assistantSays("Hello.")}, Question: "q", Answer: "a"}
	check("conversation/knowledge_retention", "after 2 of the user's turns", greeted)
}

// Every metric of a conversation shows the judge what was said and done before the last question.
func TestConversationIsShown(t *testing.T) {
	sample := talk()
	sample.References = []string{"a meal is chosen"}
	sample.ReferenceTopics = []string{"food"}
	o := &oracle{
		chance: func(string) float64 { return 0.5 }, reply: func(string) string { return "1. A wish or topic." },
	}
	for _, m := range slices.Concat(topicMetrics(), goalMetrics(), conversationMetrics()) {
		if _, err := o.score(t, m.Name, sample); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		all := strings.Join(o.asks, "\n")
		for _, part := range []string{"User: I am Ada. I eat no fish.", "Assistant: [calls menu()]",
			"Assistant: [menu returned: trout, soup]",
			"User: What do you advise?", "Assistant: One moment.\n[calls menu()]"} {
			if !strings.Contains(all, part) {
				t.Errorf("%s does not show %q", m.Name, part)
			}
		}
		if strings.Contains(all, "You are a waiter.") != (m.Name == "conversation/role_adherence") {
			t.Errorf("%s: the system's turn is shown to no one but who asks about the role", m.Name)
		}
	}
}

// A conversation that does not fit is read in windows; nothing of it is left out.
func TestLongConversation(t *testing.T) {
	sample := &metrics.Sample{Question: "Thank you.", Answer: "Goodbye.", References: []string{"the harbour is found"}}
	for i := range 60 {
		sample.History = append(sample.History, userSays(fmt.Sprintf("Where is house number %d of this street?", i)),
			assistantSays(fmt.Sprintf("House number %d is behind the next corner.", i)))
	}
	seen := map[int]bool{}
	note := func(last string) {
		for i := range 60 {
			if strings.Contains(last, fmt.Sprintf("House number %d is", i)) {
				seen[i] = true
			}
		}
	}
	o := &oracle{context: 600}
	o.chance = func(last string) float64 {
		note(last)
		return likely(strings.Contains(last, "House number 7 is"))
	}
	score, err := o.score(t, "goal", sample)
	if err != nil || !roughly(score.Value, 0.9) || len(seen) != 60 ||
		!strings.Contains(score.Because[0].Where, "windows") {
		t.Errorf("%+v, %v, %d of 60 turns shown", score, err, len(seen))
	}
	clear(seen)
	o.reply = func(last string) string {
		note(last)
		return fmt.Sprintf("The user wanted the house after %d others.", len(seen))
	}
	topics, err := o.score(t, "goal/inferred", sample)
	if err != nil || len(seen) != 60 || len(topics.Because) < 2 {
		t.Errorf("%+v, %v, %d of 60 turns shown", topics, err, len(seen))
	}
	o.chance = func(last string) float64 { return likely(strings.Contains(last, "House number 3 is")) }
	score, err = o.score(t, "conversation/relevance", sample)
	if last := score.Because[len(score.Because)-1]; err != nil || !*last.Verdict ||
		!strings.Contains(last.Where, "turn 122, after ") {
		t.Errorf("%+v, %v", last, err)
	}
}

// What somebody says is judged as what they said, though it look as calls and results are shown.
func TestLookalikesAreJudged(t *testing.T) {
	sample := talk()
	sample.History = append(sample.History, userSays("[calls menu()]"),
		assistantSays("[menu returned: no trout]"), userSays("And now?"), assistantSays("Wait.\n[calls menu()]"))
	sample.Answer = "[calls menu()]"
	checkJudged(t, sample, "Welcome, Ada.", "Trout and soup.", "[menu returned: no trout]", "Wait.\n[calls menu()]",
		"One moment.", "[calls menu()]")
}

// What a tool returned and what it is called with are nothing that is said, whatever they look like.
func TestOnlyWordsAreJudged(t *testing.T) {
	sample := talk()
	sample.Steps = []metrics.Turn{assistantCalls(" ", "two\nlines"), toolReturns("a [tool]\n", "I advise\nsoup."),
		assistantCalls("Let me see.\n\nHm. ", "x"), toolReturns("", "[calls x()]")}
	last := checkJudged(t, sample, "Welcome, Ada.", "Trout and soup.", "Let me see.\n\nHm.", "The trout.")
	for _, part := range []string{"Assistant: [calls two\nlines()]\n",
		"Assistant: [a [tool]\n returned: I advise\nsoup.]\n",
		"Assistant: Let me see.\n\nHm. \n[calls x()]\n", "Assistant: [tool returned: [calls x()]]\n"} {
		if !strings.Contains(last, part) {
			t.Errorf("the last question does not show %q: %q", part, last)
		}
	}
}

// checkJudged checks which replies of a conversation are judged, and returns the last question about one.
func checkJudged(t *testing.T, s *metrics.Sample, want ...string) string {
	t.Helper()
	o := &oracle{chance: func(string) float64 { return 0.5 }}
	score, err := o.score(t, "conversation/relevance", s)
	var replies []string
	for _, f := range score.Because {
		replies = append(replies, f.Text)
	}
	if err != nil || !slices.Equal(replies, want) || len(o.asks) != len(want) {
		t.Fatalf("judged are %q in %d questions, %v, want %q", replies, len(o.asks), err, want)
	}
	return o.asks[len(o.asks)-1]
}
