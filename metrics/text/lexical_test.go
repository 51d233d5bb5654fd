package text

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
)

// lexicalOf scores an answer against references by one of the lexical metrics or unitxt's.
func lexicalOf(t *testing.T, name, answer string, references ...string) metrics.Score {
	t.Helper()
	score, err := tryLexical(t, name, &metrics.Sample{ID: "one", Question: answer, Answer: answer,
		References: references, Contexts: references})
	if err != nil {
		t.Fatalf("%s of %q: %v", name, answer, err)
	}
	return score
}

func tryLexical(t *testing.T, name string, s *metrics.Sample) (metrics.Score, error) {
	t.Helper()
	all := Metrics()
	i := slices.IndexFunc(all, func(m metrics.Metric) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("no metric %s", name)
	}
	return all[i].Try(t.Context(), metrics.Models{}, s)
}

// checkLexical compares a value with what it should be, to the digits given.
func checkLexical(t *testing.T, name string, want float64, answer string, references ...string) {
	t.Helper()
	if got := lexicalOf(t, name, answer, references...); math.Abs(got.Value-want) > 5e-5 {
		t.Errorf("%s of %q against %q = %.5f, want %.5f; %+v", name, answer, references, got.Value, want, got.Because)
	}
}

// refuseLexical sees that a metric does not apply.
func refuseLexical(t *testing.T, name, answer string, references ...string) {
	t.Helper()
	s := metrics.Sample{ID: "one", Question: answer, Answer: answer, References: references, Contexts: references}
	if got, err := tryLexical(t, name, &s); !errors.Is(err, metrics.ErrNotApplicable) {
		t.Errorf("%s of %q against %q = %+v, %v; want: not applicable", name, answer, references, got, err)
	}
}

func TestMatch(t *testing.T) {
	check := func(method string, want float64, answer string, references ...string) {
		t.Helper()
		checkLexical(t, "answer_correctness/"+method, want, answer, references...)
	}
	check("exact_match", 1, "Paris", "Lyon", "Paris")
	check("exact_match", 0, "Paris.", "Paris")
	check("exact_match", 0, "paris", "Paris")

	check("exact_match_normalised", 1, "The  U.S.!", "US")
	check("exact_match_normalised", 1, "don’t", "Don't")
	check("exact_match_normalised", 1, "The The", "the the")
	check("exact_match_normalised", 0, "The The", "the")
	check("exact_match_normalised", 0, "New York City", "New York")
	check("exact_match_normalised", 1, "北京。", "北京")
	refuseLexical(t, "answer_correctness/exact_match_normalised", "Paris", "...", " ")
	check("exact_match_normalised", 1, "Paris", "...", "paris")

	check("exact_match_ascii", 1, "The  U.S.!", "US")
	check("exact_match_ascii", 0, "don’t", "Don't")
	check("exact_match_ascii", 0, "北京。", "北京")
	check("exact_match_ascii", 1, "The", "a") // the script's quirk: nothing is left of either

	check("contains", 1, "It is Paris.", "Lyon", "Paris")
	check("contains", 1, "Parisian", "Paris")
	check("contains", 0, "It is PARIS.", "Paris")
	check("contains_normalised", 1, "It is PARIS, France.", "paris, france")
	check("contains_normalised", 0, "It is PARIS, France.", "paris france")
	check("contains_normalised", 0, "Parisian", "Paris")
	check("contains_normalised", 0, "France, Paris", "Paris France")
	// By DPR's SimpleTokenizer: articles and punctuation are tokens, what is joined by none is one, and accents are
	// compared decomposed.
	check("contains_normalised", 0, "It is Paris.", "the Paris")
	check("contains_normalised", 1, "They are the Beatles.", "The Beatles")
	check("contains_normalised", 0, "They are Beatles.", "The Beatles")
	check("contains_normalised", 1, "The U.S. won.", "u.s.")
	check("contains_normalised", 0, "The US won.", "U.S.")
	check("contains_normalised", 1, "A well-known man", "known")
	check("contains_normalised", 1, "At the Cafe\u0301.", "caf\u00e9")
	check("contains_normalised", 1, "首都是 北京。", "北京")
	check("contains_normalised", 0, "首都是北京。", "北京")
	check("contains_normalised", 1, "العاصمة هي الرياض، نعم", "هي الرياض")
}

// Of several references the best counts, the first of equals, and the findings say which it was.
func TestBestReference(t *testing.T) {
	got := lexicalOf(t, "answer_correctness/token_f1", "red fox", "blue fox", " ", "the red fox", "red fox")
	last := got.Because[len(got.Because)-1]
	if got.Value != 1 || last.Kind != "reference" || last.Text != "the red fox" || last.Where != "reference 3 of 4" {
		t.Errorf("%+v", got)
	}
	got = lexicalOf(t, "answer_correctness/exact_match", "red", "blue", "red")
	if f := got.Because; len(f) != 1 || f[0].Text != "red" || !*f[0].Verdict || f[0].Where != "reference 2 of 2" {
		t.Errorf("%+v", got)
	}
}

