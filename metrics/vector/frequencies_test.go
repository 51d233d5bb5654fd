package vector

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// referencing yields a sample for each text, with the references in it, separated by bars.
func referencing(texts ...string) iter.Seq2[*metrics.Sample, error] {
	return func(yield func(*metrics.Sample, error) bool) {
		for i, text := range texts {
			if !yield(&metrics.Sample{ID: fmt.Sprint(i), References: strings.Split(text, "|")}, nil) {
				return
			}
		}
	}
}

func counted(t *testing.T, embedder backend.Backend, texts ...string) *Frequencies {
	t.Helper()
	f, err := CountReferences(t.Context(), referencing(texts...),
		metrics.Models{Roles: metrics.Roles{backend.Embedder: embedder}}, metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCountReferences(t *testing.T) {
	p := &planar{words: map[string]float64{"a": 0, "b": 90, "c": 60, "d": 30}}
	check := func(token string, f *Frequencies, in, of int, idf float64) {
		t.Helper()
		if f.in[token] != in || f.References != of || math.Abs(f.idf(token)-idf) > 1e-12 {
			t.Errorf("%q is in %d of %d, idf %v; want %d of %d, %v", token, f.in[token], f.References, f.idf(token), in,
				of, idf)
		}
	}
	// Three references: a is in all, b in two, though it stands thrice, c in one and d in none.
	f := counted(t, p, "a b b", "a", " |a b c")
	check(" a", f, 3, 3, 0)
	check(" b", f, 2, 3, math.Log(4.0/3))
	check(" c", f, 1, 3, math.Log(4.0/2))
	check(" d", f, 0, 3, math.Log(4))
	if f.Unread != 0 {
		t.Errorf("%d samples are not counted", f.Unread)
	}

	// A sample that the model cannot read is not counted, whichever of its references it is; one without any is
	// nothing to count.
	f = counted(t, p, "a", "a|b x", "", "b a")
	check(" a", f, 2, 2, 0)
	check(" b", f, 1, 2, math.Log(3.0/2))
	if f.Unread != 1 {
		t.Errorf("%d samples are unread, want 1", f.Unread)
	}

	// The digest is of the counts: not of the order of rows, but of everything else.
	digest := counted(t, p, "a b", "c", "c").Digest()
	if again := counted(t, p, "c", "b a", "c").Digest(); again != digest || len(digest) != len("sha256:")+64 {
		t.Errorf("%s and, in another order, %s", digest, again)
	}
	for _, other := range [][]string{{"a b", "c"}, {"a b", "c", "d"}, {"a b", "c", "c", "c"}, {"a b c", "c", "c"},
		{"a b", "c|c"}, {"a b d", "c", "c"}} {
		if got := counted(t, p, other...).Digest(); (got == digest) != (strings.Join(other, "|") == "a b|c|c") {
			t.Errorf("%q has the digest of other counts, or equal counts have two", other)
		}
	}

	// A text that is read in windows is one reference still.
	long := strings.Repeat("The river carried seven grey boats. ", 30)
	f = counted(t, &backendtest.Fake{About: backend.Info{Context: 64}}, long, "A river.")
	check(" river", f, 2, 2, 0)
	check(" boats", f, 1, 2, math.Log(3.0/2))

	// A model that is away ends the count, and so does a dataset that cannot be read.
	away := &backendtest.Fake{}
	away.Close()
	if f, err := CountReferences(t.Context(), referencing("a"),
		metrics.Models{Roles: metrics.Roles{backend.Embedder: away}}, metrics.Options{}); f != nil ||
		!errors.Is(err, backend.ErrClosed) {
		t.Errorf("a closed model: %v, %v", f, err)
	}
	torn := errors.New("torn")
	samples := func(yield func(*metrics.Sample, error) bool) { yield(nil, torn) }
	if f, err := CountReferences(t.Context(), samples, metrics.Models{Roles: metrics.Roles{backend.Embedder: p}},
		metrics.Options{}); f != nil || !errors.Is(err, torn) {
		t.Errorf("a torn dataset: %v, %v", f, err)
	}
}

// Each reference is asked for once, in the requests that a metric makes too, so that its answers are shared.
func TestCountReferencesCalls(t *testing.T) {
	fake := &backendtest.Fake{}
	counted(t, fake, "one two|three", "four")
	if s := fake.Stats(); s.Encodes != 2 || s.Inputs != 3 || s.Calls() != 2 {
		t.Errorf("%+v", s)
	}
}

func TestBERTScoreIDF(t *testing.T) {
	p := &planar{words: map[string]float64{"a": 0, "b": 90, "c": 60, "d": 30, "back": 180}}
	const c30 = 0.8660254037844386 // cosine of 30 degrees; that of 60 is 0.5
	f := counted(t, p, "a c", "a b", "a")
	ln2, ln4 := math.Log(2), math.Log(4) // idf of b and c, which are in 1 of 3, and of d, which is in none; a has 0
	check := func(method, answer string, want float64, references ...string) metrics.Result {
		t.Helper()
		name := "answer_similarity/bertscore_" + method + "_idf"
		got := weighed(t, name, p, f, metrics.Sample{Answer: answer, References: references})
		switch {
		case got.Score == nil:
			t.Errorf("%s of %q: %s", name, answer, got.Error)
		case math.Abs(got.Score.Value-want) > 1e-6:
			t.Errorf("%s of %q against %q is %v, want %v", name, answer, references, got.Score.Value, want)
		}
		return got
	}
	// b and d of the answer are 30 degrees from c each; b is half as rare as d. Of the reference only c weighs, and
	// d is as near as b.
	precision := (ln2*c30 + ln4*c30) / (ln2 + ln4)
	check("precision", "b d", precision, "a c")
	check("recall", "b d", c30, "a c")
	check("f1", "b d", 2*precision*c30/(precision+c30), "a c")

	// d finds c at 30 degrees; c of the answer finds itself; a weighs nothing, though it is found.
	got := check("precision", "a c d", (ln2*1+ln4*c30)/(ln2+ln4), "a c")
	if b := got.Score.Because; len(b) != 4 || b[0].Text != "reference 1: precision 0.911, recall 1.000" ||
		b[1].Text != "d" || !strings.HasPrefix(b[1].Reason, "weighs 0.667: in 0 of 3 references") ||
		b[1].Where[:12] != "reference 1:" ||
		b[2].Text != "c" || *b[2].Value < 0.999 || b[3].Text != "a" ||
		b[3].Reason != "weighs 0.000: in 3 of 3 references of the dataset" {
		t.Errorf("findings are %+v", b)
	}
	check("recall", "back", -0.5, "a c") // c is 120 degrees from back
	check("f1", "back", 0, "a c")
	check("precision", "b", 1, "a", "b c") // the best of two references

	// Where the tokens that a mean is over are in every reference, there is no such mean; where only those of the
	// other side are, there is.
	refuse := func(method, answer string, references ...string) {
		t.Helper()
		got := weighed(t, "answer_similarity/bertscore_"+method+"_idf", p, f,
			metrics.Sample{Answer: answer, References: references})
		if got.Kind != metrics.NotApplicable || !strings.Contains(got.Error, "nothing weighs anything") {
			t.Errorf("%s of %q against %q: %+v", method, answer, references, got)
		}
	}
	refuse("recall", "b", "a", "a a")
	refuse("f1", "b", "a")
	refuse("precision", "a", "b")
	refuse("f1", "a", "b")
	got = check("precision", "b", 0, "a")
	if b := got.Score.Because; b[0].Text != "reference 1: precision 0.000" {
		t.Errorf("findings are %+v", b)
	}
	check("recall", "a", 0, "b")
	check("recall", "a", 0.5, "a", "a c") // the first is passed over
}

func TestMoverScoreIDF(t *testing.T) {
	p := &planar{words: map[string]float64{"a": 0, "b": 90, "c": 180, "d": 180, ".": 270}}
	f := counted(t, p, "a", "b", "b .") // a is in 1 of 3, b in 2, c and d in none
	a, b, c := math.Log(2), math.Log(4.0/3), math.Log(4)
	check := func(answer string, want float64, references ...string) {
		t.Helper()
		got := weighed(t, "answer_similarity/moverscore", p, f, metrics.Sample{Answer: answer, References: references})
		if got.Score == nil || math.Abs(got.Score.Value-1/(1+want)) > 1e-6 {
			t.Errorf("%q against %q: %+v, want a distance of %v", answer, references, got, want)
		}
	}
	check("a b", 0, "b a")
	check("a", math.Sqrt2, "b")
	check("a c", 2*c/(a+c), "a")            // all of c goes to a
	check("c b .", math.Sqrt2*b/(b+c), "d") // punctuation that is in one of three weighs nothing
	check("a", 0, "c", "a")
	// What the reference has more of a comes from where the answer has more.
	check("a b", math.Sqrt2*(b/(a+b)-b/(2*a+b)), "a a b")
	check("a b c", (math.Sqrt2*b+2*c)*(1/(a+b+c)-1/(2*a+b+c)), "a c a b")

	got := weighed(t, "answer_similarity/moverscore", p, f, metrics.Sample{Answer: "b a c",
		References: []string{"a b"}})
	if l := got.Score.Because; len(l) != 4 || l[1].Text != "c" || l[2].Text != "a" || l[3].Text != "b" ||
		l[2].Reason != "weighs 0.293: in 1 of 3 references of the dataset" || l[1].Where != `reference 1: "a"` ||
		*l[1].Value != -1 {
		t.Errorf("findings are %+v", l)
	}
	f = counted(t, p, "a", "a b", "a")
	for _, s := range []metrics.Sample{{Answer: "a", References: []string{"a b"}},
		{Answer: "a b", References: []string{"a .", "."}}} {
		if got := weighed(t, "answer_similarity/moverscore", p, f, s); got.Kind != metrics.NotApplicable ||
			!strings.Contains(got.Error, "nothing weighs anything") {
			t.Errorf("%+v: %+v", s, got)
		}
	}
	if got := weighed(t, "answer_similarity/moverscore", p, f,
		metrics.Sample{Answer: "b", References: []string{"."}}); !strings.Contains(got.Error, "no words") {
		t.Errorf("a reference without words: %+v", got)
	}
}

// With all frequencies equal, idf changes nothing.
func TestEqualFrequencies(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	words := strings.Fields("river stone cloud window garden letter winter bridge silver")
	text := func() string {
		var list []string
		for range 1 + rng.IntN(12) {
			list = append(list, words[rng.IntN(len(words))])
		}
		return strings.Join(list, " ")
	}
	fake := &backendtest.Fake{}
	all := &Frequencies{References: 12, in: map[string]int{}}
	for _, w := range words {
		all.in[w], all.in[" "+w] = 5, 5
	}
	for range 60 {
		s := metrics.Sample{Answer: text(), References: []string{text(), text()}}
		for name, plain := range map[string]string{"bertscore_precision_idf": "bertscore_precision",
			"bertscore_recall_idf": "bertscore_recall",
			"bertscore_f1_idf":     "bertscore_f1", "moverscore": "moverscore_uniform"} {
			for _, f := range []*Frequencies{all, {References: 3}} { // or no token is known
				got := weighed(t, "answer_similarity/"+name, fake, f, s)
				want := weighed(t, "answer_similarity/"+plain, fake, f, s)
				if got.Score == nil || math.Abs(got.Score.Value-want.Score.Value) > 1e-9 {
					t.Errorf("%s of %+v: %+v, want %v", name, s, got, want.Score.Value)
				}
			}
		}
	}
}

// A run whose metrics need frequencies does not begin without them.
func TestRunWithoutFrequencies(t *testing.T) {
	ms := metrictest.Select(t, Metrics(), "answer_similarity/cosine", "answer_similarity/moverscore")
	fake := &backendtest.Fake{}
	err := metrics.Run(t.Context(), referencing("a", "b", "c"), ms,
		metrics.Models{Roles: metrics.Roles{backend.Embedder: fake}}, metrics.Options{},
		func(metrics.Result) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "answer_similarity/moverscore needs counting tokens") ||
		fake.Stats().Calls() > 0 {
		t.Errorf("%v, after %d calls", err, fake.Stats().Calls())
	}
}
