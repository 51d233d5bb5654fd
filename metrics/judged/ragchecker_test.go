package judged

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// tableOf makes a table of patterns: y for a claim that is borne out. Each claim has a mark in opposite and one
// string of marks in contexts, a mark a context.
func tableOf(answer string, byContexts []string, reference string, referenceByContexts []string) *claimTable {
	claims := func(opposite string, contexts []string) []claim {
		var list []claim
		for i, mark := range opposite {
			c := claim{text: string(rune('a' + i)), opposite: ask.Verdict{Given: true, Yes: mark == 'y'}}
			for _, mark := range contexts[i] {
				c.contexts = append(c.contexts, ask.Verdict{Given: true, Yes: mark == 'y'})
			}
			list = append(list, c)
		}
		return list
	}
	t := &claimTable{answer: claims(answer, byContexts), reference: claims(reference, referenceByContexts)}
	for range t.reference[0].contexts {
		t.contexts = append(t.contexts, "text")
	}
	return t
}

// allChecks are those of RAGChecker's paper.
func allChecks() []claimCheck { return slices.Concat(ragChecks(), noiseChecks()) }

// nameOf is the name that RAGChecker has for a check.
func nameOf(c claimCheck) string {
	for _, name := range append([]string{c.name}, c.aliases...) {
		if short, ok := strings.CutPrefix(name, "ragchecker/"); ok {
			return short
		}
	}
	return c.name
}

// valuesOf are the values of all RAGChecker metrics by the end of their names.
func valuesOf(t *testing.T, table *claimTable) map[string]float64 {
	values := make(map[string]float64)
	for _, c := range allChecks() {
		score, err := c.score(table)
		if errors.Is(err, metrics.ErrNotApplicable) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		values[nameOf(c)] = score.Value
	}
	return values
}

// The verdicts and values are those that RAGChecker's repository shows for its two examples, in
// examples/checking_outputs.json.
func TestRAGCheckerExamples(t *testing.T) {
	check := func(what string, table *claimTable, want map[string]float64) {
		t.Helper()
		got := valuesOf(t, table)
		for _, c := range allChecks() {
			name := nameOf(c)
			value, ok := want[name]
			if !ok || math.Abs(got[name]-value) > 1e-15 {
				t.Errorf("%s: %s is %v, want %v", what, name, got[name], value)
			}
		}
	}
	none := "...."
	check("the longest river", tableOf(
		".yyyyyyyy..", []string{".y..", none, none, none, none, none, ".y..", none, "y..y", "...y", none},
		"yyyyyy..yy.....y....yy", []string{".y..", none, none, "y...", "yy..", "y..y", none, none, none, none, none,
			none, none, none, none, none, none, none, none, none, none, ".y.."}),
		map[string]float64{
			"precision": 0.7272727272727273, "recall": 0.5, "f1": 0.5925925925925926,
			"claim_recall": 0.22727272727272727, "context_precision": 0.75, "context_utilization": 1,
			"noise_relevant": 0.18181818181818182, "noise_irrelevant": 0,
			"hallucination": 0.09090909090909091, "self_knowledge": 0.5454545454545454,
			"faithfulness": 0.36363636363636365,
		})
	check("the flag", tableOf(
		".yyyy", []string{".y.", ".yy", ".yy", "y.y", ".yy"},
		"yy.y.yyy", []string{".y.", ".yy", ".y.", ".yy", "..y", "y.y", "yyy", ".yy"}),
		map[string]float64{
			"precision": 0.8, "recall": 0.75, "f1": 0.7741935483870969,
			"claim_recall": 1, "context_precision": 1, "context_utilization": 0.75,
			"noise_relevant": 0.2, "noise_irrelevant": 0,
			"hallucination": 0, "self_knowledge": 0, "faithfulness": 1,
		})
}

