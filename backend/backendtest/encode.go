package backendtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
)

// sameVector is the least cosine of two embeddings of one text: what batching and rounding may do.
const sameVector = 0.999

// An encoding is what the suite knows of an output.
type encoding struct {
	name   string // of its tests
	output backend.Output
	check  func(backend.Encoded) error           // what holds for every answer, beside its shape
	exact  bool                                  // an answer has the same bits in any batch, but for a loose engine
	batch  int                                   // inputs to encode together
	blank  bool                                  // a text of nothing must be answered
	more   func(*suite, *testing.T, encoding)    // tests of this output alone
	near   func(a, b []float32) bool             // when the bits may differ
	pair   func(query, text string) backend.Pair // an input
}

func encodings() []encoding {
	text := func(_, text string) backend.Pair { return backend.Pair{Text: text} }
	pair := func(query, text string) backend.Pair { return backend.Pair{Query: query, Text: text} }
	cosine := func(a, b []float32) bool { return len(a) == len(b) && dot(a, b) > sameVector }
	return []encoding{
		{name: "Embed", output: backend.Embedding, check: checkEmbedding, batch: 1000, near: cosine, pair: text},
		{name: "EmbedTokens", output: backend.TokenEmbeddings, check: checkTokens, exact: true, batch: 100, blank: true,
			more: (*suite).testTokens, near: cosine, pair: text},
		{name: "Classify", output: backend.HeadOutputs, check: checkOutputs, exact: true, batch: 100,
			more: (*suite).testPairs, near: nearOutputs, pair: pair},
		{name: "LabelTokens", output: backend.TokenOutputs, check: checkLabels, exact: true, batch: 100, blank: true,
			more: (*suite).testLabels, near: nearOutputs, pair: pair},
	}
}

// input is one whose text is given.
func (e encoding) input(text string) backend.Pair { return e.pair("A question.", text) }

func (e encoding) request(inputs ...backend.Pair) *backend.EncodeRequest {
	return &backend.EncodeRequest{Output: e.output, Inputs: inputs}
}

// thousand are 1000 short inputs, no two alike in meaning, that no cache can know yet, if the beginning is new.
func (e encoding) thousand(beginning string) []backend.Pair {
	if beginning != "" {
		beginning += ": "
	}
	var inputs []backend.Pair
	for _, who := range []string{"A cat", "The king", "My doctor", "One robot", "Some farmers",
		"The river", "A lawyer", "Her violin", "Every planet", "No train"} {
		for _, does := range []string{"sleeps", "burns", "argues", "sings", "disappears",
			"grows", "waits", "explodes", "laughs", "freezes"} {
			for _, where := range []string{"in Paris", "under water", "at school", "on the moon", "after lunch",
				"in the desert", "by mistake", "during war", "with honey", "for money"} {
				inputs = append(inputs, e.pair(fmt.Sprintf("%swho is number %d?", beginning, len(inputs)),
					beginning+who+" "+does+" "+where))
			}
		}
	}
	return inputs
}

// encode asks b and checks what holds for every answer.
func (s *suite) encode(t *testing.T, e encoding, inputs ...backend.Pair) []backend.Encoded {
	t.Helper()
	items, err := s.tryEncode(t.Context(), e, inputs...)
	if err != nil {
		t.Fatalf("Encode (%s) of %d inputs: %v", e.output, len(inputs), err)
	}
	return items
}

