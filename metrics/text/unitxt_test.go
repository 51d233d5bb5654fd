package text

import (
	"bufio"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

func TestTokenMetrics(t *testing.T) {
	check := func(method string, want float64, answer string, references ...string) {
		t.Helper()
		checkLexical(t, "answer_correctness/"+method, want, answer, references...)
		if strings.HasPrefix(method, "token_") && !strings.HasSuffix(method, "_ascii") { // all of this is ASCII
			checkLexical(t, "answer_correctness/"+method+"_ascii", want, answer, references...)
		}
	}
	// "red fox red" and "fox red bird sky": two in common, of 3 and 4.
	check("token_recall", 2.0/4, "A red fox, red!", "The fox: red bird sky.")
	check("token_precision", 2.0/3, "A red fox, red!", "The fox: red bird sky.")
	check("token_f1", 4.0/7, "A red fox, red!", "The fox: red bird sky.")
	check("token_recall", 0, "Lyon", "Paris")
	check("token_recall", 1, "It is in the U.S.", "US")
	// As in unitxt each measure takes its own best reference.
	check("token_recall", 1, "red fox", "red", "red fox big hen")
	check("token_precision", 1, "red fox", "red", "red fox big hen")
	check("token_f1", 2.0/3, "red fox", "red", "red fox big hen")

	both := func(words, ascii float64, answer, reference string) {
		t.Helper()
		checkLexical(t, "answer_correctness/token_f1", words, answer, reference)
		checkLexical(t, "answer_correctness/token_f1_ascii", ascii, answer, reference)
	}
	both(4.0/5, 0, "北京市", "北京")
	both(1, 0, "北京。", "北京")
	both(2.0/3, 2.0/3, "الرياض العاصمة", "الرياض")
	both(1, 0, "نعم؟", "نعم")
	both(1, 0, "दिल्ली।", "दिल्ली")
	both(1, 0, "don’t", "don't")
	both(1, 0, "The The", "The The")

	refuseLexical(t, "answer_correctness/token_recall", "Paris", "...")
	refuseLexical(t, "answer_correctness/token_precision", "...", "Paris")
	check("token_recall_ascii", 0, "Paris", "...")
	check("token_precision_ascii", 0, "...", "Paris")
	checkLexical(t, "answer_correctness/token_recall", 0, "...", "Paris") // it has none of the words
}

func TestContextTokens(t *testing.T) {
	check := func(name string, want float64, question, answer string, contexts ...string) {
		t.Helper()
		got, err := tryLexical(t, name, &metrics.Sample{Question: question, Answer: answer, Contexts: contexts})
		if err != nil || math.Abs(got.Value-want) > 1e-12 {
			t.Errorf("%s of %q and %q in %q = %+v, %v; want %v", name, question, answer, contexts, got, err, want)
		}
	}
	// The answer draws on two contexts; unitxt sees one at a time.
	const answer = "The red fox runs, the red hen sleeps"
	contexts := []string{"A red fox runs.", "", "One hen sleeps; hens, too."}
	check("faithfulness/k_precision", 5.0/6, "q", answer, contexts...) // the second red has no support
	check("faithfulness/k_precision_max", 3.0/6, "q", answer, contexts...)
	// Different words red, fox, runs, hen, sleeps: all. Pairs red fox, fox runs, runs red, red hen, hen
	// sleeps: three of five.
	check("faithfulness/k_precision_bigrams", (1+3.0/5)/2, "q", answer, contexts...)
	check("faithfulness/k_precision_bigrams", 1, "q", "fox", contexts...)
	check("faithfulness/k_precision_bigrams", 0.5, "q", "runs hen", contexts...) // not across contexts
	check("faithfulness/k_precision_bigrams", (2.0/3+1.0/2)/2, "q", "北京市", "我爱北京")
	check("context_relevance/token_precision", 3.0/4, "fox or hen sleeps", "x", contexts...)
	check("context_relevance/token_precision_max", 2.0/4, "fox or hen sleeps", "x", contexts...)
	check("answer_relevance/token_recall", 2.0/3, "Where is the fox?", "The fox is here", "x")
	check("answer_relevance/token_recall_ascii", 2.0/3, "Where is the fox?", "The fox is here", "x")
	check("answer_relevance/token_recall", 1, "¿Dónde está?", "está dónde", "x")
	check("answer_relevance/token_recall_ascii", 0, "¿Dónde", "dónde", "x")

	refuseLexical(t, "faithfulness/k_precision", "...", "x")
	refuseLexical(t, "faithfulness/k_precision_bigrams", "...", "x")
	refuseLexical(t, "context_relevance/token_precision", "...", "x")
	check("faithfulness/k_precision_max", 0, "q", "...", "x")
}

// A labelledSample is a row of the human-labelled data for development.
type labelledSample struct {
	metrics.Sample
	Human    map[string]json.RawMessage `json:"human"`
	Metadata struct {
		System string `json:"system"`
	} `json:"metadata"`
}

// labelled reads a file of that data, and skips the test where it is not at hand.
func labelled(t *testing.T, name string) []labelledSample {
	t.Helper()
	path := filepath.Join(cmp.Or(os.Getenv("ASSAY_TEST_DATA"), filepath.Join("..", "..", "shared", "data")), name)
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("no %s: set ASSAY_TEST_DATA to the folder of the development data", path)
	}
	defer f.Close()
	var rows []labelledSample
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var row labelledSample
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if lines.Err() != nil || len(rows) == 0 {
		t.Fatal(lines.Err(), len(rows))
	}
	return rows
}