// Each claim of an answer is right, noise of one kind, or made up; and it is faithful, made up or known.
func TestClaimsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	marks := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(".y"[rng.IntN(2)])
		}
		return b.String()
	}
	for range 500 {
		contexts := 1 + rng.IntN(4)
		lists := func(n int) (list []string) {
			for range n {
				list = append(list, marks(contexts))
			}
			return list
		}
		answer, reference := 1+rng.IntN(6), 1+rng.IntN(6)
		table := tableOf(marks(answer), lists(answer), marks(reference), lists(reference))
		v := valuesOf(t, table)
		for _, sum := range []float64{
			v["precision"] + v["noise_relevant"] + v["noise_irrelevant"] + v["hallucination"],
			v["faithfulness"] + v["hallucination"] + v["self_knowledge"],
		} {
			if math.Abs(sum-1) > 1e-12 {
				t.Fatalf("%+v: the shares add up to %v", v, sum)
			}
		}
		if (v["claim_recall"] > 0) != (v["context_precision"] > 0) {
			t.Fatalf("%+v: claims without relevant contexts, or the other way round", v)
		}
		for name, value := range v {
			if !(value >= 0 && value <= 1) {
				t.Fatalf("%s is %v", name, value)
			}
		}
		slices.Reverse(table.answer) // order does not matter
		if again := valuesOf(t, table); again["noise_relevant"] != v["noise_relevant"] || again["f1"] != v["f1"] {
			t.Fatalf("%+v is %+v in another order", v, again)
		}
	}
}

// harbour is a sample whose answer has a claim of every kind, and a blank context.
func harbour() metrics.Sample {
	return metrics.Sample{
		ID:       "one",
		Question: "What is there to know about the ferry?",
		Answer:   "A daily red ferry under Mara Lind leaves from the blue pier for 14 euros.",
		Contexts: []string{"You pay 14 euros, any day of the week.", "Paint the pier blue.",
			"Sundays there is a ferry.", " "},
		References: []string{
			"Mara Lind's car ferry costs 14 euros and goes on Sundays."},
	}
}

// harbourScript knows which claim is in which text.
func harbourScript() *script {
	claims := map[string][]string{ // by the words that a text must hold for it
		"A daily red": {"The ferry costs 14 euros.", "The ferry sails daily.", "The pier is blue.", "The ferry is red.",
			"Mara Lind is the captain."},
		"Mara Lind's": {"The ferry costs 14 euros.", "The ferry sails on Sundays.", "Mara Lind is the captain.",
			"The ferry carries cars."},
	}
	clues := map[string][]string{ // of a claim: the words of the texts that bear it out
		"The ferry costs 14 euros.":   {"14 euros"},
		"The ferry sails daily.":      {"any day", "daily"},
		"The pier is blue.":           {"pier blue", "blue pier"},
		"The ferry is red.":           {"red ferry"},
		"Mara Lind is the captain.":   {"Mara Lind"},
		"The ferry sails on Sundays.": {"Sundays"},
		"The ferry carries cars.":     {"car ferry"},
	}
	return &script{
		statements: func(text string) string {
			for start, list := range claims {
				if strings.HasPrefix(text, start) {
					return count(list...)
				}
			}
			return "No statements."
		},
		verdicts: func(text string, statements []string) string {
			var lines []string
			for _, s := range statements {
				_, claim, _ := strings.Cut(s, ". ")
				found := slices.ContainsFunc(clues[claim], func(clue string) bool {
					return strings.Contains(text, clue)
				})
				lines = append(lines, map[bool]string{true: "Yes", false: "No"}[found])
			}
			return count(lines...)
		},
	}
}

// harbourValues are worked out by hand. Of the answer's five claims, the price and the captain are right; the
// price and the daily service are in context 1, which is relevant for its price; the blue pier is in context 2,
// which is not; nothing says red. Of the reference's four, contexts 1 and 3 hold one each; the price and the
// captain are in the answer.
func harbourValues() map[string]float64 {
	return map[string]float64{
		"ragchecker/precision": 0.4, "ragchecker/recall": 0.5, "ragchecker/f1": 4.0 / 9,
		"ragchecker/claim_recall": 0.5, "ragchecker/context_precision": 0.5, "ragchecker/context_utilization": 0.5,
		"ragchecker/noise_relevant": 0.2, "ragchecker/noise_irrelevant": 0.2,
		"ragchecker/hallucination": 0.2, "ragchecker/self_knowledge": 0.2, "ragchecker/faithfulness": 0.6,
		"noise_sensitivity/relevant": 0.2, "noise_sensitivity/irrelevant": 0.2,
		"answer_correctness/claims_precision": 0.4, "answer_correctness/claims_recall": 0.5,
		"answer_correctness/claims_f1":  4.0 / 9,
		"answer_correctness/claims_f2":  5 * 0.2 / (4*0.4 + 0.5),
		"answer_correctness/claims_f05": 1.25 * 0.2 / (0.25*0.4 + 0.5),
		// 2 right and 3 wrong claims of the answer, 2 of the reference missing: 4/9, rounded.
		"answer_correctness/ragas_factual": 0.44,
		"context_recall/claims":            0.5,
		"faithfulness/claims":              0.6,
	}
}