func (s *suite) tryEncode(ctx context.Context, e encoding, inputs ...backend.Pair) ([]backend.Encoded, error) {
	req := e.request(inputs...)
	answer, err := s.b.Encode(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := req.CheckAnswer(answer); err != nil {
		return nil, err
	}
	size := 0
	for i, item := range answer.Items {
		err := e.check(item)
		for _, v := range item.Vectors {
			if size == 0 {
				size = len(v)
			}
			if len(v) != size || size == 0 {
				err = fmt.Errorf("a vector has %d numbers, the first has %d", len(v), size)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("answer %d, for %.60q: %w", i, inputs[i], err)
		}
	}
	return answer.Items, nil
}

func checkEmbedding(e backend.Encoded) error {
	if length := math.Sqrt(dot(e.Vectors[0], e.Vectors[0])); !(math.Abs(length-1) < 1e-3) {
		return fmt.Errorf("the vector has length %v", length)
	}
	return nil
}

func checkTokens(e backend.Encoded) error {
	if len(e.Tokens) != len(e.Vectors) {
		return fmt.Errorf("%d tokens and %d vectors", len(e.Tokens), len(e.Vectors))
	}
	for i, v := range e.Vectors {
		if !utf8.ValidString(e.Tokens[i]) {
			return fmt.Errorf("token %d is %q, which is not UTF-8", i, e.Tokens[i])
		}
		if length := math.Sqrt(dot(v, v)); !(math.Abs(length-1) < 0.01) {
			return fmt.Errorf("token %d has a vector of length %v", i, length)
		}
	}
	return nil
}

func checkOutputs(e backend.Encoded) error {
	for _, v := range e.Vectors[0] {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("the head gave %v", v)
		}
	}
	return nil
}

func checkLabels(e backend.Encoded) error {
	for _, v := range e.Vectors {
		if err := checkOutputs(backend.Encoded{Vectors: [][]float32{v}}); err != nil {
			return err
		}
	}
	return nil
}

func nearOutputs(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		return math.Abs(float64(x-y)) <= 0.02+0.02*math.Abs(float64(x))
	})
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// same reports whether two answers for one input have the same bits, or are near where bits may differ.
func (s *suite) same(e encoding, a, b backend.Encoded) bool {
	return slices.Equal(a.Tokens, b.Tokens) && slices.Equal(a.Spans, b.Spans) && slices.EqualFunc(a.Vectors, b.Vectors, func(v, w []float32) bool {
		return slices.Equal(v, w) || (s.Loose || !e.exact) && e.near(v, w)
	})
}

// distance is the squared Euclidean distance of two answers; infinite for those of different tokens.
func distance(a, b backend.Encoded) float64 {
	if !slices.Equal(a.Tokens, b.Tokens) || !slices.Equal(a.Spans, b.Spans) || len(a.Vectors) != len(b.Vectors) {
		return math.Inf(1)
	}
	sum := 0.0
	for i := range a.Vectors {
		for k, x := range a.Vectors[i] {
			d := float64(x - b.Vectors[i][k])
			sum += d * d
		}
	}
	return sum
}

func (s *suite) testEncode(t *testing.T, e encoding) {
	t.Run("Batches", func(t *testing.T) { s.testBatches(t, e) })
	t.Run("Texts", func(t *testing.T) { s.testEncodeTexts(t, e) })
	t.Run("Concurrent", func(t *testing.T) { s.testEncodeConcurrent(t, e) })
	t.Run("CancelInTheMiddle", func(t *testing.T) { s.testEncodeCancel(t, e) })
}

// testBatches encodes no inputs, one and many, and checks that the batch changes neither answers nor order.
func (s *suite) testBatches(t *testing.T, e encoding) {
	for _, none := range [][]backend.Pair{nil, {}} {
		s.encode(t, e, none...)
	}
	inputs := e.thousand("")[:e.batch]
	before := slices.Clone(inputs)
	batch := s.encode(t, e, inputs...)
	if !reflect.DeepEqual(inputs, before) {
		t.Error("Encode changed its inputs")
	}
	varied := false
	for _, i := range []int{0, 1, e.batch / 2, e.batch - 2, e.batch - 1} {
		alone := s.encode(t, e, inputs[i])[0]
		own := distance(alone, batch[i])
		nearest := slices.IndexFunc(batch, func(b backend.Encoded) bool { return distance(alone, b) < own })
		if nearest >= 0 || !s.same(e, alone, batch[i]) {
			t.Errorf("input %d, %q: its answer alone is %v from its own in a batch (nearer is that of %d)",
				i, inputs[i], own, nearest)
		}
		varied = varied || !reflect.DeepEqual(batch[i], batch[0])
	}
	if !varied {
		t.Error("inputs that differ all have one answer")
	}
	twice := e.input("the same")
	if a := s.encode(t, e, twice, e.input("other"), twice); !s.same(e, a[0], a[2]) {
		t.Error("one input twice in a batch: the answers differ")
	}
}

