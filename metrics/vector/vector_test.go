package vector

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// planar embeds in two dimensions: texts and words as directions.
type planar struct {
	backendtest.Fake
	texts map[string]float64 // the angle of each text, in degrees
	words map[string]float64 // and of each word; a text's tokens are its words
}

func direction(degrees float64) []float32 {
	return []float32{float32(math.Cos(degrees * math.Pi / 180)), float32(math.Sin(degrees * math.Pi / 180))}
}

func (p *planar) Encode(_ context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	answer := &backend.Encoding{Items: make([]backend.Encoded, len(req.Inputs))}
	for i, input := range req.Inputs {
		words, angles := []string{input.Text}, p.texts
		if req.Output == backend.TokenEmbeddings {
			words, angles = strings.Fields(input.Text), p.words
		}
		for _, word := range words {
			angle, ok := angles[word]
			if !ok {
				return nil, errors.New("no angle for " + word)
			}
			if req.Output == backend.TokenEmbeddings {
				answer.Items[i].Tokens = append(answer.Items[i].Tokens, " "+word)
			}
			answer.Items[i].Vectors = append(answer.Items[i].Vectors, direction(angle))
		}
	}
	return answer, nil
}

// embedded scores one sample by one metric of this family. Tokens that weigh by their idf do so as if a dataset had
// nine references, all of them with full stops and some with a river.
func embedded(t testing.TB, name string, embedder backend.Backend, sample metrics.Sample) metrics.Result {
	t.Helper()
	f := &Frequencies{References: 9, in: map[string]int{".": 9, "river": 2, " river": 4}}
	return weighed(t, name, embedder, f, sample)
}