// How far the words that an answer shares with its contexts agree with what three people thought of its
// faithfulness, on the human subset of IBM's mt-rag-benchmark. For comparison: Ragas' judge reaches .572
// there, BERT's K-precision .602. Nothing was tuned on these data.
func TestFaithfulnessByTokensAgreesWithPeople(t *testing.T) {
	rows := labelled(t, "mtrag.dev.jsonl")
	check := func(name string, score scoreFunc, want float64) {
		t.Helper()
		var scores, people []float64
		for _, row := range rows {
			if !row.Fields().Has(metrics.Answer | metrics.Contexts) {
				continue
			}
			got, err := score(t.Context(), metrics.Models{}, &row.Sample)
			if err != nil {
				t.Fatal(row.ID, err)
			}
			var ratings []string
			if err := json.Unmarshal(row.Human["faithfulness"], &ratings); err != nil || len(ratings) == 0 {
				t.Fatal(row.ID, err)
			}
			mean := 0.0
			for _, r := range ratings {
				n, err := strconv.ParseFloat(r, 64)
				if err != nil {
					t.Fatal(row.ID, err)
				}
				mean += n / float64(len(ratings))
			}
			scores, people = append(scores, got.Value), append(people, math.Round(mean*1e9))
		}
		rho := correlation(ranked(scores), ranked(people))
		if len(scores) != 207 || math.Abs(rho-want) > 0.0015 {
			t.Errorf("%s: Spearman %.4f, n = %d; want %.3f and 207", name, rho, len(scores), want)
		}
	}
	want := map[string]float64{"k_precision": 0.632, "k_precision_max": 0.553, "k_precision_bigrams": 0.655}
	for _, m := range append(unitxtMetrics(), overlapMetrics()...) {
		if method, ok := strings.CutPrefix(m.Name, "faithfulness/"); ok {
			check(method, m.Score, want[method])
		}
	}
	// The figure known from before is that of unitxt's tokens, with the contexts taken together.
	original := func(text string) []string { return strings.Fields(tokenize.SQuAD(text)) }
	check("k_precision, tokens of ASCII", scoreInContexts(original, func(s *metrics.Sample) (string, string) {
		return "answer", s.Answer
	}), 0.634)
}