func TestClaimMetrics(t *testing.T) {
	for name, want := range harbourValues() {
		got := harbourScript().run(t, name, 0, harbour())
		if got.Score == nil || math.Abs(got.Score.Value-want) > 1e-12 {
			t.Errorf("%s: %+v, want %v", name, got, want)
		}
	}
	where := make(map[string]string)
	for _, f := range harbourScript().run(t, "ragchecker/noise_relevant", 0, harbour()).Score.Because {
		where[f.Text] = f.Where
	}
	for text, want := range map[string]string{
		"The ferry costs 14 euros.": "reference, context 1 (relevant)",
		"The ferry sails daily.":    "context 1 (relevant)",
		"The pier is blue.":         "context 2 (irrelevant)",
		"The ferry is red.":         "nowhere",
		"Mara Lind is the captain.": "reference",
	} {
		if where[text] != want {
			t.Errorf("%q is found %q, want %q", text, where[text], want)
		}
	}
}

// All metrics that look at claims share their questions: each is put to the model once.
func TestClaimMetricsShareCalls(t *testing.T) {
	ms := metrictest.Select(t, Metrics(), append(slices.Sorted(maps.Keys(harbourValues())),
		"answer_correctness/ragas")...)
	store, err := cache.Open(filepath.Join(t.TempDir(), "cache.db"), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	fake := &backendtest.Fake{Reply: harbourScript().reply}
	judge := cache.Wrap(fake, store, cache.Use, nil)
	keys := make(map[string]bool)
	asked := 0
	sample := harbour()
	err = metrics.Run(t.Context(), func(yield func(*metrics.Sample, error) bool) { yield(&sample, nil) }, ms,
		metrics.Models{Roles: metrics.Roles{backend.Judge: judge, backend.Embedder: judge}}, metrics.Options{},
		func(r metrics.Result) error {
			if r.Score == nil {
				t.Errorf("%s: %s", r.Metric, r.Error)
			}
			asked += len(r.Calls)
			for _, key := range r.Calls {
				keys[key] = true
			}
			return nil
		})
	if err := errors.Join(err, judge.Close(), store.Close()); err != nil {
		t.Fatal(err)
	}
	// The statements of two texts; the claims of each by the other; both by each of the three contexts that are
	// not blank; and both by all contexts together.
	const want = 2 + 2 + 2*3 + 2
	if n := fake.Stats().Generates; n != want || len(keys) != want+2 {
		t.Errorf("%d calls and %d keys, want %d, and two more keys of texts embedded", n, len(keys), want)
	}
	if asked < 5*want {
		t.Errorf("the metrics asked only %d times: nothing was shared", asked)
	}
}

// Of several references, the one that gives the best value counts.
func TestBestOfReferences(t *testing.T) {
	check := func(name string, references []string, want float64, note string) {
		t.Helper()
		sample := harbour()
		sample.References = references
		got := harbourScript().run(t, name, 0, sample)
		if got.Score == nil || got.Score.Value != want {
			t.Errorf("%s: %+v, want %v", name, got, want)
			return
		}
		last := got.Score.Because[len(got.Score.Because)-1]
		if strings.HasPrefix(last.Text, "by reference") != (note != "") || !strings.HasPrefix(last.Text, note) {
			t.Errorf("%s: the last finding is %+v, want %q", name, last, note)
		}
	}
	good, poor := harbour().References[0], "Mara Lind's"
	check("ragchecker/precision", []string{poor, " ", good}, 0.4, "by reference 3 of 3") // as the dataset numbers them
	check("ragchecker/precision", []string{good, poor}, 0.4, "by reference 1 of 2")
	check("ragchecker/precision", []string{"", good}, 0.4, "")
	check("ragchecker/hallucination", []string{"Nobody knows.", poor}, 0.2, "by reference 2 of 2")
	check("ragchecker/recall", []string{"I do not know.", good}, 0.5, "by reference 2 of 2")
	check("context_recall/claims", []string{"I do not know.", good}, 0.5, "by reference 2 of 2")
}

// Where there is nothing to count, there is no score; but an answer that says nothing has missed everything.
func TestClaimMetricsNotApplicable(t *testing.T) {
	silent, unknown, elsewhere := harbour(), harbour(), harbour()
	silent.Answer = "I cannot tell."
	unknown.References = []string{"Nobody knows."}
	elsewhere.Contexts = []string{"Bread keeps well."}
	check := func(name string, sample metrics.Sample, want string) {
		t.Helper()
		got := harbourScript().run(t, name, 0, sample)
		if got.Kind != metrics.NotApplicable || !strings.Contains(got.Error, want) {
			t.Errorf("%s: %+v, want not applicable: %s", name, got, want)
		}
	}
	for _, name := range []string{"precision", "noise_relevant", "noise_irrelevant", "hallucination", "self_knowledge",
		"faithfulness"} {
		check("ragchecker/"+name, silent, "no statement in the answer")
	}
	for _, name := range []string{"recall", "f1", "claim_recall", "context_precision", "context_utilization",
		"noise_relevant", "noise_irrelevant"} {
		check("ragchecker/"+name, unknown, "no statement in the reference")
	}
	check("context_recall/claims", unknown, "no statement in the reference")
	check("answer_correctness/ragas", unknown, "no statement in the reference")
	check("answer_correctness/ragas_factual", unknown, "no statement in the reference")
	check("ragchecker/context_utilization", elsewhere, "support no claim of the reference")

	both := silent
	both.References = unknown.References
	check("ragchecker/f1", both, "no statement in the reference")
	for _, name := range []string{"ragchecker/f1", "answer_correctness/claims_f2", "answer_correctness/ragas_factual"} {
		got := harbourScript().run(t, name, 0, silent)
		if got.Score == nil || got.Score.Value != 0 || len(got.Score.Because) != 1 ||
			got.Score.Because[0].Kind != "note" {
			t.Errorf("%s of an answer that claims nothing: %+v, want 0", name, got)
		}
	}
	// Its recall, though, is asked for: it need not be 0.
	got := harbourScript().run(t, "ragchecker/recall", 0, silent)
	if got.Score == nil || got.Score.Value != 0 || len(got.Score.Because) != 4 {
		t.Errorf("the recall of an answer that claims nothing: %+v", got)
	}
	none := harbour()
	none.References = nil
	if _, err := byReference(&none, false, nil); !errors.Is(err, metrics.ErrNotApplicable) {
		t.Errorf("without references: %v", err)
	}
}

// A claim that stays without a verdict is an error and not a smaller denominator; one that the list passes
// over is asked about alone.
func TestClaimWithoutVerdict(t *testing.T) {
	s := harbourScript()
	whole := s.verdicts
	s.verdicts = func(text string, statements []string) string {
		lines := strings.SplitAfter(whole(text, statements), "\n")
		return strings.Join(lines[:len(lines)-2], "") // not the last one
	}
	s.verdict = func(text, statement string) string { return "Well, " + strings.Repeat("hm, ", 300) }
	got := s.run(t, "ragchecker/precision", 0, harbour())
	if got.Kind != metrics.BadReply || !strings.Contains(got.Error, "Mara Lind is the captain.") ||
		!strings.Contains(got.Error, "by the reference") {
		t.Errorf("%+v", got)
	}
	s.verdict = func(text, statement string) string { return "Yes" }
	got = s.run(t, "ragchecker/precision", 0, harbour())
	if got.Score == nil || got.Score.Value != 0.4 || len(got.Score.Because) != 5 {
		t.Errorf("%+v", got)
	}
}

// A context that does not fit is read in windows; what one of them holds, the context holds.
func TestClaimsOfALongContext(t *testing.T) {
	sample := harbour()
	sample.Contexts = []string{strings.Repeat("Nothing is said here about it at all. ", 200) + "Paint the pier blue. " +
		strings.Repeat("Nor here is it. ", 200)}
	got := harbourScript().run(t, "ragchecker/faithfulness", 1000, sample)
	if got.Score == nil || got.Score.Value != 0.2 || len(got.Calls) < 4 {
		t.Errorf("%+v", got)
	}
}
