package text

import (
	"math"
	"strings"
	"testing"
)

func TestBLEU(t *testing.T) {
	check := func(want float64, answer string, references ...string) {
		t.Helper()
		checkLexical(t, "answer_similarity/bleu", want, answer, references...)
	}
	// From sacrebleu's tests: 8.493 and 0 of 100.
	check(0.08493, "Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;",
		"producţia de zahăr brut se exprimă în zahăr alb;")
	check(0, "this is a cat", "okay thanks")
	// 3/4, 2/3, 1/2 and, without a match, half of one: (1/8)^(1/4).
	check(math.Pow(1.0/8, 1.0/4), "this is a fest", "this is a test")
	// 2/3, then half a match of 2 and a quarter of one of 1; effective order 3.
	check(math.Cbrt(2.0/3*1.0/4*1.0/4), "a little test", "a test")
	// Too short by one of two: exp(1 - 2/1), effective order 1.
	check(math.Exp(-1), "test", "a test")
	// References count together: each word and pair is in one of them. Three tokens are nearer to two than
	// to five, and as near to two as to four.
	check(math.Cbrt(1.0*1.0*1.0/2), "a red fox", "a red", "red fox on the run")
	check(1, "a red fox", "a red fox is here", "a red fox")
	b := countBLEU(strings.Fields("a a a"), [][]string{strings.Fields("a b c d"), strings.Fields("a a")})
	if b.reference != 2 || b.correct != [maxBLEU]int{2, 1} || b.total != [maxBLEU]int{3, 2, 1} {
		t.Errorf("%+v: want the shorter of two references equally near, and clipped counts", b)
	}
	// From sacrebleu's tests: matches 4, 2, 1, 0 of 6, 5, 4, 3.
	b = countBLEU(strings.Fields("am I am a character sequence"),
		[][]string{strings.Fields("I am a symbol string sequence a a")})
	if b.correct != [maxBLEU]int{4, 2, 1, 0} || b.total != [maxBLEU]int{6, 5, 4, 3} || b.answer != 6 ||
		b.reference != 8 {
		t.Errorf("%+v", b)
	}
	check(1, "北京是中国的首都。", "北京是中国的首都。")
	// All characters, 北京 京是 首都 城市 of 6, 北京是 of 5, and half a match of 4.
	check(math.Pow(4.0/6*1.0/5*1.0/8, 1.0/4), "北京是首都城市", "北京是城市首都")
	refuseLexical(t, "answer_similarity/bleu", "<skipped>", "x")
}

// What Ragas 0.4 computes: the first sentence of the answer only, and whichever sentences of the reference.
func TestBLEURagas(t *testing.T) {
	check := func(want float64, answer string, references ...string) {
		t.Helper()
		checkLexical(t, "answer_similarity/bleu_ragas", want, answer, references...)
	}
	const reference = "The cat sat on the mat. The dog ran far away. Birds sing"
	check(1, "The dog ran far away", reference)
	check(1, "The dog ran far away. Nonsense follows here. And more", reference)
	check(0, "Nonsense follows here now. The dog ran far away", reference)
	check(0, "Birds sing", reference) // without effective order two tokens are too few
	check(0, ". The dog ran far away", reference)
	check(1, "The dog ran far away", "Something else is here now", reference)
	// The full stop stays with the last sentence only: 6/7, 5/6, 4/5, 3/4 of "The cat sat on the mat ."
	check(math.Pow(3.0/7, 1.0/4), "The cat sat on the mat.", reference)
}

func TestGLEU(t *testing.T) {
	check := func(want float64, answer string, references ...string) {
		t.Helper()
		checkLexical(t, "answer_similarity/gleu", want, answer, references...)
	}
	// From NLTK's manual.
	const reference = "It is a guide to action that ensures that the military will forever heed Party commands"
	check(2.0/22, "the the the the the the the", "the cat is on the mat") // 0.0909
	check(0.43939, "It is a guide to action which ensures that the military always obeys the commands of the party",
		reference)
	check(0.12069, "It is to insure the troops forever hearing the activity guidebook that party direct", reference)
	check(1, "a b", "x", "a b")
	check(3.0/10, "北京", "北京首都") // two characters and one pair, of four, three, two and one
}