// testEncodeTexts encodes odd, empty, long and too long texts.
func (s *suite) testEncodeTexts(t *testing.T, e encoding) {
	var odd []backend.Pair
	for _, text := range []string{"🙂", "żółw 日本語", "</s><|im_end|>[SEP]", "a\x00b", "x"} {
		odd = append(odd, e.pair("żółw 🙂", text))
	}
	s.encode(t, e, odd...)
	blanks := []backend.Pair{e.pair("", ""), e.pair(" ", " \n "), e.pair("a word", ""), e.pair("", "a word")}
	for _, blank := range blanks {
		_, err := s.tryEncode(t.Context(), e, e.input("a word"), blank)
		if err != nil && !e.blank {
			checkError(t, fmt.Sprintf("input %q", blank), err, backend.ErrInvalid) // some models cannot encode nothing
		} else if err != nil {
			t.Errorf("input %q: %v", blank, err)
		}
	}
	n := min(s.info.Context/4, 400)
	long := s.encode(t, e, e.input(manyWords(n)), e.input("An unrelated sentence. "+manyWords(n)))
	if !e.output.OfPairs() && distance(long[0], long[1]) < 2e-9 {
		t.Error("two long texts that differ have one answer")
	}
	s.tooLongOf(t, e, e.pair("short", s.tooLong()))
	if e.more != nil {
		e.more(s, t, e)
	}
}

// tooLongOf has an input refused, alone and beside others.
func (s *suite) tooLongOf(t *testing.T, e encoding, long backend.Pair) {
	t.Helper()
	_, err := s.tryEncode(t.Context(), e, long)
	checkError(t, "input too long", err, backend.ErrPromptTooLong)
	_, err = s.tryEncode(t.Context(), e, e.input("short"), long, e.input("short"))
	checkError(t, "one input of three too long", err, backend.ErrPromptTooLong)
}

// testPairs checks that queries are read.
func (s *suite) testPairs(t *testing.T, e encoding) {
	s.tooLongOf(t, e, e.pair(s.tooLong(), "short"))
	if s.info.Ops.Has(backend.CanMark) {
		s.testMarks(t, e)
	}
}

