package tokenize

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestTokens(t *testing.T) {
	check := func(text string, want ...string) {
		t.Helper()
		if got := Tokens(text); !slices.Equal(got, want) {
			t.Errorf("Tokens(%q) = %q, want %q", text, got, want)
		}
	}
	check("")
	check(" .,;!? ")
	check("The U.S. has a well-known flag.", "us", "has", "wellknown", "flag")
	check("It costs $3.50 (or 3,50 €)!", "it", "costs", "350", "or", "350")

	// Articles count where there is nothing else.
	check("The The", "the", "the")
	check("Vitamin A", "vitamin")
	check("A", "a")

	// Beyond ASCII: what is like an apostrophe or hyphen joins, other marks separate.
	check("don’t don't donʼt", "dont", "dont", "dont")
	check("1990–2000, 1990-2000, 1990\u20102000", "19902000", "19902000", "19902000")
	check("yes—no…maybe «peut-être» ¿qué?", "yes", "no", "maybe", "peutêtre", "qué")
	check("Straße, STRASSE; ﬁne; ＡＢＣ", "strasse", "strasse", "fine", "abc")
	check("½ co\u00adop\u200berate", "1", "2", "cooperate")
	check("e\u0301te\u0301 été", "été", "été")

	// Languages. Chinese, Japanese and Thai are cut between characters; runs of Katakana are words.
	check("北京是中国的首都，人口2200万。", "北", "京", "是", "中", "国", "的", "首", "都", "人", "口", "2200", "万")
	check("東京タワーは333メートルです。", "東", "京", "タワー", "は", "333", "メートル", "で", "す")
	check("iPhone手机", "iphone", "手", "机")
	check("มีน้ำ", "มี", "น้\u0e4d", "า") // composition takes the last vowel apart
	check("العاصمة هي الرياض، نعم؟", "العاصمة", "هي", "الرياض", "نعم")
	check("भारत की राजधानी दिल्ली है।", "भारत", "की", "राजधानी", "दिल्ली", "है")
	check("서울은 한국의 수도이다.", "서울은", "한국의", "수도이다")
	check("Москва — столица.", "москва", "столица")
}

func TestSQuAD(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		if got := SQuAD(text); got != want {
			t.Errorf("SQuAD(%q) = %q, want %q", text, got, want)
		}
	}
	check("The  U.S. has a well-known\tflag!", "us has wellknown flag")
	check("A", "")
	check("Vitamin A.", "vitamin")
	check("theatre an_the", "theatre anthe") // only whole words are articles; the underscore goes first
	check("don’t — «a» ，好。", "don’t — « » ，好。")
	check("a\u0301", "\u0301") // to Python a combining mark is no part of a word
	check("ΟΔΟΣ İ", "οδος i\u0307")
	check("x\x1cy", "x y")
}

func TestAlphanumeric(t *testing.T) {
	check := func(text string, want, ascii []string) {
		t.Helper()
		if got := Alphanumeric(text); !slices.Equal(got, want) {
			t.Errorf("Alphanumeric(%q) = %q, want %q", text, got, want)
		}
		if got := AlphanumericASCII(text); !slices.Equal(got, ascii) {
			t.Errorf("AlphanumericASCII(%q) = %q, want %q", text, got, ascii)
		}
	}
	same := func(text string, want ...string) {
		t.Helper()
		check(text, want, want)
	}
	same("")
	same("Don't pay $3.50!", "don", "t", "pay", "3", "50")
	same("snake_case A-B", "snake", "case", "a", "b")
	check("Café Zoë", []string{"café", "zoë"}, []string{"caf", "zo"})
	check("北京市", []string{"北", "京", "市"}, nil)
	check("ราคา 5 บาท", []string{"ร", "า", "ค", "า", "5", "บ", "า", "ท"}, []string{"5"})
	check("السعر ٥ ريال", []string{"السعر", "٥", "ريال"}, nil)
	check("कीमत ५ रुपये", []string{"कीमत", "५", "रुपये"}, nil)
}