// weighed scores one sample by one metric of this family, with frequencies given.
func weighed(t testing.TB, name string, embedder backend.Backend, f *Frequencies,
	sample metrics.Sample) metrics.Result {
	t.Helper()
	ms := metrictest.Select(t, Metrics(), name)
	models := metrics.Models{Roles: metrics.Roles{backend.Embedder: embedder}}
	if f != nil {
		models = models.Knowing(countReferences, f)
	}
	var got metrics.Result
	err := metrics.Run(t.Context(), func(yield func(*metrics.Sample, error) bool) { yield(&sample, nil) }, ms,
		models, metrics.Options{}, func(r metrics.Result) error { got = r; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// scores checks the value of a metric, worked out by hand.
func scores(t *testing.T, name string, embedder backend.Backend, sample metrics.Sample, want float64) metrics.Result {
	t.Helper()
	got := embedded(t, name, embedder, sample)
	switch {
	case got.Score == nil:
		t.Errorf("%s: %s %s", name, got.Kind, got.Error)
	case math.Abs(got.Score.Value-want) > 1e-6:
		t.Errorf("%s is %v, want %v", name, got.Score.Value, want)
	case len(got.Score.Because) == 0 || len(got.Calls) == 0:
		t.Errorf("%s: no evidence or no keys: %+v", name, got)
	}
	return got
}

func TestEmbeddingCosines(t *testing.T) {
	p := &planar{texts: map[string]float64{"answer": 0, "near": 60, "far": 120, "opposite": 180, "question": 30,
		"It is so.": 0, "It rains.": 90, "So it is.": 60, "Rain falls.": 100, "Nothing.": 210}}
	const near, far = 0.5, -0.5 // cosines with answer
	sample := metrics.Sample{Question: "question", Answer: "answer", References: []string{"far", " ", "near"},
		Contexts: []string{"near", "", "far"}}
	for _, name := range []string{"answer_similarity/cosine", "answer_correctness/cosine"} {
		got := scores(t, name, p, sample, near)
		if b := got.Score.Because; len(b) != 2 || *b[0].Value > far+1e-6 || b[1].Kind != "reference" ||
			b[1].Text != "near" {
			t.Errorf("findings are %+v", b)
		}
	}
	sample.References = []string{"opposite"}
	scores(t, "answer_similarity/cosine", p, sample, -1)
	sample.References = []string{"answer"}
	scores(t, "answer_similarity/cosine", p, sample, 1)
	scores(t, "answer_relevance/cosine", p, sample, math.Sqrt(3)/2)

	got := scores(t, "context_relevance/cosine", p, sample, (math.Sqrt(3)/2+0)/2) // 30 and 90 degrees away
	if b := got.Score.Because; len(b) != 2 || b[0].Kind != "passage" || b[0].Where != "context 1" ||
		b[1].Where != "context 3" {
		t.Errorf("findings are %+v", b)
	}
	scores(t, "context_relevance/cosine_max", p, sample, math.Sqrt(3)/2)

	sample = metrics.Sample{Answer: "It is so. It rains.", Contexts: []string{"Nothing. So it is.", "Rain falls."}}
	got = scores(t, "faithfulness/cosine", p, sample, (0.5+math.Cos(10*math.Pi/180))/2) // 60 and 10 degrees away
	if b := got.Score.Because; len(b) != 2 || b[0].Where != "context 1: So it is." ||
		b[1].Where != "context 2: Rain falls." {
		t.Errorf("findings are %+v", b)
	}
	if got := embedded(t, "faithfulness/cosine", p, metrics.Sample{Answer: "...",
		Contexts: []string{"Rain falls."}}); got.Kind != metrics.NotApplicable {
		t.Errorf("an answer without words: %+v", got)
	}
}

func TestBERTScore(t *testing.T) {
	p := &planar{words: map[string]float64{"a": 0, "b": 90, "c": 60, "d": 30, "back": 180}}
	const c30 = 0.8660254037844386 // cosine of 30 degrees; that of 60 is 0.5
	sample := metrics.Sample{Answer: "a b", References: []string{"c"}}
	const precision, recall = (0.5 + c30) / 2, c30 // c is nearer to b
	scores(t, "answer_similarity/bertscore_precision", p, sample, precision)
	scores(t, "answer_similarity/bertscore_recall", p, sample, recall)
	scores(t, "answer_correctness/bertscore_recall", p, sample, recall)
	got := scores(t, "answer_similarity/bertscore_f1", p, sample, 2*precision*recall/(precision+recall))
	if b := got.Score.Because; len(b) != 4 || b[1].Kind != "token" || b[1].Text != "c" ||
		b[1].Where != `answer 1: "b"` ||
		b[2].Text != "a" || math.Abs(*b[2].Value-0.5) > 1e-6 {
		t.Errorf("findings are %+v", b)
	}

	// Of several references the best counts, for each metric its own.
	sample.References = []string{"", "c", "a", "a b c"}
	scores(t, "answer_similarity/bertscore_precision", p, sample, 1) // of a b c
	scores(t, "answer_similarity/bertscore_recall", p, sample, 1)    // of a
	scores(t, "answer_similarity/bertscore_f1", p, sample, 2*(2+c30)/3/(1+
		(2+c30)/3)) // of a b c: 1 and (1 + 1 + c30) / 3
	sample.References = []string{"b a"}
	for _, name := range []string{"precision", "recall", "f1"} {
		scores(t, "answer_similarity/bertscore_"+name, p, sample, 1)
	}
	sample = metrics.Sample{Answer: "a", References: []string{"back"}}
	scores(t, "answer_similarity/bertscore_precision", p, sample, -1)
	scores(t, "answer_similarity/bertscore_f1", p, sample, 0)

	// Each token of the answer may find its match in another context.
	got = scores(t, "faithfulness/bertscore_k_precision", p,
		metrics.Sample{Answer: "a b", Contexts: []string{"c", " ", "d back"}}, c30)
	if b := got.Score.Because; len(b) != 2 || b[0].Where != `context 3: "d"` || b[1].Where != `context 1: "c"` {
		t.Errorf("findings are %+v", b)
	}
	// Or must find it in the same one.
	got = scores(t, "faithfulness/bertscore_k_precision_max", p,
		metrics.Sample{Answer: "a b", Contexts: []string{"b", " ", "d back", "c"}}, (0.5+c30)/2)
	if b := got.Score.Because; len(b) != 2 || b[0].Where != `context 3: "d"` || b[1].Where != `context 3: "d"` {
		t.Errorf("findings are %+v", b)
	}
}

func TestAlignment(t *testing.T) {
	p := &planar{words: map[string]float64{"a": 0, "b": 90, "c": 60, "d": 30, ".": 0}}
	const c30 = 0.8660254037844386
	check := func(answer string, want float64, contexts ...string) metrics.Result {
		t.Helper()
		return scores(t, "faithfulness/alignment", p, metrics.Sample{Answer: answer, Contexts: contexts}, want)
	}
	check("a", 1, "b", "a")
	check("a", 0, "b")         // neither the word nor anything like it
	check("a", c30/2, "b c d") // only something like it
	check("a a b a", 0.5, "a") // each distinct token once
	got := check("a b .", (1+(0+c30)/2)/2, "a", "c .")
	if b := got.Score.Because; len(b) != 2 || b[0].Text != "b" || b[0].Where != `context 2: "c"` ||
		math.Abs(*b[0].Value-c30/2) > 1e-6 {
		t.Errorf("findings are %+v", b)
	}
	for _, answer := range []string{"a", "b a", "a . b"} {
		scores(t, "answer_correctness/alignment", p, metrics.Sample{Answer: answer,
			References: []string{".", "b d", "a ."}}, 1)
	}
	got = scores(t, "answer_correctness/alignment", p, metrics.Sample{Answer: "a", References: []string{"d", "b a"}},
		(1+0)/2.0) // and c30/2 for d
	if b := got.Score.Because; len(b) != 3 || b[0].Text != "reference 2" || b[1].Text != "b" || b[2].Text != "a" {
		t.Errorf("findings are %+v", b)
	}
	if got := embedded(t, "answer_correctness/alignment", p,
		metrics.Sample{Answer: "a", References: []string{"."}}); got.Kind != metrics.NotApplicable {
		t.Errorf("a reference without words: %+v", got)
	}
	if got := embedded(t, "faithfulness/alignment", p, metrics.Sample{Answer: ".",
		Contexts: []string{"a"}}); got.Kind != metrics.NotApplicable {
		t.Errorf("an answer without words: %+v", got)
	}
}

func TestUnitCosine(t *testing.T) {
	for n := range 12 {
		a, b, want := make([]float32, n), make([]float32, n), 0.0
		for i := range n {
			a[i], b[i] = float32(i+1)/64, float32(3-i)/8
			want += float64(a[i]) * float64(b[i])
		}
		if got := unitCosine(a, b); got != max(-1, min(1, want)) {
			t.Errorf("of %d numbers: %v, want %v", n, got, want)
		}
	}
}

func TestMoverScore(t *testing.T) {
	p := &planar{words: map[string]float64{"a": 0, "b": 90, "c": 180, ".": 270}}
	check := func(answer string, want float64, references ...string) {
		t.Helper()
		scores(t, "answer_similarity/moverscore_uniform", p, metrics.Sample{Answer: answer, References: references},
			1/(1+want))
	}
	check("a b", 0, "b a")
	check("a", math.Sqrt2, "b")
	check("a", 2, "c")
	check("a", math.Sqrt2/2, "a b")       // half of it moves
	check("a a b", math.Sqrt2/3, "a b b") // where BERTScore would see no difference
	check("a a", (0+2.0)/2, "a c")
	check("a .", 0, "a") // punctuation weighs nothing
	check("a", 0, ".", "c", "a")
	if got := embedded(t, "answer_similarity/moverscore_uniform", p,
		metrics.Sample{Answer: "a", References: []string{"."}}); got.Kind != metrics.NotApplicable {
		t.Errorf("a reference without words: %+v", got)
	}
}

// TestTransport compares with the best of all ways, where each unit of mass goes somewhere of its own.
func TestTransport(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		n, m := 1+rng.IntN(3), 1+rng.IntN(3)
		if n*m > 6 {
			n, m = 2, 3
		}
		cost := randomCosts(rng, n, m)
		var units [][2]int // of mass: rows and columns
		for i := range n * m {
			units = append(units, [2]int{i / m, i / n})
		}
		best := math.Inf(1)
		permute(len(units), func(order []int) {
			sum := 0.0
			for i, k := range order {
				sum += cost[units[i][0]][units[k][1]]
			}
			best = min(best, sum/float64(len(units)))
		})
		if got, _ := transport(newTransporter(cost, nil, nil)); math.Abs(got-best) > 1e-9 {
			t.Errorf("%v: %v, want %v", cost, got, best)
		}
	}
}

// TestTransportCertificate proves larger solutions right by duality: no solution costs less than what the
// potentials are worth.
func TestTransportCertificate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 20 {
		n, m := 1+rng.IntN(40), 1+rng.IntN(40)
		var rows, columns []float64
		if round >= 10 {
			rows, columns = randomWeights(rng, n), randomWeights(rng, m)
		}
		tr := newTransporter(randomCosts(rng, n, m), rows, columns)
		supply, demand := slices.Clone(tr.supply), slices.Clone(tr.demand)
		total := tr.solve()
		worth, mass := 0.0, 0.0
		for i, row := range tr.row {
			worth += row * float64(supply[i])
			mass += float64(supply[i])
			sum := int64(0)
			for k, x := range tr.flow[i] {
				sum += x
				if x < 0 || tr.cost[i][k]-row-tr.column[k] < -1e-9 {
					t.Fatalf("flow %d, reduced cost %v", x, tr.cost[i][k]-row-tr.column[k])
				}
			}
			if sum != supply[i] || rows != nil && math.Abs(float64(sum)/(1<<50)-rows[i]) > 1e-9 {
				t.Fatalf("row %d sends %d units of %d", i, sum, supply[i])
			}
		}
		for k, column := range tr.column {
			worth += column * float64(demand[k])
			sum := int64(0)
			for i := range n {
				sum += tr.flow[i][k]
			}
			if sum != demand[k] || columns != nil && math.Abs(float64(sum)/(1<<50)-columns[k]) > 1e-9 {
				t.Fatalf("column %d receives %d units of %d", k, sum, demand[k])
			}
		}
		if math.Abs(worth-total) > 1e-9*mass {
			t.Errorf("%d by %d: the cost is %v, the potentials are worth %v", n, m, total, worth)
		}
	}
}

func randomCosts(rng *rand.Rand, n, m int) [][]float64 {
	cost := make([][]float64, n)
	for i := range cost {
		for range m {
			c := 2 * rng.Float64()
			if rng.IntN(3) == 0 {
				c = float64(rng.IntN(3)) // ties
			}
			cost[i] = append(cost[i], c)
		}
	}
	return cost
}

// randomWeights add up to 1. They spread over many orders of magnitude, and some are 0.
func randomWeights(rng *rand.Rand, n int) []float64 {
	weights := make([]float64, n)
	weights[rng.IntN(n)] = 1
	sum := 1.0
	for i := range weights {
		if weights[i] == 0 && rng.IntN(5) > 0 {
			weights[i] = math.Exp(-20 * rng.Float64())
			sum += weights[i]
		}
	}
	for i := range weights {
		weights[i] /= sum
	}
	return weights
}

// permute calls each with every order of n things.
func permute(n int, each func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var place func(at int)
	place = func(at int) {
		if at == n {
			each(order)
			return
		}
		for i := at; i < n; i++ {
			order[at], order[i] = order[i], order[at]
			place(at + 1)
			order[at], order[i] = order[i], order[at]
		}
	}
	place(0)
}

// TestEmbeddingLongTexts has texts that do not fit in the model's window: they are read in windows, and nothing
// of them is lost.
func TestEmbeddingLongTexts(t *testing.T) {
	const sentence = "The river carried seven grey boats past the old stone bridge. "
	long := strings.Repeat(sentence, 30) + "A violin was heard."
	small := func() *backendtest.Fake { return &backendtest.Fake{About: backend.Info{Context: 64}} }
	sample := metrics.Sample{Question: "Where were the boats?", Answer: long, Contexts: []string{"Boats.", long},
		References: []string{long, "Bricks."}}
	for _, m := range embeddingMetrics() {
		got := embedded(t, m.Name, small(), sample)
		if got.Score == nil {
			t.Errorf("%s: %s", m.Name, got.Error)
			continue
		}
		whole := embedded(t, m.Name, &backendtest.Fake{}, sample)
		if math.Abs(got.Score.Value-whole.Score.Value) > 0.05 {
			t.Errorf("%s: %v in windows, %v whole", m.Name, got.Score.Value, whole.Score.Value)
		}
	}
	got, err := tokenTexts(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Embedder: small()}},
		metrics.Saying([]string{"short", long}))
	if err != nil {
		t.Fatal(err)
	}
	if n := backendtest.Tokens(long); len(got[1].tokens) != n || len(got[1].vectors) != n || got[1].windows < 5 ||
		got[0].windows != 1 {
		t.Errorf("%d tokens in %d windows, want %d", len(got[1].tokens), got[1].windows, n)
	}
	similarity := embedded(t, "answer_similarity/cosine", small(), sample)
	if notes := similarity.Score.Because; len(notes) < 3 || !strings.Contains(notes[len(notes)-1].Text, "windows") {
		t.Errorf("findings are %+v", notes)
	}
}