// The same against one person's yes or no, on the labelled sample of the ARES repository.
func TestFaithfulnessByTokensOnARES(t *testing.T) {
	rows := labelled(t, "ares-databricks.dev.jsonl")
	want := map[string]float64{"k_precision": 0.676, "k_precision_max": 0.675, "k_precision_bigrams": 0.708}
	for _, m := range append(unitxtMetrics(), overlapMetrics()...) {
		method, ok := strings.CutPrefix(m.Name, "faithfulness/")
		if !ok {
			continue
		}
		var scores []float64
		var faithful []bool
		for _, row := range rows {
			label := string(row.Human["Answer_Faithfulness_Label"])
			if label != `"0"` && label != `"1"` {
				continue
			}
			got, err := m.Score(t.Context(), metrics.Models{}, &row.Sample)
			if err != nil {
				t.Fatal(row.ID, err)
			}
			scores, faithful = append(scores, got.Value), append(faithful, label == `"1"`)
		}
		if area := areaUnderCurve(scores, faithful); math.Abs(area-want[method]) > 0.0015 {
			t.Errorf("%s: AUC %.4f, n = %d; want %.3f", method, area, len(scores), want[method])
		}
	}
}

// How well token recall tells right answers from wrong ones, by the system that wrote them, on EVOUNA.
func TestCorrectnessByTokensAgreesWithPeople(t *testing.T) {
	score := scoreTokens(tokenize.Tokens, ofReference, false) // answer_correctness/token_recall
	check := func(file string, lo, hi float64) {
		t.Helper()
		scores, right := make(map[string][]float64), make(map[string][]bool)
		for _, row := range labelled(t, file) {
			if !row.Fields().Has(metrics.Answer | metrics.References) {
				continue // three of the systems' answers are missing
			}
			got, err := score(t.Context(), metrics.Models{}, &row.Sample)
			if err != nil {
				t.Fatal(row.ID, err)
			}
			system := row.Metadata.System
			scores[system] = append(scores[system], got.Value)
			right[system] = append(right[system], string(row.Human["correct"]) == "true")
		}
		least, most := 1.0, 0.0
		for system := range scores {
			area := areaUnderCurve(scores[system], right[system])
			least, most = min(least, area), max(most, area)
		}
		if len(scores) != 5 || math.Abs(least-lo) > 0.0015 || math.Abs(most-hi) > 0.0015 {
			t.Errorf("%s: AUC from %.4f to %.4f over %d systems, want %.3f to %.3f over 5", file, least, most,
				len(scores), lo, hi)
		}
	}
	check("evouna-nq.dev.jsonl", 0.867, 0.966)
	check("evouna-tq.dev.jsonl", 0.926, 0.977)
}

// ranked gives each value its rank, equal values their mean rank.
func ranked(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	ranks := make([]float64, len(values))
	for i, v := range values {
		first, _ := slices.BinarySearch(sorted, v)
		after, _ := slices.BinarySearch(sorted, math.Nextafter(v, math.Inf(1)))
		ranks[i] = float64(first+after-1) / 2
	}
	return ranks
}

// correlation is Pearson's.
func correlation(a, b []float64) float64 {
	mean := func(x []float64) (m float64) {
		for _, v := range x {
			m += v / float64(len(x))
		}
		return m
	}
	ma, mb := mean(a), mean(b)
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - ma) * (b[i] - mb)
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
	}
	return ab / math.Sqrt(aa*bb)
}

// areaUnderCurve is the chance that a positive has the higher score of two, ties counted as half.
func areaUnderCurve(scores []float64, positive []bool) float64 {
	ranks := ranked(scores)
	n, sum := 0.0, 0.0
	for i, p := range positive {
		if p {
			n++
			sum += ranks[i] + 1
		}
	}
	return (sum - n*(n+1)/2) / (n * (float64(len(scores)) - n))
}