// Findings show what was found and what was not, and stay short.
func TestTokenFindings(t *testing.T) {
	got := lexicalOf(t, "answer_correctness/token_recall", "a red fox", "The red dog, the red hen")
	want := []string{"1 words in common, of 2 in the answer and 4 in the reference", "red", "dog, red, hen"}
	for i, f := range got.Because {
		if f.Text != want[i] || i > 0 && (f.Kind != "tokens" || *f.Verdict != (i == 1)) {
			t.Errorf("finding %d: %+v, want %q", i, f, want[i])
		}
	}
	if len(got.Because) != len(want) || got.Value != 0.25 {
		t.Errorf("%+v", got)
	}
	long := strings.Repeat("word ", 10_000)
	for _, m := range Metrics() {
		size := 0
		for _, f := range lexicalOf(t, m.Name, long[:2000], long[:1000]).Because {
			size += len(f.Text)
		}
		if size > 1500 {
			t.Errorf("%s: the findings have %d bytes", m.Name, size)
		}
	}
}

// What each metric promises, on texts of several scripts and on rubbish.
func FuzzLexical(f *testing.F) {
	f.Add("The quick brown fox jumps over the lazy dog", "A quick brown dog jumps on the log.")
	f.Add("It is Paris. Yes", "Paris is the capital of France. It lies on the Seine.")
	f.Add("北京是中国的首都。", "中国的首都是北京")
	f.Add("東京タワー", "タワー東京")
	f.Add("กรุงเทพฯ เป็นเมืองหลวง", "เมืองหลวงคือกรุงเทพฯ")
	f.Add("العاصمة هي الرياض، نعم؟", "الرياض عاصمة السعودية")
	f.Add("भारत की राजधानी दिल्ली है।", "दिल्ली")
	f.Add("a", "the")
	f.Add("...", "?!")
	f.Add("\xff\xfe", "\xffx")
	f.Add("word\nword word", "word word\n\nword")
	f.Add(". ", "x. . ")
	all := Metrics()
	f.Fuzz(func(t *testing.T, answer, reference string) {
		if len(answer)+len(reference) > 2000 || metrics.Blank(answer) || metrics.Blank(reference) {
			return
		}
		for _, m := range all {
			score := func(answer, reference string) (float64, bool) {
				s := metrics.Sample{Question: answer, Answer: answer, References: []string{reference},
					Contexts: []string{reference}}
				if strings.HasPrefix(m.Name, "answer_relevance/") {
					s.Question = reference
				}
				got, err := m.Try(t.Context(), metrics.Models{}, &s)
				if err != nil && !errors.Is(err, metrics.ErrNotApplicable) {
					t.Fatalf("%s of %q and %q: %v", m.Name, answer, reference, err)
				}
				return got.Value, err == nil
			}
			forth, ok := score(answer, reference)
			back, okBack := score(reference, answer)
			if symmetric(m.Name) && ok && okBack && math.Abs(forth-back) > 1e-12 {
				t.Errorf("%s of %q and %q is %v, and the other way round %v", m.Name, answer, reference, forth, back)
			}
			if same, ok := score(answer, answer); ok && same < 1 && perfectWhenEqual(m.Name) {
				t.Errorf("%s of %q and itself is %v", m.Name, answer, same)
			}
		}
	})
}

// symmetric reports whether answer and reference may change places. Jaro matches from the left of one text,
// METEOR and chrF weigh recall, BLEU punishes only brevity.
func symmetric(name string) bool {
	dimension, method, _ := strings.Cut(name, "/")
	switch strings.TrimSuffix(method, "_ascii") {
	case "rouge1", "rouge2", "rougeL", "gleu", "levenshtein", "hamming", "token_f1", "exact_match":
		return true
	case "exact_match_normalised":
		return dimension == "answer_correctness"
	}
	return false
}

// perfectWhenEqual reports whether a text has 1 with itself. METEOR has a penalty for one chunk, Ragas' BLEU
// looks at the first sentence, and the originals of ASCII may have nothing to compare.
func perfectWhenEqual(name string) bool {
	switch {
	case strings.HasSuffix(name, "_ascii") && !strings.HasSuffix(name, "exact_match_ascii"),
		strings.HasSuffix(name, "_max"):
		return false
	}
	return name != "answer_similarity/meteor" && name != "answer_similarity/bleu_ragas"
}

// Every metric of the family says all that a reader needs, asks no model and stays within its range.
func TestLexicalMetrics(t *testing.T) {
	names := make(map[string]bool)
	for _, m := range Metrics() {
		if names[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		names[m.Name] = true
		if m.Calls != "none" || m.Asks != nil || m.Min != 0 || m.Max != 1 || m.LowerIsBetter {
			t.Errorf("%+v", m)
		}
		if m.Doc == "" || strings.HasSuffix(m.Doc, ".") || m.Formula == "" || m.Source == "" || m.Needs == 0 {
			t.Errorf("%s: %q, %q, %q, %v", m.Name, m.Doc, m.Formula, m.Source, m.Needs)
		}
		if m.Default != (m.Name == "answer_correctness/token_recall") {
			t.Errorf("%s: default is %v", m.Name, m.Default)
		}
	}
}