// TestEmbeddingProperties checks on random texts that values are in range, that a text is most like itself, and
// that the order of contexts and references does not matter.
func TestEmbeddingProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields("river stone cloud . window garden , letter 7 winter é 日本 bridge ! silver")
	text := func() string {
		var list []string
		for range 1 + rng.IntN(12) {
			list = append(list, words[rng.IntN(len(words))])
		}
		return strings.Join(list, " ") + " end."
	}
	fake := &backendtest.Fake{}
	for range 40 {
		s := metrics.Sample{Question: text(), Answer: text(), Contexts: []string{text(), text(), text()},
			References: []string{text(), text()}}
		other := s
		other.Contexts, other.References = slices.Clone(s.Contexts), slices.Clone(s.References)
		slices.Reverse(other.Contexts)
		slices.Reverse(other.References)
		same := s
		same.Question, same.Contexts, same.References = s.Answer, []string{s.Answer}, []string{s.Answer}
		for _, m := range embeddingMetrics() {
			got := embedded(t, m.Name, fake, s)
			if got.Score == nil {
				t.Fatalf("%s of %+v: %s", m.Name, s, got.Error)
			}
			if v := embedded(t, m.Name, fake, other).Score.Value; math.Abs(v-got.Score.Value) > 1e-9 {
				t.Errorf("%s: %v, in another order %v", m.Name, got.Score.Value, v)
			}
			if v := embedded(t, m.Name, fake, same).Score.Value; math.Abs(v-m.Max) > 1e-6 {
				t.Errorf("%s of a text with itself, %q: %v", m.Name, s.Answer, v)
			}
		}
	}
}

