package prompts

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/assay-eval/assay/backend"
)

// shown is what the prompts of these tests are rendered with.
type shown struct{ Question, Answer string }

// askable is a prompt of two examples that takes shots.
func askable(t *testing.T, name, header string) *Prompt {
	t.Helper()
	p, err := Parse(name+".tmpl", "version: 1\nmax_tokens: 1\n"+header+`
--- system
Say Yes or No.
--- user
Q: built in
--- assistant
Yes
--- user
Q: {{.Question}}
A: {{.Answer}}
`)
	if err != nil {
		t.Fatal(err)
	}
	p.Example = Example{Data: shown{"<q>", "<a>"}, Verdict: true, Shot: func(s *Shot) (any, string) {
		return shown{s.Question, s.Answer}, s.Says("faithfulness")
	}}
	return p
}

func TestWithShots(t *testing.T) {
	plain, truth := askable(t, "plain", ""), askable(t, "truth", "yes: True\nno: False")
	other := askable(t, "other", "")
	other.Example.Shot = nil
	shots := []Shot{
		{Name: "1", Question: "one", Answer: "{{.Question}}", Verdicts: map[string]bool{"faithfulness": true}},
		{Name: "2", Question: "two", Verdicts: map[string]bool{"answer_relevance": true}},
		{Name: "3", Question: "three", Answer: "no", Verdicts: map[string]bool{"faithfulness": false}},
	}
	asked := []*Prompt{plain, truth, other, plain}
	set, taught, err := Set{}.WithShots(shots, asked)
	if err != nil {
		t.Fatal(err)
	}
	want := []Taught{{"plain", 2, 1, 1, true}, {"truth", 2, 1, 1, true}}
	if !slices.Equal(taught, want) {
		t.Errorf("taught %+v, want %+v", taught, want)
	}
	messages, err := set.For(truth).Render(shown{"mine", "that"})
	if err != nil {
		t.Fatal(err)
	}
	// In their order, before the question and in place of the example that was there; text of a row is no template.
	if want := []backend.Message{
		{Role: backend.System, Text: "Say Yes or No."},
		{Role: backend.User, Text: "Q: one\nA: {{.Question}}"}, {Role: backend.Assistant, Text: "True"},
		{Role: backend.User, Text: "Q: three\nA: no"}, {Role: backend.Assistant, Text: "False"},
		{Role: backend.User, Text: "Q: mine\nA: that"},
	}; !reflect.DeepEqual(messages, want) {
		t.Errorf("it asks %+v, want %+v", messages, want)
	}
	if set.For(other) != other {
		t.Error("a prompt that takes no examples was changed")
	}
	if got := set.For(plain).Identity(); got.Version != "1 with 2 examples" || got.Digest == plain.Digest {
		t.Errorf("the identity is %+v", got)
	}

	// The digest tells the order, the verdicts and where one message ends.
	digests := map[string]bool{plain.Digest: true}
	flipped := Shot{Name: "1", Question: "one", Answer: "{{.Question}}", Verdicts: map[string]bool{"faithfulness": false}}
	for _, list := range [][]Shot{shots, {shots[2], shots[0]}, {flipped, shots[2]}, {shots[0]}} {
		set, _, err := Set{}.WithShots(list, asked)
		if err != nil {
			t.Fatal(err)
		}
		digests[set.For(plain).Digest] = true
	}
	if len(digests) != 5 {
		t.Errorf("%d digests of 5 different prompts", len(digests))
	}
}

// The examples go into the user's own text of a prompt, too.
func TestWithShotsInOwnPrompts(t *testing.T) {
	builtin := askable(t, "plain", "")
	own, err := Load(fstest.MapFS{"plain.tmpl": {Data: []byte(
		"version: mine\nmax_tokens: 1\nyes: Oui\nno: Non\n--- user\n{{.Question}} ({{.Answer}})\n")}}, []*Prompt{builtin})
	if err != nil {
		t.Fatal(err)
	}
	with, _, err := own.WithShots([]Shot{{Question: "q", Answer: "a", Verdicts: map[string]bool{"faithfulness": true}}},
		[]*Prompt{builtin})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := with.For(builtin).Render(shown{"x", "y"})
	if want := []backend.Message{{Role: backend.User, Text: "q (a)"}, {Role: backend.Assistant, Text: "Oui"},
		{Role: backend.User, Text: "x (y)"}}; err != nil || !reflect.DeepEqual(messages, want) {
		t.Errorf("%+v %v, want %+v", messages, err, want)
	}
	if messages, _ := own.For(builtin).Render(shown{"x", "y"}); len(messages) != 1 {
		t.Errorf("the set that it was made of was changed: %+v", messages)
	}
}

func TestWithShotsRefuses(t *testing.T) {
	p := []*Prompt{askable(t, "plain", "")}
	yes := map[string]bool{"faithfulness": true}
	if _, _, err := (Set{}).WithShots([]Shot{{Question: "q"}}, p); !errors.Is(err, ErrNoShot) {
		t.Errorf("%v, want ErrNoShot for rows without a label", err)
	}
	long := Shot{Name: "row-7", Question: strings.Repeat("q", maxShot), Verdicts: yes}
	if _, _, err := (Set{}).WithShots([]Shot{long}, p); err == nil || !strings.Contains(err.Error(), "row-7") {
		t.Errorf("%v, want a word on the long row-7", err)
	}
	many := slices.Repeat([]Shot{{Question: "q", Verdicts: yes}}, MaxShots)
	if _, _, err := (Set{}).WithShots(many, p); err != nil {
		t.Errorf("%d examples: %v", MaxShots, err)
	}
	if _, _, err := (Set{}).WithShots(append(many, many[0]), p); err == nil {
		t.Error("one example too many is shown")
	}
}