// testMarks checks that a special token within a text is read, and one that the vocabulary lacks is refused.
func (s *suite) testMarks(t *testing.T, e encoding) {
	marked := func(token string) backend.Pair {
		return backend.Pair{Text: "The cat sleeps. It rains.", Marks: []backend.Mark{{At: 16, Token: token}}}
	}
	_, err := s.tryEncode(t.Context(), e, marked("no such token"))
	checkError(t, "a special token that there is not", err, backend.ErrInvalid)
	plain := s.encode(t, e, backend.Pair{Text: marked("").Text})[0]
	read := 0
	for _, token := range []string{"sep", "eos"} {
		items, err := s.tryEncode(t.Context(), e, marked(token))
		if errors.Is(err, backend.ErrInvalid) { // not every vocabulary has both
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		read++
		if reflect.DeepEqual(items[0].Vectors, plain.Vectors) {
			t.Errorf("a text with the token %s in it has the numbers of one without: %v", token, plain.Vectors)
		}
	}
	if read == 0 {
		t.Error("neither a separator nor an end can stand within a text")
	}
}

// testLabels checks where the tokens are said to stand, and that queries are read.
func (s *suite) testLabels(t *testing.T, e encoding) {
	s.tooLongOf(t, e, e.pair(s.tooLong(), "short"))
	if got := s.encode(t, e, e.input("")); len(got[0].Spans) != 0 {
		t.Errorf("a text of nothing has the spans %v", got[0].Spans)
	}
	text := "  The cat sleeps,\n\tunder żółw water.  "
	covered := make([]bool, len(text))
	for i, span := range s.encode(t, e, e.pair("Who sleeps?", text))[0].Spans {
		part := text[span.Low:span.High]
		if trimmed := strings.TrimSpace(part); trimmed != part && trimmed != "" {
			t.Errorf("the span of token %d is %q, with white space around it", i, part)
		}
		for k := span.Low; k < span.High; k++ {
			covered[k] = true
		}
	}
	for i := range covered {
		if !covered[i] && text[i] > ' ' {
			t.Fatalf("byte %d of %q is in no span", i, text)
		}
	}
	for _, query := range []string{"", "what of a long question about nothing at all?"} {
		a, b := s.encode(t, e, e.pair("Who sleeps?", text))[0], s.encode(t, e, e.pair(query, text))[0]
		if !slices.Equal(a.Spans, b.Spans) || reflect.DeepEqual(a.Vectors, b.Vectors) {
			t.Errorf("with the query %q: spans %v, before %v, or the same numbers", query, b.Spans, a.Spans)
		}
	}
}

// testTokens checks which tokens there are, and that a vector tells where its token stands.
func (s *suite) testTokens(t *testing.T, e encoding) {
	for _, blank := range []string{"", " \n "} {
		got := s.encode(t, e, e.input("a word"), e.input(blank), e.input("another"))
		if blank == "" && len(got[1].Tokens) != 0 {
			t.Errorf("a text of nothing has the tokens %q", got[1].Tokens)
		}
		if len(got[0].Tokens) == 0 || len(got[2].Tokens) == 0 {
			t.Errorf("the texts beside %q have the tokens %q and %q", blank, got[0].Tokens, got[2].Tokens)
		}
	}
	if got := s.encode(t, e, e.input("")); len(got[0].Tokens) != 0 {
		t.Errorf("a text of nothing has the tokens %q", got[0].Tokens)
	}
	n := min(s.info.Context/4, 400)
	if long := s.encode(t, e, e.input(manyWords(n)))[0]; len(long.Tokens) < n {
		t.Errorf("%d words have %d tokens", n, len(long.Tokens))
	}
	a := s.encode(t, e, e.input("fishing on the river bank"), e.input("money in the bank"))
	if last := len(a[1].Vectors) - 1; slices.Equal(a[0].Vectors[len(a[0].Vectors)-1], a[1].Vectors[last]) {
		t.Error("a word has one vector in two contexts")
	}
}

// testEncodeConcurrent encodes many small batches at once.
func (s *suite) testEncodeConcurrent(t *testing.T, e encoding) {
	inputs := e.thousand("Side by side")[:32]
	want := make([]backend.Encoded, len(inputs))
	for i, input := range inputs {
		want[i] = s.encode(t, e, input)[0]
	}
	var wg sync.WaitGroup
	for i := range inputs {
		wg.Go(func() {
			got, err := s.tryEncode(t.Context(), e, inputs[i], inputs[31-i])
			if err != nil {
				t.Errorf("inputs %d and %d: %v", i, 31-i, err)
			} else if !s.same(e, got[0], want[i]) || !s.same(e, got[1], want[31-i]) {
				t.Errorf("inputs %d and %d: other answers than alone", i, 31-i)
			}
		})
	}
	wg.Wait()
}

// testEncodeCancel ends the context of a large batch, sooner and sooner until it comes in time.
func (s *suite) testEncodeCancel(t *testing.T, e encoding) {
	start := time.Now()
	s.encode(t, e, e.thousand("To be encoded")[:50]...)
	for wait := time.Since(start); wait > time.Microsecond; wait /= 4 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := s.tryEncode(ctx, e, e.thousand(fmt.Sprint("To be encoded within ", wait))...)
		cancel()
		if err != nil {
			checkError(t, "cancelled", err, context.DeadlineExceeded)
			s.encode(t, e, e.input("after that"))
			return
		}
	}
	t.Error("no batch took long enough to be cancelled")
}