// faulty gives token vectors that no engine may.
type faulty struct {
	backendtest.Fake
	spoil func([]backend.Encoded) []backend.Encoded
}

func (f *faulty) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	answer, err := f.Fake.Encode(ctx, req)
	if err != nil {
		return nil, err
	}
	return &backend.Encoding{Items: f.spoil(answer.Items)}, nil
}

func TestEmbeddingFaults(t *testing.T) {
	sample := metrics.Sample{Answer: "one two", References: []string{"one three"}, Contexts: []string{"two"}}
	check := func(want string, spoil func([]backend.Encoded) []backend.Encoded) {
		t.Helper()
		for _, name := range []string{"answer_similarity/bertscore_f1", "answer_similarity/bertscore_f1_idf",
			"answer_similarity/moverscore", "faithfulness/bertscore_k_precision"} {
			got := embedded(t, name, &faulty{spoil: spoil}, sample)
			if got.Score != nil || got.Kind != metrics.Failed || !strings.Contains(got.Error, want) {
				t.Errorf("%s: %+v, want %q", name, got, want)
			}
		}
	}
	check("1 answers for 2 texts", func(all []backend.Encoded) []backend.Encoded { return all[:1] })
	check("not usable", func(all []backend.Encoded) []backend.Encoded {
		all[0].Vectors[0][0] = float32(math.NaN())
		return all
	})
	check("not usable", func(all []backend.Encoded) []backend.Encoded {
		all[1].Vectors[0] = all[1].Vectors[0][:5]
		return all
	})
	check("tokens and", func(all []backend.Encoded) []backend.Encoded {
		all[1].Tokens = all[1].Tokens[:0]
		return all
	})
	none := func(all []backend.Encoded) []backend.Encoded { return make([]backend.Encoded, len(all)) }
	if got := embedded(t, "answer_similarity/bertscore_f1", &faulty{spoil: none},
		sample); got.Kind != metrics.NotApplicable {
		t.Errorf("texts without tokens: %+v", got)
	}
	plain := &backendtest.Fake{About: backend.Info{Ops: backend.CanEmbed, Model: "m", Engine: "e"}}
	if err := metrics.Check(embeddingMetrics(), metrics.Models{Roles: metrics.Roles{backend.Embedder: plain}},
		metrics.Question|metrics.Answer|metrics.Contexts|metrics.References); err == nil ||
		!strings.Contains(err.Error(),
			"answer_similarity/bertscore_f1 needs an embedding model that can embed tokens") {
		t.Errorf("Check: %v", err)
	}
}

func FuzzEmbedding(f *testing.F) {
	f.Add("The ferry costs 14 euros.", "A ticket is 14 euros.\n\nThe pier is green.", "What does it cost?")
	f.Add("🙂", "...", "\x00")
	f.Add("a", "\u2028\u00a0b", "日本語。")
	f.Fuzz(func(t *testing.T, answer, context, question string) {
		if len(answer)+len(context)+len(question) > 2000 {
			return
		}
		sample := metrics.Sample{Question: question, Answer: answer, Contexts: []string{context, answer},
			References: []string{question, context}}
		for _, m := range embeddingMetrics() {
			got := embedded(t, m.Name, &backendtest.Fake{About: backend.Info{Context: 32}}, sample)
			if got.Score == nil && got.Kind != metrics.NotApplicable && got.Kind != metrics.Invalid &&
				got.Kind != metrics.TooLong {
				t.Errorf("%s: %s", m.Name, got.Error)
			}
		}
	})
}