// What the originals do with text in ASCII, the rules for every script do too.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"", "The U.S. - a \"well-known\" one_two", "an", "a b\tc\nd", "东京 don’t", "ก็ดี", "½…",
		"\xff", "İI"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := Tokens(text)
		if again := Tokens(strings.Join(tokens, " ")); !slices.Equal(again, tokens) {
			t.Errorf("Tokens(%q) = %q, and of those %q", text, tokens, again)
		}
		// an apostrophe that is a letter to Unicode
		if HasWords(strings.ReplaceAll(text, "ʼ", "")) && len(tokens) == 0 {
			t.Errorf("Tokens(%q) is empty", text)
		}
		if SQuAD(SQuAD(text)) != SQuAD(text) {
			t.Errorf("SQuAD(%q) = %q, and of that %q", text, SQuAD(text), SQuAD(SQuAD(text)))
		}
		if strings.ContainsFunc(text, func(r rune) bool {
			return r >= unicode.MaxASCII || r < ' ' && !unicode.IsSpace(r)
		}) {
			return
		}
		if squad := strings.Fields(SQuAD(text)); len(squad) > 0 && !slices.Equal(tokens, squad) {
			t.Errorf("Tokens(%q) = %q, but SQuAD has %q", text, tokens, squad)
		}
		if a, b := Alphanumeric(text), AlphanumericASCII(text); !slices.Equal(a, b) {
			t.Errorf("Alphanumeric(%q) = %q, but in ASCII %q", text, a, b)
		}
		if a, b := MTEval(text), MTEval13a(text); !slices.Equal(a, b) {
			t.Errorf("MTEval(%q) = %q, but 13a has %q", text, a, b)
		}
	})
}

// Case, punctuation, white space and compatibility forms make no difference.
func TestTokensInvariance(t *testing.T) {
	want := Tokens("The red-brown fox's den, 3.5 km away")
	for _, text := range []string{
		"the RED-BROWN FOX’S den 3.5 km away", "  The\tred‑brown\u00a0fox's den;\n3.5 km away!!",
		"The red-brown foxʼs den (3.5 ㎞) away",
		"ＴＨＥ red-brown fox's “den”, 3.5 km away…", "red-brown fox's a den an 3.5 km the away",
	} {
		if got := Tokens(text); !slices.Equal(got, want) {
			t.Errorf("Tokens(%q) = %q, want %q", text, got, want)
		}
	}
}

// What the regular expression of DrQA's SimpleTokenizer, ([\p{L}\p{N}\p{M}]+)|([^\p{Z}\p{C}]), finds in decomposed text.
func TestDPR(t *testing.T) {
	check := func(text string, want ...string) {
		t.Helper()
		if got := DPR(text); !slices.Equal(got, want) {
			t.Errorf("DPR(%q) = %q, want %q", text, got, want)
		}
	}
	check("The U.S. well-known", "the", "u", ".", "s", ".", "well", "-", "known")
	check("It's €5,000!", "it", "'", "s", "€", "5", ",", "000", "!")
	check("Café\u00a0Æ\tx\u200by_z", "cafe\u0301", "æ", "x", "y", "_", "z")
	check("首都是北京。", "首都是北京", "。")
	check("½ ²\u0378", "½", "²")
	check(" \n")
}

func FuzzDPR(f *testing.F) {
	f.Add("The U.S. won, 3:2")
	f.Add("\xffx")
	f.Fuzz(func(t *testing.T, text string) {
		for _, token := range DPR(text) {
			if token == "" || strings.ContainsFunc(token, unicode.IsSpace) {
				t.Errorf("DPR(%q) has the token %q", text, token)
			}
			if again := DPR(token); len(again) != 1 {
				t.Errorf("DPR(%q) has the token %q, which is %q", text, token, again)
			}
		}
	})
}
